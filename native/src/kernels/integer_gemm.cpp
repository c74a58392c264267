#include <algorithm>

#include "kernels/block.hpp"
#include "kernels/epilogue.hpp"
#include "kernels/functions.hpp"
#include "kernels/tile.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr int kColumns = 128;  // of a piece; a multiple of kDotPanel and of kBlock
constexpr int kPiecesPerThread = 8, kFewestTiles = 6;
constexpr int kLargestWeight = 127;
// Bytes of a panel.
constexpr std::size_t kVectorBytes = kLanes * kGroup * sizeof(StoredWeight), kGroupBytes = kDotVectors * kVectorBytes;
constexpr std::size_t kPanelScales = kBlock / kGroup * kGroupBytes, kBlockBytes = kPanelScales + kDotPanel * sizeof(float);

int panels_of(int out) {
    return (out + kDotPanel - 1) / kDotPanel;
}

std::size_t panel_bytes(int in) {
    return in / kBlock * kBlockBytes;
}

template <typename T>
T value_at(const std::uint8_t* source) {
    T value;
    std::memcpy(&value, source, sizeof(value));
    return value;
}

// One block of one column.
void pack_block(const float* values, int column, std::uint8_t* block) {
    StoredWeight stored[kBlock];
    const float scale =
        scaled_integers(values, kLargestWeight, [&](int k, const IntVector& whole) { store_narrow(stored + k, whole + kWeightOffset); });
    std::uint8_t* target = block + column * kGroup * sizeof(StoredWeight);
    for (int k = 0; k < kBlock; k += kGroup, target += kGroupBytes) std::memcpy(target, stored + k, kGroup * sizeof(StoredWeight));
    std::memcpy(block + kPanelScales + column * sizeof(float), &scale, sizeof(scale));
}

// sums = a tile of rows times a panel.
void multiply_tile(int in, const std::uint8_t* tile, const std::uint8_t* panel, Sums<kDotRows, kDotVectors>& sums) {
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

struct Piece {
    int row, rows, column, columns;
};

// Bias, GELU and so on of a tile's sums, to y; column: of the layer.
void finish_tile(const IntegerTask& task, const GemmOperands& operands, const Sums<kDotRows, kDotVectors>& sums, int row, int rows,
                 int column, int columns, float* y, std::ptrdiff_t stride) {
    for (int r = 0; r < rows; ++r) {
        for (int v = 0; v < kDotVectors; ++v) {
            const int left = columns - v * kLanes, first = column + v * kLanes;
            if (left <= 0) continue;
            const std::size_t at = static_cast<std::size_t>(row + r) * task.out + first;
            store_some(y + r * stride + v * kLanes, finished(task.gelu, operands, sums[r][v], first, at, left), left);
        }
    }
}

void run_piece(const IntegerTask& task, QuantisedView x, const GemmOperands& operands, const IntegerResult& result, const Piece& piece,
               float* scratch) {
    const bool quantised = result.quantised != nullptr;
    for (int row = piece.row; row < piece.row + piece.rows; row += kDotRows) {
        const int rows = std::min(kDotRows, piece.row + piece.rows - row);
        float* y = quantised ? scratch : result.values + static_cast<std::size_t>(row) * task.out + piece.column;
        const std::ptrdiff_t stride = quantised ? kColumns : task.out;
        for (int c = 0; c < piece.columns; c += kDotPanel) {
            const int column = piece.column + c;
            Sums<kDotRows, kDotVectors> sums;
            multiply_tile(task.in, x.tiles + row / kDotRows * tile_bytes(task.in), task.panels + column / kDotPanel * panel_bytes(task.in),
                          sums);
            finish_tile(task, operands, sums, row, rows, column, piece.columns - c, y + c, stride);
        }
        for (int r = 0; quantised && r < rows; ++r)
            quantise_row(y + r * stride, piece.column, piece.columns, task.out, row + r, result.quantised);
    }
}

}  // namespace

std::size_t packed_bytes(int in, int out) {
    return panels_of(out) * panel_bytes(in);
}

void run_pack(const MatrixView& weights, int in, int out, std::uint8_t* panels, float* scratch, std::atomic<int>& next) {
    for (int p = next++; p < panels_of(out); p = next++) {
        std::uint8_t* panel = panels + p * panel_bytes(in);
        for (int column = 0; column < kDotPanel; ++column) {
            const int n = p * kDotPanel + column;
            const std::uint8_t* row = static_cast<const std::uint8_t*>(weights.data) + n * weights.row_bytes;
            if (n >= out) {
                std::fill(scratch, scratch + in, 0.0f);
            } else if (weights.to_float == nullptr) {
                std::memcpy(scratch, row, in * sizeof(float));
            } else {
                weights.to_float(row, scratch, in);
            }
            for (int k = 0; k < in; k += kBlock) pack_block(scratch + k, column, panel + k / kBlock * kBlockBytes);
        }
    }
}

std::size_t integer_gemm_scratch() {
    return static_cast<std::size_t>(kDotRows) * kColumns;
}

void run_integer_gemm(const IntegerTask& task, QuantisedView x, const GemmOperands& operands, const IntegerResult& result, int threads,
                      float* scratch, std::atomic<int>& next, const std::atomic<bool>& cancelled) {
    const int across = (task.out + kColumns - 1) / kColumns, tiles = tiles_of(x.rows);
    const int wanted = (kPiecesPerThread * threads + across - 1) / across, down = std::min(wanted, std::max(1, tiles / kFewestTiles));
    for (int i = next++; i < across * down && !cancelled.load(std::memory_order_relaxed); i = next++) {
        const int column = i / down * kColumns, part = i % down;
        const int row = tiles * part / down * kDotRows, end = std::min(x.rows, tiles * (part + 1) / down * kDotRows);
        run_piece(task, x, operands, result, {row, end - row, column, std::min(kColumns, task.out - column)}, scratch);
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
