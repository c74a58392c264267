// The DINOv2 backbone with Depth Anything 3's schedule of local and global blocks (official dinov2/vision_transformer.py).
#pragma once

#include <array>

#include "model/positional.hpp"
#include "nn.hpp"

namespace da {

struct Features {
    std::array<ggml_tensor*, 4> taps;     // [tap_dim, patches] each, class token removed
    ggml_tensor* camera_token = nullptr;  // [tap_dim, 1], raw, of the last tap; nullptr without cat_token
};

// patches: [3 * patch * patch, patches], normalised pixels in the order channel, row, column.
Features dinov2(Graph& g, ggml_tensor* patches, const VitParams& vit, Grid grid);

}  // namespace da
