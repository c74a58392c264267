#include "plan.hpp"

#include <algorithm>

#include "depth_anything/error.hpp"
#include "memory.hpp"
#include "model/camera.hpp"
#include "model/camera_encoder.hpp"
#include "model/dinov2.hpp"
#include "model/dpt.hpp"
#include "preprocess.hpp"

namespace da {

namespace {

constexpr std::size_t kNodes = 8192, kNodesOfView = 4096;     // at most, with kUsualDepth blocks, which GIANT has
constexpr std::size_t kUsualDepth = 40, kNodesOfBlock = 128;  // of a deeper one, and once more for each view
constexpr const char* kInputStage = "input";
constexpr std::size_t kMostConstantsOfView = 64;
constexpr std::int64_t kPoseValues = 9;

ggml_context_ptr tensors_only(std::size_t count, std::size_t extra) {
    return ggml_context_ptr(ggml_init({count * ggml_tensor_overhead() + extra, nullptr, true}));
}

// ggml ends the process when a graph has more.
std::size_t most_nodes(std::size_t views, std::size_t depth) {
    const std::size_t more = kNodesOfBlock * (std::max(depth, kUsualDepth) - kUsualDepth);
    return kNodes + more + (kNodesOfView + more) * views;
}

std::string describe(const PlanKey& key) {
    const std::string size = std::to_string(key.size.width) + "x" + std::to_string(key.size.height);
    return key.views == 1 ? "A picture of " + size : std::to_string(key.views) + " pictures of " + size;
}

// What a plan takes at the very least: the input, the tokens of one block, and the position tables, which are there before the graph can be
// measured.
std::uint64_t least_bytes(const PlanKey& key, const VitParams& vit) {
    const std::uint64_t pixels = static_cast<std::uint64_t>(key.size.width) * key.size.height, views = key.views;
    const std::uint64_t tokens = pixels / (static_cast<std::uint64_t>(vit.patch_size) * vit.patch_size) + 1;
    const std::uint64_t rotary = vit.rotates() ? (views + 1) * vit.head_dim : 0;
    return sizeof(float) * (3 * pixels * views + tokens * ((views + 1) * vit.embed_dim + rotary));
}

}  // namespace

Plan::Plan(PlanKey key, const Hparams& hparams, const Weights& weights, Backend& backend, std::uint64_t memory_limit)
    : key_(std::move(key)),
      patch_size_(hparams.vit.patch_size),
      backend_(backend),
      scratch_(backend.threads().threads()),
      most_nodes_(most_nodes(key_.views, hparams.vit.depth)),
      context_(tensors_only(most_nodes_, ggml_graph_overhead_custom(most_nodes_, false))),
      constants_context_(tensors_only(kMostConstantsOfView * key_.views, 0)),
      graph_(new Graph{context_.get(),
                       constants_context_.get(),
                       weights,
                       backend.cancelled(),
                       backend.kernels(),
                       !backend.own_kernels(),
                       backend.threads(),
                       scratch_,
                       key_.stages,
                       {},
                       {},
                       {},
                       {},
                       {}}) {
    require_memory(describe(key_) + " in the network", least_bytes(key_, hparams.vit), memory_limit);
    build(hparams);
    check_stages(key_.stages);
    allocate(memory_limit);
}

void Plan::build(const Hparams& hparams) {
    Graph& g = *graph_;
    const Grid grid{key_.size.width / patch_size_, key_.size.height / patch_size_};
    const std::int64_t patches = grid.patches();
    patches_ = ggml_new_tensor_2d(g.context, GGML_TYPE_F32, 3 * static_cast<std::int64_t>(patch_size_) * patch_size_, key_.views * patches);
    ggml_set_input(patches_);
    const auto patches_of = [&](std::size_t view) {
        return ggml_view_2d(g.context, patches_, patches_->ne[0], patches, patches_->nb[1], view * patches * patches_->nb[1]);
    };
    g.stage(kInputStage, patches_of(0), {3, key_.size.height, key_.size.width});
    if (key_.known_cameras) {
        cameras_ = ggml_new_tensor_2d(g.context, GGML_TYPE_F32, kPoseValues, key_.views);
        ggml_set_input(cameras_);
    }
    const Features features =
        dinov2(g, patches_, hparams.vit, grid, key_.views, key_.known_cameras ? camera_encoder(g, cameras_) : nullptr);
    if (key_.pose) pose_ = camera_decoder(g, features.camera_tokens);
    for (std::size_t view = 0; view < features.taps.size(); ++view) {
        backend_.check_cancelled();
        const auto& taps = features.taps[view];
        outputs_.push_back(dpt(g, taps, hparams, grid, key_.size, {key_.sky, key_.rays}));
        if (key_.gaussians) outputs_.back().gaussian_logits = gaussian_head(g, taps, patches_of(view), hparams, grid, key_.size);
        g.wanted_stages.clear();  // stages are those of the first view
    }

    nodes_ = ggml_new_graph_custom(g.context, most_nodes_, false);
    for (ggml_tensor* tensor : all_outputs()) {
        ggml_set_output(tensor);
        ggml_build_forward_expand(nodes_, tensor);
    }
    for (const NamedStage& stage : g.stages) ggml_build_forward_expand(nodes_, stage.tensor);
}

// One head after the other, so that they share their memory.
std::vector<ggml_tensor*> Plan::all_outputs() const {
    std::vector<ggml_tensor*> all;
    for (const HeadOutputs& outputs : outputs_) {
        all.insert(all.end(), {outputs.logits, outputs.sky_logits, outputs.ray_logits, outputs.gaussian_logits});
    }
    all.push_back(pose_);
    all.erase(std::remove(all.begin(), all.end(), nullptr), all.end());
    return all;
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
    constants_.reset(ggml_backend_alloc_ctx_tensors_from_buft(constants_context_.get(), backend_.memory()));
    if (constants_ == nullptr)
        throw Error("device.memory", describe(key_) + " needs more memory than there is on " + backend_.description() + ".");
    for (Constant& constant : graph_->constants) {
        ggml_backend_tensor_set(constant.tensor, constant.bytes.data(), 0, constant.bytes.size());
        constant.bytes = {};
    }
    if (backend_.on_host())
        allocate_on_host(memory_limit);
    else
        allocate_on_device();
    scratch_.allocate();
}

void Plan::allocate_on_host(std::uint64_t memory_limit) {
    // Measured by an allocator of its own: one that has measured takes its buffers for allocated.
    const ggml_gallocr_ptr measure(ggml_gallocr_new(backend_.memory()));
    std::size_t bytes = 0;
    ggml_gallocr_reserve_n_size(measure.get(), nodes_, nullptr, nullptr, &bytes);
    bytes_ = bytes + scratch_.bytes() + ggml_backend_buffer_get_size(constants_.get());
    require_memory(describe(key_) + " in the network", bytes_, memory_limit);
    allocator_.reset(ggml_gallocr_new(backend_.memory()));
    if (!ggml_gallocr_alloc_graph(allocator_.get(), nodes_)) {
        throw Error("device.memory", describe(key_) + " needs " + std::to_string(bytes >> 20) + " MiB, which could not be allocated.");
    }
    const ggml_backend_buffer_t buffer = outputs_.front().logits->buffer;
    prefer_huge_pages(ggml_backend_buffer_get_base(buffer), ggml_backend_buffer_get_size(buffer));
}

void Plan::allocate_on_device() {
    scheduler_ = backend_.scheduler(2 * static_cast<std::size_t>(ggml_graph_n_nodes(nodes_)));
    if (!ggml_backend_sched_alloc_graph(scheduler_.get(), nodes_)) {
        throw Error("device.memory", describe(key_) + " needs more memory than there is on " + backend_.description() + ".");
    }
    const auto mirror = [&](ggml_tensor* tensor) {
        if (tensor != nullptr) mirrors_.emplace(tensor, std::vector<float>(ggml_nelements(tensor)));
    };
    mirror(patches_);
    mirror(cameras_);
    for (ggml_tensor* tensor : all_outputs()) mirror(tensor);
    for (const NamedStage& stage : graph_->stages) mirror(stage.tensor);
}

void Plan::run() {
    if (backend_.on_host()) return backend_.compute(nodes_);
    for (ggml_tensor* tensor : {patches_, cameras_}) {
        if (tensor != nullptr) ggml_backend_tensor_set(tensor, mirrors_.at(tensor).data(), 0, ggml_nbytes(tensor));
    }
    backend_.compute(nodes_, scheduler_.get());
    for (auto& [tensor, values] : mirrors_) {
        if (tensor != patches_ && tensor != cameras_) ggml_backend_tensor_get(tensor, values.data(), 0, ggml_nbytes(tensor));
    }
}

const float* Plan::values(const ggml_tensor* tensor) const {
    return mirrors_.empty() ? static_cast<const float*>(tensor->data) : mirrors_.at(tensor).data();
}

float* Plan::input(const ggml_tensor* tensor, int view) {
    float* all = mirrors_.empty() ? static_cast<float*>(tensor->data) : mirrors_.at(tensor).data();
    return all + view * ggml_nelements(tensor) / key_.views;
}

float* Plan::patches(int view) {
    return input(patches_, view);
}

float* Plan::camera(int view) {
    return input(cameras_, view);
}

std::optional<RayMap> Plan::rays(int view) const {
    const ggml_tensor* map = outputs_[view].ray_logits;
    if (map == nullptr) return std::nullopt;
    return RayMap{{static_cast<int>(map->ne[0]), static_cast<int>(map->ne[1])}, plane(map, 0)};
}

const float* Plan::pose_encoding(int view) const {
    return pose_ == nullptr ? nullptr : values(pose_) + view * pose_->ne[0];
}

const float* Plan::plane(const ggml_tensor* map, int channel) const {
    if (map == nullptr || channel >= map->ne[2]) return nullptr;
    return values(map) + static_cast<std::size_t>(channel) * map->ne[0] * map->ne[1];
}

std::vector<PartTime> Plan::parts() const {
    std::vector<PartTime> parts;
    for (const KernelNode& node : graph_->kernel_nodes) {
        const auto same = [&](const PartTime& part) { return part.name == node.part; };
        auto found = std::find_if(parts.begin(), parts.end(), same);
        if (found == parts.end()) found = parts.insert(parts.end(), {node.part, 0.0, 0.0});
        found->seconds += node.seconds;
        if (node.seconds > 0) found->operations += node.operations;  // else nothing needs its result, and it never runs
    }
    return parts;
}

std::vector<Stage> Plan::stages() const {
    std::vector<Stage> result;
    for (const NamedStage& stage : graph_->stages) {
        const float* given = values(stage.tensor);
        result.push_back({stage.name, stage.shape, std::vector<float>(given, given + ggml_nelements(stage.tensor))});
        if (stage.name == kInputStage) result.back().values = planes_from_patches(given, key_.size, patch_size_);
    }
    return result;
}

}  // namespace da
