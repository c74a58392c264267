// NumPy arrays in and out: pictures are borrowed with their strides, results are moved into arrays without a copy.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "depth_anything/error.hpp"
#include "depth_anything/image.hpp"

namespace da::python {

namespace py = pybind11;

inline std::string shape_text(const py::array& array) {
    std::string text = "[";
    for (py::ssize_t d = 0; d < array.ndim(); ++d) text += (d ? ", " : "") + std::to_string(array.shape(d));
    return text + "]";
}

// Borrows uint8 [H, W, 3] with packed pixels; rows may be padded.
inline ImageView image_view(const py::array& array, bool bgr) {
    if (!py::isinstance<py::array_t<std::uint8_t>>(array)) {
        throw Error("input.shape", "The picture has dtype " + py::str(array.dtype()).cast<std::string>() + "; give uint8 with 0 to 255.");
    }
    if (array.ndim() != 3 || array.shape(2) != 3) {
        throw Error("input.shape", "The picture has shape " + shape_text(array) + "; give [height, width, 3].");
    }
    constexpr py::ssize_t longest = 1 << 20;
    if (array.shape(0) > longest || array.shape(1) > longest || array.shape(0) < 1 || array.shape(1) < 1) {
        throw Error("input.shape", "The picture has shape " + shape_text(array) + "; it has no pixels or too many.");
    }
    // NumPy leaves the stride of an axis of length 1 as it came, and takes such an array for contiguous.
    const py::ssize_t packed_row = 3 * array.shape(1);
    const py::ssize_t row = array.shape(0) == 1 ? packed_row : array.strides(0), pixel = array.shape(1) == 1 ? 3 : array.strides(1);
    if (array.strides(2) != 1 || pixel != 3 || row < packed_row) {
        throw Error("input.stride",
                    "The picture's pixels are not packed or its rows run backwards; give numpy.ascontiguousarray(picture).");
    }
    return {static_cast<const std::uint8_t*>(array.data()), static_cast<int>(array.shape(1)), static_cast<int>(array.shape(0)), row,
            bgr ? ChannelOrder::bgr : ChannelOrder::rgb};
}

// The array owns the vector.
template <typename T>
py::array_t<T> to_array(std::vector<T> values, std::vector<py::ssize_t> shape) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    T* data = owned->data();
    py::capsule owner(owned.get(), [](void* vector) { delete static_cast<std::vector<T>*>(vector); });
    owned.release();
    return py::array_t<T>(std::move(shape), data, owner);
}

}  // namespace da::python
