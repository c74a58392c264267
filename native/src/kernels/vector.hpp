// As many floats as one register of the target holds, as one value: a GCC/Clang vector. Wider ones would be legal, but compilers then keep
// their parts in memory.
#pragma once

#include <cstring>

namespace da::kernels::DA_INSTRUCTION_SET {

constexpr int kLanes = DA_VECTOR_BYTES / sizeof(float);

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

inline Vector load_some(const float* source, int count) {
    if (count >= kLanes) return load(source);
    Vector value{};
    for (int i = 0; i < count; ++i) value[i] = source[i];
    return value;
}

inline void store_some(float* target, const Vector& value, int count) {
    if (count >= kLanes) return store(target, value);
    for (int i = 0; i < count; ++i) target[i] = value[i];
}

// `floor` where the value is less; what is no number stays so.
inline Vector no_less(const Vector& value, const Vector& floor) {
    return value < floor ? floor : value;
}

inline Vector relu(const Vector& value) {
    return no_less(value, Vector{});
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
