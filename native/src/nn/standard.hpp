// The building blocks of nn.hpp as nodes of ggml alone, for devices that our kernels do not run on. Same arguments, same results but for
// rounding; the free functions of nn.hpp choose between the two by Graph::standard_ops.
#pragma once

#include "nn.hpp"

namespace da::standard {

ggml_tensor* matmul(Graph& g, ggml_tensor* weight, ggml_tensor* bias, ggml_tensor* x, const LinearOptions& options);
ggml_tensor* layer_norm(Graph& g, ggml_tensor* x, const std::string& path, float eps);
ggml_tensor* attention(Graph& g, ggml_tensor* qkv, const AttentionOptions& options);
ggml_tensor* conv_2d(Graph& g, ggml_tensor* x, const std::string& path, const ConvOptions& options);
ggml_tensor* interpolate(Graph& g, ggml_tensor* x, const Resampling& to);

}  // namespace da::standard
