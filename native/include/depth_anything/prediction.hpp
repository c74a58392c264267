// What one inference gives. Everything is at the processed (network) size; what a model cannot give is absent, never zeros.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "depth_anything/image.hpp"

namespace da {

enum class DepthKind {
    metric,                 // metres along the optical z axis
    relative_depth,         // the same times one unknown scale; near is small
    relative_inverse_depth  // 1/z with unknown scale and shift; near is large
};

// The name that metadata, Python and ROS use.
inline const char* to_string(DepthKind kind) {
    switch (kind) {
        case DepthKind::metric:
            return "metric";
        case DepthKind::relative_depth:
            return "relative_depth";
        case DepthKind::relative_inverse_depth:
            return "relative_inverse_depth";
    }
    return "unknown";
}

// Pinhole intrinsics in pixels of an image of `size`.
struct Intrinsics {
    Size size;
    float fx = 0, fy = 0, cx = 0, cy = 0;
};

// Row-major float map of `size`.
struct Map {
    Size size;
    std::vector<float> values;
};

// An intermediate tensor asked for by name; `shape` slowest first, as NumPy has it.
struct Stage {
    std::string name;
    std::vector<std::int64_t> shape;
    std::vector<float> values;
};

// One 3-D Gaussian per pixel, row by row, in the world of the network's own poses.
struct Gaussians {
    DepthKind kind = DepthKind::relative_depth;  // of lengths, which no pair and no known camera turns into metres
    std::vector<float> means;                    // x, y, z
    std::vector<float> scales;                   // standard deviation along the three axes
    std::vector<float> rotations;                // quaternion as splatting programs take it: w, x, y, z
    std::vector<float> harmonics;                // three colours of nine coefficients, degrees 0 to 2
    std::vector<float> opacities;                // 0 to 1
};

// Wall time, seconds.
struct Timings {
    double preprocess = 0, compute = 0, postprocess = 0;
};

struct Prediction {
    DepthKind kind = DepthKind::relative_depth;
    Map depth;
    std::optional<Map> confidence;                    // raw network value, 1 and more
    std::optional<Map> sky;                           // raw network value, 0 and more
    std::optional<Intrinsics> intrinsics;             // the model's own estimate
    std::optional<std::array<float, 12>> extrinsics;  // camera_from_world, 3x4 row-major
    std::optional<float> scale_factor;                // what the network's depth was multiplied with by a pair or known cameras
    std::optional<Gaussians> gaussians;
    Timings timings;
    std::vector<Stage> stages;
};

}  // namespace da
