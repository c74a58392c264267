#include <algorithm>

#include "kernels/functions.hpp"
#include "kernels/tile.hpp"
#include "kernels/vector_math.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr int kColumns = 64;      // of a packed block
constexpr int kDepth = 256;       // of a packed block: it stays in the cache, and long sums are made of short ones
constexpr int kFewestRows = 144;  // below that, packing would weigh too much
constexpr int kPiecesPerThread = 3;

int rounded_up(int value, int step) {
    return (value + step - 1) / step * step;
}

// Columns [first, first + count) and depth [k0, k0 + depth) of W^T as panels [panel][depth][kPanel]; missing columns are zero.
void pack(const GemmTask& task, int first, int count, int k0, int depth, float* row, float* packed) {
    const MatrixView& w = task.weights;
    std::fill(packed, packed + static_cast<std::size_t>(rounded_up(count, kPanel)) * depth, 0.0f);
    for (int n = 0; n < count; ++n) {
        const auto* start = static_cast<const std::uint8_t*>(w.data) + static_cast<std::size_t>(first + n) * w.row_bytes +
                            static_cast<std::size_t>(k0 / w.block_values) * w.block_bytes;
        const float* values = reinterpret_cast<const float*>(start);
        if (w.to_float != nullptr) {
            w.to_float(start, row, depth);
            values = row;
        }
        float* target = packed + static_cast<std::size_t>(n / kPanel) * depth * kPanel + n % kPanel;
        for (int k = 0; k < depth; ++k) target[static_cast<std::size_t>(k) * kPanel] = values[k];
    }
}

Vector load_some(const float* source, int count) {
    if (count >= kLanes) return load(source);
    Vector value{};
    for (int i = 0; i < count; ++i) value[i] = source[i];
    return value;
}

void store_some(float* target, const Vector& value, int count) {
    if (count >= kLanes) return store(target, value);
    for (int i = 0; i < count; ++i) target[i] = value[i];
}

Vector finished(const GemmTask& task, const GemmOperands& operands, Vector value, int column, std::size_t at, int count) {
    if (operands.bias != nullptr) value += load_some(operands.bias + column, count);
    if (task.gelu) value = gelu(value);
    if (operands.scale != nullptr) value *= load_some(operands.scale + column, count);
    if (operands.residual != nullptr) value += load_some(operands.residual + at, count);
    return value;
}

struct Piece {
    int row, rows, column, columns;
};

void run_piece(const GemmTask& task, RowsView x, const GemmOperands& operands, float* y, const Piece& piece, float* scratch,
               const std::atomic<bool>& cancelled) {
    float* packed = scratch + kDepth;
    for (int k0 = 0; k0 < task.in; k0 += kDepth) {
        if (cancelled.load(std::memory_order_relaxed)) return;
        const int depth = std::min(kDepth, task.in - k0);
        const bool last = k0 + depth == task.in;
        pack(task, piece.column, piece.columns, k0, depth, scratch, packed);
        for_row_tiles(piece.rows, [&](int row, auto rows) {
            const int first = piece.row + row;
            for (int c = 0; c < piece.columns; c += kPanel) {
                Sums<decltype(rows)::value, kTileVectors> sums;
                clear<decltype(rows)::value, kTileVectors>(sums);
                multiply<decltype(rows)::value, kTileVectors>(depth, x.values + first * x.stride + k0, x.stride,
                                                              packed + static_cast<std::size_t>(c) * depth, kPanel, sums);
                for (int r = 0; r < decltype(rows)::value; ++r) {
                    for (int v = 0; v < kTileVectors; ++v) {
                        const int column = piece.column + c + v * kLanes, count = piece.column + piece.columns - column;
                        if (count <= 0) continue;
                        const std::size_t at = static_cast<std::size_t>(first + r) * task.out + column;
                        Vector value = sums[r][v];
                        if (k0 > 0) value += load_some(y + at, count);
                        store_some(y + at, last ? finished(task, operands, value, column, at, count) : value, count);
                    }
                }
            }
        });
    }
}

}  // namespace

std::size_t gemm_scratch() {
    return kDepth + static_cast<std::size_t>(kColumns) * kDepth;
}

void run_gemm(const GemmTask& task, RowsView x, const GemmOperands& operands, float* y, int threads, float* scratch, std::atomic<int>& next,
              const std::atomic<bool>& cancelled) {
    const int across = (task.out + kColumns - 1) / kColumns;
    const int wanted = (kPiecesPerThread * threads + across - 1) / across, most = std::max(1, x.count / kFewestRows);
    const int down = std::min(wanted, most);
    for (int i = next++; i < across * down && !cancelled.load(std::memory_order_relaxed); i = next++) {
        const int column = i / down * kColumns, part = i % down;
        const int row = static_cast<int>(static_cast<std::int64_t>(x.count) * part / down);
        const int end = static_cast<int>(static_cast<std::int64_t>(x.count) * (part + 1) / down);
        run_piece(task, x, operands, y, {row, end - row, column, std::min(kColumns, task.out - column)}, scratch, cancelled);
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
