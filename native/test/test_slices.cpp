// Whole numbers in slices alone, for every instruction set of this processor that has them. That their layers and their attention are what
// they should be on many shapes is checked beside those of floats (check_layer, check_attention).
#include <algorithm>
#include <cmath>

#include "check.hpp"
#include "ggml-cpu.h"
#include "ggml.h"
#include "kernel_checks.hpp"

using namespace da::kernels;
using namespace kernel_checks;

namespace {

constexpr GemmOperands kNothing{nullptr, nullptr, nullptr};
constexpr int kLongestSpan = 768;                // of values that share a scale
constexpr double kLargest = 127 * 0x010101 - 1;  // as a whole number

MatrixView plain_view(const Floats& weights, int in) {
    return {weights.data(), in * sizeof(float), 1, sizeof(float), nullptr};
}

double product(const Floats& x, const Floats& w, const Layer& s, int row, int column) {
    double sum = 0;
    for (int k = 0; k < s.in; ++k)
        sum += static_cast<double>(x[static_cast<std::size_t>(row) * s.in + k]) * w[static_cast<std::size_t>(column) * s.in + k];
    return sum;
}

}  // namespace

// Half a step of each factor, the product of both lowest digits, and the rounding of a few sums of floats.
KERNEL_TEST(slices, rounding_stays_within_half_a_step_of_each_factor) {
    if (set.slices == nullptr) return;
    for (const Layer& s : {Layer{224, 48, 23}, Layer{768, 33, 17}, Layer{1536, 20, 18}}) {
        const Floats w = random_values(static_cast<std::size_t>(s.in) * s.out, 1),
                     x = random_values(static_cast<std::size_t>(s.in) * s.rows, 2);
        const Floats y = SlicedLayer(set, plain_view(w, s.in), s).run(x, s.in, false, kNothing, 1);
        const auto step = [&](const float* row) {
            float top = 0;
            for (int k = 0; k < s.in; ++k) top = std::max(top, std::abs(row[k]));  // at least that of each span
            return top / kLargest;
        };
        for (int r = 0; r < s.rows; ++r) {
            for (int n = 0; n < s.out; ++n) {
                const float *a = x.data() + static_cast<std::size_t>(r) * s.in, *b = w.data() + static_cast<std::size_t>(n) * s.in;
                const double da = step(a), db = step(b);
                double bound = 0, size = 0;
                for (int k = 0; k < s.in; ++k) {
                    bound += 0.51 * (da * std::abs(b[k]) + db * std::abs(a[k])) + 128 * 128 * da * db;
                    size += std::abs(static_cast<double>(a[k]) * b[k]);
                }
                CHECK(std::abs(y[static_cast<std::size_t>(r) * s.out + n] - product(x, w, s, r, n)) < bound + 3e-7 * size);
            }
        }
    }
}

// All digits at the ends of their ranges, over the longest span and several: sums that lose a carry are far off.
KERNEL_TEST(slices, sums_of_the_largest_numbers) {
    if (set.slices == nullptr) return;
    for (const int in : {kLongestSpan, 4 * kLongestSpan + 64, 1000}) {
        const Layer s{in, 18, 17};
        for (const float weight : {1.0f, -1.0f}) {
            for (const float activation : {3.0f, -3.0f}) {
                const Floats w(static_cast<std::size_t>(s.in) * s.out, weight), x(static_cast<std::size_t>(s.in) * s.rows, activation);
                const double expected = static_cast<double>(s.in) * weight * activation;
                for (const float value : SlicedLayer(set, plain_view(w, s.in), s).run(x, s.in, false, kNothing, 1))
                    CHECK(std::abs(value - expected) < 1e-6 * std::abs(expected));
            }
        }
    }
}

// Every value a digit, or on the border to the next one, can have: each alone, beside the one that sets the scale.
KERNEL_TEST(slices, every_place_of_a_number_counts) {
    if (set.slices == nullptr) return;
    const Layer s{2, 1, 3 * 256 + 6};
    const Floats w{0.0f, 1.0f};
    Floats x;
    const auto add = [&](double whole) {
        x.push_back(static_cast<float>(kLargest));
        x.push_back(static_cast<float>(whole));
    };
    for (int place = 0; place < 3; ++place) {
        for (int digit = -128; digit < 128; ++digit) add(std::clamp(std::ldexp(digit, 8 * place), -kLargest, kLargest));
    }
    for (const double whole : {32639.0, 32640.0, -32640.0, -32641.0, kLargest, -kLargest}) add(whole);
    const Floats y = SlicedLayer(set, plain_view(w, s.in), s).run(x, s.in, false, kNothing, 1);
    const double of_lowest_digits = 128 * 128 / kLargest;
    for (int r = 0; r < s.rows; ++r) CHECK(std::abs(y[r] - x[2 * r + 1]) < of_lowest_digits + 3e-7 * std::abs(x[2 * r + 1]));
}

KERNEL_TEST(slices, a_sliced_norm_is_the_norm_sliced) {
    if (set.slices == nullptr) return;
    const Layer s{100, 1, 83};
    const std::ptrdiff_t stride = s.in + 3;
    const Floats x = random_values(static_cast<std::size_t>(s.rows) * stride, 1), weight = random_values(s.in, 2),
                 bias = random_values(s.in, 3), row(s.in);
    Floats normal(static_cast<std::size_t>(s.rows) * s.in), scratch(s.in);
    Pieces pieces(1, kNotCancelled);
    set.run_norm({s.in, 1e-6f}, {x.data(), s.rows, stride}, weight.data(), bias.data(), {normal.data(), s.in}, pieces.share(0));
    const auto expected = SlicedLayer(set, plain_view(row, s.in), s).slices(normal, s.in);
    std::vector<std::uint8_t> found(expected.size(), 0xAA);
    pieces.restart();
    set.slices->run_quantised_norm({s.in, 1e-6f}, {x.data(), s.rows, stride}, weight.data(), bias.data(), found.data(), scratch.data(),
                                   pieces.share(0));
    CHECK(found == expected);
}

KERNEL_TEST(slices, weights_of_half_precision) {
    if (set.slices == nullptr) return;
    const Layer s{200, 40, 1};
    const Floats w = random_values(static_cast<std::size_t>(s.in) * s.out, 2);
    std::vector<ggml_fp16_t> stored(w.size());
    ggml_fp32_to_fp16_row(w.data(), stored.data(), static_cast<std::int64_t>(w.size()));
    Floats decoded(w.size());
    ggml_fp16_to_fp32_row(stored.data(), decoded.data(), static_cast<std::int64_t>(w.size()));
    const MatrixView view{stored.data(), s.in * sizeof(ggml_fp16_t), 1, sizeof(ggml_fp16_t), ggml_get_type_traits(GGML_TYPE_F16)->to_float};
    CHECK(SlicedLayer(set, view, s).panels == SlicedLayer(set, plain_view(decoded, s.in), s).panels);
}

// Every weight of a quantised file, in blocks of less than a span's largest scale: each alone, times a number without a lower digit.
KERNEL_TEST(slices, weights_of_a_quantised_file_keep_their_value) {
    if (set.slices == nullptr) return;
    constexpr int weights = 255;
    for (const float share : {1.0f, 0.7f, 0.25f, 0.011f, 1e-4f}) {
        for (const int in : {96, kLongestSpan + kBlock}) {
            const Layer s{in, weights, 1};
            Floats w(static_cast<std::size_t>(s.in) * s.out, 0.0f), x(s.in, 0.0f);
            x[3] = 127 * 256;
            x[4] = 127 * 257 - 1;  // what sets the scale; its weights are zero
            for (int n = 0; n < weights; ++n) {
                float* row = w.data() + static_cast<std::size_t>(n) * s.in;
                row[3] = static_cast<float>(n - 127) * share;
                row[5] = 127 * share;  // sets the scale of the block
                row[kBlock + 1] = 127.0f;
            }
            std::vector<std::uint8_t> panels(set.integers->packed_bytes(s.in, s.out), 0xAA),
                tiles(set.integers->quantised_bytes(s.in, 1), 0xAA);
            Floats row(s.in), y(weights), scratch(set.integers->gemm_scratch(s.in));
            Pieces pieces(1, kNotCancelled);
            set.integers->run_pack(plain_view(w, s.in), s.in, s.out, panels.data(), row.data(), pieces.share(0));
            pieces.restart();
            set.integers->run_quantise({x.data(), 1, s.in}, s.in, tiles.data(), pieces.share(0));
            pieces.restart();
            set.integers->run_gemm({panels.data(), s.in, s.out, false}, {tiles.data(), 1}, kNothing, {y.data(), nullptr}, scratch.data(),
                                   pieces.share(0));
            const double step = 1.0 / 256, factor = 127.0 / 65536;  // rounded: a weight, and the share as a factor
            for (int n = 0; n < weights; ++n) CHECK(std::abs(y[n] / x[3] - (n - 127) * share) < 0.501 * step + 1.01 * factor);
        }
    }
}

KERNEL_TEST(slices, values_that_are_no_numbers_or_hardly_any) {
    if (set.slices == nullptr) return;
    check_no_numbers([&](const Layer& s, const Floats& w, const Floats& x) {
        return SlicedLayer(set, plain_view(w, s.in), s).run(x, s.in, false, kNothing, 1);
    });
}

KERNEL_TEST(slices, nothing_is_done_once_cancelled) {
    if (set.slices == nullptr) return;
    const Layer s{64, 64, 20};
    const Floats w = random_values(static_cast<std::size_t>(s.in) * s.out, 1),
                 x = random_values(static_cast<std::size_t>(s.in) * s.rows, 2);
    const SlicedLayer layer(set, plain_view(w, s.in), s);
    const std::vector<std::uint8_t> tiles = layer.slices(x, s.in);
    const std::atomic<bool> cancelled{true};
    Floats y(static_cast<std::size_t>(s.rows) * s.out, -7.0f);
    Pieces pieces(1, cancelled);
    set.slices->run_gemm({layer.panels.data(), s.in, s.out, false}, {tiles.data(), s.rows}, kNothing, {y.data(), nullptr}, nullptr,
                         pieces.share(0));
    CHECK(std::all_of(y.begin(), y.end(), [](float value) { return value == -7.0f; }));
}

// Several spans of tokens, and a last tile that is not full.
KERNEL_TEST(slices, attention_of_more_tokens_than_a_span) {
    if (set.slices == nullptr) return;
    check_attention(set, naive::Attention(1, 16, kLongestSpan + 150, true, false));
}

KERNEL_TEST(slices, scores_of_extreme_size_stay_finite) {
    if (set.slices == nullptr) return;
    naive::Attention c(1, 32, 40, false, false);
    for (int t = 0; t < c.tokens; ++t) {
        for (int d = 0; d < 2 * c.width(); ++d) c.qkv[t * 3 * c.width() + d] *= 1e4f;
    }
    for (const float value : whole_attention(*set.sliced_attention, c, 1)) CHECK(std::isfinite(value) && std::abs(value) < 10.0f);
}

// What is no number in one query, or in a value that all read, is seen in the result.
KERNEL_TEST(slices, attention_swallows_no_nan) {
    if (set.slices == nullptr) return;
    naive::Attention c(1, 16, 40, false, false);
    c.qkv[5 * 3 * 16 + 3] = NAN;
    Floats found = whole_attention(*set.sliced_attention, c, 1);
    for (int t = 0; t < c.tokens; ++t) CHECK(std::isnan(found[t * 16]) == (t == 5));
    c.qkv[5 * 3 * 16 + 3] = 0.0f;
    c.qkv[7 * 3 * 16 + 32 + 3] = NAN;
    found = whole_attention(*set.sliced_attention, c, 1);
    for (int t = 0; t < c.tokens; ++t) CHECK(std::isnan(found[t * 16 + 3]) && std::isfinite(found[t * 16 + 4]));
}
