// A built and allocated graph for one processed size and one set of wanted outputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend.hpp"
#include "hparams.hpp"
#include "model/positional.hpp"
#include "nn.hpp"

namespace da {

struct PlanKey {
    Size size;
    bool sky = false;
    bool pose = false;
    std::vector<std::string> stages;

    bool operator==(const PlanKey& other) const {
        return size == other.size && sky == other.sky && pose == other.pose && stages == other.stages;
    }
};

class Plan {
  public:
    // Throws Error("device.memory") when the graph's buffers do not fit in memory_limit (see require_memory), before they are allocated;
    // Error("option.unknown") for a stage that the network does not have.
    Plan(PlanKey key, const Hparams& hparams, const Weights& weights, Backend& backend, std::uint64_t memory_limit);

    const PlanKey& key() const { return key_; }
    float* patches() { return static_cast<float*>(patches_->data); }  // the input, see write_patches

    // Throws what Backend::compute throws.
    void run();

    // Valid after run.
    const float* logits(int channel) const { return plane(logits_, channel); }
    const float* sky_logits() const { return plane(sky_logits_, 0); }
    const float* pose_encoding() const { return pose_ == nullptr ? nullptr : static_cast<const float*>(pose_->data); }
    std::vector<Stage> stages() const;

  private:
    static const float* plane(const ggml_tensor* map, int channel);
    void build(const Hparams& hparams);
    void check_stages(const std::vector<std::string>& wanted) const;
    void allocate(std::uint64_t memory_limit);

    PlanKey key_;
    int patch_size_;
    Backend& backend_;
    Scratch scratch_;
    ggml_context_ptr context_;
    ggml_context_ptr constants_context_;
    ggml_backend_buffer_ptr constants_;
    ggml_gallocr_ptr allocator_;
    std::unique_ptr<Graph> graph_;
    ggml_cgraph* nodes_ = nullptr;  // owned by context_
    ggml_tensor* patches_ = nullptr;
    ggml_tensor* logits_ = nullptr;
    ggml_tensor* sky_logits_ = nullptr;
    ggml_tensor* pose_ = nullptr;
};

}  // namespace da
