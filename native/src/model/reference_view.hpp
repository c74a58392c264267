// Choice of the reference view among three views and more (official reference_view_selector.py, "saddle_balanced").
#pragma once

#include <cstddef>

#include "nn.hpp"

namespace da {

// The view whose class token is nearest to the middle in similarity to the others, length and spread. Rows are `stride` floats apart.
int reference_view(const float* class_tokens, int channels, int views, std::size_t stride);

// Order of the views with the reference first, and the way back: indices for ggml_get_rows.
struct ViewOrder {
    ggml_tensor* forth = nullptr;
    ggml_tensor* back = nullptr;
};

// class_tokens: [channels, views]. The choice is made when the graph runs.
ViewOrder view_order(Graph& g, ggml_tensor* class_tokens);

}  // namespace da
