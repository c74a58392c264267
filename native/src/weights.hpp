// The tensors of a checked file as ggml tensors over the mapping, and the head's convolutions packed for the kernels.
#pragma once

#include <map>
#include <string>

#include "aligned_buffer.hpp"
#include "backend.hpp"
#include "ggml-cpp.h"
#include "gguf_file.hpp"
#include "hparams.hpp"
#include "kernels/conv.hpp"
#include "packed_layers.hpp"

namespace da {

// Throws Error("model.tensor") that lists every tensor that is missing, of another extent or of a type that its place cannot have.
void check_tensors(const GgufFile& file, const Hparams& hparams);

// What a convolution of the head does, besides what its weights say.
struct ConvShape {
    int stride = 1;
    bool transposed = false;  // with a stride as large as its kernel
};

class Weights {
  public:
    // The file must have passed check_tensors and must outlive the weights. On the CPU matrices are read where the file is mapped; vectors
    // are copied. Elsewhere all are copied to the device. Throws Error("device.memory") when the device has no room for them.
    Weights(const GgufFile& file, const Hparams& hparams, const Backend& backend);

    // Packs the convolutions of the Gaussians' head, which few programs want, where our own kernels run; the second time nothing happens.
    void pack_gaussian_head();

    // Packs the layers of the blocks once for all, as the kernels are fastest: the quantised ones as integers, those of type f32 and f16 as
    // slices, those of type f32 otherwise as floats; with `exact` as floats only. Throws Error("device.memory"), see require_memory.
    void pack_layers(bool exact, const kernels::KernelSet& kernels, ThreadPool& threads, std::uint64_t memory_limit);

    // Tensor by its name in the file; every name that the network parts use is in the table that check_tensors went through.
    ggml_tensor* tensor(const std::string& name) const { return tensors_.at(name); }
    // The same, or nullptr where the network has none of that name.
    ggml_tensor* find(const std::string& name) const {
        const auto found = tensors_.find(name);
        return found == tensors_.end() ? nullptr : found->second;
    }
    // Values of a tensor of type f32 for the host, wherever the tensor itself lies.
    const float* host_values(const std::string& name) const;
    const ConvShape& conv_shape(const std::string& path) const { return conv_shapes_.at(path); }
    const kernels::PackedConv& conv(const std::string& path) const { return convs_.at(path); }  // for our own kernels only

    // Whether some layers are packed so.
    bool has_integers() const { return !integers_.empty(); }
    bool has_slices() const { return !slices_.empty(); }
    // A linear layer of the blocks, nullptr when it is to be arranged in each frame.
    const PackedLinear* packed_layer(const std::string& path) const;

  private:
    void pack(bool gaussian_head);
    void map();
    void copy(const Backend& backend);

    const GgufFile& file_;
    ggml_context_ptr context_;
    AlignedFloats vectors_;
    ggml_backend_buffer_ptr buffer_, vectors_buffer_;
    std::map<std::string, ggml_tensor*> tensors_;
    std::map<std::string, ConvShape> conv_shapes_;
    std::map<std::string, kernels::PackedConv> convs_;
    PackedLayers integers_, slices_, floats_;
};

}  // namespace da
