#include "kernels/functions.hpp"
#if defined(DA_TILES)
#include "kernels/slices.hpp"
#else
#include "kernels/dot.hpp"
#endif

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

#if defined(DA_TILES)
constexpr bool kFast = true;
constexpr int kMostOfActivations = kLargestSliced<kOfIntegers>, kLongest = kLongestSpan;
constexpr const LayerKernels *kIntegers = &kSlicedIntegers, *kSlices = &kSlicedFloats;
constexpr const AttentionKernels *kIntegerAttention = &kSlicedIntegerAttention, *kSlicedAttention = &kSlicedFloatAttention;
#else
constexpr bool kFast = kFastIntegers;
constexpr int kMostOfActivations = kLargestActivation, kLongest = kSpan;
constexpr LayerKernels kLayers = {quantised_bytes, run_quantise,         run_quantised_norm, packed_bytes,
                                  run_pack,        integer_gemm_scratch, run_integer_gemm,   true};
constexpr AttentionKernels kAttention = kFastIntegerAttention ? AttentionKernels{integer_prepared_bytes, integer_attention_scratch,
                                                                                 run_integer_prepare, run_integer_attention, true}
                                                              : AttentionKernels{};
constexpr const LayerKernels *kIntegers = &kLayers, *kSlices = nullptr;
constexpr const AttentionKernels *kIntegerAttention = kFastIntegerAttention ? &kAttention : nullptr, *kSlicedAttention = nullptr;
#endif

}  // namespace

extern const KernelSet kKernels;
const KernelSet kKernels = {
    DA_INSTRUCTION_SET_NAME,
    run_gelu,
    arranged_gemm_floats,
    arrange_gemm_scratch,
    arrange_gemm,
    run_gemm,
    prepared_floats,
    attention_scratch,
    run_prepare,
    run_attention,
    run_norm,
    run_peak,
    conv_scratch,
    arrange_conv,
    run_conv,
    interpolate_scratch,
    run_interpolate,
    kFast,
    kMostOfActivations,
    kLongest,
    kIntegers,
    kSlices,
    kIntegerAttention,
    kSlicedAttention,
};

}  // namespace da::kernels::DA_INSTRUCTION_SET
