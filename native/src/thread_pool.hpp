// Threads that share the pieces of one kernel at a time.
//
// The caller works too, and waits only for workers that are in the middle of a piece: one that the operating system has put aside before it
// began costs nothing. That is what keeps a frame's time in bounds beside other busy processes, where barriers that spin lose whole time
// slices. Between kernels both sides look for each other for a moment before they sleep: waking a thread takes longer than most kernels do.
//
// In a process that was forked from the pool's there are no workers, and the caller does everything.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>

namespace da {

class ThreadPool {
  public:
    // threads: the caller's included, at least 1. Throws Error("device.unavailable") when the system gives no more threads.
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const { return threads_; }

    // Calls share(thread) on this thread (0) and on the workers that come in time (1 and up); returns when nobody is in it any more.
    // The share must take its pieces from a common counter, so that nothing is left undone when workers are late. What it throws on any
    // thread, the first of it, is thrown on this one, when nobody is in it any more.
    void run(const std::function<void(int)>& share);

  private:
    struct Crew;

    bool forked() const;

    int threads_;
    pid_t process_;
    std::unique_ptr<Crew> crew_;  // the workers; nullptr where there are none
};

}  // namespace da
