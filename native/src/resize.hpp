// Area and cubic resampling of 8-bit pictures with the results of OpenCV 4's resize (INTER_AREA, INTER_CUBIC), bit for bit.
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

// Both need `size` to be at least 1x1; area only shrinks or keeps each side.
Pixels resize_area(const ImageView& picture, Size size);
Pixels resize_cubic(const ImageView& picture, Size size);

}  // namespace da
