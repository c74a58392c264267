// Kernels on shapes that nobody chose: for a second, or as long as `da_tests --seconds N shapes` says.
#include <chrono>
#include <cstdio>
#include <random>

#include "check.hpp"
#include "kernel_checks.hpp"

using namespace kernel_checks;

namespace {

class Dice {
  public:
    // 1 to `most`; small numbers are as likely as large ones.
    int extent(int most) {
        const int bound = std::uniform_int_distribution<int>(1, most)(random_);
        return std::uniform_int_distribution<int>(1, bound)(random_);
    }
    bool coin() { return random_() % 2 == 0; }
    unsigned choice(unsigned count) { return random_() % count; }

  private:
    std::mt19937 random_{std::random_device{}()};
};

void check_random_shape(const da::kernels::KernelSet& set, Dice& dice) {
    char text[160];
    const unsigned kind = dice.choice(4);
    if (kind == 0) {
        const int kernel = dice.coin() ? 3 : 1, stride = kernel == 3 && dice.coin() ? 2 : 1;
        const ConvShape s{dice.extent(80), dice.extent(70), kernel, stride, dice.extent(180), dice.extent(20)};
        std::snprintf(text, sizeof(text), "conv %d->%d, kernel %d, stride %d, %dx%d", s.in, s.out, s.kernel, s.stride, s.width, s.height);
        check::named(text, [&] { check_conv(set, s, dice.coin(), dice.coin(), dice.coin()); });
    } else if (kind == 1) {
        const Layer s{dice.extent(1700), dice.extent(300), dice.extent(330)};
        std::snprintf(text, sizeof(text), "layer %d->%d, %d rows", s.in, s.out, s.rows);
        check::named(text, [&] { check_layer(set, s); });
    } else if (kind == 2) {
        const Resampled s{dice.extent(200), dice.extent(30), dice.extent(300), dice.extent(40)};
        std::snprintf(text, sizeof(text), "conv of %dx%d resampled to %dx%d", s.width, s.height, s.to_width, s.to_height);
        check::named(text, [&] { check_resampled_conv(set, s); });
    } else {
        const naive::Attention s(dice.extent(4), 16 * dice.extent(8), dice.extent(70), dice.coin(), dice.coin());
        std::snprintf(text, sizeof(text), "attention of %d heads of %d, %d tokens, norm %d, rope %d", s.heads, s.head_dim, s.tokens, s.norm,
                      s.rope);
        check::named(text, [&] { check_attention(set, s); });
    }
}

}  // namespace

KERNEL_TEST(shapes, random_ones) {
    Dice dice;
    int count = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(check::seconds());
    do {
        check_random_shape(set, dice);
        ++count;
    } while (std::chrono::steady_clock::now() < end);
    std::printf("      %s: %d shapes\n", set.name, count);
}
