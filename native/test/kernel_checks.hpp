// Each kernel alone against a naive reference in double precision; the checks throw when it is wrong.
#pragma once

#include <functional>
#include <vector>

#include "kernels/kernel_set.hpp"
#include "naive_attention.hpp"

namespace kernel_checks {

using da::kernels::KernelSet;
using Floats = std::vector<float>;

inline const std::atomic<bool> kNotCancelled{false};

// Normally distributed.
Floats random_values(std::size_t count, unsigned seed, float deviation = 1.0f);

double exact_gelu(double x);

struct ConvShape {
    int in, out, kernel, stride, width, height;
};

Floats run_conv(const KernelSet& set, da::kernels::ConvTask task, da::kernels::MapView input, std::size_t size, int threads = 1);

// Also that the result does not depend on the number of threads.
void check_conv(const KernelSet& set, const ConvShape& shape, bool relu_input, bool relu_output, bool with_residual);

// Of a map, and of what it is resampled to.
struct Resampled {
    int width, height, to_width, to_height;
};

// A convolution that resamples its input on the way, with and without a 1x1 one after it, against the three one after the other.
void check_resampled_conv(const KernelSet& set, const Resampled& shape);

struct Layer {
    int in, out, rows;
};

Floats run_layer(const KernelSet& set, const da::kernels::MatrixView& weights, const Layer& layer, const Floats& x, std::ptrdiff_t stride,
                 bool gelu, const da::kernels::GemmOperands& operands, int threads);

// A layer in whole numbers of 24 bits, for sets that have them. In memory without a byte to spare.
struct SlicedLayer {
    const KernelSet& set;
    Layer shape;
    std::vector<std::uint8_t> panels;

    SlicedLayer(const KernelSet& kernels, const da::kernels::MatrixView& weights, const Layer& layer);
    std::vector<std::uint8_t> slices(const Floats& x, std::ptrdiff_t stride) const;
    Floats run(const Floats& x, std::ptrdiff_t stride, bool gelu, const da::kernels::GemmOperands& operands, int threads) const;
};

// By kernels of whole numbers.
Floats whole_attention(const da::kernels::AttentionKernels& kernels, const naive::Attention& attention, int threads);

// In floats, and in slices where the set has them. Also that the result does not depend on the number of threads.
void check_layer(const KernelSet& set, const Layer& layer);

// That a layer of whole numbers swallows no NaN or infinity of a row or a column, and takes what is hardly anything for nothing.
// run: the layer alone, of weights [out][in] and rows [rows][in].
void check_no_numbers(const std::function<Floats(const Layer& layer, const Floats& weights, const Floats& rows)>& run);

void check_attention(const KernelSet& set, const naive::Attention& attention);

}  // namespace kernel_checks
