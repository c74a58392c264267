#include "kernels/functions.hpp"
#include "kernels/vector.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

// Twelve sums that stay in registers, enough to hide the latency of one.
double run_peak(std::int64_t rounds, float* result) {
    constexpr int sums_count = 12;
    const Vector factor = broadcast(0.999f), step = broadcast(1e-3f);
    Vector a = step, b = a + step, c = b + step, d = c + step, e = d + step, f = e + step;
    Vector g = f + step, h = g + step, i = h + step, j = i + step, k = j + step, l = k + step;
    for (std::int64_t n = 0; n < rounds; ++n) {
        a = a * factor + step;
        b = b * factor + step;
        c = c * factor + step;
        d = d * factor + step;
        e = e * factor + step;
        f = f * factor + step;
        g = g * factor + step;
        h = h * factor + step;
        i = i * factor + step;
        j = j * factor + step;
        k = k * factor + step;
        l = l * factor + step;
    }
    store(result, a + b + c + d + e + f + g + h + i + j + k + l);
    return 2.0 * kLanes * sums_count * static_cast<double>(rounds);
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
