// A borrowed picture.
#pragma once

#include <cstddef>
#include <cstdint>

namespace da {

enum class ChannelOrder { rgb, bgr };

// 8-bit picture with three interleaved channels. Pixels within a row are packed, rows are `row_bytes` apart (row_bytes >= 3 * width).
// The memory is borrowed: it must stay valid for the duration of the call that takes the view.
struct ImageView {
    const std::uint8_t* pixels = nullptr;
    int width = 0;
    int height = 0;
    std::ptrdiff_t row_bytes = 0;
    ChannelOrder order = ChannelOrder::rgb;

    const std::uint8_t* row(int y) const { return pixels + y * row_bytes; }
};

struct Size {
    int width = 0;
    int height = 0;

    bool operator==(const Size& other) const { return width == other.width && height == other.height; }
    bool operator!=(const Size& other) const { return !(*this == other); }
};

}  // namespace da
