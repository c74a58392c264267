#include "backend.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#include "depth_anything/error.hpp"

namespace da {

namespace {

constexpr int kMostThreads = 256;

int affinity_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return static_cast<int>(std::thread::hardware_concurrency());
    return CPU_COUNT(&set);
}

// cgroup v2: "<quota> <period>" in microseconds, or "max <period>".
int quota_cores() {
    std::ifstream file("/sys/fs/cgroup/cpu.max");
    double quota = 0, period = 0;
    if (!(file >> quota >> period) || period <= 0) return kMostThreads;
    return static_cast<int>(std::ceil(quota / period));
}

int checked_threads(int threads) {
    if (threads < 0 || threads > kMostThreads) {
        throw Error("option.range",
                    "threads is " + std::to_string(threads) + ", must be 0 (all allowed cores) to " + std::to_string(kMostThreads) + ".");
    }
    return threads == 0 ? allowed_cores() : threads;
}

}  // namespace

int allowed_cores() {
    return std::clamp(std::min(affinity_cores(), quota_cores()), 1, kMostThreads);
}

Backend::Backend(const std::string& device, int threads, const std::string& instruction_set)
    : name_(device), threads_(checked_threads(threads)), kernels_(kernels::kernel_set(instruction_set)) {
    if (device != "cpu") {
        throw Error("device.unavailable", "Device '" + device + "' is not in this build; its only device is 'cpu'.");
    }
    backend_.reset(ggml_backend_cpu_init());
    if (backend_ == nullptr) throw Error("device.unavailable", "The CPU backend could not start.");
    // ggml's own nodes are small; its threads meet at barriers that spin, which loses whole time slices beside other busy processes.
    ggml_backend_cpu_set_n_threads(backend_.get(), 1);
    ggml_backend_cpu_set_abort_callback(
        backend_.get(), [](void* flag) { return static_cast<std::atomic<bool>*>(flag)->load(std::memory_order_relaxed); }, &cancelled_);
}

void Backend::compute(ggml_cgraph* graph) {
    const ggml_status status = ggml_backend_graph_compute(backend_.get(), graph);
    // The flag is asked first: our own kernels end early without a status.
    if (cancelled_.load()) throw Error("engine.cancelled", "The inference was cancelled.");
    if (status != GGML_STATUS_SUCCESS) {
        throw Error("device.compute", std::string("The device could not run the network: ") + ggml_status_to_string(status) + ".");
    }
}

}  // namespace da
