// Element by element over whole maps.
#pragma once

#include <cstddef>

#include "kernels/pieces.hpp"

namespace da::kernels {

// y[i] = x[i] * Phi(x[i]), the exact GELU.
using RunGelu = void(const float* x, std::size_t count, float* y, Share work);

}  // namespace da::kernels
