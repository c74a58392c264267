// Each kernel alone against a naive reference in double precision, on odd sizes.
#include <algorithm>
#include <cmath>
#include <random>

#include "check.hpp"
#include "kernels/kernel_set.hpp"

namespace {

using da::kernels::ConvTask;
using da::kernels::KernelSet;
using da::kernels::MapView;
using da::kernels::PackedConv;
using Floats = std::vector<float>;

Floats random_values(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    Floats values(count);
    for (float& value : values) value = normal(random);
    return values;
}

const std::atomic<bool> kNotCancelled{false};

Floats run(const KernelSet& set, const ConvTask& task, MapView input, std::size_t size) {
    Floats output(size, -1e9f), scratch(set.conv_scratch(*task.conv, da::kernels::conv_extent(*task.conv, input.width)));
    std::atomic<int> next{0};
    set.run_conv(task, input, output.data(), scratch.data(), next, kNotCancelled);
    return output;
}

struct Shape {
    int in, out, kernel, stride, width, height;
};

double naive(const Shape& s, const Floats& x, const Floats& w, bool relu, int o, int oy, int ox) {
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

void check_conv(const KernelSet& set, const Shape& s, bool relu_input, bool relu_output, bool with_residual) {
    const Floats x = random_values(static_cast<std::size_t>(s.in) * s.width * s.height, 1);
    const Floats w = random_values(static_cast<std::size_t>(s.out) * s.in * s.kernel * s.kernel, 2), bias = random_values(s.out, 3);
    const PackedConv conv = da::kernels::pack_conv(w.data(), bias.data(), s.in, s.out, s.kernel, s.stride);
    const int width = da::kernels::conv_extent(conv, s.width), height = da::kernels::conv_extent(conv, s.height);
    const std::size_t size = static_cast<std::size_t>(s.out) * width * height;
    const Floats residual = random_values(size, 4);
    const Floats found =
        run(set, {&conv, relu_input, relu_output, with_residual ? residual.data() : nullptr}, {x.data(), s.width, s.height}, size);
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
}

}  // namespace

KERNEL_TEST(kernels, conv_of_odd_sizes) {
    for (const Shape& shape : {Shape{3, 7, 3, 1, 17, 9}, Shape{5, 6, 3, 1, 1, 1}, Shape{4, 13, 3, 2, 19, 11}, Shape{2, 3, 3, 2, 2, 1},
                               Shape{9, 2, 1, 1, 33, 5}, Shape{1, 1, 3, 1, 97, 3}, Shape{8, 12, 3, 1, 200, 6}}) {
        check_conv(set, shape, false, false, false);
        check_conv(set, shape, true, false, true);
        check_conv(set, shape, false, true, false);
    }
}

KERNEL_TEST(kernels, transposed_conv_is_its_definition) {
    constexpr int in = 3, out = 5, width = 7, height = 4;
    for (const int kernel : {2, 4}) {
        const Floats x = random_values(in * width * height, 1), w = random_values(static_cast<std::size_t>(in) * out * kernel * kernel, 2);
        const Floats bias = random_values(out, 3);
        const PackedConv conv = da::kernels::pack_transposed_conv(w.data(), bias.data(), in, out, kernel);
        const Floats found = run(set, {&conv, false, false, nullptr}, {x.data(), width, height},
                                 static_cast<std::size_t>(out) * width * height * kernel * kernel);
        for (int o = 0; o < out; ++o) {
            for (int y = 0; y < height * kernel; ++y) {
                for (int xx = 0; xx < width * kernel; ++xx) {
                    double expected = bias[o];
                    for (int c = 0; c < in; ++c) {
                        expected += static_cast<double>(x[(c * height + y / kernel) * width + xx / kernel]) *
                                    w[((c * out + o) * kernel + y % kernel) * kernel + xx % kernel];
                    }
                    CHECK(std::abs(found[(static_cast<std::size_t>(o) * height * kernel + y) * width * kernel + xx] - expected) < 1e-5);
                }
            }
        }
    }
}

KERNEL_TEST(kernels, conv_of_large_and_tiny_values) {
    const Floats x = {1e30f, -1e-30f, 0.0f, 3.0f}, w = {1.0f};
    const PackedConv conv = da::kernels::pack_conv(w.data(), nullptr, 1, 1, 1, 1);
    CHECK(run(set, {&conv, false, false, nullptr}, {x.data(), 4, 1}, 4) == x);
}

KERNEL_TEST(kernels, interpolation_with_aligned_corners) {
    constexpr int channels = 4, width = 5, height = 3;
    const Floats x = random_values(channels * width * height, 1);
    for (const auto& [to_width, to_height] : {std::pair{9, 5}, std::pair{5, 3}, std::pair{1, 1}, std::pair{16, 40}}) {
        da::kernels::PositionTable table{random_values(static_cast<std::size_t>(channels / 2) * to_width, 2),
                                         random_values(static_cast<std::size_t>(channels / 2) * to_height, 3)};
        Floats output(static_cast<std::size_t>(channels) * to_width * to_height),
            scratch(set.interpolate_scratch({channels, to_width, to_height, nullptr}, width));
        std::atomic<int> next{0};
        set.run_interpolate({channels, to_width, to_height, &table}, {x.data(), width, height}, output.data(), scratch.data(), next,
                            kNotCancelled);
        for (int c = 0; c < channels; ++c) {
            for (int v = 0; v < to_height; ++v) {
                for (int u = 0; u < to_width; ++u) {
                    const double sy = to_height > 1 ? v * (height - 1.0) / (to_height - 1) : 0,
                                 sx = to_width > 1 ? u * (width - 1.0) / (to_width - 1) : 0;
                    const auto at = [&](double yy, double xx) {
                        return static_cast<double>(x[(c * height + std::min(static_cast<int>(yy), height - 1)) * width +
                                                     std::min(static_cast<int>(xx), width - 1)]);
                    };
                    const double fy = sy - std::floor(sy), fx = sx - std::floor(sx);
                    double expected = (1 - fy) * ((1 - fx) * at(sy, sx) + fx * at(sy, sx + 1)) +
                                      fy * ((1 - fx) * at(sy + 1, sx) + fx * at(sy + 1, sx + 1));
                    expected += c < channels / 2 ? table.x[c * to_width + u] : table.y[(c - channels / 2) * to_height + v];
                    CHECK(std::abs(output[(static_cast<std::size_t>(c) * to_height + v) * to_width + u] - expected) < 2e-5);
                }
            }
        }
    }
}

KERNEL_TEST(kernels, a_cancelled_kernel_does_nothing) {
    const Floats x(16, 1.0f), w = {1.0f};
    const PackedConv conv = da::kernels::pack_conv(w.data(), nullptr, 1, 1, 1, 1);
    Floats output(16, -1.0f), scratch(set.conv_scratch(conv, 16));
    std::atomic<int> next{0};
    const std::atomic<bool> cancelled{true};
    set.run_conv({&conv, false, false, nullptr}, {x.data(), 16, 1}, output.data(), scratch.data(), next, cancelled);
    CHECK(output == Floats(16, -1.0f));
}
