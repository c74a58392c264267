// Powers of two and error function of a vector of floats, accurate to a few units in the last place.
// The coefficients are our own least-squares fits of relative error; the bounds are measured by test_kernels.
#pragma once

#include "kernels/vector.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

typedef int IntVector __attribute__((vector_size(kLanes * sizeof(int))));

inline Vector least(const Vector& a, const Vector& b) {
    return a < b ? a : b;
}
inline Vector largest(const Vector& a, const Vector& b) {
    return a > b ? a : b;
}

// 2^x for x from -125 to 127; smaller ones give 2^-125, which is nothing beside 1, and what is no number stays so.
inline Vector exp2(Vector x) {
    constexpr float rounder = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number, which then stands in the low bits
    x = no_less(x, broadcast(-125.0f));
    const Vector shifted = x + rounder;
    const Vector r = x - (shifted - rounder);
    Vector value = r * 1.53533620e-4f + 1.33988750e-3f;
    value = value * r + 9.61843692e-3f;
    value = value * r + 5.55033237e-2f;
    value = value * r + 2.40226477e-1f;
    value = value * r + 6.93147182e-1f;
    value = value * r + 1.0f;
    return (Vector)((IntVector)value + ((IntVector)shifted << 23));
}

// erf(x); beyond 4 it is 1 to the last place.
inline Vector erf(Vector x) {
    x = least(largest(x, broadcast(-4.0f)), broadcast(4.0f));
    const Vector t = x * x;
    Vector p = t * -1.32009728e-8f + 4.68450889e-6f;
    p = p * t + 3.79600911e-4f;
    p = p * t + 3.84967239e-3f;
    p = p * t + 5.43169826e-2f;
    p = p * t + 1.85205385e-1f;
    p = p * t + 1.12837923f;
    Vector q = t * 6.31080693e-5f + 1.30757166e-3f;
    q = q * t + 1.54621834e-2f;
    q = q * t + 1.13959119e-1f;
    q = q * t + 4.97467399e-1f;
    q = q * t + 1.0f;
    return x * p / q;
}

// x * Phi(x), the exact GELU.
inline Vector gelu(const Vector& x) {
    return 0.5f * x * (erf(x * 0.707106781f) + 1.0f);
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
