// The camera decoder (official cam_dec.py) and the geometry of its result (utils/transform.py).
#pragma once

#include <array>

#include "depth_anything/prediction.hpp"
#include "nn.hpp"

namespace da {

// camera_tokens: [tap_dim, views]. Result [9, views]: translation, quaternion x y z w, field of view (height, width) in radians.
ggml_tensor* camera_decoder(Graph& g, ggml_tensor* camera_tokens);

// Intrinsics of a picture of that size from the fields of view in the encoding.
Intrinsics intrinsics_from(const float* pose_encoding, Size picture);

// camera_from_world, 3x4 row-major. The quaternion need not be normalised.
std::array<float, 12> extrinsics_from(const float* pose_encoding);

}  // namespace da
