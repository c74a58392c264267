// Entry of libFuzzer for the target that the build names.
#include "fuzz_targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::DA_FUZZ_TARGET(data, size);
    return 0;
}
