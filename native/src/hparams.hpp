// Hyper-parameters: a file's metadata as one checked struct. Every "is this file usable" decision about metadata is made here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "depth_anything/prediction.hpp"
#include "gguf_file.hpp"

namespace da {

struct VitParams {
    int patch_size = 14;
    int embed_dim = 0;
    int depth = 0;
    int num_heads = 0;
    int head_dim = 0;
    int mlp_hidden = 0;     // of swiglu: after the gate
    bool swiglu = false;    // gated feed-forward (GIANT) in place of the MLP
    int alt_start = -1;     // first block of the local/global schedule, -1: none
    int rope_start = -1;    // first block with rotary position embedding
    int qknorm_start = -1;  // first block with LayerNorm on queries and keys
    float rope_freq = 100.0f;
    bool cat_token = true;  // taps are [local | global] of twice the width
    float ln_eps = 1e-6f;   // of the block norms; query and key norms have their own
    float final_norm_eps = 1e-5f;
    float interpolate_offset = 0.1f;
    int pos_embed_grid = 37;
    std::array<int, 4> out_layers = {};

    bool is_global(int block) const { return alt_start >= 0 && block >= alt_start && block % 2 == 1; }
    bool has_rope(int block) const { return rope_start >= 0 && block >= rope_start; }
    bool has_qknorm(int block) const { return qknorm_start >= 0 && block >= qknorm_start; }
    bool rotates() const { return rope_start >= 0 && rope_start < depth; }  // some block
    int tap_dim() const { return cat_token ? 2 * embed_dim : embed_dim; }
};

enum class Activation { exp, relu, sigmoid };

struct HeadParams {
    int features = 0;
    std::array<int, 4> out_channels = {};
    int output_dim = 0;
    bool pos_embed = true;
    Activation activation = Activation::exp;
    float max_depth = 1.0f;  // metres at which sigmoid ends
};

struct ImageParams {
    std::array<float, 3> mean = {};
    std::array<float, 3> std = {};
    bool lower_bound = false;  // resize_target is that of the short side, in one float resize (V2); else of the long side, in 8-bit steps
    int resize_target = 504;
};

enum class Architecture {
    any_view,  // DualDPT head (depth, confidence) and camera decoder
    mono,      // DPT head (depth, sky)
    v2         // Depth Anything V2: DPT head, depth alone
};

// Of the head of 3-D Gaussians; its widths are those of the depth head.
struct GaussianParams {
    float scale_min = 1e-5f, scale_max = 30.0f;  // of a Gaussian, in tenths of a pixel at unit depth
};

struct Hparams {
    Architecture architecture = Architecture::any_view;
    bool has_rays = false;          // any-view files with the auxiliary ray branch, which published ones lack
    bool has_pose_encoder = false;  // any-view files with the encoder of known cameras, likewise
    std::optional<GaussianParams> gaussians;
    VitParams vit;
    HeadParams head;
    ImageParams image;
    std::string checkpoint;
    DepthKind kind = DepthKind::relative_depth;
    bool needs_focal = false;
    std::string license;
};

// Throws Error("model.key") that lists every key that is missing or wrong, Error("model.unsupported") for a file of another kind of model.
// image: what the file of the other network of a pair says of pictures, or nullptr to read it here.
Hparams read_hparams(const GgufFile& file, const ImageParams* image = nullptr);

}  // namespace da
