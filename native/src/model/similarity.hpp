// Scale between two sets of camera centres (official utils/pose_align.py).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/linear_algebra.hpp"

namespace da {

// Scale of the similarity that maps `from` to `to` with the least squares (S. Umeyama, 1991). Nothing for points of one place; where
// `planar`, nothing for points of one line either, whose similarity is not unique.
std::optional<double> similarity_scale(const std::vector<Vector3>& from, const std::vector<Vector3>& to, bool planar);

// The same from those cameras of ten and more that agree, found by random halves from `seed`.
std::optional<double> robust_similarity_scale(const std::vector<Vector3>& from, const std::vector<Vector3>& to, std::uint64_t seed);

}  // namespace da
