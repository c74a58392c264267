// How the resampling kernel is told what to do.
#pragma once

#include "nn.hpp"

namespace da {

// The table is that of `to`.
inline kernels::InterpolateTask interpolate_task(const Resampling& to, int channels) {
    return {channels, to.width, to.height, to.table.x.empty() ? nullptr : &to.table};
}

}  // namespace da
