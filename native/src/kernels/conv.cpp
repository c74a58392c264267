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
constexpr int kTileWidth = 96;     // output pixels of a tile
constexpr int kTileHeight = 4;     // at most
constexpr int kTermsPerSum = 288;  // a long sum is made of short ones: the rounding error grows with the root of the shorter length

// As high as leaves all threads the same number of tiles.
int tile_height(int height, int threads) {
    const int tiles = (height + threads * kTileHeight - 1) / (threads * kTileHeight) * threads;
    return (height + tiles - 1) / tiles;
}

// Where the pixels under a tile lie in scratch: one plane for each phase of the stride. So neighbouring pixels of the result always read
// neighbouring floats, and those at the end of a row are followed by those of the next one: a register may hold pixels of several rows.
struct Layout {
    int stride;
    int pitch;    // floats from a row to the next: the width of the tile and what the kernel reaches beyond
    int plane;    // floats of a phase
    int channel;  // floats of a channel

    Layout(const PackedConv& conv, int width, int height)
        : stride(conv.stride),
          pitch(width + (conv.kernel - 1) / stride),
          plane(pitch * (height + (conv.kernel - 1) / stride)),
          channel(plane * stride * stride) {}

    // Of the pixel (x, y) under the tile.
    int offset(int x, int y) const { return (y % stride * stride + x % stride) * plane + y / stride * pitch + x / stride; }
};

// One row under a tile, from column `left` of the map on, zero outside of it. row: where its first pixel goes.
void gather_row(const ConvTask& task, const float* source, int width, int left, const Layout& layout, float* row) {
    const int stride = layout.stride;
    const float floor = task.relu_input ? 0.0f : -std::numeric_limits<float>::infinity();
    for (int phase = 0; phase < stride; ++phase, row += layout.plane) {
        const int offset = left + phase;
        const int first = std::clamp((stride - 1 - offset) / stride, 0, layout.pitch);
        const int last = std::clamp((width - offset + stride - 1) / stride, first, layout.pitch);
        std::fill(row, row + first, 0.0f);
        for (int i = first; i < last; ++i) row[i] = std::max(source[offset + i * stride], floor);
        std::fill(row + last, row + layout.pitch, 0.0f);
    }
}

// Copies the input under a tile into scratch.
void gather(const ConvTask& task, MapView input, const Tile& tile, const Layout& layout, float* scratch) {
    const PackedConv& conv = *task.conv;
    const int left = tile.x * conv.stride - conv.padding, top = tile.y * conv.stride - conv.padding;
    const int rows = (tile.height - 1) * conv.stride + conv.kernel;
    for (int c = 0; c < conv.in_channels; ++c) {
        const float* plane = input.values + static_cast<std::size_t>(c) * input.width * input.height;
        for (int r = 0; r < rows; ++r) {
            const int y = top + r;
            const bool inside = y >= 0 && y < input.height;
            gather_row(task, plane + static_cast<std::ptrdiff_t>(y) * input.width, inside ? input.width : 0, left, layout,
                       scratch + c * layout.channel + layout.offset(0, r));
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
    int offsets[kernel * kernel];
    for (int k = 0; k < kernel * kernel; ++k) offsets[k] = layout.offset(k % kernel, k / kernel);
    for (int o = 0; o < kOutputs; ++o) {
        for (int v = 0; v < vectors; ++v) sums[o][v] = broadcast(bias[o]);
    }
    for (int first = 0; first < conv.in_channels; first += channels_per_sum) {
        const int last = std::min(first + channels_per_sum, conv.in_channels);
        PixelSums<vectors> acc = {};
        for (int c = first; c < last; ++c) {
            for (const int offset : offsets) {
                const float* source = scratch + c * layout.channel + offset;
                Vector pixels[vectors];
                for (int v = 0; v < vectors; ++v) pixels[v] = load(source + v * kLanes);
                for (int o = 0; o < kOutputs; ++o) {
                    const Vector weight = broadcast(weights[o]);
                    for (int v = 0; v < vectors; ++v) acc[o][v] += weight * pixels[v];
                }
                weights += kConvGroup;
            }
        }
        for (int o = 0; o < kOutputs; ++o) {
            for (int v = 0; v < vectors; ++v) sums[o][v] += acc[o][v];
        }
    }
}

struct Place {
    int x, y;  // in the tile
};

// One register of one computed channel, from a place of the tile on. What is right of the tile, or below it, is none of the result.
void write(const ConvTask& task, const Output& output, const Tile& tile, int pitch, int channel, Place place, Vector sums) {
    if (task.relu_output) sums = relu(sums);
    const int s = task.conv->shuffle;
    const int plane = channel / (s * s), dy = channel / s % s, dx = channel % s;
    const auto at = [&](Place p) {
        return (static_cast<std::size_t>(plane) * output.height + (tile.y + p.y) * s + dy) * output.width + (tile.x + p.x) * s + dx;
    };
    if (s == 1 && place.x + kLanes <= tile.width) {
        if (task.residual != nullptr) sums += load(task.residual + at(place));
        return store(output.values + at(place), sums);
    }
    for (int i = 0; i < kLanes && place.y < tile.height; place = {0, place.y + 1}) {
        const int count = std::min(kLanes - i, pitch - place.x), kept = std::min(count, tile.width - place.x);
        const std::size_t start = at(place);
        for (int k = 0; k < kept; ++k) {
            const std::size_t to = start + static_cast<std::size_t>(k) * s;
            output.values[to] = task.residual != nullptr ? sums[i + k] + task.residual[to] : sums[i + k];
        }
        i += count;
    }
}

// Neighbouring pixels of a tile from the one with the number `first` on, of all channels: the input under them stays in the first cache.
template <int kernel, int vectors>
void run_pixels(const ConvTask& task, const Output& output, const Tile& tile, const Layout& layout, const float* scratch, int first) {
    const PackedConv& conv = *task.conv;
    const std::size_t group_size = static_cast<std::size_t>(conv.in_channels) * kernel * kernel * kConvGroup;
    Place places[vectors];
    for (int v = 0; v < vectors; ++v) places[v] = {(first + v * kLanes) % layout.pitch, (first + v * kLanes) / layout.pitch};
    for (int channel = 0; channel < conv.out_channels; channel += kOutputs) {
        const float* weights = conv.weights.data() + channel / kConvGroup * group_size + channel % kConvGroup;
        PixelSums<vectors> sums;
        micro_kernel<kernel, vectors>(conv, layout, scratch + first, weights, conv.bias.data() + channel, sums);
        for (int o = 0; o < kOutputs && channel + o < conv.out_channels; ++o) {
            for (int v = 0; v < vectors; ++v) write(task, output, tile, layout.pitch, channel + o, places[v], sums[o][v]);
        }
    }
}

template <int kernel>
void run_tile(const ConvTask& task, const Output& output, const Tile& tile, const Layout& layout, const float* scratch) {
    const int count = (tile.height - 1) * layout.pitch + tile.width;
    int i = 0;
    for (; i + (kMostVectors - 1) * kLanes < count; i += kMostVectors * kLanes)
        run_pixels<kernel, kMostVectors>(task, output, tile, layout, scratch, i);
    if (i + kLanes < count) {
        run_pixels<kernel, 2>(task, output, tile, layout, scratch, i);
    } else if (i < count) {
        run_pixels<kernel, 1>(task, output, tile, layout, scratch, i);
    }
}

}  // namespace

void run_pointwise(const PackedConv& conv, MapView under, const Output& output, const Tile& tile) {
    run_tile<1>({&conv}, output, tile, Layout(conv, under.width, under.height), under.values);
}

std::size_t conv_scratch(const ConvTask& task, int input_width) {
    const PackedConv& conv = *task.conv;
    if (conv.minimal) return winograd_scratch(task, input_width);
    const int width = std::min(kTileWidth, conv_extent(conv, input_width) / conv.shuffle);
    return static_cast<std::size_t>(conv.in_channels) * Layout(conv, width, kTileHeight).channel + kLanes;
}

void run_conv(const ConvTask& task, MapView input, float* output, float* scratch, Share work) {
    const PackedConv& conv = *task.conv;
    if (conv.minimal) return run_winograd(task, input, output, scratch, work);
    const Output result{output, conv_extent(conv, input.width), conv_extent(conv, input.height)};
    const int width = result.width / conv.shuffle, height = result.height / conv.shuffle;
    const int rows = tile_height(height, work.threads());
    const int across = (width + kTileWidth - 1) / kTileWidth, down = (height + rows - 1) / rows;
    for (int i = work.next(across * down); i < across * down; i = work.next(across * down)) {
        const int x = i % across * kTileWidth, y = i / across * rows;
        const Tile tile{x, y, std::min(kTileWidth, width - x), std::min(rows, height - y)};
        const Layout layout(conv, tile.width, tile.height);
        gather(task, input, tile, layout, scratch);
        if (conv.kernel == 1) {
            run_tile<1>(task, result, tile, layout, scratch);
        } else {
            run_tile<3>(task, result, tile, layout, scratch);
        }
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
