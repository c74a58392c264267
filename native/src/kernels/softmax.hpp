// The scores of one query.
#pragma once

#include <algorithm>

#include "kernels/vector_math.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

// e to the power of `count` scores less the greatest, and zero from there to `padded`. Gives their sum.
inline float soften(float* scores, int count, int padded) {
    Vector most = broadcast(scores[0]), total{};
    int i = 0;
    for (; i + kLanes <= count; i += kLanes) most = largest(most, load(scores + i));
    float top = most[0], sum = 0.0f;
    for (int lane = 1; lane < kLanes; ++lane) top = std::max(top, most[lane]);
    for (; i < count; ++i) top = std::max(top, scores[i]);
    for (i = 0; i + kLanes <= count; i += kLanes) {
        const Vector value = exp(load(scores + i) - top);
        store(scores + i, value);
        total += value;
    }
    if (i < count) {
        store_some(scores + i, exp(load_some(scores + i, count - i) - top), count - i);
        total += load_some(scores + i, count - i);
    }
    std::fill(scores + count, scores + padded, 0.0f);
    for (int lane = 0; lane < kLanes; ++lane) sum += total[lane];
    return sum;
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
