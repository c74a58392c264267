// What follows a product while its result is still in registers.
#pragma once

#include <cstddef>

#include "kernels/gemm.hpp"
#include "kernels/vector_math.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

// `count` columns from `column` on; at: of the first in the rows of the residual.
inline Vector finished(bool with_gelu, const GemmOperands& operands, Vector value, int column, std::size_t at, int count) {
    if (operands.bias != nullptr) value += load_some(operands.bias + column, count);
    if (with_gelu) value = gelu(value);
    if (operands.scale != nullptr) value *= load_some(operands.scale + column, count);
    if (operands.residual != nullptr) value += load_some(operands.residual + at, count);
    return value;
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
