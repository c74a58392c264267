// What minimal filtering reads: rows under the windows of kLanes neighbouring tiles, from a map as it is, or from one that is resampled on
// the way and never exists as a whole. Outside of the map everything is zero.
#pragma once

#include <algorithm>

#include "kernels/conv.hpp"
#include "kernels/resampler.hpp"
#include "kernels/winograd_block.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

using WindowRows = const float* [kWindow];

// A map as it is.
class StoredInput {
  public:
    explicit StoredInput(MapView map) : map_(map) {}

    void begin_block(const Block& block) { block_ = block; }
    void begin_channel(int channel) { plane_ = map_.values + static_cast<std::size_t>(channel) * map_.width * map_.height; }

    // Rows under the windows of the tiles from (x, y) of the block on; they last until the next call.
    void rows(int x, int y, WindowRows& rows) {
        const int top = (block_.y + y) * kResult - 1, left = (block_.x + x) * kResult - 1;
        prefetch_next(top, left);
        for (int i = 0; i < kWindow; ++i) rows[i] = row(top + i, left, padded_[i]);
    }

  private:
    // Row y from column `left` on: the map's own memory where the window lies inside of it, else `padded`.
    const float* row(int y, int left, float* padded) const {
        const float* row = plane_ + static_cast<std::ptrdiff_t>(y) * map_.width;
        const bool inside = y >= 0 && y < map_.height;
        if (inside && left >= 0 && left + kRow <= map_.width) return row + left;
        for (int v = 0; v < kWindowVectors; ++v) store(padded + v * kLanes, Vector{});
        const int first = std::max(-left, 0), last = inside ? std::min(map_.width - left, kRow) : 0;
        for (int i = first; i < last; i += kLanes) store_some(padded + i, load_some(row + left + i, last - i), last - i);
        return padded;
    }

    // Asks for the same window of the next channel while this one is worked on; an address outside of the map does no harm.
    void prefetch_next(int top, int left) const {
        constexpr int line = 64 / sizeof(float);
        for (int i = 0; i < kWindow; ++i) {
            const float* row = plane_ + static_cast<std::ptrdiff_t>(top + i + map_.height) * map_.width + left;
            for (int x = 0; x < kResult * kLanes + line; x += line) __builtin_prefetch(row + x);
        }
    }

    MapView map_;
    const float* plane_ = nullptr;
    Block block_{};
    float padded_[kWindow][kRow];
};

// A map that is resampled, one channel under one block at a time, which stays in the first cache.
class ResampledInput {
  public:
    static std::size_t scratch_floats(int input_width) { return kUnder + Resampler::scratch_floats(input_width, kMostColumns); }

    ResampledInput(const InterpolateTask& task, MapView input, float* scratch)
        : resampler_(task, input, kMostColumns, scratch + kUnder), under_(scratch) {}

    void begin_block(const Block& block) {
        top_ = block.y * kResult - 1;
        rows_ = block.height * kResult + 2;
        const int left = block.x * kResult - 1, columns = block.width * kResult + 2;
        pitch_ = columns + kLanes;
        first_ = std::max(-left, 0);
        const int whole = (columns - first_ + kLanes - 1) / kLanes * kLanes;  // registers: some columns more, where the map has them
        resampler_.select(left + first_, std::min(whole, resampler_.width() - left - first_));
        std::fill(under_, under_ + rows_ * pitch_, 0.0f);
    }

    void begin_channel(int channel) {
        for (int i = std::max(-top_, 0); i < std::min(rows_, resampler_.height() - top_); ++i)
            resampler_.row(channel, top_ + i, under_ + i * pitch_ + first_);
    }

    void rows(int x, int y, WindowRows& rows) const {
        for (int i = 0; i < kWindow; ++i) rows[i] = under_ + (y * kResult + i) * pitch_ + x * kResult;
    }

  private:
    static constexpr int kMostColumns = kTiles * kResult + 2 + kLanes;
    // Floats under a block with a border of one, most in a block one tile wide, and what is read after the last row.
    static constexpr int kUnder = (kTiles * kResult + 2) * (kWindow + kLanes) + kRow;

    Resampler resampler_;
    float* under_;
    int top_ = 0, rows_ = 0, pitch_ = 0;  // of what is under the block
    int first_ = 0;                       // of its columns, the one that is in the map
};

}  // namespace da::kernels::DA_INSTRUCTION_SET
