#include <algorithm>

#include "nn.hpp"
#include "nn/kernel_node.hpp"

namespace da {

ggml_tensor* without_gaps(Graph& g, ggml_tensor* x) {
    return ggml_is_contiguous(x) ? x : ggml_cont(g.context, x);
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

}  // namespace da
