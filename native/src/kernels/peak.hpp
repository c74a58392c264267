// What the processor's fused multiply-adds can reach, to measure the other kernels by.
#pragma once

#include <cstdint>

namespace da::kernels {

// Multiplies and adds in registers alone, and returns how many floating-point operations that were. result: kMostLanes floats, so that
// nothing can be left out.
constexpr int kMostLanes = 16;
using RunPeak = double(std::int64_t rounds, float* result);

}  // namespace da::kernels
