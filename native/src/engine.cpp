#include "depth_anything/engine.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <new>

#include "depth_anything/error.hpp"
#include "model/known_cameras.hpp"
#include "model/similarity.hpp"
#include "nested.hpp"
#include "network.hpp"
#include "postprocess.hpp"
#include "preprocess.hpp"

namespace da {

namespace {

constexpr int kSmallestResolution = 14, kLargestResolution = 4096, kMostCachedSizes = 64, kLargestPatch = 64;
constexpr std::size_t kMostViews = 256;

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void check_range(const char* name, int value, int low, int high) {
    if (value < low || value > high) {
        throw Error("option.range", std::string(name) + " is " + std::to_string(value) + ", must be " + std::to_string(low) + " to " +
                                        std::to_string(high) + ".");
    }
}

EngineOptions checked(const EngineOptions& options) {
    if (options.resolution != 0) check_range("resolution", options.resolution, kSmallestResolution, kLargestResolution);
    check_range("cached_sizes", options.cached_sizes, 1, kMostCachedSizes);
    return options;
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

ModelInfo file_info(const GgufFile& file, const Hparams& hparams) {
    const bool any_view = hparams.architecture == Architecture::any_view;
    ModelInfo info;
    info.path = file.path();
    info.checkpoint = hparams.checkpoint;
    info.architecture = architecture_name(hparams.architecture);
    info.kind = hparams.kind;
    info.needs_focal = hparams.needs_focal;
    info.license = hparams.license;
    info.has_confidence = info.has_pose = any_view;
    info.has_sky = hparams.architecture == Architecture::mono;
    info.patch_size = hparams.vit.patch_size;
    info.parameters = file.elements();
    info.file_bytes = file.bytes();
    info.has_rays = hparams.has_rays;
    info.has_pose_encoder = hparams.has_pose_encoder;
    info.has_gaussians = hparams.gaussians.has_value();
    return info;
}

// What an allocation throws, as one of our errors. Those of the graph are counted before they are made; a picture's and a result's are not.
template <typename Action>
auto without_bad_alloc(const Action& action) {
    try {
        return action();
    } catch (const std::bad_alloc&) {
        throw Error("device.memory",
                    "The memory does not suffice; take smaller pictures, a smaller or quantised model, or a lower resolution.");
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
        : options(checked(chosen)), backend(options.device, options.threads, options.instruction_set), network(path, options, backend) {
        if (!options.metric_model.empty()) add_metric_network();
        info = file_info(network.file(), network.hparams());
        info.device = backend.description();
        info.instruction_set = backend.kernels().name;
        if (!metric) return;
        info.kind = DepthKind::metric;
        info.has_sky = true;
        info.parameters += metric->file().elements();
        info.file_bytes += metric->file().bytes();
    }

    void add_metric_network() {
        if (network.hparams().architecture != Architecture::any_view) {
            throw Error("model.unsupported", "Model file '" + network.file().path() +
                                                 "' is no any-view model; only those take their metres from a metric_model.");
        }
        metric = std::make_unique<Network>(options.metric_model, options, backend, network.hparams());
    }

    int resolution() const { return options.resolution != 0 ? options.resolution : network.hparams().image.resize_target; }

    Size processed_size(Size picture) const {
        check_size(picture);
        const auto function = network.hparams().image.lower_bound ? lower_bound_size : da::processed_size;
        const Size processed = function(picture, resolution(), network.hparams().vit.patch_size);
        check_processed(picture, processed);
        return processed;
    }

    Size common_size(const std::vector<ImageView>& pictures) const;
    std::vector<Prediction> infer(const std::vector<ImageView>& pictures, const InferOptions& wanted);
    void check_wanted(const InferOptions& wanted, std::size_t pictures) const;
    PlanKey key_for(Size size, int views, const InferOptions& wanted) const;
    void write_cameras(Plan& plan, const std::vector<KnownCamera>& cameras, const std::vector<Intrinsics>& intrinsics) const;
    std::vector<Prediction> own_predictions(const Plan& plan, const InferOptions& wanted) const;
    float processed_focal(const ImageView& picture, const FocalLength& focal) const;
    void pair_with(std::vector<Prediction>& predictions, const Plan& metric_plan, const std::vector<ImageView>& pictures,
                   const InferOptions& wanted) const;
    void set_metres(std::vector<Prediction>& predictions, const std::vector<ImageView>& pictures,
                    const std::optional<FocalLength>& focal) const;

    EngineOptions options;
    Backend backend;
    Network network;
    std::unique_ptr<Network> metric;  // of a pair
    ModelInfo info;
    std::mutex running;
};

// The largest size that every processed picture covers.
Size Engine::Impl::common_size(const std::vector<ImageView>& pictures) const {
    if (pictures.empty() || pictures.size() > kMostViews) {
        throw Error("input.shape", std::to_string(pictures.size()) + " pictures were given; 1 to " + std::to_string(kMostViews) +
                                       " can be processed together.");
    }
    Size common;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        check_picture(pictures[i]);
        const Size size = processed_size({pictures[i].width, pictures[i].height});
        common = i == 0 ? size : Size{std::min(common.width, size.width), std::min(common.height, size.height)};
    }
    return common;
}

void Engine::Impl::check_wanted(const InferOptions& wanted, std::size_t pictures) const {
    check_focal(wanted.focal);
    if (wanted.ray_pose && !info.has_rays) {
        throw Error("model.unsupported",
                    "Model file '" + info.path + "' has no rays to take a pose from; convert the any-view checkpoint with --with-aux.");
    }
    if (wanted.cameras.empty()) return;
    if (!info.has_pose_encoder) {
        throw Error(
            "model.unsupported",
            "Model file '" + info.path + "' has no encoder of known cameras; convert the any-view checkpoint with --with-pose-encoder.");
    }
    if (wanted.cameras.size() != pictures) {
        throw Error("input.pose", std::to_string(wanted.cameras.size()) + " cameras were given for " + std::to_string(pictures) +
                                      " pictures; give one for each, or none.");
    }
    check_cameras(wanted.cameras);
}

PlanKey Engine::Impl::key_for(Size size, int views, const InferOptions& wanted) const {
    PlanKey key;
    key.size = size;
    key.views = views;
    key.sky = network.hparams().architecture == Architecture::mono && (wanted.sky || wanted.fill_sky);
    key.gaussians = info.has_gaussians && wanted.gaussians;
    key.known_cameras = !wanted.cameras.empty();
    const bool posed = info.has_pose && (wanted.pose || metric || key.gaussians || key.known_cameras);
    key.rays = posed && wanted.ray_pose;
    key.pose = posed && !wanted.ray_pose;
    key.stages = wanted.stages;
    return key;
}

void Engine::Impl::write_cameras(Plan& plan, const std::vector<KnownCamera>& cameras, const std::vector<Intrinsics>& intrinsics) const {
    const std::vector<KnownCamera> relative = normalised(cameras);
    for (int view = 0; view < plan.key().views; ++view) {
        const std::array<float, 9> encoding = pose_encoding_of(relative[view], intrinsics[view]);
        std::copy(encoding.begin(), encoding.end(), plan.camera(view));
    }
}

std::vector<Prediction> Engine::Impl::infer(const std::vector<ImageView>& pictures, const InferOptions& wanted) {
    check_wanted(wanted, pictures.size());
    network.file().check_unchanged();
    if (metric) metric->file().check_unchanged();
    const double start = seconds();
    const Size size = common_size(pictures);
    const int views = static_cast<int>(pictures.size()), patch = network.hparams().vit.patch_size;
    Plan& plan = network.plan_for(key_for(size, views, wanted));
    Plan* metric_plan = nullptr;
    if (metric) {
        PlanKey key;
        key.size = size;
        key.views = views;
        key.sky = true;
        metric_plan = &metric->plan_for(key);
    }
    for (int view = 0; view < views; ++view) {
        backend.check_cancelled();
        write_input(pictures[view], network.hparams().image, resolution(), patch, size, plan.patches(view));
        const std::size_t floats = 3 * static_cast<std::size_t>(size.width) * size.height;
        if (metric_plan != nullptr) std::copy_n(plan.patches(view), floats, metric_plan->patches(view));
    }
    std::vector<Intrinsics> known;
    for (std::size_t view = 0; view < wanted.cameras.size(); ++view) {
        const Size given{pictures[view].width, pictures[view].height};
        known.push_back(processed_intrinsics(wanted.cameras[view], given, processed_size(given), size));
    }
    if (!known.empty()) write_cameras(plan, wanted.cameras, known);
    const double prepared = seconds();
    plan.run();
    if (metric_plan != nullptr) metric_plan->run();
    const double computed = seconds();
    std::vector<Prediction> predictions = own_predictions(plan, wanted);
    if (metric_plan != nullptr) pair_with(predictions, *metric_plan, pictures, wanted);
    if (plan.key().sky && wanted.fill_sky) fill_sky(predictions);
    if (network.hparams().needs_focal) set_metres(predictions, pictures, wanted.focal);
    if (!known.empty()) align_to_cameras(predictions, wanted.cameras, wanted.seed);
    for (std::size_t view = 0; view < predictions.size(); ++view) {
        Prediction& prediction = predictions[view];
        if (!known.empty()) prediction.intrinsics = known[view];
        if (!wanted.confidence) prediction.confidence.reset();
        if (!wanted.sky) prediction.sky.reset();
        if (!wanted.pose) {
            prediction.intrinsics.reset();
            prediction.extrinsics.reset();
        }
        prediction.timings = {prepared - start, computed - prepared, seconds() - computed};
    }
    return predictions;
}

// What the network itself gives, Gaussians in its own unit included.
std::vector<Prediction> Engine::Impl::own_predictions(const Plan& plan, const InferOptions& wanted) const {
    constexpr double most = 3.0;
    std::vector<Prediction> predictions = network.predictions(plan);
    if (plan.key().rays) network.add_ray_poses(predictions, plan, wanted.seed);
    if (!plan.key().gaussians) return predictions;
    double scale = 1.0;
    const bool posed =
        std::all_of(predictions.begin(), predictions.end(), [](const Prediction& one) { return one.extrinsics.has_value(); });
    if (posed && !wanted.cameras.empty()) {
        const auto found = similarity_scale(centres_of(predictions), centres_of(normalised(wanted.cameras)), true);
        scale = std::clamp(found.value_or(1.0), 1.0 / most, most);
    }
    network.add_gaussians(predictions, plan, static_cast<float>(scale));
    return predictions;
}

// Mean focal length of the processed picture, pixels.
float Engine::Impl::processed_focal(const ImageView& picture, const FocalLength& focal) const {
    const Size given{picture.width, picture.height}, size = processed_size(given);
    const float fx = focal.fx * static_cast<float>(size.width) / static_cast<float>(given.width);
    const float fy = focal.fy * static_cast<float>(size.height) / static_cast<float>(given.height);
    return (fx + fy) / 2.0f;
}

// Metres by the focal length that is given, else by the estimate, as in the official code, which takes none.
void Engine::Impl::pair_with(std::vector<Prediction>& predictions, const Plan& metric_plan, const std::vector<ImageView>& pictures,
                             const InferOptions& wanted) const {
    std::vector<Prediction> metres = metric->predictions(metric_plan);
    fill_sky(metres);
    for (std::size_t i = 0; i < predictions.size(); ++i) {
        const std::optional<Intrinsics>& estimate = predictions[i].intrinsics;
        if (wanted.focal)
            scale_to_metres(metres[i].depth, processed_focal(pictures[i], *wanted.focal));
        else if (estimate)
            scale_to_metres(metres[i].depth, (estimate->fx + estimate->fy) / 2.0f);
    }
    if (align_to_metric(predictions, metres) && wanted.fill_sky) fill_nested_sky(predictions, metres);
    for (std::size_t i = 0; i < predictions.size(); ++i) predictions[i].sky = std::move(metres[i].sky);
}

// Canonical depth becomes metres with the focal length of the processed picture, and stays relative without.
void Engine::Impl::set_metres(std::vector<Prediction>& predictions, const std::vector<ImageView>& pictures,
                              const std::optional<FocalLength>& focal) const {
    for (std::size_t i = 0; i < predictions.size(); ++i) {
        predictions[i].kind = focal ? network.hparams().kind : DepthKind::relative_depth;
        if (!focal) continue;
        scale_to_metres(predictions[i].depth, processed_focal(pictures[i], *focal));
    }
}

ModelInfo inspect(const std::string& path) {
    return without_bad_alloc([&] {
        const GgufFile file(path);
        return file_info(file, checked_hparams(file));
    });
}

Engine::Engine(const std::string& path, const EngineOptions& options)
    : impl_(without_bad_alloc([&] { return std::make_unique<Impl>(path, options); })) {}
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
    return std::move(infer_views({picture}, options).front());
}

std::vector<Prediction> Engine::infer_views(const std::vector<ImageView>& pictures, const InferOptions& options) {
    const std::lock_guard<std::mutex> lock(impl_->running);
    impl_->backend.cancelled() = false;
    return without_bad_alloc([&] { return impl_->infer(pictures, options); });
}

std::vector<PartTime> Engine::parts() const {
    const std::lock_guard<std::mutex> lock(impl_->running);
    std::vector<PartTime> parts = impl_->network.parts();
    std::sort(parts.begin(), parts.end(), [](const PartTime& a, const PartTime& b) { return a.seconds > b.seconds; });
    return parts;
}

double Engine::peak() const {
    const std::lock_guard<std::mutex> lock(impl_->running);
    return impl_->backend.peak();
}

void Engine::cancel() {
    impl_->backend.cancelled() = true;
}

std::vector<std::uint8_t> preprocess(const ImageView& picture, int resolution, int patch, Size* processed) {
    check_range("resolution", resolution, kSmallestResolution, kLargestResolution);
    check_range("patch", patch, 1, kLargestPatch);
    Pixels pixels = without_bad_alloc([&] { return resize_to_processed(picture, resolution, patch); });
    if (processed != nullptr) *processed = pixels.size;
    if (picture.order == ChannelOrder::bgr) {
        for (std::size_t i = 0; i + 2 < pixels.values.size(); i += 3) std::swap(pixels.values[i], pixels.values[i + 2]);
    }
    return std::move(pixels.values);
}

}  // namespace da
