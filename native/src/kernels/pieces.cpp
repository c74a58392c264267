#include "kernels/pieces.hpp"

#include <cstdint>

namespace da::kernels {

Pieces::Pieces(int threads, const std::atomic<bool>& cancelled) : taken_(threads), cancelled_(cancelled) {}

void Pieces::restart() {
    for (Taken& taken : taken_) taken.count = 0;
}

int Share::next(int count) const {
    const auto begin = [&](int run) { return static_cast<int>(static_cast<std::int64_t>(count) * run / threads()); };
    for (int i = 0; i < threads() && !cancelled(); ++i) {
        const int run = (thread + i) % threads(), length = begin(run + 1) - begin(run);
        std::atomic<int>& taken = pieces.taken_[run].count;
        if (taken >= length) continue;
        const int at = taken++;
        if (at < length) return begin(run) + at;
    }
    return count;
}

int Share::threads() const {
    return static_cast<int>(pieces.taken_.size());
}

bool Share::cancelled() const {
    return pieces.cancelled_.load(std::memory_order_relaxed);
}

}  // namespace da::kernels
