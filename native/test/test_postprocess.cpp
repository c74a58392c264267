#include <cmath>

#include "check.hpp"
#include "postprocess.hpp"

namespace {

da::Map map_of(std::vector<float> values) {
    const int width = static_cast<int>(values.size());
    return {{width, 1}, std::move(values)};
}

// One view whose maps are those.
std::vector<da::Prediction> views_of(const da::Map& depth, const da::Map& sky) {
    std::vector<da::Prediction> views(1);
    views[0].depth = depth;
    views[0].sky = sky;
    return views;
}

}  // namespace

TEST(postprocess, sky_takes_the_quantile_of_the_rest) {
    da::Map depth = map_of(std::vector<float>(120)), sky = map_of(std::vector<float>(120));
    for (int i = 0; i < 120; ++i) {
        depth.values[i] = static_cast<float>(i);
        sky.values[i] = i < 101 ? 0.29f : 0.3f;  // the threshold itself is sky
    }
    auto views = views_of(depth, sky);
    da::fill_sky(views);
    for (int i = 0; i < 101; ++i) CHECK(views[0].depth.values[i] == static_cast<float>(i));
    for (int i = 101; i < 120; ++i) CHECK(views[0].depth.values[i] == 99.0f);  // 0.99 * 100: rank 99 of 0..100
}

TEST(postprocess, few_sky_or_few_other_pixels_change_nothing) {
    for (const int sky_pixels : {10, 90}) {
        da::Map depth = map_of(std::vector<float>(100)), sky = map_of(std::vector<float>(100));
        for (int i = 0; i < 100; ++i) {
            depth.values[i] = static_cast<float>(i);
            sky.values[i] = i < sky_pixels ? 1.0f : 0.0f;
        }
        auto views = views_of(depth, sky);
        da::fill_sky(views);
        CHECK(views[0].depth.values == depth.values);
    }
}

TEST(postprocess, metres_are_proportional_to_the_focal_length) {
    da::Map depth = map_of({1.0f, 4.0f});
    da::scale_to_metres(depth, 600.0f);
    CHECK(depth.values[0] == 2.0f && depth.values[1] == 8.0f);
}

TEST(postprocess, activations) {
    const float logits[] = {-1.0f, 0.0f, 2.0f};
    CHECK(std::abs(da::depth_map(logits, {3, 1}, {}).values[2] - 7.389056f) < 1e-5f);
    CHECK(da::confidence_map(logits, {3, 1}).values[1] == 2.0f);
    CHECK(da::relu_map(logits, {3, 1}).values == (std::vector<float>{0.0f, 0.0f, 2.0f}));
}

TEST(postprocess, the_sky_of_several_views_is_equally_far) {
    auto views = views_of(map_of(std::vector<float>(40, 1.0f)), map_of(std::vector<float>(40, 0.0f)));
    views.push_back(views_of(map_of(std::vector<float>(40, 3.0f)), map_of(std::vector<float>(40, 1.0f))).front());
    da::fill_sky(views);
    CHECK(views[0].depth.values == std::vector<float>(40, 1.0f) && views[1].depth.values == std::vector<float>(40, 1.0f));
}
