// LayerNorm of one row, and how rows are shared out.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/norm.hpp"
#include "kernels/vector.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

// Sum of term(value) over a row: one sum per lane, then the rest.
template <typename Term>
inline float sum_of(const float* row, int count, const Term& term) {
    Vector sums{};
    int i = 0;
    for (; i + kLanes <= count; i += kLanes) sums += term(load(row + i));
    float total = 0.0f;
    for (int lane = 0; lane < kLanes; ++lane) total += sums[lane];
    for (; i < count; ++i) total += term(broadcast(row[i]))[0];
    return total;
}

inline void normalise(const NormTask& task, const float* x, const float* weight, const float* bias, float* y) {
    const float count = static_cast<float>(task.channels);
    const float mean = sum_of(x, task.channels, [](const Vector& v) { return v; }) / count;
    const float variance = sum_of(x, task.channels, [&](const Vector& v) { return (v - mean) * (v - mean); }) / count;
    const float inverse = 1.0f / std::sqrt(variance + task.eps);
    for (int i = 0; i < task.channels; ++i) y[i] = (x[i] - mean) * inverse * weight[i] + bias[i];
}

// Calls row(number, its values) for one thread's share of pieces of so many rows.
template <typename Row>
inline void for_rows(RowsView x, Share work, int rows_per_piece, const Row& row) {
    const int pieces = (x.count + rows_per_piece - 1) / rows_per_piece;
    for (int i = work.next(pieces); i < pieces; i = work.next(pieces)) {
        for (int r = i * rows_per_piece; r < std::min((i + 1) * rows_per_piece, x.count); ++r) row(r, x.values + r * x.stride);
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
