// y = activation(x W^T + bias) * scale + residual, for rows of tokens: a linear layer with all that follows it in a transformer block.
//
// W is stored as PyTorch has it, [out][in], in any type that can be turned into floats row by row. It is arranged in panels for the
// register tile, f32 weights once, others just before the product: that costs little beside hundreds of tokens, keeps what is in the
// file the only copy, and makes quantised weights run at the speed of float ones without quantising activations.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/pieces.hpp"

namespace da::kernels {

struct MatrixView {
    const void* data;
    std::size_t row_bytes;
    int block_values;  // values that are stored together
    std::size_t block_bytes;
    void (*to_float)(const void*, float*, std::int64_t);  // nullptr: floats
};

struct GemmTask {
    MatrixView weights;  // [out][in]
    int in = 0, out = 0;
    bool gelu = false;
    const float* arranged = nullptr;  // for RunGemm: the weights as ArrangeGemm has made them
};

// Rows of floats with a stride in floats.
struct RowsView {
    const float* values;
    int count;
    std::ptrdiff_t stride;
};

struct RowsTarget {
    float* values;
    std::ptrdiff_t stride;
};

// What is added and multiplied; each may be nullptr. residual: [count][out].
struct GemmOperands {
    const float* bias;
    const float* scale;
    const float* residual;
};

// Floats of the arranged weights, which live while the product runs.
using ArrangedGemmFloats = std::size_t(int in, int out);

// Floats of scratch that one thread needs.
using GemmScratch = std::size_t();

// One thread's share of arranging them; see RunConv.
using ArrangeGemm = void(const GemmTask& task, float* arranged, float* scratch, Share work);

// One thread's share. y: [count][out].
using RunGemm = void(const GemmTask& task, RowsView x, const GemmOperands& operands, RowsTarget y, Share work);

}  // namespace da::kernels
