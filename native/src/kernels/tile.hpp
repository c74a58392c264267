// The register tile of all matrix products: `rows` rows of A, read where they lie, times `vectors` registers of columns of B, read along
// rows.
#pragma once

#include <cstddef>

#include "kernels/vector.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

// As many sums as the registers of the target hold beside the operands. They are few rows, since each has an address of its own and is
// read number by number: 6x4 reads 10 times for 24 sums where 12x2 reads 14 times, and its addresses fit the general registers.
constexpr int kTileRows = 6;
constexpr int kTileVectors = DA_VECTOR_REGISTERS == 32 ? 4 : 2;
constexpr int kPanel = kTileVectors * kLanes;

template <int rows, int vectors>
using Sums = Vector[rows][vectors];

template <int rows, int vectors>
inline void clear(Sums<rows, vectors>& sums) {
    for (int r = 0; r < rows; ++r) {
        for (int v = 0; v < vectors; ++v) sums[r][v] = Vector{};
    }
}

// sums += A[rows x depth] * B[depth x columns]; strides in floats. What is added up is a copy: where Clang leaves the caller's sums in
// memory, since it does not unroll what follows, they would be stored in each step.
template <int rows, int vectors>
inline void multiply(int depth, const float* a, std::ptrdiff_t a_stride, const float* b, std::ptrdiff_t b_stride,
                     Sums<rows, vectors>& sums) {
    Sums<rows, vectors> kept;
    for (int r = 0; r < rows; ++r) {
        for (int v = 0; v < vectors; ++v) kept[r][v] = sums[r][v];
    }
#pragma GCC unroll 4  // compilers do not do it by themselves here, and each step would move all the addresses
    for (int k = 0; k < depth; ++k, b += b_stride) {
        Vector columns[vectors];
        for (int v = 0; v < vectors; ++v) columns[v] = load(b + v * kLanes);
        for (int r = 0; r < rows; ++r) {
            const Vector value = broadcast(a[r * a_stride + k]);
            for (int v = 0; v < vectors; ++v) kept[r][v] += value * columns[v];
        }
    }
    for (int r = 0; r < rows; ++r) {
        for (int v = 0; v < vectors; ++v) sums[r][v] = kept[r][v];
    }
}

// Calls tile(first row, number of rows as a type) over `count` rows: tiles of `most` rows, then smaller ones.
template <int rows>
struct RowCount {
    static constexpr int value = rows;
};

template <int most = kTileRows, typename Tile>
void for_row_tiles(int count, const Tile& tile) {
    constexpr int third = most / 3;
    int r = 0;
    for (; r + most <= count; r += most) tile(r, RowCount<most>{});
    for (; r + third <= count; r += third) tile(r, RowCount<third>{});
    for (; r < count; ++r) tile(r, RowCount<1>{});
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
