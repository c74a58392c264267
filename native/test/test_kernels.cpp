// Each kernel alone against a naive reference in double precision, on odd sizes.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "check.hpp"
#include "kernel_checks.hpp"

using namespace kernel_checks;
using da::kernels::ConvTask;
using da::kernels::MapView;
using da::kernels::PackedConv;
using da::kernels::Pieces;

KERNEL_TEST(kernels, conv_of_odd_sizes) {
    for (const ConvShape& shape :
         {ConvShape{3, 7, 3, 1, 17, 9}, ConvShape{5, 6, 3, 1, 1, 1}, ConvShape{4, 13, 3, 2, 19, 11}, ConvShape{2, 3, 3, 2, 2, 1},
          ConvShape{9, 2, 1, 1, 33, 5}, ConvShape{1, 1, 3, 1, 97, 3}, ConvShape{8, 12, 3, 1, 200, 6}, ConvShape{20, 30, 3, 1, 144, 13},
          ConvShape{70, 5, 3, 1, 72, 10}, ConvShape{17, 25, 3, 1, 34, 3}, ConvShape{13, 9, 3, 1, 36, 24}, ConvShape{6, 14, 3, 1, 18, 31},
          ConvShape{33, 4, 3, 1, 173, 5}}) {
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
        const Floats found = run_conv(set, {&conv, false, false, nullptr}, {x.data(), width, height},
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
    CHECK(run_conv(set, {&conv, false, false, nullptr}, {x.data(), 4, 1}, 4) == x);
}

KERNEL_TEST(kernels, interpolation_with_aligned_corners) {
    constexpr int channels = 4, width = 5, height = 3;
    const Floats x = random_values(channels * width * height, 1);
    for (const auto& [to_width, to_height] : {std::pair{9, 5}, std::pair{5, 3}, std::pair{1, 1}, std::pair{16, 40}}) {
        da::kernels::PositionTable table{random_values(static_cast<std::size_t>(channels / 2) * to_width, 2),
                                         random_values(static_cast<std::size_t>(channels / 2) * to_height, 3)};
        Floats output(static_cast<std::size_t>(channels) * to_width * to_height),
            scratch(set.interpolate_scratch({channels, to_width, to_height, nullptr}, width));
        Pieces pieces(1, kNotCancelled);
        set.run_interpolate({channels, to_width, to_height, &table}, {x.data(), width, height}, output.data(), scratch.data(),
                            pieces.share(0));
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

// What is between the two is the same as when it is kept.
KERNEL_TEST(kernels, a_convolution_goes_into_the_1x1_one_after_it) {
    for (const auto& [width, height, last] : {std::array{1, 1, 1}, std::array{37, 9, 2}, std::array{130, 6, 38}}) {
        const int in = 5, between = 11;
        const Floats x = random_values(static_cast<std::size_t>(in) * width * height, 1), w = random_values(9 * in * between, 2),
                     b = random_values(between, 3), v = random_values(static_cast<std::size_t>(between) * last, 4),
                     c = random_values(last, 5);
        const PackedConv first = da::kernels::pack_conv(w.data(), b.data(), in, between, 3, 1),
                         second = da::kernels::pack_conv(v.data(), c.data(), between, last, 1, 1);
        const std::size_t pixels = static_cast<std::size_t>(width) * height;
        const Floats kept = run_conv(set, {&first, false, true}, {x.data(), width, height}, between * pixels);
        const Floats expected = run_conv(set, {&second}, {kept.data(), width, height}, last * pixels);
        ConvTask both{&first, false, true};
        both.then = &second;
        CHECK(run_conv(set, both, {x.data(), width, height}, last * pixels) == expected);
    }
}

// Maps that become larger, smaller, or keep their size.
KERNEL_TEST(kernels, a_resampling_goes_into_the_convolution_after_it) {
    for (const Resampled& shape : {Resampled{1, 1, 1, 1}, Resampled{8, 5, 14, 9}, Resampled{150, 7, 262, 12}, Resampled{40, 90, 21, 37},
                                   Resampled{19, 6, 19, 6}, Resampled{72, 3, 125, 40}})
        check_resampled_conv(set, shape);
}

KERNEL_TEST(kernels, a_cancelled_kernel_does_nothing) {
    const Floats x(16, 1.0f), w = {1.0f};
    const PackedConv conv = da::kernels::pack_conv(w.data(), nullptr, 1, 1, 1, 1);
    const ConvTask task{&conv, false, false, nullptr};
    Floats output(16, -1.0f), scratch(set.conv_scratch(task, 16));
    const std::atomic<bool> cancelled{true};
    Pieces pieces(1, cancelled);
    set.run_conv(task, {x.data(), 16, 1}, output.data(), scratch.data(), pieces.share(0));
    CHECK(output == Floats(16, -1.0f));
}
