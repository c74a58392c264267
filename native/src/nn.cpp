#include "nn.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace da {

namespace {

// Floating-point operations of one node at most: ggml looks at the cancel flag between nodes only.
constexpr double kNodeBudget = 2e9;

int pieces_for(double operations, std::int64_t most) {
    return static_cast<int>(std::min<double>(static_cast<double>(most), std::max(1.0, std::ceil(operations / kNodeBudget))));
}

kernels::MapView map_view(const ggml_tensor* map) {
    return {static_cast<const float*>(map->data), static_cast<int>(map->ne[0]), static_cast<int>(map->ne[1])};
}

void conv_callback(ggml_tensor* result, int thread, int, void* user) {
    auto& node = *static_cast<KernelNode*>(user);
    kernels::ConvTask task = node.conv;
    if (result->src[1] != nullptr) task.residual = static_cast<const float*>(result->src[1]->data);
    run_conv(task, map_view(result->src[0]), static_cast<float*>(result->data), node.scratch->of(thread), node.next, *node.cancelled);
}

void interpolate_callback(ggml_tensor* result, int thread, int, void* user) {
    auto& node = *static_cast<KernelNode*>(user);
    run_interpolate(node.interpolate, map_view(result->src[0]), static_cast<float*>(result->data), node.scratch->of(thread), node.next,
                    *node.cancelled);
}

KernelNode& add_kernel_node(Graph& g) {
    KernelNode& node = g.kernel_nodes.emplace_back();
    node.scratch = &g.scratch;
    node.cancelled = &g.cancelled;
    return node;
}

template <typename T>
std::vector<std::uint8_t> as_bytes(const std::vector<T>& values) {
    std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

ggml_tensor* rows(Graph& g, ggml_tensor* x, std::int64_t first, std::int64_t count) {
    return ggml_view_2d(g.context, x, x->ne[0], count, x->nb[1], first * x->nb[1]);
}

ggml_tensor* heads(Graph& g, ggml_tensor* x, std::int64_t first, std::int64_t count) {
    ggml_tensor* some = ggml_view_3d(g.context, x, x->ne[0], count, x->ne[2], x->nb[1], x->nb[2], first * x->nb[1]);
    return ggml_permute(g.context, some, 0, 2, 1, 3);  // [head_dim, n, heads]
}

}  // namespace

ggml_tensor* Graph::constant(const std::vector<float>& values, std::int64_t ne0, std::int64_t ne1) {
    ggml_tensor* tensor = ggml_new_tensor_2d(constants_context, GGML_TYPE_F32, ne0, ne1);
    constants.push_back({tensor, as_bytes(values)});
    return tensor;
}

ggml_tensor* Graph::constant(const std::vector<std::int32_t>& values) {
    ggml_tensor* tensor = ggml_new_tensor_1d(constants_context, GGML_TYPE_I32, static_cast<std::int64_t>(values.size()));
    constants.push_back({tensor, as_bytes(values)});
    return tensor;
}

void Graph::stage(const std::string& name, ggml_tensor* tensor, std::vector<std::int64_t> shape) {
    if (std::find(wanted_stages.begin(), wanted_stages.end(), name) == wanted_stages.end()) return;
    ggml_tensor* copy = ggml_cont(context, tensor);  // a copy of its own: the original's memory is reused by later nodes
    ggml_set_output(copy);
    stages.push_back({name, copy, std::move(shape)});
}

ggml_tensor* matmul(Graph& g, ggml_tensor* weight, ggml_tensor* x) {
    const std::int64_t n = x->ne[1];
    const int pieces = pieces_for(2.0 * static_cast<double>(weight->ne[0] * weight->ne[1]) * static_cast<double>(n), n);
    ggml_tensor* result = nullptr;
    for (int i = 0; i < pieces; ++i) {
        const std::int64_t first = n * i / pieces, end = n * (i + 1) / pieces;
        ggml_tensor* piece = ggml_mul_mat(g.context, weight, pieces == 1 ? x : rows(g, x, first, end - first));
        result = result == nullptr ? piece : ggml_concat(g.context, result, piece, 1);
    }
    return result;
}

ggml_tensor* linear(Graph& g, ggml_tensor* x, const std::string& path) {
    return ggml_add(g.context, matmul(g, g.weights.tensor(path + ".weight"), x), g.weights.tensor(path + ".bias"));
}

ggml_tensor* layer_norm(Graph& g, ggml_tensor* x, const std::string& path, float eps) {
    ggml_tensor* normalised = ggml_norm(g.context, x, eps);
    normalised = ggml_mul(g.context, normalised, g.weights.tensor(path + ".weight"));
    return ggml_add(g.context, normalised, g.weights.tensor(path + ".bias"));
}

ggml_tensor* attention(Graph& g, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v) {
    const std::int64_t head_dim = q->ne[0], count = q->ne[1], n = q->ne[2];
    const int pieces = pieces_for(4.0 * static_cast<double>(head_dim * count) * static_cast<double>(n) * static_cast<double>(n), count);
    const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    ggml_tensor* result = nullptr;
    for (int i = 0; i < pieces; ++i) {
        const std::int64_t first = count * i / pieces, some = count * (i + 1) / pieces - first;
        ggml_tensor* piece = ggml_flash_attn_ext(g.context, heads(g, q, first, some), heads(g, k, first, some), heads(g, v, first, some),
                                                 nullptr, scale, 0.0f, 0.0f);
        ggml_flash_attn_ext_set_prec(piece, GGML_PREC_F32);
        result = result == nullptr ? piece : ggml_concat(g.context, result, piece, 1);  // [head_dim, heads, n]
    }
    return ggml_reshape_2d(g.context, result, head_dim * count, n);
}

ggml_tensor* conv_2d(Graph& g, ggml_tensor* x, const std::string& path, const ConvOptions& options) {
    const kernels::PackedConv& conv = g.weights.conv(path);
    KernelNode& node = add_kernel_node(g);
    node.conv = {&conv, options.relu_input, options.relu_output, nullptr};
    const int width = kernels::conv_extent(conv, static_cast<int>(x->ne[0])),
              height = kernels::conv_extent(conv, static_cast<int>(x->ne[1]));
    g.scratch.reserve(kernels::conv_scratch(conv, width));
    ggml_tensor* arguments[] = {x, options.residual};
    return ggml_custom_4d(g.context, GGML_TYPE_F32, width, height, conv.out_channels / (conv.shuffle * conv.shuffle), 1, arguments,
                          options.residual != nullptr ? 2 : 1, conv_callback, GGML_N_TASKS_MAX, &node);
}

ggml_tensor* interpolate(Graph& g, ggml_tensor* x, int width, int height, kernels::PositionTable table) {
    KernelNode& node = add_kernel_node(g);
    node.table = std::move(table);
    node.interpolate = {static_cast<int>(x->ne[2]), width, height, node.table.x.empty() ? nullptr : &node.table};
    g.scratch.reserve(kernels::interpolate_scratch(static_cast<int>(x->ne[0])));
    return ggml_custom_4d(g.context, GGML_TYPE_F32, width, height, x->ne[2], 1, &x, 1, interpolate_callback, GGML_N_TASKS_MAX, &node);
}

}  // namespace da
