#include <algorithm>

#include "kernels/epilogue.hpp"
#include "kernels/functions.hpp"
#include "kernels/shuffle.hpp"
#include "kernels/tile.hpp"
#include "kernels/vector_math.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr int kColumns = 128;     // of a packed block, which stays in the second cache with kDepth values of each
constexpr int kDepth = 768;       // a multiple of every block of stored values; long sums are made of short ones
constexpr int kFewestRows = 144;  // below that, packing would weigh too much
constexpr int kPiecesPerThread = 4;

int rounded_up(int value, int step) {
    return (value + step - 1) / step * step;
}

// Values [k0, k0 + depth) of one row of W; decoded into `row` where they are stored as something else than floats.
const float* weight_row(const MatrixView& w, int index, int k0, int depth, float* row) {
    const auto* start = static_cast<const std::uint8_t*>(w.data) + static_cast<std::size_t>(index) * w.row_bytes +
                        static_cast<std::size_t>(k0 / w.block_values) * w.block_bytes;
    if (w.to_float == nullptr) return reinterpret_cast<const float*>(start);
    w.to_float(start, row, depth);
    return row;
}

// kLanes rows of W become columns of a panel; missing rows are zero.
void pack_rows(const float* const (&rows)[kLanes], int count, int depth, float* target) {
    int k = 0;
    for (; k + kLanes <= depth && count == kLanes; k += kLanes) {
        Vector square[kLanes];
        for (int i = 0; i < kLanes; ++i) square[i] = load(rows[i] + k);
        transpose(square);
        for (int i = 0; i < kLanes; ++i) store(target + static_cast<std::size_t>(k + i) * kPanel, square[i]);
    }
    for (; k < depth; ++k) {
        for (int i = 0; i < kLanes; ++i) target[static_cast<std::size_t>(k) * kPanel + i] = i < count ? rows[i][k] : 0.0f;
    }
}

// Columns [first, first + count) and depth [k0, k0 + depth) of W^T as panels [panel][depth][kPanel].
void pack(const GemmTask& task, int first, int count, int k0, int depth, float* decoded, float* packed) {
    for (int n = 0; n < rounded_up(count, kPanel); n += kLanes) {
        const float* rows[kLanes] = {};
        for (int i = 0; i < std::min(kLanes, count - n); ++i)
            rows[i] = weight_row(task.weights, first + n + i, k0, depth, decoded + static_cast<std::size_t>(i) * kDepth);
        pack_rows(rows, std::clamp(count - n, 0, kLanes), depth,
                  packed + static_cast<std::size_t>(n / kPanel) * depth * kPanel + n % kPanel);
    }
}

struct Piece {
    int row, rows, column, columns;
};

// One block of depth: where it begins, and whether sums begin and end with it.
struct Depth {
    int first, count;
    bool begins, ends;
};

// One tile: `rows` rows from `row` on times the panel of columns from `column` on.
template <int rows>
void run_tile(const GemmTask& task, RowsView x, const GemmOperands& operands, RowsTarget y, const Depth& depth, const float* panel, int row,
              int column) {
    float* target = y.values + row * y.stride + column;
    // The result is written last: by then its lines have come.
    for (int r = 0; r < rows; ++r) {
        for (int v = 0; v < kTileVectors; ++v) __builtin_prefetch(target + r * y.stride + v * kLanes, 1);
    }
    Sums<rows, kTileVectors> sums;
    clear<rows, kTileVectors>(sums);
    multiply<rows, kTileVectors>(depth.count, x.values + row * x.stride + depth.first, x.stride, panel, kPanel, sums);
    for (int r = 0; r < rows; ++r) {
        for (int v = 0; v < kTileVectors; ++v) {
            const int count = task.out - column - v * kLanes;
            if (count <= 0) continue;
            float* place = target + r * y.stride + v * kLanes;
            Vector value = sums[r][v];
            if (!depth.begins) value += load_some(place, count);
            if (depth.ends) {
                const std::size_t at = static_cast<std::size_t>(row + r) * task.out + column + v * kLanes;
                value = finished(task.gelu, operands, value, column + v * kLanes, at, count);
            }
            store_some(place, value, count);
        }
    }
}

void run_piece(const GemmTask& task, RowsView x, const GemmOperands& operands, RowsTarget y, const Piece& piece, float* scratch,
               const std::atomic<bool>& cancelled) {
    float* packed = scratch + kLanes * kDepth;
    for (int k0 = 0; k0 < task.in; k0 += kDepth) {
        const Depth depth{k0, std::min(kDepth, task.in - k0), k0 == 0, k0 + kDepth >= task.in};
        pack(task, piece.column, piece.columns, k0, depth.count, scratch, packed);
        for_row_tiles(piece.rows, [&](int row, auto rows) {
            if (cancelled.load(std::memory_order_relaxed)) return;
            for (int c = 0; c < piece.columns; c += kPanel) {
                run_tile<decltype(rows)::value>(task, x, operands, y, depth, packed + static_cast<std::size_t>(c) * depth.count,
                                                piece.row + row, piece.column + c);
            }
        });
    }
}

// Rows and columns of the pieces: columns in blocks, and rows in so many parts that every thread gets some pieces.
struct Division {
    int across, down, columns;

    Division(const GemmTask& task, int rows, int threads) {
        across = (task.out + kColumns - 1) / kColumns;
        columns = rounded_up((task.out + across - 1) / across, kPanel);
        const int wanted = (kPiecesPerThread * threads + across - 1) / across;
        down = std::clamp(wanted, 1, std::max(1, rows / kFewestRows));
    }

    Piece piece(const GemmTask& task, int rows, int index) const {
        const auto row = [&](int part) {
            return part == down ? rows : static_cast<int>(static_cast<std::int64_t>(rows) * part / down) / kTileRows * kTileRows;
        };
        const int column = index / down * columns, part = index % down;
        return {row(part), row(part + 1) - row(part), column, std::min(columns, task.out - column)};
    }
};

}  // namespace

std::size_t gemm_scratch() {
    return static_cast<std::size_t>(kLanes + kColumns) * kDepth;
}

void run_gemm(const GemmTask& task, RowsView x, const GemmOperands& operands, RowsTarget y, int threads, float* scratch,
              std::atomic<int>& next, const std::atomic<bool>& cancelled) {
    const Division division(task, x.count, threads);
    for (int i = next++; i < division.across * division.down && !cancelled.load(std::memory_order_relaxed); i = next++) {
        const Piece piece = division.piece(task, x.count, i);
        if (piece.columns > 0) run_piece(task, x, operands, y, piece, scratch, cancelled);
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
