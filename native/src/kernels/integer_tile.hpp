// Panels of packed weights, see integer_gemm.hpp, and the register tile of all integer products.
#pragma once

#include "kernels/block.hpp"
#include "kernels/tile.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

// Bytes of a stored panel.
constexpr std::size_t kPanelScales = kDotPanel * sizeof(float);  // of a block or a span, before its groups
constexpr std::size_t kGroupBytes = kDotPanel * kGroup * sizeof(StoredWeight), kBlockBytes = kPanelScales + kBlock / kGroup * kGroupBytes;

inline int panels_of(int out) {
    return (out + kDotPanel - 1) / kDotPanel;
}

inline std::size_t panel_bytes(int in) {
    return in / kBlock * kBlockBytes;
}

// A panel as products read it: [span], each its scales and [group][column][in the group], with numbers as wide as activations. Where spans
// are blocks that is the stored one.
inline std::size_t read_panel_bytes(int in) {
    return spans_of(in) * kPanelScales + in / kGroup * kDotPanel * kRowGroup;
}

// One block of one column.
inline void pack_block(const float* values, int column, std::uint8_t* block) {
    StoredWeight stored[kBlock];
    const float scale = scaled_integers(values, kBlock, kLargestWeight,
                                        [&](int k, const IntVector& whole) { store_narrow(stored + k, whole + kWeightOffset); });
    std::uint8_t* target = block + kPanelScales + column * kGroup * sizeof(StoredWeight);
    for (int k = 0; k < kBlock; k += kGroup, target += kGroupBytes) std::memcpy(target, stored + k, kGroup * sizeof(StoredWeight));
    std::memcpy(block + column * sizeof(float), &scale, sizeof(scale));
}

// Of some blocks of a panel, for kLanes columns: as bits, in whose order infinity comes after all numbers, and NaN after infinity.
inline Vector largest_scale(const std::uint8_t* stored, int blocks) {
    IntVector most{};
    for (int b = 0; b < blocks; ++b) {
        const auto bits = value_at<IntVector>(stored + b * kBlockBytes);
        most = bits > most ? bits : most;
    }
    return (Vector)most;
}

// sums = a tile of rows times a panel.
inline void multiply_tile(int in, const std::uint8_t* tile, const std::uint8_t* panel, Sums<kDotRows, kDotVectors>& sums) {
    constexpr int down = kDotRows / kLaneRows, across = kDotPanel / kLaneColumns;  // registers
    Sums<down, across> registers;
    clear<down, across>(registers);
    for (int k = 0; k < in; k += kSpan) {
        IntVector dots[down][across];
        for (int r = 0; r < down; ++r) {
            const IntVector start = in_rows(tile + kTileStarts + r * kLaneRows * kLaneBytes);
            for (int v = 0; v < across; ++v) dots[r][v] = start;
        }
        const std::uint8_t *row_scales = tile, *column_scales = panel;
        tile += kTileGroups;
        panel += kPanelScales;
        for (int g = span_length(in - k) / kGroup; g > 0; --g, tile += kTileGroup, panel += across * sizeof(IntVector)) {
            IntVector weights[across];
            for (int v = 0; v < across; ++v) weights[v] = value_at<IntVector>(panel + v * sizeof(IntVector));
            for (int r = 0; r < down; ++r) {
                const IntVector groups = load_groups(tile + r * kLaneRows * kRowGroup);
                for (int v = 0; v < across; ++v) dots[r][v] = dot(dots[r][v], weights[v], groups);
            }
        }
        for (int v = 0; v < across; ++v) {
            const auto scales = (Vector)in_columns(column_scales + v * kLaneColumns * sizeof(float));
            for (int r = 0; r < down; ++r) {
                const Vector scale = scales * (Vector)in_rows(row_scales + r * kLaneRows * kLaneBytes);
                registers[r][v] += __builtin_convertvector(dots[r][v], Vector) * scale;
            }
        }
    }
    for (int r = 0; r < kDotRows; ++r) {
        for (int v = 0; v < kDotVectors; ++v) sums[r][v] = row_of(registers[r / kLaneRows] + v * kLaneRows, r % kLaneRows);
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
