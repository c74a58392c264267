// The scores of one query, whose softmax is taken with powers of two: queries are scaled for it. Scores lie in whole registers; those
// behind the last token are hidden.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/shuffle.hpp"
#include "kernels/vector_math.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

// What queries are multiplied by.
inline float score_scale(int head_dim) {
    constexpr float log2_e = 1.44269504f;
    return log2_e / std::sqrt(static_cast<float>(head_dim));
}

inline float sum_of_lanes(Vector value) {
    for (int step = 1; step < kLanes; step *= 2) value = VectorOrder::even(value, value) + VectorOrder::odd(value, value);
    return value[0];
}

// The greatest of `count` scores and the lanes of `most`.
inline float greatest_of(const float* scores, int count, Vector most) {
    for (int i = 0; i < count; i += kLanes) most = largest(most, load(scores + i));
    for (int step = 1; step < kLanes; step *= 2) most = largest(VectorOrder::even(most, most), VectorOrder::odd(most, most));
    return most[0];
}

inline void hide(float* first, float* last) {
    std::fill(first, last, -INFINITY);
}

// 2 to the power of `count` scores less the greatest. Gives their sums, lane by lane.
inline Vector soften(float* scores, int count, float greatest) {
    Vector total{};
    for (int i = 0; i < count; i += kLanes) {
        const Vector value = exp2(load(scores + i) - greatest);
        store(scores + i, value);
        total += value;
    }
    return total;
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
