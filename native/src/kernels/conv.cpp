#include <algorithm>
#include <limits>

#include "kernels/conv_tile.hpp"
#include "kernels/functions.hpp"
#include "kernels/tile.hpp"
#include "kernels/winograd.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

// A micro-kernel call makes up to kMostVectors registers of neighbouring pixels of kOutputs output channels, as many as there are registers
// for sums beside the operands.
constexpr int kOutputs = DA_VECTOR_REGISTERS == 32 ? kConvGroup : kConvGroup / 2;
constexpr int kMostVectors = 3;
constexpr int kTileWidth = 96;  // output pixels of a tile
constexpr int kTileHeight = 4;
constexpr int kTermsPerSum = 288;  // a long sum is made of short ones: the rounding error grows with the root of the shorter length

int tile_width(int output_width) {
    return std::min(kTileWidth, (output_width + kLanes - 1) / kLanes * kLanes);
}

// Where the pixels of a tile lie in scratch: one phase per stride step, so that neighbouring outputs always read neighbouring floats.
struct Layout {
    int phase;    // floats of one phase of a row
    int row;      // floats of a row
    int rows;     // rows of a channel
    int channel;  // floats of a channel

    // Of tiles of width x height output pixels.
    Layout(const PackedConv& conv, int width, int height)
        : phase(width + (conv.kernel - 1) / conv.stride),
          row(phase * conv.stride),
          rows((height - 1) * conv.stride + conv.kernel),
          channel(row * rows) {}

    int column(int stride, int x) const { return (x % stride) * phase + x / stride; }
};

// One row of a tile: `count` input pixels from column `left` on, zero outside of the map, spread over the phases of the stride.
void gather_row(const ConvTask& task, const float* source, int width, int left, int count, const Layout& layout, float* row) {
    const int stride = task.conv->stride;
    const int first = std::clamp(-left, 0, count), last = std::clamp(width - left, first, count);
    if (first > 0 || last < count) std::fill(row, row + layout.row, 0.0f);
    const float floor = task.relu_input ? 0.0f : -std::numeric_limits<float>::infinity();
    if (stride == 1) {
        for (int i = first; i < last; ++i) row[i] = source[left + i] > floor ? source[left + i] : floor;
    } else {
        for (int phase = 0; phase < stride; ++phase) {
            const int begin = (first - phase + stride - 1) / stride;
            for (int i = begin; i * stride + phase < last; ++i)
                row[phase * layout.phase + i] = std::max(source[left + i * stride + phase], floor);
        }
    }
}

// Copies the input under a tile into scratch.
void gather(const ConvTask& task, MapView input, const Tile& tile, const Layout& layout, float* scratch) {
    const PackedConv& conv = *task.conv;
    const int left = tile.x * conv.stride - conv.padding, top = tile.y * conv.stride - conv.padding;
    for (int c = 0; c < conv.in_channels; ++c) {
        const float* plane = input.values + static_cast<std::size_t>(c) * input.width * input.height;
        for (int r = 0; r < layout.rows; ++r) {
            float* row = scratch + c * layout.channel + r * layout.row;
            const int y = top + r;
            if (y < 0 || y >= input.height) {
                std::fill(row, row + layout.row, 0.0f);
            } else {
                gather_row(task, plane + static_cast<std::size_t>(y) * input.width, input.width, left, layout.row, layout, row);
            }
        }
    }
}

template <int vectors>
using PixelSums = Sums<kOutputs, vectors>;

// scratch points at the first input pixel of the first output pixel, weights and bias at those of the first output channel.
template <int kernel, int vectors>
void micro_kernel(const PackedConv& conv, const Layout& layout, const float* scratch, const float* weights, const float* bias,
                  PixelSums<vectors>& sums) {
    constexpr int channels_per_sum = kTermsPerSum / (kernel * kernel);
    int columns[kernel];
    for (int kx = 0; kx < kernel; ++kx) columns[kx] = layout.column(conv.stride, kx);
    for (int o = 0; o < kOutputs; ++o) {
        for (int v = 0; v < vectors; ++v) sums[o][v] = broadcast(bias[o]);
    }
    for (int first = 0; first < conv.in_channels; first += channels_per_sum) {
        const int last = std::min(first + channels_per_sum, conv.in_channels);
        PixelSums<vectors> acc = {};
        for (int c = first; c < last; ++c) {
            for (int ky = 0; ky < kernel; ++ky) {
                for (int kx = 0; kx < kernel; ++kx) {
                    const float* source = scratch + c * layout.channel + ky * layout.row + columns[kx];
                    Vector pixels[vectors];
                    for (int v = 0; v < vectors; ++v) pixels[v] = load(source + v * kLanes);
                    for (int o = 0; o < kOutputs; ++o) {
                        const Vector weight = broadcast(weights[o]);
                        for (int v = 0; v < vectors; ++v) acc[o][v] += weight * pixels[v];
                    }
                    weights += kConvGroup;
                }
            }
        }
        for (int o = 0; o < kOutputs; ++o) {
            for (int v = 0; v < vectors; ++v) sums[o][v] += acc[o][v];
        }
    }
}

// Writes up to kLanes pixels of one computed channel, at output pixel (x, y) before the shuffle.
void write(const ConvTask& task, const Output& output, int channel, int x, int y, int count, Vector sums) {
    if (task.relu_output) sums = relu(sums);
    const int s = task.conv->shuffle;
    const int plane = channel / (s * s), dy = channel / s % s, dx = channel % s;
    const std::size_t start = (static_cast<std::size_t>(plane) * output.height + y * s + dy) * output.width + x * s + dx;
    if (s == 1 && task.residual != nullptr) {
        if (count == kLanes) sums += load(task.residual + start);
        for (int i = 0; count < kLanes && i < count; ++i) sums[i] += task.residual[start + i];
    }
    if (s == 1 && count == kLanes) return store(output.values + start, sums);
    for (int i = 0; i < count; ++i) output.values[start + static_cast<std::size_t>(i) * s] = sums[i];
}

// Pixels of one row of a tile from x on, of all channels: the input under them stays in the first cache.
template <int kernel, int vectors>
void run_pixels(const ConvTask& task, const Output& output, const Tile& tile, const Layout& layout, const float* scratch, int r, int x) {
    const PackedConv& conv = *task.conv;
    const std::size_t group_size = static_cast<std::size_t>(conv.in_channels) * kernel * kernel * kConvGroup;
    for (int channel = 0; channel < conv.out_channels; channel += kOutputs) {
        const float* weights = conv.weights.data() + channel / kConvGroup * group_size + channel % kConvGroup;
        PixelSums<vectors> sums;
        micro_kernel<kernel, vectors>(conv, layout, scratch + r * conv.stride * layout.row + x, weights, conv.bias.data() + channel, sums);
        for (int o = 0; o < kOutputs && channel + o < conv.out_channels; ++o) {
            for (int v = 0; v < vectors; ++v) {
                const int first = x + v * kLanes, count = std::min(kLanes, tile.width - first);
                write(task, output, channel + o, tile.x + first, tile.y + r, count, sums[o][v]);
            }
        }
    }
}

template <int kernel>
void run_tile(const ConvTask& task, const Output& output, const Tile& tile, const Layout& layout, const float* scratch) {
    for (int r = 0; r < tile.height; ++r) {
        int x = 0;
        for (; x + (kMostVectors - 1) * kLanes < tile.width; x += kMostVectors * kLanes)
            run_pixels<kernel, kMostVectors>(task, output, tile, layout, scratch, r, x);
        if (x + kLanes < tile.width) {
            run_pixels<kernel, 2>(task, output, tile, layout, scratch, r, x);
        } else if (x < tile.width) {
            run_pixels<kernel, 1>(task, output, tile, layout, scratch, r, x);
        }
    }
}

}  // namespace

void run_pointwise(const PackedConv& conv, MapView under, const Output& output, const Tile& tile) {
    run_tile<1>({&conv}, output, tile, Layout(conv, under.width, under.height), under.values);
}

std::size_t conv_scratch(const PackedConv& conv, const PackedConv* then, int output_width) {
    if (conv.minimal) return winograd_scratch(conv, then);
    return static_cast<std::size_t>(conv.in_channels) * Layout(conv, tile_width(output_width / conv.shuffle), kTileHeight).channel;
}

void run_conv(const ConvTask& task, MapView input, float* output, float* scratch, Share work) {
    const PackedConv& conv = *task.conv;
    if (conv.minimal) return run_winograd(task, input, output, scratch, work);
    const Output result{output, conv_extent(conv, input.width), conv_extent(conv, input.height)};
    const int width = result.width / conv.shuffle, height = result.height / conv.shuffle;
    const Layout layout(conv, tile_width(width), kTileHeight);
    const int across = (width + tile_width(width) - 1) / tile_width(width), down = (height + kTileHeight - 1) / kTileHeight;
    for (int i = work.next(across * down); i < across * down; i = work.next(across * down)) {
        const int x = i % across * tile_width(width), y = i / across * kTileHeight;
        const Tile tile{x, y, std::min(tile_width(width), width - x), std::min(kTileHeight, height - y)};
        gather(task, input, tile, layout, scratch);
        if (conv.kernel == 1) {
            run_tile<1>(task, result, tile, layout, scratch);
        } else {
            run_tile<3>(task, result, tile, layout, scratch);
        }
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
