// How a product is cut into pieces: blocks of columns times whole tiles of rows. What one thread starts with (see Pieces) are rows of its
// own times all columns, block after block: those rows then stay in its cache, and so do the weights of a block.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/pieces.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

struct ProductPiece {
    int row, rows, column, columns;
};

class ProductPieces {
  public:
    // block: columns of a piece; tile: rows of a tile; tiles: of a piece, about.
    ProductPieces(int rows, int columns, int block, int tile, int tiles, int threads)
        : rows_(rows),
          columns_(columns),
          block_(block),
          tile_(tile),
          tiles_((rows + tile - 1) / tile),
          across_((columns + block - 1) / block),
          runs_(std::min(threads, tiles_)),
          parts_(std::max(1, tiles_ / std::max(1, runs_ * tiles))) {}

    int count() const { return runs_ * across_ * parts_; }

    ProductPiece piece(int index) const {
        const int run = index / (across_ * parts_), column = index / parts_ % across_ * block_, part = run * parts_ + index % parts_;
        const int row = first_row(part);
        return {row, std::min(rows_, first_row(part + 1)) - row, column, std::min(block_, columns_ - column)};
    }

  private:
    // In 64 bits: a product of tiles and parts passes 32 from a million rows on.
    int first_row(int part) const { return static_cast<int>(static_cast<std::int64_t>(tiles_) * part / (runs_ * parts_)) * tile_; }

    int rows_, columns_, block_, tile_, tiles_, across_, runs_, parts_;
};

}  // namespace da::kernels::DA_INSTRUCTION_SET
