// ggml's quantisers for the converter.
#pragma once

#include <pybind11/pybind11.h>

namespace da::python {

// quantize_rows(values: float32 [rows, length], type) -> uint8 [rows, bytes of a row]
void register_quantize(pybind11::module_& module);

}  // namespace da::python
