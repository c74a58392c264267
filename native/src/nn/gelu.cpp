#include "nn.hpp"
#include "nn/kernel_node.hpp"

namespace da {

ggml_tensor* gelu(Graph& g, ggml_tensor* x) {
    if (g.standard_ops) return ggml_gelu_erf(g.context, x);
    Sources sources({x});
    return kernel_node(g, sources, {x->ne[0], x->ne[1], x->ne[2]},
                       [&set = g.kernels](const ggml_tensor* result, float*, kernels::Share work) {
                           const auto count = static_cast<std::size_t>(ggml_nelements(result));
                           set.run_gelu(floats(result->src[0]), count, target(result), work);
                       });
}

}  // namespace da
