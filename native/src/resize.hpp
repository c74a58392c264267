// Area and cubic resampling of 8-bit pictures with the results of OpenCV 4's resize on x86.
//
// INTER_AREA: bit for bit. INTER_CUBIC: OpenCV's x86 builds call IPP, whose last bit of float32 differs from run to run, so that one value
// in about 50,000, within 2e-5 of a half, may come out one level apart; all others are equal. Builds of OpenCV without IPP use 11-bit
// fixed-point weights throughout and are one level apart in 1 to 4 % of the values.
#pragma once

#include <cstdint>
#include <vector>

#include "depth_anything/image.hpp"

namespace da {

// Packed 8-bit picture, three channels.
struct Pixels {
    Size size;
    std::vector<std::uint8_t> values;
};

// Packed picture, three channels, values of 0 to 1 before resizing.
struct RealPixels {
    Size size;
    std::vector<double> values;
};

// All need `size` to be at least 1x1; area only shrinks or keeps each side.
Pixels resize_area(const ImageView& picture, Size size);
Pixels resize_cubic(const ImageView& picture, Size size);

// resize of the picture divided by 255 in float64, bicubic: nothing is rounded and values may leave 0 to 1.
RealPixels resize_cubic_real(const ImageView& picture, Size size);

}  // namespace da
