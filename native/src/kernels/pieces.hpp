// The pieces of one kernel, handed out to the threads that work on it.
//
// Every thread has a run of neighbouring pieces of its own, so that it finds in its cache what it made in the kernel before; when they are
// done it takes what others have left. So a thread that is late, or never comes, holds nobody up.
#pragma once

#include <atomic>
#include <vector>

namespace da::kernels {

class Pieces;

// What one thread knows of them.
struct Share {
    Pieces& pieces;
    int thread;

    // One of the pieces 0 to count - 1, never the same twice; `count` when none is left, or the work was cancelled.
    int next(int count) const;

    int threads() const;
    bool cancelled() const;
};

class Pieces {
  public:
    Pieces(int threads, const std::atomic<bool>& cancelled);

    // All are to be done again, by those who ask from now on.
    void restart();

    Share share(int thread) { return {*this, thread}; }

  private:
    friend Share;

    struct alignas(64) Taken {
        std::atomic<int> count{0};
    };
    std::vector<Taken> taken_;  // of each thread's own run
    const std::atomic<bool>& cancelled_;
};

}  // namespace da::kernels
