#include "nn/kernel_node.hpp"

#include <chrono>

namespace da {

namespace {

// ggml runs the graph on one thread; each of our nodes is spread over the pool.
void run_kernel(ggml_tensor* result, int, int, void* user) {
    auto& node = *static_cast<KernelNode*>(user);
    const auto start = std::chrono::steady_clock::now();
    node.pieces.restart();
    node.threads.run([&](int thread) { node.share(result, node.scratch.of(thread), node.pieces.share(thread)); });
    node.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

ggml_tensor* kernel_node(Graph& g, const Sources& sources, std::array<std::int64_t, 3> ne, KernelShare share, ggml_type type) {
    KernelNode& node = g.kernel_nodes.emplace_back(std::move(share), g.threads, g.scratch, g.cancelled);
    std::vector<ggml_tensor*> present = sources.present();
    return ggml_custom_4d(g.context, type, ne[0], ne[1], ne[2], 1, present.data(), static_cast<int>(present.size()), run_kernel, 1, &node);
}

ggml_tensor* rows_node(Graph& g, const Sources& sources, std::int64_t channels, std::int64_t rows, KernelShare share) {
    constexpr std::int64_t conflict = 2048 / sizeof(float), gap = 16;
    if (channels % conflict != 0) return kernel_node(g, sources, {channels, rows, 1}, std::move(share));
    ggml_tensor* spaced = kernel_node(g, sources, {channels + gap, rows, 1}, std::move(share));
    return ggml_view_2d(g.context, spaced, channels, rows, spaced->nb[1], 0);
}

ggml_tensor* quantised_node(Graph& g, Packing packing, const Sources& sources, std::int64_t in, std::int64_t rows, KernelShare share) {
    const kernels::LayerKernels& set = layer_kernels(g.kernels, packing);
    const auto size = static_cast<std::int64_t>(set.quantised_bytes(static_cast<int>(in), static_cast<int>(rows)));
    return kernel_node(g, sources, {size, 1, 1}, std::move(share), GGML_TYPE_I8);
}

ggml_tensor* part(Graph& g, const char* name, double operations, ggml_tensor* node) {
    g.kernel_nodes.back().part = name;
    g.kernel_nodes.back().operations = operations;
    return node;
}

}  // namespace da
