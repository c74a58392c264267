// A graph under construction, and what its nodes refer to as long as it lives.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
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
    bool standard_ops;  // nodes of ggml only, see nn/standard.hpp
    ThreadPool& threads;
    Scratch& scratch;
    std::vector<std::string> wanted_stages;

    std::deque<KernelNode> kernel_nodes;
    std::vector<Constant> constants;
    std::map<std::string, ggml_tensor*> shared_constants;
    // Nodes that give a tensor's rows at once as the products of layers packed so read them.
    std::map<std::pair<const ggml_tensor*, Packing>, std::function<ggml_tensor*()>> quantisers;
    std::vector<NamedStage> stages;

    // Values that depend on the extent only. ne: [ne0, ne1].
    ggml_tensor* constant(const std::vector<float>& values, std::int64_t ne0, std::int64_t ne1);
    ggml_tensor* constant(const std::vector<std::int32_t>& values);

    // One for all who ask by that name: what several views or heads share.
    ggml_tensor* shared_constant(const std::string& name, std::int64_t ne0, std::int64_t ne1,
                                 const std::function<std::vector<float>()>& values);

    // Keeps an intermediate tensor under that name when it was asked for.
    void stage(const std::string& name, ggml_tensor* tensor, std::vector<std::int64_t> shape);
};

}  // namespace da
