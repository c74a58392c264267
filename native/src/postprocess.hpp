// From the network's last maps to the numbers of a prediction (official dualdpt.py, dpt.py, da3.py, utils/alignment.py).
#pragma once

#include "hparams.hpp"

namespace da {

inline constexpr float kSkyThreshold = 0.3f;      // a pixel is sky at this raw value and above
inline constexpr float kCanonicalFocal = 300.0f;  // pixels: metric nets predict depth for this focal length

Map depth_map(const float* logits, Size size, const HeadParams& head);
Map confidence_map(const float* logits, Size size);  // exp(z) + 1
Map relu_map(const float* logits, Size size);        // sky: max(z, 0)

// Linear interpolation between the two neighbours in rank; `values` is reordered and must not be empty.
float quantile(std::vector<float>& values, double q);

// Sky pixels take the 0.99-quantile of the depth of the others, over all views; nothing happens with 10 pixels or fewer of either.
void fill_sky(std::vector<Prediction>& views);

// Canonical depth to metres: focal in pixels of the processed picture, mean of both axes.
void scale_to_metres(Map& depth, float focal);

}  // namespace da
