// Matrix products and attention alone against a naive reference in double precision, on odd sizes.
#include <algorithm>
#include <cmath>
#include <random>

#include "check.hpp"
#include "ggml-cpu.h"
#include "ggml.h"
#include "kernel_checks.hpp"
// Part of every kernel set; here one more, of no instruction set.
#define DA_INSTRUCTION_SET any_set
#include "kernels/product_pieces.hpp"

using namespace da::kernels;
using namespace kernel_checks;

KERNEL_TEST(products, linear_layer_with_all_that_follows) {
    for (const Layer& s :
         {Layer{7, 5, 3}, Layer{64, 64, 1}, Layer{300, 70, 29}, Layer{512, 33, 13}, Layer{3, 130, 500}, Layer{588, 16, 12}})
        check_layer(set, s);
}

KERNEL_TEST(products, weights_of_every_stored_type) {
    const Layer s{512, 40, 9};
    const Floats x = random_values(static_cast<std::size_t>(s.rows) * s.in, 1),
                 w = random_values(static_cast<std::size_t>(s.in) * s.out, 2, 0.05f);
    for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_Q8_0, GGML_TYPE_Q6_K, GGML_TYPE_Q5_K, GGML_TYPE_Q4_K}) {
        const std::size_t row_bytes = ggml_row_size(type, s.in);
        std::vector<std::uint8_t> stored(row_bytes * s.out);
        ggml_quantize_chunk(type, w.data(), stored.data(), 0, s.out, s.in, nullptr);
        Floats decoded(w.size());
        const auto to_float = ggml_get_type_traits(type)->to_float;
        for (int n = 0; n < s.out; ++n) to_float(stored.data() + n * row_bytes, decoded.data() + static_cast<std::size_t>(n) * s.in, s.in);
        const MatrixView quantised{stored.data(), row_bytes, static_cast<int>(ggml_blck_size(type)), ggml_type_size(type), to_float};
        const MatrixView plain{decoded.data(), s.in * sizeof(float), 1, sizeof(float), nullptr};
        CHECK(run_layer(set, quantised, s, x, s.in, false, {}, 1) == run_layer(set, plain, s, x, s.in, false, {}, 1));
    }
}

KERNEL_TEST(products, attention_is_its_definition) {
    for (const naive::Attention& c : {naive::Attention{2, 16, 5, false, false}, naive::Attention{3, 64, 77, true, true},
                                      naive::Attention{1, 48, 33, true, false}, naive::Attention{2, 32, 100, false, true}})
        check_attention(set, c);
}

KERNEL_TEST(products, layer_norm_is_its_definition) {
    for (const auto& [channels, rows] : {std::pair{7, 3}, std::pair{384, 70}, std::pair{33, 1}}) {
        const std::ptrdiff_t stride = channels + 3;
        Floats x = random_values(static_cast<std::size_t>(rows) * stride, 1);
        for (float& value : x) value = value * 0.01f + 5.0f;  // a large mean beside a small deviation
        const Floats weight = random_values(channels, 2), bias = random_values(channels, 3);
        Floats y(static_cast<std::size_t>(rows) * channels);
        Pieces pieces(1, kNotCancelled);
        set.run_norm({channels, 1e-6f}, {x.data(), rows, stride}, weight.data(), bias.data(), {y.data(), channels}, pieces.share(0));
        for (int r = 0; r < rows; ++r) {
            double mean = 0, variance = 0;
            for (int i = 0; i < channels; ++i) mean += static_cast<double>(x[r * stride + i]) / channels;
            for (int i = 0; i < channels; ++i) variance += (x[r * stride + i] - mean) * (x[r * stride + i] - mean) / channels;
            for (int i = 0; i < channels; ++i) {
                const double expected = (x[r * stride + i] - mean) / std::sqrt(variance + 1e-6) * weight[i] + bias[i];
                CHECK(std::abs(y[static_cast<std::size_t>(r) * channels + i] - expected) < 1e-3);
            }
        }
    }
}

KERNEL_TEST(products, scores_of_extreme_size_stay_finite) {
    const AttentionTask task{1, 16, 20, 1e-5f};
    Floats qkv = random_values(20 * 48, 1);
    for (int t = 0; t < 20; ++t) {
        for (int d = 0; d < 32; ++d) qkv[t * 48 + d] *= 1e4f;
    }
    Floats prepared(set.prepared_floats(task)), found(20 * 16), scratch(set.attention_scratch(task));
    Pieces pieces(1, kNotCancelled);
    set.run_prepare(task, {qkv.data(), 48}, {nullptr, nullptr}, {nullptr, nullptr}, nullptr, prepared.data(), pieces.share(0));
    pieces.restart();
    set.run_attention(task, prepared.data(), {found.data(), 16}, scratch.data(), pieces.share(0));
    for (const float value : found) CHECK(std::isfinite(value) && std::abs(value) < 10.0f);
}

KERNEL_TEST(products, gelu_is_its_definition) {
    constexpr int count = 20001;
    Floats x(count), one{1.0f};
    for (int i = 0; i < count; ++i) x[i] = static_cast<float>(-10.0 + i * 1e-3);
    const MatrixView weights{one.data(), sizeof(float), 1, sizeof(float), nullptr};
    const Floats y = run_layer(set, weights, {1, 1, count}, x, 1, true, {nullptr, nullptr, nullptr}, 1);
    for (int i = 0; i < count; ++i) CHECK(std::abs(y[i] - exact_gelu(x[i])) < 2.5e-7 * std::max(1.0, std::abs(static_cast<double>(x[i]))));
}

KERNEL_TEST(products, gelu_of_a_map) {
    const std::size_t count = (1 << 16) + 37;
    std::vector<float> x(count), y(count, -1e9f);
    for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i % 2001) * 0.01f - 10.0f;
    Pieces pieces(1, kNotCancelled);
    set.run_gelu(x.data(), count, y.data(), pieces.share(0));
    for (std::size_t i = 0; i < count; ++i) {
        const double expected = 0.5 * x[i] * (1.0 + std::erf(x[i] / std::sqrt(2.0)));
        CHECK(std::abs(y[i] - expected) < 1e-6 * (1.0 + std::abs(expected)));
    }
}

// From about a million rows on, a number of tiles times a number of parts passes 32 bits.
TEST(products, pieces_cover_every_row_once_also_millions_of_them) {
    for (const int rows : {1, 13, 865, 1'000'000, 20'000'000}) {
        for (const int threads : {1, 3, 16}) {
            const any_set::ProductPieces pieces(rows, 40, 128, 6, 12, threads);
            int next = 0;
            for (int i = 0; i < pieces.count(); ++i) {
                const any_set::ProductPiece piece = pieces.piece(i);
                CHECK(piece.row == next && piece.rows > 0 && piece.column == 0 && piece.columns == 40);
                next += piece.rows;
            }
            CHECK(next == rows);
        }
    }
}
