#include <algorithm>

#include "kernels/functions.hpp"
#include "kernels/resampler.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr int kRowsPerTask = 16;

}  // namespace

std::size_t interpolate_scratch(const InterpolateTask& task, int input_width) {
    return Resampler::scratch_floats(input_width, task.width);
}

void run_interpolate(const InterpolateTask& task, MapView input, float* output, float* scratch, Share work) {
    Resampler resampler(task, input, task.width, scratch);
    resampler.select(0, task.width);
    const int bands = (task.height + kRowsPerTask - 1) / kRowsPerTask;
    for (int i = work.next(bands * task.channels); i < bands * task.channels; i = work.next(bands * task.channels)) {
        const int channel = i / bands, top = i % bands * kRowsPerTask;
        float* target = output + static_cast<std::size_t>(channel) * task.width * task.height;
        for (int y = top; y < std::min(top + kRowsPerTask, task.height); ++y)
            resampler.row(channel, y, target + static_cast<std::size_t>(y) * task.width);
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
