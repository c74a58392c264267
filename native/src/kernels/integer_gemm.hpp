// The linear layer of gemm.hpp in small integers: blocks of 32 weights and spans of activations have a scale each; products are summed
// exactly in 32 bits within a span, and in floats from span to span.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/gemm.hpp"
#include "kernels/quantise.hpp"

namespace da::kernels {

// Weights in 8 bits, in panels of columns: [panel][block], each block its scales and [group of depths][column][depth].
struct IntegerTask {
    const std::uint8_t* panels;
    int in, out;  // in: a multiple of kBlock
    bool gelu;
};

// Bytes of the panels of a layer.
using PackedBytes = std::size_t(int in, int out);

// Packs them. scratch: a row of floats. One thread's share; see RunConv.
using RunPack = void(const MatrixView& weights, int in, int out, std::uint8_t* panels, float* scratch, Share work);

// Where results go: rows of floats [count][out], or quantised rows (then out is a multiple of kBlock).
struct IntegerResult {
    float* values;
    std::uint8_t* quantised;
};

// Floats of scratch for a thread.
using IntegerGemmScratch = std::size_t(int in);

// One thread's share; see RunConv.
using RunIntegerGemm = void(const IntegerTask& task, QuantisedView x, const GemmOperands& operands, const IntegerResult& result,
                            float* scratch, Share work);

}  // namespace da::kernels
