// Gaussians of hand-made logits, and everything that a complete file gives.
#include <algorithm>
#include <cmath>

#include "check.hpp"
#include "depth_anything/engine.hpp"
#include "model/gaussians.hpp"
#include "model/rotation.hpp"
#include "model/spherical_harmonics.hpp"
#include "toy_model.hpp"

namespace {

constexpr int kPlanes = 38;

bool near(double a, double b, double tolerance) {
    return std::abs(a - b) <= tolerance;
}

da::Prediction prediction(da::Size size) {
    da::Prediction result;
    result.depth = {size, std::vector<float>(static_cast<std::size_t>(size.width) * size.height, 2.0f)};
    result.intrinsics = da::Intrinsics{size, 10.0f, 20.0f, 1.5f, 1.0f};
    result.extrinsics = std::array<float, 12>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, -1};  // its centre is at z = 1
    return result;
}

std::vector<std::uint8_t> picture(int width, int height) {
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width) * height * 3);
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<std::uint8_t>(128 + 100 * std::sin(static_cast<double>(i) * 0.013));
    return pixels;
}

da::ImageView view(const std::vector<std::uint8_t>& pixels) {
    return {pixels.data(), 64, 48, 3 * 64, da::ChannelOrder::rgb};
}

da::KnownCamera camera(double x) {
    return {{1, 0, 0, -x, 0, 1, 0, 0, 0, 0, 1, 0}, 60.0, 60.0, 32.0, 24.0};
}

}  // namespace

TEST(gaussians, lie_on_their_rays) {
    const da::Size size{3, 2};
    const std::size_t count = 6;
    std::vector<float> logits(kPlanes * count, 0.0f);
    for (std::size_t i = 0; i < count; ++i) {
        logits[0 * count + i] = 0.25f;                              // to the right, pixels
        logits[8 * count + i] = 1.0f;                               // quaternion 0 0 0 1
        logits[36 * count + i] = 0.5f;                              // deeper
        logits[37 * count + i] = 1.0f;                              // opacity
        for (int k = 9; k < 36; ++k) logits[k * count + i] = 1.0f;  // harmonics
    }
    int rows = 0;
    const da::Gaussians found = da::gaussians_from(logits.data(), prediction(size), {}, 2.0f, [&] { ++rows; });
    CHECK(rows == 2 && found.opacities.size() == count && found.harmonics.size() == 27 * count);
    // Pixel (2, 1): its ray, of length 1, times depth (2 + 0.5) * 2, from the centre (0, 0, 1) * 2.
    const double x = (2.75 - 1.5) / 10.0, y = (1.5 - 1.0) / 20.0, length = std::sqrt(x * x + y * y + 1.0);
    CHECK(near(found.means[15], 5.0 * x / length, 1e-6) && near(found.means[16], 5.0 * y / length, 1e-6));
    CHECK(near(found.means[17], 2.0 + 5.0 / length, 1e-6));
    CHECK(near(found.scales[15], (1e-5 + (30.0 - 1e-5) / 2.0) * 5.0 * 0.1 * (1.0 / 10 + 1.0 / 20), 1e-5));
    CHECK(near(found.opacities[5], 1.0 / (1.0 + std::exp(-1.0)), 1e-6));
    CHECK(near(found.harmonics[0], 1.0, 1e-6));
    for (std::size_t i = 0; i < count; ++i) {
        double squares = 0.0;
        for (int k = 0; k < 4; ++k) squares += found.rotations[4 * i + k] * found.rotations[4 * i + k];
        CHECK(near(squares, 1.0, 1e-6));
    }
}

TEST(gaussians, harmonics_turn_as_in_the_official_code) {
    // Of e3nn 0.6.0, through the official rotate_sh, for a rotation by the vector (0.4, -0.9, 0.3).
    const da::Matrix3 turn = {0.588371775,  -0.41439043, -0.694333656, 0.08508785, 0.885658826,
                              -0.456473988, 0.804101183, 0.209497052,  0.556356246};
    const std::array<float, 9> expected = {1.0f, 3.481087f, -1.96634f, 3.607713f, 15.201541f, 0.308315f, -1.503714f, -3.409801f, 3.151266f};
    std::array<float, 9> values = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    da::HarmonicRotation rotate(turn);
    rotate(values.data());
    for (int i = 0; i < 9; ++i) CHECK(near(values[i], expected[i], 1e-4));  // its angles are of float32
    values = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    da::HarmonicRotation stay({1, 0, 0, 0, 1, 0, 0, 0, 1});
    stay(values.data());
    for (int i = 0; i < 9; ++i) CHECK(near(values[i], i + 1.0, 1e-6));
}

TEST(gaussians, a_complete_file_gives_everything_that_is_wanted) {
    const toy::File file(toy::complete()), plain(toy::any_view());
    da::EngineOptions options;
    options.threads = 2;
    da::Engine engine(file.path(), options);
    CHECK(engine.info().has_rays && engine.info().has_pose_encoder && engine.info().has_gaussians);
    const auto pixels = picture(64, 48);
    da::InferOptions wanted;
    const da::Prediction bare = engine.infer(view(pixels), wanted);
    CHECK(!bare.gaussians);
    wanted.gaussians = true;
    const da::Prediction full = engine.infer(view(pixels), wanted);
    CHECK(full.gaussians && full.gaussians->opacities.size() == full.depth.values.size());
    CHECK(full.depth.values == bare.depth.values && *full.extrinsics == *bare.extrinsics);
    for (const float value : full.gaussians->means) CHECK(std::isfinite(value));
    wanted.pose = false;
    const da::Prediction without_pose = engine.infer(view(pixels), wanted);
    CHECK(without_pose.gaussians && !without_pose.extrinsics && without_pose.gaussians->means == full.gaussians->means);
    options.threads = 1;
    const da::Prediction one_thread = da::Engine(file.path(), options).infer(view(pixels), wanted);
    CHECK(one_thread.gaussians->harmonics == full.gaussians->harmonics && one_thread.gaussians->means == full.gaussians->means);
    CHECK(!da::Engine(plain.path(), options).infer(view(pixels), wanted).gaussians);
}

TEST(gaussians, known_cameras_and_rays_of_a_complete_file) {
    const toy::File file(toy::complete()), plain(toy::any_view());
    da::Engine engine(file.path(), {});
    const auto pixels = picture(64, 48);
    da::InferOptions options;
    options.ray_pose = true;
    const da::Prediction by_rays = engine.infer(view(pixels), options), again = engine.infer(view(pixels), options);
    CHECK(by_rays.extrinsics.has_value() == again.extrinsics.has_value() && by_rays.extrinsics == again.extrinsics);
    options.ray_pose = false;
    const da::Prediction decoded = engine.infer(view(pixels), options);
    CHECK(decoded.extrinsics != by_rays.extrinsics && decoded.depth.values == by_rays.depth.values);
    options.cameras = {camera(0.0), camera(0.5), camera(2.0)};
    const auto known = engine.infer_views({view(pixels), view(pixels), view(pixels)}, options);
    CHECK(known[1].kind == da::DepthKind::metric && (*known[1].extrinsics)[3] == -0.5f && near(known[1].intrinsics->fx, 52.5, 1e-4));
    CHECK_CONTAINS(CHECK_ERROR("input.pose", engine.infer(view(pixels), options)), "3 cameras were given for 1");
    da::Engine without(plain.path(), {});
    CHECK_CONTAINS(CHECK_ERROR("model.unsupported", without.infer_views({view(pixels), view(pixels), view(pixels)}, options)),
                   "--with-pose-encoder");
    options.cameras.clear();
    options.ray_pose = true;
    CHECK_CONTAINS(CHECK_ERROR("model.unsupported", without.infer(view(pixels), options)), "--with-aux");
}

TEST(gaussians, parts_that_are_damaged_are_refused) {
    for (const char* name : {"gs.merger.1.weight", "gs.scratch.rn3.rc1.c2.bias", "cam_enc.blk.2.ls1", "cam_enc.token_norm.bias",
                             "head.scratch.rn2_aux.out.bias", "head.scratch.out2_aux_ln.weight"}) {
        toy::Model model = toy::complete();
        model.remove_tensor(name);
        const toy::File file(model);
        CHECK_CONTAINS(CHECK_ERROR("model.tensor", da::Engine(file.path(), {})), name);
    }
    toy::Model model = toy::complete();
    model.set("depthanything3.gs.sh_degree", std::uint32_t{4});
    const toy::File file(model);
    CHECK_CONTAINS(CHECK_ERROR("model.key", da::Engine(file.path(), {})), "sh_degree");
}
