#include "packed_layers.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "memory.hpp"

namespace da {

namespace {

constexpr std::size_t kCacheLine = 64;

std::size_t room_for(const ggml_tensor* matrix, Packing packing, const kernels::KernelSet& kernels) {
    const int in = static_cast<int>(matrix->ne[0]), out = static_cast<int>(matrix->ne[1]);
    const std::size_t bytes = packing == Packing::floats ? kernels.arranged_gemm_floats(in, out) * sizeof(float)
                                                         : layer_kernels(kernels, packing).packed_bytes(in, out);
    return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// One thread's share of packing a matrix.
void pack(const ggml_tensor* matrix, Packing packing, const kernels::KernelSet& kernels, std::uint8_t* panels, std::vector<float>& scratch,
          kernels::Share work) {
    const int in = static_cast<int>(matrix->ne[0]), out = static_cast<int>(matrix->ne[1]);
    const kernels::MatrixView view = matrix_view(matrix);
    if (packing == Packing::floats) {
        scratch.resize(kernels.arrange_gemm_scratch());
        kernels.arrange_gemm({view, in, out}, reinterpret_cast<float*>(panels), scratch.data(), work);
    } else {
        scratch.resize(in);
        layer_kernels(kernels, packing).run_pack(view, in, out, panels, scratch.data(), work);
    }
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

const kernels::LayerKernels& layer_kernels(const kernels::KernelSet& kernels, Packing packing) {
    return packing == Packing::slices ? *kernels.slices : *kernels.integers;
}

PackedLayers::PackedLayers(const std::map<std::string, ggml_tensor*>& matrices, Packing packing, const kernels::KernelSet& kernels,
                           ThreadPool& threads, std::uint64_t memory_limit) {
    std::size_t bytes = 0;
    for (const auto& [path, matrix] : matrices) bytes += room_for(matrix, packing, kernels);
    require_memory("Packing the weights", bytes, memory_limit);
    memory_ = AlignedFloats(bytes / sizeof(float));
    auto* panels = reinterpret_cast<std::uint8_t*>(memory_.data());
    std::vector<std::vector<float>> scratch(threads.threads());
    const std::atomic<bool> never{false};
    kernels::Pieces pieces(threads.threads(), never);
    for (const auto& [path, matrix] : matrices) {
        pieces.restart();
        threads.run([&, of = matrix, to = panels](int thread) { pack(of, packing, kernels, to, scratch[thread], pieces.share(thread)); });
        let_pages_go(matrix);
        layers_.emplace(path, PackedLinear{packing, panels, static_cast<int>(matrix->ne[0]), static_cast<int>(matrix->ne[1])});
        panels += room_for(matrix, packing, kernels);
    }
}

const PackedLinear* PackedLayers::find(const std::string& path) const {
    const auto found = layers_.find(path);
    return found == layers_.end() ? nullptr : &found->second;
}

}  // namespace da
