// Threads that share the pieces of one kernel at a time.
//
// The caller works too, and waits only for workers that are in the middle of a piece: one that the operating system has put aside before it
// began costs nothing. That is what keeps a frame's time in bounds beside other busy processes, where barriers that spin lose whole time
// slices. Between kernels both sides look for each other for a moment before they sleep: waking a thread takes longer than most kernels do.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "thread_placement.hpp"

namespace da {

class ThreadPool {
  public:
    // threads: the caller's included, at least 1.
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const { return static_cast<int>(workers_.size()) + 1; }

    // Calls share(thread) on this thread (0) and on the workers that come in time (1 and up); returns when nobody is in it any more.
    // The share must take its pieces from a common counter, so that nothing is left undone when workers are late.
    void run(const std::function<void(int)>& share);

  private:
    struct Worker {
        std::thread thread;
        bool asleep = false;               // guarded by mutex_
        std::optional<cpu_set_t> allowed;  // what it gets back when it has woken up; guarded by mutex_
    };

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
    std::vector<Worker> workers_;
};

}  // namespace da
