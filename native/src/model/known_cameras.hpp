// Cameras that are known beforehand: what the network gets of them, and how its result is brought to their scale (official api.py,
// utils/transform.py).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "depth_anything/engine.hpp"
#include "model/linear_algebra.hpp"

namespace da {

// Throws Error("input.intrinsics") for focal lengths that are none, Error("input.pose") for a pose that is no finite rigid motion.
void check_cameras(const std::vector<KnownCamera>& cameras);

// Intrinsics of the picture as processed: resized from `given` to `resized`, then cut to `size` about its centre.
Intrinsics processed_intrinsics(const KnownCamera& camera, Size given, Size resized, Size size);

// camera_from_world relative to the first camera, in units of the median distance of the cameras from it (0.1 at least).
std::vector<KnownCamera> normalised(std::vector<KnownCamera> cameras);

// Translation 3, quaternion x y z w, field of view (height, width) in radians, of world_from_camera.
std::array<float, 9> pose_encoding_of(const KnownCamera& camera, const Intrinsics& intrinsics);

// Centres of the cameras in the world.
Vector3 centre_of(const std::array<double, 12>& camera_from_world);
std::vector<Vector3> centres_of(const std::vector<KnownCamera>& cameras);
std::vector<Vector3> centres_of(const std::vector<Prediction>& predictions);

// Depth in the unit of the known cameras, which replace the estimated ones; depth stays as it is where the cameras do not tell the scale.
void align_to_cameras(std::vector<Prediction>& predictions, const std::vector<KnownCamera>& cameras, std::uint64_t seed);

}  // namespace da
