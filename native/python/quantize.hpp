// ggml's quantisers for the converter.
#pragma once

#include <pybind11/pybind11.h>

namespace da::python {

// quantize_rows(values: float32 [rows, length], type, importance: float32 [length] | None) -> uint8 [rows, bytes of a row]
//   importance: weight of each column's squared error in the search of the K types.
// dequantize_rows(rows: uint8 [rows, bytes of a row], type) -> float32 [rows, length]
void register_quantize(pybind11::module_& module);

}  // namespace da::python
