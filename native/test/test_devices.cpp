// ggml's own operators, on the CPU and on every GPU of this machine that the build can use, against our kernels.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "depth_anything/engine.hpp"
#include "device.hpp"
#include "ggml-backend.h"
#include "toy_model.hpp"

namespace {

constexpr int kWidth = 64, kHeight = 48;

std::vector<std::uint8_t> picture(int seed) {
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(kWidth) * kHeight * 3);
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<std::uint8_t>(128 + 100 * std::sin(static_cast<double>(i) * 0.01 * (seed + 1)));
    return pixels;
}

struct Compared {
    std::string name;
    double bound;  // largest difference, of the root mean square
};

// Names as EngineOptions::device takes them.
std::vector<Compared> devices() {
    std::vector<Compared> all = {{"ggml", 1e-4}};
    for (const char* kind : {"cuda", "vulkan"}) {
        try {
            da::open_device(kind);
            all.push_back({kind, 2e-3});
        } catch (const da::Error&) {
            // Not in this build, or no such device here.
        }
    }
    return all;
}

double difference(const std::vector<float>& found, const std::vector<float>& expected) {
    CHECK(found.size() == expected.size());
    double worst = 0.0, squares = 0.0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(found[i]) - expected[i]));
        squares += static_cast<double>(expected[i]) * expected[i];
    }
    return worst / std::sqrt(squares / static_cast<double>(expected.size()));
}

std::vector<da::Prediction> predictions(const toy::File& file, const std::string& device, int views) {
    da::EngineOptions options;
    options.device = device;
    options.threads = 2;
    options.resolution = 84;
    da::Engine engine(file.path(), options);
    std::vector<std::vector<std::uint8_t>> pixels;
    std::vector<da::ImageView> pictures;
    for (int i = 0; i < views; ++i) pixels.push_back(picture(i));
    for (const auto& one : pixels) pictures.push_back({one.data(), kWidth, kHeight, 3 * kWidth, da::ChannelOrder::rgb});
    da::InferOptions wanted;
    wanted.gaussians = true;
    if (engine.info().has_pose_encoder) {
        for (int i = 0; i < views; ++i) wanted.cameras.push_back({{1, 0, 0, -0.5 * i, 0, 1, 0, 0.2 * i, 0, 0, 1, 0}, 60, 60, 32, 24});
    }
    engine.infer_views(pictures, wanted);  // the second frame reuses the graph
    return engine.infer_views(pictures, wanted);
}

void compare(const toy::Model& model, int views) {
    const toy::File file(model);
    const auto expected = predictions(file, "cpu", views);
    for (const Compared& device : devices()) {
        const auto found = predictions(file, device.name, views);
        for (int i = 0; i < views; ++i) {
            CHECK(difference(found[i].depth.values, expected[i].depth.values) < device.bound);
            CHECK(found[i].confidence.has_value() == expected[i].confidence.has_value());
            if (expected[i].confidence) CHECK(difference(found[i].confidence->values, expected[i].confidence->values) < device.bound);
            CHECK(found[i].sky.has_value() == expected[i].sky.has_value());
            if (expected[i].sky) CHECK(difference(found[i].sky->values, expected[i].sky->values) < device.bound);
            CHECK(found[i].gaussians.has_value() == expected[i].gaussians.has_value());
            if (expected[i].gaussians) CHECK(difference(found[i].gaussians->means, expected[i].gaussians->means) < 10.0 * device.bound);
            CHECK(found[i].scale_factor.has_value() == expected[i].scale_factor.has_value());
            if (expected[i].scale_factor) CHECK(std::abs(*found[i].scale_factor / *expected[i].scale_factor - 1.0f) < device.bound);
            CHECK(found[i].extrinsics.has_value() == expected[i].extrinsics.has_value());
            for (std::size_t k = 0; expected[i].extrinsics && k < expected[i].extrinsics->size(); ++k)
                CHECK(std::abs((*found[i].extrinsics)[k] - (*expected[i].extrinsics)[k]) < device.bound);
            CHECK(found[i].intrinsics.has_value() == expected[i].intrinsics.has_value());
            if (expected[i].intrinsics) CHECK(std::abs(found[i].intrinsics->fx / expected[i].intrinsics->fx - 1.0f) < device.bound);
        }
    }
}

}  // namespace

TEST(devices, one_picture) {
    compare(toy::any_view(), 1);
}

TEST(devices, several_pictures_with_a_choice_of_the_reference) {
    compare(toy::any_view(), 3);
}

TEST(devices, gated_feed_forward_blocks) {
    compare(toy::swiglu(), 1);
}

// As deep as a file may say: ggml ends the process when a graph has more nodes than it was made for.
TEST(devices, the_deepest_networks) {
    const toy::File file(toy::any_view(256));
    for (const char* device : {"ggml", "cpu"}) CHECK(predictions(file, device, 2)[1].depth.size == (da::Size{84, 70}));
}

TEST(devices, sky) {
    compare(toy::mono(), 1);
}

TEST(devices, known_cameras_and_gaussians) {
    compare(toy::complete(), 2);
}

// As in LARGE and GIANT: rows of results that are a multiple of 2 KiB long lie apart from each other.
TEST(devices, wide_rows) {
    compare(toy::any_view(4, 512, 8), 3);
    compare(toy::complete(512, 8), 2);
}

TEST(devices, spaces_in_a_list) {
    const toy::File file(toy::any_view());
    da::EngineOptions options;
    options.device = " none , cpu ";
    CHECK(da::Engine(file.path(), options).info().device == "cpu");
}

TEST(devices, the_first_of_a_list_that_is_there) {
    CHECK(da::open_device("nonsense,cpu").description == "cpu");
    CHECK(da::open_device("cuda:99,ggml").own_kernels == false);
    for (const char* wanted : {"nonsense", "", "cuda:", "cuda:x", "cuda:99", "CPU"}) {
        CHECK_CONTAINS(CHECK_ERROR("device.unavailable", da::open_device(wanted)), "this build on this machine has: cpu");
    }
}
