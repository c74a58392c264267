#include <algorithm>
#include <cmath>

#include "kernels/block.hpp"
#include "kernels/functions.hpp"
#include "kernels/vector.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr int kRowsPerPiece = 5 * kDotRows;  // whole tiles of quantised rows

// Sum of term(value) over a row: one sum per lane, then the rest.
template <typename Term>
float sum_of(const float* row, int count, const Term& term) {
    Vector sums{};
    int i = 0;
    for (; i + kLanes <= count; i += kLanes) sums += term(load(row + i));
    float total = 0.0f;
    for (int lane = 0; lane < kLanes; ++lane) total += sums[lane];
    for (; i < count; ++i) total += term(broadcast(row[i]))[0];
    return total;
}

void normalise(const NormTask& task, const float* x, const float* weight, const float* bias, float* y) {
    const float count = static_cast<float>(task.channels);
    const float mean = sum_of(x, task.channels, [](const Vector& v) { return v; }) / count;
    const float variance = sum_of(x, task.channels, [&](const Vector& v) { return (v - mean) * (v - mean); }) / count;
    const float inverse = 1.0f / std::sqrt(variance + task.eps);
    for (int i = 0; i < task.channels; ++i) y[i] = (x[i] - mean) * inverse * weight[i] + bias[i];
}

// Calls row(number, its values) for one thread's share.
template <typename Row>
void for_rows(RowsView x, Share work, const Row& row) {
    const int pieces = (x.count + kRowsPerPiece - 1) / kRowsPerPiece;
    for (int i = work.next(pieces); i < pieces; i = work.next(pieces)) {
        for (int r = i * kRowsPerPiece; r < std::min((i + 1) * kRowsPerPiece, x.count); ++r) row(r, x.values + r * x.stride);
    }
}

}  // namespace

void run_norm(const NormTask& task, RowsView x, const float* weight, const float* bias, RowsTarget y, Share work) {
    for_rows(x, work, [&](int r, const float* values) { normalise(task, values, weight, bias, y.values + r * y.stride); });
}

void run_quantised_norm(const NormTask& task, RowsView x, const float* weight, const float* bias, std::uint8_t* tiles, float* scratch,
                        Share work) {
    for_rows(x, work, [&](int r, const float* values) {
        normalise(task, values, weight, bias, scratch);
        quantise_row(scratch, 0, task.channels, task.channels, r, tiles);
    });
}

std::size_t quantised_bytes(int in, int rows) {
    return tiles_of(rows) * tile_bytes(in);
}

void run_quantise(RowsView x, int in, std::uint8_t* tiles, Share work) {
    for_rows(x, work, [&](int r, const float* values) { quantise_row(values, 0, in, in, r, tiles); });
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
