// The DINOv2 backbone with Depth Anything 3's schedule of local and global blocks (official dinov2/vision_transformer.py).
#pragma once

#include <array>
#include <vector>

#include "model/positional.hpp"
#include "nn.hpp"

namespace da {

struct Features {
    std::vector<std::array<ggml_tensor*, 4>> taps;  // of each view, [tap_dim, patches] each, class token removed
    ggml_tensor* camera_tokens = nullptr;           // [tap_dim, views], raw, of the last tap; nullptr without cat_token
};

// patches: [3 * patch * patch, patches of all views], normalised pixels in the order channel, row, column. Stages are those of the first
// view.
// camera_tokens: [embed_dim, views] of known cameras, or nullptr for the learned ones.
Features dinov2(Graph& g, ggml_tensor* patches, const VitParams& vit, Grid grid, int views, ggml_tensor* camera_tokens);

}  // namespace da
