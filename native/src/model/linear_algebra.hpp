// The little linear algebra that poses need, in double precision. Matrices are row-major.
#pragma once

#include <array>
#include <cstddef>

namespace da {

using Vector3 = std::array<double, 3>;
using Matrix3 = std::array<double, 9>;

double dot(const Vector3& a, const Vector3& b);
Vector3 cross(const Vector3& a, const Vector3& b);
Vector3 scaled(const Vector3& a, double factor);
Vector3 difference(const Vector3& a, const Vector3& b);
double length(const Vector3& a);
Vector3 column(const Matrix3& m, int index);
Matrix3 from_columns(const Vector3& a, const Vector3& b, const Vector3& c);
Matrix3 transposed(const Matrix3& m);
Matrix3 product(const Matrix3& a, const Matrix3& b);
Vector3 product(const Matrix3& m, const Vector3& v);
double determinant(const Matrix3& m);

template <std::size_t n>
struct Eigen {
    std::array<double, n> values = {};
    std::array<std::array<double, n>, n> vectors = {};  // unit vectors in the order of the values
};

// Of a symmetric matrix, values descending, by cyclic Jacobi rotations (Golub and Van Loan, 8.5). Defined for 3 and 9.
template <std::size_t n>
Eigen<n> symmetric_eigen(std::array<double, n * n> matrix);

}  // namespace da
