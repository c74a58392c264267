// One model file with its weights, and the graphs that were built of it.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "depth_anything/engine.hpp"
#include "gguf_file.hpp"
#include "hparams.hpp"
#include "plan.hpp"
#include "weights.hpp"

namespace da {

// What the file of a network says of itself, with the tensors that this asks for. Throws Error("model.*").
Hparams checked_hparams(const GgufFile& file);

class Network {
  public:
    Network(const std::string& path, const EngineOptions& options, Backend& backend);

    // The metric network beside an any-view network: its pictures are prepared as `pair` says. Takes a nested pair's metric half too.
    Network(const std::string& path, const EngineOptions& options, Backend& backend, const Hparams& pair);

    const Hparams& hparams() const { return hparams_; }
    const GgufFile& file() const { return file_; }

    // The plan for the key, built when it is not among the last used ones.
    Plan& plan_for(const PlanKey& key);

    // Where the time of the last run went: of the plan that was asked for last.
    std::vector<PartTime> parts() const { return plans_.empty() ? std::vector<PartTime>{} : plans_.front()->parts(); }

    // What the network gives for each view once the plan has run. Sky maps are there where the plan has them; the sky is not filled.
    // Throws Error("engine.cancelled").
    std::vector<Prediction> predictions(const Plan& plan) const;

    // Cameras from the rays of a plan that has them; a view whose rays fit none stays without.
    void add_ray_poses(std::vector<Prediction>& predictions, const Plan& plan, std::uint64_t seed) const;

    // Gaussians of a plan that has them, of every view with a pose. scale: see gaussians_from.
    void add_gaussians(std::vector<Prediction>& predictions, const Plan& plan, float scale) const;

  private:
    void prepare(const EngineOptions& options);
    std::unique_ptr<Plan> built(const PlanKey& key);
    std::uint64_t memory_left() const;

    // In the order of their lives: what comes later refers to what comes earlier.
    GgufFile file_;
    Hparams hparams_;
    Backend& backend_;
    Weights weights_;
    int cached_sizes_;
    std::uint64_t memory_limit_;
    std::list<std::unique_ptr<Plan>> plans_;  // most recently used first
};

}  // namespace da
