// The step of all integer products: to each 32-bit lane the sum of kGroup neighbouring products is added, as the instruction set does it.
//
// A register of sums holds one row of activations times kLanes columns of weights. With i8mm it holds two rows times two columns: such an
// instruction multiplies registers of two rows and of two columns, eight numbers each.
//
// Sums of a span are exact. Where the instruction wants one factor unsigned, weights are stored with kWeightOffset added; what that adds
// to a span's sum is taken off by starting the sum at -kWeightOffset * (sum of the activations).
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/quantise.hpp"
#include "kernels/tile.hpp"
#include "kernels/vector_math.hpp"
#if defined(DA_SIMDE)  // for tests, see DA_AVX512_LOWERED
#include <simde/x86/avx512.h>
#define DA_MM512(name) simde_mm512_##name
typedef simde__m512i M512i;
#elif defined(__SSE4_1__)
#include <immintrin.h>
#define DA_MM512(name) _mm512_##name
typedef __m512i M512i;
#elif defined(__ARM_FEATURE_DOTPROD)  // also where there is i8mm
#include <arm_neon.h>
#endif

namespace da::kernels::DA_INSTRUCTION_SET {

#if defined(__SSE4_1__) || defined(__ARM_FEATURE_DOTPROD)
constexpr bool kFastIntegers = true;
#else
constexpr bool kFastIntegers = false;
#endif

#if defined(__ARM_FEATURE_MATMUL_INT8)
constexpr int kLaneRows = 2;  // of a register of sums
#else
constexpr int kLaneRows = 1;
#endif
constexpr int kLaneColumns = kLanes / kLaneRows;

constexpr int kLargestWeight = 127;  // as stored, in 8 bits

template <typename T>
inline T value_at(const std::uint8_t* source) {
    T value;
    std::memcpy(&value, source, sizeof(value));
    return value;
}

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__) || defined(DA_SIMDE_VNNI)

using Activation = std::int8_t;
using StoredWeight = std::uint8_t;
constexpr int kGroup = 4, kSpan = kBlock, kLargestActivation = 127, kWeightOffset = 128;

inline IntVector dot(const IntVector& sums, const IntVector& weights, const IntVector& activations) {
#if DA_VECTOR_BYTES == 64
    return (IntVector)DA_MM512(dpbusd_epi32)((M512i)sums, (M512i)weights, (M512i)activations);
#else
    return (IntVector)_mm256_dpbusd_avx_epi32((__m256i)sums, (__m256i)weights, (__m256i)activations);
#endif
}

#elif defined(__ARM_FEATURE_MATMUL_INT8)

using Activation = std::int8_t;
using StoredWeight = std::int8_t;
constexpr int kGroup = 8, kSpan = kBlock, kLargestActivation = 127, kWeightOffset = 0;

inline IntVector dot(const IntVector& sums, const IntVector& weights, const IntVector& activations) {
    return (IntVector)vmmlaq_s32((int32x4_t)sums, (int8x16_t)activations, (int8x16_t)weights);
}

#elif defined(__ARM_FEATURE_DOTPROD)

using Activation = std::int8_t;
using StoredWeight = std::int8_t;
constexpr int kGroup = 4, kSpan = kBlock, kLargestActivation = 127, kWeightOffset = 0;

inline IntVector dot(const IntVector& sums, const IntVector& weights, const IntVector& activations) {
    return (IntVector)vdotq_s32((int32x4_t)sums, (int8x16_t)weights, (int8x16_t)activations);
}

#else

// Pairs of 16-bit products. Weights become 16-bit numbers of one scale for a span before they are used (see widen_panel): the largest one
// of a span, at most kLargestWeight, times kFiner, the others as their blocks' scales say.
using Activation = std::int16_t;
using StoredWeight = std::int8_t;
constexpr int kGroup = 2, kSpan = 4 * kBlock, kLargestActivation = 4095, kWeightOffset = 0, kFiner = 32;
static_assert(std::int64_t{kSpan} * kLargestActivation * kLargestWeight * kFiner <= INT32_MAX, "the sum of a span fits 32 bits");

typedef StoredWeight NarrowWeights __attribute__((vector_size(kLanes * kGroup)));
typedef std::int16_t WideWeights __attribute__((vector_size(kLanes * kGroup * sizeof(std::int16_t))));

inline WideWeights load_weights(const std::uint8_t* weights) {
#if defined(__AVX2__) && DA_VECTOR_BYTES == 64
    return (WideWeights)DA_MM512(cvtepi8_epi16)(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights)));
#elif defined(__AVX2__) && DA_VECTOR_BYTES == 32
    return (WideWeights)_mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights)));
#else
    return __builtin_convertvector(value_at<NarrowWeights>(weights), WideWeights);
#endif
}

// Stored weights times kFiner times factors of 1 / 2^15, rounded to whole numbers.
inline IntVector widened(const std::uint8_t* weights, const IntVector& factors) {
    const WideWeights fine = load_weights(weights) * static_cast<std::int16_t>(kFiner);
#if defined(__AVX2__) && DA_VECTOR_BYTES == 64
    return (IntVector)DA_MM512(mulhrs_epi16)((M512i)fine, (M512i)factors);
#elif defined(__AVX2__) && DA_VECTOR_BYTES == 32
    return (IntVector)_mm256_mulhrs_epi16((__m256i)fine, (__m256i)factors);
#elif defined(__SSE4_1__) && DA_VECTOR_BYTES == 16
    return (IntVector)_mm_mulhrs_epi16((__m128i)fine, (__m128i)factors);
#else
    const auto pairs = (IntVector)fine;
    const IntVector first = ((pairs << 16 >> 16) * (factors << 16 >> 16) + (1 << 14)) >> 15,
                    second = ((pairs >> 16) * (factors >> 16) + (1 << 14)) >> 15;
    return (first & 0xffff) | second << 16;
#endif
}

// Numbers of values that are not finite may be any: then sums wrap.
inline IntVector dot(const IntVector& sums, const IntVector& weights, const IntVector& activations) {
#if defined(__AVX2__) && DA_VECTOR_BYTES == 64
    return (IntVector)DA_MM512(add_epi32)((M512i)sums, DA_MM512(madd_epi16)((M512i)weights, (M512i)activations));
#elif defined(__AVX2__) && DA_VECTOR_BYTES == 32
    return (IntVector)_mm256_add_epi32((__m256i)sums, _mm256_madd_epi16((__m256i)weights, (__m256i)activations));
#elif defined(__SSE4_1__) && DA_VECTOR_BYTES == 16
    return (IntVector)_mm_add_epi32((__m128i)sums, _mm_madd_epi16((__m128i)weights, (__m128i)activations));
#else
    typedef std::uint32_t Wrapping __attribute__((vector_size(sizeof(IntVector))));
    const IntVector first = (weights << 16 >> 16) * (activations << 16 >> 16), second = (weights >> 16) * (activations >> 16);
    return (IntVector)((Wrapping)sums + (Wrapping)first + (Wrapping)second);
#endif
}

#endif

// As many sums as the registers hold beside the operands: of integers and of floats, or, where spans are long, of integers, while those of
// floats wait in memory. Rows lie together, so that many of them need no more addresses.
constexpr bool kLongSpans = kSpan > kBlock;
constexpr bool kTall = kLongSpans && kLanes == 16;
constexpr int kDotRows = kTall ? 12 : kLongSpans ? kTileRows : DA_VECTOR_REGISTERS == 16 ? 5 : kLanes > 4 ? 7 : 3 * kLaneRows;
constexpr int kDotVectors = kTall ? 2 : kLongSpans ? kTileVectors : DA_VECTOR_REGISTERS == 16 || kLanes > 4 ? 2 : 4 / kLaneRows;
constexpr int kDotPanel = kDotVectors * kLanes;

#if defined(__ARM_FEATURE_MATMUL_INT8)

// Four bytes of each row or column of a register, in all lanes of it; groups of the rows, as dot takes them; one row of two registers.
inline IntVector in_columns(const std::uint8_t* values) {
    const int32x2_t pair = value_at<int32x2_t>(values);
    return (IntVector)vcombine_s32(pair, pair);
}

inline IntVector in_rows(const std::uint8_t* values) {
    const auto pairs = (int32x4_t)in_columns(values);
    return (IntVector)vzip1q_s32(pairs, pairs);
}

inline IntVector load_groups(const std::uint8_t* groups) {
    return value_at<IntVector>(groups);
}

inline Vector row_of(const Vector* registers, int row) {
    const auto left = (float64x2_t)registers[0], right = (float64x2_t)registers[1];
    return (Vector)(row == 0 ? vzip1q_f64(left, right) : vzip2q_f64(left, right));
}

#else

inline IntVector in_rows(const std::uint8_t* values) {
    return value_at<std::int32_t>(values) + IntVector{};
}

inline IntVector in_columns(const std::uint8_t* values) {
    return value_at<IntVector>(values);
}

inline IntVector load_groups(const std::uint8_t* groups) {
    return in_rows(groups);
}

inline Vector row_of(const Vector* registers, int /*row*/) {
    return registers[0];
}

#endif

// Attention has little work for each number that it quantises: it takes the faster instructions to win against floats.
constexpr bool kFastIntegerAttention = sizeof(Activation) == 1;

// Sums and maxima over lanes go by halves.
typedef std::int32_t Quarter __attribute__((vector_size(16)));

template <typename Join>
inline std::int32_t joined_lanes(const IntVector& value, const Join& join) {
    Quarter parts[DA_VECTOR_BYTES / 16];
    std::memcpy(parts, &value, sizeof(value));
    for (int i = 1; i < DA_VECTOR_BYTES / 16; ++i) parts[0] = join(parts[0], parts[i]);
    const Quarter turned = {parts[0][2], parts[0][3], parts[0][0], parts[0][1]};
    const Quarter pair = join(parts[0], turned);
    const Quarter swapped = {pair[1], pair[0], pair[1], pair[0]};
    return join(pair, swapped)[0];
}

inline std::int32_t greatest_lane(const IntVector& value) {
    return joined_lanes(value, [](const Quarter& a, const Quarter& b) { return a > b ? a : b; });
}

inline std::int32_t sum_of_lanes(const IntVector& value) {
    return joined_lanes(value, [](const Quarter& a, const Quarter& b) { return a + b; });
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
