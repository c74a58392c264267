#include "check.hpp"
#include "depth_anything/engine.hpp"
#include "preprocess.hpp"

TEST(preprocess, sizes_of_the_official_code) {
    const auto size = [](int width, int height) { return da::processed_size({width, height}, 504, 14); };
    CHECK(size(640, 480) == (da::Size{504, 378}));
    CHECK(size(1920, 1080) == (da::Size{504, 280}));
    CHECK(size(1080, 1920) == (da::Size{280, 504}));
    CHECK(size(1008, 672) == (da::Size{504, 336}));
    CHECK(size(504, 21) == (da::Size{504, 28}));  // ties go up
}

TEST(preprocess, case_14_thin_pictures_get_one_patch) {
    CHECK(da::processed_size({20, 2000}, 504, 14) == (da::Size{14, 504}));
    CHECK(da::processed_size({3000, 15}, 504, 14) == (da::Size{504, 14}));
    CHECK(da::processed_size({1, 1}, 504, 14) == (da::Size{504, 504}));
}

TEST(preprocess, sizes_of_v2) {
    const auto size = [](int width, int height) { return da::lower_bound_size({width, height}, 518, 14); };
    CHECK(size(640, 480) == (da::Size{686, 518}));  // 690.67 is nearer to 49 patches than to 50
    CHECK(size(1920, 1080) == (da::Size{924, 518}));
    CHECK(size(480, 640) == (da::Size{518, 686}));
    CHECK(size(37, 37) == (da::Size{518, 518}));
    CHECK_CONTAINS(CHECK_ERROR("input.shape", da::check_processed({2000, 1}, size(2000, 1))), "too thin");
}

TEST(preprocess, takes_the_centre) {
    da::Pixels pixels{{42, 28}, std::vector<std::uint8_t>(42 * 28 * 3)};
    for (std::size_t i = 0; i < pixels.values.size(); ++i) pixels.values[i] = static_cast<std::uint8_t>(i / 3 % 251);
    da::ImageParams image;
    image.std = {1.0f, 1.0f, 1.0f};
    std::vector<float> patches(14 * 14 * 3);
    da::write_patches(pixels, da::ChannelOrder::rgb, image, 14, {14, 14}, patches.data());
    CHECK(patches[0] == static_cast<float>((7 * 42 + 14) % 251) / 255.0f);
    CHECK(patches[13 * 14 + 13] == static_cast<float>((20 * 42 + 27) % 251) / 255.0f);
}

TEST(preprocess, views_that_are_no_pictures) {
    const std::uint8_t pixel[3] = {};
    da::Size size;
    CHECK_ERROR("input.shape", da::preprocess({pixel, 0, 1, 3, da::ChannelOrder::rgb}, 504, 14, &size));
    CHECK_ERROR("input.shape", da::preprocess({nullptr, 1, 1, 3, da::ChannelOrder::rgb}, 504, 14, &size));
    CHECK_ERROR("input.shape", da::preprocess({pixel, 1, 1 << 30, 3, da::ChannelOrder::rgb}, 504, 14, &size));
    CHECK_ERROR("input.stride", da::preprocess({pixel, 1, 1, 2, da::ChannelOrder::rgb}, 504, 14, &size));
    CHECK_ERROR("option.range", da::preprocess({pixel, 1, 1, 3, da::ChannelOrder::rgb}, 1000000, 14, &size));
    for (const int patch : {0, -14, 1000})
        CHECK_ERROR("option.range", da::preprocess({pixel, 1, 1, 3, da::ChannelOrder::rgb}, 504, patch, &size));
}

TEST(preprocess, patches_and_planes_are_inverse) {
    da::Pixels pixels{{28, 14}, std::vector<std::uint8_t>(28 * 14 * 3)};
    for (std::size_t i = 0; i < pixels.values.size(); ++i) pixels.values[i] = static_cast<std::uint8_t>(i * 7);
    da::ImageParams image;
    image.mean = {0.0f, 0.0f, 0.0f};
    image.std = {1.0f, 1.0f, 1.0f};
    std::vector<float> patches(28 * 14 * 3);
    for (const da::ChannelOrder order : {da::ChannelOrder::rgb, da::ChannelOrder::bgr}) {
        da::write_patches(pixels, order, image, 14, pixels.size, patches.data());
        const std::vector<float> planes = da::planes_from_patches(patches.data(), pixels.size, 14);
        for (int y = 0; y < 14; ++y) {
            for (int x = 0; x < 28; ++x) {
                for (int c = 0; c < 3; ++c) {
                    const int source = order == da::ChannelOrder::rgb ? c : 2 - c;
                    CHECK(planes[(c * 14 + y) * 28 + x] == static_cast<float>(pixels.values[(y * 28 + x) * 3 + source]) / 255.0f);
                }
            }
        }
    }
}
