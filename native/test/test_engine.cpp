#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <thread>

#include "allowed_cores.hpp"
#include "check.hpp"
#include "depth_anything/engine.hpp"
#include "kernels/kernel_set.hpp"
#include "toy_model.hpp"

namespace {

struct Picture {
    int width, height;
    std::vector<std::uint8_t> pixels;

    Picture(int w, int h) : width(w), height(h), pixels(static_cast<std::size_t>(w) * h * 3) {
        for (std::size_t i = 0; i < pixels.size(); ++i)
            pixels[i] = static_cast<std::uint8_t>(128 + 100 * std::sin(static_cast<double>(i) * 0.01));
    }
    da::ImageView view() const { return {pixels.data(), width, height, 3 * width, da::ChannelOrder::rgb}; }
};

da::EngineOptions threads(int count) {
    da::EngineOptions options;
    options.threads = count;
    return options;
}

long resident_bytes() {
    long pages = 0;
    std::ifstream file("/proc/self/statm");
    file >> pages >> pages;
    return pages * ::sysconf(_SC_PAGESIZE);
}

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

TEST(engine, gives_what_the_model_has_and_nothing_else) {
    const toy::File any_view_file(toy::any_view()), mono_file(toy::mono());
    da::Engine any_view(any_view_file.path(), threads(1)), mono(mono_file.path(), threads(1));
    const da::Prediction first = any_view.infer(Picture(64, 48).view(), {});
    CHECK(first.depth.size == (da::Size{56, 42}) && first.confidence && !first.sky && first.intrinsics && first.extrinsics);
    const da::Prediction second = mono.infer(Picture(64, 48).view(), {});
    CHECK(!second.confidence && second.sky && !second.intrinsics && !second.extrinsics);
    for (const float value : first.depth.values) CHECK(std::isfinite(value) && value > 0);
    CHECK(*std::max_element(first.depth.values.begin(), first.depth.values.end()) >
          *std::min_element(first.depth.values.begin(), first.depth.values.end()));
    da::InferOptions nothing;
    nothing.confidence = nothing.pose = false;
    const da::Prediction bare = any_view.infer(Picture(64, 48).view(), nothing);
    CHECK(!bare.confidence && !bare.intrinsics && bare.depth.values == first.depth.values);
}

TEST(engine, a_file_that_is_inspected_tells_what_its_engine_tells) {
    for (const toy::Model& model : {toy::any_view(), toy::mono(), toy::swiglu()}) {
        const toy::File file(model);
        const da::ModelInfo found = da::inspect(file.path()), expected = da::Engine(file.path(), threads(1)).info();
        CHECK(found.path == expected.path && found.checkpoint == expected.checkpoint && found.architecture == expected.architecture);
        CHECK(found.kind == expected.kind && found.license == expected.license && found.parameters == expected.parameters);
        CHECK(found.has_sky == expected.has_sky && found.has_pose == expected.has_pose && found.file_bytes == expected.file_bytes);
        CHECK(found.device.empty() && found.instruction_set.empty() && !expected.device.empty());
    }
    CHECK_ERROR("model.missing", da::inspect("/nowhere/model.gguf"));
}

TEST(engine, runs_gated_feed_forward_blocks) {
    toy::Model open = toy::swiglu();
    const Picture picture(64, 48);
    const auto depth = [&](const toy::Model& model) {
        const toy::File file(model);
        return da::Engine(file.path(), threads(1)).infer(picture.view(), {}).depth.values;
    };
    // A gate of zeros closes, since SiLU(0) is 0; then what it gates has no say.
    const auto change_half = [](toy::Model& model, std::size_t half, float factor) {
        for (const char* part : {"weight", "bias"}) {
            std::vector<float>& values = model.tensor(std::string("vit.blk.2.mlp_w12.") + part).values;
            const std::size_t count = values.size() / 2;
            for (std::size_t i = half * count; i < (half + 1) * count; ++i) values[i] *= factor;
        }
    };
    toy::Model closed = open, louder = open;
    change_half(closed, 0, 0.0f);
    change_half(louder, 1, 2.0f);
    CHECK(depth(louder) != depth(open) && depth(closed) != depth(open));
    toy::Model closed_and_louder = closed;
    change_half(closed_and_louder, 1, 2.0f);
    CHECK(depth(closed_and_louder) == depth(closed));
}

TEST(engine, depth_does_not_depend_on_the_number_of_threads) {
    const toy::File file(toy::any_view());
    const Picture picture(200, 130);
    da::EngineOptions options = threads(1);
    options.resolution = 196;
    for (const da::kernels::KernelSet* set : da::kernels::usable_kernel_sets()) {
        options.instruction_set = set->name;
        options.threads = 1;
        const da::Prediction expected = da::Engine(file.path(), options).infer(picture.view(), {});
        for (const int count : {2, 3, 7}) {
            options.threads = count;
            const da::Prediction found = da::Engine(file.path(), options).infer(picture.view(), {});
            CHECK(found.depth.values == expected.depth.values && found.confidence->values == expected.confidence->values);
        }
    }
}

TEST(engine, instruction_sets_agree_and_the_best_one_is_chosen) {
    const toy::File file(toy::any_view());
    const Picture picture(200, 130);
    const auto usable = da::kernels::usable_kernel_sets();
    da::EngineOptions options = threads(2);
    da::Engine best(file.path(), options);
    CHECK(best.info().instruction_set == usable.front()->name);
    const da::Prediction expected = best.infer(picture.view(), {});
    for (const da::kernels::KernelSet* set : usable) {
        options.instruction_set = set->name;
        da::Engine engine(file.path(), options);
        CHECK(engine.info().instruction_set == set->name);
        const da::Prediction found = engine.infer(picture.view(), {});
        for (std::size_t i = 0; i < found.depth.values.size(); ++i)
            CHECK(std::abs(found.depth.values[i] / expected.depth.values[i] - 1) < 1e-4);
    }
    options.instruction_set = "mmx";
    CHECK_CONTAINS(CHECK_ERROR("device.unavailable", da::Engine(file.path(), options)), usable.front()->name);
}

TEST(engine, case_31_the_same_picture_gives_the_same_bytes) {
    const toy::File file(toy::mono());
    da::Engine engine(file.path(), threads(2));
    for (const int fill : {0, 255, 128}) {
        Picture picture(70, 70);
        std::fill(picture.pixels.begin(), picture.pixels.end(), static_cast<std::uint8_t>(fill));
        const da::Prediction first = engine.infer(picture.view(), {});
        for (const float value : first.depth.values) CHECK(std::isfinite(value));
        for (int i = 0; i < 50; ++i) CHECK(engine.infer(picture.view(), {}).depth.values == first.depth.values);
    }
}

TEST(engine, case_3_padded_rows_and_channel_order) {
    const toy::File file(toy::any_view());
    da::Engine engine(file.path(), threads(1));
    const Picture picture(61, 47);
    const da::Prediction expected = engine.infer(picture.view(), {});
    std::vector<std::uint8_t> padded(static_cast<std::size_t>(200) * picture.height, 0xAA), swapped = picture.pixels;
    for (int y = 0; y < picture.height; ++y)
        std::memcpy(padded.data() + 200 * y, picture.pixels.data() + 3 * picture.width * y, 3 * picture.width);
    for (std::size_t i = 0; i < swapped.size(); i += 3) std::swap(swapped[i], swapped[i + 2]);
    CHECK(engine.infer({padded.data(), picture.width, picture.height, 200, da::ChannelOrder::rgb}, {}).depth.values ==
          expected.depth.values);
    CHECK(engine.infer({swapped.data(), picture.width, picture.height, 3 * picture.width, da::ChannelOrder::bgr}, {}).depth.values ==
          expected.depth.values);
}

TEST(engine, case_13_sizes_change_from_frame_to_frame) {
    const toy::File file(toy::any_view());
    da::Engine engine(file.path(), threads(1));
    const da::Prediction first = engine.infer(Picture(64, 48).view(), {});
    for (const auto& [width, height] :
         {std::pair{32, 24}, std::pair{128, 72}, std::pair{1, 1}, std::pair{20, 2000}, std::pair{3000, 15}, std::pair{13, 13}}) {
        const da::Prediction prediction = engine.infer(Picture(width, height).view(), {});
        CHECK(prediction.depth.size == engine.processed_size({width, height}));
        CHECK(prediction.depth.values.size() == static_cast<std::size_t>(prediction.depth.size.width) * prediction.depth.size.height);
    }
    CHECK(engine.infer(Picture(64, 48).view(), {}).depth.values == first.depth.values);
}

TEST(engine, case_53_many_sizes_and_many_loads_keep_memory_flat) {
    const toy::File file(toy::any_view());
    const auto round = [&] {
        da::Engine engine(file.path(), threads(1));
        for (int i = 1; i <= 20; ++i) engine.infer(Picture(20 * i, 97).view(), {});
    };
    for (int i = 0; i < 5; ++i) round();  // the allocator settles, and so does an emulator that keeps what it translated
    const long before = resident_bytes();
    for (int i = 0; i < 10; ++i) round();
#if !defined(__SANITIZE_ADDRESS__)  // the sanitizer keeps freed memory in quarantine; it finds leaks by itself
    CHECK(resident_bytes() - before < 5'000'000);
#else
    CHECK(before > 0);
#endif
}

TEST(engine, metres_only_with_a_focal_length) {
    toy::Model model = toy::mono();
    model.set("depthanything3.depth_kind", std::string("metric"));
    const toy::File file(model);
    da::Engine engine(file.path(), threads(1));
    const Picture picture(112, 56);  // processed at 56x28: half the focal length
    da::InferOptions options;
    const da::Prediction canonical = engine.infer(picture.view(), options);
    CHECK(canonical.kind == da::DepthKind::relative_depth);
    options.focal = da::FocalLength{500.0f, 700.0f};
    const da::Prediction metric = engine.infer(picture.view(), options);
    CHECK(metric.kind == da::DepthKind::metric);
    for (std::size_t i = 0; i < metric.depth.values.size(); ++i) {
        CHECK(std::abs(metric.depth.values[i] / canonical.depth.values[i] - 1.0f) < 1e-6f);  // mean of 250 and 350 is the canonical 300
    }
    for (const float bad : {0.0f, -1.0f, std::nanf(""), INFINITY}) {
        options.focal = da::FocalLength{bad, 300.0f};
        CHECK_ERROR("input.intrinsics", engine.infer(picture.view(), options));
    }
}

TEST(engine, cancel_ends_a_running_inference_and_the_next_one_works) {
    const toy::File file(toy::any_view(24, 128, 2));
    da::EngineOptions options = threads(1);
    options.resolution = 252;  // long enough to be met in the middle, short enough for an emulated machine
    da::Engine engine(file.path(), options);
    const Picture picture(64, 64);
    const da::Prediction expected = engine.infer(picture.view(), {});
    std::atomic<double> ended{0};
    std::thread worker([&] {
        CHECK_ERROR("engine.cancelled", while (true) engine.infer(picture.view(), {}));
        ended = seconds();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const double asked = seconds();
    engine.cancel();
    while (ended == 0 && seconds() - asked < 5.0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        engine.cancel();  // one that comes between two calls is without effect
    }
    worker.join();
    CHECK(ended - asked < 1.0);  // behaviour, not speed: a frame of this model takes longer under sanitizers
    CHECK(engine.infer(picture.view(), {}).depth.values == expected.depth.values);
}

TEST(engine, two_engines_live_apart) {
    const toy::File first_file(toy::any_view()), second_file(toy::mono());
    const Picture picture(64, 48);
    da::Engine first(first_file.path(), threads(1));
    const da::Prediction before = first.infer(picture.view(), {});
    {
        da::Engine second(second_file.path(), threads(2));
        second.infer(picture.view(), {});
    }
    CHECK(first.infer(picture.view(), {}).depth.values == before.depth.values);
}

TEST(engine, what_does_not_fit_in_memory_is_refused_before_it_is_loaded) {
    const toy::File file(toy::any_view());
    da::EngineOptions options = threads(1);
    options.memory_limit = 1000;
    CHECK_CONTAINS(CHECK_ERROR("device.memory", da::Engine(file.path(), options)), "memory_limit");
    options.memory_limit = 4'000'000;
    options.resolution = 4088;
    da::Engine engine(file.path(), options);
    const Picture picture(64, 48);
    CHECK_CONTAINS(CHECK_ERROR("device.memory", engine.infer(picture.view(), {})), "4088x");
}

// Plans of other sizes make room before a new one is refused.
TEST(engine, sizes_that_are_kept_do_not_use_up_the_memory_of_a_new_one) {
    const toy::File file(toy::any_view());
    da::EngineOptions options = threads(1);
    options.cached_sizes = 8;
    const auto fits = [&](da::Engine& engine, Picture picture) {
        try {
            return !engine.infer(picture.view(), {}).depth.values.empty();
        } catch (const da::Error& error) {
            CHECK(error.code() == "device.memory");
            return false;
        }
    };
    options.resolution = 252;
    options.memory_limit = 1u << 20;
    while (!fits(*std::make_unique<da::Engine>(file.path(), options), Picture(252, 252))) options.memory_limit += options.memory_limit / 8;
    da::Engine engine(file.path(), options);  // has room for one plan of that size, and not for two
    for (const int height : {252, 238, 252, 224, 210}) CHECK(fits(engine, Picture(252, height)));
}

// A damaged weight must not become a depth that looks right: what is no number stays so through activations, softmax and filtering.
TEST(engine, what_is_no_number_in_a_network_is_none_in_its_depth) {
    const Picture picture(64, 48);
    for (const char* name : {"vit.patch_embed.bias", "vit.blk.1.attn_qkv.bias", "vit.blk.2.norm2.weight", "vit.blk.3.mlp_fc1.bias",
                             "head.proj.0.bias", "head.scratch.rn1.rc2.c1.bias", "head.scratch.out1.bias", "head.scratch.out2a.bias"}) {
        toy::Model model = toy::any_view();
        model.tensor(name).values[0] = NAN;
        const toy::File file(model);
        for (const da::kernels::KernelSet* set : da::kernels::usable_kernel_sets()) {
            da::EngineOptions options = threads(1);
            options.instruction_set = set->name;
            const std::vector<float> depth = da::Engine(file.path(), options).infer(picture.view(), {}).depth.values;
            check::named(std::string(name) + ", " + set->name,
                         [&] { CHECK(std::any_of(depth.begin(), depth.end(), [](float value) { return std::isnan(value); })); });
        }
    }
}

// The weights of a file that is cut are gone, and reading them would end the process; those of one that is written into are others.
TEST(engine, a_file_that_is_changed_while_it_is_in_use) {
    const Picture picture(64, 48);
    const toy::File cut(toy::any_view()), touched(toy::any_view()), replaced(toy::any_view());
    da::Engine first(cut.path(), threads(1)), second(touched.path(), threads(1)), third(replaced.path(), threads(1));
    const std::vector<float> expected = first.infer(picture.view(), {}).depth.values;
    CHECK(::truncate(cut.path().c_str(), 100) == 0);
    const timespec later[2] = {{0, UTIME_OMIT}, {2'000'000'000, 0}};
    CHECK(::utimensat(AT_FDCWD, touched.path().c_str(), later, 0) == 0);
    for (da::Engine* engine : {&first, &second})
        CHECK_CONTAINS(CHECK_ERROR("model.format", engine->infer(picture.view(), {})), "was changed while it was in use");
    const toy::File other(toy::mono());
    CHECK(::rename(other.path().c_str(), replaced.path().c_str()) == 0);
    CHECK(third.infer(picture.view(), {}).depth.values == expected);
}

TEST(engine, sizes_that_cannot_be_processed) {
    const toy::File file(toy::any_view());
    const da::Engine engine(file.path(), threads(1));
    CHECK(engine.processed_size({1, 1}) == (da::Size{56, 56}));
    for (const da::Size size : {da::Size{0, 0}, da::Size{0, 5}, da::Size{-4, 5}, da::Size{5, 2147483647}})
        CHECK_ERROR("input.shape", engine.processed_size(size));
}

TEST(engine, options_out_of_range) {
    const toy::File file(toy::any_view());
    const auto load = [&](auto change) {
        da::EngineOptions options;
        change(options);
        da::Engine(file.path(), options);
    };
    CHECK_ERROR("option.range", load([](da::EngineOptions& o) { o.threads = -1; }));
    CHECK_ERROR("option.range", load([](da::EngineOptions& o) { o.threads = 100000; }));
    CHECK_ERROR("option.range", load([](da::EngineOptions& o) { o.resolution = 1000000; }));
    CHECK_ERROR("option.range", load([](da::EngineOptions& o) { o.cached_sizes = 0; }));
    CHECK_CONTAINS(CHECK_ERROR("device.unavailable", load([](da::EngineOptions& o) { o.device = "cuda"; })), "has: cpu");
    CHECK(da::allowed_cores() >= 1);
}

TEST(engine, stages_by_name) {
    const toy::File file(toy::any_view());
    da::Engine engine(file.path(), threads(1));
    da::InferOptions options;
    options.stages = {"input", "tap.3", "logits"};
    const da::Prediction prediction = engine.infer(Picture(64, 48).view(), options);
    CHECK(prediction.stages.size() == 3);
    CHECK(prediction.stages[0].shape == (std::vector<std::int64_t>{3, 42, 56}));
    CHECK(prediction.stages[1].shape == (std::vector<std::int64_t>{12, 64}));
    for (std::size_t i = 0; i < prediction.depth.values.size(); ++i)
        CHECK(prediction.depth.values[i] == std::exp(prediction.stages[2].values[i]));
    options.stages = {"tap.9"};
    CHECK_CONTAINS(CHECK_ERROR("option.unknown", engine.infer(Picture(64, 48).view(), options)), "tap.9");
}

TEST(engine, tells_where_the_time_went) {
    const toy::File file(toy::any_view());
    da::Engine engine(file.path(), threads(2));
    const da::Prediction prediction = engine.infer(Picture(64, 48).view(), {});
    double total = 0;
    for (const da::PartTime& part : engine.parts()) total += part.seconds;
    CHECK(total > 0 && total < prediction.timings.compute);
    const auto parts = engine.parts();
    const auto named = [&](const char* name) {
        return std::find_if(parts.begin(), parts.end(), [&](const da::PartTime& part) { return part.name == name; });
    };
    for (const char* name : {"products", "attention", "convolutions"}) CHECK(named(name) != parts.end() && named(name)->operations > 0);
    CHECK(engine.peak() > 1e8);
}
