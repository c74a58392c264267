// The device that graphs run on, and the instruction set and threads of our own kernels.
#pragma once

#include <atomic>
#include <string>

#include "device.hpp"
#include "ggml-cpp.h"
#include "kernels/kernel_set.hpp"
#include "thread_pool.hpp"

namespace da {

class Backend {
  public:
    // devices: see open_device; instruction_set: of our own kernels, empty for the best one. Throws Error("option.range") for an impossible
    // number of threads, Error("device.unavailable") for a device or an instruction set that this build or this machine does not have.
    Backend(const std::string& devices, int threads, const std::string& instruction_set);

    // A scheduler for graphs on a device with memory of its own; what a GPU cannot run (the choice of the reference view) runs on the CPU.
    ggml_backend_sched_ptr scheduler(std::size_t most_nodes) const;

    // Where weights and constants lie: on a GPU that shares the machine's memory in host memory that it reads in place.
    ggml_backend_buffer_type_t memory() const;

    bool on_host() const { return ggml_backend_buft_is_host(ggml_backend_get_default_buffer_type(device_.backend.get())); }
    bool own_kernels() const { return device_.own_kernels; }
    ThreadPool& threads() { return threads_; }
    const kernels::KernelSet& kernels() const { return kernels_; }
    const std::string& description() const { return device_.description; }

    // See Engine::peak.
    double peak();

    // Set from any thread; a running graph ends soon after, also inside our own kernels.
    std::atomic<bool>& cancelled() { return cancelled_; }

    // Throws Error("engine.cancelled") when `cancelled` was set.
    void check_cancelled() const;

    // Runs the graph, with the scheduler that it was allocated by, if any. Throws Error("engine.cancelled") when `cancelled` was set
    // meanwhile, Error("device.compute") when the device failed.
    void compute(ggml_cgraph* graph, ggml_backend_sched_t scheduler = nullptr);

  private:
    ThreadPool threads_;
    const kernels::KernelSet& kernels_;
    std::atomic<bool> cancelled_{false};
    Device device_;
    ggml_backend_ptr helper_;  // the CPU beside a GPU, else nullptr
};

}  // namespace da
