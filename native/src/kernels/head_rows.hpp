// What happens to the queries and keys of one head before they meet.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/attention.hpp"
#include "kernels/shuffle.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

constexpr int kLargestHead = 512;

// Queries or keys of up to kLanes neighbouring tokens of one head.
struct HeadRows {
    QkvView qkv;
    int part, head;  // of the projection: 0 for queries, 1 for keys
    const HeadNorm& norm;
    const float* rope;  // see RunPrepare
};

// Lane r of the result: the lanes of rows[r] added up, one after the other.
inline Vector sums_of(Vector (&rows)[kLanes]) {
    transpose(rows);
    Vector sum = rows[0];
    for (int lane = 1; lane < kLanes; ++lane) sum += rows[lane];
    return sum;
}

// LayerNorm of `count` rows, of all of them at once: one row's sums would wait for each other.
inline void normalise(const AttentionTask& task, const HeadNorm& norm, int count, float* rows) {
    const auto channels = static_cast<float>(task.head_dim);
    Vector sums[kLanes] = {}, squares[kLanes] = {}, inverse;
    for (int r = 0; r < count; ++r) {
        for (int d = 0; d < task.head_dim; d += kLanes) sums[r] += load(rows + r * task.head_dim + d);
    }
    const Vector mean = sums_of(sums) / channels;
    for (int r = 0; r < count; ++r) {
        for (int d = 0; d < task.head_dim; d += kLanes) {
            const Vector offset = load(rows + r * task.head_dim + d) - mean[r];
            squares[r] += offset * offset;
        }
    }
    const Vector variance = sums_of(squares) / channels + task.norm_eps;
    for (int r = 0; r < kLanes; ++r) inverse[r] = 1.0f / std::sqrt(variance[r]);
    for (int r = 0; r < count; ++r) {
        for (int d = 0; d < task.head_dim; d += kLanes) {
            float* values = rows + r * task.head_dim + d;
            store(values, (load(values) - mean[r]) * inverse[r] * load(norm.weight + d) + load(norm.bias + d));
        }
    }
}

// Pairs (j, j + quarter) of each half turn by the angle of that half's axis.
inline void rotate(const AttentionTask& task, const float* table, float* values) {
    const int quarter = task.head_dim / 4;
    for (int half = 0; half < 2; ++half, table += 2 * quarter, values += 2 * quarter) {
        for (int j = 0; j < quarter; ++j) {
            const float a = values[j], b = values[j + quarter];
            values[j] = a * table[j] - b * table[quarter + j];
            values[j + quarter] = b * table[j] + a * table[quarter + j];
        }
    }
}

// Those of `count` tokens from `first` on, normalised and turned, to rows[count][head_dim].
inline void prepare_rows(const AttentionTask& task, const HeadRows& source, int first, int count, float* rows) {
    const float* values = source.qkv.values + (source.part * task.heads + source.head) * task.head_dim;
    for (int r = 0; r < count; ++r) {
        const float* row = values + (first + r) * source.qkv.stride;
        std::copy(row, row + task.head_dim, rows + r * task.head_dim);
    }
    if (source.norm.weight != nullptr) normalise(task, source.norm, count, rows);
    for (int r = 0; source.rope != nullptr && r < count; ++r)
        rotate(task, source.rope + static_cast<std::size_t>(first + r) * task.head_dim, rows + r * task.head_dim);
}

// The same of kLanes tokens as columns [head_dim][stride], zero from `count` on.
inline void prepare_columns(const AttentionTask& task, const HeadRows& source, int first, int count, float* columns, int stride) {
    float rows[kLanes * kLargestHead];
    prepare_rows(task, source, first, count, rows);
    std::fill(rows + count * task.head_dim, rows + kLanes * task.head_dim, 0.0f);
    for (int d = 0; d < task.head_dim; d += kLanes) {
        Vector square[kLanes];
        for (int r = 0; r < kLanes; ++r) square[r] = load(rows + r * task.head_dim + d);
        transpose(square);
        for (int r = 0; r < kLanes; ++r) store(columns + static_cast<std::size_t>(d + r) * stride, square[r]);
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
