#include "thread_pool.hpp"

namespace da {

namespace {

constexpr int kSpins = 2000;  // some ten microseconds: kernels follow one another, and waking a thread takes longer

void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
    for (int thread = 1; thread < threads; ++thread) workers_.emplace_back([this, thread] { work(thread); });
}

ThreadPool::~ThreadPool() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        stopping_ = true;
        ++round_;
    }
    started_.notify_all();
    for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(const std::function<void(int)>& share) {
    if (workers_.empty()) return share(0);
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        share_ = &share;
        ++round_;
    }
    started_.notify_all();
    share(0);
    std::unique_lock<std::mutex> lock(mutex_);
    share_ = nullptr;
    left_.wait(lock, [this] { return inside_ == 0; });
}

bool ThreadPool::changed_within_spin(std::uint64_t seen) const {
    for (int i = 0; i < kSpins; ++i) {
        if (round_.load(std::memory_order_acquire) != seen) return true;
        relax();
    }
    return false;
}

void ThreadPool::work(int thread) {
    std::uint64_t seen = 0;
    while (true) {
        changed_within_spin(seen);
        std::unique_lock<std::mutex> lock(mutex_);
        started_.wait(lock, [&] { return round_ != seen; });
        seen = round_;
        if (stopping_) return;
        if (share_ == nullptr) continue;
        const auto& share = *share_;
        ++inside_;
        lock.unlock();
        share(thread);
        lock.lock();
        if (--inside_ == 0) left_.notify_one();
    }
}

}  // namespace da
