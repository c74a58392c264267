#include "model/rotation.hpp"

#include <algorithm>
#include <cmath>

namespace da {

Matrix3 rotation_from(const Quaternion& q) {
    const auto [i, j, k, r] = q;
    const double s = 2.0 / (i * i + j * j + k * k + r * r);
    return {1 - s * (j * j + k * k), s * (i * j - k * r), s * (i * k + j * r), s * (i * j + k * r),    1 - s * (i * i + k * k),
            s * (j * k - i * r),     s * (i * k - j * r), s * (j * k + i * r), 1 - s * (i * i + j * j)};
}

Quaternion quaternion_from(const Matrix3& m) {
    const std::array<double, 4> squares = {1.0 + m[0] - m[4] - m[8], 1.0 - m[0] + m[4] - m[8], 1.0 - m[0] - m[4] + m[8],
                                           1.0 + m[0] + m[4] + m[8]};
    const std::array<std::array<double, 4>, 4> rows = {{{squares[0], m[3] + m[1], m[2] + m[6], m[7] - m[5]},
                                                        {m[3] + m[1], squares[1], m[5] + m[7], m[2] - m[6]},
                                                        {m[6] + m[2], m[7] + m[5], squares[2], m[3] - m[1]},
                                                        {m[7] - m[5], m[2] - m[6], m[3] - m[1], squares[3]}}};
    const auto largest = std::max_element(squares.begin(), squares.end()) - squares.begin();
    const double factor = (rows[largest][3] < 0.0 ? -0.5 : 0.5) / std::sqrt(squares[largest]);
    Quaternion result = rows[largest];
    for (double& value : result) value *= factor;
    return result;
}

std::array<float, 12> inverse_pose(const Matrix3& world_from_camera, const Vector3& centre) {
    std::array<float, 12> result = {};
    for (int row = 0; row < 3; ++row) {
        const Vector3 axis = column(world_from_camera, row);
        for (int i = 0; i < 3; ++i) result[4 * row + i] = static_cast<float>(axis[i]);
        result[4 * row + 3] = static_cast<float>(-dot(axis, centre));
    }
    return result;
}

}  // namespace da
