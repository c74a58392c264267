#include "preprocess.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "depth_anything/error.hpp"

namespace da {

namespace {

constexpr int kLongestProcessedSide = 1 << 13;
constexpr int kLongestSide = 1 << 15;  // of a picture; larger ones do not come from cameras and would overflow index arithmetic

std::string text(Size size) {
    return std::to_string(size.width) + "x" + std::to_string(size.height);
}

// First resize: the long side becomes `resolution`. Rounding is half to even, as Python's round().
Size bounded_size(Size picture, int resolution) {
    const int bound = std::max(picture.width, picture.height);
    if (bound == resolution) return picture;
    const double scale = resolution / static_cast<double>(bound);
    const auto side = [&](int length) { return std::max(1, static_cast<int>(std::nearbyint(length * scale))); };
    return {side(picture.width), side(picture.height)};
}

Size divisible_size(Size size, int patch) {
    const auto side = [&](int length) {
        const int down = length / patch * patch, up = down + patch;
        return std::max(patch, up - length <= length - down ? up : down);
    };
    return {side(size.width), side(size.height)};
}

ImageView view(const Pixels& pixels, ChannelOrder order) {
    return {pixels.values.data(), pixels.size.width, pixels.size.height, 3 * static_cast<std::ptrdiff_t>(pixels.size.width), order};
}

// The centre of the picture, of that size, as rows of patches.
template <typename Picture, typename Normalise>
void arrange(const Picture& pixels, ChannelOrder order, int patch, Size size, Normalise normalise, float* patches) {
    const int left = (pixels.size.width - size.width) / 2, top = (pixels.size.height - size.height) / 2;
    const int across = size.width / patch;
    const std::size_t plane = static_cast<std::size_t>(patch) * patch;
    for (int y = 0; y < size.height; ++y) {
        const auto* row = pixels.values.data() + (static_cast<std::size_t>(y + top) * pixels.size.width + left) * 3;
        for (int p = 0; p < across; ++p) {
            float* target =
                patches + (static_cast<std::size_t>(y / patch) * across + p) * 3 * plane + static_cast<std::size_t>(y % patch) * patch;
            for (int c = 0; c < 3; ++c) {
                const auto* source = row + static_cast<std::size_t>(p) * patch * 3 + (order == ChannelOrder::rgb ? c : 2 - c);
                for (int x = 0; x < patch; ++x) target[c * plane + x] = normalise(c, source[3 * x]);
            }
        }
    }
}

Pixels copy(const ImageView& picture) {
    Pixels result{{picture.width, picture.height}, {}};
    for (int y = 0; y < picture.height; ++y) result.values.insert(result.values.end(), picture.row(y), picture.row(y) + 3 * picture.width);
    return result;
}

}  // namespace

void check_size(Size picture) {
    if (picture.width < 1 || picture.height < 1 || picture.width > kLongestSide || picture.height > kLongestSide) {
        throw Error("input.shape", "A picture of " + text(picture) + " pixels cannot be processed; sides of 1 to " +
                                       std::to_string(kLongestSide) + " can.");
    }
}

void check_picture(const ImageView& picture) {
    check_size({picture.width, picture.height});
    if (picture.pixels == nullptr) throw Error("input.shape", "The picture has no pixels: their address is NULL.");
    if (picture.row_bytes < 3 * static_cast<std::ptrdiff_t>(picture.width)) {
        throw Error("input.stride", "Rows of " + std::to_string(picture.row_bytes) + " bytes are too short for " +
                                        std::to_string(picture.width) + " pixels of 3 bytes.");
    }
}

void check_processed(Size picture, Size processed) {
    if (std::max(processed.width, processed.height) <= kLongestProcessedSide) return;
    throw Error("input.shape", "A picture of " + text(picture) + " pixels would be processed at " + text(processed) +
                                   "; it is too thin for this network, crop it.");
}

Size lower_bound_size(Size picture, int resolution, int patch) {
    const double scale = std::max(resolution / static_cast<double>(picture.height), resolution / static_cast<double>(picture.width));
    const auto side = [&](int length) {
        const double scaled = scale * length / patch;
        const int nearest = static_cast<int>(std::nearbyint(scaled)) * patch;
        return nearest < resolution ? static_cast<int>(std::ceil(scaled)) * patch : nearest;
    };
    return {side(picture.width), side(picture.height)};
}

Size processed_size(Size picture, int resolution, int patch) {
    return divisible_size(bounded_size(picture, resolution), patch);
}

Pixels resize_to_processed(const ImageView& picture, int resolution, int patch) {
    check_picture(picture);
    const Size original{picture.width, picture.height};
    const Size bounded = bounded_size(original, resolution), processed = divisible_size(bounded, patch);
    Pixels first;
    ImageView current = picture;
    if (bounded != original) {
        const bool grows = std::max(original.width, original.height) < resolution;
        first = grows ? resize_cubic(picture, bounded) : resize_area(picture, bounded);
        current = view(first, picture.order);
    }
    if (processed == bounded) return bounded == original ? copy(picture) : std::move(first);
    const bool grows = processed.width > bounded.width || processed.height > bounded.height;
    return grows ? resize_cubic(current, processed) : resize_area(current, processed);
}

void write_patches(const Pixels& pixels, ChannelOrder order, const ImageParams& image, int patch, Size size, float* patches) {
    // The arithmetic of the official code in float32: value / 255, minus mean, divided by std.
    std::array<std::array<float, 256>, 3> table;
    for (int c = 0; c < 3; ++c) {
        for (int value = 0; value < 256; ++value) table[c][value] = (static_cast<float>(value) / 255.0f - image.mean[c]) / image.std[c];
    }
    arrange(pixels, order, patch, size, [&](int c, std::uint8_t value) { return table[c][value]; }, patches);
}

void write_patches(const RealPixels& pixels, ChannelOrder order, const ImageParams& image, int patch, Size size, float* patches) {
    // As V2 does it: in float64, with the decimal constants. Float32 constants would differ by up to 1e-8.
    const auto exact = [](float value) { return std::nearbyint(value * 1e6) / 1e6; };
    std::array<double, 3> mean, std;
    std::transform(image.mean.begin(), image.mean.end(), mean.begin(), exact);
    std::transform(image.std.begin(), image.std.end(), std.begin(), exact);
    const auto normalise = [&](int c, double value) { return static_cast<float>((value - mean[c]) / std[c]); };
    arrange(pixels, order, patch, size, normalise, patches);
}

void write_input(const ImageView& picture, const ImageParams& image, int resolution, int patch, Size size, float* patches) {
    if (image.lower_bound) {
        const Size full = lower_bound_size({picture.width, picture.height}, resolution, patch);
        write_patches(resize_cubic_real(picture, full), picture.order, image, patch, size, patches);
    } else {
        write_patches(resize_to_processed(picture, resolution, patch), picture.order, image, patch, size, patches);
    }
}

std::vector<float> planes_from_patches(const float* patches, Size size, int patch) {
    std::vector<float> planes(3 * static_cast<std::size_t>(size.width) * size.height);
    for (int py = 0; py < size.height / patch; ++py) {
        for (int px = 0; px < size.width / patch; ++px) {
            for (int c = 0; c < 3; ++c) {
                for (int y = 0; y < patch; ++y, patches += patch) {
                    std::copy(patches, patches + patch,
                              planes.begin() + (static_cast<std::size_t>(c) * size.height + py * patch + y) * size.width + px * patch);
                }
            }
        }
    }
    return planes;
}

}  // namespace da
