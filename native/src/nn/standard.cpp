#include "nn/standard.hpp"

#include <cmath>
#include <utility>

namespace da::standard {

namespace {

// LayerNorm over the first dimension; weight and bias: [x->ne[0]].
ggml_tensor* normalised(Graph& g, ggml_tensor* x, const std::string& path, float eps) {
    ggml_tensor* unit = ggml_norm(g.context, without_gaps(g, x), eps);
    return ggml_add(g.context, ggml_mul(g.context, unit, g.weights.tensor(path + ".weight")), g.weights.tensor(path + ".bias"));
}

// One of queries (0), keys (1) and values (2): [head_dim, heads, tokens].
ggml_tensor* part_of(Graph& g, ggml_tensor* qkv, int part, int heads) {
    const std::int64_t channels = qkv->ne[0] / 3, head_dim = channels / heads;
    const std::size_t value = ggml_element_size(qkv);
    return ggml_view_3d(g.context, qkv, head_dim, heads, qkv->ne[1], head_dim * value, qkv->nb[1], part * channels * value);
}

// `count` values of every head from `first` on.
ggml_tensor* slice(Graph& g, ggml_tensor* x, std::int64_t first, std::int64_t count) {
    return ggml_view_3d(g.context, x, count, x->ne[1], x->ne[2], x->nb[1], x->nb[2], first * x->nb[0]);
}

// x: [head_dim, heads, tokens], table: see kernels::run_prepare.
ggml_tensor* rotated(Graph& g, ggml_tensor* x, ggml_tensor* table) {
    const std::int64_t quarter = x->ne[0] / 4;
    ggml_tensor* turns = ggml_reshape_3d(g.context, table, table->ne[0], 1, table->ne[1]);
    ggml_tensor* result = nullptr;
    for (int axis = 0; axis < 2; ++axis) {
        const std::int64_t first = 2 * axis * quarter;
        ggml_tensor* a = without_gaps(g, slice(g, x, first, quarter));
        ggml_tensor* b = without_gaps(g, slice(g, x, first + quarter, quarter));
        ggml_tensor* cosine = without_gaps(g, slice(g, turns, first, quarter));
        ggml_tensor* sine = without_gaps(g, slice(g, turns, first + quarter, quarter));
        ggml_tensor* turned_a = ggml_sub(g.context, ggml_mul(g.context, a, cosine), ggml_mul(g.context, b, sine));
        ggml_tensor* turned_b = ggml_add(g.context, ggml_mul(g.context, b, cosine), ggml_mul(g.context, a, sine));
        ggml_tensor* both = ggml_concat(g.context, turned_a, turned_b, 0);
        result = result == nullptr ? both : ggml_concat(g.context, result, both, 0);
    }
    return result;
}

// A transposed convolution whose stride is its kernel: a product per pixel, whose results are the pixels of a kernel x kernel cell.
// weight: [kernel, kernel, out, in]; x: [width, height, in] -> [width * kernel, height * kernel, out].
ggml_tensor* spread(Graph& g, ggml_tensor* weight, ggml_tensor* x) {
    ggml_context* c = g.context;
    const std::int64_t kernel = weight->ne[0], out = weight->ne[2], in = weight->ne[3], width = x->ne[0], height = x->ne[1];
    ggml_tensor* rows = ggml_cont(c, ggml_transpose(c, ggml_reshape_2d(c, weight, kernel * kernel * out, in)));
    ggml_tensor* pixels = ggml_cont(c, ggml_transpose(c, ggml_reshape_2d(c, x, width * height, in)));
    ggml_tensor* cells = ggml_mul_mat(c, rows, pixels);
    ggml_mul_mat_set_prec(cells, GGML_PREC_F32);
    // [kx, ky * out, width, height] -> [kx, width, ky * out, height]
    cells = ggml_cont(c, ggml_permute(c, ggml_reshape_4d(c, cells, kernel, kernel * out, width, height), 0, 2, 1, 3));
    // [kx * width, ky, out, height] -> [kx * width, ky, height, out]
    cells = ggml_cont(c, ggml_permute(c, ggml_reshape_4d(c, cells, kernel * width, kernel, out, height), 0, 1, 3, 2));
    return ggml_reshape_3d(c, cells, kernel * width, kernel * height, out);
}

// The convolution as a product of gathered neighbourhoods, gathered in f32 (ggml_conv_2d would take f16). x: [width, height, in].
ggml_tensor* gathered(Graph& g, ggml_tensor* weight, ggml_tensor* x, int stride) {
    ggml_context* c = g.context;
    const int padding = static_cast<int>(weight->ne[0]) / 2;
    const std::int64_t inputs = weight->ne[0] * weight->ne[1] * weight->ne[2], out = weight->ne[3];
    ggml_tensor* cells = ggml_im2col(c, weight, x, stride, stride, padding, padding, 1, 1, true, GGML_TYPE_F32);
    const std::int64_t width = cells->ne[1], height = cells->ne[2];
    ggml_tensor* y = ggml_mul_mat(c, ggml_reshape_2d(c, cells, inputs, width * height), ggml_reshape_2d(c, weight, inputs, out));
    ggml_mul_mat_set_prec(y, GGML_PREC_F32);
    return ggml_reshape_3d(c, y, width, height, out);
}

}  // namespace

ggml_tensor* matmul(Graph& g, ggml_tensor* weight, ggml_tensor* bias, ggml_tensor* x, const LinearOptions& options) {
    ggml_tensor* y = ggml_mul_mat(g.context, weight, without_gaps(g, x));
    ggml_mul_mat_set_prec(y, GGML_PREC_F32);
    if (bias != nullptr) y = ggml_add(g.context, y, bias);
    if (options.gelu) y = ggml_gelu_erf(g.context, y);
    if (options.scale != nullptr) y = ggml_mul(g.context, y, options.scale);
    if (options.residual != nullptr) y = ggml_add(g.context, y, options.residual);
    return y;
}

ggml_tensor* layer_norm(Graph& g, ggml_tensor* x, const std::string& path, float eps) {
    return normalised(g, x, path, eps);
}

ggml_tensor* attention(Graph& g, ggml_tensor* qkv, const AttentionOptions& options) {
    ggml_context* c = g.context;
    const std::int64_t channels = qkv->ne[0] / 3, tokens = qkv->ne[1];
    const float scale = 1.0f / std::sqrt(static_cast<float>(channels) / static_cast<float>(options.heads));
    const auto prepared = [&](int part, const std::string& norm) {
        ggml_tensor* x = part_of(g, qkv, part, options.heads);
        if (!norm.empty()) x = normalised(g, x, norm, options.norm_eps);
        if (options.rope != nullptr) x = rotated(g, x, options.rope);
        return ggml_cont(c, ggml_permute(c, x, 0, 2, 1, 3));  // [head_dim, tokens, heads]
    };
    ggml_tensor* scores = ggml_mul_mat(c, prepared(1, options.k_norm), prepared(0, options.q_norm));
    ggml_mul_mat_set_prec(scores, GGML_PREC_F32);
    ggml_tensor* shares = ggml_soft_max_ext(c, scores, nullptr, scale, 0.0f);
    ggml_tensor* values = ggml_cont(c, ggml_permute(c, part_of(g, qkv, 2, options.heads), 1, 2, 0, 3));  // [tokens, head_dim, heads]
    ggml_tensor* attended = ggml_mul_mat(c, values, shares);
    ggml_mul_mat_set_prec(attended, GGML_PREC_F32);
    return ggml_reshape_2d(c, ggml_cont(c, ggml_permute(c, attended, 0, 2, 1, 3)), channels, tokens);
}

ggml_tensor* conv_2d(Graph& g, ggml_tensor* x, const std::string& path, const ConvOptions& options) {
    const ConvShape& shape = g.weights.conv_shape(path);
    x = without_gaps(g, x);
    if (options.relu_input) x = ggml_relu(g.context, x);
    ggml_tensor* weight = g.weights.tensor(path + ".weight");
    ggml_tensor* y = shape.transposed ? spread(g, weight, x) : gathered(g, weight, x, shape.stride);
    if (ggml_tensor* bias = g.weights.find(path + ".bias")) y = ggml_add(g.context, y, ggml_reshape_3d(g.context, bias, 1, 1, bias->ne[0]));
    if (options.relu_output) y = ggml_relu(g.context, y);
    if (options.residual != nullptr) y = ggml_add(g.context, y, options.residual);
    return y;
}

ggml_tensor* interpolate(Graph& g, ggml_tensor* x, const Resampling& to) {
    const auto& [width, height, table] = to;
    const std::int64_t channels = x->ne[2], half = channels / 2;
    x = ggml_interpolate(g.context, without_gaps(g, x), width, height, channels, 1,
                         static_cast<std::uint32_t>(GGML_SCALE_MODE_BILINEAR) | GGML_SCALE_FLAG_ALIGN_CORNERS);
    if (table.x.empty()) return x;
    const auto channels_from = [&](std::int64_t first) {
        return ggml_view_3d(g.context, x, to.width, to.height, half, x->nb[1], x->nb[2], first * x->nb[2]);
    };
    ggml_tensor* along_x = ggml_reshape_3d(g.context, g.constant(table.x, width, half), width, 1, half);
    ggml_tensor* along_y = ggml_reshape_3d(g.context, g.constant(table.y, height, half), 1, height, half);
    return ggml_concat(g.context, ggml_add(g.context, channels_from(0), along_x), ggml_add(g.context, channels_from(half), along_y), 2);
}

}  // namespace da::standard
