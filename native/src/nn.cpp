#include "nn.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>

#include "nn_standard.hpp"

namespace da {

namespace {

const float* floats(const ggml_tensor* tensor) {
    return static_cast<const float*>(tensor->data);
}

float* target(const ggml_tensor* result) {
    return static_cast<float*>(result->data);
}

kernels::MapView map_view(const ggml_tensor* map) {
    return {floats(map), static_cast<int>(map->ne[0]), static_cast<int>(map->ne[1])};
}

kernels::RowsView rows_view(const ggml_tensor* rows) {
    return {floats(rows), static_cast<int>(rows->ne[1]), static_cast<std::ptrdiff_t>(rows->nb[1] / sizeof(float))};
}

kernels::RowsTarget rows_target(const ggml_tensor* result) {
    return {target(result), static_cast<std::ptrdiff_t>(result->nb[1] / sizeof(float))};
}

kernels::QkvView qkv_view(const ggml_tensor* qkv) {
    const kernels::RowsView rows = rows_view(qkv);
    return {rows.values, rows.stride};
}

// ggml runs the graph on one thread; each of our nodes is spread over the pool.
void run_kernel(ggml_tensor* result, int, int, void* user) {
    auto& node = *static_cast<KernelNode*>(user);
    const auto start = std::chrono::steady_clock::now();
    node.pieces.restart();
    node.threads.run([&](int thread) { node.share(result, node.scratch.of(thread), node.pieces.share(thread)); });
    node.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Names the node that was made last.
ggml_tensor* part(Graph& g, const char* name, double operations, ggml_tensor* node) {
    g.kernel_nodes.back().part = name;
    g.kernel_nodes.back().operations = operations;
    return node;
}

// Sources of a node. One that is missing is left out, and `values` tells its place.
class Sources {
  public:
    explicit Sources(std::vector<ggml_tensor*> wanted) {
        for (ggml_tensor* tensor : wanted) {
            places_.push_back(tensor != nullptr ? static_cast<int>(present_.size()) : -1);
            if (tensor != nullptr) present_.push_back(tensor);
        }
    }

    const std::vector<ggml_tensor*>& present() const { return present_; }

    // Values of the source that stood at `index`, nullptr if it is missing.
    const float* values(const ggml_tensor* result, std::size_t index) const {
        return places_[index] < 0 ? nullptr : floats(result->src[places_[index]]);
    }

  private:
    std::vector<ggml_tensor*> present_;
    std::vector<int> places_;
};

ggml_tensor* kernel_node(Graph& g, const Sources& sources, std::array<std::int64_t, 3> ne, KernelShare share,
                         ggml_type type = GGML_TYPE_F32) {
    KernelNode& node = g.kernel_nodes.emplace_back(std::move(share), g.threads, g.scratch, g.cancelled);
    std::vector<ggml_tensor*> present = sources.present();
    return ggml_custom_4d(g.context, type, ne[0], ne[1], ne[2], 1, present.data(), static_cast<int>(present.size()), run_kernel, 1, &node);
}

std::uint8_t* bytes(const ggml_tensor* tensor) {
    return static_cast<std::uint8_t*>(tensor->data);
}

// A node of quantised rows of `in` values.
ggml_tensor* quantised_node(Graph& g, const Sources& sources, std::int64_t in, std::int64_t rows, KernelShare share) {
    const auto size = static_cast<std::int64_t>(g.kernels.quantised_bytes(static_cast<int>(in), static_cast<int>(rows)));
    return kernel_node(g, sources, {size, 1, 1}, std::move(share), GGML_TYPE_I8);
}

ggml_tensor* quantise_pass(Graph& g, ggml_tensor* x) {
    Sources sources({x});
    return quantised_node(g, sources, x->ne[0], x->ne[1], [&set = g.kernels](const ggml_tensor* result, float*, kernels::Share work) {
        const ggml_tensor* source = result->src[0];
        set.run_quantise(rows_view(source), static_cast<int>(source->ne[0]), bytes(result), work);
    });
}

// The rows of x as integers: by the kernel that makes x where it can, and then x itself is not computed unless something else needs it.
ggml_tensor* quantised(Graph& g, ggml_tensor* x) {
    const auto found = g.quantisers.find(x);
    ggml_tensor* rows = found != g.quantisers.end() ? found->second() : quantise_pass(g, x);
    g.quantisers[x] = [rows] { return rows; };
    return rows;
}

// Kernels add the residual row after row without a stride.
ggml_tensor* residual_of(Graph& g, const LinearOptions& options) {
    return options.residual != nullptr ? without_gaps(g, options.residual) : nullptr;
}

// The linear layer in integers, of `rows` quantised rows x. Its result is rows of floats, or is quantised too.
ggml_tensor* integer_linear(Graph& g, const PackedLinear& weights, ggml_tensor* bias, ggml_tensor* x, std::int64_t rows,
                            const LinearOptions& options, bool quantised_result) {
    const kernels::IntegerTask task{weights.panels, weights.in, weights.out, options.gelu};
    g.scratch.reserve(g.kernels.integer_gemm_scratch());
    Sources sources({x, bias, options.scale, residual_of(g, options)});
    const KernelShare share = [=, &set = g.kernels](const ggml_tensor* result, float* scratch, kernels::Share work) {
        const kernels::GemmOperands operands{sources.values(result, 1), sources.values(result, 2), sources.values(result, 3)};
        const kernels::IntegerResult to{quantised_result ? nullptr : target(result), quantised_result ? bytes(result) : nullptr};
        set.run_integer_gemm(task, {bytes(result->src[0]), static_cast<int>(rows)}, operands, to, scratch, work);
    };
    const double operations = 2.0 * weights.in * weights.out * static_cast<double>(rows);
    return part(
        g, "products", operations,
        quantised_result ? quantised_node(g, sources, weights.out, rows, share) : kernel_node(g, sources, {weights.out, rows, 1}, share));
}

// A node whose result is rows of `channels` for the next product to read, many at a time: rows a multiple of 2 KiB apart would fall on the
// same few lines of the cache, so those are put a little further apart.
ggml_tensor* rows_node(Graph& g, const Sources& sources, std::int64_t channels, std::int64_t rows, KernelShare share) {
    constexpr std::int64_t conflict = 2048 / sizeof(float), gap = 16;
    if (channels % conflict != 0) return kernel_node(g, sources, {channels, rows, 1}, std::move(share));
    ggml_tensor* spaced = kernel_node(g, sources, {channels + gap, rows, 1}, std::move(share));
    return ggml_view_2d(g.context, spaced, channels, rows, spaced->nb[1], 0);
}

// The weights of a product in panels, made anew just before it runs.
ggml_tensor* arranged_weights(Graph& g, ggml_tensor* weight, const kernels::GemmTask& task) {
    g.scratch.reserve(g.kernels.arrange_gemm_scratch());
    const auto floats_of_all = static_cast<std::int64_t>(g.kernels.arranged_gemm_floats(task.in, task.out));
    return part(g, "products", 0.0,
                kernel_node(g, Sources({weight}), {floats_of_all, 1, 1},
                            [=, &set = g.kernels](const ggml_tensor* result, float* scratch, kernels::Share work) {
                                kernels::GemmTask given = task;
                                given.weights.data = result->src[0]->data;
                                set.arrange_gemm(given, target(result), scratch, work);
                            }));
}

kernels::GemmTask gemm_task(const ggml_tensor* weight, const LinearOptions& options) {
    return {matrix_view(weight), static_cast<int>(weight->ne[0]), static_cast<int>(weight->ne[1]), options.gelu};
}

// arranged: the node that arranges the weights; nullptr where the task has them.
ggml_tensor* product(Graph& g, const kernels::GemmTask& task, ggml_tensor* arranged, ggml_tensor* bias, ggml_tensor* x,
                     const LinearOptions& options) {
    Sources sources({x, arranged, bias, options.scale, residual_of(g, options)});
    const KernelShare share = [=, &set = g.kernels](const ggml_tensor* result, float*, kernels::Share work) {
        kernels::GemmTask given = task;
        if (given.arranged == nullptr) given.arranged = sources.values(result, 1);
        const kernels::GemmOperands operands{sources.values(result, 2), sources.values(result, 3), sources.values(result, 4)};
        set.run_gemm(given, rows_view(result->src[0]), operands, rows_target(result), work);
    };
    ggml_tensor* result =
        options.gelu ? rows_node(g, sources, task.out, x->ne[1], share) : kernel_node(g, sources, {task.out, x->ne[1], 1}, share);
    return part(g, "products", 2.0 * task.in * task.out * static_cast<double>(x->ne[1]), result);
}

// Sources of a node that prepares queries and keys.
struct HeadSources {
    Sources all;

    HeadSources(Graph& g, ggml_tensor* qkv, const AttentionOptions& options)
        : all({qkv, weight(g, options.q_norm, ".weight"), weight(g, options.q_norm, ".bias"), weight(g, options.k_norm, ".weight"),
               weight(g, options.k_norm, ".bias"), options.rope}) {}

    kernels::HeadNorm q_norm(const ggml_tensor* result) const { return {all.values(result, 1), all.values(result, 2)}; }
    kernels::HeadNorm k_norm(const ggml_tensor* result) const { return {all.values(result, 3), all.values(result, 4)}; }
    const float* rope(const ggml_tensor* result) const { return all.values(result, 5); }

    static ggml_tensor* weight(Graph& g, const std::string& path, const char* part) {
        return path.empty() ? nullptr : g.weights.tensor(path + part);
    }
};

ggml_tensor* integer_attention(Graph& g, const kernels::AttentionTask& task, const HeadSources& heads) {
    g.scratch.reserve(g.kernels.integer_attention_scratch(task));
    ggml_tensor* prepared = kernel_node(
        g, heads.all, {static_cast<std::int64_t>(g.kernels.integer_prepared_bytes(task)), 1, 1},
        [=, &set = g.kernels](const ggml_tensor* result, float* scratch, kernels::Share work) {
            set.run_integer_prepare(task, qkv_view(result->src[0]), heads.q_norm(result), heads.k_norm(result), heads.rope(result),
                                    bytes(result), scratch, work);
        },
        GGML_TYPE_I8);
    const Sources source({prepared});
    const std::int64_t channels = static_cast<std::int64_t>(task.heads) * task.head_dim;
    const auto share = [=, &set = g.kernels](bool quantised_result) -> KernelShare {
        return [=, &set](const ggml_tensor* result, float* scratch, kernels::Share work) {
            const kernels::AttentionResult to{rows_target(result), quantised_result ? bytes(result) : nullptr};
            set.run_integer_attention(task, bytes(result->src[0]), to, scratch, work);
        };
    };
    const double operations = 4.0 * task.tokens * task.tokens * static_cast<double>(channels);
    ggml_tensor* result = part(g, "attention", operations, rows_node(g, source, channels, task.tokens, share(false)));
    g.quantisers[result] = [=, &g] {
        return part(g, "attention", operations, quantised_node(g, source, channels, task.tokens, share(true)));
    };
    return result;
}

// The weights of a minimal convolution as its kernel takes them, made anew just before it runs.
ggml_tensor* arranged_conv(Graph& g, const kernels::PackedConv& conv) {
    return part(g, "convolutions", 0.0,
                kernel_node(g, Sources({}), {static_cast<std::int64_t>(kernels::arranged_floats(conv)), 1, 1},
                            [&conv, &set = g.kernels](const ggml_tensor* result, float*, kernels::Share work) {
                                set.arrange_conv(conv, target(result), work);
                            }));
}

// The table is that of `to`.
kernels::InterpolateTask interpolate_task(const Resampling& to, int channels) {
    return {channels, to.width, to.height, to.table.x.empty() ? nullptr : &to.table};
}

// Without what a node knows only when it runs. resample: what is done where the options want it, must outlive the task.
kernels::ConvTask conv_task(const kernels::PackedConv& conv, const ConvOptions& options, const kernels::PackedConv* then,
                            const kernels::InterpolateTask& resample) {
    kernels::ConvTask task{&conv, options.relu_input, options.relu_output};
    task.then = then;
    task.resample = options.resampling ? &resample : nullptr;
    return task;
}

template <typename T>
std::vector<std::uint8_t> as_bytes(const std::vector<T>& values) {
    std::vector<std::uint8_t> copy(values.size() * sizeof(T));
    std::memcpy(copy.data(), values.data(), copy.size());
    return copy;
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

ggml_tensor* without_gaps(Graph& g, ggml_tensor* x) {
    return ggml_is_contiguous(x) ? x : ggml_cont(g.context, x);
}

ggml_tensor* matmul(Graph& g, ggml_tensor* weight, ggml_tensor* bias, ggml_tensor* x, const LinearOptions& options) {
    if (g.standard_ops) return standard::matmul(g, weight, bias, x, options);
    const kernels::GemmTask task = gemm_task(weight, options);
    return product(g, task, arranged_weights(g, weight, task), bias, x, options);
}

ggml_tensor* linear(Graph& g, ggml_tensor* x, const std::string& path, const LinearOptions& options) {
    ggml_tensor* bias = g.weights.tensor(path + ".bias");
    if (const PackedLinear* panels = g.weights.panels(path)) {
        kernels::GemmTask task = gemm_task(g.weights.tensor(path + ".weight"), options);
        task.arranged = reinterpret_cast<const float*>(panels->panels);
        return product(g, task, nullptr, bias, x, options);
    }
    const PackedLinear* packed = g.weights.integer(path);
    if (packed == nullptr) return matmul(g, g.weights.tensor(path + ".weight"), bias, x, options);
    ggml_tensor* integers = quantised(g, x);
    const std::int64_t rows = x->ne[1];
    ggml_tensor* result = integer_linear(g, *packed, bias, integers, rows, options, false);
    if (packed->out % kernels::kBlock == 0) {
        g.quantisers[result] = [=, &g] { return integer_linear(g, *packed, bias, integers, rows, options, true); };
    }
    return result;
}

ggml_tensor* layer_norm(Graph& g, ggml_tensor* x, const std::string& path, float eps) {
    if (g.standard_ops) return standard::layer_norm(g, x, path, eps);
    const kernels::NormTask task{static_cast<int>(x->ne[0]), eps};
    Sources sources({x, g.weights.tensor(path + ".weight"), g.weights.tensor(path + ".bias")});
    ggml_tensor* result =
        part(g, "norms", 0.0,
             rows_node(g, sources, x->ne[0], x->ne[1], [=, &set = g.kernels](const ggml_tensor* node, float*, kernels::Share work) {
                 set.run_norm(task, rows_view(node->src[0]), floats(node->src[1]), floats(node->src[2]), rows_target(node), work);
             }));
    if (task.channels % kernels::kBlock != 0) return result;
    g.quantisers[result] = [=, &g] {
        g.scratch.reserve(task.channels);
        return quantised_node(g, sources, task.channels, x->ne[1],
                              [=, &set = g.kernels](const ggml_tensor* node, float* scratch, kernels::Share work) {
                                  set.run_quantised_norm(task, rows_view(node->src[0]), floats(node->src[1]), floats(node->src[2]),
                                                         bytes(node), scratch, work);
                              });
    };
    return result;
}

ggml_tensor* attention(Graph& g, ggml_tensor* qkv, const AttentionOptions& options) {
    if (g.standard_ops) return standard::attention(g, qkv, options);
    const std::int64_t channels = qkv->ne[0] / 3, tokens = qkv->ne[1];
    const kernels::AttentionTask task{options.heads, static_cast<int>(channels) / options.heads, static_cast<int>(tokens),
                                      options.norm_eps};
    const HeadSources heads(g, qkv, options);
    const bool integers = g.weights.has_integers() && g.kernels.fast_integer_attention && task.head_dim % kernels::kBlock == 0;
    if (integers) return integer_attention(g, task, heads);
    ggml_tensor* prepared = kernel_node(g, heads.all, {static_cast<std::int64_t>(g.kernels.prepared_floats(task)), 1, 1},
                                        [=, &set = g.kernels](const ggml_tensor* result, float*, kernels::Share work) {
                                            set.run_prepare(task, qkv_view(result->src[0]), heads.q_norm(result), heads.k_norm(result),
                                                            heads.rope(result), target(result), work);
                                        });
    g.scratch.reserve(g.kernels.attention_scratch(task));
    return part(g, "attention", 4.0 * static_cast<double>(tokens * tokens * channels),
                rows_node(g, Sources({prepared}), channels, tokens,
                          [=, &set = g.kernels](const ggml_tensor* result, float* scratch, kernels::Share work) {
                              set.run_attention(task, floats(result->src[0]), rows_target(result), scratch, work);
                          }));
}

ggml_tensor* conv_2d(Graph& g, ggml_tensor* x, const std::string& path, const ConvOptions& options) {
    const Resampling size = options.resampling.value_or(Resampling{static_cast<int>(x->ne[0]), static_cast<int>(x->ne[1]), {}});
    if (g.standard_ops) {
        if (options.resampling) x = standard::interpolate(g, x, size);
        ggml_tensor* result = standard::conv_2d(g, x, path, options);
        return options.then.empty() ? result : standard::conv_2d(g, result, options.then, {});
    }
    const kernels::PackedConv& conv = g.weights.conv(path);
    const kernels::PackedConv* then = options.then.empty() ? nullptr : &g.weights.conv(options.then);
    const kernels::InterpolateTask resample = interpolate_task(size, conv.in_channels);
    g.scratch.reserve(g.kernels.conv_scratch(conv_task(conv, options, then, resample), static_cast<int>(x->ne[0])));
    Sources sources({x, options.residual, conv.minimal ? arranged_conv(g, conv) : nullptr});
    const kernels::PackedConv& last = then != nullptr ? *then : conv;
    const int width = kernels::conv_extent(conv, size.width), height = kernels::conv_extent(conv, size.height);
    const double pixels = static_cast<double>(width) * height / (conv.shuffle * conv.shuffle);
    const double operations = 2.0 * pixels * conv.kernel * conv.kernel * conv.in_channels * conv.out_channels +
                              (then != nullptr ? 2.0 * pixels * then->in_channels * then->out_channels : 0.0);
    return part(g, "convolutions", operations,
                kernel_node(g, sources, {width, height, last.out_channels / (last.shuffle * last.shuffle)},
                            [=, &conv, &set = g.kernels](const ggml_tensor* result, float* scratch, kernels::Share work) {
                                const kernels::InterpolateTask first = interpolate_task(size, conv.in_channels);
                                kernels::ConvTask task = conv_task(conv, options, then, first);
                                task.residual = sources.values(result, 1);
                                task.arranged = sources.values(result, 2);
                                set.run_conv(task, map_view(result->src[0]), target(result), scratch, work);
                            }));
}

ggml_tensor* gelu(Graph& g, ggml_tensor* x) {
    if (g.standard_ops) return ggml_gelu_erf(g.context, x);
    Sources sources({x});
    return kernel_node(g, sources, {x->ne[0], x->ne[1], x->ne[2]},
                       [&set = g.kernels](const ggml_tensor* result, float*, kernels::Share work) {
                           const auto count = static_cast<std::size_t>(ggml_nelements(result));
                           set.run_gelu(floats(result->src[0]), count, target(result), work);
                       });
}

ggml_tensor* side_by_side(Graph& g, ggml_tensor* a, ggml_tensor* b) {
    if (g.standard_ops) return ggml_concat(g.context, a, b, 0);
    constexpr int rows_of_piece = 32;
    return kernel_node(g, Sources({a, b}), {a->ne[0] + b->ne[0], a->ne[1], 1}, [](const ggml_tensor* result, float*, kernels::Share work) {
        const kernels::RowsView left = rows_view(result->src[0]), right = rows_view(result->src[1]);
        const std::int64_t left_width = result->src[0]->ne[0], right_width = result->src[1]->ne[0];
        const int pieces = (left.count + rows_of_piece - 1) / rows_of_piece;
        for (int i = work.next(pieces); i < pieces; i = work.next(pieces)) {
            for (int r = i * rows_of_piece; r < std::min((i + 1) * rows_of_piece, left.count); ++r) {
                float* to = target(result) + r * (left_width + right_width);
                std::copy_n(left.values + r * left.stride, left_width, to);
                std::copy_n(right.values + r * right.stride, right_width, to + left_width);
            }
        }
    });
}

ggml_tensor* to_map(Graph& g, ggml_tensor* tokens, std::int64_t width, std::int64_t height) {
    if (g.standard_ops) {
        return ggml_reshape_3d(g.context, ggml_cont(g.context, ggml_transpose(g.context, tokens)), width, height, tokens->ne[0]);
    }
    constexpr int side = 16;  // of the squares that are turned, in the cache
    return kernel_node(g, Sources({tokens}), {width, height, tokens->ne[0]}, [](const ggml_tensor* result, float*, kernels::Share work) {
        const kernels::RowsView rows = rows_view(result->src[0]);
        const int channels = static_cast<int>(result->ne[2]), pieces = (channels + side - 1) / side;
        for (int i = work.next(pieces); i < pieces; i = work.next(pieces)) {
            for (int first = 0; first < rows.count; first += side) {
                for (int c = i * side; c < std::min((i + 1) * side, channels); ++c) {
                    float* plane = target(result) + static_cast<std::int64_t>(c) * rows.count;
                    for (int t = first; t < std::min(first + side, rows.count); ++t) plane[t] = rows.values[t * rows.stride + c];
                }
            }
        }
    });
}

ggml_tensor* interpolate(Graph& g, ggml_tensor* x, const Resampling& to) {
    if (g.standard_ops) return standard::interpolate(g, x, to);
    const int channels = static_cast<int>(x->ne[2]);
    g.scratch.reserve(g.kernels.interpolate_scratch(interpolate_task(to, channels), static_cast<int>(x->ne[0])));
    return part(g, "resampling", 0.0,
                kernel_node(g, Sources({x}), {to.width, to.height, channels},
                            [=, &set = g.kernels](const ggml_tensor* result, float* scratch, kernels::Share work) {
                                set.run_interpolate(interpolate_task(to, channels), map_view(result->src[0]), target(result), scratch,
                                                    work);
                            }));
}

}  // namespace da
