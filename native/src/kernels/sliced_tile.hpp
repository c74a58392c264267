// Rows and columns cut into slices, see slices.hpp, and their products in tile registers.
#pragma once

#include "kernels/slices.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

// Sums of products of slices, each 256 times as much as the next one. What is left out is less than what rounding the factors costs: the
// product of both lowest slices.
template <int slices>
constexpr int kLevels = 2 * (slices - 1);

// Sums of a tile, [level][row][column].
template <int slices>
struct alignas(64) LevelSums {
    std::int32_t values[kLevels<slices>][kAmxSums];
};

inline int tiles_of_16(int count) {
    return (count + kAmxSide - 1) / kAmxSide;
}

// Row `number` of rows of `in` values.
template <int slices>
inline void slice_row(const float* values, int in, int number, std::uint8_t* tiles) {
    const int row = number % kAmxSide, span_length = sliced_span(in);
    std::uint8_t* span = tiles + number / kAmxSide * sliced_bytes_of_16<slices>(in);
    for (int first = 0; first < in; first += span_length) {
        const int count = std::min(span_length, in - first);
        std::uint8_t* steps = span + kSlicedScales;
        const float scale = sliced_values<slices>(values + first, count, [&](int k, const SlicedLanes<slices>& lanes) {
            std::uint8_t* place = steps + k / kAmxDepth * kSlicedStep<slices> + row * kAmxDepth + k % kAmxDepth;
            for (int s = 0; s < slices; ++s) std::memcpy(place + s * kAmxBytes, &lanes.digits[s], sizeof(Digits));
        });
        std::memcpy(span + row * sizeof(float), &scale, sizeof(scale));
        span = steps + steps_of(count) * kSlicedStep<slices>;
    }
}

// Column `column` of a panel; what is missing to a whole step is zero.
template <int slices>
inline void slice_column(const float* values, int in, int column, std::uint8_t* panel) {
    const int span_length = sliced_span(in);
    for (int first = 0; first < in; first += span_length) {
        const int count = std::min(span_length, in - first);
        std::uint8_t* steps = panel + kSlicedScales;
        const auto put = [&](int k, const SlicedLanes<slices>& lanes) {
            std::uint8_t* place = steps + k / kAmxDepth * kSlicedStep<slices> + k % kAmxDepth / kAmxGroup * kAmxDepth + column * kAmxGroup;
            for (int s = 0; s < slices; ++s) {
                std::uint8_t digits[kLanes];
                std::memcpy(digits, &lanes.digits[s], sizeof(digits));
                for (int g = 0; g < kLanes / kAmxGroup; ++g)
                    std::memcpy(place + s * kAmxBytes + g * kAmxDepth, digits + g * kAmxGroup, kAmxGroup);
            }
        };
        const float scale = sliced_values<slices>(values + first, count, put);
        const int padded = steps_of(count) * kAmxDepth;
        for (int k = (count + kLanes - 1) / kLanes * kLanes; k < padded; k += kLanes) put(k, SlicedLanes<slices>{});
        std::memcpy(panel + column * sizeof(float), &scale, sizeof(scale));
        panel = steps + steps_of(count) * kSlicedStep<slices>;
    }
}

// Adds the products of one step to the sums in the first tile registers.
template <int slices>
inline void multiply_step(AmxTiles& tiles, const std::uint8_t* rows, const std::uint8_t* columns) {
    tiles.load<4>(rows);
    tiles.load<7>(columns);
    tiles.multiply<0, 4, 7>();  // h h
    tiles.load<5>(rows + kAmxBytes);
    tiles.multiply<1, 5, 7>();  // m h
    if constexpr (slices == 3) {
        tiles.load<6>(rows + 2 * kAmxBytes);
        tiles.multiply<2, 6, 7>();  // l h
    }
    tiles.load<7>(columns + kAmxBytes);
    tiles.multiply<1, 4, 7>();  // h m
    if constexpr (slices == 3) {
        tiles.multiply<2, 5, 7>();  // m m
        tiles.multiply<3, 6, 7>();  // l m
        tiles.load<7>(columns + 2 * kAmxBytes);
        tiles.multiply<2, 4, 7>();  // h l
        tiles.multiply<3, 5, 7>();  // m l
    }
}

// sums = a span of 16 rows times one of 16 columns. Meanwhile, in other units of the processor, before(from, to) is called for all of 16
// rows, a few at a time: it finishes the sums of the span before this one.
template <int slices, typename Finish>
inline void multiply_span(AmxTiles& tiles, int steps, const std::uint8_t* rows, const std::uint8_t* columns, LevelSums<slices>& sums,
                          const Finish& before) {
    tiles.clear<0>();
    tiles.clear<1>();
    if constexpr (slices == 3) {
        tiles.clear<2>();
        tiles.clear<3>();
    }
    for (int i = 0; i < steps; ++i, rows += kSlicedStep<slices>, columns += kSlicedStep<slices>) {
        multiply_step<slices>(tiles, rows, columns);
        before(kAmxSide * i / steps, kAmxSide * (i + 1) / steps);
    }
    tiles.store<0>(sums.values[0]);
    tiles.store<1>(sums.values[1]);
    if constexpr (slices == 3) {
        tiles.store<2>(sums.values[2]);
        tiles.store<3>(sums.values[3]);
    }
}

// A row of the sums as floats, without the scales.
template <int slices>
inline Vector joined(const LevelSums<slices>& sums, int row) {
    Vector total{};
    for (int level = 0; level < kLevels<slices>; ++level) {
        IntVector lanes;
        std::memcpy(&lanes, sums.values[level] + row * kAmxSide, sizeof(lanes));
        total = total * 256.0f + __builtin_convertvector(lanes, Vector);
    }
    return total * 256.0f;
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
