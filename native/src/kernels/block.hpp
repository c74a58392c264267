// Some floats as whole numbers of one scale, and the rows of activations that are made of them.
#pragma once

#include <algorithm>

#include "kernels/dot.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

// Bytes of quantised activations, see quantise.hpp.
constexpr std::size_t kRowGroup = kGroup * sizeof(Activation), kLaneBytes = sizeof(std::int32_t);  // of a group; of a scale, a start
constexpr std::size_t kTileStarts = kDotRows * kLaneBytes, kTileGroups = 2 * kTileStarts;          // of a span, behind the scales
constexpr std::size_t kTileGroup = kDotRows * kRowGroup, kTileSpan = kTileGroups + kSpan / kGroup * kTileGroup;

inline int spans_of(int in) {
    return (in + kSpan - 1) / kSpan;
}

// Values of a span that begins where that many are left.
inline int span_length(int left) {
    return kLongSpans ? std::min(kSpan, left) : kSpan;
}

// Whole numbers as narrower ones that hold them.
template <typename Narrow>
inline void store_narrow(Narrow* target, const IntVector& whole) {
    typedef Narrow NarrowVector __attribute__((vector_size(kLanes * sizeof(Narrow))));
    const NarrowVector narrow = __builtin_convertvector(whole, NarrowVector);
    std::memcpy(target, &narrow, sizeof(narrow));
}

// The greatest size of `count` values; infinite or NaN when one of them is.
inline float largest_size(const float* values, int count) {
    IntVector magnitudes{};  // as bits: in their order infinity comes after all numbers, and NaN after infinity
    for (int i = 0; i < count; i += kLanes) {
        const IntVector bits = (IntVector)load_some(values + i, count - i) & 0x7fffffff;
        magnitudes = bits > magnitudes ? bits : magnitudes;
    }
    const std::int32_t top_bits = greatest_lane(magnitudes);
    float top;
    std::memcpy(&top, &top_bits, sizeof(top));
    return top;
}

// Calls take(first, kLanes whole numbers from -most to most) over `count` values, a multiple of kBlock, and gives the scale that they are
// to be multiplied with. A value that is not finite makes the scale so, and the numbers any.
template <typename Take>
inline float scaled_integers(const float* values, int count, int most, const Take& take) {
    constexpr float rounder = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number, see exp
    constexpr float smallest = 1e-30f;      // less is nothing; its reciprocal would overflow
    const float top = largest_size(values, count), factor = static_cast<float>(most), inverse = top > smallest ? factor / top : 0.0f;
    for (int i = 0; i < count; i += kLanes) {
        take(i, (IntVector)(load(values + i) * inverse + rounder) - (IntVector)broadcast(rounder));
    }
    return top * (1.0f / factor);
}

inline int tiles_of(int rows) {
    return (rows + kDotRows - 1) / kDotRows;
}

inline std::size_t tile_bytes(int in) {
    return spans_of(in) * kTileGroups + in / kGroup * kTileGroup;
}

// Values [first, first + count) of row `number` of rows of `in`: whole spans, and the last one of the row.
inline void quantise_row(const float* values, int first, int count, int in, int number, std::uint8_t* tiles) {
    const int row = number % kDotRows;
    std::uint8_t* span = tiles + number / kDotRows * tile_bytes(in) + first / kSpan * kTileSpan;
    for (int i = 0; i < count; i += kSpan, span += kTileSpan) {
        const int length = span_length(count - i);
        Activation whole[kSpan];
        IntVector sums{};
        const float scale = scaled_integers(values + i, length, kLargestActivation, [&](int k, const IntVector& numbers) {
            store_narrow(whole + k, numbers);
            sums += numbers;
        });
        const auto start = static_cast<std::int32_t>(-kWeightOffset * static_cast<std::uint32_t>(sum_of_lanes(sums)));
        std::memcpy(span + row * kLaneBytes, &scale, kLaneBytes);
        std::memcpy(span + kTileStarts + row * kLaneBytes, &start, kLaneBytes);
        for (int g = 0; g < length / kGroup; ++g)
            std::memcpy(span + kTileGroups + g * kTileGroup + row * kRowGroup, whole + g * kGroup, kRowGroup);
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
