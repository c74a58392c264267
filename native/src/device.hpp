// What graphs can run on in this build and on this machine.
#pragma once

#include <string>

#include "ggml-cpp.h"

namespace da {

struct Device {
    std::string description;  // for people: "CUDA0 (NVIDIA Orin)"
    bool own_kernels;         // our kernels on the CPU; else ggml's operators
    ggml_backend_ptr backend;
};

// The first of the devices, separated by commas, that is there: cpu; cuda, vulkan and so on for the first GPU of that kind, with `:N` for
// another one; ggml for ggml's own operators on the CPU, which is what a GPU is compared with. Only what is named is taken: "cuda,cpu"
// allows the CPU where there is no GPU. Throws Error("device.unavailable") with what there is.
Device open_device(const std::string& wanted);

}  // namespace da
