// Position tables, computed on the host once per extent.
#pragma once

#include <cstdint>
#include <vector>

#include "hparams.hpp"
#include "kernels/interpolate.hpp"

namespace da {

// Extent of the patch grid.
struct Grid {
    int width = 0, height = 0;

    int patches() const { return width * height; }
};

// Learned position embedding of the backbone for that grid: [1 + patches][embed], row 0 the class token's.
// table: [1 + pos_embed_grid^2][embed]. Bicubic with offset, as in dinov2/vision_transformer.py (interpolate_pos_encoding).
std::vector<float> interpolate_pos_embed(const float* table, const VitParams& vit, Grid grid);

// Rotary position embedding of every token (dinov2/layers/rope.py): [1 + patches][head_dim] of cos and sin along y, then along x, a quarter
// of head_dim each. Token 0 is at 0; patches are numbered from 1 (local) or all at 1 (global).
std::vector<float> rope_table(Grid grid, const VitParams& vit, bool global);

// 0.1 times the sine-cosine embedding of image coordinates that the DualDPT head adds to its maps, as separable tables
// (utils/head_utils.py). width, height: of the map; aspect: of the picture, width / height; channels: a multiple of 4.
kernels::PositionTable uv_embedding(int width, int height, int channels, float aspect);

// The same table as tokens [height * width][channels].
std::vector<float> as_tokens(const kernels::PositionTable& table, int width, int height, int channels);

}  // namespace da
