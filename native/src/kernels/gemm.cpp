#include <algorithm>

#include "kernels/epilogue.hpp"
#include "kernels/functions.hpp"
#include "kernels/product_pieces.hpp"
#include "kernels/shuffle.hpp"
#include "kernels/tile.hpp"
#include "kernels/vector_math.hpp"
#include "kernels/weight_row.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr int kColumns = 128;              // of a piece; its weights stay in the second cache with kDepth values of each
constexpr int kDepth = 768;                // a multiple of every block of stored values; long sums are made of short ones
constexpr int kRowTiles = 72 / kTileRows;  // of a piece, about: small ones end together
static_assert(kColumns % kPanel == 0, "pieces are whole panels");

int rounded_up(int value, int step) {
    return (value + step - 1) / step * step;
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

// Where one block of depth of one panel begins: [block of depth][panel][depth][kPanel].
std::size_t panel_start(int out, int k0, int depth, int panel) {
    return static_cast<std::size_t>(k0) * rounded_up(out, kPanel) + static_cast<std::size_t>(panel) * depth * kPanel;
}

// Columns [first, first + kPanel) and depth [k0, k0 + depth) of W^T.
void pack_panel(const GemmTask& task, int first, int k0, int depth, float* decoded, float* panel) {
    for (int n = 0; n < kPanel; n += kLanes) {
        const int count = std::clamp(task.out - first - n, 0, kLanes);
        const float* rows[kLanes] = {};
        for (int i = 0; i < count; ++i)
            rows[i] = weight_row(task.weights, first + n + i, k0, depth, decoded + static_cast<std::size_t>(i) * kDepth);
        pack_rows(rows, count, depth, panel + n);
    }
}

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
    const float* values = x.values + row * x.stride + depth.first;
    Sums<rows, kTileVectors> sums;
    clear<rows, kTileVectors>(sums);
    // The result is written last: its lines are asked for meanwhile, since another core may have them, in two turns, since a core waits for
    // few lines at a time.
    for (int turn = 0, k = 0; turn < 2; ++turn) {
        for (int r = rows * turn / 2; r < rows * (turn + 1) / 2; ++r) {
            for (int v = 0; v < kTileVectors; ++v) __builtin_prefetch(target + r * y.stride + v * kLanes, 1);
        }
        const int end = depth.count * (turn + 1) / 2;
        multiply<rows, kTileVectors>(end - k, values + k, x.stride, panel + static_cast<std::size_t>(k) * kPanel, kPanel, sums);
        k = end;
    }
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

void run_piece(const GemmTask& task, RowsView x, const GemmOperands& operands, RowsTarget y, const ProductPiece& piece) {
    for (int k0 = 0; k0 < task.in; k0 += kDepth) {
        const Depth depth{k0, std::min(kDepth, task.in - k0), k0 == 0, k0 + kDepth >= task.in};
        for_row_tiles(piece.rows, [&](int row, auto rows) {
            for (int c = piece.column; c < piece.column + piece.columns; c += kPanel) {
                const float* panel = task.arranged + panel_start(task.out, k0, depth.count, c / kPanel);
                run_tile<decltype(rows)::value>(task, x, operands, y, depth, panel, piece.row + row, c);
            }
        });
    }
}

}  // namespace

std::size_t arranged_gemm_floats(int in, int out) {
    return static_cast<std::size_t>(in) * rounded_up(out, kPanel);
}

std::size_t arrange_gemm_scratch() {
    return static_cast<std::size_t>(kLanes) * kDepth;
}

void arrange_gemm(const GemmTask& task, float* arranged, float* scratch, Share work) {
    const int panels = rounded_up(task.out, kPanel) / kPanel;
    for (int i = work.next(panels); i < panels; i = work.next(panels)) {
        for (int k0 = 0; k0 < task.in; k0 += kDepth) {
            const int depth = std::min(kDepth, task.in - k0);
            pack_panel(task, i * kPanel, k0, depth, scratch, arranged + panel_start(task.out, k0, depth, i));
        }
    }
}

void run_gemm(const GemmTask& task, RowsView x, const GemmOperands& operands, RowsTarget y, Share work) {
    const ProductPieces pieces(x.count, task.out, kColumns, kTileRows, kRowTiles, work.threads());
    for (int i = work.next(pieces.count()); i < pieces.count(); i = work.next(pieces.count()))
        run_piece(task, x, operands, y, pieces.piece(i));
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
