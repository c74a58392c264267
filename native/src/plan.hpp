// A built and allocated graph for one processed size, one number of views and one set of wanted outputs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "backend.hpp"
#include "depth_anything/engine.hpp"
#include "hparams.hpp"
#include "model/dpt.hpp"
#include "model/ray_pose.hpp"
#include "nn.hpp"

namespace da {

struct PlanKey {
    Size size;
    int views = 1;
    bool sky = false;
    bool pose = false;           // by the camera decoder
    bool rays = false;           // for a pose by rays
    bool known_cameras = false;  // they are an input
    bool gaussians = false;
    std::vector<std::string> stages;

    bool operator==(const PlanKey& other) const {
        const auto parts = [](const PlanKey& key) {
            return std::tie(key.size, key.views, key.sky, key.pose, key.rays, key.known_cameras, key.gaussians, key.stages);
        };
        return parts(*this) == parts(other);
    }
};

class Plan {
  public:
    // Throws Error("device.memory") when the graph's buffers do not fit in memory_limit (see require_memory), before they are allocated;
    // Error("option.unknown") for a stage that the network does not have.
    Plan(PlanKey key, const Hparams& hparams, const Weights& weights, Backend& backend, std::uint64_t memory_limit);

    const PlanKey& key() const { return key_; }
    std::uint64_t bytes() const { return bytes_; }  // of host memory for graph, tables and scratch; 0 on a device with memory of its own
    float* patches(int view);                       // the input, see write_patches
    float* camera(int view);                        // the other input where the key has known_cameras, see pose_encoding_of

    // Throws what Backend::compute throws.
    void run();

    // Valid after run.
    const float* logits(int view, int channel) const { return plane(outputs_[view].logits, channel); }
    const float* sky_logits(int view) const { return plane(outputs_[view].sky_logits, 0); }
    const float* pose_encoding(int view) const;
    std::optional<RayMap> rays(int view) const;
    const float* gaussian_logits(int view) const { return plane(outputs_[view].gaussian_logits, 0); }
    std::vector<Stage> stages() const;
    std::vector<PartTime> parts() const;  // of the last run; its nodes of ggml are not among them

  private:
    const float* values(const ggml_tensor* tensor) const;
    float* input(const ggml_tensor* tensor, int view);
    std::vector<ggml_tensor*> all_outputs() const;
    const float* plane(const ggml_tensor* map, int channel) const;
    void build(const Hparams& hparams);
    void check_stages(const std::vector<std::string>& wanted) const;
    void allocate(std::uint64_t memory_limit);
    void allocate_on_host(std::uint64_t memory_limit);
    void allocate_on_device();

    PlanKey key_;
    int patch_size_;
    std::uint64_t bytes_ = 0;
    Backend& backend_;
    Scratch scratch_;
    std::size_t most_nodes_;
    ggml_context_ptr context_;
    ggml_context_ptr constants_context_;
    ggml_backend_buffer_ptr constants_;
    ggml_gallocr_ptr allocator_;        // on the host
    ggml_backend_sched_ptr scheduler_;  // on a device with memory of its own
    std::unique_ptr<Graph> graph_;
    ggml_cgraph* nodes_ = nullptr;  // owned by context_
    ggml_tensor* patches_ = nullptr;
    std::vector<HeadOutputs> outputs_;  // of each view
    ggml_tensor* pose_ = nullptr;
    ggml_tensor* cameras_ = nullptr;
    std::map<const ggml_tensor*, std::vector<float>> mirrors_;  // on the host, of inputs and outputs on a device with memory of its own
};

}  // namespace da
