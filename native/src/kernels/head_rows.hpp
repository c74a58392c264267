// What happens to the queries and keys of one head before they meet.
#pragma once

#include <cmath>

#include "kernels/attention.hpp"
#include "kernels/vector.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

constexpr int kLargestHead = 512;

inline float sum_of_lanes(const Vector& value) {
    float sum = 0.0f;
    for (int lane = 0; lane < kLanes; ++lane) sum += value[lane];
    return sum;
}

inline void normalise(const AttentionTask& task, const HeadNorm& norm, float* values) {
    if (norm.weight == nullptr) return;
    const float count = static_cast<float>(task.head_dim);
    Vector sums{}, squares{};
    for (int i = 0; i < task.head_dim; i += kLanes) sums += load(values + i);
    const float mean = sum_of_lanes(sums) / count;
    for (int i = 0; i < task.head_dim; i += kLanes) squares += (load(values + i) - mean) * (load(values + i) - mean);
    const float inverse = 1.0f / std::sqrt(sum_of_lanes(squares) / count + task.norm_eps);
    for (int i = 0; i < task.head_dim; i += kLanes)
        store(values + i, (load(values + i) - mean) * inverse * load(norm.weight + i) + load(norm.bias + i));
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

}  // namespace da::kernels::DA_INSTRUCTION_SET
