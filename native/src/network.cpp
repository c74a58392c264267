#include "network.hpp"

#include <algorithm>

#include "depth_anything/error.hpp"
#include "memory.hpp"
#include "model/camera.hpp"
#include "model/gaussians.hpp"
#include "model/ray_pose.hpp"
#include "postprocess.hpp"

namespace da {

namespace {

GgufFile open_model(const std::string& path, const EngineOptions& options) {
    GgufFile file(path);
    require_memory("Model file '" + path + "'", file.bytes(), options.memory_limit);
    return file;
}

GgufFile open_metric(const std::string& path, const EngineOptions& options) {
    GgufFile file = open_model(path, options);
    file.drop_prefix("m_");
    return file;
}

Hparams checked_metric_hparams(const GgufFile& file, const Hparams& pair) {
    Hparams hparams = read_hparams(file, &pair.image);
    check_tensors(file, hparams);
    if (hparams.architecture != Architecture::mono || hparams.kind != DepthKind::metric || hparams.vit.patch_size != pair.vit.patch_size) {
        throw Error("model.unsupported",
                    "Model file '" + file.path() + "' (" + hparams.checkpoint +
                        ") cannot give another model its metres; give DA3METRIC-LARGE or the metric half of a nested pair.");
    }
    return hparams;
}

}  // namespace

Hparams checked_hparams(const GgufFile& file) {
    Hparams hparams = read_hparams(file, nullptr);
    check_tensors(file, hparams);
    return hparams;
}

Network::Network(const std::string& path, const EngineOptions& options, Backend& backend)
    : file_(open_model(path, options)),
      hparams_(checked_hparams(file_)),
      backend_(backend),
      weights_(file_, hparams_, backend),
      cached_sizes_(options.cached_sizes),
      memory_limit_(options.memory_limit) {
    prepare(options);
}

Network::Network(const std::string& path, const EngineOptions& options, Backend& backend, const Hparams& pair)
    : file_(open_metric(path, options)),
      hparams_(checked_metric_hparams(file_, pair)),
      backend_(backend),
      weights_(file_, hparams_, backend),
      cached_sizes_(options.cached_sizes),
      memory_limit_(options.memory_limit) {
    prepare(options);
}

void Network::prepare(const EngineOptions& options) {
    if (!backend_.own_kernels()) return;
    weights_.pack_layers(options.exact, backend_.kernels(), backend_.threads(), memory_limit_);
}

Plan& Network::plan_for(const PlanKey& key) {
    const auto same = [&](const std::unique_ptr<Plan>& plan) { return plan->key() == key; };
    const auto found = std::find_if(plans_.begin(), plans_.end(), same);
    if (found != plans_.end()) {
        plans_.splice(plans_.begin(), plans_, found);
        return *plans_.front();
    }
    // Room is made first, so that memory never holds more plans than asked for.
    while (static_cast<int>(plans_.size()) >= cached_sizes_) plans_.pop_back();
    if (key.gaussians) weights_.pack_gaussian_head();
    plans_.push_front(built(key));
    return *plans_.front();
}

// Of the limit, beside the weights and the plans that are there; 0 without a limit.
std::uint64_t Network::memory_left() const {
    if (memory_limit_ == 0) return 0;
    std::uint64_t used = file_.bytes();
    for (const std::unique_ptr<Plan>& plan : plans_) used += plan->bytes();
    return used < memory_limit_ ? memory_limit_ - used : 1;
}

// Plans that are kept for other sizes go before a new one is refused.
std::unique_ptr<Plan> Network::built(const PlanKey& key) {
    const auto build = [&] { return std::make_unique<Plan>(key, hparams_, weights_, backend_, memory_left()); };
    if (plans_.empty()) return build();
    try {
        return build();
    } catch (const Error& error) {
        if (error.code() != "device.memory") throw;
    }
    plans_.clear();
    return build();
}

std::vector<Prediction> Network::predictions(const Plan& plan) const {
    const Size size = plan.key().size;
    std::vector<Prediction> predictions(plan.key().views);
    for (int view = 0; view < plan.key().views; ++view) {
        backend_.check_cancelled();
        Prediction& prediction = predictions[view];
        prediction.kind = hparams_.kind;
        prediction.depth = depth_map(plan.logits(view, 0), size, hparams_.head);
        if (plan.logits(view, 1) != nullptr) prediction.confidence = confidence_map(plan.logits(view, 1), size);
        if (plan.sky_logits(view) != nullptr) prediction.sky = relu_map(plan.sky_logits(view), size);
        if (const float* encoding = plan.pose_encoding(view)) {
            prediction.intrinsics = intrinsics_from(encoding, size);
            prediction.extrinsics = extrinsics_from(encoding);
        }
    }
    predictions.front().stages = plan.stages();
    return predictions;
}

void Network::add_ray_poses(std::vector<Prediction>& predictions, const Plan& plan, std::uint64_t seed) const {
    std::vector<RayMap> maps;
    for (int view = 0; view < plan.key().views; ++view) maps.push_back(*plan.rays(view));
    const auto cameras = cameras_from_rays(maps, plan.key().size, seed, [&] { backend_.check_cancelled(); });
    for (std::size_t view = 0; view < cameras.size(); ++view) {
        if (!cameras[view]) continue;
        predictions[view].intrinsics = cameras[view]->intrinsics;
        predictions[view].extrinsics = cameras[view]->extrinsics;
    }
}

void Network::add_gaussians(std::vector<Prediction>& predictions, const Plan& plan, float scale) const {
    for (int view = 0; view < plan.key().views; ++view) {
        Prediction& prediction = predictions[view];
        if (!prediction.extrinsics) continue;
        prediction.gaussians =
            gaussians_from(plan.gaussian_logits(view), prediction, *hparams_.gaussians, scale, [&] { backend_.check_cancelled(); });
    }
}

}  // namespace da
