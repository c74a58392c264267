#include "model/known_cameras.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "depth_anything/error.hpp"
#include "model/rotation.hpp"
#include "model/similarity.hpp"

namespace da {

namespace {

using Points = std::vector<Vector3>;

constexpr double kLeastDistance = 0.1;
constexpr std::size_t kEnoughForChoice = 10;

std::array<double, 12> pose_of(const Matrix3& r, const Vector3& t) {
    return {r[0], r[1], r[2], t[0], r[3], r[4], r[5], t[1], r[6], r[7], r[8], t[2]};
}

bool is_rigid(const std::array<double, 12>& pose) {
    constexpr double tolerance = 1e-3;
    if (!std::all_of(pose.begin(), pose.end(), [](double value) { return std::isfinite(value); })) return false;
    const Matrix3 rotation = rotation_of(pose), unit = product(rotation, transposed(rotation));
    for (int i = 0; i < 9; ++i) {
        if (std::abs(unit[i] - (i % 4 == 0 ? 1.0 : 0.0)) > tolerance) return false;
    }
    return determinant(rotation) > 0.0;
}

}  // namespace

void check_cameras(const std::vector<KnownCamera>& cameras) {
    for (std::size_t i = 0; i < cameras.size(); ++i) {
        const KnownCamera& camera = cameras[i];
        const std::string name = "Camera " + std::to_string(i + 1);
        const bool finite = std::isfinite(camera.fx) && std::isfinite(camera.fy) && std::isfinite(camera.cx) && std::isfinite(camera.cy);
        if (!finite || !(camera.fx > 0.0 && camera.fy > 0.0)) {
            throw Error("input.intrinsics", name + " has focal lengths of " + std::to_string(camera.fx) + " and " +
                                                std::to_string(camera.fy) +
                                                " pixels; its intrinsics must be finite, focal lengths positive.");
        }
        if (!is_rigid(camera.extrinsics)) {
            throw Error("input.pose", name + " has a pose that is no rotation and translation; give camera_from_world with finite values.");
        }
    }
}

Intrinsics processed_intrinsics(const KnownCamera& camera, Size given, Size resized, Size size) {
    const double sx = static_cast<double>(resized.width) / given.width, sy = static_cast<double>(resized.height) / given.height;
    const int left = (resized.width - size.width) / 2, top = (resized.height - size.height) / 2;
    return {size, static_cast<float>(camera.fx * sx), static_cast<float>(camera.fy * sy), static_cast<float>(camera.cx * sx - left),
            static_cast<float>(camera.cy * sy - top)};
}

std::vector<KnownCamera> normalised(std::vector<KnownCamera> cameras) {
    const Matrix3 first = rotation_of(cameras.front().extrinsics);
    const Vector3 first_translation = translation_of(cameras.front().extrinsics);
    std::vector<double> distances;
    for (KnownCamera& camera : cameras) {
        const Matrix3 rotation = product(rotation_of(camera.extrinsics), transposed(first));
        const Vector3 translation = difference(translation_of(camera.extrinsics), product(rotation, first_translation));
        distances.push_back(length(translation));
        camera.extrinsics = pose_of(rotation, translation);
    }
    const auto middle = distances.begin() + static_cast<std::ptrdiff_t>((distances.size() - 1) / 2);
    std::nth_element(distances.begin(), middle, distances.end());  // of an even number PyTorch takes the lower of the two
    const double unit = std::max(*middle, kLeastDistance);
    for (KnownCamera& camera : cameras) {
        for (const int index : {3, 7, 11}) camera.extrinsics[index] /= unit;
    }
    return cameras;
}

std::array<float, 9> pose_encoding_of(const KnownCamera& camera, const Intrinsics& intrinsics) {
    const Vector3 centre = centre_of(camera.extrinsics);
    const Quaternion q = quaternion_from(transposed(rotation_of(camera.extrinsics)));
    const auto field_of_view = [](int extent, float focal) { return 2.0 * std::atan(extent / 2.0 / focal); };
    const std::array<double, 9> values = {centre[0],
                                          centre[1],
                                          centre[2],
                                          q[0],
                                          q[1],
                                          q[2],
                                          q[3],
                                          field_of_view(intrinsics.size.height, intrinsics.fy),
                                          field_of_view(intrinsics.size.width, intrinsics.fx)};
    std::array<float, 9> result = {};
    std::transform(values.begin(), values.end(), result.begin(), [](double value) { return static_cast<float>(value); });
    return result;
}

Vector3 centre_of(const std::array<double, 12>& camera_from_world) {
    return scaled(product(transposed(rotation_of(camera_from_world)), translation_of(camera_from_world)), -1.0);
}

std::vector<Vector3> centres_of(const std::vector<KnownCamera>& cameras) {
    Points result;
    for (const KnownCamera& camera : cameras) result.push_back(centre_of(camera.extrinsics));
    return result;
}

std::vector<Vector3> centres_of(const std::vector<Prediction>& predictions) {
    Points result;
    for (const Prediction& prediction : predictions) {
        std::array<double, 12> pose = {};
        std::copy(prediction.extrinsics->begin(), prediction.extrinsics->end(), pose.begin());
        result.push_back(centre_of(pose));
    }
    return result;
}

void align_to_cameras(std::vector<Prediction>& predictions, const std::vector<KnownCamera>& cameras, std::uint64_t seed) {
    if (!std::all_of(predictions.begin(), predictions.end(), [](const Prediction& one) { return one.extrinsics.has_value(); })) return;
    const Points known = centres_of(cameras), found = centres_of(predictions);
    const std::optional<double> scale =
        known.size() >= kEnoughForChoice ? robust_similarity_scale(known, found, seed) : similarity_scale(known, found, false);
    if (!scale) return;
    const auto factor = static_cast<float>(1.0 / *scale);
    for (std::size_t i = 0; i < predictions.size(); ++i) {
        Prediction& prediction = predictions[i];
        for (float& depth : prediction.depth.values) depth *= factor;
        prediction.scale_factor = prediction.scale_factor.value_or(1.0f) * factor;
        prediction.kind = DepthKind::metric;
        std::transform(cameras[i].extrinsics.begin(), cameras[i].extrinsics.end(), prediction.extrinsics->begin(),
                       [](double value) { return static_cast<float>(value); });
    }
}

}  // namespace da
