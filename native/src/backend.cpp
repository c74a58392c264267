#include "backend.hpp"

#include <array>
#include <chrono>

#include "allowed_cores.hpp"
#include "depth_anything/error.hpp"
#include "ggml-cpu.h"

namespace da {

namespace {

int checked_threads(int threads) {
    if (threads < 0 || threads > kMostThreads) {
        throw Error("option.range",
                    "threads is " + std::to_string(threads) + ", must be 0 (all allowed cores) to " + std::to_string(kMostThreads) + ".");
    }
    return threads == 0 ? allowed_cores() : threads;
}

}  // namespace

Backend::Backend(const std::string& devices, int threads, const std::string& instruction_set)
    : threads_(checked_threads(threads)), kernels_(kernels::kernel_set(instruction_set)), device_(open_device(devices)) {
    const auto stop_when_cancelled = [this](ggml_backend_t cpu) {
        ggml_backend_cpu_set_abort_callback(
            cpu, [](void* flag) { return static_cast<std::atomic<bool>*>(flag)->load(std::memory_order_relaxed); }, &cancelled_);
    };
    if (on_host()) {
        // Beside our kernels ggml's own nodes are small, and its threads meet at barriers that spin: whole time slices are lost beside
        // other busy processes.
        ggml_backend_cpu_set_n_threads(device_.backend.get(), own_kernels() ? 1 : threads_.threads());
        stop_when_cancelled(device_.backend.get());
    } else {
        helper_.reset(ggml_backend_cpu_init());
        ggml_backend_cpu_set_n_threads(helper_.get(), 1);
        stop_when_cancelled(helper_.get());
    }
}

ggml_backend_sched_ptr Backend::scheduler(std::size_t most_nodes) const {
    std::array<ggml_backend_t, 2> backends = {device_.backend.get(), helper_.get()};
    return ggml_backend_sched_ptr(ggml_backend_sched_new(backends.data(), nullptr, 2, most_nodes, false, false));
}

ggml_backend_buffer_type_t Backend::memory() const {
    ggml_backend_dev_t device = ggml_backend_get_device(device_.backend.get());
    if (ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_IGPU) {
        ggml_backend_buffer_type_t host = ggml_backend_dev_host_buffer_type(device);
        if (host != nullptr && ggml_backend_dev_supports_buft(device, host)) return host;
    }
    return ggml_backend_get_default_buffer_type(device_.backend.get());
}

void Backend::check_cancelled() const {
    if (cancelled_.load()) throw Error("engine.cancelled", "The inference was cancelled.");
}

void Backend::compute(ggml_cgraph* graph, ggml_backend_sched_t scheduler) {
    const ggml_status status = scheduler != nullptr ? ggml_backend_sched_graph_compute(scheduler, graph)
                                                    : ggml_backend_graph_compute(device_.backend.get(), graph);
    // The flag is asked first: our own kernels end early without a status.
    check_cancelled();
    if (status != GGML_STATUS_SUCCESS) {
        throw Error("device.compute", std::string("The device could not run the network: ") + ggml_status_to_string(status) + ".");
    }
}

double Backend::peak() {
    constexpr std::int64_t rounds = 1'000'000;
    constexpr int pieces_per_thread = 4;
    const int pieces = pieces_per_thread * threads_.threads();
    std::atomic<int> next{0};
    std::atomic<double> operations{0};
    const auto start = std::chrono::steady_clock::now();
    threads_.run([&](int) {
        float result[kernels::kMostLanes];
        double done = 0;
        while (next++ < pieces) done += kernels_.run_peak(rounds, result);
        for (double before = operations; !operations.compare_exchange_weak(before, before + done);) {
        }
    });
    return operations / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace da
