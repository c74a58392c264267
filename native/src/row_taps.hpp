// Weighted sums of pixels along a row: the half of a separable resize that reads across the picture.
//
// A pixel's three channels are mixed together, as the first three of four numbers that are read and written at once; the fourth belongs to
// the next pixel, which is written later. Every value is the sum of its taps in their order, starting at zero, whatever the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace da {

template <typename Real>
class RowTaps {
  public:
    static constexpr int kChannels = 3;
    static constexpr int kSlack = 1;  // numbers behind the last pixel of a row that are read and written

    RowTaps(int targets, int count) : count_(count), offsets_(cells(targets)), weights_(cells(targets)) {}

    // Those that are not set have no weight.
    void set(int target, int tap, int source, Real weight) {
        offsets_[cell(target, tap)] = source * kChannels;
        weights_[cell(target, tap)] = weight;
    }

    // Both rows have kSlack numbers more than their pixels need.
    void mix(const Real* source, Real* target) const {
        const std::int32_t* offset = offsets_.data();
        const Real* weight = weights_.data();
        for (const Real* end = weight + weights_.size(); weight != end; target += kChannels) {
            Four sum{};
            for (int tap = 0; tap < count_; ++tap) {
                Four pixel;
                std::memcpy(&pixel, source + *offset++, sizeof(pixel));
                sum += pixel * *weight++;
            }
            std::memcpy(target, &sum, sizeof(sum));
        }
    }

  private:
    typedef Real Four __attribute__((vector_size(4 * sizeof(Real))));

    std::size_t cell(int target, int tap) const { return static_cast<std::size_t>(target) * count_ + tap; }
    std::size_t cells(int targets) const { return cell(targets, 0); }

    int count_;
    std::vector<std::int32_t> offsets_;
    std::vector<Real> weights_;
};

}  // namespace da
