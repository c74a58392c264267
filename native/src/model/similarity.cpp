#include "model/similarity.hpp"

#include <algorithm>
#include <cmath>

#include "model/random_choice.hpp"

namespace da {

namespace {

using Points = std::vector<Vector3>;

constexpr std::size_t kFewestChosen = 3;
constexpr int kRounds = 10;

Vector3 mean_of(const Points& points) {
    Vector3 sum = {};
    for (const Vector3& point : points) sum = difference(sum, scaled(point, -1.0));
    return scaled(sum, 1.0 / static_cast<double>(points.size()));
}

struct Similarity {
    Matrix3 rotation;
    Vector3 translation;
    double scale;

    Vector3 operator()(const Vector3& point) const {
        return difference(scaled(product(rotation, point), scale), scaled(translation, -1.0));
    }
};

// Some unit vector across `axis`.
Vector3 across(const Vector3& axis) {
    const Vector3 other = std::abs(axis[0]) < 0.5 ? Vector3{1, 0, 0} : Vector3{0, 1, 0};
    const Vector3 result = cross(axis, other);
    return scaled(result, 1.0 / length(result));
}

std::optional<Similarity> similarity(const Points& from, const Points& to, bool planar) {
    constexpr double nothing = 1e-12, line = 1e-9;  // of the squared spread; of the first singular value
    const Vector3 from_mean = mean_of(from), to_mean = mean_of(to);
    const double share = 1.0 / static_cast<double>(from.size());
    Matrix3 covariance = {};
    double spread = 0.0, to_spread = 0.0;
    for (std::size_t i = 0; i < from.size(); ++i) {
        const Vector3 a = difference(from[i], from_mean), b = difference(to[i], to_mean);
        spread += dot(a, a) * share;
        to_spread += dot(b, b) * share;
        for (int row = 0; row < 3; ++row) {
            for (int col = 0; col < 3; ++col) covariance[3 * row + col] += b[row] * a[col] * share;
        }
    }
    if (!(spread > nothing && to_spread > nothing)) return std::nullopt;
    // covariance = U D V^T by the eigenvectors of its square. U and V are made rotations, so D's last value takes the sign of a mirror.
    const Eigen<3> eigen = symmetric_eigen<3>(product(transposed(covariance), covariance));
    const Vector3 &v0 = eigen.vectors[0], &v1 = eigen.vectors[1], v2 = cross(v0, v1);
    const Vector3 w0 = product(covariance, v0), w1 = product(covariance, v1);
    const bool on_a_line = length(w1) <= line * length(w0);
    if (on_a_line && planar) return std::nullopt;
    const Vector3 u0 = scaled(w0, 1.0 / length(w0));
    Vector3 u1 = on_a_line ? across(u0) : difference(w1, scaled(u0, dot(u0, w1)));
    u1 = scaled(u1, 1.0 / length(u1));
    const Vector3 u2 = cross(u0, u1);
    Similarity result;
    result.rotation = product(from_columns(u0, u1, u2), transposed(from_columns(v0, v1, v2)));
    result.scale = (dot(u0, w0) + dot(u1, w1) + dot(u2, product(covariance, v2))) / spread;
    if (!(result.scale > 0.0)) return std::nullopt;
    result.translation = difference(to_mean, scaled(product(result.rotation, from_mean), result.scale));
    return result;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2.0;
}

// How near the mapped points come to any of the others, in the middle.
double usual_distance(const Similarity& map, const Points& from, const Points& to) {
    std::vector<double> distances;
    for (const Vector3& point : from) {
        double nearest = INFINITY;
        for (const Vector3& other : to) nearest = std::min(nearest, length(difference(map(point), other)));
        distances.push_back(nearest);
    }
    return median(std::move(distances));
}

Points some_of(const Points& points, const std::vector<std::uint32_t>& indices) {
    Points result;
    for (const std::uint32_t index : indices) result.push_back(points[index]);
    return result;
}

// Indices of the points that are mapped to within `bound` of their partner, and their mean distance.
std::vector<std::uint32_t> agreeing(const Similarity& map, const Points& from, const Points& to, double bound, double& mean) {
    std::vector<std::uint32_t> result;
    double sum = 0.0;
    for (std::size_t i = 0; i < from.size(); ++i) {
        const double distance = length(difference(map(from[i]), to[i]));
        if (!(distance <= bound)) continue;
        result.push_back(static_cast<std::uint32_t>(i));
        sum += distance;
    }
    mean = result.empty() ? INFINITY : sum / static_cast<double>(result.size());
    return result;
}

}  // namespace

std::optional<double> similarity_scale(const Points& from, const Points& to, bool planar) {
    const std::optional<Similarity> map = similarity(from, to, planar);
    return map ? std::optional<double>(map->scale) : std::nullopt;
}

std::optional<double> robust_similarity_scale(const Points& from, const Points& to, std::uint64_t seed) {
    const std::optional<Similarity> all = similarity(from, to, true);
    if (!all) return similarity_scale(from, to, false);
    const double bound = usual_distance(*all, from, to);
    const auto count = static_cast<std::uint32_t>(from.size()), half = std::max<std::uint32_t>(kFewestChosen, (count + 1) / 2);
    RandomChoice choose(seed);
    std::vector<std::uint32_t> best;
    double best_mean = INFINITY, best_scale = all->scale;
    for (int round = 0; round < kRounds; ++round) {
        const std::vector<std::uint32_t> sample = choose(count, half);
        const std::optional<Similarity> map = similarity(some_of(from, sample), some_of(to, sample), true);
        if (!map) continue;
        double mean = 0.0;
        std::vector<std::uint32_t> inliers = agreeing(*map, from, to, bound, mean);
        if (inliers.size() < best.size() || (inliers.size() == best.size() && !(mean < best_mean))) continue;
        best = std::move(inliers);
        best_mean = mean;
        best_scale = map->scale;
    }
    if (best.size() < kFewestChosen) return best_scale;
    return similarity_scale(some_of(from, best), some_of(to, best), false).value_or(best_scale);
}

}  // namespace da
