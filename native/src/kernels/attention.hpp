// Multi-head attention of one sequence: softmax(q k^T / sqrt(head_dim)) v, with the LayerNorm of queries and keys and the rotary position
// embedding applied while they are brought into the order that the products read.
#pragma once

#include <cstddef>

#include "kernels/gemm.hpp"

namespace da::kernels {

struct HeadNorm {
    const float* weight;  // [head_dim]; nullptr: no norm
    const float* bias;
};

struct AttentionTask {
    int heads = 0, head_dim = 0, tokens = 0;  // head_dim: a multiple of 16
    float norm_eps = 0;
};

// qkv: [tokens][3][heads][head_dim] as the projection gives it; stride in floats.
struct QkvView {
    const float* values;
    std::ptrdiff_t stride;
};

// Floats of the prepared queries [heads][tokens][head_dim], values (the same) and keys [heads][panels][head_dim][kPanel] together, or of
// scratch.
using AttentionFloats = std::size_t(const AttentionTask& task);

// rope: [tokens][head_dim] of cos and sin along y, cos and sin along x (a quarter each), or nullptr. One thread's share; see RunConv.
using RunPrepare = void(const AttentionTask& task, QkvView qkv, const HeadNorm& q_norm, const HeadNorm& k_norm, const float* rope,
                        float* prepared, Share work);

// result: [tokens][heads * head_dim].
using RunAttention = void(const AttentionTask& task, const float* prepared, RowsTarget result, float* scratch, Share work);

}  // namespace da::kernels
