// Exponential and error function of a vector of floats, accurate to a few units in the last place.
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

// exp(x) for x from -87 to 87; smaller ones give exp(-87), which is nothing beside 1, and what is no number stays so.
inline Vector exp(Vector x) {
    constexpr float log2_e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    constexpr float rounder = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number, which then stands in the low bits
    x = no_less(x, broadcast(-87.0f));
    const Vector shifted = x * log2_e + rounder;
    const Vector whole = shifted - rounder;
    const Vector r = (x - whole * ln2_high) - whole * ln2_low;
    Vector tail = r * 0.00137514074f + 0.00836891592f;
    tail = tail * r + 0.0416695327f;
    tail = tail * r + 0.166665182f;
    tail = tail * r + 0.499999881f;
    const Vector value = r * r * tail + r + 1.0f;
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
