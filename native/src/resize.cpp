#include "resize.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace da {

namespace {

constexpr int kChannels = 3;

std::uint8_t to_byte(float value) {
    return static_cast<std::uint8_t>(std::clamp(std::nearbyint(value), 0.0f, 255.0f));
}

Pixels empty(Size size) {
    return {size, std::vector<std::uint8_t>(static_cast<std::size_t>(size.width) * size.height * kChannels)};
}

// OpenCV's own expression: not the same double as input / output.
double scale_of(int input, int output) {
    return 1.0 / (static_cast<double>(output) / input);
}

// ---- area -----------------------------------------------------------------------------------------------------------------------

// A source cell's share in a destination cell.
struct Share {
    int target, source;
    float weight;
};

std::vector<Share> area_shares(int input, int output) {
    constexpr double negligible = 1e-3;
    const double scale = scale_of(input, output);
    std::vector<Share> shares;
    for (int i = 0; i < output; ++i) {
        const double start = i * scale, end = start + scale, cell = std::min(scale, input - start);
        const int last = std::min(static_cast<int>(std::floor(end)), input - 1);
        const int first = std::min(static_cast<int>(std::ceil(start)), last);
        if (first - start > negligible) shares.push_back({i, first - 1, static_cast<float>((first - start) / cell)});
        for (int s = first; s < last; ++s) shares.push_back({i, s, static_cast<float>(1.0 / cell)});
        if (end - last > negligible) shares.push_back({i, last, static_cast<float>(std::min(std::min(end - last, 1.0), cell) / cell)});
    }
    return shares;
}

// Sums of one source row under the destination columns.
void add_row(const std::uint8_t* source, const std::vector<Share>& columns, std::vector<float>& sums) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (const Share& share : columns) {
        for (int c = 0; c < kChannels; ++c) {
            sums[share.target * kChannels + c] += static_cast<float>(source[share.source * kChannels + c]) * share.weight;
        }
    }
}

Pixels area_weighted(const ImageView& picture, Size size) {
    const std::vector<Share> columns = area_shares(picture.width, size.width), rows = area_shares(picture.height, size.height);
    Pixels result = empty(size);
    const std::size_t width = static_cast<std::size_t>(size.width) * kChannels;
    std::vector<float> row(width), sums(width);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool starts = i == 0 || rows[i].target != rows[i - 1].target;
        const bool ends = i + 1 == rows.size() || rows[i].target != rows[i + 1].target;
        add_row(picture.row(rows[i].source), columns, row);
        for (std::size_t x = 0; x < width; ++x) sums[x] = starts ? rows[i].weight * row[x] : sums[x] + rows[i].weight * row[x];
        std::uint8_t* target = result.values.data() + rows[i].target * width;
        for (std::size_t x = 0; ends && x < width; ++x) target[x] = to_byte(sums[x]);
    }
    return result;
}

// Both factors are whole numbers: blocks are averaged in integers, and 2x2 rounds half up.
Pixels area_blocks(const ImageView& picture, Size size, int fx, int fy) {
    Pixels result = empty(size);
    std::uint8_t* target = result.values.data();
    const float share = 1.0f / static_cast<float>(fx * fy);
    for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) {
            for (int c = 0; c < kChannels; ++c) {
                int sum = 0;
                for (int dy = 0; dy < fy; ++dy) {
                    const std::uint8_t* source = picture.row(y * fy + dy) + x * fx * kChannels + c;
                    for (int dx = 0; dx < fx; ++dx) sum += source[dx * kChannels];
                }
                *target++ = fx == 2 && fy == 2 ? static_cast<std::uint8_t>((sum + 2) >> 2) : to_byte(static_cast<float>(sum) * share);
            }
        }
    }
    return result;
}

// ---- cubic ----------------------------------------------------------------------------------------------------------------------

// On x86 OpenCV hands cubic resizing to IPP, which mixes in float32 along x, then along y. So do we, on every machine.
struct CubicTaps {
    std::array<int, 4> index;
    std::array<float, 4> weight;
};

std::vector<CubicTaps> cubic_taps(int input, int output) {
    constexpr double a = -0.75;
    const auto near = [](double t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };
    const auto far = [](double t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; };
    const double scale = static_cast<double>(input) / output;
    std::vector<CubicTaps> taps(output);
    for (int i = 0; i < output; ++i) {
        const double source = (i + 0.5) * scale - 0.5, floor = std::floor(source), t = source - floor;
        const double weights[] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
        for (int k = 0; k < 4; ++k) {
            taps[i].index[k] = std::clamp(static_cast<int>(floor) - 1 + k, 0, input - 1);
            taps[i].weight[k] = static_cast<float>(weights[k]);
        }
    }
    return taps;
}

void cubic_row(const std::uint8_t* source, const std::vector<CubicTaps>& columns, float* target) {
    for (const CubicTaps& taps : columns) {
        for (int c = 0; c < kChannels; ++c) {
            float sum = 0.0f;
            for (int k = 0; k < 4; ++k) sum += taps.weight[k] * static_cast<float>(source[taps.index[k] * kChannels + c]);
            *target++ = sum;
        }
    }
}

void mix_rows(const std::array<const float*, 4>& rows, const std::array<float, 4>& weights, std::size_t width, std::uint8_t* target) {
    for (std::size_t x = 0; x < width; ++x) {
        float sum = 0.0f;
        for (int k = 0; k < 4; ++k) sum += weights[k] * rows[k][x];
        target[x] = to_byte(sum);
    }
}

}  // namespace

Pixels resize_area(const ImageView& picture, Size size) {
    const double x = scale_of(picture.width, size.width), y = scale_of(picture.height, size.height);
    const auto whole = [](double scale) { return std::abs(scale - std::nearbyint(scale)) < std::numeric_limits<double>::epsilon(); };
    if (whole(x) && whole(y)) return area_blocks(picture, size, static_cast<int>(std::nearbyint(x)), static_cast<int>(std::nearbyint(y)));
    return area_weighted(picture, size);
}

Pixels resize_cubic(const ImageView& picture, Size size) {
    const std::vector<CubicTaps> columns = cubic_taps(picture.width, size.width), rows = cubic_taps(picture.height, size.height);
    Pixels result = empty(size);
    const std::size_t width = static_cast<std::size_t>(size.width) * kChannels;
    // Each source row is mixed along x once, kept in a ring of the four that a destination row may need.
    std::array<std::vector<float>, 4> ring;
    std::array<int, 4> held = {-1, -1, -1, -1};
    for (int y = 0; y < size.height; ++y) {
        std::array<const float*, 4> sources;
        for (int k = 0; k < 4; ++k) {
            const int source = rows[y].index[k], slot = source % 4;
            if (held[slot] != source) {
                ring[slot].resize(width);
                cubic_row(picture.row(source), columns, ring[slot].data());
                held[slot] = source;
            }
            sources[k] = ring[slot].data();
        }
        mix_rows(sources, rows[y].weight, width, result.values.data() + y * width);
    }
    return result;
}

}  // namespace da
