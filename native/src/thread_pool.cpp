#include "thread_pool.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "allowed_cores.hpp"
#include "depth_anything/error.hpp"
#include "thread_placement.hpp"

namespace da {

namespace {

// Longer than what lies between two kernels, shorter than a time slice. Where there are more threads than cores, those who look take the
// time of those who work.
std::chrono::microseconds patience_of(int threads) {
    const bool room = threads <= allowed_cores();
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

// The workers, and how they and the caller find each other.
struct ThreadPool::Crew {
    explicit Crew(int threads);
    ~Crew() { stop(); }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    void run(const std::function<void(int)>& share);

  private:
    struct Worker {
        std::thread thread;
        bool asleep = false;               // guarded by mutex_
        std::optional<cpu_set_t> allowed;  // what it gets back when it has woken up; guarded by mutex_
    };

    void call(const std::function<void(int)>& share, int thread);
    void wait_until_left();
    void stop();
    void work(int thread);
    void enter(int thread);
    void announce();
    void sleep_until_changed(Worker& self, std::uint64_t seen);

    const std::chrono::microseconds patience_;

    // A worker counts itself in before it looks for the share, and the caller takes the share away before it looks at the count: one of
    // them sees the other.
    std::atomic<const std::function<void(int)>*> share_{nullptr};  // while one is open
    std::atomic<int> inside_{0};                                   // workers that may be in it
    std::atomic<std::uint64_t> round_{0};
    std::atomic<bool> stopping_{false};

    // For those who sleep; `asleep_` is counted up before the last look at the round.
    std::mutex mutex_;
    std::condition_variable started_, left_;
    std::atomic<int> asleep_{0};
    std::exception_ptr thrown_;  // the first of a run; guarded by mutex_
    std::vector<Worker> workers_;
};

ThreadPool::Crew::Crew(int threads) : patience_(patience_of(threads)), workers_(threads - 1) {
    int thread = 1;
    try {
        for (; thread < threads; ++thread) workers_[thread - 1].thread = std::thread([this, thread] { work(thread); });
    } catch (const std::system_error& error) {
        stop();
        throw Error("device.unavailable", "The system starts only " + std::to_string(thread) + " of " + std::to_string(threads) +
                                              " threads (" + error.what() + "); take fewer, or raise its limits.");
    } catch (...) {  // no memory for a thread's start
        stop();
        throw;
    }
}

void ThreadPool::Crew::stop() {
    stopping_ = true;
    announce();
    for (Worker& worker : workers_) {
        if (worker.thread.joinable()) worker.thread.join();
    }
}

void ThreadPool::Crew::run(const std::function<void(int)>& share) {
    share_ = &share;
    announce();
    call(share, 0);
    share_ = nullptr;
    wait_until_left();
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void ThreadPool::Crew::wait_until_left() {
    const auto left = [this] { return inside_ == 0; };
    if (soon(patience_, left)) return;
    std::unique_lock<std::mutex> lock(mutex_);
    left_.wait(lock, left);
}

// An exception must not leave a worker, nor the caller while workers are in the share.
void ThreadPool::Crew::call(const std::function<void(int)>& share, int thread) {
    try {
        share(thread);
    } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!thrown_) thrown_ = std::current_exception();
    }
}

void ThreadPool::Crew::announce() {
    ++round_;
    if (asleep_ == 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool room = patience_.count() > 0;
    for (Worker& worker : workers_) {
        if (room && worker.asleep && !worker.allowed) worker.allowed = keep_off_this_processor(worker.thread);
    }
    started_.notify_all();
}

void ThreadPool::Crew::sleep_until_changed(Worker& self, std::uint64_t seen) {
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

void ThreadPool::Crew::enter(int thread) {
    ++inside_;
    if (const auto* share = share_.load()) call(*share, thread);
    if (--inside_ > 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    left_.notify_one();
}

void ThreadPool::Crew::work(int thread) {
    std::uint64_t seen = 0;
    while (true) {
        const auto changed = [&] { return round_ != seen; };
        if (!soon(patience_, changed)) sleep_until_changed(workers_[thread - 1], seen);
        seen = round_;
        if (stopping_) return;
        enter(thread);
    }
}

ThreadPool::ThreadPool(int threads)
    : threads_(threads), process_(::getpid()), crew_(threads > 1 ? std::make_unique<Crew>(threads) : nullptr) {}

// A forked process has copies of the workers' handles, of locks that they held and of signals that they waited for, which nobody will ever
// give back: it leaves them alone.
ThreadPool::~ThreadPool() {
    if (forked()) static_cast<void>(crew_.release());
}

void ThreadPool::run(const std::function<void(int)>& share) {
    if (crew_ == nullptr || forked()) return share(0);
    crew_->run(share);
}

bool ThreadPool::forked() const {
    return ::getpid() != process_;
}

}  // namespace da
