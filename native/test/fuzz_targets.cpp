#include "fuzz_targets.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "depth_anything/engine.hpp"
#include "depth_anything/error.hpp"
#include "gguf_file.hpp"
#include "hparams.hpp"

namespace fuzz {

namespace {

constexpr std::size_t kZeros = 512 * 1024;  // more than the weights of the seeds

// Bytes as a file without a name, gone with the object.
class MemoryFile {
  public:
    MemoryFile(const std::uint8_t* data, std::size_t size, std::size_t zeros) : descriptor_(::memfd_create("fuzz", 0)) {
        if (descriptor_ < 0 || ::write(descriptor_, data, size) != static_cast<ssize_t>(size) ||
            ::ftruncate(descriptor_, static_cast<off_t>(size + zeros)) != 0) {
            throw std::runtime_error("there is no memory for the file");
        }
    }
    ~MemoryFile() { ::close(descriptor_); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;

    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  private:
    int descriptor_;
};

}  // namespace

bool read_gguf(const std::uint8_t* data, std::size_t size) {
    const MemoryFile memory(data, size, 0);
    try {
        da::GgufFile file(memory.path());
        for (const auto& [name, tensor] : file.tensors()) {
            const auto* bytes = static_cast<const volatile std::uint8_t*>(tensor.data);  // volatile: the reads are not dropped
            for (std::size_t i = 0; i < tensor.bytes; ++i) static_cast<void>(bytes[i]);
        }
        file.drop_prefix("m_");
        if (file.metadata().count("depthanything3.arch") > 0) da::read_hparams(file);
        return true;
    } catch (const da::Error&) {
        return false;
    }
}

bool load_model(const std::uint8_t* header, std::size_t size) {
    const MemoryFile memory(header, size, kZeros);
    try {
        da::EngineOptions options;
        options.threads = 1;
        options.resolution = 14;
        da::Engine engine(memory.path(), options);
        const std::vector<std::uint8_t> pixels(14 * 14 * 3, 100);
        engine.infer({pixels.data(), 14, 14, 14 * 3, da::ChannelOrder::rgb}, {});
        return true;
    } catch (const da::Error&) {
        return false;
    }
}

}  // namespace fuzz
