// Building blocks of the network, without knowledge of any model: each is a free function that adds nodes to the graph under construction.
//
// Dimensions are written as ggml orders them, fastest first: tokens are [channels, tokens], maps are [width, height, channels].
// Weights are named by their path in the file: linear(g, x, "vit.blk.0.attn_qkv") takes "vit.blk.0.attn_qkv.weight" and ".bias".
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aligned_buffer.hpp"
#include "ggml-cpp.h"
#include "kernels/kernel_set.hpp"
#include "thread_pool.hpp"
#include "weights.hpp"

namespace da {

// Scratch of our own kernels, one piece per thread, as large as the largest user needs.
class Scratch {
  public:
    explicit Scratch(int threads) : pieces_(threads) {}

    void reserve(std::size_t floats) { floats_ = std::max(floats_, floats); }
    std::size_t bytes() const { return floats_ * pieces_.size() * sizeof(float); }
    void allocate() {
        for (auto& piece : pieces_) piece = AlignedFloats(floats_);
    }
    float* of(int thread) { return pieces_[thread].data(); }

  private:
    std::size_t floats_ = 0;
    std::vector<AlignedFloats> pieces_;
};

// One thread's share of a kernel: `result` has its arguments as sources, `work` hands out the pieces.
using KernelShare = std::function<void(const ggml_tensor* result, float* scratch, kernels::Share work)>;

// What a node that runs one of our kernels refers to; lives as long as the graph.
struct KernelNode {
    KernelNode(KernelShare kernel, ThreadPool& pool, Scratch& memory, const std::atomic<bool>& cancelled)
        : share(std::move(kernel)), threads(pool), scratch(memory), pieces(pool.threads(), cancelled) {}

    KernelShare share;
    ThreadPool& threads;
    Scratch& scratch;
    kernels::Pieces pieces;
    const char* part = "other";  // of the network, for the account of its time
    double operations = 0;       // multiplications and additions
    double seconds = 0;          // that the last run took
};

struct Constant {
    ggml_tensor* tensor;
    std::vector<std::uint8_t> bytes;
};

struct NamedStage {
    std::string name;
    ggml_tensor* tensor;
    std::vector<std::int64_t> shape;  // slowest first
};

// A graph under construction. Nodes live in `context`, tensors that are computed once on the host in `constants_context`.
struct Graph {
    ggml_context* context;
    ggml_context* constants_context;
    const Weights& weights;
    const std::atomic<bool>& cancelled;
    const kernels::KernelSet& kernels;
    bool standard_ops;  // nodes of ggml only, see nn_standard.hpp
    ThreadPool& threads;
    Scratch& scratch;
    std::vector<std::string> wanted_stages;

    std::deque<KernelNode> kernel_nodes;
    std::vector<Constant> constants;
    std::map<const ggml_tensor*, std::function<ggml_tensor*()>> quantisers;  // nodes that give a tensor's rows as integers at once
    std::vector<NamedStage> stages;

    // Values that depend on the extent only. ne: [ne0, ne1].
    ggml_tensor* constant(const std::vector<float>& values, std::int64_t ne0, std::int64_t ne1);
    ggml_tensor* constant(const std::vector<std::int32_t>& values);

    // Keeps an intermediate tensor under that name when it was asked for.
    void stage(const std::string& name, ggml_tensor* tensor, std::vector<std::int64_t> shape);
};

// x with its rows one after the other. Rows of some results lie apart (see rows_node); where a kernel takes a stride they may, as the
// operand of a product or a norm.
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
