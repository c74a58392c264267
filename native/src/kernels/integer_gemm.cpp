#include <algorithm>

#include "kernels/epilogue.hpp"
#include "kernels/functions.hpp"
#include "kernels/integer_tile.hpp"
#include "kernels/product_pieces.hpp"
#include "kernels/weight_row.hpp"
#include "kernels/widened_weights.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr int kColumns = 128;  // of a piece
constexpr int kRowTiles =
    (kLongSpans ? 216 : 84) / kDotRows;  // of a piece, about: small ones end together; large ones widen weights less often
static_assert(kColumns % kDotPanel == 0 && kColumns % kSpan == 0, "pieces are whole panels, and whole spans of the next product");
constexpr std::size_t kResultFloats =
    static_cast<std::size_t>(kDotRows) * kColumns;  // of scratch: a tile's rows, before they are quantised

// Bias, GELU and so on of a tile's sums, to y; column: of the layer.
void finish_tile(const IntegerTask& task, const GemmOperands& operands, const Sums<kDotRows, kDotVectors>& sums, int row, int rows,
                 int column, int columns, float* y, std::ptrdiff_t stride) {
    const auto finish = [&](int v, int count) {
        const int first = column + v * kLanes;
        for (int r = 0; r < rows; ++r) {
            const std::size_t at = static_cast<std::size_t>(row + r) * task.out + first;
            store_some(y + r * stride + v * kLanes, finished(task.gelu, operands, sums[r][v], first, at, count), count);
        }
    };
    for (int v = 0; v < kDotVectors && v * kLanes < columns; ++v) {
        const int left = columns - v * kLanes;
        if (left >= kLanes) {
            finish(v, kLanes);
        } else {
            finish(v, left);
        }
    }
}

// Panels from a piece's first column on, as products read them.
const std::uint8_t* panels_to_read(const IntegerTask& task, const ProductPiece& piece, std::uint8_t* scratch) {
    const std::uint8_t* stored = task.panels + piece.column / kDotPanel * panel_bytes(task.in);
    if constexpr (kLongSpans) {
        for (int p = 0; p < panels_of(piece.columns); ++p)
            widen_panel(task.in, stored + p * panel_bytes(task.in), scratch + p * read_panel_bytes(task.in));
        return scratch;
    }
    return stored;
}

void run_piece(const IntegerTask& task, QuantisedView x, const GemmOperands& operands, const IntegerResult& result,
               const ProductPiece& piece, float* scratch) {
    const bool quantised = result.quantised != nullptr;
    const std::uint8_t* panels = panels_to_read(task, piece, reinterpret_cast<std::uint8_t*>(scratch + kResultFloats));
    for (int row = piece.row; row < piece.row + piece.rows; row += kDotRows) {
        const int rows = std::min(kDotRows, piece.row + piece.rows - row);
        float* y = quantised ? scratch : result.values + static_cast<std::size_t>(row) * task.out + piece.column;
        const std::ptrdiff_t stride = quantised ? kColumns : task.out;
        for (int c = 0; c < piece.columns; c += kDotPanel) {
            const int column = piece.column + c;
            Sums<kDotRows, kDotVectors> sums;
            multiply_tile(task.in, x.tiles + row / kDotRows * tile_bytes(task.in), panels + c / kDotPanel * read_panel_bytes(task.in),
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

void run_pack(const MatrixView& weights, int in, int out, std::uint8_t* panels, float* scratch, Share work) {
    for (int p = work.next(panels_of(out)); p < panels_of(out); p = work.next(panels_of(out))) {
        std::uint8_t* panel = panels + p * panel_bytes(in);
        for (int column = 0; column < kDotPanel; ++column) {
            const int n = p * kDotPanel + column;
            if (n >= out) std::fill(scratch, scratch + in, 0.0f);
            const float* row = n < out ? weight_row(weights, n, 0, in, scratch) : scratch;
            for (int k = 0; k < in; k += kBlock) pack_block(row + k, column, panel + k / kBlock * kBlockBytes);
        }
    }
}

std::size_t integer_gemm_scratch(int in) {
    return kResultFloats + (kLongSpans ? kColumns / kDotPanel * read_panel_bytes(in) / sizeof(float) : 0);
}

void run_integer_gemm(const IntegerTask& task, QuantisedView x, const GemmOperands& operands, const IntegerResult& result, float* scratch,
                      Share work) {
    const ProductPieces pieces(x.rows, task.out, kColumns, kDotRows, kRowTiles, work.threads());
    for (int i = work.next(pieces.count()); i < pieces.count(); i = work.next(pieces.count()))
        run_piece(task, x, operands, result, pieces.piece(i), scratch);
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
