// Floats as whole numbers and a scale for up to kLongestSpan of them, cut into slices of eight bits, whose products tile registers make
// fast (as Ootomo, Ozaki and Yokota, "DGEMM on integer matrix multiplication unit", 2024, do for float64). Products of three slices, 24
// bits, are as exact as those of floats; two do for the activations and the 8-bit weights of quantised files.
//
// A slice is a signed digit to the base 256, so that none needs an unsigned factor: value = scale * (65536 h + 256 m + l), or
// scale * (256 h + m).
#pragma once

#include <algorithm>

#include "kernels/amx_tiles.hpp"
#include "kernels/block.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

constexpr int kOfFloats = 3, kOfIntegers = 2;  // slices
template <int slices>
constexpr int kLargestSliced = 127 * (((1 << 8 * slices) - 1) / 255) - 1;  // digits of 127, and room for rounding
template <int slices>
constexpr float kMost = kLargestSliced<slices>;
constexpr int kLongestSpan = 12 * kAmxDepth;  // sums of its products fit 32 bits, and those of h are exact as floats; 36 KiB for a tile
constexpr float kSmallestSliced = 1e-30f;     // less is nothing; its reciprocal would overflow
template <int slices>
constexpr std::size_t kSlicedStep = slices * kAmxBytes;          // kAmxDepth values of 16 rows or columns: their h, m, and l
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
template <int slices>
inline std::size_t sliced_bytes_of_16(int in) {
    const int span = sliced_span(in);
    return (in + span - 1) / span * kSlicedScales + steps_of(in) * kSlicedStep<slices>;
}

typedef std::int8_t Digits __attribute__((vector_size(kLanes)));

template <int slices>
struct SlicedLanes {
    Digits digits[slices];  // h, m, l
};

// Scaled values, at most kLargestSliced in size, as digits in bytes, from the lowest one on.
inline IntVector digits_of(const Vector& values) {
    constexpr std::int32_t halves = 0x808080;  // added to all digits, so that none is negative, and taken off each of them
    const Vector half = (Vector)(((IntVector)values & INT32_MIN) | (IntVector)broadcast(0.5f));
    return (__builtin_convertvector(values + half, IntVector) + halves) ^ halves;
}

// The same cut into slices.
template <int slices>
inline SlicedLanes<slices> sliced(const Vector& values) {
    const IntVector digits = digits_of(values);
    SlicedLanes<slices> lanes;
    for (int s = 0; s < slices; ++s) lanes.digits[s] = __builtin_convertvector(digits >> (8 * (slices - 1 - s)), Digits);
    return lanes;
}

// Calls take(first, kLanes values as slices) over `count` values and gives their scale. What is not finite makes the scale so, and the
// slices any.
template <int slices, typename Take>
inline float sliced_values(const float* values, int count, const Take& take) {
    const float top = largest_size(values, count), inverse = top > kSmallestSliced ? kMost<slices> / top : 0.0f;
    for (int i = 0; i < count; i += kLanes) take(i, sliced<slices>(load_some(values + i, count - i) * inverse));
    return top * (1.0f / kMost<slices>);
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
