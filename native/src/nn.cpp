#include "nn.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace da {

namespace {

kernels::MapView map_view(const ggml_tensor* map) {
    return {static_cast<const float*>(map->data), static_cast<int>(map->ne[0]), static_cast<int>(map->ne[1])};
}

const float* floats(const ggml_tensor* tensor) {
    return tensor == nullptr ? nullptr : static_cast<const float*>(tensor->data);
}

std::ptrdiff_t stride(const ggml_tensor* rows) {
    return static_cast<std::ptrdiff_t>(rows->nb[1] / sizeof(float));
}

// Values of an argument, nullptr where it is missing.
const float* operand(const KernelNode& node, const ggml_tensor* result, std::size_t index) {
    return node.given[index] ? floats(result->src[index]) : nullptr;
}

ggml_tensor* custom_node(Graph& g, KernelNode& node, std::vector<ggml_tensor*> arguments, std::int64_t ne0, std::int64_t ne1,
                         std::int64_t ne2, ggml_custom_op_t callback) {
    for (ggml_tensor*& argument : arguments) {
        node.given.push_back(argument != nullptr);
        if (argument == nullptr) argument = arguments.front();
    }
    return ggml_custom_4d(g.context, GGML_TYPE_F32, ne0, ne1, ne2, 1, arguments.data(), static_cast<int>(arguments.size()), callback,
                          GGML_N_TASKS_MAX, &node);
}

void conv_callback(ggml_tensor* result, int thread, int, void* user) {
    auto& node = *static_cast<KernelNode*>(user);
    kernels::ConvTask task = node.conv;
    task.residual = operand(node, result, 1);
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

void gemm_callback(ggml_tensor* result, int thread, int threads, void* user) {
    auto& node = *static_cast<KernelNode*>(user);
    kernels::GemmTask task = node.gemm;
    task.weights.data = result->src[1]->data;
    const ggml_tensor* x = result->src[0];
    const kernels::RowsView rows{floats(x), static_cast<int>(x->ne[1]), stride(x)};
    run_gemm(task, rows, {operand(node, result, 2), operand(node, result, 3), operand(node, result, 4)}, static_cast<float*>(result->data),
             threads, node.scratch->of(thread), node.next, *node.cancelled);
}

void prepare_callback(ggml_tensor* result, int, int, void* user) {
    auto& node = *static_cast<KernelNode*>(user);
    const ggml_tensor* qkv = result->src[0];
    const auto norm = [&](int index) { return kernels::HeadNorm{operand(node, result, index), operand(node, result, index + 1)}; };
    run_prepare(node.attention, {floats(qkv), stride(qkv)}, norm(1), norm(3), operand(node, result, 5), static_cast<float*>(result->data),
                node.next, *node.cancelled);
}

void attention_callback(ggml_tensor* result, int thread, int, void* user) {
    auto& node = *static_cast<KernelNode*>(user);
    const ggml_tensor* qkv = result->src[1];
    run_attention(node.attention, floats(result->src[0]), {floats(qkv), stride(qkv)}, static_cast<float*>(result->data),
                  node.scratch->of(thread), node.next, *node.cancelled);
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

ggml_tensor* matmul(Graph& g, ggml_tensor* weight, ggml_tensor* bias, ggml_tensor* x, const LinearOptions& options) {
    KernelNode& node = add_kernel_node(g);
    const ggml_type type = weight->type;
    node.gemm.weights = {nullptr, weight->nb[1], static_cast<int>(ggml_blck_size(type)), ggml_type_size(type),
                         type == GGML_TYPE_F32 ? nullptr : ggml_get_type_traits(type)->to_float};
    node.gemm.in = static_cast<int>(weight->ne[0]);
    node.gemm.out = static_cast<int>(weight->ne[1]);
    node.gemm.gelu = options.gelu;
    g.scratch.reserve(kernels::gemm_scratch());
    return custom_node(g, node, {x, weight, bias, options.scale, options.residual}, weight->ne[1], x->ne[1], 1, gemm_callback);
}

ggml_tensor* linear(Graph& g, ggml_tensor* x, const std::string& path, const LinearOptions& options) {
    return matmul(g, g.weights.tensor(path + ".weight"), g.weights.tensor(path + ".bias"), x, options);
}

ggml_tensor* layer_norm(Graph& g, ggml_tensor* x, const std::string& path, float eps) {
    ggml_tensor* normalised = ggml_norm(g.context, x, eps);
    normalised = ggml_mul(g.context, normalised, g.weights.tensor(path + ".weight"));
    return ggml_add(g.context, normalised, g.weights.tensor(path + ".bias"));
}

ggml_tensor* attention(Graph& g, ggml_tensor* qkv, const AttentionOptions& options) {
    const std::int64_t channels = qkv->ne[0] / 3, tokens = qkv->ne[1];
    const kernels::AttentionTask task{options.heads, static_cast<int>(channels) / options.heads, static_cast<int>(tokens),
                                      options.norm_eps};
    const auto norm = [&](const std::string& path, const char* part) { return path.empty() ? nullptr : g.weights.tensor(path + part); };
    KernelNode& prepare = add_kernel_node(g);
    prepare.attention = task;
    ggml_tensor* prepared = custom_node(g, prepare,
                                        {qkv, norm(options.q_norm, ".weight"), norm(options.q_norm, ".bias"),
                                         norm(options.k_norm, ".weight"), norm(options.k_norm, ".bias"), options.rope},
                                        static_cast<std::int64_t>(kernels::prepared_floats(task)), 1, 1, prepare_callback);
    KernelNode& node = add_kernel_node(g);
    node.attention = task;
    g.scratch.reserve(kernels::attention_scratch(task));
    return custom_node(g, node, {prepared, qkv}, channels, tokens, 1, attention_callback);
}

ggml_tensor* conv_2d(Graph& g, ggml_tensor* x, const std::string& path, const ConvOptions& options) {
    const kernels::PackedConv& conv = g.weights.conv(path);
    KernelNode& node = add_kernel_node(g);
    node.conv = {&conv, options.relu_input, options.relu_output, nullptr};
    const int width = kernels::conv_extent(conv, static_cast<int>(x->ne[0])),
              height = kernels::conv_extent(conv, static_cast<int>(x->ne[1]));
    g.scratch.reserve(kernels::conv_scratch(conv, width));
    return custom_node(g, node, {x, options.residual}, width, height, conv.out_channels / (conv.shuffle * conv.shuffle), conv_callback);
}

ggml_tensor* interpolate(Graph& g, ggml_tensor* x, int width, int height, kernels::PositionTable table) {
    KernelNode& node = add_kernel_node(g);
    node.table = std::move(table);
    node.interpolate = {static_cast<int>(x->ne[2]), width, height, node.table.x.empty() ? nullptr : &node.table};
    g.scratch.reserve(kernels::interpolate_scratch(static_cast<int>(x->ne[0])));
    return custom_node(g, node, {x}, width, height, x->ne[2], interpolate_callback);
}

}  // namespace da
