// The fuzz targets on their seeds and on a few thousand damaged copies: the short run that needs no Clang.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "check.hpp"
#include "fuzz_targets.hpp"

namespace {

using Bytes = std::vector<std::uint8_t>;
using Target = bool (*)(const std::uint8_t*, std::size_t);

std::vector<Bytes> seeds(const std::string& name) {
    std::vector<Bytes> all;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(DA_TEST_SEEDS) / name)) {
        std::ifstream stream(entry.path(), std::ios::binary);
        all.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    }
    CHECK(all.size() >= 3);
    return all;
}

// One to four changes: a byte, a number of the kind that overflows, a part left out, a part twice, or the end cut off.
Bytes damaged(Bytes bytes, std::mt19937& random) {
    static const std::uint64_t numbers[] = {0, 1, 0x7f, 0xff, 1u << 31, 0xffffffff, std::uint64_t{1} << 60, ~std::uint64_t{0}};
    for (unsigned change = 1 + random() % 4; change > 0 && bytes.size() > 16; --change) {
        const std::size_t place = random() % (bytes.size() - 8), length = 1 + random() % std::min<std::size_t>(64, bytes.size() - place);
        const auto start = bytes.begin() + static_cast<std::ptrdiff_t>(place), end = start + static_cast<std::ptrdiff_t>(length);
        const std::uint64_t number = numbers[random() % std::size(numbers)];
        switch (random() % 5) {
            case 0:
                bytes[place] = static_cast<std::uint8_t>(random());
                break;
            case 1:
                for (std::size_t i = 0; i < 8; ++i) bytes[place + i] = static_cast<std::uint8_t>(number >> (8 * i));
                break;
            case 2:
                bytes.erase(start, end);
                break;
            case 3: {
                const Bytes part(start, end);
                bytes.insert(start, part.begin(), part.end());
                break;
            }
            default:
                if (random() % 8 == 0) bytes.resize(place);
        }
    }
    return bytes;
}

void run(Target target, const std::string& name, int copies) {
    std::mt19937 random(71);
    for (const Bytes& seed : seeds(name)) {
        CHECK(target(seed.data(), seed.size()));
        for (int i = 0; i < copies; ++i) {
            const Bytes bytes = damaged(seed, random);
            target(bytes.data(), bytes.size());
        }
    }
}

}  // namespace

TEST(fuzz, case_65_damaged_containers) {
    run(fuzz::read_gguf, "gguf", 3000);
}

TEST(fuzz, case_65_damaged_models) {
    run(fuzz::load_model, "model", 1500);
}
