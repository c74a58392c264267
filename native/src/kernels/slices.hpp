// Floats as whole numbers of 24 bits and a scale for up to kLongestSpan of them, cut into three slices of eight bits: their products are
// as exact as those of floats, and tile registers make them faster (as Ootomo, Ozaki and Yokota, "DGEMM on integer matrix multiplication
// unit", 2024, do for float64).
//
// A slice is a signed digit to the base 256, so that none needs an unsigned factor: value = scale * (65536 h + 256 m + l).
#pragma once

#include <algorithm>

#include "kernels/amx_tiles.hpp"
#include "kernels/block.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

constexpr int kSlices = 3;                          // h, m, l
constexpr int kLargestSliced = 127 * 0x010101 - 1;  // three digits of 127, and room for rounding
constexpr int kLongestSpan = 12 * kAmxDepth;  // sums of its products fit 32 bits, and those of h are exact as floats; 36 KiB for a tile
constexpr float kSmallestSliced = 1e-30f;     // less is nothing; its reciprocal would overflow
constexpr std::size_t kSlicedStep = kSlices * kAmxBytes;         // kAmxDepth values of 16 rows or columns: their h, m, and l
constexpr std::size_t kSlicedScales = kAmxSide * sizeof(float);  // of a span
static_assert(kAmxSide == kLanes, "a row of sums is a register");

// A layer's inputs in spans of the same length; the last one may be shorter.
inline int sliced_span(int in) {
    const int spans = (in + kLongestSpan - 1) / kLongestSpan, length = (in + spans - 1) / spans;
    return (length + kAmxDepth - 1) / kAmxDepth * kAmxDepth;
}

inline int steps_of(int count) {
    return (count + kAmxDepth - 1) / kAmxDepth;
}

// Bytes of 16 rows or columns: [span], each its scales and [step][slice][16 x 64 bytes].
inline std::size_t sliced_bytes_of_16(int in) {
    const int span = sliced_span(in);
    return (in + span - 1) / span * kSlicedScales + steps_of(in) * kSlicedStep;
}

typedef std::int8_t Digits __attribute__((vector_size(kLanes)));

struct SlicedLanes {
    Digits slices[kSlices];  // h, m, l
};

// Scaled values, at most kLargestSliced in size, as digits in bytes: l, m and h from the lowest one on.
inline IntVector digits_of(const Vector& values) {
    constexpr std::int32_t halves = 0x808080;  // added to all digits, so that none is negative, and taken off each of them
    const Vector half = (Vector)(((IntVector)values & INT32_MIN) | (IntVector)broadcast(0.5f));
    return (__builtin_convertvector(values + half, IntVector) + halves) ^ halves;
}

// The same cut into slices.
inline SlicedLanes sliced(const Vector& values) {
    const IntVector digits = digits_of(values);
    return {{__builtin_convertvector(digits >> 16, Digits), __builtin_convertvector(digits >> 8, Digits),
             __builtin_convertvector(digits, Digits)}};
}

// Calls take(first, kLanes values as slices) over `count` values and gives their scale. What is not finite makes the scale so, and the
// slices any.
template <typename Take>
inline float sliced_values(const float* values, int count, const Take& take) {
    const float top = largest_size(values, count), inverse = top > kSmallestSliced ? kLargestSliced / top : 0.0f;
    for (int i = 0; i < count; i += kLanes) take(i, sliced(load_some(values + i, count - i) * inverse));
    return top * (1.0f / kLargestSliced);
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
