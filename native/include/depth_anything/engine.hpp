// Depth Anything 3 on ggml: one GGUF file, one picture in, one prediction out.
//
// Basic use:
//     da::Engine engine("da3-small.gguf", {});
//     da::Prediction prediction = engine.infer({pixels, width, height, 3 * width, da::ChannelOrder::rgb}, {});
//
// Steps behind it: the file is mapped and checked completely (hparams, weights); the picture is resized and normalised straight into
// the graph's input (preprocess); the graph for that size is built once and kept (plan); its maps are turned into depth (postprocess).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "depth_anything/image.hpp"
#include "depth_anything/prediction.hpp"

namespace da {

struct EngineOptions {
    int threads = 0;                 // CPU threads; 0: the cores that this process may use
    std::string device = "cpu";      // cpu, ggml, or a GPU (cuda, vulkan, cuda:1); of a list the first that is there
    int resolution = 0;              // long side of the processed picture, of V2 the short one; 0: the model's own
    int cached_sizes = 4;            // graphs kept, least recently used goes first
    std::uint64_t memory_limit = 0;  // bytes of a network's weights and graphs; 0: what the machine or its cgroup has
    std::string metric_model;        // file of a metric network that gives an any-view network its metres; empty: none
    bool exact = false;              // everything is computed in floats, quantised files too; that takes longer
    std::string instruction_set;     // of our own kernels: see kernels/README.md; empty: the best that the processor has
};

struct FocalLength {
    float fx = 0, fy = 0;  // pixels of the picture as given
};

// A camera that is known beforehand.
struct KnownCamera {
    std::array<double, 12> extrinsics = {};  // camera_from_world, 3x4 row-major, metres
    double fx = 0, fy = 0, cx = 0, cy = 0;   // pixels of the picture as given, counted from its corner: the middle is width / 2
};

struct InferOptions {
    std::optional<FocalLength> focal;  // models that need it give metres only with it; a pair trusts it more than its own estimate
    bool confidence = true;
    bool sky = true;
    bool pose = true;
    bool ray_pose = false;            // the pose from the rays of every pixel in place of the camera decoder; files with the ray branch
    bool gaussians = false;           // of GIANT
    std::uint64_t seed = 0;           // of what is chosen at random: rays, and cameras where ten and more are known
    bool fill_sky = true;             // sky pixels take the 0.99-quantile of the rest, as in the official forward pass
    std::vector<std::string> stages;  // intermediate tensors to return, see docs/parity.md
    // Of each picture, or none: depth is conditioned on them and comes in their unit, metres; files with the encoder of cameras. Cameras at
    // one place tell no scale: depth stays as it is then, and poses are the network's.
    std::vector<KnownCamera> cameras;
};

struct ModelInfo {
    std::string path;
    std::string checkpoint;
    std::string architecture;  // "any_view", "mono" or "v2"
    DepthKind kind = DepthKind::relative_depth;
    bool needs_focal = false;
    std::string license;
    bool has_confidence = false, has_sky = false, has_pose = false;
    int patch_size = 0;
    std::int64_t parameters = 0;
    std::uint64_t file_bytes = 0;
    std::string device;
    std::string instruction_set;
    bool has_rays = false;          // takes ray_pose
    bool has_pose_encoder = false;  // takes known cameras
    bool has_gaussians = false;
};

// What a model file is and can give, from its header and the table of its tensors, all of which are checked as for an engine; weights are
// not read, and device and instruction_set stay empty. Throws da::Error.
ModelInfo inspect(const std::string& path);

// What one kind of kernel did in the last call. operations: multiplications and additions of the direct method.
struct PartTime {
    std::string name;
    double seconds = 0, operations = 0;
};

// Thread rules: `infer` from any thread, calls wait for each other; `cancel` from any thread at any time; the rest is const. A process that
// is forked while no call runs has an engine too, on one thread.
// Every member throws da::Error and nothing else.
class Engine {
  public:
    Engine(const std::string& path, const EngineOptions& options);
    ~Engine();
    Engine(Engine&&) noexcept;
    Engine& operator=(Engine&&) noexcept;

    const ModelInfo& info() const;

    // Throws Error("input.shape") for a size that cannot be processed.
    Size processed_size(Size picture) const;
    Prediction infer(const ImageView& picture, const InferOptions& options);

    // Several pictures of one scene: an any-view network looks at all of them together, so that their depths agree and their extrinsics
    // have one origin. Pictures that are processed at different sizes are cropped to the smallest, about their centres. Stages are those of
    // the first picture, timings those of all.
    std::vector<Prediction> infer_views(const std::vector<ImageView>& pictures, const InferOptions& options);

    // Where the time of the last call went, largest first.
    std::vector<PartTime> parts() const;

    // Floating-point operations per second that fused multiply-adds reach on as many threads as the engine has, in registers alone: the
    // bound of every part. Takes some 20 ms.
    double peak() const;

    // Makes the running `infer` throw "engine.cancelled" within 100 ms. Without a running one it does nothing.
    void cancel();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// The resized picture that the network sees before normalisation, packed RGB of `processed_size`: for tests and for looking at it.
std::vector<std::uint8_t> preprocess(const ImageView& picture, int resolution, int patch, Size* processed);

}  // namespace da
