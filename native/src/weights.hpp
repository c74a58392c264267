// The tensors of a checked file as ggml tensors over the mapping, and the head's convolutions packed for the kernels.
#pragma once

#include <map>
#include <string>

#include "backend.hpp"
#include "ggml-cpp.h"
#include "gguf_file.hpp"
#include "hparams.hpp"
#include "kernels/conv.hpp"

namespace da {

// Throws Error("model.tensor") that lists every tensor that is missing, of another extent or of a type that its place cannot have.
void check_tensors(const GgufFile& file, const Hparams& hparams);

class Weights {
  public:
    // The file must have passed check_tensors and must outlive the weights.
    Weights(const GgufFile& file, const Hparams& hparams);

    // Tensor by its name in the file; every name that the network parts use is in the table that check_tensors went through.
    ggml_tensor* tensor(const std::string& name) const { return tensors_.at(name); }
    const kernels::PackedConv& conv(const std::string& path) const { return convs_.at(path); }
    std::int64_t parameters() const { return parameters_; }

  private:
    ggml_context_ptr context_;
    ggml_backend_buffer_ptr buffer_;
    std::map<std::string, ggml_tensor*> tensors_;
    std::map<std::string, kernels::PackedConv> convs_;
    std::int64_t parameters_ = 0;
};

}  // namespace da
