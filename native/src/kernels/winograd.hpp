// What run_conv does for convolutions that PackedConv calls minimal; see winograd.cpp.
#pragma once

#include "kernels/conv.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

ConvScratch winograd_scratch;
RunConv run_winograd;

}  // namespace da::kernels::DA_INSTRUCTION_SET
