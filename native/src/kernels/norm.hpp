// LayerNorm over the channels of each row.
#pragma once

#include "kernels/gemm.hpp"

namespace da::kernels {

struct NormTask {
    int channels = 0;
    float eps = 0;
};

// y: [count][channels]. One thread's share; see RunConv.
using RunNorm = void(const NormTask& task, RowsView x, const float* weight, const float* bias, RowsTarget y, Share work);

}  // namespace da::kernels
