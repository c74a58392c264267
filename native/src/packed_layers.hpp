// Linear layers whose weights are packed once, when a model is loaded.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "aligned_buffer.hpp"
#include "ggml.h"
#include "kernels/kernel_set.hpp"
#include "thread_pool.hpp"

namespace da {

// For which kernels a layer is packed: as integers (those of quantised files), as slices of whole numbers, or as floats.
enum class Packing { integers, slices, floats };

struct PackedLinear {
    Packing packing;
    const std::uint8_t* panels;
    int in, out;
};

// The kernels of the layers that are packed as integers or slices.
const kernels::LayerKernels& layer_kernels(const kernels::KernelSet& kernels, Packing packing);

// How the kernels read a matrix.
kernels::MatrixView matrix_view(const ggml_tensor* matrix);

class PackedLayers {
  public:
    PackedLayers() = default;

    // Packs the matrices [in, out], by the paths of their layers, and lets the pages of their originals go, which are a mapped file's.
    // Throws Error("device.memory"), see require_memory.
    PackedLayers(const std::map<std::string, ggml_tensor*>& matrices, Packing packing, const kernels::KernelSet& kernels,
                 ThreadPool& threads, std::uint64_t memory_limit);

    bool empty() const { return layers_.empty(); }

    // nullptr when the layer is not among them.
    const PackedLinear* find(const std::string& path) const;

  private:
    AlignedFloats memory_;
    std::map<std::string, PackedLinear> layers_;
};

}  // namespace da
