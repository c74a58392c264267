#include "model/gaussians.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/linear_algebra.hpp"
#include "model/rotation.hpp"
#include "model/spherical_harmonics.hpp"

namespace da {

namespace {

constexpr int kColours = 3;
// Planes of the head.
enum Plane { kOffset = 0, kScale = 2, kQuaternion = 5, kColour = 9, kDepthOffset = kColour + kColours * kHarmonics, kOpacity };
constexpr std::array<float, 3> kBandFactors = {1.0f, 0.1f * 0.25f, 0.1f * 0.25f * 0.25f};  // by degree
constexpr double kPixelShare = 0.1;  // of a pixel at unit depth: the scale of a Gaussian of size 1

float sigmoid(float x) {
    return 1.0f / (1.0f + std::exp(-x));
}

// One picture's Gaussians, pixel by pixel.
class Adapter {
  public:
    Adapter(const float* logits, const Prediction& prediction, const GaussianParams& params, float scale)
        : logits_(logits),
          prediction_(prediction),
          k_(*prediction.intrinsics),
          params_(params),
          scale_(scale),
          count_(prediction.depth.values.size()),
          world_from_camera_(transposed(rotation_of(*prediction.extrinsics))),
          centre_(scaled(product(world_from_camera_, translation_of(*prediction.extrinsics)), -static_cast<double>(scale))),
          size_factor_(static_cast<float>(kPixelShare * (1.0 / k_.fx + 1.0 / k_.fy))),
          rotate_harmonics_(world_from_camera_) {}

    void add(int x, int y, Gaussians& result) const {
        const std::size_t at = static_cast<std::size_t>(y) * prediction_.depth.size.width + x;
        const float depth = (prediction_.depth.values[at] + plane(kDepthOffset, at)) * scale_;
        const Vector3 ray = {(x + 0.5 + plane(kOffset, at) - k_.cx) / k_.fx, (y + 0.5 + plane(kOffset + 1, at) - k_.cy) / k_.fy, 1.0};
        const Vector3 reach = product(world_from_camera_, scaled(ray, depth / length(ray)));
        for (int axis = 0; axis < 3; ++axis) {
            result.means.push_back(static_cast<float>(centre_[axis] + reach[axis]));
            const float size = params_.scale_min + (params_.scale_max - params_.scale_min) * sigmoid(plane(kScale + axis, at));
            result.scales.push_back(size * depth * size_factor_);
        }
        for (const double value : quaternion(at)) result.rotations.push_back(static_cast<float>(value));
        for (int colour = 0; colour < kColours; ++colour) add_harmonics(colour, at, result.harmonics);
        result.opacities.push_back(sigmoid(plane(kOpacity, at)));
    }

  private:
    float plane(int index, std::size_t at) const { return logits_[index * count_ + at]; }

    // The network's x y z w is taken for i j k r in the order w x y z, and the result is left in the order that comes out of it: the
    // official code was trained so.
    std::array<double, 4> quaternion(std::size_t at) const {
        std::array<double, 4> q = {plane(kQuaternion + 3, at), plane(kQuaternion, at), plane(kQuaternion + 1, at),
                                   plane(kQuaternion + 2, at)};
        return quaternion_from(product(world_from_camera_, rotation_from(q)));
    }

    void add_harmonics(int colour, std::size_t at, std::vector<float>& harmonics) const {
        std::array<float, kHarmonics> values = {};
        for (int i = 0; i < kHarmonics; ++i) {
            const int degree = i == 0 ? 0 : i < 4 ? 1 : 2;
            values[i] = plane(kColour + colour * kHarmonics + i, at) * kBandFactors[degree];
        }
        rotate_harmonics_(values.data());
        harmonics.insert(harmonics.end(), values.begin(), values.end());
    }

    const float* logits_;
    const Prediction& prediction_;
    const Intrinsics& k_;
    const GaussianParams& params_;
    float scale_;
    std::size_t count_;
    Matrix3 world_from_camera_;
    Vector3 centre_;
    float size_factor_;
    HarmonicRotation rotate_harmonics_;
};

}  // namespace

Gaussians gaussians_from(const float* logits, const Prediction& prediction, const GaussianParams& params, float scale,
                         const std::function<void()>& checkpoint) {
    const Adapter adapter(logits, prediction, params, scale);
    const std::size_t count = prediction.depth.values.size();
    Gaussians result;
    result.kind = prediction.kind;
    result.means.reserve(3 * count);
    result.scales.reserve(3 * count);
    result.rotations.reserve(4 * count);
    result.harmonics.reserve(kColours * kHarmonics * count);
    result.opacities.reserve(count);
    for (int y = 0; y < prediction.depth.size.height; ++y) {
        checkpoint();
        for (int x = 0; x < prediction.depth.size.width; ++x) adapter.add(x, y, result);
    }
    return result;
}

}  // namespace da
