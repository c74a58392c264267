// libFuzzer target: whatever the bytes of a model file are, loading it ends in an engine that runs or in one da::Error.
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "depth_anything/engine.hpp"
#include "depth_anything/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const int descriptor = ::memfd_create("model", 0);
    if (descriptor < 0 || ::write(descriptor, data, size) != static_cast<ssize_t>(size)) return 0;
    try {
        da::EngineOptions options;
        options.threads = 1;
        options.resolution = 14;
        da::Engine engine("/proc/self/fd/" + std::to_string(descriptor), options);
        const std::vector<std::uint8_t> pixels(14 * 14 * 3, 100);
        engine.infer({pixels.data(), 14, 14, 14 * 3, da::ChannelOrder::rgb}, {});
    } catch (const da::Error&) {
    }
    ::close(descriptor);
    return 0;
}
