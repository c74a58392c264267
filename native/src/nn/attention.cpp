#include "nn.hpp"
#include "nn/kernel_node.hpp"
#include "nn/standard.hpp"

namespace da {

namespace {

kernels::QkvView qkv_view(const ggml_tensor* qkv) {
    const kernels::RowsView rows = rows_view(qkv);
    return {rows.values, rows.stride};
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

// In whole numbers, as the layers beside it are packed.
ggml_tensor* integer_attention(Graph& g, Packing packing, const kernels::AttentionTask& task, const HeadSources& heads) {
    const kernels::AttentionKernels& set = packing == Packing::slices ? *g.kernels.sliced_attention : *g.kernels.integer_attention;
    g.scratch.reserve(set.scratch(task));
    ggml_tensor* prepared = kernel_node(
        g, heads.all, {static_cast<std::int64_t>(set.prepared_bytes(task)), 1, 1},
        [=, &set](const ggml_tensor* result, float* scratch, kernels::Share work) {
            set.run_prepare(task, qkv_view(result->src[0]), heads.q_norm(result), heads.k_norm(result), heads.rope(result), bytes(result),
                            scratch, work);
        },
        GGML_TYPE_I8);
    const Sources source({prepared});
    const std::int64_t channels = static_cast<std::int64_t>(task.heads) * task.head_dim;
    const auto share = [=, &set](bool quantised_result) -> KernelShare {
        return [=, &set](const ggml_tensor* result, float* scratch, kernels::Share work) {
            const kernels::AttentionResult to{rows_target(result), quantised_result ? bytes(result) : nullptr};
            set.run_attention(task, bytes(result->src[0]), to, scratch, work);
        };
    };
    const double operations = 4.0 * task.tokens * task.tokens * static_cast<double>(channels);
    ggml_tensor* result = part(g, "attention", operations, rows_node(g, source, channels, task.tokens, share(false)));
    if (set.quantised_results) {
        g.quantisers[{result, packing}] = [=, &g] {
            return part(g, "attention", operations, quantised_node(g, packing, source, channels, task.tokens, share(true)));
        };
    }
    return result;
}

}  // namespace

ggml_tensor* attention(Graph& g, ggml_tensor* qkv, const AttentionOptions& options) {
    if (g.standard_ops) return standard::attention(g, qkv, options);
    const std::int64_t channels = qkv->ne[0] / 3, tokens = qkv->ne[1];
    const kernels::AttentionTask task{options.heads, static_cast<int>(channels) / options.heads, static_cast<int>(tokens),
                                      options.norm_eps};
    const HeadSources heads(g, qkv, options);
    const bool integers = g.weights.has_integers() && g.kernels.integer_attention != nullptr && task.head_dim % kernels::kBlock == 0;
    if (integers) return integer_attention(g, Packing::integers, task, heads);
    if (g.weights.has_slices()) return integer_attention(g, Packing::slices, task, heads);
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

}  // namespace da
