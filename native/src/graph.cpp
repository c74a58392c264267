#include "graph.hpp"

#include <cstring>

namespace da {

namespace {

template <typename T>
std::vector<std::uint8_t> as_bytes(const std::vector<T>& values) {
    std::vector<std::uint8_t> copy(values.size() * sizeof(T));
    std::memcpy(copy.data(), values.data(), copy.size());
    return copy;
}

}  // namespace

ggml_tensor* Graph::constant(const std::vector<float>& values, std::int64_t ne0, std::int64_t ne1) {
    ggml_tensor* tensor = ggml_new_tensor_2d(constants_context, GGML_TYPE_F32, ne0, ne1);
    constants.push_back({tensor, as_bytes(values)});
    return tensor;
}

ggml_tensor* Graph::constant(const std::vector<std::int32_t>& values) {
    ggml_tensor* tensor = ggml_new_tensor_1d(constants_context, GGML_TYPE_I32, static_cast<std::int64_t>(values.size()));
    constants.push_back({tensor, as_bytes(values)});
    return tensor;
}

ggml_tensor* Graph::shared_constant(const std::string& name, std::int64_t ne0, std::int64_t ne1,
                                    const std::function<std::vector<float>()>& values) {
    const auto found = shared_constants.find(name);
    if (found != shared_constants.end()) return found->second;
    return shared_constants[name] = constant(values(), ne0, ne1);
}

void Graph::stage(const std::string& name, ggml_tensor* tensor, std::vector<std::int64_t> shape) {
    if (std::find(wanted_stages.begin(), wanted_stages.end(), name) == wanted_stages.end()) return;
    ggml_tensor* copy = ggml_cont(context, tensor);  // a copy of its own: the original's memory is reused by later nodes
    ggml_set_output(copy);
    stages.push_back({name, copy, std::move(shape)});
}

}  // namespace da
