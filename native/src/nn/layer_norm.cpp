#include "nn.hpp"
#include "nn/kernel_node.hpp"
#include "nn/standard.hpp"

namespace da {

ggml_tensor* layer_norm(Graph& g, ggml_tensor* x, const std::string& path, float eps) {
    if (g.standard_ops) return standard::layer_norm(g, x, path, eps);
    const kernels::NormTask task{static_cast<int>(x->ne[0]), eps};
    Sources sources({x, g.weights.tensor(path + ".weight"), g.weights.tensor(path + ".bias")});
    ggml_tensor* result =
        part(g, "norms", 0.0,
             rows_node(g, sources, x->ne[0], x->ne[1], [=, &set = g.kernels](const ggml_tensor* node, float*, kernels::Share work) {
                 set.run_norm(task, rows_view(node->src[0]), floats(node->src[1]), floats(node->src[2]), rows_target(node), work);
             }));
    for (const Packing packing : {Packing::integers, Packing::slices}) {
        g.quantisers[{result, packing}] = [=, &g] {
            g.scratch.reserve(task.channels);
            return quantised_node(
                g, packing, sources, task.channels, x->ne[1],
                [=, &set = layer_kernels(g.kernels, packing)](const ggml_tensor* node, float* scratch, kernels::Share work) {
                    set.run_quantised_norm(task, rows_view(node->src[0]), floats(node->src[1]), floats(node->src[2]), bytes(node), scratch,
                                           work);
                });
        };
    }
    return result;
}

}  // namespace da
