// Rotation of spherical harmonics of degree 1 and 2 (official utils/sh_helpers.py, with e3nn's wigner_D).
#pragma once

#include <array>

#include "model/linear_algebra.hpp"

namespace da {

constexpr int kHarmonics = 9;  // of degree 0, 1 and 2

class HarmonicRotation {
  public:
    explicit HarmonicRotation(const Matrix3& world_from_camera);

    // Coefficients of one colour, in place.
    void operator()(float* harmonics) const;

  private:
    std::array<double, 9> first_ = {};    // 3x3
    std::array<double, 25> second_ = {};  // 5x5
};

}  // namespace da
