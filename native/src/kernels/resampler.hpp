// Rows of a resampled map (see interpolate.hpp), whole ones or parts, as they are needed.
#pragma once

#include <algorithm>
#include <new>

#include "kernels/interpolate.hpp"
#include "kernels/shuffle.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

class Resampler {
  public:
    // For parts of up to `count` columns.
    static std::size_t scratch_floats(int input_width, int count) {
        return static_cast<std::size_t>(input_width) + kLanes + 3 * (static_cast<std::size_t>(count) + kLanes);
    }

    Resampler(const InterpolateTask& task, MapView input, int count, float* scratch)
        : task_(task),
          input_(input),
          mixed_(scratch),
          weights_(mixed_ + input.width + kLanes),
          places_(reinterpret_cast<int*>(weights_ + count + kLanes)),
          starts_(places_ + count + kLanes) {
        static_assert(sizeof(int) == sizeof(float), "places lie in scratch");
    }

    int width() const { return task_.width; }
    int height() const { return task_.height; }

    // Rows from now on: `count` values from column x on.
    void select(int x, int count) {
        x_ = x;
        count_ = count;
        near_ = true;
        for (int i = 0; i < count; i += kLanes) {
            const int start = column(i).index;
            for (int lane = i; lane < i + kLanes; ++lane) {
                const Position place = column(std::min(lane, count - 1));
                weights_[lane] = place.weight;
                new (places_ + lane) int(place.index - start);
            }
            new (starts_ + i) int(start);
            near_ = near_ && places_[i + kLanes - 1] + 1 < kLanes;
        }
    }

    void row(int channel, int y, float* output) const {
        mix(channel, y);
        const int half = task_.channels / 2;
        if (task_.table == nullptr) {
            write(output, [](int) { return Vector{}; });
        } else if (channel < half) {
            const float* offsets = task_.table->x.data() + static_cast<std::size_t>(channel) * task_.width + x_;
            write(output, [=](int i) { return load_some(offsets + i, count_ - i); });
        } else {
            const Vector offset = broadcast(task_.table->y[static_cast<std::size_t>(channel - half) * task_.height + y]);
            write(output, [=](int) { return offset; });
        }
    }

  private:
    // Where a coordinate of the result lies in the input: the left neighbour and the weight of the right one.
    struct Position {
        int index;
        float weight;
    };

    // PyTorch's upsample_bilinear2d with align_corners: the scale and the product in float32.
    static Position position(int i, int input, int output) {
        const float scale = output > 1 ? static_cast<float>(input - 1) / static_cast<float>(output - 1) : 0.0f;
        const float real = scale * static_cast<float>(i);
        const int index = std::min(static_cast<int>(real), input - 1);
        return {index, real - static_cast<float>(index)};
    }

    Position column(int i) const { return position(x_ + i, input_.width, task_.width); }

    // The two rows of the input around row y of the result become one, under the selected columns. The last column of the map has itself
    // for its right neighbour.
    void mix(int channel, int y) const {
        const Position place = position(y, input_.height, task_.height);
        const float* above = input_.values + (static_cast<std::size_t>(channel) * input_.height + place.index) * input_.width;
        const float* below = place.index + 1 < input_.height ? above + input_.width : above;
        const int first = starts_[0], end = std::min(column(count_ - 1).index + 2, input_.width);
        const Vector weight = broadcast(place.weight), rest = 1.0f - weight;
        for (int i = first; i < end; i += kLanes) {
            const int x = std::max(std::min(i, input_.width - kLanes), 0);  // whole registers where the row has them
            store(mixed_ + x, weight * load_some(below + x, input_.width - x) + rest * load_some(above + x, input_.width - x));
        }
        if (end == input_.width) mixed_[end] = mixed_[end - 1];
    }

    // The selected values of the mixed row, and what `offset` gives for the columns from i on.
    template <typename Offset>
    void write(float* output, const Offset& offset) const {
        for (int i = 0; i < count_; i += kLanes) {
            Vector left, right;
            neighbours(i, left, right);
            const Vector weight = load(weights_ + i);
            store_some(output + i, (1.0f - weight) * left + weight * right + offset(i), count_ - i);
        }
    }

    // Where the result is no smaller than the input, those of a register lie in one register.
    void neighbours(int i, Vector& left, Vector& right) const {
        const float* values = mixed_ + starts_[i];
        VectorOrder::Places places;
        std::memcpy(&places, places_ + i, sizeof(places));
        if (near_) {
            left = pick(load(values), places);
            right = pick(load(values), places + 1);
        } else {
            for (int lane = 0; lane < kLanes; ++lane) {
                left[lane] = values[places[lane]];
                right[lane] = values[places[lane] + 1];
            }
        }
    }

    const InterpolateTask& task_;
    MapView input_;
    float* mixed_;  // [input.width + kLanes]
    // Of the selected columns:
    int x_ = 0, count_ = 0;
    bool near_ = true;
    float* weights_;  // of the right neighbour
    int* places_;     // of the left neighbour, from that of the register's first column on
    int* starts_;     // of each register, at its first column
};

}  // namespace da::kernels::DA_INSTRUCTION_SET
