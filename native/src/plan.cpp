#include "plan.hpp"

#include <algorithm>

#include "depth_anything/error.hpp"
#include "memory.hpp"
#include "model/camera.hpp"
#include "model/dinov2.hpp"
#include "model/dpt.hpp"
#include "preprocess.hpp"

namespace da {

namespace {

constexpr std::size_t kMostNodes = 32768;  // GIANT has 40 blocks of about 60 nodes, cut into pieces at most a few times
constexpr const char* kInputStage = "input";
constexpr std::size_t kMostConstants = 16;

ggml_context_ptr tensors_only(std::size_t count, std::size_t extra) {
    return ggml_context_ptr(ggml_init({count * ggml_tensor_overhead() + extra, nullptr, true}));
}

std::string describe(Size size) {
    return std::to_string(size.width) + "x" + std::to_string(size.height);
}

}  // namespace

Plan::Plan(PlanKey key, const Hparams& hparams, const Weights& weights, Backend& backend, std::uint64_t memory_limit)
    : key_(std::move(key)),
      patch_size_(hparams.vit.patch_size),
      backend_(backend),
      scratch_(backend.threads().threads()),
      context_(tensors_only(kMostNodes, ggml_graph_overhead_custom(kMostNodes, false))),
      constants_context_(tensors_only(kMostConstants, 0)),
      allocator_(ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend.handle()))),
      graph_(new Graph{
          context_.get(), constants_context_.get(), weights, backend.cancelled(), backend.threads(), scratch_, key_.stages, {}, {}, {}}) {
    build(hparams);
    check_stages(key_.stages);
    allocate(memory_limit);
}

void Plan::build(const Hparams& hparams) {
    Graph& g = *graph_;
    const Grid grid{key_.size.width / patch_size_, key_.size.height / patch_size_};
    patches_ = ggml_new_tensor_2d(g.context, GGML_TYPE_F32, 3 * static_cast<std::int64_t>(patch_size_) * patch_size_, grid.patches());
    ggml_set_input(patches_);
    g.stage(kInputStage, patches_, {3, key_.size.height, key_.size.width});
    const Features features = dinov2(g, patches_, hparams.vit, grid);
    const HeadOutputs outputs = dpt(g, features.taps, hparams, grid, key_.size, key_.sky);
    logits_ = outputs.logits;
    sky_logits_ = outputs.sky_logits;
    if (key_.pose) pose_ = camera_decoder(g, features.camera_token);

    nodes_ = ggml_new_graph_custom(g.context, kMostNodes, false);
    for (ggml_tensor* output : {logits_, sky_logits_, pose_}) {
        if (output == nullptr) continue;
        ggml_set_output(output);
        ggml_build_forward_expand(nodes_, output);
    }
    for (const NamedStage& stage : g.stages) ggml_build_forward_expand(nodes_, stage.tensor);
}

void Plan::check_stages(const std::vector<std::string>& wanted) const {
    for (const std::string& name : wanted) {
        const auto same = [&](const NamedStage& stage) { return stage.name == name; };
        if (std::none_of(graph_->stages.begin(), graph_->stages.end(), same)) {
            throw Error("option.unknown",
                        "The network has no stage '" + name + "' with the outputs that are wanted; see docs/parity.md for the names.");
        }
    }
}

void Plan::allocate(std::uint64_t memory_limit) {
    constants_.reset(ggml_backend_alloc_ctx_tensors(constants_context_.get(), backend_.handle()));
    for (Constant& constant : graph_->constants) {
        ggml_backend_tensor_set(constant.tensor, constant.bytes.data(), 0, constant.bytes.size());
        constant.bytes = {};
    }
    // Measured by an allocator of its own: one that has measured takes its buffers for allocated.
    const ggml_gallocr_ptr measure(ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend_.handle())));
    std::size_t bytes = 0;
    ggml_gallocr_reserve_n_size(measure.get(), nodes_, nullptr, nullptr, &bytes);
    require_memory("A picture of " + describe(key_.size) + " in the network", bytes + scratch_.bytes(), memory_limit);
    if (!ggml_gallocr_alloc_graph(allocator_.get(), nodes_)) {
        throw Error("device.memory", "The " + std::to_string(bytes >> 20) + " MiB that a picture of " + describe(key_.size) +
                                         " needs could not be allocated.");
    }
    scratch_.allocate();
}

void Plan::run() {
    backend_.compute(nodes_);
}

const float* Plan::plane(const ggml_tensor* map, int channel) {
    if (map == nullptr || channel >= map->ne[2]) return nullptr;
    return static_cast<const float*>(map->data) + static_cast<std::size_t>(channel) * map->ne[0] * map->ne[1];
}

std::vector<Stage> Plan::stages() const {
    std::vector<Stage> result;
    for (const NamedStage& stage : graph_->stages) {
        const auto* values = static_cast<const float*>(stage.tensor->data);
        result.push_back({stage.name, stage.shape, std::vector<float>(values, values + ggml_nelements(stage.tensor))});
        if (stage.name == kInputStage) result.back().values = planes_from_patches(values, key_.size, patch_size_);
    }
    return result;
}

}  // namespace da
