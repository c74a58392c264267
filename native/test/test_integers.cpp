// Quantised rows and integer products alone, for every instruction set of this processor.
#include <algorithm>
#include <cmath>
#include <random>

#include "check.hpp"
#include "ggml-cpu.h"
#include "ggml.h"
#include "kernel_checks.hpp"

namespace {

using namespace da::kernels;
using namespace kernel_checks;
using Bytes = std::vector<std::uint8_t>;

constexpr GemmOperands kNothing{nullptr, nullptr, nullptr};
constexpr int kLargestWeight = 127;

// Whole numbers from -most to most, one of size `most` in every block, times a power of two that differs from span to span of a row, and at
// most by 2^spread from block to block of a span: then nothing is lost in quantising.
Floats whole_values(int rows, int length, int most, int span, int spread, unsigned seed) {
    std::mt19937 random(seed);
    Floats values;
    float of_span = 1.0f, scale = 1.0f;
    for (int i = 0; i < rows * length; ++i) {
        const int k = i % length;
        if (k % span == 0) of_span = std::ldexp(1.0f, static_cast<int>(random() % 7) - 3);
        if (k % kBlock == 0) scale = std::ldexp(of_span, -static_cast<int>(random() % (spread + 1)));
        const int sign = random() % 2 == 0 ? 1 : -1, size = k % kBlock == kBlock - 1 ? most : static_cast<int>(random() % (most + 1));
        values.push_back(static_cast<float>(sign * size) * scale);
    }
    return values;
}

Floats whole_weights(const KernelSet& set, const Layer& s) {
    const bool finer = set.span > kBlock && set.slices == nullptr;  // slices leave out a product of what is finer, see test_slices.cpp
    return whole_values(s.out, s.in, kLargestWeight, set.span, finer ? 5 : 0, 1);
}

Floats whole_activations(const KernelSet& set, int rows, int length) {
    return whole_values(rows, length, set.largest_activation, set.span, 0, 2);
}

// Memory without a byte to spare, so that the sanitizers see what is read or written beside it.
Bytes packed(const KernelSet& set, const MatrixView& weights, const Layer& s, int threads = 1) {
    Bytes panels(set.integers->packed_bytes(s.in, s.out), 0xAA);
    Floats row(s.in);
    Pieces pieces(threads, kNotCancelled);
    for (int i = 0; i < threads; ++i) set.integers->run_pack(weights, s.in, s.out, panels.data(), row.data(), pieces.share(i));
    return panels;
}

MatrixView plain_view(const Floats& weights, int in) {
    return {weights.data(), in * sizeof(float), 1, sizeof(float), nullptr};
}

Bytes quantised(const KernelSet& set, const Floats& x, const Layer& s, std::ptrdiff_t stride) {
    Bytes tiles(set.integers->quantised_bytes(s.in, s.rows), 0xAA);
    Pieces pieces(1, kNotCancelled);
    set.integers->run_quantise({x.data(), s.rows, stride}, s.in, tiles.data(), pieces.share(0));
    return tiles;
}

Floats run_layer(const KernelSet& set, const Bytes& panels, const Bytes& x, const Layer& s, bool gelu, const GemmOperands& operands,
                 int threads) {
    Floats y(static_cast<std::size_t>(s.rows) * s.out, -1e9f), scratch(set.integers->gemm_scratch(s.in));
    Pieces pieces(threads, kNotCancelled);
    for (int i = 0; i < threads; ++i)
        set.integers->run_gemm({panels.data(), s.in, s.out, gelu}, {x.data(), s.rows}, operands, {y.data(), nullptr}, scratch.data(),
                               pieces.share(i));
    return y;
}

double product(const Floats& x, std::ptrdiff_t stride, const Floats& w, const Layer& s, int row, int column) {
    double sum = 0;
    for (int k = 0; k < s.in; ++k) sum += static_cast<double>(x[row * stride + k]) * w[static_cast<std::size_t>(column) * s.in + k];
    return sum;
}

const std::vector<Layer> kLayers = {{32, 5, 3}, {64, 64, 1}, {320, 70, 29}, {512, 33, 13}, {96, 130, 300}, {1536, 17, 6}};

}  // namespace

KERNEL_TEST(integers, numbers_that_fit_give_the_product_itself) {
    for (const Layer& s : kLayers) {
        const std::ptrdiff_t stride = s.in + kBlock;
        const Floats w = whole_weights(set, s), x = whole_activations(set, s.rows, static_cast<int>(stride));
        const Floats y = run_layer(set, packed(set, plain_view(w, s.in), s), quantised(set, x, s, stride), s, false, kNothing, 1);
        for (int r = 0; r < s.rows; ++r) {
            for (int n = 0; n < s.out; ++n) {
                double size = 0;
                for (int k = 0; k < s.in; ++k)
                    size += std::abs(static_cast<double>(x[r * stride + k]) * w[static_cast<std::size_t>(n) * s.in + k]);
                CHECK(std::abs(y[static_cast<std::size_t>(r) * s.out + n] - product(x, stride, w, s, r, n)) < 1e-6 * size);
            }
        }
    }
}

// All products of a span at the ends of their ranges: sums that saturate, or lose a carry, are far off.
KERNEL_TEST(integers, sums_of_the_largest_numbers) {
    const Layer s{288, 40, 11};
    for (const float weight : {127.0f, -127.0f}) {
        for (const float sign : {1.0f, -1.0f}) {
            const float activation = sign * static_cast<float>(set.largest_activation);
            const Floats w(static_cast<std::size_t>(s.in) * s.out, weight), x(static_cast<std::size_t>(s.in) * s.rows, activation);
            const double expected = static_cast<double>(s.in) * weight * activation;
            for (const float value : run_layer(set, packed(set, plain_view(w, s.in), s), quantised(set, x, s, s.in), s, false, kNothing, 1))
                CHECK(std::abs(value - expected) < 1e-6 * std::abs(expected));
        }
    }
}

KERNEL_TEST(integers, rounding_stays_within_half_a_step_of_each_factor) {
    const Layer s{224, 48, 23};
    const Floats w = random_values(static_cast<std::size_t>(s.in) * s.out, 1),
                 x = random_values(static_cast<std::size_t>(s.in) * s.rows, 2);
    const Floats y = run_layer(set, packed(set, plain_view(w, s.in), s), quantised(set, x, s, s.in), s, false, kNothing, 1);
    // Of the block or span that value k of a row lies in.
    const auto step = [&](const float* row, int k, int length, int most) {
        float top = 0;
        for (int i = k / length * length; i < std::min(s.in, (k / length + 1) * length); ++i) top = std::max(top, std::abs(row[i]));
        return static_cast<double>(top) / most;
    };
    // Weights are rounded a second time where a span has several blocks, to 1/32 of the largest step, by factors of 15 bits.
    const double second = set.span > kBlock ? 0.52 / 32 : 0;
    double worst = 0;
    for (int r = 0; r < s.rows; ++r) {
        for (int n = 0; n < s.out; ++n) {
            const float *a = x.data() + static_cast<std::size_t>(r) * s.in, *b = w.data() + static_cast<std::size_t>(n) * s.in;
            double bound = 1e-5;
            for (int k = 0; k < s.in; ++k) {
                const double da = 0.501 * step(a, k, set.span, set.largest_activation),
                             db = 0.501 * step(b, k, kBlock, kLargestWeight) + second * step(b, k, set.span, kLargestWeight);
                bound += da * std::abs(b[k]) + db * std::abs(a[k]) + da * db;
            }
            const double error = std::abs(y[static_cast<std::size_t>(r) * s.out + n] - product(x, s.in, w, s, r, n));
            CHECK(error < bound);
            worst = std::max(worst, error);
        }
    }
    CHECK(worst > 1e-3);  // it is rounded indeed
}

KERNEL_TEST(integers, what_follows_the_product) {
    for (const Layer& s : kLayers) {
        const Floats w = whole_weights(set, s);
        Floats x = whole_activations(set, s.rows, s.in);
        const float scale_of_x = std::ldexp(1.0f, -22);  // products of about one
        for (float& value : x) value *= scale_of_x;
        const Floats bias = random_values(s.out, 3), scale = random_values(s.out, 4),
                     residual = random_values(static_cast<std::size_t>(s.rows) * s.out, 5);
        const Bytes panels = packed(set, plain_view(w, s.in), s), tiles = quantised(set, x, s, s.in);
        const GemmOperands all{bias.data(), scale.data(), residual.data()};
        const Floats y = run_layer(set, panels, tiles, s, true, all, 1);
        for (int r = 0; r < s.rows; ++r) {
            for (int n = 0; n < s.out; ++n) {
                const std::size_t at = static_cast<std::size_t>(r) * s.out + n;
                const double sum = product(x, s.in, w, s, r, n);
                CHECK(std::abs(y[at] - (exact_gelu(sum + bias[n]) * scale[n] + residual[at])) < 2e-5 * (1 + std::abs(sum * scale[n])));
            }
        }
        for (const int threads : {2, 3, 7}) CHECK(run_layer(set, panels, tiles, s, true, all, threads) == y);
        CHECK(packed(set, plain_view(w, s.in), s, 3) == panels);
    }
}

KERNEL_TEST(integers, a_quantised_result_is_the_result_quantised) {
    if (!set.integers->quantised_results) return;
    for (const Layer& s : {Layer{64, 32, 1}, Layer{96, 160, 37}, Layer{32, 384, 300}, Layer{160, 224, 229}}) {
        const Floats w = random_values(static_cast<std::size_t>(s.in) * s.out, 1),
                     x = random_values(static_cast<std::size_t>(s.in) * s.rows, 2), bias = random_values(s.out, 3);
        const Bytes panels = packed(set, plain_view(w, s.in), s), tiles = quantised(set, x, s, s.in);
        const GemmOperands operands{bias.data(), nullptr, nullptr};
        const Layer following{s.out, 0, s.rows};
        const Bytes expected = quantised(set, run_layer(set, panels, tiles, s, true, operands, 1), following, s.out);
        for (const int threads : {1, 2, 3, 7}) {
            Bytes found(expected.size(), 0xAA);
            Floats scratch(set.integers->gemm_scratch(s.in));
            Pieces pieces(threads, kNotCancelled);
            for (int i = 0; i < threads; ++i)
                set.integers->run_gemm({panels.data(), s.in, s.out, true}, {tiles.data(), s.rows}, operands, {nullptr, found.data()},
                                       scratch.data(), pieces.share(i));
            CHECK(found == expected);
        }
    }
}

KERNEL_TEST(integers, a_quantised_norm_is_the_norm_quantised) {
    const Layer s{96, 0, 83};
    const std::ptrdiff_t stride = s.in + 3;
    const Floats x = random_values(static_cast<std::size_t>(s.rows) * stride, 1), weight = random_values(s.in, 2),
                 bias = random_values(s.in, 3);
    Floats normal(static_cast<std::size_t>(s.rows) * s.in), scratch(s.in);
    Pieces pieces(1, kNotCancelled);
    set.run_norm({s.in, 1e-6f}, {x.data(), s.rows, stride}, weight.data(), bias.data(), {normal.data(), s.in}, pieces.share(0));
    const Bytes expected = quantised(set, normal, s, s.in);
    Bytes found(expected.size(), 0xAA);
    pieces.restart();
    set.integers->run_quantised_norm({s.in, 1e-6f}, {x.data(), s.rows, stride}, weight.data(), bias.data(), found.data(), scratch.data(),
                                     pieces.share(0));
    CHECK(found == expected);
}

KERNEL_TEST(integers, weights_of_every_stored_type) {
    const Layer s{512, 40, 9};
    const Floats w = random_values(static_cast<std::size_t>(s.in) * s.out, 2);
    for (const ggml_type type : {GGML_TYPE_Q8_0, GGML_TYPE_Q6_K, GGML_TYPE_Q5_K, GGML_TYPE_Q4_K}) {
        const std::size_t row_bytes = ggml_row_size(type, s.in);
        Bytes stored(row_bytes * s.out);
        ggml_quantize_chunk(type, w.data(), stored.data(), 0, s.out, s.in, nullptr);
        Floats decoded(w.size());
        const auto to_float = ggml_get_type_traits(type)->to_float;
        for (int n = 0; n < s.out; ++n) to_float(stored.data() + n * row_bytes, decoded.data() + static_cast<std::size_t>(n) * s.in, s.in);
        const MatrixView view{stored.data(), row_bytes, static_cast<int>(ggml_blck_size(type)), ggml_type_size(type), to_float};
        CHECK(packed(set, view, s) == packed(set, plain_view(decoded, s.in), s));
    }
}

KERNEL_TEST(integers, values_that_are_no_numbers_or_hardly_any) {
    check_no_numbers([&](const Layer& s, const Floats& w, const Floats& x) {
        return run_layer(set, packed(set, plain_view(w, s.in), s), quantised(set, x, s, s.in), s, false, kNothing, 1);
    });
}

KERNEL_TEST(integers, nothing_is_done_once_cancelled) {
    const Layer s{64, 64, 20};
    const Floats w = random_values(static_cast<std::size_t>(s.in) * s.out, 1),
                 x = random_values(static_cast<std::size_t>(s.in) * s.rows, 2);
    const Bytes panels = packed(set, plain_view(w, s.in), s);
    Bytes tiles = quantised(set, x, s, s.in);
    const std::atomic<bool> cancelled{true};
    Floats y(static_cast<std::size_t>(s.rows) * s.out, -7.0f), scratch(set.integers->gemm_scratch(s.in));
    Pieces pieces(1, cancelled);
    set.integers->run_gemm({panels.data(), s.in, s.out, false}, {tiles.data(), s.rows}, kNothing, {y.data(), nullptr}, scratch.data(),
                           pieces.share(0));
    CHECK(std::all_of(y.begin(), y.end(), [](float value) { return value == -7.0f; }));
    Bytes untouched(tiles.size(), 0xAA);
    pieces.restart();
    set.integers->run_quantise({x.data(), s.rows, s.in}, s.in, untouched.data(), pieces.share(0));
    CHECK(untouched == Bytes(tiles.size(), 0xAA));
}

namespace {

struct Prepared {
    Bytes bytes;
    Floats scratch;

    Prepared(const KernelSet& set, const naive::Attention& c)
        : bytes(set.integer_attention->prepared_bytes(c.task()), 0xAA), scratch(set.integer_attention->scratch(c.task())) {
        Pieces pieces(1, kNotCancelled);
        set.integer_attention->run_prepare(c.task(), c.view(), c.head_norm(), c.head_norm(), c.turns(), bytes.data(), scratch.data(),
                                           pieces.share(0));
    }

    Floats attend(const KernelSet& set, const naive::Attention& c) {
        Floats found(static_cast<std::size_t>(c.tokens) * c.width(), -1e9f);
        Pieces pieces(1, kNotCancelled);
        set.integer_attention->run_attention(c.task(), bytes.data(), {{found.data(), c.width()}, nullptr}, scratch.data(), pieces.share(0));
        return found;
    }
};

}  // namespace

KERNEL_TEST(integers, attention_is_its_definition_but_for_rounding) {
    if (set.integer_attention == nullptr) return;
    for (const naive::Attention& c : {naive::Attention(2, 32, 5, false, false), naive::Attention(3, 64, 77, true, true),
                                      naive::Attention(1, 96, 33, true, false), naive::Attention(2, 32, 128, false, true)}) {
        const Floats found = Prepared(set, c).attend(set, c);
        const std::vector<double> expected = c.result();
        double error = 0, size = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            error += (found[i] - expected[i]) * (found[i] - expected[i]);
            size += expected[i] * expected[i];
            CHECK(std::abs(found[i] - expected[i]) < 0.1);
        }
        CHECK(error < 0.02 * 0.02 * size);
    }
}

KERNEL_TEST(integers, a_quantised_attention_is_the_attention_quantised) {
    if (set.integer_attention == nullptr || !set.integer_attention->quantised_results) return;
    const naive::Attention c(3, 32, 70, true, true);
    Prepared prepared(set, c);
    const Bytes expected = quantised(set, prepared.attend(set, c), {c.width(), 0, c.tokens}, c.width());
    Bytes found(expected.size(), 0xAA);
    Pieces pieces(1, kNotCancelled);
    set.integer_attention->run_attention(c.task(), prepared.bytes.data(), {{nullptr, 0}, found.data()}, prepared.scratch.data(),
                                         pieces.share(0));
    CHECK(found == expected);
}

KERNEL_TEST(integers, scores_of_extreme_size_stay_finite) {
    if (set.integer_attention == nullptr) return;
    naive::Attention c(1, 32, 40, false, false);
    for (int t = 0; t < c.tokens; ++t) {
        for (int d = 0; d < 2 * c.width(); ++d) c.qkv[t * 3 * c.width() + d] *= 1e4f;
    }
    for (const float value : Prepared(set, c).attend(set, c)) CHECK(std::isfinite(value) && std::abs(value) < 10.0f);
}

// A sequence of ten million tokens fills more than 2 GiB for each head.
KERNEL_TEST(integers, room_for_attention_grows_with_the_tokens_beyond_32_bits) {
    if (set.integer_attention == nullptr) return;
    AttentionTask task{3, 64, 1 << 20, 0.0f};
    const std::size_t bytes = set.integer_attention->prepared_bytes(task);
    for (const int factor : {16, 32}) {
        task.tokens = factor << 20;
        const double found = static_cast<double>(set.integer_attention->prepared_bytes(task)) / static_cast<double>(bytes);
        CHECK(found > 0.999 * factor && found < 1.001 * factor);
    }
}

#if defined(__aarch64__)

// Sets that differ in the instruction of the integer products only: block by block their sums are the same numbers, added in the same
// order.
TEST(integers, all_8_bit_instructions_of_an_architecture_give_the_same_bits) {
    const Layer s{320, 70, 29};
    const Floats w = random_values(static_cast<std::size_t>(s.in) * s.out, 1),
                 x = random_values(static_cast<std::size_t>(s.in) * s.rows, 2), bias = random_values(s.out, 3);
    const naive::Attention attention(3, 64, 77, true, true);
    std::vector<Floats> layers, attentions;
    for (const KernelSet* set : usable_kernel_sets()) {
        if (set->largest_activation != 127) continue;
        const Bytes panels = packed(*set, plain_view(w, s.in), s), tiles = quantised(*set, x, s, s.in);
        layers.push_back(run_layer(*set, panels, tiles, s, true, {bias.data(), nullptr, nullptr}, 1));
        attentions.push_back(Prepared(*set, attention).attend(*set, attention));
        CHECK(layers.back() == layers.front() && attentions.back() == attentions.front());
    }
    CHECK(layers.size() == usable_kernel_sets().size() - 1);  // all but `neon`
}

#endif
