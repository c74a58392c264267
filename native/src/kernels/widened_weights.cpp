#include "kernels/widened_weights.hpp"

#include "kernels/integer_tile.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr float kOne = 32768.0f;  // of factors, see widened

// Shares of a whole as 16-bit factors, twice in each lane: the numbers of a group are two.
IntVector factors_of(const Vector& shares) {
    const IntVector whole = __builtin_convertvector(least(shares * kOne, broadcast(kOne - 1.0f)), IntVector);
    return (whole & 0xffff) | whole << 16;
}

}  // namespace

void widen_panel(int in, const std::uint8_t* stored, std::uint8_t* panel) {
    constexpr std::size_t vector_bytes = kLanes * kGroup;
    for (int k = 0; k < in; k += kSpan) {
        const int blocks = span_length(in - k) / kBlock;
        std::uint8_t* groups = panel + kPanelScales;
        for (int v = 0; v < kDotVectors; ++v) {
            const Vector scale = largest_scale(stored + v * sizeof(Vector), blocks);
            store(reinterpret_cast<float*>(panel) + v * kLanes, scale * (1.0f / kFiner));
            for (int b = 0; b < blocks; ++b) {
                const std::uint8_t* block = stored + b * kBlockBytes;
                const IntVector factors = factors_of(value_at<Vector>(block + v * sizeof(Vector)) / no_less(scale, broadcast(1e-37f)));
                for (int g = 0; g < kBlock / kGroup; ++g) {
                    const IntVector wide = widened(block + kPanelScales + g * kGroupBytes + v * vector_bytes, factors);
                    std::memcpy(groups + ((b * kBlock / kGroup + g) * kDotVectors + v) * sizeof(IntVector), &wide, sizeof(wide));
                }
            }
        }
        stored += blocks * kBlockBytes;
        panel = groups + blocks * (kBlock / kGroup) * kDotVectors * sizeof(IntVector);
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
