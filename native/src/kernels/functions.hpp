// The kernels of the instruction set that the including file is compiled for (see KernelSet for what they are).
#pragma once

#include "kernels/kernel_set.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

RunGelu run_gelu;
ArrangedGemmFloats arranged_gemm_floats;
GemmScratch arrange_gemm_scratch;
ArrangeGemm arrange_gemm;
RunGemm run_gemm;
AttentionFloats prepared_floats, attention_scratch;
RunPrepare run_prepare;
RunAttention run_attention;
RunNorm run_norm;
RunPeak run_peak;
QuantisedBytes quantised_bytes;
RunQuantise run_quantise;
RunQuantisedNorm run_quantised_norm;
PackedBytes packed_bytes;
RunPack run_pack;
IntegerGemmScratch integer_gemm_scratch;
RunIntegerGemm run_integer_gemm;
PreparedBytes integer_prepared_bytes;
AttentionFloats integer_attention_scratch;
RunIntegerPrepare run_integer_prepare;
RunIntegerAttention run_integer_attention;
ConvScratch conv_scratch;
ArrangeConv arrange_conv;
RunConv run_conv;
InterpolateScratch interpolate_scratch;
RunInterpolate run_interpolate;

// In slices, see slices.hpp: of quantised files, and of others.
extern const LayerKernels kSlicedIntegers, kSlicedFloats;
extern const AttentionKernels kSlicedIntegerAttention, kSlicedFloatAttention;

}  // namespace da::kernels::DA_INSTRUCTION_SET
