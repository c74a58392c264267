#include <algorithm>
#include <cmath>

#include "kernels/functions.hpp"
#include "kernels/vector.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr int kRowsPerPiece = 32;

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

}  // namespace

void run_norm(const NormTask& task, RowsView x, const float* weight, const float* bias, RowsTarget y, std::atomic<int>& next,
              const std::atomic<bool>& cancelled) {
    const int pieces = (x.count + kRowsPerPiece - 1) / kRowsPerPiece;
    for (int i = next++; i < pieces && !cancelled.load(std::memory_order_relaxed); i = next++) {
        for (int r = i * kRowsPerPiece; r < std::min((i + 1) * kRowsPerPiece, x.count); ++r) {
            normalise(task, x.values + r * x.stride, weight, bias, y.values + r * y.stride);
        }
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
