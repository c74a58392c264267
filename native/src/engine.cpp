#include "depth_anything/engine.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <list>
#include <mutex>

#include "depth_anything/error.hpp"
#include "gguf_file.hpp"
#include "memory.hpp"
#include "model/camera.hpp"
#include "plan.hpp"
#include "postprocess.hpp"
#include "preprocess.hpp"
#include "weights.hpp"

namespace da {

namespace {

constexpr int kSmallestResolution = 14, kLargestResolution = 4096, kMostCachedSizes = 64;

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void check_range(const char* name, int value, int low, int high) {
    if (value < low || value > high) {
        throw Error("option.range", std::string(name) + " is " + std::to_string(value) + ", must be " + std::to_string(low) + " to " +
                                        std::to_string(high) + ".");
    }
}

GgufFile open_model(const std::string& path, const EngineOptions& options) {
    if (options.resolution != 0) check_range("resolution", options.resolution, kSmallestResolution, kLargestResolution);
    check_range("cached_sizes", options.cached_sizes, 1, kMostCachedSizes);
    GgufFile file(path);
    require_memory("Model file '" + path + "'", file.bytes(), options.memory_limit);
    return file;
}

Hparams checked_hparams(const GgufFile& file) {
    Hparams hparams = read_hparams(file);
    check_tensors(file, hparams);
    return hparams;
}

const char* architecture_name(Architecture architecture) {
    switch (architecture) {
        case Architecture::any_view:
            return "any_view";
        case Architecture::mono:
            return "mono";
        default:
            return "v2";
    }
}

void check_focal(const std::optional<FocalLength>& focal) {
    if (focal && !(std::isfinite(focal->fx) && std::isfinite(focal->fy) && focal->fx > 0 && focal->fy > 0)) {
        throw Error("input.intrinsics", "Focal lengths of " + std::to_string(focal->fx) + " and " + std::to_string(focal->fy) +
                                            " pixels; both must be positive.");
    }
}

}  // namespace

struct Engine::Impl {
    // In the order of their lives: what comes later refers to what comes earlier.
    Impl(const std::string& path, const EngineOptions& chosen)
        : options(chosen),
          file(open_model(path, chosen)),
          hparams(checked_hparams(file)),
          backend(chosen.device, chosen.threads),
          weights(file, hparams) {
        const bool any_view = hparams.architecture == Architecture::any_view;
        info = {path,
                hparams.checkpoint,
                architecture_name(hparams.architecture),
                hparams.kind,
                hparams.needs_focal,
                hparams.license,
                any_view,
                hparams.architecture == Architecture::mono,
                any_view,
                hparams.vit.patch_size,
                weights.parameters(),
                file.bytes(),
                backend.name()};
    }

    int resolution() const { return options.resolution != 0 ? options.resolution : hparams.image.resize_target; }

    Size processed_size(Size picture) const {
        const auto function = hparams.image.lower_bound ? lower_bound_size : da::processed_size;
        return function(picture, resolution(), hparams.vit.patch_size);
    }

    // The plan for the key, built when it is not among the last used ones.
    Plan& plan_for(const PlanKey& key) {
        const auto same = [&](const std::unique_ptr<Plan>& plan) { return plan->key() == key; };
        const auto found = std::find_if(plans.begin(), plans.end(), same);
        if (found != plans.end()) {
            plans.splice(plans.begin(), plans, found);
            return *plans.front();
        }
        // Room is made first, so that memory never holds more plans than asked for.
        while (static_cast<int>(plans.size()) >= options.cached_sizes) plans.pop_back();
        plans.push_front(std::make_unique<Plan>(key, hparams, weights, backend, options.memory_limit));
        return *plans.front();
    }

    Prediction infer(const ImageView& picture, const InferOptions& wanted);
    Prediction postprocess(const Plan& plan, const ImageView& picture, const InferOptions& wanted) const;

    EngineOptions options;
    GgufFile file;
    Hparams hparams;
    Backend backend;
    Weights weights;
    ModelInfo info;
    std::list<std::unique_ptr<Plan>> plans;  // most recently used first
    std::mutex running;
};

Prediction Engine::Impl::infer(const ImageView& picture, const InferOptions& wanted) {
    check_focal(wanted.focal);
    const double start = seconds();
    check_picture(picture);
    const Size size = processed_size({picture.width, picture.height});
    check_processed({picture.width, picture.height}, size);
    Plan& plan = plan_for({size, info.has_sky && (wanted.sky || wanted.fill_sky), info.has_pose && wanted.pose, wanted.stages});
    write_input(picture, hparams.image, resolution(), hparams.vit.patch_size, size, plan.patches());
    const double prepared = seconds();
    plan.run();
    const double computed = seconds();
    Prediction prediction = postprocess(plan, picture, wanted);
    prediction.timings = {prepared - start, computed - prepared, seconds() - computed};
    return prediction;
}

Prediction Engine::Impl::postprocess(const Plan& plan, const ImageView& picture, const InferOptions& wanted) const {
    const Size size = plan.key().size;
    Prediction prediction;
    prediction.kind = hparams.needs_focal && !wanted.focal ? DepthKind::relative_depth : hparams.kind;
    prediction.depth = depth_map(plan.logits(0), size, hparams.head);
    if (wanted.confidence && info.has_confidence) prediction.confidence = confidence_map(plan.logits(1), size);
    if (plan.sky_logits() != nullptr) {
        Map sky = relu_map(plan.sky_logits(), size);
        if (wanted.fill_sky) fill_sky(prediction.depth, sky);
        if (wanted.sky) prediction.sky = std::move(sky);
    }
    if (hparams.needs_focal && wanted.focal) {
        const float fx = wanted.focal->fx * static_cast<float>(size.width) / static_cast<float>(picture.width);
        const float fy = wanted.focal->fy * static_cast<float>(size.height) / static_cast<float>(picture.height);
        scale_to_metres(prediction.depth, (fx + fy) / 2.0f);
    }
    if (plan.pose_encoding() != nullptr) {
        prediction.intrinsics = intrinsics_from(plan.pose_encoding(), size);
        prediction.extrinsics = extrinsics_from(plan.pose_encoding());
    }
    prediction.stages = plan.stages();
    return prediction;
}

Engine::Engine(const std::string& path, const EngineOptions& options) : impl_(std::make_unique<Impl>(path, options)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

const ModelInfo& Engine::info() const {
    return impl_->info;
}

Size Engine::processed_size(Size picture) const {
    return impl_->processed_size(picture);
}

Prediction Engine::infer(const ImageView& picture, const InferOptions& options) {
    const std::lock_guard<std::mutex> lock(impl_->running);
    impl_->backend.cancelled() = false;
    return impl_->infer(picture, options);
}

void Engine::cancel() {
    impl_->backend.cancelled() = true;
}

std::vector<std::uint8_t> preprocess(const ImageView& picture, int resolution, int patch, Size* processed) {
    check_range("resolution", resolution, kSmallestResolution, kLargestResolution);
    Pixels pixels = resize_to_processed(picture, resolution, patch);
    if (processed != nullptr) *processed = pixels.size;
    if (picture.order == ChannelOrder::bgr) {
        for (std::size_t i = 0; i + 2 < pixels.values.size(); i += 3) std::swap(pixels.values[i], pixels.values[i + 2]);
    }
    return std::move(pixels.values);
}

}  // namespace da
