#include "model/camera.hpp"

#include <algorithm>
#include <cmath>

namespace da {

ggml_tensor* camera_decoder(Graph& g, ggml_tensor* camera_tokens) {
    ggml_tensor* x = ggml_relu(g.context, linear(g, camera_tokens, "cam.bb0"));
    x = ggml_relu(g.context, linear(g, x, "cam.bb2"));
    ggml_tensor* rotation = ggml_concat(g.context, linear(g, x, "cam.fc_t"), linear(g, x, "cam.fc_q"), 0);
    ggml_tensor* encoding = ggml_concat(g.context, rotation, ggml_relu(g.context, linear(g, x, "cam.fc_fov")), 0);
    g.stage("pose_encoding", ggml_view_1d(g.context, encoding, encoding->ne[0], 0), {9});
    return encoding;
}

Intrinsics intrinsics_from(const float* pose_encoding, Size picture) {
    const auto focal = [](float extent, float angle) { return extent / 2.0f / std::max(std::tan(angle / 2.0f), 1e-6f); };
    const auto width = static_cast<float>(picture.width), height = static_cast<float>(picture.height);
    return {picture, focal(width, pose_encoding[8]), focal(height, pose_encoding[7]), width / 2.0f, height / 2.0f};
}

std::array<float, 12> extrinsics_from(const float* pose_encoding) {
    const double x = pose_encoding[3], y = pose_encoding[4], z = pose_encoding[5], w = pose_encoding[6];
    const double s = 2.0 / (x * x + y * y + z * z + w * w);
    const double world_from_camera[3][3] = {
        {1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)},
        {s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w)},
        {s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)},
    };
    std::array<float, 12> result = {};
    for (int row = 0; row < 3; ++row) {
        double moved = 0.0;
        for (int column = 0; column < 3; ++column) {
            const double inverse = world_from_camera[column][row];
            result[row * 4 + column] = static_cast<float>(inverse);
            moved += inverse * pose_encoding[column];
        }
        result[row * 4 + 3] = static_cast<float>(-moved);
    }
    return result;
}

}  // namespace da
