// Element by element over whole maps.
#pragma once

#include <atomic>
#include <cstddef>

namespace da::kernels {

// y[i] = x[i] * Phi(x[i]), the exact GELU; `next` hands out pieces to the threads.
using RunGelu = void(const float* x, std::size_t count, float* y, std::atomic<int>& next, const std::atomic<bool>& cancelled);

}  // namespace da::kernels
