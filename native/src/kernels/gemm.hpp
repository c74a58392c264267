// y = activation(x W^T + bias) * scale + residual, for rows of tokens: a linear layer with all that follows it in a transformer block.
//
// W is stored as PyTorch has it, [out][in], in any type that can be turned into floats row by row. Blocks of 128 columns are packed on the
// fly for the register tile, which costs little beside hundreds of tokens, keeps the mapped file the only copy, and makes quantised weights
// run at the speed of float ones without quantising activations.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

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

// Floats of scratch that one thread needs.
using GemmScratch = std::size_t();

// One thread's share; see RunConv. y: [count][out].
using RunGemm = void(const GemmTask& task, RowsView x, const GemmOperands& operands, RowsTarget y, int threads, float* scratch,
                     std::atomic<int>& next, const std::atomic<bool>& cancelled);

}  // namespace da::kernels
