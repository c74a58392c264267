// Several views of one scene, and the metres of a pair.
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "check.hpp"
#include "depth_anything/engine.hpp"
#include "model/reference_view.hpp"
#include "nested.hpp"
#include "toy_model.hpp"

namespace {

constexpr int kWidth = 64, kHeight = 48;

std::vector<std::uint8_t> picture(int seed) {
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(kWidth) * kHeight * 3);
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<std::uint8_t>(128 + 100 * std::sin(static_cast<double>(i) * 0.01 * (seed + 1)));
    return pixels;
}

da::ImageView view(const std::vector<std::uint8_t>& pixels) {
    return {pixels.data(), kWidth, kHeight, 3 * kWidth, da::ChannelOrder::rgb};
}

da::Prediction prediction(std::vector<float> depth, std::vector<float> confidence, std::vector<float> sky) {
    const da::Size size{static_cast<int>(depth.size()), 1};
    da::Prediction result;
    result.depth = {size, std::move(depth)};
    result.confidence = da::Map{size, std::move(confidence)};
    result.sky = da::Map{size, std::move(sky)};
    result.intrinsics = da::Intrinsics{size, 250.0f, 350.0f, 0.0f, 0.0f};
    result.extrinsics = std::array<float, 12>{1, 0, 0, 1, 0, 1, 0, 2, 0, 0, 1, 3};
    return result;
}

}  // namespace

TEST(views, the_reference_is_the_view_in_the_middle) {
    // Lengths 1, 2, 3 of nearly one direction: the second is in the middle of each measure.
    const std::vector<float> tokens = {1.0f, 0.0f, 0.0f, 0.0f, 2.0f, 0.2f, 0.0f, 0.0f, 3.0f, 1.0f, 0.0f, 0.0f};
    CHECK(da::reference_view(tokens.data(), 4, 3, 4) == 1);
    const std::vector<float> moved = {2.0f, 0.2f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f, 3.0f, 1.0f, 0.0f, 0.0f};
    CHECK(da::reference_view(moved.data(), 4, 3, 4) == 0);
    const std::vector<float> equal(12, 1.0f);
    CHECK(da::reference_view(equal.data(), 4, 3, 4) == 0);
}

TEST(views, views_see_each_other) {
    const toy::File file(toy::any_view());
    da::EngineOptions options;
    options.threads = 2;
    da::Engine engine(file.path(), options);
    const auto a = picture(0), b = picture(1), c = picture(2);
    const auto together = engine.infer_views({view(a), view(b), view(c)}, {});
    CHECK(together.size() == 3 && together[2].extrinsics && together[2].confidence);
    CHECK(together[0].depth.values != engine.infer(view(a), {}).depth.values);
    const auto again = engine.infer_views({view(a), view(b), view(c)}, {});
    for (int i = 0; i < 3; ++i) CHECK(again[i].depth.values == together[i].depth.values);
    options.threads = 1;
    CHECK(da::Engine(file.path(), options).infer_views({view(a), view(b), view(c)}, {})[1].depth.values == together[1].depth.values);
}

TEST(views, none_and_too_many_are_refused) {
    const toy::File file(toy::any_view());
    da::Engine engine(file.path(), {});
    const auto a = picture(0);
    CHECK_CONTAINS(CHECK_ERROR("input.shape", engine.infer_views({}, {})), "0 pictures");
    CHECK_ERROR("input.shape", engine.infer_views(std::vector<da::ImageView>(257, view(a)), {}));
}

// Their network is nothing beside the resizing of so many large pictures.
TEST(views, cancel_ends_the_preparing_of_many_pictures) {
    constexpr int width = 2000, height = 1500, count = 100;
    const toy::File file(toy::mono());
    da::EngineOptions options;
    options.threads = 1;
    options.resolution = 14;
    da::Engine engine(file.path(), options);
    const std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width) * height * 3, 90);
    const da::ImageView large{pixels.data(), width, height, 3 * width, da::ChannelOrder::rgb};
    engine.infer(large, {});
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    engine.infer(large, {});
    const auto one = Clock::now() - start;
    std::atomic<bool> ended{false};
    std::thread worker([&] {
        CHECK_ERROR("engine.cancelled", engine.infer_views(std::vector<da::ImageView>(count, large), {}));
        ended = true;
    });
    std::this_thread::sleep_for(3 * one);
    const auto asked = Clock::now();
    while (!ended) {  // one that comes before the call is without effect
        engine.cancel();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    worker.join();
    CHECK(Clock::now() - asked < count / 4 * one);
}

TEST(views, one_factor_for_all_views_of_a_pair) {
    const std::vector<float> ground(12, 0.0f), sure(12, 2.0f);
    std::vector<float> depth(12, 2.0f), metres(12, 6.0f), sky = ground, confidence = sure;
    depth[0] = 100.0f;  // without confidence
    confidence[0] = 1.0f;
    sky[1] = 0.5f;
    std::vector<da::Prediction> views = {prediction(depth, confidence, ground), prediction(std::vector<float>(12, 1.0f), sure, ground)};
    std::vector<da::Prediction> metric = {prediction(metres, sure, sky), prediction(std::vector<float>(12, 3.0f), sure, ground)};
    const auto factor = da::align_to_metric(views, metric);
    CHECK(factor && std::abs(*factor - 3.0f) < 1e-6f);
    CHECK(views[0].kind == da::DepthKind::metric && views[1].scale_factor == factor);
    CHECK(std::abs(views[1].depth.values[5] - 3.0f) < 1e-5f && std::abs((*views[1].extrinsics)[11] - 9.0f) < 1e-5f);
    da::fill_nested_sky(views, metric);
    CHECK(views[0].depth.values[1] == 200.0f);  // the quantile of 22 ordinary pixels and one at 300 m is beyond
    CHECK(views[0].confidence->values[1] == 1.0f && views[0].confidence->values[2] == 2.0f);
}

TEST(views, a_pair_in_nothing_but_sky_stays_relative) {
    const std::vector<float> values(12, 2.0f), sky(12, 1.0f);
    std::vector<da::Prediction> views = {prediction(values, values, sky)}, metric = {prediction(values, values, sky)};
    CHECK(!da::align_to_metric(views, metric) && views[0].kind == da::DepthKind::relative_depth && !views[0].scale_factor);
    CHECK(views[0].depth.values == values);
}

TEST(views, a_pair_whose_metric_half_sees_nothing_stays_relative) {
    const std::vector<float> values(12, 2.0f), ground(12, 0.0f), nothing(12, 1e-3f);
    std::vector<da::Prediction> views = {prediction(values, values, ground)}, metric = {prediction(nothing, values, ground)};
    CHECK(!da::align_to_metric(views, metric) && views[0].kind == da::DepthKind::relative_depth && !views[0].scale_factor);
    CHECK(views[0].depth.values == values);
}

TEST(views, a_pair_of_files) {
    toy::Model metric_model = toy::mono();
    metric_model.set("depthanything3.depth_kind", std::string("metric"));
    const toy::File any_view(toy::any_view()), metric(metric_model), relative(toy::mono());
    da::EngineOptions options;
    options.metric_model = metric.path();
    da::Engine engine(any_view.path(), options);
    CHECK(engine.info().kind == da::DepthKind::metric && engine.info().has_sky && !engine.info().needs_focal);
    const auto a = picture(0);
    const da::Prediction prediction = engine.infer(view(a), {});
    CHECK(prediction.sky && prediction.extrinsics && (prediction.kind == da::DepthKind::metric) == prediction.scale_factor.has_value());
    da::InferOptions known;  // the factor goes with the focal length of the camera that is known
    known.focal = da::FocalLength{100.0f, 100.0f};
    const float near = engine.infer(view(a), known).scale_factor.value();
    known.focal = da::FocalLength{300.0f, 300.0f};
    CHECK(std::abs(engine.infer(view(a), known).scale_factor.value() / near - 3.0f) < 1e-4f);
    options.metric_model = relative.path();
    CHECK_CONTAINS(CHECK_ERROR("model.unsupported", da::Engine(any_view.path(), options)), "metres");
    options.metric_model = metric.path();
    CHECK_CONTAINS(CHECK_ERROR("model.unsupported", da::Engine(relative.path(), options)), "any-view");
}
