#include "hparams.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <vector>

#include "depth_anything/error.hpp"
#include "generated/checkpoints.hpp"
#include "generated/gguf_keys.hpp"

namespace da {

namespace {

constexpr std::size_t kLongestText = 256;

// Reads typed values and collects what is wrong, so that one message can tell all of it.
class Reader {
  public:
    explicit Reader(const GgufFile& file) : file_(file) {}

    int integer(const char* key, int low, int high, std::optional<int> fallback = std::nullopt) {
        const MetadataValue* value = find(key);
        if (value == nullptr) return missing(key, fallback);
        const auto* number = std::get_if<std::int64_t>(value);
        if (number == nullptr) return wrong(key, "is no integer", low);
        if (*number < low || *number > high) {
            return wrong(key, "is " + std::to_string(*number) + ", must be " + std::to_string(low) + " to " + std::to_string(high), low);
        }
        return static_cast<int>(*number);
    }

    float real(const char* key, double low, double high, float fallback) {
        const MetadataValue* value = find(key);
        if (value == nullptr) return fallback;
        const auto* number = std::get_if<double>(value);
        if (number == nullptr) return wrong(key, "is no floating-point number", fallback);
        if (!(*number >= low && *number <= high)) {
            return wrong(key, "is " + std::to_string(*number) + ", must be " + std::to_string(low) + " to " + std::to_string(high),
                         fallback);
        }
        return static_cast<float>(*number);
    }

    bool boolean(const char* key, bool fallback) {
        const MetadataValue* value = find(key);
        if (value == nullptr) return fallback;
        const auto* flag = std::get_if<bool>(value);
        return flag != nullptr ? *flag : wrong(key, "is no boolean", fallback);
    }

    std::string text(const char* key, const std::string& fallback) {
        const MetadataValue* value = find(key);
        if (value == nullptr) return fallback;
        const auto* found = std::get_if<std::string>(value);
        if (found == nullptr) return wrong(key, "is no string", fallback);
        const bool fits = found->size() <= kLongestText && is_printable(*found);
        return fits ? *found : wrong(key, "is longer than " + std::to_string(kLongestText) + " bytes or has control characters", fallback);
    }

    template <typename T, std::size_t count>
    std::array<T, count> list(const char* key, double low, double high) {
        std::array<T, count> result = {};
        const MetadataValue* value = find(key);
        if (value == nullptr) return missing<std::array<T, count>>(key, std::nullopt);
        const auto* numbers = std::get_if<std::vector<T>>(value);
        if (numbers == nullptr || numbers->size() != count) {
            return wrong(key, "is no list of " + std::to_string(count) + (std::is_same_v<T, float> ? " FLOAT32" : " INT32") + " values",
                         result);
        }
        for (std::size_t i = 0; i < count; ++i) {
            const double number = static_cast<double>((*numbers)[i]);
            if (!(number >= low && number <= high)) {
                return wrong(key, "holds " + std::to_string(number) + ", must be " + std::to_string(low) + " to " + std::to_string(high),
                             result);
            }
            result[i] = (*numbers)[i];
        }
        return result;
    }

    // Records a fact that is wrong on its own terms.
    template <typename T>
    T wrong(const std::string& key, const std::string& what, T value) {
        problems_.push_back(key + " " + what);
        return value;
    }

    void require(bool holds, const char* key, const std::string& what) {
        if (!holds) wrong(key, what, 0);
    }

    bool has_problems() const { return !problems_.empty(); }

    void throw_if_wrong() const {
        if (problems_.empty()) return;
        std::string all;
        for (const std::string& problem : problems_) all += (all.empty() ? "" : "; ") + problem;
        throw Error("model.key", "Model file '" + file_.path() + "' cannot be used, its metadata is wrong: " + all + ".");
    }

  private:
    const MetadataValue* find(const char* key) const {
        const auto found = file_.metadata().find(key);
        return found == file_.metadata().end() ? nullptr : &found->second;
    }

    template <typename T>
    T missing(const char* key, std::optional<T> fallback) {
        return fallback ? *fallback : wrong(key, "is missing", T{});
    }

    const GgufFile& file_;
    std::vector<std::string> problems_;
};

[[noreturn]] void unsupported(const GgufFile& file, const std::string& what) {
    throw Error("model.unsupported", "Model file '" + file.path() + "' " + what);
}

constexpr const char* kV2 = "depthanything2";

Architecture read_architecture(const GgufFile& file, Reader& reader) {
    const std::string family = reader.text("general.architecture", "");
    if (family != keys::kGeneralArchitectureValue) {
        unsupported(file, "is a GGUF file of architecture '" + family + "', not of Depth Anything; give a depth model.");
    }
    if (file.metadata().count("depthanything3.m_vit.embed_dim") != 0) {
        unsupported(file, "is the metric half of a nested pair; load the any-view half and give this one as metric_model.");
    }
    const std::string arch = reader.text(keys::kArch, keys::kGeneralArchitectureValue);
    if (arch == kV2) return Architecture::v2;
    reader.require(arch == keys::kGeneralArchitectureValue, keys::kArch, "is '" + arch + "', which is not known");
    return file.find("head.scratch.sky_out2b.weight") != nullptr ? Architecture::mono : Architecture::any_view;
}

VitParams read_vit(Reader& reader) {
    VitParams vit;
    vit.patch_size = reader.integer(keys::kPatchSize, 2, 64, 14);
    vit.embed_dim = reader.integer(keys::kEmbedDim, 8, 8192);
    vit.depth = reader.integer(keys::kDepth, 1, 256);
    vit.num_heads = reader.integer(keys::kNumHeads, 1, 256);
    vit.head_dim = reader.integer(keys::kHeadDim, 8, 512);
    vit.mlp_hidden = reader.integer(keys::kMlpHidden, 8, 65536);
    const std::string ffn = reader.text(keys::kFfnType, "mlp");
    reader.require(ffn == "mlp" || ffn == "swiglu", keys::kFfnType, "is '" + ffn + "', must be 'mlp' or 'swiglu'");
    vit.swiglu = ffn == "swiglu";
    vit.alt_start = reader.integer(keys::kAltStart, -1, 256, -1);
    vit.rope_start = reader.integer(keys::kRopeStart, -1, 256, -1);
    vit.qknorm_start = reader.integer(keys::kQknormStart, -1, 256, -1);
    vit.rope_freq = reader.real(keys::kRopeFreq, 1.0, 1e9, 100.0f);
    vit.cat_token = reader.boolean(keys::kCatToken, true);
    vit.ln_eps = reader.real(keys::kLnEps, 0.0, 1.0, 1e-6f);
    vit.interpolate_offset = reader.real(keys::kInterpolateOffset, 0.0, 1.0, 0.1f);
    vit.pos_embed_grid = reader.integer(keys::kPosEmbedGrid, 1, 1024, 37);
    vit.out_layers = reader.list<std::int32_t, 4>(keys::kOutLayers, 0, 255);
    if (reader.has_problems()) return vit;

    reader.require(vit.num_heads * vit.head_dim == vit.embed_dim, keys::kEmbedDim,
                   "is " + std::to_string(vit.embed_dim) + ", but " + std::to_string(vit.num_heads) + " heads of " +
                       std::to_string(vit.head_dim) + " make " + std::to_string(vit.num_heads * vit.head_dim));
    reader.require(vit.head_dim % 16 == 0, keys::kHeadDim, "is " + std::to_string(vit.head_dim) + ", must be a multiple of 16");
    for (std::size_t i = 0; i < 4; ++i) {
        const bool ascending = i == 0 || vit.out_layers[i] > vit.out_layers[i - 1];
        reader.require(ascending && vit.out_layers[i] < vit.depth, keys::kOutLayers,
                       "must ascend and stay below the depth of " + std::to_string(vit.depth));
    }
    reader.require(!vit.cat_token || vit.alt_start >= 1, keys::kAltStart, "must be at least 1 where tokens are concatenated");
    reader.require(reader.boolean(keys::kQkvBias, true), keys::kQkvBias, "is false, which no known model has");
    reader.require(!reader.boolean(keys::kInterpolateAntialias, false), keys::kInterpolateAntialias, "is true, which no known model has");
    reader.require(reader.integer(keys::kNumRegisterTokens, 0, 0, 0) == 0, keys::kNumRegisterTokens, "must be 0");
    return vit;
}

HeadParams read_head(Reader& reader, Architecture architecture) {
    HeadParams head;
    head.features = reader.integer(keys::kHeadFeatures, 8, 4096);
    head.out_channels = reader.list<std::int32_t, 4>(keys::kHeadOutChannels, 4, 16384);
    head.output_dim = reader.integer(keys::kHeadOutputDim, 1, 2);
    head.pos_embed = reader.boolean(keys::kHeadPosEmbed, architecture == Architecture::any_view);
    reader.require(head.features % 8 == 0, keys::kHeadFeatures, "is " + std::to_string(head.features) + ", must be a multiple of 8");
    for (const int channels : head.out_channels) {
        reader.require(channels % 4 == 0, keys::kHeadOutChannels, "holds " + std::to_string(channels) + ", must be multiples of 4");
    }
    reader.require(reader.integer(keys::kHeadDownRatio, 1, 1, 1) == 1, keys::kHeadDownRatio, "must be 1");
    return head;
}

void read_activation(Reader& reader, Architecture architecture, HeadParams& head) {
    const std::string activation = reader.text(keys::kHeadActivation, "exp");
    if (architecture != Architecture::v2) {
        reader.require(activation == "exp", keys::kHeadActivation, "is '" + activation + "', must be 'exp'");
        return;
    }
    const float max_depth = reader.real(keys::kHeadMaxDepth, 0.0, 1e6, 0.0f);
    const std::string expected = max_depth > 0 ? "sigmoid" : "relu";
    reader.require(activation == expected, keys::kHeadActivation,
                   "is '" + activation + "', must be '" + expected + "' with this max_depth");
    head.activation = max_depth > 0 ? Activation::sigmoid : Activation::relu;
    head.max_depth = max_depth;
}

GaussianParams read_gaussians(Reader& reader, const HeadParams& head) {
    const auto must_be = [&](const char* key, int value) {
        reader.require(reader.integer(key, 0, 1 << 20, value) == value, key, "must be " + std::to_string(value));
    };
    must_be(keys::kGsOutputDim, 38);
    must_be(keys::kGsFeatures, head.features);
    must_be(keys::kGsShDegree, 2);
    reader.require(reader.boolean(keys::kGsPredOffsetDepth, true), keys::kGsPredOffsetDepth, "must be true");
    reader.require(reader.boolean(keys::kGsPredOffsetXy, true), keys::kGsPredOffsetXy, "must be true");
    reader.require(!reader.boolean(keys::kGsPredColor, false), keys::kGsPredColor, "must be false");
    GaussianParams gaussians;
    gaussians.scale_min = reader.real(keys::kGsScaleMin, 0.0, 1e6, gaussians.scale_min);
    gaussians.scale_max = reader.real(keys::kGsScaleMax, gaussians.scale_min, 1e6, gaussians.scale_max);
    return gaussians;
}

ImageParams read_image(Reader& reader, Architecture architecture) {
    ImageParams image;
    image.mean = reader.list<float, 3>(keys::kMean, -10.0, 10.0);
    image.std = reader.list<float, 3>(keys::kStd, 1e-6, 10.0);
    image.resize_target = reader.integer(keys::kResizeTarget, 14, 4096, 504);
    image.lower_bound = architecture == Architecture::v2;
    const std::string mode = reader.text(keys::kResizeMode, "upper_bound"), expected = image.lower_bound ? "lower_bound" : "upper_bound";
    reader.require(mode == expected, keys::kResizeMode, "is '" + mode + "', must be '" + expected + "' for this network");
    return image;
}

std::optional<DepthKind> kind_named(const std::string& name) {
    for (const DepthKind kind : {DepthKind::metric, DepthKind::relative_depth, DepthKind::relative_inverse_depth}) {
        if (name == to_string(kind)) return kind;
    }
    return std::nullopt;
}

DepthKind usual_kind(const Hparams& hparams) {
    if (hparams.architecture != Architecture::v2) return DepthKind::relative_depth;
    return hparams.head.activation == Activation::sigmoid ? DepthKind::metric : DepthKind::relative_inverse_depth;
}

const CheckpointFact* fact_of(const std::string& checkpoint) {
    const auto* found = std::find_if(std::begin(kCheckpointFacts), std::end(kCheckpointFacts),
                                     [&](const CheckpointFact& fact) { return checkpoint == fact.name; });
    return found != std::end(kCheckpointFacts) ? found : nullptr;
}

// The closed table decides for published checkpoints; only an unknown name may state its own kind and licence. What a head cannot give is
// refused: the ReLU of V2 as metres, or canonical depth without sky.
void read_facts(Reader& reader, Hparams& hparams) {
    const std::string usual = to_string(usual_kind(hparams));
    const bool mono = hparams.architecture == Architecture::mono, v2 = hparams.architecture == Architecture::v2;
    hparams.checkpoint = reader.text(keys::kCheckpointName, "");
    std::string kind = reader.text(keys::kDepthKind, usual);
    hparams.license = reader.text(keys::kLicense, "unknown");
    hparams.needs_focal = kind == to_string(DepthKind::metric) && mono;
    if (const CheckpointFact* fact = fact_of(hparams.checkpoint)) {
        kind = fact->kind;
        hparams.license = fact->license;
        hparams.needs_focal = fact->needs_focal;
        reader.require(fact->needs_focal ? mono : kind == usual, keys::kCheckpointName,
                       "is '" + hparams.checkpoint + "', whose depth is " + kind + ": this file has the head of another network");
    } else if (v2) {
        const bool inverse = kind == to_string(DepthKind::relative_inverse_depth);
        reader.require(inverse == (hparams.head.activation == Activation::relu), keys::kDepthKind,
                       "is '" + kind + "', but this activation gives " + usual);
    }
    const auto known = kind_named(kind);
    reader.require(known.has_value(), keys::kDepthKind, "is '" + kind + "', must be metric, relative_depth or relative_inverse_depth");
    hparams.kind = known.value_or(DepthKind::relative_depth);
}

}  // namespace

Hparams read_hparams(const GgufFile& file, const ImageParams* image) {
    Reader reader(file);
    Hparams hparams;
    hparams.architecture = read_architecture(file, reader);
    const auto has = [&](const char* tensor) { return hparams.architecture == Architecture::any_view && file.find(tensor) != nullptr; };
    hparams.has_rays = has("head.scratch.rn1_aux.out.weight");
    hparams.has_pose_encoder = has("cam_enc.pose_fc1.weight");
    hparams.vit = read_vit(reader);
    if (hparams.architecture == Architecture::v2) hparams.vit.final_norm_eps = 1e-6f;
    hparams.head = read_head(reader, hparams.architecture);
    read_activation(reader, hparams.architecture, hparams.head);
    if (has("gs.scratch.out2b.weight")) hparams.gaussians = read_gaussians(reader, hparams.head);
    hparams.image = image != nullptr ? *image : read_image(reader, hparams.architecture);
    read_facts(reader, hparams);
    const int outputs = hparams.architecture == Architecture::any_view ? 2 : 1;
    if (!reader.has_problems()) {
        reader.require(hparams.head.output_dim == outputs, keys::kHeadOutputDim,
                       "is " + std::to_string(hparams.head.output_dim) + ", must be " + std::to_string(outputs) + " for this head");
        const int alt_start = hparams.vit.alt_start;
        reader.require(hparams.architecture == Architecture::any_view || alt_start == -1, keys::kAltStart,
                       "is " + std::to_string(alt_start) + ", must be -1 for a network that has no camera tokens");
        reader.require(hparams.vit.cat_token == (hparams.architecture == Architecture::any_view), keys::kCatToken,
                       "does not fit the head of the file");
    }
    reader.throw_if_wrong();
    return hparams;
}

}  // namespace da
