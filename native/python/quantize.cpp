#include "quantize.hpp"

#include <ggml.h>
#include <pybind11/stl.h>

#include <map>
#include <optional>
#include <string>

#include "ndarray.hpp"

namespace da::python {

namespace {

ggml_type type_named(const std::string& name) {
    static const std::map<std::string, ggml_type> types = {
        {"q8_0", GGML_TYPE_Q8_0}, {"q6_k", GGML_TYPE_Q6_K}, {"q5_k", GGML_TYPE_Q5_K}, {"q4_k", GGML_TYPE_Q4_K}};
    const auto found = types.find(name);
    if (found == types.end()) throw Error("option.unknown", "There is no quantised type '" + name + "'; known: q8_0, q6_k, q5_k, q4_k.");
    return found->second;
}

using Floats = py::array_t<float, py::array::c_style>;

py::array_t<std::uint8_t> quantize_rows(const Floats& values, const std::string& type_name, const std::optional<Floats>& importance) {
    const ggml_type type = type_named(type_name);
    if (values.ndim() != 2 || values.shape(0) < 1 || values.shape(1) < 1 || values.shape(1) % ggml_blck_size(type) != 0) {
        throw Error("input.shape", "Rows of shape " + shape_text(values) + " cannot be " + type_name +
                                       "; give float32 [rows, a multiple of " + std::to_string(ggml_blck_size(type)) + "].");
    }
    const py::ssize_t rows = values.shape(0), length = values.shape(1);
    if (importance && (importance->ndim() != 1 || importance->shape(0) != length)) {
        throw Error("input.shape",
                    "The importance has shape " + shape_text(*importance) + "; give float32 [" + std::to_string(length) + "].");
    }
    py::array_t<std::uint8_t> result({rows, static_cast<py::ssize_t>(ggml_row_size(type, length))});
    const float *source = values.data(), *weights = importance ? importance->data() : nullptr;
    std::uint8_t* target = result.mutable_data();
    {
        const py::gil_scoped_release release;
        ggml_quantize_chunk(type, source, target, 0, rows, length, weights);
    }
    return result;
}

Floats dequantize_rows(const py::array_t<std::uint8_t, py::array::c_style>& rows, const std::string& type_name) {
    const ggml_type type = type_named(type_name);
    const auto block = static_cast<py::ssize_t>(ggml_type_size(type));
    if (rows.ndim() != 2 || rows.shape(1) % block != 0) {
        throw Error("input.shape", "Rows of shape " + shape_text(rows) + " are not " + type_name + "; give uint8 [rows, a multiple of " +
                                       std::to_string(block) + "].");
    }
    const py::ssize_t count = rows.shape(0), length = rows.shape(1) / block * ggml_blck_size(type);
    Floats result({count, length});
    const std::uint8_t* source = rows.data();
    float* target = result.mutable_data();
    const py::gil_scoped_release release;
    ggml_get_type_traits(type)->to_float(source, target, count * length);
    return result;
}

}  // namespace

void register_quantize(py::module_& module) {
    module.def("quantize_rows", &quantize_rows, py::arg("values").noconvert(), py::arg("type"), py::arg("importance") = std::nullopt);
    module.def("dequantize_rows", &dequantize_rows, py::arg("rows").noconvert(), py::arg("type"));
}

}  // namespace da::python
