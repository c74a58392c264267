// Seeded choice without replacement: the same numbers on every machine and with every standard library.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace da {

// SplitMix64 (G. Steele, D. Lea, C. Flood, 2014) and the first steps of a Fisher-Yates shuffle.
class RandomChoice {
  public:
    explicit RandomChoice(std::uint64_t seed) : state_(seed) {}

    // The first `count` of a random permutation of 0 to size - 1, all of them where there are no more.
    std::vector<std::uint32_t> operator()(std::uint32_t size, std::uint32_t count) {
        std::vector<std::uint32_t> all(size);
        std::iota(all.begin(), all.end(), 0u);
        if (count > size) count = size;
        for (std::uint32_t i = 0; i < count; ++i) std::swap(all[i], all[i + next() % (size - i)]);
        all.resize(count);
        return all;
    }

  private:
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }

    std::uint64_t state_;
};

}  // namespace da
