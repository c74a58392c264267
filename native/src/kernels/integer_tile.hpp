// Panels of packed weights, see integer_gemm.hpp, and the register tile of all integer products.
#pragma once

#include "kernels/block.hpp"
#include "kernels/tile.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

constexpr int kLargestWeight = 127;

// Bytes of a panel.
constexpr std::size_t kVectorBytes = kLaneColumns * kGroup * sizeof(StoredWeight), kGroupBytes = kDotPanel / kLaneColumns * kVectorBytes;
constexpr std::size_t kPanelScales = kBlock / kGroup * kGroupBytes, kBlockBytes = kPanelScales + kDotPanel * sizeof(float);

inline int panels_of(int out) {
    return (out + kDotPanel - 1) / kDotPanel;
}

inline std::size_t panel_bytes(int in) {
    return in / kBlock * kBlockBytes;
}

// One block of one column.
inline void pack_block(const float* values, int column, std::uint8_t* block) {
    StoredWeight stored[kBlock];
    const float scale =
        scaled_integers(values, kLargestWeight, [&](int k, const IntVector& whole) { store_narrow(stored + k, whole + kWeightOffset); });
    std::uint8_t* target = block + column * kGroup * sizeof(StoredWeight);
    for (int k = 0; k < kBlock; k += kGroup, target += kGroupBytes) std::memcpy(target, stored + k, kGroup * sizeof(StoredWeight));
    std::memcpy(block + kPanelScales + column * sizeof(float), &scale, sizeof(scale));
}

// sums = a tile of rows times a panel.
inline void multiply_tile(int in, const std::uint8_t* tile, const std::uint8_t* panel, Sums<kDotRows, kDotVectors>& sums) {
    constexpr int down = kDotRows / kLaneRows, across = kDotPanel / kLaneColumns;  // registers
    Sums<down, across> registers;
    clear<down, across>(registers);
    for (int k = 0; k < in; k += kBlock, tile += kTileBlock, panel += kBlockBytes) {
        IntVector dots[down][across];
        for (int r = 0; r < down; ++r) {
            const IntVector start = in_rows(tile + kTileStarts + r * kLaneRows * kLaneBytes);
            for (int v = 0; v < across; ++v) dots[r][v] = start;
        }
        for (int g = 0; g < kBlock / kGroup; ++g) {
            IntVector weights[across];
            for (int v = 0; v < across; ++v) weights[v] = load_weights(panel + g * kGroupBytes + v * kVectorBytes);
            for (int r = 0; r < down; ++r) {
                const IntVector groups = load_groups(tile + g * kTileGroup + r * kLaneRows * kRowGroup);
                for (int v = 0; v < across; ++v) dots[r][v] = dot(dots[r][v], weights[v], groups);
            }
        }
        for (int v = 0; v < across; ++v) {
            const auto scales = (Vector)in_columns(panel + kPanelScales + v * kLaneColumns * sizeof(float));
            for (int r = 0; r < down; ++r) {
                const Vector scale = scales * (Vector)in_rows(tile + kTileScales + r * kLaneRows * kLaneBytes);
                registers[r][v] += __builtin_convertvector(dots[r][v], Vector) * scale;
            }
        }
    }
    for (int r = 0; r < kDotRows; ++r) {
        for (int v = 0; v < kDotVectors; ++v) sums[r][v] = row_of(registers[r / kLaneRows] + v * kLaneRows, r % kLaneRows);
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
