// Cameras from rays, known cameras and the scale between both, on scenes whose truth is known.
#include <cmath>
#include <random>

#include "check.hpp"
#include "model/known_cameras.hpp"
#include "model/ray_pose.hpp"
#include "model/rotation.hpp"
#include "model/similarity.hpp"

namespace {

constexpr double kPi = 3.14159265358979323846;

bool near(double a, double b, double tolerance) {
    return std::abs(a - b) <= tolerance;
}

// About an axis that need not be a unit vector, by Rodrigues' formula.
da::Matrix3 rotation(const da::Vector3& axis, double angle) {
    const da::Vector3 u = da::scaled(axis, 1.0 / da::length(axis));
    const da::Matrix3 k = {0, -u[2], u[1], u[2], 0, -u[0], -u[1], u[0], 0}, squared = da::product(k, k);
    da::Matrix3 result = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int i = 0; i < 9; ++i) result[i] += std::sin(angle) * k[i] + (1.0 - std::cos(angle)) * squared[i];
    return result;
}

struct Scene {
    da::Size cells{32, 24}, picture{112, 84};
    da::Matrix3 world_from_camera = rotation({0.3, 1.0, -0.2}, 0.7);
    da::Vector3 centre = {0.5, -1.0, 2.0};
    double fx = 90.0, fy = 80.0, cx = 56.0, cy = 42.0;

    // What a perfect network would give of it.
    std::vector<float> planes() const {
        const std::size_t count = static_cast<std::size_t>(cells.width) * cells.height;
        std::vector<float> result(7 * count, 0.3f);
        for (std::size_t i = 0; i < count; ++i) {
            const double u = (static_cast<double>(i % cells.width) + 0.5) * picture.width / cells.width;
            const double v = (static_cast<double>(i / cells.width) + 0.5) * picture.height / cells.height;
            const da::Vector3 ray = da::product(world_from_camera, da::Vector3{(u - cx) / fx, (v - cy) / fy, 1.0});
            for (int axis = 0; axis < 3; ++axis) {
                result[axis * count + i] = static_cast<float>(2.0 * ray[axis]);
                result[(3 + axis) * count + i] = static_cast<float>(centre[axis]);
            }
        }
        return result;
    }

    void check(const da::RayCamera& camera, double tolerance) const {
        CHECK(near(camera.intrinsics.fx / fx, 1.0, tolerance) && near(camera.intrinsics.fy / fy, 1.0, tolerance));
        CHECK(near(camera.intrinsics.cx / cx, 1.0, tolerance) && near(camera.intrinsics.cy / cy, 1.0, tolerance));
        CHECK(camera.intrinsics.size == picture);
        const auto expected = da::inverse_pose(world_from_camera, centre);
        for (int i = 0; i < 12; ++i) CHECK(near(camera.extrinsics[i], expected[i], tolerance));
    }
};

std::optional<da::RayCamera> camera_of(const Scene& scene, const std::vector<float>& planes, std::uint64_t seed = 1) {
    return da::cameras_from_rays({{scene.cells, planes.data()}}, scene.picture, seed, [] {}).front();
}

da::KnownCamera camera_at(const da::Vector3& centre, const da::Matrix3& world_from_camera = {1, 0, 0, 0, 1, 0, 0, 0, 1}) {
    const auto pose = da::inverse_pose(world_from_camera, centre);
    da::KnownCamera camera{{}, 100.0, 110.0, 50.0, 40.0};
    std::copy(pose.begin(), pose.end(), camera.extrinsics.begin());
    return camera;
}

std::vector<da::Vector3> random_points(int count, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    std::vector<da::Vector3> result(count);
    for (da::Vector3& point : result) {
        for (double& value : point) value = uniform(random);
    }
    return result;
}

std::vector<da::Vector3> moved(const std::vector<da::Vector3>& points, double scale) {
    const da::Matrix3 turn = rotation({1.0, 2.0, 3.0}, 2.5);
    std::vector<da::Vector3> result;
    for (const da::Vector3& point : points) result.push_back(da::difference(da::scaled(da::product(turn, point), scale), {5.0, 6.0, 7.0}));
    return result;
}

}  // namespace

TEST(poses, eigenvectors_of_a_symmetric_matrix) {
    const auto random = random_points(27, 1);
    std::array<double, 81> matrix = {};
    for (const auto& point : random) {  // a sum of 27 outer products: positive definite
        for (int i = 0; i < 9; ++i) {
            for (int j = 0; j < 9; ++j) matrix[9 * i + j] += std::sin(point[i % 3] * (i + 1)) * std::sin(point[j % 3] * (j + 1));
        }
    }
    const auto eigen = da::symmetric_eigen<9>(matrix);
    for (int k = 0; k < 9; ++k) {
        CHECK(k == 0 || eigen.values[k] <= eigen.values[k - 1]);
        double squares = 0.0;
        for (int i = 0; i < 9; ++i) {
            double image = 0.0;
            for (int j = 0; j < 9; ++j) image += matrix[9 * i + j] * eigen.vectors[k][j];
            CHECK(near(image, eigen.values[k] * eigen.vectors[k][i], 1e-12 * eigen.values[0]));
            squares += eigen.vectors[k][i] * eigen.vectors[k][i];
        }
        CHECK(near(squares, 1.0, 1e-13));
    }
}

TEST(poses, the_camera_of_perfect_rays) {
    Scene scene;
    scene.check(*camera_of(scene, scene.planes()), 1e-5);
    scene.world_from_camera = rotation({1.0, 0.0, 0.0}, kPi);  // looks back: the homography comes out mirrored
    scene.check(*camera_of(scene, scene.planes()), 1e-5);
}

TEST(poses, rays_that_are_wrong_or_flat_have_no_say) {
    const Scene scene;
    std::vector<float> planes = scene.planes();
    const std::size_t count = planes.size() / 7;
    for (std::size_t i = 0; i < count; i += 5) planes[i] += 3.0f;
    for (std::size_t i = 2; i < count; i += 5) {
        planes[2 * count + i] = 0.0f;
        planes[3 * count + i] = 1e6f;  // an origin counts as much as its ray
    }
    scene.check(*camera_of(scene, planes), 1e-4);
    const auto first = camera_of(scene, planes, 7), again = camera_of(scene, planes, 7);
    CHECK(first->extrinsics == again->extrinsics && first->intrinsics.fx == again->intrinsics.fx);
}

TEST(poses, more_rays_than_the_last_fit_takes) {
    Scene scene;
    scene.cells = {120, 100};
    scene.check(*camera_of(scene, scene.planes()), 1e-5);
}

TEST(poses, rays_of_no_camera_give_none) {
    const Scene scene;
    std::vector<float> planes = scene.planes();
    std::fill(planes.begin(), planes.end(), 0.0f);
    CHECK(!camera_of(scene, planes));
    std::fill(planes.begin(), planes.end(), std::nanf(""));
    CHECK(!camera_of(scene, planes));
}

TEST(poses, a_checkpoint_may_end_the_search) {
    const Scene scene;
    const std::vector<float> planes = scene.planes();
    const auto stop = [] { throw da::Error("engine.cancelled", "stop"); };
    CHECK_ERROR("engine.cancelled", da::cameras_from_rays({{scene.cells, planes.data()}}, scene.picture, 0, stop));
}

TEST(poses, quaternions_of_all_rotations) {
    for (const da::Vector3& axis : random_points(50, 2)) {
        for (const double angle : {0.0, 1e-4, 1.0, kPi - 1e-9, kPi, 5.0}) {
            const da::Matrix3 expected = rotation(axis, angle), found = da::rotation_from(da::quaternion_from(expected));
            CHECK(da::quaternion_from(expected)[3] >= 0.0);
            for (int i = 0; i < 9; ++i) CHECK(near(found[i], expected[i], 1e-9));
        }
    }
}

TEST(poses, scale_of_a_similarity) {
    const auto points = random_points(7, 3);
    CHECK(near(*da::similarity_scale(points, moved(points, 2.5), true), 2.5, 1e-9));
    const std::vector<da::Vector3> line = {{0, 0, 0}, {1, 2, 3}, {2, 4, 6}}, place(4, da::Vector3{1, 2, 3});
    CHECK(near(*da::similarity_scale(line, moved(line, 0.4), false), 0.4, 1e-9));
    CHECK(!da::similarity_scale(line, moved(line, 0.4), true));
    CHECK(!da::similarity_scale(place, place, false) && !da::similarity_scale(points, std::vector<da::Vector3>(7, points[0]), false));
    CHECK(!da::similarity_scale({points[0]}, {points[1]}, false));
    std::vector<da::Vector3> mirrored = points;  // no rotation makes a mirror image; the scale is smaller then
    for (da::Vector3& point : mirrored) point[0] = -point[0];
    CHECK(*da::similarity_scale(points, mirrored, true) < 0.999);
}

TEST(poses, far_off_cameras_are_left_out_of_a_crowd) {
    const auto points = random_points(15, 4);
    auto to = moved(points, 3.0);
    for (const int wrong : {2, 9, 12}) to[wrong] = {50.0 + wrong, -40.0, 30.0};
    CHECK(!near(*da::similarity_scale(points, to, true), 3.0, 0.1));
    CHECK(near(*da::robust_similarity_scale(points, to, 1), 3.0, 1e-6));
    std::vector<da::Vector3> line;
    for (int i = 0; i < 12; ++i) line.push_back({1.0 * i, 2.0 * i, 0.0});
    CHECK(near(*da::robust_similarity_scale(line, moved(line, 0.7), 1), 0.7, 1e-9));
}

TEST(poses, known_cameras_are_seen_from_the_first) {
    const da::Matrix3 turn = rotation({0.0, 1.0, 0.0}, 0.5);
    const auto relative =
        da::normalised({camera_at({1, 1, 1}, turn), camera_at({3, 1, 1}, turn), camera_at({1, 5, 1}, turn), camera_at({1, 1, 9}, turn)});
    const auto centres = da::centres_of(relative);
    CHECK(da::length(centres[0]) < 1e-6);
    for (int i = 0; i < 12; ++i) CHECK(near(relative[0].extrinsics[i], i % 5 == 0 ? 1.0 : 0.0, 1e-6));
    CHECK(near(da::length(centres[1]), 1.0, 1e-6) && near(da::length(centres[2]), 2.0, 1e-6));  // of 0, 2, 4, 8 the lower middle is 2
    CHECK(near(da::length(da::centres_of(da::normalised({camera_at({0, 0, 0}), camera_at({0, 0, 1})}))[1]), 10.0, 1e-5));  // 0.1 at least
}

TEST(poses, intrinsics_follow_resize_and_crop) {
    const da::Intrinsics k = da::processed_intrinsics(camera_at({0, 0, 0}), {200, 100}, {100, 56}, {72, 56});
    CHECK(near(k.fx, 50.0, 1e-5) && near(k.fy, 61.6, 1e-4) && near(k.cx, 25.0 - 14.0, 1e-5) && near(k.cy, 22.4, 1e-4));
    const auto encoding = da::pose_encoding_of(camera_at({1, 2, 3}, rotation({0, 0, 1}, kPi / 2)), k);
    CHECK(near(encoding[0], 1.0, 1e-6) && near(encoding[2], 3.0, 1e-6));
    CHECK(near(encoding[5], std::sqrt(0.5), 1e-6) && near(encoding[6], std::sqrt(0.5), 1e-6));
    CHECK(near(encoding[7], 2.0 * std::atan(28.0 / 61.6), 1e-6) && near(encoding[8], 2.0 * std::atan(36.0 / 50.0), 1e-6));
}

TEST(poses, cameras_that_are_none) {
    da::KnownCamera camera = camera_at({1, 2, 3});
    da::check_cameras({camera});
    camera.fy = -1.0;
    CHECK_CONTAINS(CHECK_ERROR("input.intrinsics", da::check_cameras({camera_at({0, 0, 0}), camera})), "Camera 2");
    camera = camera_at({1, 2, 3});
    camera.cx = NAN;
    CHECK_ERROR("input.intrinsics", da::check_cameras({camera}));
    camera = camera_at({1, 2, 3});
    camera.extrinsics[3] = INFINITY;
    CHECK_ERROR("input.pose", da::check_cameras({camera}));
    camera = camera_at({1, 2, 3});
    camera.extrinsics[0] = -1.0;  // a mirror
    CHECK_ERROR("input.pose", da::check_cameras({camera}));
}
