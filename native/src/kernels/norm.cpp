#include "kernels/block.hpp"
#include "kernels/functions.hpp"
#include "kernels/norm_rows.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr int kRowsPerPiece = 5 * kDotRows;  // whole tiles of quantised rows

}  // namespace

void run_norm(const NormTask& task, RowsView x, const float* weight, const float* bias, RowsTarget y, Share work) {
    for_rows(x, work, kRowsPerPiece, [&](int r, const float* values) { normalise(task, values, weight, bias, y.values + r * y.stride); });
}

void run_quantised_norm(const NormTask& task, RowsView x, const float* weight, const float* bias, std::uint8_t* tiles, float* scratch,
                        Share work) {
    for_rows(x, work, kRowsPerPiece, [&](int r, const float* values) {
        normalise(task, values, weight, bias, scratch);
        quantise_row(scratch, 0, task.channels, task.channels, r, tiles);
    });
}

std::size_t quantised_bytes(int in, int rows) {
    return tiles_of(rows) * tile_bytes(in);
}

void run_quantise(RowsView x, int in, std::uint8_t* tiles, Share work) {
    for_rows(x, work, kRowsPerPiece, [&](int r, const float* values) { quantise_row(values, 0, in, in, r, tiles); });
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
