// Building blocks of the network, without knowledge of any model: each is a free function that adds nodes to the graph under construction,
// in a file of its name in nn/.
//
// Dimensions are written as ggml orders them, fastest first: tokens are [channels, tokens], maps are [width, height, channels].
// Weights are named by their path in the file: linear(g, x, "vit.blk.0.attn_qkv") takes "vit.blk.0.attn_qkv.weight" and ".bias".
#pragma once

#include <optional>
#include <string>

#include "graph.hpp"

namespace da {

// x with its rows one after the other. Rows of some results lie apart (see nn/kernel_node.hpp); where a kernel takes a stride they may, as
// the operand of a product or a norm.
ggml_tensor* without_gaps(Graph& g, ggml_tensor* x);

// What follows the product, in this order; computed while the result is still in registers.
struct LinearOptions {
    bool gelu = false;
    ggml_tensor* scale = nullptr;     // [out], LayerScale
    ggml_tensor* residual = nullptr;  // [out, n]
};

// x [in, n] -> [out, n].
ggml_tensor* linear(Graph& g, ggml_tensor* x, const std::string& path, const LinearOptions& options = {});

// The same with the weight tensor [in, out] given, and its bias [out] or nullptr.
ggml_tensor* matmul(Graph& g, ggml_tensor* weight, ggml_tensor* bias, ggml_tensor* x, const LinearOptions& options = {});

// LayerNorm over the channels of x [channels, n].
ggml_tensor* layer_norm(Graph& g, ggml_tensor* x, const std::string& path, float eps);

struct AttentionOptions {
    int heads = 0;
    std::string q_norm, k_norm;  // paths of the LayerNorms of queries and keys, empty for none
    float norm_eps = 0;
    ggml_tensor* rope = nullptr;  // [head_dim, n], see rope_table; nullptr for none
};

// qkv [3 * channels, n] of one sequence -> [channels, n].
ggml_tensor* attention(Graph& g, ggml_tensor* qkv, const AttentionOptions& options);

// Bilinear with aligned corners, to another size; `table` is added where it is not empty.
struct Resampling {
    int width, height;
    kernels::PositionTable table;
};

struct ConvOptions {
    bool relu_input = false;
    bool relu_output = false;
    ggml_tensor* residual = nullptr;
    // Of a 3x3 convolution of stride 1:
    std::string then;                      // path of a 1x1 convolution of the result, which is not kept
    std::optional<Resampling> resampling;  // of the input first, which is not kept either
};

// x [width, height, in] -> [width', height', out]; a transposed convolution where the weights are packed as one.
ggml_tensor* conv_2d(Graph& g, ggml_tensor* x, const std::string& path, const ConvOptions& options = {});

// The exact GELU of a map [width, height, channels].
ggml_tensor* gelu(Graph& g, ggml_tensor* x);

// The channels of a, then those of b: [channels of both, n].
ggml_tensor* side_by_side(Graph& g, ggml_tensor* a, ggml_tensor* b);

// Tokens [channels, width * height] as a map [width, height, channels].
ggml_tensor* to_map(Graph& g, ggml_tensor* tokens, std::int64_t width, std::int64_t height);

// To [width, height, channels].
ggml_tensor* interpolate(Graph& g, ggml_tensor* x, const Resampling& to);

}  // namespace da
