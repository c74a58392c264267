// The dense prediction heads: DualDPT's main branch (depth, confidence) and DPT with sky (official dualdpt.py, dpt.py).
#pragma once

#include <array>

#include "model/positional.hpp"
#include "nn.hpp"

namespace da {

struct HeadOutputs {
    ggml_tensor* logits = nullptr;      // [width, height, output_dim], before the activation
    ggml_tensor* sky_logits = nullptr;  // [width, height, 1], or nullptr
};

// taps: [tap_dim, patches] each. picture: processed size. Rays are stages only: their nodes are computed when they are asked for.
HeadOutputs dpt(Graph& g, const std::array<ggml_tensor*, 4>& taps, const Hparams& hparams, Grid grid, Size picture, bool sky);

}  // namespace da
