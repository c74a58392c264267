// Rows of activations as small integers, with a scale for every span of them: what the integer products read.
//
// Integers are 8 or 16 bits wide as the instruction set wants them, and as many rows as its register tile has lie together: [tile][span],
// each span the scales of its rows, the starts of their integer sums (see dot.hpp), and [group of 4 or 8 bytes][row]. A row ends with a
// shorter span where it must.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/norm.hpp"

namespace da::kernels {

constexpr int kBlock = 32;  // weights that share a scale; spans are one of it, or several

struct QuantisedView {
    const std::uint8_t* tiles;
    int rows;
};

// Bytes of that many rows of `in` values, a multiple of kBlock.
using QuantisedBytes = std::size_t(int in, int rows);

// All rows of x, which are `in` long. What is not finite makes the results of its row not finite. One thread's share; see RunConv.
using RunQuantise = void(RowsView x, int in, std::uint8_t* tiles, Share work);

// RunNorm and RunQuantise in one. scratch: a row of floats.
using RunQuantisedNorm = void(const NormTask& task, RowsView x, const float* weight, const float* bias, std::uint8_t* tiles, float* scratch,
                              Share work);

}  // namespace da::kernels
