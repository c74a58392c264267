// The attention of attention.hpp with both of its products in small integers: what quantised files take.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention.hpp"
#include "kernels/integer_gemm.hpp"

namespace da::kernels {

// head_dim: a multiple of kBlock. Bytes of the prepared queries, keys and values together.
using PreparedBytes = std::size_t(const AttentionTask& task);

// See RunPrepare; scratch as AttentionFloats says.
using RunIntegerPrepare = void(const AttentionTask& task, QkvView qkv, const HeadNorm& q_norm, const HeadNorm& k_norm, const float* rope,
                               std::uint8_t* prepared, float* scratch, Share work);

// Where results go: rows of floats, or quantised rows of heads * head_dim values.
struct AttentionResult {
    RowsTarget values;
    std::uint8_t* quantised;
};

using RunIntegerAttention = void(const AttentionTask& task, const std::uint8_t* prepared, const AttentionResult& result, float* scratch,
                                 Share work);

}  // namespace da::kernels
