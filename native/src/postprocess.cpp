#include "postprocess.hpp"

#include <algorithm>
#include <cmath>

namespace da {

namespace {

template <typename Function>
Map mapped(const float* logits, Size size, Function function) {
    Map map{size, std::vector<float>(static_cast<std::size_t>(size.width) * size.height)};
    std::transform(logits, logits + map.values.size(), map.values.begin(), function);
    return map;
}

}  // namespace

Map depth_map(const float* logits, Size size, const HeadParams& head) {
    const float max_depth = head.max_depth;
    switch (head.activation) {
        case Activation::relu:
            return relu_map(logits, size);
        case Activation::sigmoid:
            return mapped(logits, size, [max_depth](float z) { return max_depth / (1.0f + std::exp(-z)); });
        default:
            return mapped(logits, size, [](float z) { return std::exp(z); });
    }
}

Map confidence_map(const float* logits, Size size) {
    return mapped(logits, size, [](float z) { return std::exp(z) + 1.0f; });
}

Map relu_map(const float* logits, Size size) {
    return mapped(logits, size, [](float z) { return std::max(z, 0.0f); });
}

float quantile(std::vector<float>& values, double q) {
    const double position = q * static_cast<double>(values.size() - 1);
    const auto rank = static_cast<std::ptrdiff_t>(position);
    std::nth_element(values.begin(), values.begin() + rank, values.end());
    const float low = values[rank];
    if (rank + 1 == static_cast<std::ptrdiff_t>(values.size())) return low;
    const float high = *std::min_element(values.begin() + rank + 1, values.end());
    return low + static_cast<float>(position - static_cast<double>(rank)) * (high - low);
}

void fill_sky(std::vector<Prediction>& views) {
    constexpr std::size_t enough = 10;
    std::vector<float> others;
    std::size_t pixels = 0;
    for (const Prediction& view : views) {
        pixels += view.depth.values.size();
        for (std::size_t i = 0; i < view.depth.values.size(); ++i) {
            if (view.sky->values[i] < kSkyThreshold) others.push_back(view.depth.values[i]);
        }
    }
    if (others.size() <= enough || pixels - others.size() <= enough) return;
    const float far = quantile(others, 0.99);
    for (Prediction& view : views) {
        for (std::size_t i = 0; i < view.depth.values.size(); ++i) {
            if (!(view.sky->values[i] < kSkyThreshold)) view.depth.values[i] = far;
        }
    }
}

void scale_to_metres(Map& depth, float focal) {
    const float factor = focal / kCanonicalFocal;
    for (float& value : depth.values) value *= factor;
}

}  // namespace da
