#include "model/ray_pose.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/linear_algebra.hpp"
#include "model/random_choice.hpp"
#include "model/rotation.hpp"

namespace da {

namespace {

constexpr std::size_t kRounds = 100;
constexpr std::uint32_t kSample = 8;          // cells of a round
constexpr double kCandidates = 0.3;           // part of the cells, the most confident, that rounds choose from
constexpr double kFlat = 1e-4;                // a direction whose |z| is no more has no say
constexpr double kInlier = 0.2;               // largest distance on the plane z = 1
constexpr std::uint32_t kMostInliers = 8000;  // that the last fit takes
constexpr double kKeptInliers = 0.95;         // part of them, the most confident, that those are chosen from
constexpr std::size_t kFewest = 4;            // points that fix a homography

using Indices = std::vector<std::uint32_t>;

// Where a cell lies on the picture plane, which goes from -1 to 1, and where its ray goes through the plane z = 1.
struct Cell {
    double x, y, u, v, weight;
};

std::vector<Cell> cells_of(const RayMap& map) {
    const std::size_t count = static_cast<std::size_t>(map.cells.width) * map.cells.height;
    const auto plane = [&](int index) { return map.planes + index * count; };
    std::vector<Cell> cells(count);
    for (std::size_t i = 0; i < count; ++i) {
        const double column = static_cast<double>(i % map.cells.width), row = static_cast<double>(i / map.cells.width);
        const double x = (2.0 * column + 1.0) / map.cells.width - 1.0, y = (2.0 * row + 1.0) / map.cells.height - 1.0;
        const double z = plane(2)[i];
        const bool flat = !(std::abs(z) > kFlat);
        const double divisor = flat ? 1.0 : z;
        cells[i] = {x, y, plane(0)[i] / divisor, plane(1)[i] / divisor, flat ? 0.0 : std::exp(plane(6)[i]) + 1.0f};
    }
    return cells;
}

// Indices of cells, the most confident first.
void sort_by_weight(const std::vector<Cell>& cells, Indices& indices) {
    std::stable_sort(indices.begin(), indices.end(), [&](std::uint32_t a, std::uint32_t b) { return cells[a].weight > cells[b].weight; });
}

// Weighted direct linear transform: the homography with the least algebraic error, up to scale.
Matrix3 fit(const std::vector<Cell>& cells, const Indices& chosen) {
    std::array<double, 81> normal = {};
    const auto add = [&](const std::array<double, 9>& row, double weight) {
        for (int i = 0; i < 9; ++i) {
            for (int j = 0; j < 9; ++j) normal[9 * i + j] += weight * row[i] * row[j];
        }
    };
    for (const std::uint32_t index : chosen) {
        const auto [x, y, u, v, weight] = cells[index];
        add({-x, -y, -1, 0, 0, 0, x * u, y * u, u}, weight);
        add({0, 0, 0, -x, -y, -1, x * v, y * v, v}, weight);
    }
    return symmetric_eigen<9>(normal).vectors[8];
}

Indices inliers_of(const std::vector<Cell>& cells, const Matrix3& h, double& score) {
    Indices inliers;
    score = 0.0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const auto [x, y, u, v, weight] = cells[i];
        const double depth = h[6] * x + h[7] * y + h[8];
        const double dx = (h[0] * x + h[1] * y + h[2]) / depth - u, dy = (h[3] * x + h[4] * y + h[5]) / depth - v;
        if (!(dx * dx + dy * dy < kInlier * kInlier)) continue;
        inliers.push_back(static_cast<std::uint32_t>(i));
        score += weight;
    }
    return inliers;
}

Indices candidates_of(const std::vector<Cell>& cells) {
    Indices all(cells.size());
    std::iota(all.begin(), all.end(), 0u);
    sort_by_weight(cells, all);
    return all;
}

std::uint32_t candidate_count(std::size_t cells) {
    return std::max(kSample, static_cast<std::uint32_t>(static_cast<double>(cells) * kCandidates));
}

Indices some_of(const std::vector<Cell>& cells, Indices inliers, RandomChoice& choose) {
    sort_by_weight(cells, inliers);
    if (inliers.size() <= kMostInliers) return inliers;
    const auto kept = std::max(static_cast<std::uint32_t>(static_cast<double>(inliers.size()) * kKeptInliers), kMostInliers);
    Indices result = choose(kept, kMostInliers);
    std::transform(result.begin(), result.end(), result.begin(), [&](std::uint32_t i) { return inliers[i]; });
    return result;
}

std::optional<Matrix3> homography(const std::vector<Cell>& cells, const std::vector<Indices>& samples, RandomChoice& choose,
                                  const std::function<void()>& checkpoint) {
    const Indices candidates = candidates_of(cells);
    Indices best;
    double best_score = 0.0;
    for (const Indices& sample : samples) {
        checkpoint();
        Indices chosen;
        for (const std::uint32_t i : sample) chosen.push_back(candidates[i]);
        double score = 0.0;
        Indices inliers = inliers_of(cells, fit(cells, chosen), score);
        if (score <= best_score) continue;
        best_score = score;
        best = std::move(inliers);
    }
    if (best.size() < kFewest) return std::nullopt;
    return fit(cells, some_of(cells, std::move(best), choose));
}

// Centre of the camera: mean of the origins, weighted.
Vector3 centre_of(const RayMap& map, const std::vector<Cell>& cells) {
    Vector3 sum = {};
    double weights = 0.0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        for (int axis = 0; axis < 3; ++axis) sum[axis] += cells[i].weight * map.planes[(3 + axis) * cells.size() + i];
        weights += cells[i].weight;
    }
    return scaled(sum, 1.0 / weights);
}

// homography = rotation * L with L lower triangular and a positive diagonal: Gram-Schmidt from the last column on. L is the inverse of K.
std::optional<RayCamera> camera_of(Matrix3 h, const Vector3& centre, Size picture) {
    if (determinant(h) < 0.0) {
        for (double& value : h) value = -value;
    }
    const Vector3 first = column(h, 0), second = column(h, 1), third = column(h, 2);
    const double l22 = length(third);
    const Vector3 z = scaled(third, 1.0 / l22);
    const double l21 = dot(z, second), l20 = dot(z, first);
    const Vector3 along_y = difference(second, scaled(z, l21));
    const double l11 = length(along_y);
    const Vector3 y = scaled(along_y, 1.0 / l11);
    const Vector3 along_x = difference(difference(first, scaled(z, l20)), scaled(y, dot(y, first)));
    const double l00 = length(along_x);
    const Vector3 x = scaled(along_x, 1.0 / l00);
    const double half_width = picture.width / 2.0, half_height = picture.height / 2.0;
    const Intrinsics intrinsics{picture, static_cast<float>(l22 / l00 * half_width), static_cast<float>(l22 / l11 * half_height),
                                static_cast<float>((l20 / l22 + 1.0) * half_width), static_cast<float>((l21 / l22 + 1.0) * half_height)};
    const RayCamera camera{intrinsics, inverse_pose(from_columns(x, y, z), centre)};
    const auto finite = [](float value) { return std::isfinite(value); };
    const bool usable = finite(intrinsics.fx) && finite(intrinsics.fy) && finite(intrinsics.cx) && finite(intrinsics.cy);
    if (!usable || !std::all_of(camera.extrinsics.begin(), camera.extrinsics.end(), finite)) return std::nullopt;
    return camera;
}

}  // namespace

std::vector<std::optional<RayCamera>> cameras_from_rays(const std::vector<RayMap>& maps, Size picture, std::uint64_t seed,
                                                        const std::function<void()>& checkpoint) {
    RandomChoice choose(seed);
    std::vector<Indices> samples;
    std::vector<std::optional<RayCamera>> cameras;
    for (const RayMap& map : maps) {
        const std::vector<Cell> cells = cells_of(map);
        while (samples.size() < kRounds) samples.push_back(choose(candidate_count(cells.size()), kSample));
        const std::optional<Matrix3> h = homography(cells, samples, choose, checkpoint);
        cameras.push_back(h ? camera_of(*h, centre_of(map, cells), picture) : std::nullopt);
    }
    return cameras;
}

}  // namespace da
