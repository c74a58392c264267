#include "nested.hpp"

#include <algorithm>

#include "postprocess.hpp"

namespace da {

namespace {

constexpr std::size_t kEnoughPixels = 10;
constexpr float kNearestMetric = 1e-2f, kNearest = 1e-3f;  // what is nearer has no say in the factor
constexpr float kFarthestSky = 200.0f;                     // metres

// Calls function(view, pixel) for every pixel that is not sky.
template <typename Function>
void for_each_ground_pixel(const std::vector<Prediction>& metric, Function function) {
    for (std::size_t view = 0; view < metric.size(); ++view) {
        const std::vector<float>& sky = metric[view].sky->values;
        for (std::size_t i = 0; i < sky.size(); ++i) {
            if (sky[i] < kSkyThreshold) function(view, i);
        }
    }
}

void scale(Prediction& prediction, float factor) {
    for (float& depth : prediction.depth.values) depth *= factor;
    for (const int translation : {3, 7, 11}) (*prediction.extrinsics)[translation] *= factor;
}

}  // namespace

std::optional<float> align_to_metric(std::vector<Prediction>& views, const std::vector<Prediction>& metric) {
    if (!std::all_of(views.begin(), views.end(), [](const Prediction& view) { return view.extrinsics.has_value(); })) return std::nullopt;
    std::vector<float> confidences;
    for_each_ground_pixel(metric, [&](std::size_t view, std::size_t i) { confidences.push_back(views[view].confidence->values[i]); });
    if (confidences.size() <= kEnoughPixels) return std::nullopt;
    const float median = quantile(confidences, 0.5);
    double products = 0.0, squares = 0.0;
    for_each_ground_pixel(metric, [&](std::size_t view, std::size_t i) {
        const double metres = metric[view].depth.values[i], depth = views[view].depth.values[i];
        if (views[view].confidence->values[i] < median || !(metres > kNearestMetric && depth > kNearest)) return;
        products += metres * depth;
        squares += depth * depth;
    });
    if (!(squares > 0.0)) return std::nullopt;  // the official code would make all depth zero
    const auto factor = static_cast<float>(products / std::max(squares, 1e-12));
    for (Prediction& view : views) {
        scale(view, factor);
        view.kind = DepthKind::metric;
        view.scale_factor = factor;
    }
    return factor;
}

void fill_nested_sky(std::vector<Prediction>& views, const std::vector<Prediction>& metric) {
    std::vector<float> depths;
    for_each_ground_pixel(metric, [&](std::size_t view, std::size_t i) { depths.push_back(views[view].depth.values[i]); });
    const float far = std::min(quantile(depths, 0.99), kFarthestSky);
    for (std::size_t view = 0; view < views.size(); ++view) {
        const std::vector<float>& sky = metric[view].sky->values;
        for (std::size_t i = 0; i < sky.size(); ++i) {
            if (sky[i] < kSkyThreshold) continue;
            views[view].depth.values[i] = far;
            views[view].confidence->values[i] = 1.0f;
        }
    }
}

}  // namespace da
