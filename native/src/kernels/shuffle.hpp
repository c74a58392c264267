// Floats of several registers in other orders.
#pragma once

#include "kernels/vector.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

#if defined(__clang__)
#define DA_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define DA_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, Places{__VA_ARGS__})
#endif

// Orders of the values of two registers of that many lanes. low, high: a and b in turn, of their first and second halves; even, odd: every
// second value of a, then of b; next: a from its second value on, then the first one of b.
template <int lanes>
struct Order;

template <>
struct Order<4> {
    typedef int Places __attribute__((vector_size(16)));

    template <typename V>
    static V low(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 0, 4, 1, 5);
    }
    template <typename V>
    static V high(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 2, 6, 3, 7);
    }
    template <typename V>
    static V even(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 0, 2, 4, 6);
    }
    template <typename V>
    static V odd(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 1, 3, 5, 7);
    }
    template <typename V>
    static V next(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 1, 2, 3, 4);
    }
};

template <>
struct Order<8> {
    typedef int Places __attribute__((vector_size(32)));

    template <typename V>
    static V low(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    }
    template <typename V>
    static V high(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    }
    template <typename V>
    static V even(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
    }
    template <typename V>
    static V odd(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
    }
    template <typename V>
    static V next(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 1, 2, 3, 4, 5, 6, 7, 8);
    }
};

template <>
struct Order<16> {
    typedef int Places __attribute__((vector_size(64)));

    template <typename V>
    static V low(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    }
    template <typename V>
    static V high(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
    template <typename V>
    static V even(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    }
    template <typename V>
    static V odd(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    }
    template <typename V>
    static V next(const V& a, const V& b) {
        return DA_SHUFFLE(a, b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    }
};

#undef DA_SHUFFLE

using VectorOrder = Order<kLanes>;

// The values of one register in the order that `places` says.
inline Vector pick(const Vector& values, const VectorOrder::Places& places) {
#if defined(__clang__)
    Vector picked{};
    for (int i = 0; i < kLanes; ++i) picked[i] = values[places[i]];
    return picked;
#else
    return __builtin_shuffle(values, places);
#endif
}

// Each step deals the rows of the two halves into each other; after log2(kLanes) steps rows have become columns.
inline void transpose(Vector (&rows)[kLanes]) {
    for (int step = 1; step < kLanes; step *= 2) {
        Vector dealt[kLanes];
        for (int i = 0; i < kLanes / 2; ++i) {
            dealt[2 * i] = VectorOrder::low(rows[i], rows[i + kLanes / 2]);
            dealt[2 * i + 1] = VectorOrder::high(rows[i], rows[i + kLanes / 2]);
        }
        for (int i = 0; i < kLanes; ++i) rows[i] = dealt[i];
    }
}

// Four registers of neighbouring values become four of every fourth value, and back.
inline void deal_by_four(Vector (&v)[4]) {
    const Vector even[2] = {VectorOrder::even(v[0], v[1]), VectorOrder::even(v[2], v[3])};
    const Vector odd[2] = {VectorOrder::odd(v[0], v[1]), VectorOrder::odd(v[2], v[3])};
    v[0] = VectorOrder::even(even[0], even[1]);
    v[1] = VectorOrder::even(odd[0], odd[1]);
    v[2] = VectorOrder::odd(even[0], even[1]);
    v[3] = VectorOrder::odd(odd[0], odd[1]);
}

inline void gather_by_four(Vector (&v)[4]) {
    const Vector even[2] = {VectorOrder::low(v[0], v[2]), VectorOrder::high(v[0], v[2])};
    const Vector odd[2] = {VectorOrder::low(v[1], v[3]), VectorOrder::high(v[1], v[3])};
    v[0] = VectorOrder::low(even[0], odd[0]);
    v[1] = VectorOrder::high(even[0], odd[0]);
    v[2] = VectorOrder::low(even[1], odd[1]);
    v[3] = VectorOrder::high(even[1], odd[1]);
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
