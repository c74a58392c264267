// Cameras from the rays of the auxiliary branch (official utils/ray_utils.py): a homography from picture to ray directions by RANSAC, taken
// apart into rotation and intrinsics.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "depth_anything/prediction.hpp"

namespace da {

// Rays of one picture, as planes of `cells`: direction x, y, z, origin x, y, z, and the confidence before its activation exp + 1.
struct RayMap {
    Size cells;
    const float* planes;
};

struct RayCamera {
    Intrinsics intrinsics;
    std::array<float, 12> extrinsics;  // camera_from_world, 3x4 row-major
};

// One camera per map, of a picture of that size; nothing where the rays fit none. The random choices come from `seed` and are the same for
// all maps of one extent. `checkpoint` is called every few milliseconds and may throw.
std::vector<std::optional<RayCamera>> cameras_from_rays(const std::vector<RayMap>& maps, Size picture, std::uint64_t seed,
                                                        const std::function<void()>& checkpoint);

}  // namespace da
