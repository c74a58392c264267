// Nodes of the graph that run our own kernels, and how a kernel sees their tensors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph.hpp"

namespace da {

inline const float* floats(const ggml_tensor* tensor) {
    return static_cast<const float*>(tensor->data);
}

inline float* target(const ggml_tensor* result) {
    return static_cast<float*>(result->data);
}

inline kernels::MapView map_view(const ggml_tensor* map) {
    return {floats(map), static_cast<int>(map->ne[0]), static_cast<int>(map->ne[1])};
}

inline kernels::RowsView rows_view(const ggml_tensor* rows) {
    return {floats(rows), static_cast<int>(rows->ne[1]), static_cast<std::ptrdiff_t>(rows->nb[1] / sizeof(float))};
}

inline kernels::RowsTarget rows_target(const ggml_tensor* result) {
    return {target(result), static_cast<std::ptrdiff_t>(result->nb[1] / sizeof(float))};
}

inline std::uint8_t* bytes(const ggml_tensor* tensor) {
    return static_cast<std::uint8_t*>(tensor->data);
}

// Sources of a node. One that is missing is left out, and `values` tells its place.
class Sources {
  public:
    explicit Sources(std::vector<ggml_tensor*> wanted) {
        for (ggml_tensor* tensor : wanted) {
            places_.push_back(tensor != nullptr ? static_cast<int>(present_.size()) : -1);
            if (tensor != nullptr) present_.push_back(tensor);
        }
    }

    const std::vector<ggml_tensor*>& present() const { return present_; }

    // Values of the source that stood at `index`, nullptr if it is missing.
    const float* values(const ggml_tensor* result, std::size_t index) const {
        return places_[index] < 0 ? nullptr : floats(result->src[places_[index]]);
    }

  private:
    std::vector<ggml_tensor*> present_;
    std::vector<int> places_;
};

// One kernel over the pool as a node of the graph, a result of [ne] values.
ggml_tensor* kernel_node(Graph& g, const Sources& sources, std::array<std::int64_t, 3> ne, KernelShare share,
                         ggml_type type = GGML_TYPE_F32);

// A node whose result is rows of `channels` for the next product to read, many at a time: rows a multiple of 2 KiB apart would fall on the
// same few lines of the cache, so those are put a little further apart.
ggml_tensor* rows_node(Graph& g, const Sources& sources, std::int64_t channels, std::int64_t rows, KernelShare share);

// A node of rows of `in` values as the products of layers packed so read them.
ggml_tensor* quantised_node(Graph& g, Packing packing, const Sources& sources, std::int64_t in, std::int64_t rows, KernelShare share);

// Says which part of the network the node is that was made last, and how many operations it has.
ggml_tensor* part(Graph& g, const char* name, double operations, ggml_tensor* node);

}  // namespace da
