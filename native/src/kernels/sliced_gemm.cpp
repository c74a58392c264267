// The linear layer of integer_gemm.hpp in slices, see slices.hpp.
#include <algorithm>

#include "kernels/epilogue.hpp"
#include "kernels/functions.hpp"
#include "kernels/norm_rows.hpp"
#include "kernels/product_pieces.hpp"
#include "kernels/sliced_panel.hpp"
#include "kernels/weight_row.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr int kColumns = 128;  // of a piece; their weights stay in the second cache with a span of values each
template <int slices>
constexpr int kRowTiles = (slices == kOfFloats ? 144 : 448) / kAmxSide;  // of a piece, about; large ones slice weights less often
constexpr int kRowsPerPiece = 2 * kAmxSide;                              // that are sliced at a time

// Tiles of one product whose sums wait to be finished: that is done while the next ones are summed up, in other units of the processor.
template <int slices>
struct Finish {
    const IntegerTask& task;
    const GemmOperands& operands;
    float* y;
    const std::uint8_t *row_scales, *column_scales;
    int row, rows, column;
    bool begins, ends;  // whether the span is a row's first and last one
    const LevelSums<slices>* sums;

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

// Weights from a piece's first column on, as products read them; those of quantised files are made so in scratch.
template <int slices>
const std::uint8_t* columns_to_read(const IntegerTask& task, const ProductPiece& piece, std::uint8_t* scratch) {
    if constexpr (slices == kOfFloats) return task.panels + piece.column / kAmxSide * sliced_bytes_of_16<slices>(task.in);
    for (int c = 0; c < piece.columns; c += kDotPanel)
        slice_panel(task.in, task.panels + (piece.column + c) / kDotPanel * panel_bytes(task.in),
                    scratch + c / kAmxSide * sliced_bytes_of_16<slices>(task.in));
    return scratch;
}

template <int slices>
void run_piece(const IntegerTask& task, QuantisedView x, const GemmOperands& operands, float* y, const ProductPiece& piece,
               std::uint8_t* scratch, AmxTiles& tiles) {
    const int span_length = sliced_span(task.in);
    const std::size_t bytes_of_16 = sliced_bytes_of_16<slices>(task.in);
    const std::uint8_t* weights = columns_to_read<slices>(task, piece, scratch);
    LevelSums<slices> sums[2];
    int turn = 0;
    Finish<slices> finish{task, operands, y, x.tiles, x.tiles, 0, 0, 0, false, false, sums};
    std::size_t start = 0;
    for (int first = 0; first < task.in; first += span_length) {
        const int steps = steps_of(std::min(span_length, task.in - first));
        for (int r = 0; r < piece.rows; r += kAmxSide) {
            const std::uint8_t* rows = x.tiles + (piece.row + r) / kAmxSide * bytes_of_16 + start;
            for (int c = 0; c < piece.columns; c += kAmxSide) {
                const std::uint8_t* columns = weights + c / kAmxSide * bytes_of_16 + start;
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
        start += kSlicedScales + steps * kSlicedStep<slices>;
    }
    finish(0, kAmxSide);
}

template <int slices>
std::size_t bytes_of_rows(int in, int rows) {
    return tiles_of_16(rows) * sliced_bytes_of_16<slices>(in);
}

template <int slices>
void run_slice(RowsView x, int in, std::uint8_t* tiles, Share work) {
    for_rows(x, work, kRowsPerPiece, [&](int r, const float* values) { slice_row<slices>(values, in, r, tiles); });
}

template <int slices>
void run_sliced_norm(const NormTask& task, RowsView x, const float* weight, const float* bias, std::uint8_t* tiles, float* scratch,
                     Share work) {
    for_rows(x, work, kRowsPerPiece, [&](int r, const float* values) {
        normalise(task, values, weight, bias, scratch);
        slice_row<slices>(scratch, task.channels, r, tiles);
    });
}

std::size_t bytes_of_columns(int in, int out) {
    return tiles_of_16(out) * sliced_bytes_of_16<kOfFloats>(in);
}

void run_slice_weights(const MatrixView& weights, int in, int out, std::uint8_t* panels, float* scratch, Share work) {
    const int count = tiles_of_16(out);
    for (int p = work.next(count); p < count; p = work.next(count)) {
        std::uint8_t* panel = panels + p * sliced_bytes_of_16<kOfFloats>(in);
        for (int column = 0; column < kAmxSide; ++column) {
            const int n = p * kAmxSide + column;
            if (n >= out) std::fill(scratch, scratch + in, 0.0f);
            slice_column<kOfFloats>(n < out ? weight_row(weights, n, 0, in, scratch) : scratch, in, column, panel);
        }
    }
}

template <int slices>
std::size_t gemm_scratch(int in) {
    return slices == kOfFloats ? 0 : kColumns / kAmxSide * sliced_bytes_of_16<slices>(in) / sizeof(float);
}

template <int slices>
void run_sliced_gemm(const IntegerTask& task, QuantisedView x, const GemmOperands& operands, const IntegerResult& result, float* scratch,
                     Share work) {
    AmxTiles tiles;
    const ProductPieces pieces(x.rows, task.out, kColumns, kAmxSide, kRowTiles<slices>, work.threads());
    for (int i = work.next(pieces.count()); i < pieces.count(); i = work.next(pieces.count()))
        run_piece<slices>(task, x, operands, result.values, pieces.piece(i), reinterpret_cast<std::uint8_t*>(scratch), tiles);
}

}  // namespace

const LayerKernels kSlicedFloats = {bytes_of_rows<kOfFloats>, run_slice<kOfFloats>,    run_sliced_norm<kOfFloats>, bytes_of_columns,
                                    run_slice_weights,        gemm_scratch<kOfFloats>, run_sliced_gemm<kOfFloats>, false};
const LayerKernels kSlicedIntegers = {bytes_of_rows<kOfIntegers>,
                                      run_slice<kOfIntegers>,
                                      run_sliced_norm<kOfIntegers>,
                                      packed_bytes,
                                      run_pack,
                                      gemm_scratch<kOfIntegers>,
                                      run_sliced_gemm<kOfIntegers>,
                                      false};

}  // namespace da::kernels::DA_INSTRUCTION_SET
