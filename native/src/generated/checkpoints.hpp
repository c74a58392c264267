// Written by `python -m depth_anything_ros.convert.cpp_headers native/src/generated`; edit models/checkpoint_facts.py instead.
#pragma once

namespace da {

// What is known of the weights of a checkpoint_name (exact match). Other names: relative_depth, licence unknown, unless the file says more.
struct CheckpointFact {
    const char* name;
    const char* kind;
    bool needs_focal;    // metric only with a focal length
    const char* license; // SPDX identifier
};

inline constexpr CheckpointFact kCheckpointFacts[] = {
    {"DA3-SMALL", "relative_depth", false, "Apache-2.0"},
    {"DA3-BASE", "relative_depth", false, "Apache-2.0"},
    {"DA3-LARGE", "relative_depth", false, "CC-BY-NC-4.0"},
    {"DA3-LARGE-1.1", "relative_depth", false, "CC-BY-NC-4.0"},
    {"DA3-GIANT", "relative_depth", false, "CC-BY-NC-4.0"},
    {"DA3-GIANT-1.1", "relative_depth", false, "CC-BY-NC-4.0"},
    {"DA3MONO-LARGE", "relative_depth", false, "Apache-2.0"},
    {"DA3METRIC-LARGE", "metric", true, "Apache-2.0"},
    {"DA3NESTED-GIANT-LARGE-anyview", "relative_depth", false, "CC-BY-NC-4.0"},
    {"DA3NESTED-GIANT-LARGE-metric", "metric", true, "CC-BY-NC-4.0"},
    {"DA3-NANO", "relative_depth", false, "Apache-2.0"},
    {"DA3METRIC-NANO", "metric", true, "Apache-2.0"},
    {"Depth-Anything-V2-Small", "relative_inverse_depth", false, "Apache-2.0"},
    {"Depth-Anything-V2-Base", "relative_inverse_depth", false, "CC-BY-NC-4.0"},
    {"Depth-Anything-V2-Large", "relative_inverse_depth", false, "CC-BY-NC-4.0"},
    {"Depth-Anything-V2-Metric-Hypersim-Small", "metric", false, "Apache-2.0"},
    {"Depth-Anything-V2-Metric-Hypersim-Base", "metric", false, "CC-BY-NC-4.0"},
    {"Depth-Anything-V2-Metric-Hypersim-Large", "metric", false, "CC-BY-NC-4.0"},
    {"Depth-Anything-V2-Metric-VKITTI-Small", "metric", false, "Apache-2.0"},
    {"Depth-Anything-V2-Metric-VKITTI-Base", "metric", false, "CC-BY-NC-4.0"},
    {"Depth-Anything-V2-Metric-VKITTI-Large", "metric", false, "CC-BY-NC-4.0"},
};

}  // namespace da
