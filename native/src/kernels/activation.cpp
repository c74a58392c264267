#include <algorithm>

#include "kernels/functions.hpp"
#include "kernels/vector_math.hpp"

namespace da::kernels::DA_INSTRUCTION_SET {

void run_gelu(const float* x, std::size_t count, float* y, Share work) {
    constexpr std::size_t piece = 1 << 16;
    const int pieces = static_cast<int>((count + piece - 1) / piece);
    for (int i = work.next(pieces); i < pieces; i = work.next(pieces)) {
        const std::size_t end = std::min((i + 1) * piece, count);
        std::size_t at = i * piece;
        for (; at + kLanes <= end; at += kLanes) store(y + at, gelu(load(x + at)));
        for (; at < end; ++at) y[at] = gelu(broadcast(x[at]))[0];
    }
}

}  // namespace da::kernels::DA_INSTRUCTION_SET
