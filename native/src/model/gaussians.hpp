// 3-D Gaussians from the head of GIANT (official gs_adapter.py, utils/sh_helpers.py, utils/geometry.py).
#pragma once

#include <functional>

#include "depth_anything/prediction.hpp"
#include "hparams.hpp"

namespace da {

// logits: the head's 38 planes of one picture. prediction: depth, intrinsics and extrinsics as the network gives them, in one unit.
// scale: what centres and depth are multiplied with. `checkpoint` is called every few milliseconds and may throw.
Gaussians gaussians_from(const float* logits, const Prediction& prediction, const GaussianParams& params, float scale,
                         const std::function<void()>& checkpoint);

}  // namespace da
