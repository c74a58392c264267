// 3x3 convolutions of stride 1 by Winograd's minimal filtering F(4x4, 3x3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2016): tiles of 4x4 results, each from a window of 6x6 values, become 36 matrix products of a quarter of the multiplications.
//
// A register holds the same value of neighbouring tiles. A block is kTiles tiles, `width` side by side in `height` rows; its transformed
// windows lie in scratch as [36][in][kTiles], tile after tile in rows of the block.
#include "kernels/winograd.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/functions.hpp"
#include "kernels/shuffle.hpp"
#include "kernels/tile.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr int kResult = 4, kWindow = 6, kPlanes = kWindow * kWindow;
constexpr int kTiles = 32;
constexpr int kWindowVectors = 5;  // of a row under kLanes tiles: 4 * kLanes values, and 2 of the last window
constexpr int kGap = 16;           // between planes, so that they do not fall on the same lines of the cache

struct Block {
    int x, y, width, height;  // in tiles
};

// How a map is covered with blocks: columns of full width, then narrower ones that are higher.
class Cover {
  public:
    Cover(int width, int height) : across_((width + kResult - 1) / kResult), down_((height + kResult - 1) / kResult) {}

    int blocks() const {
        int count = 0;
        for (int x = 0; x < across_; x += column_width(across_ - x)) count += blocks_down(column_width(across_ - x));
        return count;
    }

    Block block(int index) const {
        int x = 0, width = column_width(across_);
        while (index >= blocks_down(width)) {
            index -= blocks_down(width);
            x += width;
            width = column_width(across_ - x);
        }
        return {x, index * (kTiles / width), width, kTiles / width};
    }

  private:
    int blocks_down(int width) const {
        const int rows = kTiles / width;
        return (down_ + rows - 1) / rows;
    }

    // What is left is taken by a full block where little of it is wasted, else by the largest power of two that fits.
    static int column_width(int left) {
        int width = kTiles;
        while (width > left && 4 * left < 3 * width) width /= 2;
        return width;
    }

    int across_, down_;
};

std::size_t plane_floats(int in) {
    return static_cast<std::size_t>(in) * kTiles + kGap;
}

// The rows of B^T applied to six values.
inline void transform_window(const Vector (&d)[kWindow], Vector (&v)[kWindow]) {
    const Vector outer = d[4] - 4.0f * d[2], inner = d[3] - 4.0f * d[1], far = d[4] - d[2], near = 2.0f * (d[3] - d[1]);
    v[0] = 4.0f * d[0] - 5.0f * d[2] + d[4];
    v[1] = outer + inner;
    v[2] = outer - inner;
    v[3] = far + near;
    v[4] = far - near;
    v[5] = 4.0f * d[1] - 5.0f * d[3] + d[5];
}

// The rows of A^T applied to six values.
inline void transform_result(const Vector (&m)[kWindow], Vector (&y)[kResult]) {
    const Vector sum = m[1] + m[2], difference = m[1] - m[2], far_sum = m[3] + m[4], far_difference = m[3] - m[4];
    y[0] = m[0] + sum + far_sum;
    y[1] = difference + 2.0f * far_difference;
    y[2] = sum + 4.0f * far_sum;
    y[3] = difference + 8.0f * far_difference + m[5];
}

// The rows of G applied to three values.
inline void transform_weights(const Vector (&g)[3], Vector (&u)[kWindow]) {
    const Vector ends = (g[0] + g[2]) * (-1.0f / 6), middle = g[1] * (1.0f / 6), far_ends = g[0] * (1.0f / 24) + g[2] * (1.0f / 6),
                 far_middle = g[1] * (1.0f / 12);
    u[0] = g[0] * 0.25f;
    u[1] = ends - middle;
    u[2] = ends + middle;
    u[3] = far_ends + far_middle;
    u[4] = far_ends - far_middle;
    u[5] = g[2];
}

constexpr int kRow = kWindowVectors * kLanes;  // values of a row under kLanes tiles, more than they need

// `count` values of a row from column `left` on, zero outside of 0 to width.
void pad_row(const float* row, int width, int left, float* padded) {
    for (int v = 0; v < kWindowVectors; ++v) store(padded + v * kLanes, Vector{});
    const int first = std::max(-left, 0), last = std::min(width - left, kRow);
    for (int i = first; i < last; i += kLanes) store_some(padded + i, load_some(row + left + i, last - i), last - i);
}

// Row y of a plane from column `left` on, zero outside of the map. The map's own memory where the window lies inside of it, else `padded`.
const float* window_row(const float* plane, MapView input, int y, int left, float* padded) {
    const float* row = plane + static_cast<std::ptrdiff_t>(y) * input.width;
    const bool inside = y >= 0 && y < input.height;
    if (inside && left >= 0 && left + kRow <= input.width) return row + left;
    pad_row(row, inside ? input.width : 0, left, padded);
    return padded;
}

// Asks for the window of the next channel while this one is worked on; an address outside of the map does no harm.
void prefetch_window(const float* plane, MapView input, int y, int left) {
    constexpr int line = 64 / sizeof(float);
    for (int i = 0; i < kWindow; ++i) {
        const float* row = plane + static_cast<std::ptrdiff_t>(y + i) * input.width + left;
        for (int x = 0; x < kResult * kLanes + line; x += line) __builtin_prefetch(row + x);
    }
}

// The windows of kLanes neighbouring tiles of one channel; plane: floats from one of the 36 to the next.
void transform_windows(const float* const (&rows)[kWindow], bool relu_input, float* target, std::size_t plane) {
    const Vector floor = broadcast(relu_input ? 0.0f : -INFINITY);
    Vector columns[kWindow][kWindowVectors];
    for (int v = 0; v < kWindowVectors; ++v) {
        Vector d[kWindow], transformed[kWindow];
        for (int i = 0; i < kWindow; ++i) {
            const Vector value = load(rows[i] + v * kLanes);
            d[i] = value > floor ? value : floor;
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
void transform_block(const ConvTask& task, MapView input, const Block& block, float* windows) {
    const std::size_t plane = plane_floats(task.conv->in_channels);
    const std::size_t plane_size = static_cast<std::size_t>(input.width) * input.height;
    float padded[kWindow][kRow];
    for (int c = 0; c < task.conv->in_channels; ++c) {
        const float* values = input.values + c * plane_size;
        for (int r = 0; r < block.height; ++r) {
            for (int t = 0; t < block.width; t += kLanes) {
                const int top = (block.y + r) * kResult - 1, left = (block.x + t) * kResult - 1;
                prefetch_window(values + plane_size, input, top, left);
                const float* rows[kWindow];
                for (int i = 0; i < kWindow; ++i) rows[i] = window_row(values, input, top + i, left, padded[i]);
                transform_windows(rows, task.relu_input, windows + static_cast<std::size_t>(c) * kTiles + r * block.width + t, plane);
            }
        }
    }
}

struct Place {
    int channel, x, y, count;  // in pixels of the result
};

// One row of results of up to kLanes tiles, with what follows the convolution.
void write_row(const ConvTask& task, MapView map, float* output, const Place& place, Vector (&values)[kResult]) {
    const Vector bias = broadcast(task.conv->bias[place.channel]);
    for (Vector& value : values) {
        value += bias;
        if (task.relu_output) value = relu(value);
    }
    gather_by_four(values);
    const std::size_t start = (static_cast<std::size_t>(place.channel) * map.height + place.y) * map.width + place.x;
    for (int v = 0; v < kResult && v * kLanes < place.count; ++v) {
        const std::size_t at = start + v * kLanes;
        const int count = place.count - v * kLanes;
        if (task.residual != nullptr) values[v] += load_some(task.residual + at, count);
        store_some(output + at, values[v], count);
    }
}

// sums: [36][kTileRows][kTiles], of the channel at sums.
void write_channel(const ConvTask& task, MapView map, float* output, const Block& block, int channel, const float* sums) {
    for (int r = 0; r < block.height && (block.y + r) * kResult < map.height; ++r) {
        for (int t = 0; t < block.width && (block.x + t) * kResult < map.width; t += kLanes) {
            Vector rows[kResult][kWindow];
            for (int j = 0; j < kWindow; ++j) {
                Vector m[kWindow], y[kResult];
                for (int i = 0; i < kWindow; ++i)
                    m[i] = load(sums + static_cast<std::size_t>(i * kWindow + j) * kTileRows * kTiles + r * block.width + t);
                transform_result(m, y);
                for (int i = 0; i < kResult; ++i) rows[i][j] = y[i];
            }
            const int x = (block.x + t) * kResult, y = (block.y + r) * kResult;
            const int count = std::min(kResult * std::min(kLanes, block.width - t), map.width - x);
            for (int i = 0; i < std::min(kResult, map.height - y); ++i) {
                Vector values[kResult];
                transform_result(rows[i], values);
                write_row(task, map, output, {channel, x, y + i, count}, values);
            }
        }
    }
}

// The 36 products of a block for `rows` output channels, then their results.
template <int rows>
void run_channels(const ConvTask& task, MapView map, float* output, const Block& block, int channel, const float* windows, float* sums) {
    const PackedConv& conv = *task.conv;
    const std::size_t plane = plane_floats(conv.in_channels);
    for (int p = 0; p < kPlanes; ++p) {
        const float* weights = task.arranged + (static_cast<std::size_t>(p) * conv.out_channels + channel) * conv.in_channels;
        for (int t = 0; t < kTiles; t += kPanel) {
            Sums<rows, kTileVectors> tile;
            clear<rows, kTileVectors>(tile);
            multiply<rows, kTileVectors>(conv.in_channels, weights, conv.in_channels, windows + p * plane + t, kTiles, tile);
            for (int r = 0; r < rows; ++r) {
                for (int v = 0; v < kTileVectors; ++v) store(sums + (p * kTileRows + r) * kTiles + t + v * kLanes, tile[r][v]);
            }
        }
    }
    for (int r = 0; r < rows; ++r) write_channel(task, map, output, block, channel + r, sums + r * kTiles);
}

}  // namespace

std::size_t winograd_scratch(const PackedConv& conv) {
    return kPlanes * plane_floats(conv.in_channels) + kPlanes * kTileRows * kTiles + kGap;
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
    const Cover cover(input.width, input.height);
    float* windows = scratch;
    float* sums = scratch + kPlanes * plane_floats(task.conv->in_channels);
    const int blocks = cover.blocks();
    for (int i = work.next(blocks); i < blocks; i = work.next(blocks)) {
        const Block block = cover.block(i);
        transform_block(task, input, block, windows);
        for_row_tiles(task.conv->out_channels, [&](int channel, auto rows) {
            if (work.cancelled()) return;
            run_channels<decltype(rows)::value>(task, input, output, block, channel, windows, sums);
        });
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
