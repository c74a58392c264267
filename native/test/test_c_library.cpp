#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "c_library.h"
#include "check.hpp"
#include "depth_anything/depth_anything.h"
#include "depth_anything/engine.hpp"
#include "toy_model.hpp"

TEST(c_library, works_from_c) {
    const toy::File file(toy::any_view());
    const char* failure = check_c_library(file.path().c_str());
    if (failure != nullptr) throw std::runtime_error(failure);
}

TEST(c_library, rays_known_cameras_and_gaussians_from_c) {
    const toy::File file(toy::complete());
    const char* failure = check_complete_model(file.path().c_str());
    if (failure != nullptr) throw std::runtime_error(failure);
}

TEST(c_library, options_reach_the_engine) {
    const toy::File file(toy::mono());
    const int width = 60, height = 40, padded = 200;
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(padded) * height);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 13 % 241);
    da_engine_options options = DA_ENGINE_OPTIONS_INIT;
    options.threads = 1;
    options.resolution = 112;
    da_engine* engine = nullptr;
    CHECK(da_engine_load(file.path().c_str(), &options, &engine, nullptr) == DA_OK);
    const da_image image = {pixels.data(), width, height, padded, DA_BGR};
    da_infer_options wanted = DA_INFER_OPTIONS_INIT;
    wanted.fill_sky = 0;
    da_prediction* found = nullptr;
    CHECK(da_engine_infer(engine, &image, &wanted, &found, nullptr) == DA_OK);

    da::EngineOptions same;
    same.threads = 1;
    same.resolution = 112;
    da::InferOptions unfilled;
    unfilled.fill_sky = false;
    const da::Prediction expected =
        da::Engine(file.path(), same).infer({pixels.data(), width, height, padded, da::ChannelOrder::bgr}, unfilled);
    CHECK(found->width == expected.depth.size.width && found->height == expected.depth.size.height);
    const std::size_t bytes = expected.depth.values.size() * sizeof(float);
    CHECK(std::memcmp(found->depth, expected.depth.values.data(), bytes) == 0);
    CHECK(std::memcmp(found->sky, expected.sky->values.data(), bytes) == 0);
    da_prediction_free(found);
    da_engine_free(engine);
}

TEST(c_library, cancel_from_another_thread) {
    const toy::File file(toy::any_view(24, 128, 2));
    da_engine* engine = nullptr;
    CHECK(da_engine_load(file.path().c_str(), nullptr, &engine, nullptr) == DA_OK);
    const std::vector<std::uint8_t> pixels(3 * 64 * 64, 90);
    const da_image image = {pixels.data(), 64, 64, 0, DA_RGB};
    da_prediction* prediction = nullptr;
    da_error error;
    da_status status = DA_OK;
    std::atomic<bool> ended{false};
    std::thread worker([&] {
        while (status == DA_OK) {
            da_prediction_free(prediction);
            status = da_engine_infer(engine, &image, nullptr, &prediction, &error);
        }
        ended = true;
    });
    while (!ended) {  // one that comes between two calls is without effect
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        CHECK(da_engine_cancel(engine, nullptr) == DA_OK);
    }
    worker.join();
    CHECK(status == DA_ERROR_CANCELLED && prediction == nullptr && std::string(error.code) == "engine.cancelled");
    da_engine_free(engine);
}
