#include "kernels/dot.hpp"
#include "kernels/functions.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr AttentionKernels kIntegerAttention = kFastIntegerAttention ? AttentionKernels{integer_prepared_bytes, integer_attention_scratch,
                                                                                        run_integer_prepare, run_integer_attention, true}
                                                                     : AttentionKernels{};
#if defined(DA_TILES)
constexpr bool kFastSlices = true;
constexpr LayerKernels kSlicedLayers = {sliced_bytes,      run_slice,           run_sliced_norm, sliced_panel_bytes,
                                        run_slice_weights, sliced_gemm_scratch, run_sliced_gemm, false};
constexpr AttentionKernels kSlicedAttention = {sliced_prepared_bytes, sliced_attention_scratch, run_sliced_prepare, run_sliced_attention,
                                               false};
#else
constexpr bool kFastSlices = false;
constexpr LayerKernels kSlicedLayers = {};
constexpr AttentionKernels kSlicedAttention = {};
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
    kFastIntegers,
    kFastIntegerAttention,
    kLargestActivation,
    kSpan,
    {quantised_bytes, run_quantise, run_quantised_norm, packed_bytes, run_pack, integer_gemm_scratch, run_integer_gemm, true},
    kFastSlices,
    kSlicedLayers,
    kIntegerAttention,
    kSlicedAttention,
};

}  // namespace da::kernels::DA_INSTRUCTION_SET
