// Bilinear resampling of planar maps with aligned corners (the corner pixels of input and output coincide), as the DPT head uses
// throughout.
#pragma once

#include <vector>

#include "kernels/pieces.hpp"

namespace da::kernels {

// A planar map: value (c, y, x) at [(c * height + y) * width + x].
struct MapView {
    const float* values;
    int width, height;
};

// Additive position table of the head: the first half of the channels depends on x only, the second on y only.
struct PositionTable {
    std::vector<float> x;  // [channels / 2][width]
    std::vector<float> y;  // [channels / 2][height]
};

struct InterpolateTask {
    int channels = 0;
    int width = 0, height = 0;             // of the result
    const PositionTable* table = nullptr;  // added to the result, or nullptr
};

// Floats of scratch that one thread needs.
using InterpolateScratch = std::size_t(const InterpolateTask& task, int input_width);

// One thread's share; see RunConv.
using RunInterpolate = void(const InterpolateTask& task, MapView input, float* output, float* scratch, Share work);

}  // namespace da::kernels
