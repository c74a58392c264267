// What happens to the queries and keys of one head before they meet.
#pragma once

#include <cmath>

#include "kernels/attention.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

constexpr int kLargestHead = 512;

inline void normalise(const AttentionTask& task, const HeadNorm& norm, float* values) {
    if (norm.weight == nullptr) return;
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < task.head_dim; ++i) sum += values[i];
    const double mean = sum / task.head_dim;
    for (int i = 0; i < task.head_dim; ++i) squares += (values[i] - mean) * (values[i] - mean);
    const double inverse = 1.0 / std::sqrt(squares / task.head_dim + task.norm_eps);
    for (int i = 0; i < task.head_dim; ++i) values[i] = static_cast<float>((values[i] - mean) * inverse) * norm.weight[i] + norm.bias[i];
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
