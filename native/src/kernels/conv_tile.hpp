// What the kinds of convolutions share: rectangles of the result, and the 1x1 convolution of one.
#pragma once

#include "kernels/conv.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

struct Tile {
    int x, y, width, height;  // in pixels of the result
};

struct Output {
    float* values;
    int width, height;  // of the result
};

// A 1x1 convolution of stride 1 to one tile of the result; `under` is what lies under it, from its first pixel on, and may be larger. Whole
// registers are read: kLanes floats after the last pixel must be there.
void run_pointwise(const PackedConv& conv, MapView under, const Output& output, const Tile& tile);

}  // namespace da::kernels::DA_INSTRUCTION_SET
