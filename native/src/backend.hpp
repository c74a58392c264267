// The device that graphs run on, and the instruction set and threads of our own kernels.
#pragma once

#include <atomic>
#include <string>

#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "kernels/kernel_set.hpp"
#include "thread_pool.hpp"

namespace da {

// Cores that this process may use: affinity mask and cgroup quota, at least 1.
int allowed_cores();

class Backend {
  public:
    // instruction_set: of our own kernels, empty for the best one. Throws Error("option.range") for an impossible number of threads,
    // Error("device.unavailable") for a device or an instruction set that this build or this machine does not have.
    Backend(const std::string& device, int threads, const std::string& instruction_set);

    ggml_backend_t handle() const { return backend_.get(); }
    ThreadPool& threads() { return threads_; }
    const kernels::KernelSet& kernels() const { return kernels_; }
    const std::string& name() const { return name_; }

    // Set from any thread; a running graph ends soon after, also inside our own kernels.
    std::atomic<bool>& cancelled() { return cancelled_; }

    // Runs the graph. Throws Error("engine.cancelled") when `cancelled` was set meanwhile, Error("device.compute") when the device failed.
    void compute(ggml_cgraph* graph);

  private:
    std::string name_;
    ThreadPool threads_;
    const kernels::KernelSet& kernels_;
    std::atomic<bool> cancelled_{false};
    ggml_backend_ptr backend_;
};

}  // namespace da
