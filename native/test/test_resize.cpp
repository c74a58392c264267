// Bit-exactness against OpenCV itself is tested from Python; here against the mathematics, in double precision.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include "check.hpp"
#include "resize.hpp"

namespace {

std::vector<std::uint8_t> noise(int width, int height) {
    std::mt19937 random(7);
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width) * height * 3);
    for (auto& value : pixels) value = static_cast<std::uint8_t>(random());
    return pixels;
}

da::ImageView view(const std::vector<std::uint8_t>& pixels, int width, int height) {
    return {pixels.data(), width, height, 3 * width, da::ChannelOrder::rgb};
}

// Mean of the picture over the destination cell, by its exact overlap with each source cell.
double cell_mean(const da::ImageView& picture, da::Size size, int x, int y, int c) {
    const double sx = static_cast<double>(picture.width) / size.width, sy = static_cast<double>(picture.height) / size.height;
    double sum = 0;
    for (int v = 0; v < picture.height; ++v) {
        const double h = std::min<double>(v + 1, (y + 1) * sy) - std::max<double>(v, y * sy);
        for (int u = 0; h > 0 && u < picture.width; ++u) {
            const double w = std::min<double>(u + 1, (x + 1) * sx) - std::max<double>(u, x * sx);
            if (w > 0) sum += w * h * picture.row(v)[3 * u + c];
        }
    }
    return sum / (sx * sy);
}

}  // namespace

TEST(resize, area_is_the_mean_over_the_cell) {
    for (const da::Size size : {da::Size{10, 7}, da::Size{31, 17}, da::Size{15, 11}, da::Size{1, 1}}) {
        const auto pixels = noise(31, 23);
        const da::ImageView picture = view(pixels, 31, 23);
        const da::Pixels result = da::resize_area(picture, size);
        for (int y = 0; y < size.height; ++y) {
            for (int x = 0; x < size.width; ++x) {
                for (int c = 0; c < 3; ++c) {
                    // Fractions of a cell under 1e-3 are left out, as OpenCV does: at most a quarter of a level.
                    CHECK(std::abs(result.values[(static_cast<std::size_t>(y) * size.width + x) * 3 + c] -
                                   cell_mean(picture, size, x, y, c)) < 0.76);
                }
            }
        }
    }
}

TEST(resize, two_by_two_blocks_round_half_up) {
    const std::vector<std::uint8_t> pixels = {1, 0, 255, 2, 0, 255, 1, 1, 255, 2, 1, 254};  // 2x2: sums 6, 2, 1019
    const da::Pixels result = da::resize_area(view(pixels, 2, 2), {1, 1});
    CHECK(result.values == (std::vector<std::uint8_t>{2, 1, 255}));
}

TEST(resize, cubic_keeps_a_flat_picture_and_its_size) {
    const std::vector<std::uint8_t> pixels(20 * 9 * 3, 77);
    const da::Pixels result = da::resize_cubic(view(pixels, 20, 9), {33, 50});
    CHECK(result.size == (da::Size{33, 50}) && result.values.size() == 33u * 50u * 3u);
    CHECK(std::all_of(result.values.begin(), result.values.end(), [](std::uint8_t value) { return value == 77; }));
}

TEST(resize, cubic_passes_through_the_samples) {
    // Tripling: every third destination pixel lies exactly on a source pixel.
    const auto pixels = noise(8, 6);
    const da::Pixels result = da::resize_cubic(view(pixels, 8, 6), {24, 18});
    for (int y = 0; y < 6; ++y) {
        for (int x = 0; x < 8; ++x) {
            for (int c = 0; c < 3; ++c) CHECK(result.values[((3 * y + 1) * 24 + 3 * x + 1) * 3 + c] == pixels[(y * 8 + x) * 3 + c]);
        }
    }
}
