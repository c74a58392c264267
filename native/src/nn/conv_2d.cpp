#include "nn.hpp"
#include "nn/interpolate_task.hpp"
#include "nn/kernel_node.hpp"
#include "nn/standard.hpp"

namespace da {

namespace {

// The weights of a minimal convolution as its kernel takes them, made anew just before it runs.
ggml_tensor* arranged_conv(Graph& g, const kernels::PackedConv& conv) {
    return part(g, "convolutions", 0.0,
                kernel_node(g, Sources({}), {static_cast<std::int64_t>(kernels::arranged_floats(conv)), 1, 1},
                            [&conv, &set = g.kernels](const ggml_tensor* result, float*, kernels::Share work) {
                                set.arrange_conv(conv, target(result), work);
                            }));
}

// Without what a node knows only when it runs. resample: what is done where the options want it, must outlive the task.
kernels::ConvTask conv_task(const kernels::PackedConv& conv, const ConvOptions& options, const kernels::PackedConv* then,
                            const kernels::InterpolateTask& resample) {
    kernels::ConvTask task{&conv, options.relu_input, options.relu_output};
    task.then = then;
    task.resample = options.resampling ? &resample : nullptr;
    return task;
}

}  // namespace

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

}  // namespace da
