// Sixteen floats as one value: a GCC/Clang vector, which the compiler lowers to what the target has (AVX-512, 2x AVX2, 4x NEON or SSE).
#pragma once

#include <cstring>

namespace da::kernels {

constexpr int kLanes = 16;

typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));

inline Vector load(const float* source) {
    Vector value;
    std::memcpy(&value, source, sizeof(value));
    return value;
}

inline void store(float* target, const Vector& value) {
    std::memcpy(target, &value, sizeof(value));
}

inline Vector broadcast(float value) {
    return value - Vector{};
}

inline Vector relu(const Vector& value) {
    const Vector zero{};
    return value > zero ? value : zero;
}

}  // namespace da::kernels
