#include "kernels/functions.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

extern const KernelSet kKernels;
const KernelSet kKernels = {
    DA_INSTRUCTION_SET_NAME, run_gelu, gemm_scratch, run_gemm, prepared_floats,     attention_scratch, run_prepare,
    run_attention,           run_norm, conv_scratch, run_conv, interpolate_scratch, run_interpolate,
};

}  // namespace da::kernels::DA_INSTRUCTION_SET
