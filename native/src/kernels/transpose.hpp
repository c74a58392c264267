// Transposes a square of kLanes x kLanes floats in registers.
#pragma once

#include "kernels/vector.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

// Values of a and b in turn: of their first halves, and of their second halves.
#if defined(__clang__)
#define DA_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define DA_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, Places{__VA_ARGS__})
#endif

template <int lanes>
struct Interleave;

template <>
struct Interleave<4> {
    typedef int Places __attribute__((vector_size(16)));

    template <typename V>
    static V low(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 0, 4, 1, 5);
    }
    template <typename V>
    static V high(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 2, 6, 3, 7);
    }
};

template <>
struct Interleave<8> {
    typedef int Places __attribute__((vector_size(32)));

    template <typename V>
    static V low(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    }
    template <typename V>
    static V high(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    }
};

template <>
struct Interleave<16> {
    typedef int Places __attribute__((vector_size(64)));

    template <typename V>
    static V low(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    }
    template <typename V>
    static V high(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
};

#undef DA_SHUFFLE

// Each step deals the rows of the two halves into each other; after log2(kLanes) steps rows have become columns.
inline void transpose(Vector (&rows)[kLanes]) {
    for (int step = 1; step < kLanes; step *= 2) {
        Vector dealt[kLanes];
        for (int i = 0; i < kLanes / 2; ++i) {
            dealt[2 * i] = Interleave<kLanes>::low(rows[i], rows[i + kLanes / 2]);
            dealt[2 * i + 1] = Interleave<kLanes>::high(rows[i], rows[i + kLanes / 2]);
        }
        for (int i = 0; i < kLanes; ++i) rows[i] = dealt[i];
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
