#include <algorithm>
#include <new>

#include "kernels/functions.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

namespace {

constexpr int kRowsPerTask = 16;

// Source position of output coordinate i: index of the left neighbour and the weight of the right one.
struct Position {
    int index, next;
    float weight;
};

// PyTorch's upsample_bilinear2d with align_corners: the scale and the product in float32.
Position position(int i, int input, int output) {
    const float scale = output > 1 ? static_cast<float>(input - 1) / static_cast<float>(output - 1) : 0.0f;
    const float real = scale * static_cast<float>(i);
    const int index = std::min(static_cast<int>(real), input - 1);
    return {index, std::min(index + 1, input - 1), real - static_cast<float>(index)};
}

void interpolate_row(const InterpolateTask& task, const float* plane, MapView input, int channel, int y, const Position* columns,
                     float* mixed, float* output) {
    const Position row = position(y, input.height, task.height);
    const float* above = plane + static_cast<std::size_t>(row.index) * input.width;
    const float* below = plane + static_cast<std::size_t>(row.next) * input.width;
    for (int x = 0; x < input.width; ++x) mixed[x] = (1.0f - row.weight) * above[x] + row.weight * below[x];
    for (int x = 0; x < task.width; ++x) {
        const Position& column = columns[x];
        output[x] = (1.0f - column.weight) * mixed[column.index] + column.weight * mixed[column.next];
    }
    if (task.table == nullptr) return;
    const int half = task.channels / 2;
    if (channel < half) {
        const float* offsets = task.table->x.data() + static_cast<std::size_t>(channel) * task.width;
        for (int x = 0; x < task.width; ++x) output[x] += offsets[x];
    } else {
        const float offset = task.table->y[static_cast<std::size_t>(channel - half) * task.height + y];
        for (int x = 0; x < task.width; ++x) output[x] += offset;
    }
}

}  // namespace

std::size_t interpolate_scratch(const InterpolateTask& task, int input_width) {
    static_assert(sizeof(Position) == 3 * sizeof(float), "positions lie in scratch");
    return static_cast<std::size_t>(input_width) + 3 * static_cast<std::size_t>(task.width);
}

void run_interpolate(const InterpolateTask& task, MapView input, float* output, float* scratch, Share work) {
    auto* columns = reinterpret_cast<Position*>(scratch + input.width);
    for (int x = 0; x < task.width; ++x) new (columns + x) Position(position(x, input.width, task.width));
    const int bands = (task.height + kRowsPerTask - 1) / kRowsPerTask;
    for (int i = work.next(bands * task.channels); i < bands * task.channels; i = work.next(bands * task.channels)) {
        const int channel = i / bands, top = i % bands * kRowsPerTask;
        const float* plane = input.values + static_cast<std::size_t>(channel) * input.width * input.height;
        float* target = output + static_cast<std::size_t>(channel) * task.width * task.height;
        for (int y = top; y < std::min(top + kRowsPerTask, task.height); ++y) {
            interpolate_row(task, plane, input, channel, y, columns, scratch, target + static_cast<std::size_t>(y) * task.width);
        }
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
