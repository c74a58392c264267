#include "thread_pool.hpp"

namespace da {

namespace {

// Longer than what lies between two kernels, shorter than a time slice. Where there are more threads than cores, those who look take the
// time of those who work.
std::chrono::microseconds patience_of(int threads) {
    const bool room = threads <= static_cast<int>(std::thread::hardware_concurrency());
    return std::chrono::microseconds(room ? 300 : 0);
}

void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Whether it became true while we were patient.
template <typename Condition>
bool soon(std::chrono::microseconds patience, const Condition& condition) {
    constexpr int looks = 32;  // between looks at the clock
    const auto end = std::chrono::steady_clock::now() + patience;
    do {
        for (int i = 0; i < looks; ++i) {
            if (condition()) return true;
            relax();
        }
    } while (std::chrono::steady_clock::now() < end);
    return false;
}

}  // namespace

ThreadPool::ThreadPool(int threads) : patience_(patience_of(threads)) {
    workers_ = std::vector<Worker>(threads - 1);
    for (int thread = 1; thread < threads; ++thread) workers_[thread - 1].thread = std::thread([this, thread] { work(thread); });
}

ThreadPool::~ThreadPool() {
    stopping_ = true;
    announce();
    for (Worker& worker : workers_) worker.thread.join();
}

void ThreadPool::run(const std::function<void(int)>& share) {
    if (workers_.empty()) return share(0);
    share_ = &share;
    announce();
    share(0);
    share_ = nullptr;
    const auto left = [this] { return inside_ == 0; };
    if (soon(patience_, left)) return;
    std::unique_lock<std::mutex> lock(mutex_);
    left_.wait(lock, left);
}

void ThreadPool::announce() {
    ++round_;
    if (asleep_ == 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool room = patience_.count() > 0;
    for (Worker& worker : workers_) {
        if (room && worker.asleep && !worker.allowed) worker.allowed = keep_off_this_processor(worker.thread);
    }
    started_.notify_all();
}

void ThreadPool::sleep_until_changed(Worker& self, std::uint64_t seen) {
    std::unique_lock<std::mutex> lock(mutex_);
    ++asleep_;
    self.asleep = true;
    started_.wait(lock, [&] { return round_ != seen; });
    --asleep_;
    self.asleep = false;
    if (!self.allowed) return;
    run_on(*self.allowed);
    self.allowed.reset();
}

void ThreadPool::enter(int thread) {
    ++inside_;
    if (const auto* share = share_.load()) (*share)(thread);
    if (--inside_ > 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    left_.notify_one();
}

void ThreadPool::work(int thread) {
    std::uint64_t seen = 0;
    while (true) {
        const auto changed = [&] { return round_ != seen; };
        if (!soon(patience_, changed)) sleep_until_changed(workers_[thread - 1], seen);
        seen = round_;
        if (stopping_) return;
        enter(thread);
    }
}

}  // namespace da
