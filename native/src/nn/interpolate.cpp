#include "nn.hpp"
#include "nn/interpolate_task.hpp"
#include "nn/kernel_node.hpp"
#include "nn/standard.hpp"

namespace da {

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
