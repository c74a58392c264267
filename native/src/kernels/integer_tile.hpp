// Panels of packed weights, see integer_gemm.hpp, and the register tile of all integer products.
#pragma once

#include "kernels/block.hpp"
#include "kernels/tile.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

constexpr int kLargestWeight = 127;

// Bytes of a panel.
constexpr std::size_t kVectorBytes = kLanes * kGroup * sizeof(StoredWeight), kGroupBytes = kDotVectors * kVectorBytes;
constexpr std::size_t kPanelScales = kBlock / kGroup * kGroupBytes, kBlockBytes = kPanelScales + kDotPanel * sizeof(float);

inline int panels_of(int out) {
    return (out + kDotPanel - 1) / kDotPanel;
}

inline std::size_t panel_bytes(int in) {
    return in / kBlock * kBlockBytes;
}

template <typename T>
inline T value_at(const std::uint8_t* source) {
    T value;
    std::memcpy(&value, source, sizeof(value));
    return value;
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
    clear<kDotRows, kDotVectors>(sums);
    for (int k = 0; k < in; k += kBlock, tile += kTileBlock, panel += kBlockBytes) {
        IntVector dots[kDotRows][kDotVectors];
        for (int r = 0; r < kDotRows; ++r) {
            const IntVector start = value_at<std::int32_t>(tile + kTileStarts + r * kLaneBytes) + IntVector{};
            for (int v = 0; v < kDotVectors; ++v) dots[r][v] = start;
        }
        for (int g = 0; g < kBlock / kGroup; ++g) {
            IntVector weights[kDotVectors];
            for (int v = 0; v < kDotVectors; ++v) weights[v] = load_weights(panel + g * kGroupBytes + v * kVectorBytes);
            for (int r = 0; r < kDotRows; ++r) {
                const IntVector group = value_at<std::int32_t>(tile + g * kTileGroup + r * kLaneBytes) + IntVector{};
                for (int v = 0; v < kDotVectors; ++v) dots[r][v] = dot(dots[r][v], weights[v], group);
            }
        }
        const auto* scales = reinterpret_cast<const float*>(panel + kPanelScales);
        for (int v = 0; v < kDotVectors; ++v) {
            for (int r = 0; r < kDotRows; ++r) {
                const Vector scale = load(scales + v * kLanes) * value_at<float>(tile + kTileScales + r * kLaneBytes);
                sums[r][v] += __builtin_convertvector(dots[r][v], Vector) * scale;
            }
        }
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
