// The linear layer of integer_gemm.hpp in whole numbers of 24 bits, see slices.hpp.
#include <algorithm>

#include "kernels/epilogue.hpp"
#include "kernels/functions.hpp"
#include "kernels/norm_rows.hpp"
#include "kernels/product_pieces.hpp"
#include "kernels/sliced_tile.hpp"
#include "kernels/weight_row.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr int kColumns = 128;                // of a piece; their weights stay in the second cache with a span of values each
constexpr int kRowTiles = 144 / kAmxSide;    // of a piece, about
constexpr int kRowsPerPiece = 2 * kAmxSide;  // that are sliced at a time

// Tiles of one product whose sums wait to be finished: that is done while the next ones are summed up, in other units of the processor.
struct Finish {
    const IntegerTask& task;
    const GemmOperands& operands;
    float* y;
    const std::uint8_t *row_scales, *column_scales;
    int row, rows, column;
    bool begins, ends;  // whether the span is a row's first and last one
    const LevelSums* sums;

    // The part from `from` to `to` of 16 rows.
    void operator()(int from, int to) const {
        const int count = std::min(kAmxSide, task.out - column);
        const auto scales = value_at<Vector>(column_scales);
        for (int r = from; r < std::min(to, rows); ++r) {
            const std::size_t at = static_cast<std::size_t>(row + r) * task.out + column;
            Vector value = joined(*sums, r) * scales * value_at<float>(row_scales + r * sizeof(float));
            if (!begins) value += load_some(y + at, count);
            if (ends) value = finished(task.gelu, operands, value, column, at, count);
            store_some(y + at, value, count);
        }
    }
};

void run_piece(const IntegerTask& task, QuantisedView x, const GemmOperands& operands, float* y, const ProductPiece& piece,
               AmxTiles& tiles) {
    const int span_length = sliced_span(task.in);
    const std::size_t bytes_of_16 = sliced_bytes_of_16(task.in);
    LevelSums sums[2];
    int turn = 0;
    Finish finish{task, operands, y, x.tiles, x.tiles, 0, 0, 0, false, false, sums};
    std::size_t start = 0;
    for (int first = 0; first < task.in; first += span_length) {
        const int steps = steps_of(std::min(span_length, task.in - first));
        for (int r = 0; r < piece.rows; r += kAmxSide) {
            const std::uint8_t* rows = x.tiles + (piece.row + r) / kAmxSide * bytes_of_16 + start;
            for (int c = 0; c < piece.columns; c += kAmxSide) {
                const std::uint8_t* columns = task.panels + (piece.column + c) / kAmxSide * bytes_of_16 + start;
                multiply_span(tiles, steps, rows + kSlicedScales, columns + kSlicedScales, sums[turn], finish);
                finish.row_scales = rows;
                finish.column_scales = columns;
                finish.row = piece.row + r;
                finish.rows = std::min(kAmxSide, piece.rows - r);
                finish.column = piece.column + c;
                finish.begins = first == 0;
                finish.ends = first + span_length >= task.in;
                finish.sums = sums + turn;
                turn = 1 - turn;
            }
        }
        start += kSlicedScales + steps * kSlicedStep;
    }
    finish(0, kAmxSide);
}

}  // namespace

std::size_t sliced_bytes(int in, int rows) {
    return tiles_of_16(rows) * sliced_bytes_of_16(in);
}

std::size_t sliced_panel_bytes(int in, int out) {
    return tiles_of_16(out) * sliced_bytes_of_16(in);
}

std::size_t sliced_gemm_scratch(int /*in*/) {
    return 0;
}

void run_slice(RowsView x, int in, std::uint8_t* tiles, Share work) {
    for_rows(x, work, kRowsPerPiece, [&](int r, const float* values) { slice_row(values, in, r, tiles); });
}

void run_sliced_norm(const NormTask& task, RowsView x, const float* weight, const float* bias, std::uint8_t* tiles, float* scratch,
                     Share work) {
    for_rows(x, work, kRowsPerPiece, [&](int r, const float* values) {
        normalise(task, values, weight, bias, scratch);
        slice_row(scratch, task.channels, r, tiles);
    });
}

void run_slice_weights(const MatrixView& weights, int in, int out, std::uint8_t* panels, float* scratch, Share work) {
    const int count = tiles_of_16(out);
    for (int p = work.next(count); p < count; p = work.next(count)) {
        std::uint8_t* panel = panels + p * sliced_bytes_of_16(in);
        for (int column = 0; column < kAmxSide; ++column) {
            const int n = p * kAmxSide + column;
            if (n >= out) std::fill(scratch, scratch + in, 0.0f);
            slice_column(n < out ? weight_row(weights, n, 0, in, scratch) : scratch, in, column, panel);
        }
    }
}

void run_sliced_gemm(const IntegerTask& task, QuantisedView x, const GemmOperands& operands, const IntegerResult& result,
                     float* /*scratch*/, Share work) {
    AmxTiles tiles;
    const ProductPieces pieces(x.rows, task.out, kColumns, kAmxSide, kRowTiles, work.threads());
    for (int i = work.next(pieces.count()); i < pieces.count(); i = work.next(pieces.count()))
        run_piece(task, x, operands, result.values, pieces.piece(i), tiles);
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
