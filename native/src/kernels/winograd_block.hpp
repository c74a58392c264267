// How minimal filtering cuts a map: tiles of 4x4 results, each from a window of 6x6 values, and blocks of tiles.
#pragma once

#include <algorithm>

#include "kernels/vector.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

constexpr int kResult = 4, kWindow = 6;
constexpr int kTiles = 32;                     // of a block
constexpr int kWindowVectors = 5;              // of a row under kLanes tiles: 4 * kLanes values, and 2 of the last window
constexpr int kRow = kWindowVectors * kLanes;  // values of them, more than they need

struct Block {
    int x, y, width, height;  // in tiles
};

// How a map is covered with blocks: row by row with those of full width, which then read what the one before has left in the cache; what is
// left at the right in columns of narrower and higher ones.
class Cover {
  public:
    Cover(int width, int height)
        : across_((width + kResult - 1) / kResult),
          down_((height + kResult - 1) / kResult),
          wide_((across_ + kTiles / 4) / kTiles),
          narrow_(std::min(wide_ * kTiles, across_)) {}

    int blocks() const {
        int count = wide_ * down_;
        for (int x = narrow_; x < across_; x += column_width(across_ - x)) count += blocks_down(column_width(across_ - x));
        return count;
    }

    Block block(int index) const {
        if (index < wide_ * down_) {
            const int x = index % wide_ * kTiles;
            return {x, index / wide_, std::min(kTiles, across_ - x), 1};
        }
        index -= wide_ * down_;
        int x = narrow_, width = column_width(across_ - x);
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

    // What is left is one column where its rows fill most of a block, else the largest power of two goes first.
    static int column_width(int left) {
        int width = kTiles;
        while (width > left) width /= 2;
        return 4 * (kTiles / left * left) >= 3 * kTiles ? left : width;
    }

    int across_, down_;  // in tiles
    int wide_;           // columns of full width, the last one perhaps a little less
    int narrow_;         // the first tile right of them
};

}  // namespace da::kernels::DA_INSTRUCTION_SET
