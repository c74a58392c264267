#include "integer_weights.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "memory.hpp"

namespace da {

namespace {

constexpr std::size_t kCacheLine = 64;

std::size_t room_for(const ggml_tensor* matrix, const kernels::KernelSet& kernels) {
    const std::size_t bytes = kernels.packed_bytes(static_cast<int>(matrix->ne[0]), static_cast<int>(matrix->ne[1]));
    return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// Pages that lie wholly in the tensor.
void let_pages_go(const ggml_tensor* tensor) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto start = reinterpret_cast<std::uintptr_t>(tensor->data);
    const std::uintptr_t first = (start + page - 1) / page * page, last = (start + ggml_nbytes(tensor)) / page * page;
    if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace

kernels::MatrixView matrix_view(const ggml_tensor* matrix) {
    const ggml_type type = matrix->type;
    return {matrix->data, matrix->nb[1], static_cast<int>(ggml_blck_size(type)), ggml_type_size(type),
            type == GGML_TYPE_F32 ? nullptr : ggml_get_type_traits(type)->to_float};
}

IntegerWeights::IntegerWeights(const std::map<std::string, ggml_tensor*>& matrices, const kernels::KernelSet& kernels, ThreadPool& threads,
                               std::uint64_t memory_limit) {
    std::int64_t longest = 0;
    std::size_t bytes = 0;
    for (const auto& [path, matrix] : matrices) {
        bytes += room_for(matrix, kernels);
        longest = std::max(longest, matrix->ne[0]);
    }
    require_memory("Packing the weights", bytes, memory_limit);
    memory_ = AlignedFloats(bytes / sizeof(float));
    auto* panels = reinterpret_cast<std::uint8_t*>(memory_.data());
    std::vector<std::vector<float>> scratch(threads.threads(), std::vector<float>(longest));
    for (const auto& [path, matrix] : matrices) {
        const int in = static_cast<int>(matrix->ne[0]), out = static_cast<int>(matrix->ne[1]);
        std::atomic<int> next{0};
        threads.run([&, view = matrix_view(matrix), to = panels](int thread) {
            kernels.run_pack(view, in, out, to, scratch[thread].data(), next);
        });
        let_pages_go(matrix);
        layers_.emplace(path, PackedLinear{panels, in, out});
        panels += room_for(matrix, kernels);
    }
}

const PackedLinear* IntegerWeights::find(const std::string& path) const {
    const auto found = layers_.find(path);
    return found == layers_.end() ? nullptr : &found->second;
}

}  // namespace da
