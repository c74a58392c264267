// A block of floats as whole numbers of one scale, and the rows of activations that are made of them.
#pragma once

#include "kernels/dot.hpp"
#include "kernels/quantise.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

// Bytes of quantised activations, see quantise.hpp.
constexpr std::size_t kRowGroup = kGroup * sizeof(Activation), kLaneBytes = sizeof(std::int32_t);  // of a group; of a scale, a start
constexpr std::size_t kTileGroup = kDotRows * kRowGroup, kTileScales = kBlock / kGroup * kTileGroup;
constexpr std::size_t kTileStarts = kTileScales + kDotRows * kLaneBytes, kTileBlock = kTileStarts + kDotRows * kLaneBytes;

// Whole numbers as narrower ones that hold them.
template <typename Narrow>
inline void store_narrow(Narrow* target, const IntVector& whole) {
    typedef Narrow NarrowVector __attribute__((vector_size(kLanes * sizeof(Narrow))));
    const NarrowVector narrow = __builtin_convertvector(whole, NarrowVector);
    std::memcpy(target, &narrow, sizeof(narrow));
}

// Calls take(first, kLanes whole numbers from -most to most) over the block, and gives the scale that they are to be multiplied with.
// A value that is not finite makes the scale so, and the numbers any.
template <typename Take>
inline float scaled_integers(const float* values, int most, const Take& take) {
    constexpr float rounder = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number, see exp
    constexpr float smallest = 1e-30f;      // less is nothing; its reciprocal would overflow
    IntVector magnitudes{};                 // as bits: in their order infinity comes after all numbers, and NaN after infinity
    for (int i = 0; i < kBlock; i += kLanes) {
        const IntVector bits = (IntVector)load(values + i) & 0x7fffffff;
        magnitudes = bits > magnitudes ? bits : magnitudes;
    }
    const std::int32_t top_bits = greatest_lane(magnitudes);
    float top;
    std::memcpy(&top, &top_bits, sizeof(top));
    const float factor = static_cast<float>(most), inverse = top > smallest ? factor / top : 0.0f;
    for (int i = 0; i < kBlock; i += kLanes) {
        take(i, (IntVector)(load(values + i) * inverse + rounder) - (IntVector)broadcast(rounder));
    }
    return top * (1.0f / factor);
}

inline int tiles_of(int rows) {
    return (rows + kDotRows - 1) / kDotRows;
}

inline std::size_t tile_bytes(int in) {
    return static_cast<std::size_t>(in / kBlock) * kTileBlock;
}

// Values [first, first + count) of row `number` of rows of `in`; first and count are multiples of kBlock.
inline void quantise_row(const float* values, int first, int count, int in, int number, std::uint8_t* tiles) {
    const int row = number % kDotRows;
    std::uint8_t* block = tiles + number / kDotRows * tile_bytes(in) + first / kBlock * kTileBlock;
    for (int i = 0; i < count; i += kBlock, block += kTileBlock) {
        Activation whole[kBlock];
        IntVector sums{};
        const float scale = scaled_integers(values + i, kLargestActivation, [&](int k, const IntVector& numbers) {
            store_narrow(whole + k, numbers);
            sums += numbers;
        });
        const auto start = static_cast<std::int32_t>(-kWeightOffset * static_cast<std::uint32_t>(sum_of_lanes(sums)));
        for (int g = 0; g < kBlock / kGroup; ++g) std::memcpy(block + g * kTileGroup + row * kRowGroup, whole + g * kGroup, kRowGroup);
        std::memcpy(block + kTileScales + row * kLaneBytes, &scale, kLaneBytes);
        std::memcpy(block + kTileStarts + row * kLaneBytes, &start, kLaneBytes);
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
