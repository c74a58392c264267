// The kernels of one instruction set as a table of functions. The same sources are compiled once for each set that the target processor may
// have (see README.md); which of them runs is chosen when a backend is made.
#pragma once

#include <string>
#include <vector>

#include "kernels/activation.hpp"
#include "kernels/attention.hpp"
#include "kernels/conv.hpp"
#include "kernels/gemm.hpp"
#include "kernels/integer_attention.hpp"
#include "kernels/integer_gemm.hpp"
#include "kernels/interpolate.hpp"
#include "kernels/norm.hpp"
#include "kernels/peak.hpp"

namespace da::kernels {

// A linear layer whose rows and weights are whole numbers, with what makes them from floats.
struct LayerKernels {
    QuantisedBytes* quantised_bytes;
    RunQuantise* run_quantise;
    RunQuantisedNorm* run_quantised_norm;
    PackedBytes* packed_bytes;
    RunPack* run_pack;
    IntegerGemmScratch* gemm_scratch;
    RunIntegerGemm* run_gemm;
    bool quantised_results;  // run_gemm can quantise what it gives
};

// Attention whose both products are of whole numbers.
struct AttentionKernels {
    PreparedBytes* prepared_bytes;
    AttentionFloats* scratch;
    RunIntegerPrepare* run_prepare;
    RunIntegerAttention* run_attention;
    bool quantised_results;
};

struct KernelSet {
    const char* name;
    RunGelu* run_gelu;
    ArrangedGemmFloats* arranged_gemm_floats;
    GemmScratch* arrange_gemm_scratch;
    ArrangeGemm* arrange_gemm;
    RunGemm* run_gemm;
    AttentionFloats *prepared_floats, *attention_scratch;
    RunPrepare* run_prepare;
    RunAttention* run_attention;
    RunNorm* run_norm;
    RunPeak* run_peak;
    ConvScratch* conv_scratch;
    ArrangeConv* arrange_conv;
    RunConv* run_conv;
    InterpolateScratch* interpolate_scratch;
    RunInterpolate* run_interpolate;
    bool fast_integers;            // integers, as below, are faster than floats
    int largest_activation, span;  // quantised activations are whole numbers from minus to plus this; a span shares a scale
    const LayerKernels* integers;  // of quantised files
    const LayerKernels* slices;    // floats as whole numbers of 24 bits, see slices.hpp
    const AttentionKernels *integer_attention, *sliced_attention;  // these and `slices`: nullptr where floats are faster
};

// Those of this build that this processor can run, the best one first.
std::vector<const KernelSet*> usable_kernel_sets();

// The usable set of that name; empty: the best one. Throws Error("device.unavailable") where there is none.
const KernelSet& kernel_set(const std::string& name);

}  // namespace da::kernels
