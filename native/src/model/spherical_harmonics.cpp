#include "model/spherical_harmonics.hpp"

#include <algorithm>
#include <cmath>

namespace da {

namespace {

template <int n>
using Square = std::array<double, static_cast<std::size_t>(n) * n>;

template <int n>
Square<n> times(const Square<n>& a, const Square<n>& b) {
    Square<n> result = {};
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            for (int k = 0; k < n; ++k) result[n * i + j] += a[n * i + k] * b[n * k + j];
        }
    }
    return result;
}

// About the y axis: cosines on the diagonal, sines on the other one.
template <int n>
Square<n> about_y(double angle) {
    constexpr int degree = n / 2;
    Square<n> result = {};
    for (int i = 0; i < n; ++i) {
        result[n * i + (n - 1 - i)] = std::sin((degree - i) * angle);
        result[n * i + i] = std::cos((degree - i) * angle);
    }
    return result;
}

// About the x axis, degree 1: the last two turn into each other.
Square<3> first_about_x(double angle) {
    const double c = std::cos(angle), s = std::sin(angle);
    return {1, 0, 0, 0, c, -s, 0, s, c};
}

// Degree 2: the first two turn into each other, the last three about the axis (1, 0, sqrt 3) / 2 by twice the angle.
Square<5> second_about_x(double angle) {
    const double c = std::cos(angle), s = std::sin(angle), c2 = std::cos(2.0 * angle), s2 = std::sin(2.0 * angle), r = std::sqrt(3.0);
    Square<5> result = {};
    const auto set = [&](int row, int column, double value) { result[5 * row + column] = value; };
    set(0, 0, c);
    set(0, 1, s);
    set(1, 0, -s);
    set(1, 1, c);
    set(2, 2, 0.25 + 0.75 * c2);
    set(2, 3, -0.5 * r * s2);
    set(2, 4, 0.25 * r * (1.0 - c2));
    set(3, 2, 0.5 * r * s2);
    set(3, 3, c2);
    set(3, 4, -0.5 * s2);
    set(4, 2, 0.25 * r * (1.0 - c2));
    set(4, 3, 0.5 * s2);
    set(4, 4, 0.75 + 0.25 * c2);
    return result;
}

struct Angles {
    double alpha, beta, gamma;  // R = Y(alpha) X(beta) Y(gamma)
};

Angles angles_of(const Matrix3& r) {
    const Vector3 up = column(r, 1);
    const double beta = std::acos(std::clamp(up[1] / length(up), -1.0, 1.0)), alpha = std::atan2(up[0], up[2]);
    // First row of (Y(alpha) X(beta))^T R: its first column is (cos alpha, 0, -sin alpha).
    const double ca = std::cos(alpha), sa = std::sin(alpha);
    return {alpha, beta, std::atan2(ca * r[2] - sa * r[8], ca * r[0] - sa * r[6])};
}

template <int n>
void turn(const Square<n>& by, float* values) {
    std::array<double, n> old = {};
    std::copy_n(values, n, old.begin());
    for (int i = 0; i < n; ++i) {
        double sum = 0.0;
        for (int j = 0; j < n; ++j) sum += by[n * i + j] * old[j];
        values[i] = static_cast<float>(sum);
    }
}

}  // namespace

HarmonicRotation::HarmonicRotation(const Matrix3& world_from_camera) {
    const Matrix3& r = world_from_camera;
    // The axes y, z, x of the harmonics' convention.
    const Matrix3 permuted = {r[4], r[5], r[3], r[7], r[8], r[6], r[1], r[2], r[0]};
    const Angles angles = angles_of(permuted);
    // The official code negates beta.
    first_ = times<3>(times<3>(about_y<3>(angles.alpha), first_about_x(-angles.beta)), about_y<3>(angles.gamma));
    second_ = times<5>(times<5>(about_y<5>(angles.alpha), second_about_x(-angles.beta)), about_y<5>(angles.gamma));
}

void HarmonicRotation::operator()(float* harmonics) const {
    turn<3>(first_, harmonics + 1);
    turn<5>(second_, harmonics + 4);
}

}  // namespace da
