#include "resize.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "row_taps.hpp"

namespace da {

namespace {

constexpr int kChannels = 3;

// Nearest whole number, halves to even, within 0 to 255. The sum's last bits are that number: adding 1.5 * 2^23 rounds to whole ones.
// (Without SSE4.1 nearbyint is a function call for each value.)
std::uint8_t to_byte(float value) {
    const float sum = std::min(std::max(value, 0.0f), 255.0f) + 12582912.0f;
    std::uint32_t bits;
    std::memcpy(&bits, &sum, sizeof(bits));
    return static_cast<std::uint8_t>(bits);
}

void to_bytes(const std::vector<float>& values, std::size_t count, std::uint8_t* target) {
    for (std::size_t i = 0; i < count; ++i) target[i] = to_byte(values[i]);
}

std::vector<float> row_of(std::size_t pixels) {
    return std::vector<float>(pixels * kChannels + RowTaps<float>::kSlack);
}

void to_floats(const std::uint8_t* source, int pixels, std::vector<float>& target) {
    for (int i = 0; i < pixels * kChannels; ++i) target[i] = static_cast<float>(source[i]);
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

RowTaps<float> taps_of(const std::vector<Share>& shares, int targets) {
    std::vector<int> counts(targets);
    for (const Share& share : shares) ++counts[share.target];
    RowTaps<float> taps(targets, *std::max_element(counts.begin(), counts.end()));
    std::fill(counts.begin(), counts.end(), 0);
    for (const Share& share : shares) taps.set(share.target, counts[share.target]++, share.source, share.weight);
    return taps;
}

Pixels area_weighted(const ImageView& picture, Size size) {
    const RowTaps<float> columns = taps_of(area_shares(picture.width, size.width), size.width);
    const std::vector<Share> rows = area_shares(picture.height, size.height);
    Pixels result = empty(size);
    const std::size_t width = static_cast<std::size_t>(size.width) * kChannels;
    std::vector<float> source = row_of(picture.width), row = row_of(size.width), sums = row_of(size.width);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool starts = i == 0 || rows[i].target != rows[i - 1].target;
        const bool ends = i + 1 == rows.size() || rows[i].target != rows[i + 1].target;
        // A row at the edge of two cells is the last of one and the first of the next.
        if (i == 0 || rows[i].source != rows[i - 1].source) {
            to_floats(picture.row(rows[i].source), picture.width, source);
            columns.mix(source.data(), row.data());
        }
        const float weight = rows[i].weight;
        if (starts) {
            for (std::size_t x = 0; x < width; ++x) sums[x] = weight * row[x];
        } else {
            for (std::size_t x = 0; x < width; ++x) sums[x] += weight * row[x];
        }
        if (ends) to_bytes(sums, width, result.values.data() + rows[i].target * width);
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

// On x86 OpenCV hands cubic resizing to IPP, which mixes in float32 along x, then along y. Pictures with a side under four pixels stay with
// OpenCV's own code: weights in 11-bit fixed point, rows mixed along x in integers. So do we, on every machine.
constexpr int kSmallestSideOfIpp = 4;
constexpr float kFixedPoint = 2048.0f;

struct CubicTaps {
    std::array<int, 4> index;
    std::array<float, 4> weight;
};

template <typename Real>
std::array<Real, 4> cubic_weights(Real t) {
    constexpr Real a = -0.75;
    const auto near = [](Real u) { return ((a + 2) * u - (a + 3)) * u * u + 1; };
    const Real far = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
    return {far, near(t), near(1 - t), 1 - far - near(t) - near(1 - t)};
}

enum class CubicWeights { ipp, single, fixed_point };  // OpenCV's own code computes in float32; for bytes it rounds to fixed point

std::vector<CubicTaps> cubic_taps(int input, int output, CubicWeights kind) {
    std::vector<CubicTaps> taps(output);
    for (int i = 0; i < output; ++i) {
        const double source = (i + 0.5) * scale_of(input, output) - 0.5;
        const double position = kind == CubicWeights::ipp ? source : static_cast<double>(static_cast<float>(source));
        const double floor = std::floor(position);
        const auto exact = cubic_weights(position - floor);
        const auto single = cubic_weights(static_cast<float>(position - floor));
        for (int k = 0; k < 4; ++k) {
            const float weight = kind == CubicWeights::ipp ? static_cast<float>(exact[k]) : single[k];
            taps[i].index[k] = std::clamp(static_cast<int>(floor) - 1 + k, 0, input - 1);
            taps[i].weight[k] = kind == CubicWeights::fixed_point ? std::nearbyint(weight * kFixedPoint) : weight;
        }
    }
    return taps;
}

template <typename Real>
RowTaps<Real> row_taps(const std::vector<CubicTaps>& columns) {
    RowTaps<Real> taps(static_cast<int>(columns.size()), 4);
    for (std::size_t x = 0; x < columns.size(); ++x) {
        for (int k = 0; k < 4; ++k) taps.set(static_cast<int>(x), k, columns[x].index[k], columns[x].weight[k]);
    }
    return taps;
}

using Rows = std::array<const float*, 4>;

void mix_rows(const Rows& rows, const std::array<float, 4>& weights, std::size_t width, std::uint8_t* target) {
    for (std::size_t x = 0; x < width; ++x) {
        float sum = 0.0f;
        for (int k = 0; k < 4; ++k) sum += weights[k] * rows[k][x];
        target[x] = to_byte(sum);
    }
}

// OpenCV's own code mixes eight values at a time in float, from the last row to the first, and the rest of a row in integers.
void mix_rows_fixed_point(const Rows& rows, const std::array<float, 4>& weights, std::size_t width, std::uint8_t* target) {
    constexpr std::size_t block = 8;
    constexpr std::int64_t one = 1 << 22;
    const std::size_t vectorised = width / block * block;
    for (std::size_t x = 0; x < width; ++x) {
        float sum = 0.0f;
        std::int64_t exact = one / 2;
        for (int k = 3; k >= 0; --k) {
            sum = rows[k][x] * (weights[k] * (1.0f / one)) + sum;
            exact += static_cast<std::int64_t>(rows[k][x]) * static_cast<std::int64_t>(weights[k]);
        }
        target[x] = x < vectorised ? to_byte(sum) : static_cast<std::uint8_t>(std::clamp<std::int64_t>(exact >> 22, 0, 255));
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
    const bool fixed_point = std::min(picture.width, picture.height) < kSmallestSideOfIpp;
    const CubicWeights kind = fixed_point ? CubicWeights::fixed_point : CubicWeights::ipp;
    // Exact in fixed point: products and sums of these integers stay below 2^24.
    const RowTaps<float> columns = row_taps<float>(cubic_taps(picture.width, size.width, kind));
    const std::vector<CubicTaps> rows = cubic_taps(picture.height, size.height, kind);
    const auto mix = fixed_point ? mix_rows_fixed_point : mix_rows;
    Pixels result = empty(size);
    const std::size_t width = static_cast<std::size_t>(size.width) * kChannels;
    std::vector<float> row = row_of(picture.width);
    // Each source row is mixed along x once, kept in a ring of the four that a destination row may need.
    std::array<std::vector<float>, 4> ring;
    std::array<int, 4> held = {-1, -1, -1, -1};
    for (int y = 0; y < size.height; ++y) {
        Rows sources;
        for (int k = 0; k < 4; ++k) {
            const int source = rows[y].index[k], slot = source % 4;
            if (held[slot] != source) {
                if (held[slot] < 0) ring[slot] = row_of(size.width);
                to_floats(picture.row(source), picture.width, row);
                columns.mix(row.data(), ring[slot].data());
                held[slot] = source;
            }
            sources[k] = ring[slot].data();
        }
        mix(sources, rows[y].weight, width, result.values.data() + y * width);
    }
    return result;
}

RealPixels resize_cubic_real(const ImageView& picture, Size size) {
    const RowTaps<double> columns = row_taps<double>(cubic_taps(picture.width, size.width, CubicWeights::single));
    const std::vector<CubicTaps> rows = cubic_taps(picture.height, size.height, CubicWeights::single);
    const std::size_t width = static_cast<std::size_t>(size.width) * kChannels;
    std::array<double, 256> value_of;
    for (int byte = 0; byte < 256; ++byte) value_of[byte] = byte / 255.0;
    std::vector<double> row(static_cast<std::size_t>(picture.width) * kChannels + RowTaps<double>::kSlack);
    std::vector<double> mixed(width * picture.height + RowTaps<double>::kSlack);  // along x
    for (int y = 0; y < picture.height; ++y) {
        const std::uint8_t* source = picture.row(y);
        for (int i = 0; i < picture.width * kChannels; ++i) row[i] = value_of[source[i]];
        columns.mix(row.data(), mixed.data() + y * width);
    }
    RealPixels result{size, std::vector<double>(width * size.height)};
    for (int y = 0; y < size.height; ++y) {
        double* target = result.values.data() + y * width;
        for (int k = 0; k < 4; ++k) {
            const double* source = mixed.data() + rows[y].index[k] * width;
            for (std::size_t x = 0; x < width; ++x) target[x] += rows[y].weight[k] * source[x];
        }
    }
    return result;
}

}  // namespace da
