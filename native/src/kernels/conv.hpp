// Two-dimensional convolution of a planar map, with everything that surrounds one in the DPT head folded in.
//
// Maps are planar: value (c, y, x) at [(c * height + y) * width + x]. The weights are packed once, in groups of kConvGroup output channels
// that a micro-kernel holds in registers for some neighbouring pixels. Input is copied tile by tile into padded scratch that stays in the
// cache.
#pragma once

#include <vector>

#include "kernels/interpolate.hpp"

namespace da::kernels {

constexpr int kConvGroup = 8;

inline int conv_groups(int channels) {
    return (channels + kConvGroup - 1) / kConvGroup;
}

// Weights of one convolution in the order of the micro-kernel.
struct PackedConv {
    int in_channels = 0;
    int out_channels = 0;  // as computed: shuffle * shuffle times the channels of the result
    int kernel = 1;
    int stride = 1;
    int padding = 0;
    int shuffle = 1;             // a transposed convolution of stride = kernel is a 1x1 one whose channels become pixels
    bool minimal = false;        // 3x3 of stride 1: by minimal filtering, with the weights arranged when it runs
    std::vector<float> weights;  // [group][in_channel][ky][kx][kConvGroup]; of minimal ones [out_channel][ky][kx][in_channel]
    std::vector<float> bias;     // [out_channels rounded up to groups]
};

// weights: [out][in][kernel][kernel] as PyTorch has it; bias: [out] or nullptr for none.
PackedConv pack_conv(const float* weights, const float* bias, int in_channels, int out_channels, int kernel, int stride);

// weights: [in][out][kernel][kernel] of a transposed convolution with stride = kernel; bias: [out].
PackedConv pack_transposed_conv(const float* weights, const float* bias, int in_channels, int out_channels, int kernel);

struct ConvTask {
    const PackedConv* conv = nullptr;
    bool relu_input = false;
    bool relu_output = false;
    const float* residual = nullptr;  // added to the result (same extent), or nullptr
    const float* arranged = nullptr;  // of a minimal one: the weights as ArrangeConv has made them
    // Of a minimal one only:
    const PackedConv* then = nullptr;           // a 1x1 convolution of the result, which is not kept
    const InterpolateTask* resample = nullptr;  // what happens to the input first; the resampled map is not kept
};

// Floats of the arranged weights of a minimal convolution, four times those of the packed ones: they live while it runs.
std::size_t arranged_floats(const PackedConv& conv);

// One thread's share of arranging them; see RunConv.
using ArrangeConv = void(const PackedConv& conv, float* arranged, Share work);

// Extent of the result.
int conv_extent(const PackedConv& conv, int input);

// Floats of scratch that one thread needs.
using ConvScratch = std::size_t(const ConvTask& task, int input_width);

// One thread's share: takes pieces until none is left. Any number of threads may take part; results do not depend on it.
using RunConv = void(const ConvTask& task, MapView input, float* output, float* scratch, Share work);

}  // namespace da::kernels
