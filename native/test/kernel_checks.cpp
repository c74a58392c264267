#include "kernel_checks.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "check.hpp"
#include "thread_pool.hpp"

namespace kernel_checks {

using namespace da::kernels;

Floats random_values(std::size_t count, unsigned seed, float deviation) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0f, deviation);
    Floats values(count);
    for (float& value : values) value = normal(random);
    return values;
}

Floats run_conv(const KernelSet& set, ConvTask task, MapView input, std::size_t size, int threads) {
    Floats output(size, -1e9f), arranged(da::kernels::arranged_floats(*task.conv));
    da::ThreadPool pool(threads);
    Pieces pieces(threads, kNotCancelled);
    if (task.conv->minimal) pool.run([&](int thread) { set.arrange_conv(*task.conv, arranged.data(), pieces.share(thread)); });
    task.arranged = arranged.data();
    pieces.restart();
    pool.run([&](int thread) {
        Floats scratch(set.conv_scratch(task, input.width));
        set.run_conv(task, input, output.data(), scratch.data(), pieces.share(thread));
    });
    return output;
}

static double naive(const ConvShape& s, const Floats& x, const Floats& w, bool relu, int o, int oy, int ox) {
    double sum = 0;
    for (int c = 0; c < s.in; ++c) {
        for (int ky = 0; ky < s.kernel; ++ky) {
            for (int kx = 0; kx < s.kernel; ++kx) {
                const int y = oy * s.stride + ky - s.kernel / 2, xx = ox * s.stride + kx - s.kernel / 2;
                if (y < 0 || y >= s.height || xx < 0 || xx >= s.width) continue;
                const double value = x[(static_cast<std::size_t>(c) * s.height + y) * s.width + xx];
                sum +=
                    (relu ? std::max(value, 0.0) : value) * w[((static_cast<std::size_t>(o) * s.in + c) * s.kernel + ky) * s.kernel + kx];
            }
        }
    }
    return sum;
}

void check_conv(const KernelSet& set, const ConvShape& s, bool relu_input, bool relu_output, bool with_residual) {
    const Floats x = random_values(static_cast<std::size_t>(s.in) * s.width * s.height, 1);
    const Floats w = random_values(static_cast<std::size_t>(s.out) * s.in * s.kernel * s.kernel, 2), bias = random_values(s.out, 3);
    const PackedConv conv = da::kernels::pack_conv(w.data(), bias.data(), s.in, s.out, s.kernel, s.stride);
    const int width = da::kernels::conv_extent(conv, s.width), height = da::kernels::conv_extent(conv, s.height);
    const std::size_t size = static_cast<std::size_t>(s.out) * width * height;
    const Floats residual = random_values(size, 4);
    const ConvTask task{&conv, relu_input, relu_output, with_residual ? residual.data() : nullptr};
    const Floats found = run_conv(set, task, {x.data(), s.width, s.height}, size);
    for (int o = 0; o < s.out; ++o) {
        for (int y = 0; y < height; ++y) {
            for (int xx = 0; xx < width; ++xx) {
                const std::size_t at = (static_cast<std::size_t>(o) * height + y) * width + xx;
                double expected = naive(s, x, w, relu_input, o, y, xx) + bias[o];
                if (relu_output) expected = std::max(expected, 0.0);
                if (with_residual) expected += residual[at];
                CHECK(std::abs(found[at] - expected) < 1e-5 * std::sqrt(s.in * s.kernel * s.kernel));
            }
        }
    }
    for (const int threads : {2, 3, 7}) CHECK(run_conv(set, task, {x.data(), s.width, s.height}, size, threads) == found);
}

void check_resampled_conv(const KernelSet& set, const Resampled& s) {
    constexpr int in = 6, between = 5;
    const Floats x = random_values(static_cast<std::size_t>(in) * s.width * s.height, 1), w = random_values(9 * in * between, 2);
    const Floats b = random_values(between, 3), v = random_values(between * 2, 4);
    const PositionTable table{random_values(static_cast<std::size_t>(in / 2) * s.to_width, 5),
                              random_values(static_cast<std::size_t>(in / 2) * s.to_height, 6)};
    const InterpolateTask resample{in, s.to_width, s.to_height, &table};
    const PackedConv conv = pack_conv(w.data(), b.data(), in, between, 3, 1), then = pack_conv(v.data(), nullptr, between, 2, 1, 1);
    const std::size_t pixels = static_cast<std::size_t>(s.to_width) * s.to_height;
    Floats kept(in * pixels), scratch(set.interpolate_scratch(resample, s.width));
    Pieces pieces(1, kNotCancelled);
    set.run_interpolate(resample, {x.data(), s.width, s.height}, kept.data(), scratch.data(), pieces.share(0));
    for (const PackedConv* last : {static_cast<const PackedConv*>(nullptr), &then}) {
        ConvTask task{&conv, false, true};
        task.then = last;
        const std::size_t size = (last != nullptr ? 2 : between) * pixels;
        const Floats expected = run_conv(set, task, {kept.data(), s.to_width, s.to_height}, size);
        task.resample = &resample;
        const Floats found = run_conv(set, task, {x.data(), s.width, s.height}, size);
        for (std::size_t i = 0; i < size; ++i) CHECK(std::abs(found[i] - expected[i]) < 1e-4);
        for (const int threads : {2, 3, 7}) CHECK(run_conv(set, task, {x.data(), s.width, s.height}, size, threads) == found);
    }
}

double exact_gelu(double x) {
    return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
}

Floats run_layer(const KernelSet& set, const MatrixView& weights, const Layer& s, const Floats& x, std::ptrdiff_t stride, bool gelu,
                 const GemmOperands& operands, int threads) {
    Floats y(static_cast<std::size_t>(s.rows) * s.out, -1e9f), arranged(set.arranged_gemm_floats(s.in, s.out));
    GemmTask task{weights, s.in, s.out, gelu, arranged.data()};
    da::ThreadPool pool(threads);
    Pieces pieces(threads, kNotCancelled);
    pool.run([&](int thread) {
        Floats scratch(set.arrange_gemm_scratch());
        set.arrange_gemm(task, arranged.data(), scratch.data(), pieces.share(thread));
    });
    pieces.restart();
    pool.run([&](int thread) { set.run_gemm(task, {x.data(), s.rows, stride}, operands, {y.data(), s.out}, pieces.share(thread)); });
    return y;
}

// The same in whole numbers of 24 bits, where the set has them.
static Floats run_sliced_layer(const KernelSet& set, const MatrixView& weights, const Layer& s, const Floats& x, std::ptrdiff_t stride,
                               bool gelu, const GemmOperands& operands, int threads) {
    return SlicedLayer(set, weights, s).run(x, stride, gelu, operands, threads);
}

SlicedLayer::SlicedLayer(const KernelSet& kernels, const MatrixView& weights, const Layer& layer)
    : set(kernels), shape(layer), panels(set.slices->packed_bytes(shape.in, shape.out), 0xAA) {
    Floats row(shape.in);
    Pieces pieces(1, kNotCancelled);
    set.slices->run_pack(weights, shape.in, shape.out, panels.data(), row.data(), pieces.share(0));
}

std::vector<std::uint8_t> SlicedLayer::slices(const Floats& x, std::ptrdiff_t stride) const {
    std::vector<std::uint8_t> tiles(set.slices->quantised_bytes(shape.in, shape.rows), 0xAA);
    Pieces pieces(1, kNotCancelled);
    set.slices->run_quantise({x.data(), shape.rows, stride}, shape.in, tiles.data(), pieces.share(0));
    return tiles;
}

Floats SlicedLayer::run(const Floats& x, std::ptrdiff_t stride, bool gelu, const GemmOperands& operands, int threads) const {
    Floats y(static_cast<std::size_t>(shape.rows) * shape.out, -1e9f);
    const std::vector<std::uint8_t> tiles = slices(x, stride);
    da::ThreadPool pool(threads);
    Pieces pieces(threads, kNotCancelled);
    pool.run([&](int thread) {
        Floats scratch(set.slices->gemm_scratch(shape.in));
        set.slices->run_gemm({panels.data(), shape.in, shape.out, gelu}, {tiles.data(), shape.rows}, operands, {y.data(), nullptr},
                             scratch.data(), pieces.share(thread));
    });
    return y;
}

using RunLayer = Floats(const KernelSet&, const MatrixView&, const Layer&, const Floats&, std::ptrdiff_t, bool, const GemmOperands&, int);

static void check_layer_by(RunLayer* run, const KernelSet& set, const Layer& s) {
    const std::ptrdiff_t stride = s.in + 5;  // rows of a larger tensor
    const Floats x = random_values(static_cast<std::size_t>(s.rows) * stride, 1),
                 w = random_values(static_cast<std::size_t>(s.in) * s.out, 2);
    const Floats bias = random_values(s.out, 3), scale = random_values(s.out, 4),
                 residual = random_values(static_cast<std::size_t>(s.rows) * s.out, 5);
    const MatrixView weights{w.data(), s.in * sizeof(float), 1, sizeof(float), nullptr};
    const Floats plain = run(set, weights, s, x, stride, false, {nullptr, nullptr, nullptr}, 1);
    const Floats full = run(set, weights, s, x, stride, true, {bias.data(), scale.data(), residual.data()}, 1);
    for (int r = 0; r < s.rows; ++r) {
        for (int n = 0; n < s.out; ++n) {
            double product = 0;
            for (int k = 0; k < s.in; ++k) product += static_cast<double>(x[r * stride + k]) * w[static_cast<std::size_t>(n) * s.in + k];
            const std::size_t at = static_cast<std::size_t>(r) * s.out + n;
            CHECK(std::abs(plain[at] - product) < 2e-6 * s.in);
            CHECK(std::abs(full[at] - (exact_gelu(product + bias[n]) * scale[n] + residual[at])) < 4e-6 * s.in + 1e-5);
        }
    }
    for (const int threads : {2, 3, 7}) {
        CHECK(run(set, weights, s, x, stride, true, {bias.data(), scale.data(), residual.data()}, threads) == full);
    }
}

void check_layer(const KernelSet& set, const Layer& s) {
    check_layer_by(run_layer, set, s);
    if (set.slices != nullptr) check_layer_by(run_sliced_layer, set, s);
}

Floats whole_attention(const AttentionKernels& kernels, const naive::Attention& c, int threads) {
    std::vector<std::uint8_t> prepared(kernels.prepared_bytes(c.task()), 0xAA);
    Floats found(static_cast<std::size_t>(c.tokens) * c.width(), -1e9f);
    da::ThreadPool pool(threads);
    Pieces pieces(threads, kNotCancelled);
    const auto run = [&](const auto& kernel) {
        pieces.restart();
        pool.run([&](int thread) {
            Floats scratch(kernels.scratch(c.task()));
            kernel(scratch.data(), pieces.share(thread));
        });
    };
    run([&](float* scratch, Share work) {
        kernels.run_prepare(c.task(), c.view(), c.head_norm(), c.head_norm(), c.turns(), prepared.data(), scratch, work);
    });
    run([&](float* scratch, Share work) {
        kernels.run_attention(c.task(), prepared.data(), {{found.data(), c.width()}, nullptr}, scratch, work);
    });
    return found;
}

void check_no_numbers(const std::function<Floats(const Layer&, const Floats&, const Floats&)>& run) {
    const Layer s{160, 8, 4};
    Floats w = random_values(static_cast<std::size_t>(s.in) * s.out, 1);
    Floats x = random_values(static_cast<std::size_t>(s.in) * s.rows, 2);
    x[0 * s.in + 7] = NAN;
    x[1 * s.in + 40] = INFINITY;
    std::fill(x.begin() + 2 * s.in, x.begin() + 3 * s.in, 0.0f);
    x[2 * s.in + 5] = 1e-41f;
    std::fill(x.begin() + 3 * s.in, x.end(), 1e36f);
    const Floats y = run(s, w, x);
    for (int n = 0; n < s.out; ++n) {
        CHECK(!std::isfinite(y[0 * s.out + n]) && !std::isfinite(y[1 * s.out + n]));
        CHECK(std::abs(y[2 * s.out + n]) < 1e-37f);
        CHECK(std::isfinite(y[3 * s.out + n]));
    }
    // Weights, and x without the two.
    w[1 * s.in + 7] = NAN;
    w[2 * s.in + 100] = INFINITY;
    std::fill(w.begin() + 3 * s.in, w.begin() + 4 * s.in, 0.0f);
    w[3 * s.in + 5] = 1e-41f;
    x = random_values(x.size(), 2);
    const Floats z = run(s, w, x);
    for (int r = 0; r < s.rows; ++r) {
        CHECK(std::isfinite(z[r * s.out]));
        CHECK(!std::isfinite(z[r * s.out + 1]) && !std::isfinite(z[r * s.out + 2]));
        CHECK(std::abs(z[r * s.out + 3]) < 1e-37f);
    }
}

void check_attention(const KernelSet& set, const naive::Attention& c) {
    const AttentionTask task = c.task();
    const std::vector<double> expected = c.result();
    Floats prepared(set.prepared_floats(task)), found(expected.size()), scratch(set.attention_scratch(task));
    Pieces pieces(1, kNotCancelled);
    set.run_prepare(task, c.view(), c.head_norm(), c.head_norm(), c.turns(), prepared.data(), pieces.share(0));
    pieces.restart();
    set.run_attention(task, prepared.data(), {found.data(), c.width()}, scratch.data(), pieces.share(0));
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(found[i] - expected[i]) < 2e-5);
    if (set.slices == nullptr) return;
    const auto check = [&](const AttentionKernels& kernels, double bound) {
        const Floats sliced = whole_attention(kernels, c, 1);
        for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(sliced[i] - expected[i]) < bound);
        for (const int threads : {2, 3, 7}) CHECK(whole_attention(kernels, c, threads) == sliced);
    };
    check(*set.sliced_attention, 2e-5);
    check(*set.integer_attention, 256 * 2e-5);  // of one slice less
}

}  // namespace kernel_checks
