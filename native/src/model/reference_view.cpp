#include "model/reference_view.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace da {

namespace {

using Metric = std::vector<double>;

// Adds to each view's score how far its metric is from the middle of the range.
void add_distances(const Metric& metric, Metric& scores) {
    const auto [low, high] = std::minmax_element(metric.begin(), metric.end());
    const double range = *high - *low + 1e-8;
    for (std::size_t i = 0; i < metric.size(); ++i) scores[i] += std::abs((metric[i] - *low) / range - 0.5);
}

double dot(const float* a, const float* b, int count) {
    double sum = 0.0;
    for (int i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
}

double mean(const float* values, int count) {
    double sum = 0.0;
    for (int i = 0; i < count; ++i) sum += values[i];
    return sum / count;
}

// Node of the graph: row 0 the order with the reference first, row 1 the way back.
void write_order(ggml_tensor* result, int, int, void*) {
    const ggml_tensor* tokens = result->src[0];
    const int views = static_cast<int>(result->ne[0]);
    const int reference =
        reference_view(static_cast<const float*>(tokens->data), static_cast<int>(tokens->ne[0]), views, tokens->nb[1] / sizeof(float));
    auto* forth = static_cast<std::int32_t*>(result->data);
    auto* back = forth + views;
    forth[0] = reference;
    for (int i = 1; i < views; ++i) forth[i] = i <= reference ? i - 1 : i;
    for (int i = 0; i < views; ++i) back[forth[i]] = i;
}

}  // namespace

int reference_view(const float* class_tokens, int channels, int views, std::size_t stride) {
    const auto token = [&](int view) { return class_tokens + static_cast<std::size_t>(view) * stride; };
    Metric similarity(views), length(views), variance(views), scores(views, 0.0);
    for (int i = 0; i < views; ++i) length[i] = std::sqrt(dot(token(i), token(i), channels));
    for (int i = 0; i < views; ++i) {
        for (int j = 0; j < views; ++j) {
            if (j != i) similarity[i] += dot(token(i), token(j), channels) / (length[i] * length[j]) / (views - 1);
        }
        const double centre = mean(token(i), channels);
        variance[i] = (length[i] * length[i] - channels * centre * centre) / (channels - 1) / (length[i] * length[i]);
    }
    for (const Metric* metric : {&similarity, &length, &variance}) add_distances(*metric, scores);
    return static_cast<int>(std::min_element(scores.begin(), scores.end()) - scores.begin());
}

ViewOrder view_order(Graph& g, ggml_tensor* class_tokens) {
    const std::int64_t views = class_tokens->ne[1];
    ggml_tensor* both = ggml_custom_4d(g.context, GGML_TYPE_I32, views, 2, 1, 1, &class_tokens, 1, write_order, 1, nullptr);
    return {ggml_view_1d(g.context, both, views, 0), ggml_view_1d(g.context, both, views, both->nb[1])};
}

}  // namespace da
