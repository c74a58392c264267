#include "model/camera.hpp"

#include <algorithm>
#include <cmath>

#include "model/rotation.hpp"

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
    const float* e = pose_encoding;
    return inverse_pose(rotation_from({e[3], e[4], e[5], e[6]}), {e[0], e[1], e[2]});
}

}  // namespace da
