#include "model/positional.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace da {

namespace {

constexpr double kUvBase = 100.0;
constexpr float kUvFactor = 0.1f;

struct CubicTaps {
    std::array<int, 4> index;
    std::array<float, 4> weight;
};

// PyTorch's upsample_bicubic2d: a = -0.75, coordinates in float32, indices clamped to the table.
CubicTaps cubic_taps(int i, float scale, int size) {
    constexpr float a = -0.75f;
    const auto near = [](float t) { return ((a + 2.0f) * t - (a + 3.0f)) * t * t + 1.0f; };
    const auto far = [](float t) { return ((a * t - 5.0f * a) * t + 8.0f * a) * t - 4.0f * a; };
    const float source = scale * (static_cast<float>(i) + 0.5f) - 0.5f;
    const float floor = std::floor(source), t = source - floor;
    CubicTaps taps{{}, {far(t + 1.0f), near(t), near(1.0f - t), far(2.0f - t)}};
    for (int k = 0; k < 4; ++k) taps.index[k] = std::clamp(static_cast<int>(floor) - 1 + k, 0, size - 1);
    return taps;
}

// Interpolates along x, then y, one channel vector at a time.
void interpolate_cell(const float* table, int size, int channels, const CubicTaps& ys, const CubicTaps& xs, float* result) {
    for (int c = 0; c < channels; ++c) {
        float sum = 0.0f;
        for (int i = 0; i < 4; ++i) {
            const float* row = table + static_cast<std::size_t>(ys.index[i]) * size * channels + c;
            float inner = 0.0f;
            for (int j = 0; j < 4; ++j) inner += xs.weight[j] * row[static_cast<std::size_t>(xs.index[j]) * channels];
            sum += ys.weight[i] * inner;
        }
        result[c] = sum;
    }
}

// One axis of the embedding: [channels / 2][count], first sines then cosines.
std::vector<float> uv_axis(int count, double span, int channels) {
    const int frequencies = channels / 4;
    std::vector<float> axis(static_cast<std::size_t>(channels / 2) * count);
    const double edge = span * (count - 1) / count;
    for (int i = 0; i < count; ++i) {
        const double position = count > 1 ? -edge + 2.0 * edge * i / (count - 1) : -edge;
        for (int j = 0; j < frequencies; ++j) {
            const double angle = position * std::pow(kUvBase, -static_cast<double>(j) / frequencies);
            axis[static_cast<std::size_t>(j) * count + i] = kUvFactor * static_cast<float>(std::sin(angle));
            axis[static_cast<std::size_t>(frequencies + j) * count + i] = kUvFactor * static_cast<float>(std::cos(angle));
        }
    }
    return axis;
}

double rope_frequency(const VitParams& vit, int j, int count) {
    return std::pow(static_cast<double>(vit.rope_freq), -static_cast<double>(j) / count);
}

}  // namespace

std::vector<float> interpolate_pos_embed(const float* table, const VitParams& vit, Grid grid) {
    const int size = vit.pos_embed_grid, channels = vit.embed_dim;
    const std::size_t total = static_cast<std::size_t>(1 + grid.patches()) * channels;
    if (grid.width == size && grid.height == size) return std::vector<float>(table, table + total);
    std::vector<float> result(total);
    std::copy(table, table + channels, result.begin());
    const auto scale = [&](int cells) { return static_cast<float>(1.0 / ((static_cast<double>(cells) + vit.interpolate_offset) / size)); };
    float* target = result.data() + channels;
    for (int y = 0; y < grid.height; ++y) {
        const CubicTaps ys = cubic_taps(y, scale(grid.height), size);
        for (int x = 0; x < grid.width; ++x, target += channels) {
            interpolate_cell(table + channels, size, channels, ys, cubic_taps(x, scale(grid.width), size), target);
        }
    }
    return result;
}

std::vector<float> rope_table(Grid grid, const VitParams& vit, bool global) {
    const int quarter = vit.head_dim / 4;
    std::vector<float> table;
    table.reserve(static_cast<std::size_t>(1 + grid.patches()) * vit.head_dim);
    const auto add = [&](int position) {
        for (int j = 0; j < quarter; ++j) table.push_back(static_cast<float>(std::cos(position * rope_frequency(vit, j, quarter))));
        for (int j = 0; j < quarter; ++j) table.push_back(static_cast<float>(std::sin(position * rope_frequency(vit, j, quarter))));
    };
    add(0);
    add(0);
    for (int y = 0; y < grid.height; ++y) {
        for (int x = 0; x < grid.width; ++x) {
            add(global ? 1 : y + 1);
            add(global ? 1 : x + 1);
        }
    }
    return table;
}

kernels::PositionTable uv_embedding(int width, int height, int channels, float aspect) {
    const double diagonal = std::sqrt(static_cast<double>(aspect) * aspect + 1.0);
    return {uv_axis(width, aspect / diagonal, channels), uv_axis(height, 1.0 / diagonal, channels)};
}

std::vector<float> as_tokens(const kernels::PositionTable& table, int width, int height, int channels) {
    std::vector<float> tokens;
    tokens.reserve(static_cast<std::size_t>(width) * height * channels);
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            for (int c = 0; c < channels / 2; ++c) tokens.push_back(table.x[static_cast<std::size_t>(c) * width + x]);
            for (int c = 0; c < channels / 2; ++c) tokens.push_back(table.y[static_cast<std::size_t>(c) * height + y]);
        }
    }
    return tokens;
}

}  // namespace da
