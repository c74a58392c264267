#include "nn.hpp"
#include "nn/kernel_node.hpp"
#include "nn/standard.hpp"

namespace da {

namespace {

ggml_tensor* quantise_pass(Graph& g, ggml_tensor* x, Packing packing) {
    Sources sources({x});
    return quantised_node(g, packing, sources, x->ne[0], x->ne[1],
                          [&set = layer_kernels(g.kernels, packing)](const ggml_tensor* result, float*, kernels::Share work) {
                              const ggml_tensor* source = result->src[0];
                              set.run_quantise(rows_view(source), static_cast<int>(source->ne[0]), bytes(result), work);
                          });
}

// The rows of x as whole numbers: by the kernel that makes x where it can, and then x itself is not computed unless something else needs
// it.
ggml_tensor* quantised(Graph& g, ggml_tensor* x, Packing packing) {
    const auto found = g.quantisers.find({x, packing});
    ggml_tensor* rows = found != g.quantisers.end() ? found->second() : quantise_pass(g, x, packing);
    g.quantisers[{x, packing}] = [rows] { return rows; };
    return rows;
}

// Kernels add the residual row after row without a stride.
ggml_tensor* residual_of(Graph& g, const LinearOptions& options) {
    return options.residual != nullptr ? without_gaps(g, options.residual) : nullptr;
}

// The linear layer in whole numbers, of `rows` quantised rows x. Its result is rows of floats, or is quantised too.
ggml_tensor* integer_linear(Graph& g, const PackedLinear& weights, ggml_tensor* bias, ggml_tensor* x, std::int64_t rows,
                            const LinearOptions& options, bool quantised_result) {
    const kernels::LayerKernels& set = layer_kernels(g.kernels, weights.packing);
    const kernels::IntegerTask task{weights.panels, weights.in, weights.out, options.gelu};
    g.scratch.reserve(set.gemm_scratch(weights.in));
    Sources sources({x, bias, options.scale, residual_of(g, options)});
    const KernelShare share = [=, &set](const ggml_tensor* result, float* scratch, kernels::Share work) {
        const kernels::GemmOperands operands{sources.values(result, 1), sources.values(result, 2), sources.values(result, 3)};
        const kernels::IntegerResult to{quantised_result ? nullptr : target(result), quantised_result ? bytes(result) : nullptr};
        set.run_gemm(task, {bytes(result->src[0]), static_cast<int>(rows)}, operands, to, scratch, work);
    };
    const double operations = 2.0 * weights.in * weights.out * static_cast<double>(rows);
    return part(g, "products", operations,
                quantised_result ? quantised_node(g, weights.packing, sources, weights.out, rows, share)
                                 : kernel_node(g, sources, {weights.out, rows, 1}, share));
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

}  // namespace

ggml_tensor* matmul(Graph& g, ggml_tensor* weight, ggml_tensor* bias, ggml_tensor* x, const LinearOptions& options) {
    if (g.standard_ops) return standard::matmul(g, weight, bias, x, options);
    const kernels::GemmTask task = gemm_task(weight, options);
    return product(g, task, arranged_weights(g, weight, task), bias, x, options);
}

ggml_tensor* linear(Graph& g, ggml_tensor* x, const std::string& path, const LinearOptions& options) {
    ggml_tensor* bias = g.weights.tensor(path + ".bias");
    const PackedLinear* packed = g.weights.packed_layer(path);
    if (packed == nullptr) return matmul(g, g.weights.tensor(path + ".weight"), bias, x, options);
    if (packed->packing == Packing::floats) {
        kernels::GemmTask task = gemm_task(g.weights.tensor(path + ".weight"), options);
        task.arranged = reinterpret_cast<const float*>(packed->panels);
        return product(g, task, nullptr, bias, x, options);
    }
    ggml_tensor* integers = quantised(g, x, packed->packing);
    const std::int64_t rows = x->ne[1];
    ggml_tensor* result = integer_linear(g, *packed, bias, integers, rows, options, false);
    if (layer_kernels(g.kernels, packed->packing).quantised_results && packed->out % kernels::kBlock == 0) {
        g.quantisers[{result, packed->packing}] = [=, &g] { return integer_linear(g, *packed, bias, integers, rows, options, true); };
    }
    return result;
}

}  // namespace da
