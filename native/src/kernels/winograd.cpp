// 3x3 convolutions of stride 1 by Winograd's minimal filtering F(4x4, 3x3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2016): tiles of 4x4 results, each from a window of 6x6 values, become 36 matrix products of a quarter of the multiplications.
//
// A register holds the same value of neighbouring tiles. A block is kTiles tiles, `width` side by side in `height` rows; its transformed
// windows lie in scratch as [36][in][kTiles], tile after tile in rows of the block.
#include "kernels/winograd.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/conv_tile.hpp"
#include "kernels/functions.hpp"
#include "kernels/shuffle.hpp"
#include "kernels/tile.hpp"
#include "kernels/winograd_input.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr int kPlanes = kWindow * kWindow;
constexpr int kVectors = std::min(kTileVectors, kTiles / kLanes);
constexpr int kRows = kVectors < kTileVectors ? 8 : kTileRows;  // outputs at a time: their sums in all planes stay near the first cache
constexpr int kTermsPerSum = 32;  // of a product; short sums round less: a third of the error at 128 channels, for 2 % of the time
constexpr int kGap = 16;          // between planes, so that they do not fall on the same lines of the cache

std::size_t plane_floats(int in) {
    return static_cast<std::size_t>(in) * kTiles + kGap;
}

// The transforms interpolate polynomials at 0, +-kNear, +-kFar and infinity. The points of the paper, 1 and 2, round two times worse: what
// cancels in the result grows with powers of the points and of their inverses (Barabasz and others, "Error Analysis and Improving the
// Accuracy of Winograd Convolution for Deep Neural Networks", 2020). All constants of B^T and A^T are exact in floats.
constexpr float kNear = 0.625f, kFar = 1.5f;
constexpr float kNear2 = kNear * kNear, kFar2 = kFar * kFar;

// The rows of B^T applied to six values.
inline void transform_window(const Vector (&d)[kWindow], Vector (&v)[kWindow]) {
    const Vector near_even = d[4] - kFar2 * d[2], near_odd = kNear * (d[3] - kFar2 * d[1]);
    const Vector far_even = d[4] - kNear2 * d[2], far_odd = kFar * (d[3] - kNear2 * d[1]);
    v[0] = kNear2 * kFar2 * d[0] - (kNear2 + kFar2) * d[2] + d[4];
    v[1] = near_even + near_odd;
    v[2] = near_even - near_odd;
    v[3] = far_even + far_odd;
    v[4] = far_even - far_odd;
    v[5] = kNear2 * kFar2 * d[1] - (kNear2 + kFar2) * d[3] + d[5];
}

// The rows of A^T applied to six values.
inline void transform_result(const Vector (&m)[kWindow], Vector (&y)[kResult]) {
    const Vector near_sum = m[1] + m[2], near_difference = m[1] - m[2], far_sum = m[3] + m[4], far_difference = m[3] - m[4];
    y[0] = m[0] + near_sum + far_sum;
    y[1] = kNear * near_difference + kFar * far_difference;
    y[2] = kNear2 * near_sum + kFar2 * far_sum;
    y[3] = kNear2 * kNear * near_difference + kFar2 * kFar * far_difference + m[5];
}

// The rows of G applied to three values.
inline void transform_weights(const Vector (&g)[3], Vector (&u)[kWindow]) {
    constexpr float near_scale = 0.5f / (kNear2 * (kNear2 - kFar2)), far_scale = 0.5f / (kFar2 * (kFar2 - kNear2));
    const Vector near_even = near_scale * (g[0] + kNear2 * g[2]), near_odd = near_scale * kNear * g[1];
    const Vector far_even = far_scale * (g[0] + kFar2 * g[2]), far_odd = far_scale * kFar * g[1];
    u[0] = g[0] * (1.0f / (kNear2 * kFar2));
    u[1] = near_even + near_odd;
    u[2] = near_even - near_odd;
    u[3] = far_even + far_odd;
    u[4] = far_even - far_odd;
    u[5] = g[2];
}

// The windows of kLanes neighbouring tiles of one channel; plane: floats from one of the 36 to the next.
void transform_windows(const WindowRows& rows, bool relu_input, float* target, std::size_t plane) {
    const Vector floor = broadcast(relu_input ? 0.0f : -INFINITY);
    Vector columns[kWindow][kWindowVectors];
    for (int v = 0; v < kWindowVectors; ++v) {
        Vector d[kWindow], transformed[kWindow];
        for (int i = 0; i < kWindow; ++i) {
            d[i] = no_less(load(rows[i] + v * kLanes), floor);
        }
        transform_window(d, transformed);
        for (int i = 0; i < kWindow; ++i) columns[i][v] = transformed[i];
    }
    for (int i = 0; i < kWindow; ++i) {
        Vector four[4] = {columns[i][0], columns[i][1], columns[i][2], columns[i][3]}, transformed[kWindow];
        deal_by_four(four);
        const Vector& last = columns[i][4];
        const Vector d[kWindow] = {four[0],
                                   four[1],
                                   four[2],
                                   four[3],
                                   VectorOrder::next(four[0], last),
                                   VectorOrder::next(four[1], VectorOrder::next(last, last))};
        transform_window(d, transformed);
        for (int j = 0; j < kWindow; ++j) store(target + (i * kWindow + j) * plane, transformed[j]);
    }
}

// A row of the block that is narrower than a register is written over by the next one, so the order matters.
template <typename Input>
void transform_block(const ConvTask& task, Input& input, const Block& block, float* windows) {
    const int channels = task.conv->in_channels;
    input.begin_block(block);
    for (int c = 0; c < channels; ++c) {
        input.begin_channel(c);
        for (int y = 0; y < block.height; ++y) {
            for (int x = 0; x < block.width; x += kLanes) {
                WindowRows rows;
                input.rows(x, y, rows);
                transform_windows(rows, task.relu_input, windows + static_cast<std::size_t>(c) * kTiles + y * block.width + x,
                                  plane_floats(channels));
            }
        }
    }
}

struct Place {
    int channel, x, y, count;  // in pixels of the result
};

// One row of results of up to kLanes tiles, with what follows the convolution.
void write_row(const ConvTask& task, const Output& output, const Place& place, Vector (&values)[kResult]) {
    const Vector bias = broadcast(task.conv->bias[place.channel]);
    for (Vector& value : values) {
        value += bias;
        if (task.relu_output) value = relu(value);
    }
    gather_by_four(values);
    const std::size_t start = (static_cast<std::size_t>(place.channel) * output.height + place.y) * output.width + place.x;
    for (int v = 0; v < kResult && v * kLanes < place.count; ++v) {
        const std::size_t at = start + v * kLanes;
        const int count = place.count - v * kLanes;
        if (task.residual != nullptr) values[v] += load_some(task.residual + at, count);
        store_some(output.values + at, values[v], count);
    }
}

// sums: [36][kRows][kTiles], of the channel at sums.
void write_channel(const ConvTask& task, const Output& output, const Block& block, int channel, const float* sums) {
    for (int r = 0; r < block.height && (block.y + r) * kResult < output.height; ++r) {
        for (int t = 0; t < block.width && (block.x + t) * kResult < output.width; t += kLanes) {
            Vector rows[kResult][kWindow];
            for (int j = 0; j < kWindow; ++j) {
                Vector m[kWindow], y[kResult];
                for (int i = 0; i < kWindow; ++i)
                    m[i] = load(sums + static_cast<std::size_t>(i * kWindow + j) * kRows * kTiles + r * block.width + t);
                transform_result(m, y);
                for (int i = 0; i < kResult; ++i) rows[i][j] = y[i];
            }
            const int x = (block.x + t) * kResult, y = (block.y + r) * kResult;
            const int count = std::min(kResult * std::min(kLanes, block.width - t), output.width - x);
            for (int i = 0; i < std::min(kResult, output.height - y); ++i) {
                Vector values[kResult];
                transform_result(rows[i], values);
                write_row(task, output, {channel, x, y + i, count}, values);
            }
        }
    }
}

// One product of a block, for `rows` output channels: a long sum is made of short ones, which round less. sums: [rows][kTiles].
template <int rows>
void run_product(int depth, const float* weights, const float* windows, float* sums) {
    for (int first = 0; first < depth; first += kTermsPerSum) {
        for (int t = 0; t < kTiles; t += kVectors * kLanes) {
            Sums<rows, kVectors> tile;
            clear<rows, kVectors>(tile);
            multiply<rows, kVectors>(std::min(kTermsPerSum, depth - first), weights + first, depth, windows + first * kTiles + t, kTiles,
                                     tile);
            for (int r = 0; r < rows; ++r) {
                for (int v = 0; v < kVectors; ++v) {
                    float* sum = sums + r * kTiles + t + v * kLanes;
                    store(sum, first == 0 ? tile[r][v] : load(sum) + tile[r][v]);
                }
            }
        }
    }
}

// The 36 products of a block, then their results.
template <int rows>
void run_channels(const ConvTask& task, const Output& output, const Block& block, int channel, const float* windows, float* sums) {
    const PackedConv& conv = *task.conv;
    for (int p = 0; p < kPlanes; ++p) {
        const float* weights = task.arranged + (static_cast<std::size_t>(p) * conv.out_channels + channel) * conv.in_channels;
        run_product<rows>(conv.in_channels, weights, windows + p * plane_floats(conv.in_channels), sums + p * kRows * kTiles);
    }
    for (int r = 0; r < rows; ++r) write_channel(task, output, block, channel + r, sums + r * kTiles);
}

// Floats of scratch for: transformed windows and products, the result that only a 1x1 convolution sees, the input that is resampled.
struct ScratchFloats {
    std::size_t products, between, input;

    ScratchFloats(const ConvTask& task, int input_width)
        : products(kPlanes * plane_floats(task.conv->in_channels) + kPlanes * kRows * kTiles + kGap),
          between(task.then == nullptr ? 0 : static_cast<std::size_t>(task.conv->out_channels) * kTiles * kResult * kResult + kLanes),
          input(task.resample == nullptr ? 0 : ResampledInput::scratch_floats(input_width)) {}
};

// All output channels of a block whose transformed windows are there.
void run_block(const ConvTask& task, const Output& output, const Block& block, float* scratch, Share work) {
    float* sums = scratch + kPlanes * plane_floats(task.conv->in_channels);
    for_row_tiles<kRows>(task.conv->out_channels, [&](int channel, auto rows) {
        if (work.cancelled()) return;
        run_channels<decltype(rows)::value>(task, output, block, channel, scratch, sums);
    });
}

// The same in scratch, at `between`, and from there through the 1x1 convolution.
void run_both(const ConvTask& task, const Output& output, const Block& block, float* scratch, float* between, Share work) {
    const int width = block.width * kResult, height = block.height * kResult, x = block.x * kResult, y = block.y * kResult;
    run_block(task, {between, width, height}, {0, 0, block.width, block.height}, scratch, work);
    const Tile tile{x, y, std::min(width, output.width - x), std::min(height, output.height - y)};
    run_pointwise(*task.then, {between, width, height}, output, tile);
}

template <typename Input>
void run_blocks(const ConvTask& task, Input input, const Output& output, float* scratch, float* between, Share work) {
    const Cover cover(output.width, output.height);
    const int blocks = cover.blocks();
    for (int i = work.next(blocks); i < blocks; i = work.next(blocks)) {
        const Block block = cover.block(i);
        transform_block(task, input, block, scratch);
        if (task.then != nullptr) {
            run_both(task, output, block, scratch, between, work);
        } else {
            run_block(task, output, block, scratch, work);
        }
    }
}

}  // namespace

std::size_t winograd_scratch(const ConvTask& task, int input_width) {
    const ScratchFloats floats(task, input_width);
    return floats.products + floats.between + floats.input;
}

void arrange_conv(const PackedConv& conv, float* arranged, Share work) {
    for (int o = work.next(conv.out_channels); o < conv.out_channels; o = work.next(conv.out_channels)) {
        for (int c = 0; c < conv.in_channels; c += kLanes) {
            const int count = conv.in_channels - c;
            Vector columns[kWindow][3];
            for (int kx = 0; kx < 3; ++kx) {
                Vector g[3], u[kWindow];
                for (int ky = 0; ky < 3; ++ky)
                    g[ky] = load_some(conv.weights.data() + (static_cast<std::size_t>(o) * 9 + ky * 3 + kx) * conv.in_channels + c, count);
                transform_weights(g, u);
                for (int i = 0; i < kWindow; ++i) columns[i][kx] = u[i];
            }
            for (int i = 0; i < kWindow; ++i) {
                Vector u[kWindow];
                transform_weights(columns[i], u);
                for (int j = 0; j < kWindow; ++j) {
                    const std::size_t row = static_cast<std::size_t>(i * kWindow + j) * conv.out_channels + o;
                    store_some(arranged + row * conv.in_channels + c, u[j], count);
                }
            }
        }
    }
}

void run_winograd(const ConvTask& task, MapView input, float* output, float* scratch, Share work) {
    const ScratchFloats floats(task, input.width);
    float* between = scratch + floats.products;
    if (task.resample == nullptr) return run_blocks(task, StoredInput(input), {output, input.width, input.height}, scratch, between, work);
    const Output result{output, task.resample->width, task.resample->height};
    run_blocks(task, ResampledInput(*task.resample, input, between + floats.between), result, scratch, between, work);
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
