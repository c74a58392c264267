// What does not depend on the instruction set.
#include <algorithm>

#include "kernels/conv.hpp"

namespace da::kernels {

namespace {

// Fills the packed order from a function (out, in, ky, kx) -> weight.
template <typename WeightAt>
void fill_packed(PackedConv& conv, const WeightAt& weight_at) {
    const int groups = conv_groups(conv.out_channels);
    conv.weights.assign(static_cast<std::size_t>(groups) * conv.in_channels * conv.kernel * conv.kernel * kConvGroup, 0.0f);
    conv.bias.assign(static_cast<std::size_t>(groups) * kConvGroup, 0.0f);
    float* target = conv.weights.data();
    for (int g = 0; g < groups; ++g) {
        for (int c = 0; c < conv.in_channels; ++c) {
            for (int k = 0; k < conv.kernel * conv.kernel; ++k) {
                for (int o = g * kConvGroup; o < (g + 1) * kConvGroup; ++o) *target++ = o < conv.out_channels ? weight_at(o, c, k) : 0.0f;
            }
        }
    }
}

}  // namespace

PackedConv pack_conv(const float* weights, const float* bias, int in_channels, int out_channels, int kernel, int stride) {
    PackedConv conv{in_channels, out_channels, kernel, stride, kernel / 2, 1, kernel == 3 && stride == 1, {}, {}};
    const std::size_t taps = static_cast<std::size_t>(kernel) * kernel;
    if (conv.minimal) {
        conv.weights.resize(static_cast<std::size_t>(out_channels) * in_channels * taps);
        for (int o = 0; o < out_channels; ++o) {
            const float* source = weights + static_cast<std::size_t>(o) * in_channels * taps;
            float* target = conv.weights.data() + static_cast<std::size_t>(o) * in_channels * taps;
            for (int c = 0; c < in_channels; ++c) {
                for (std::size_t k = 0; k < taps; ++k) target[k * in_channels + c] = source[c * taps + k];
            }
        }
        conv.bias.assign(out_channels, 0.0f);
    } else
        fill_packed(conv, [&](int o, int c, int k) { return weights[(static_cast<std::size_t>(o) * in_channels + c) * taps + k]; });
    if (bias != nullptr) std::copy(bias, bias + out_channels, conv.bias.begin());
    return conv;
}

PackedConv pack_transposed_conv(const float* weights, const float* bias, int in_channels, int out_channels, int kernel) {
    const int taps = kernel * kernel;
    PackedConv conv{in_channels, out_channels * taps, 1, 1, 0, kernel, false, {}, {}};
    fill_packed(conv, [&](int o, int c, int) { return weights[static_cast<std::size_t>(c) * out_channels * taps + o]; });
    for (int o = 0; o < out_channels * taps; ++o) conv.bias[o] = bias[o / taps];
    return conv;
}

std::size_t arranged_floats(const PackedConv& conv) {
    return conv.minimal ? 36 * static_cast<std::size_t>(conv.in_channels) * conv.out_channels : 0;
}

int conv_extent(const PackedConv& conv, int input) {
    return ((input + 2 * conv.padding - conv.kernel) / conv.stride + 1) * conv.shuffle;
}

}  // namespace da::kernels
