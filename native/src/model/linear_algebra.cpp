#include "model/linear_algebra.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace da {

double dot(const Vector3& a, const Vector3& b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

Vector3 cross(const Vector3& a, const Vector3& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

Vector3 scaled(const Vector3& a, double factor) {
    return {a[0] * factor, a[1] * factor, a[2] * factor};
}

Vector3 difference(const Vector3& a, const Vector3& b) {
    return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

double length(const Vector3& a) {
    return std::sqrt(dot(a, a));
}

Vector3 column(const Matrix3& m, int index) {
    return {m[index], m[3 + index], m[6 + index]};
}

Matrix3 from_columns(const Vector3& a, const Vector3& b, const Vector3& c) {
    return {a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2]};
}

Matrix3 transposed(const Matrix3& m) {
    return {m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]};
}

Matrix3 product(const Matrix3& a, const Matrix3& b) {
    return from_columns(product(a, column(b, 0)), product(a, column(b, 1)), product(a, column(b, 2)));
}

Vector3 product(const Matrix3& m, const Vector3& v) {
    return {m[0] * v[0] + m[1] * v[1] + m[2] * v[2], m[3] * v[0] + m[4] * v[1] + m[5] * v[2], m[6] * v[0] + m[7] * v[1] + m[8] * v[2]};
}

double determinant(const Matrix3& m) {
    return dot(column(m, 0), cross(column(m, 1), column(m, 2)));
}

namespace {

// Turns rows and columns p and q so that the element (p, q) becomes 0; `vectors` holds one eigenvector a row.
template <std::size_t n>
void rotate(std::array<double, n * n>& m, std::array<std::array<double, n>, n>& vectors, std::size_t p, std::size_t q) {
    const double off = m[p * n + q];
    if (off == 0.0) return;
    const double tau = (m[q * n + q] - m[p * n + p]) / (2.0 * off);
    const double t = (tau >= 0.0 ? 1.0 : -1.0) / (std::abs(tau) + std::sqrt(1.0 + tau * tau));
    const double c = 1.0 / std::sqrt(1.0 + t * t), s = t * c;
    const auto turn = [c, s](double& a, double& b) {
        const double old = a;
        a = c * old - s * b;
        b = s * old + c * b;
    };
    for (std::size_t k = 0; k < n; ++k) turn(m[k * n + p], m[k * n + q]);
    for (std::size_t k = 0; k < n; ++k) turn(m[p * n + k], m[q * n + k]);
    for (std::size_t k = 0; k < n; ++k) turn(vectors[p][k], vectors[q][k]);
}

}  // namespace

template <std::size_t n>
Eigen<n> symmetric_eigen(std::array<double, n * n> matrix) {
    constexpr int enough_sweeps = 30;  // convergence is quadratic; ten are plenty
    std::array<std::array<double, n>, n> vectors = {};
    for (std::size_t i = 0; i < n; ++i) vectors[i][i] = 1.0;
    for (int sweep = 0; sweep < enough_sweeps; ++sweep) {
        double off = 0.0, all = 0.0;
        for (std::size_t i = 0; i < n * n; ++i) {
            all += matrix[i] * matrix[i];
            if (i / n != i % n) off += matrix[i] * matrix[i];
        }
        if (!(off > 1e-36 * all)) break;
        for (std::size_t p = 0; p < n; ++p) {
            for (std::size_t q = p + 1; q < n; ++q) rotate<n>(matrix, vectors, p, q);
        }
    }
    std::array<std::size_t, n> order = {};
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return matrix[a * n + a] > matrix[b * n + b]; });
    Eigen<n> result;
    for (std::size_t i = 0; i < n; ++i) {
        result.values[i] = matrix[order[i] * n + order[i]];
        result.vectors[i] = vectors[order[i]];
    }
    return result;
}

template Eigen<3> symmetric_eigen<3>(std::array<double, 9> matrix);
template Eigen<9> symmetric_eigen<9>(std::array<double, 81> matrix);

}  // namespace da
