// Metres for an any-view network from a metric one beside it (official da3.py, NestedDepthAnything3Net; utils/alignment.py).
#pragma once

#include <optional>
#include <vector>

#include "depth_anything/prediction.hpp"

namespace da {

// Scales the depth and the translations of `views` (with confidence) to those of `metric` (metres, sky filled, with sky), one factor for
// all views. The result is that factor; nothing is done, and nothing given, where a view is without extrinsics, and where 10 pixels or
// fewer are not sky, which the official code refuses, and where the metric network sees nothing farther than a centimetre.
std::optional<float> align_to_metric(std::vector<Prediction>& views, const std::vector<Prediction>& metric);

// Sky pixels take the 0.99-quantile of the depth of the others, 200 metres at most, and a confidence of 1.
void fill_nested_sky(std::vector<Prediction>& views, const std::vector<Prediction>& metric);

}  // namespace da
