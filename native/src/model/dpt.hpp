// The dense prediction heads: DualDPT (depth, confidence, rays), DPT with sky, and that of the Gaussians (official dualdpt.py, dpt.py,
// gsdpt.py).
#pragma once

#include <array>

#include "model/positional.hpp"
#include "nn.hpp"

namespace da {

struct HeadWanted {
    bool sky = false, rays = false;
};

// Maps before the activation; nullptr for what is not wanted.
struct HeadOutputs {
    ggml_tensor* logits = nullptr;           // [width, height, output_dim]
    ggml_tensor* sky_logits = nullptr;       // [width, height, 1]
    ggml_tensor* ray_logits = nullptr;       // [cells across, cells down, 7]: direction, origin, confidence
    ggml_tensor* gaussian_logits = nullptr;  // of another head: [width, height, 38], see gaussians.cpp
};

// taps: [tap_dim, patches] each. picture: processed size. Nodes of rays are computed when they are wanted or asked for as stages.
HeadOutputs dpt(Graph& g, const std::array<ggml_tensor*, 4>& taps, const Hparams& hparams, Grid grid, Size picture,
                const HeadWanted& wanted);

// patches: those of the picture, see dinov2. Result: [width, height, 38], see gaussians.cpp.
ggml_tensor* gaussian_head(Graph& g, const std::array<ggml_tensor*, 4>& taps, ggml_tensor* patches, const Hparams& hparams, Grid grid,
                           Size picture);

}  // namespace da
