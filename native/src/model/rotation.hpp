// Rotations as matrices, quaternions (i, j, k, r: the real part last) and poses (official model/utils/transform.py).
#pragma once

#include <array>

#include "model/linear_algebra.hpp"

namespace da {

using Quaternion = std::array<double, 4>;

// The quaternion need not be normalised.
Matrix3 rotation_from(const Quaternion& q);

// r >= 0; by the largest of the four, so that nothing small is divided by.
Quaternion quaternion_from(const Matrix3& rotation);

// The parts of a 3x4 row-major pose.
template <typename T>
Matrix3 rotation_of(const std::array<T, 12>& pose) {
    return {pose[0], pose[1], pose[2], pose[4], pose[5], pose[6], pose[8], pose[9], pose[10]};
}

template <typename T>
Vector3 translation_of(const std::array<T, 12>& pose) {
    return {pose[3], pose[7], pose[11]};
}

// camera_from_world, from the camera's orientation and place in the world.
std::array<float, 12> inverse_pose(const Matrix3& world_from_camera, const Vector3& centre);

}  // namespace da
