// Rows of a stored matrix as floats.
#pragma once

#include "kernels/gemm.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

// Values [k0, k0 + depth) of one row of W; decoded into `row` where they are stored as something else than floats.
inline const float* weight_row(const MatrixView& w, int index, int k0, int depth, float* row) {
    const auto* start = static_cast<const std::uint8_t*>(w.data) + static_cast<std::size_t>(index) * w.row_bytes +
                        static_cast<std::size_t>(k0 / w.block_values) * w.block_bytes;
    if (w.to_float == nullptr) return reinterpret_cast<const float*>(start);
    w.to_float(start, row, depth);
    return row;
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
