// 8-bit weights with a scale for every block as columns of two slices, with a scale for a span of blocks.
#pragma once

#include "kernels/integer_tile.hpp"
#include "kernels/sliced_tile.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

typedef std::int16_t Pairs __attribute__((vector_size(DA_VECTOR_BYTES)));

// A stored weight of a span's largest scale is so many times itself as a whole number: then its lower digit is zero, so that nothing is
// left out of its products. It is negative, since a 16-bit factor can be minus one but not one.
constexpr float kSlicedFiner = -256.0f;
static_assert(kWeightOffset == 128 && kGroup == kAmxGroup && kDotPanel % kAmxSide == 0, "stored groups become rows of tiles");
static_assert(2 * kBlock == kAmxDepth, "a step is a block or two");

// Shares of a span's largest scale as 16-bit factors, twice in each lane.
inline IntVector factors_of(const Vector& shares) {
    const IntVector whole = __builtin_convertvector(shares * -32768.0f - 0.5f, IntVector);
    return (whole & 0xffff) | whole << 16;
}

// Signed bytes in the upper halves of 16-bit numbers, times kSlicedFiner and the factors, as two digits.
inline Pairs scaled_digits(const Pairs& bytes, const IntVector& factors) {
    constexpr std::int16_t halves = 0x80;  // see digits_of
    const auto scaled = (Pairs)DA_MM512(mulhrs_epi16)((M512i)bytes, (M512i)factors);
    return (scaled + halves) ^ halves;
}

// A block of 16 columns of a stored panel, [group] of kGroupBytes, as rows of a tile of h and one of m.
inline void slice_block(const std::uint8_t* groups, const IntVector& factors, std::uint8_t* rows) {
    constexpr std::int16_t upper = -256;  // 0xff00
    for (int g = 0; g < kBlock / kGroup; ++g, groups += kGroupBytes, rows += kAmxDepth) {
        const Pairs bytes = (Pairs)(value_at<IntVector>(groups) ^ 0x80808080);  // what was stored without the offset
        const Pairs even = scaled_digits(bytes << 8, factors), odd = scaled_digits(bytes & upper, factors);
        const Pairs h = (even >> 8 & 0xff) | (odd & upper), m = (even & 0xff) | odd << 8;
        std::memcpy(rows, &h, sizeof(h));
        std::memcpy(rows + kAmxBytes, &m, sizeof(m));
    }
}

// A stored panel (see integer_tile.hpp) as kDotPanel / 16 ones of 16 columns; what is missing to a whole step is zero. A column's scale is
// the largest one of a span's blocks; the weights of the others are rounded again, to 1/256 of the largest step.
inline void slice_panel(int in, const std::uint8_t* stored, std::uint8_t* columns) {
    const int span_length = sliced_span(in);
    const std::size_t bytes_of_16 = sliced_bytes_of_16<kOfIntegers>(in);
    for (int first = 0; first < in; first += span_length) {
        const int count = std::min(span_length, in - first), blocks = count / kBlock;
        for (int v = 0; v < kDotVectors; ++v) {
            std::uint8_t *span = columns + v * bytes_of_16, *steps = span + kSlicedScales;
            const Vector scale = largest_scale(stored + v * sizeof(Vector), blocks), divisor = no_less(scale, broadcast(1e-37f));
            store(reinterpret_cast<float*>(span), scale * (1.0f / kSlicedFiner));
            for (int b = 0; b < blocks; ++b) {
                const std::uint8_t* block = stored + b * kBlockBytes;
                const IntVector factors = factors_of(value_at<Vector>(block + v * sizeof(Vector)) / divisor);
                const int k = b * kBlock;
                slice_block(block + kPanelScales + v * kAmxDepth, factors,
                            steps + k / kAmxDepth * kSlicedStep<kOfIntegers> + k % kAmxDepth / kAmxGroup * kAmxDepth);
            }
            if (count % kAmxDepth != 0) {
                std::uint8_t* rest = steps + count / kAmxDepth * kSlicedStep<kOfIntegers> + kAmxBytes / 2;
                for (int s = 0; s < kOfIntegers; ++s) std::memset(rest + s * kAmxBytes, 0, kAmxBytes / 2);
            }
        }
        stored += blocks * kBlockBytes;
        columns += kSlicedScales + steps_of(count) * kSlicedStep<kOfIntegers>;
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
