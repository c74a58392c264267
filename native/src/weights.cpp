#include "weights.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "depth_anything/error.hpp"
#include "generated/gguf_tensors.hpp"
#include "ggml-cpu.h"

namespace da {

namespace {

using Extents = std::array<std::int64_t, 4>;

struct Expected {
    std::string name;
    Extents ne;
    bool narrow;
};

std::int64_t extent_of(std::int64_t extent, const Hparams& hparams) {
    const VitParams& vit = hparams.vit;
    const HeadParams& head = hparams.head;
    switch (extent) {
        case keys::dim::patch:
            return vit.patch_size;
        case keys::dim::embed:
            return vit.embed_dim;
        case keys::dim::half_embed:
            return vit.embed_dim / 2;
        case keys::dim::quadruple_embed:
            return 4 * static_cast<std::int64_t>(vit.embed_dim);
        case keys::dim::qkv:
            return 3 * static_cast<std::int64_t>(vit.embed_dim);
        case keys::dim::tokens:
            return 1 + static_cast<std::int64_t>(vit.pos_embed_grid) * vit.pos_embed_grid;
        case keys::dim::head_dim:
            return vit.head_dim;
        case keys::dim::mlp_hidden:
            return vit.mlp_hidden;
        case keys::dim::gated_hidden:
            return 2 * static_cast<std::int64_t>(vit.mlp_hidden);
        case keys::dim::head_in:
            return vit.tap_dim();
        case keys::dim::out0:
            return head.out_channels[0];
        case keys::dim::out1:
            return head.out_channels[1];
        case keys::dim::out2:
            return head.out_channels[2];
        case keys::dim::out3:
            return head.out_channels[3];
        case keys::dim::features:
            return head.features;
        case keys::dim::half_features:
            return head.features / 2;
        case keys::dim::quarter_features:
            return head.features / 4;
        case keys::dim::eighth_features:
            return head.features / 8;
        case keys::dim::output_dim:
            return head.output_dim;
        default:
            return extent;
    }
}

bool belongs(keys::Part part, const Hparams& hparams) {
    const bool any_view = hparams.architecture == Architecture::any_view;
    switch (part) {
        case keys::Part::camera_token:
        case keys::Part::head_norm:
        case keys::Part::camera:
            return any_view;
        case keys::Part::sky:
            return hparams.architecture == Architecture::mono;
        case keys::Part::mlp_block:
            return !hparams.vit.swiglu;
        case keys::Part::swiglu_block:
            return hparams.vit.swiglu;
        case keys::Part::rays:
            return hparams.has_rays;
        case keys::Part::pose_encoder:
            return hparams.has_pose_encoder;
        case keys::Part::gaussians:
            return hparams.gaussians.has_value();
        case keys::Part::unused_lateral:
            return false;  // nothing here uses them
        default:
            return true;
    }
}

constexpr std::string_view kBlock = "{i}", kBlocks = "vit.blk.", kWeight = ".weight";

std::string for_block(std::string_view name, int block) {
    std::string result(name);
    return result.replace(result.find(kBlock), kBlock.size(), std::to_string(block));
}

std::vector<Expected> expected_tensors(const Hparams& hparams) {
    const int first_qknorm = hparams.vit.qknorm_start >= 0 ? hparams.vit.qknorm_start : hparams.vit.depth;
    std::vector<Expected> all;
    for (const keys::TensorRule& rule : keys::kTensors) {
        Expected expected{rule.name, {}, rule.narrow};
        for (std::size_t d = 0; d < 4; ++d) expected.ne[d] = extent_of(rule.extents[d], hparams);
        if (!belongs(rule.part, hparams)) continue;
        if (expected.name.find(kBlock) == std::string::npos) {
            all.push_back(expected);
            continue;
        }
        for (int block = rule.part == keys::Part::qknorm_block ? first_qknorm : 0; block < hparams.vit.depth; ++block)
            all.push_back({for_block(rule.name, block), expected.ne, rule.narrow});
    }
    return all;
}

std::string text(const Extents& ne) {
    std::string result = "[";
    for (std::size_t d = 0; d < 4; ++d) result += (d ? "," : "") + std::to_string(ne[d]);
    return result + "]";
}

bool is_matrix_type(ggml_type type) {
    switch (type) {
        case GGML_TYPE_F32:
        case GGML_TYPE_F16:
        case GGML_TYPE_Q8_0:
        case GGML_TYPE_Q6_K:
        case GGML_TYPE_Q5_K:
        case GGML_TYPE_Q4_K:
            return true;
        default:
            return false;
    }
}

// Empty when the tensor is right.
std::string problem(const Expected& expected, const TensorEntry* entry) {
    if (entry == nullptr) return expected.name + " is missing";
    if (entry->ne != expected.ne) return expected.name + " has extents " + text(entry->ne) + ", must be " + text(expected.ne);
    const bool usable = expected.narrow ? is_matrix_type(entry->type) : entry->type == GGML_TYPE_F32;
    if (!usable)
        return expected.name + " is of type " + ggml_type_name(entry->type) + (expected.narrow ? ", which is not run" : ", must be f32");
    return "";
}

kernels::PackedConv packed(const GgufFile& file, const std::string& path, const ConvShape& shape) {
    const TensorEntry* weight = file.find(path + ".weight");
    const TensorEntry* bias = file.find(path + ".bias");
    const auto* values = reinterpret_cast<const float*>(weight->data);
    const auto* offsets = bias != nullptr ? reinterpret_cast<const float*>(bias->data) : nullptr;
    const int kernel = static_cast<int>(weight->ne[0]), third = static_cast<int>(weight->ne[2]), fourth = static_cast<int>(weight->ne[3]);
    return shape.transposed ? kernels::pack_transposed_conv(values, offsets, fourth, third, kernel)
                            : kernels::pack_conv(values, offsets, third, fourth, kernel, shape.stride);
}

// Packing and copying read what is not needed again: let its pages go. Others come back when they are used.
void release_pages(const GgufFile& file) {
    ::madvise(const_cast<std::uint8_t*>(file.mapping()), file.bytes(), MADV_DONTNEED);
}

constexpr std::size_t kLargestVector = 64 << 10, kCacheLine = 64;  // bytes

constexpr std::string_view kDepthHead = "head.", kGaussianHead = "gs.";
using ConvShapes = std::map<std::string, ConvShape>;

// Convolutions of a refinement chain. suffix: "" for the main branch, "_aux" for rays.
void add_refinenets(ConvShapes& shapes, std::string_view head, const std::string& suffix) {
    for (int level = 1; level <= 4; ++level) {
        const std::string refinenet = std::string(head) + "scratch.rn" + std::to_string(level) + suffix;
        for (int unit = level < 4 ? 1 : 2; unit <= 2; ++unit) {
            for (const char* conv : {".c1", ".c2"}) shapes.emplace(refinenet + ".rc" + std::to_string(unit) + conv, ConvShape{});
        }
        shapes.emplace(refinenet + ".out", ConvShape{});
    }
}

// What every head has.
void add_trunk(ConvShapes& shapes, std::string_view head) {
    const std::string resize = std::string(head) + "resize.", scratch = std::string(head) + "scratch.";
    for (const char* level : {"0", "1"}) shapes.emplace(resize + level, ConvShape{1, true});
    shapes.emplace(resize + "3", ConvShape{2, false});
    for (const char* conv : {"out1", "out2a", "out2b", "layer1_rn", "layer2_rn", "layer3_rn", "layer4_rn"})
        shapes.emplace(scratch + conv, ConvShape{});
    add_refinenets(shapes, head, "");
}

ConvShapes head_convs(const Hparams& hparams) {
    ConvShapes shapes;
    add_trunk(shapes, kDepthHead);
    std::vector<std::string> plain;
    if (hparams.architecture == Architecture::mono) plain = {"head.scratch.sky_out2a", "head.scratch.sky_out2b"};
    if (hparams.has_rays) {
        add_refinenets(shapes, kDepthHead, "_aux");
        for (int i = 0; i < 5; ++i) plain.push_back("head.scratch.out1_aux." + std::to_string(i));
        plain.insert(plain.end(), {"head.scratch.out2a_aux", "head.scratch.out2b_aux"});
    }
    if (hparams.gaussians) {
        add_trunk(shapes, kGaussianHead);
        for (int i = 0; i < 3; ++i) plain.push_back("gs.merger." + std::to_string(i));
    }
    for (const std::string& path : plain) shapes.emplace(path, ConvShape{});
    return shapes;
}

}  // namespace

void check_tensors(const GgufFile& file, const Hparams& hparams) {
    constexpr std::size_t most_listed = 12;
    std::vector<std::string> problems;
    for (const Expected& expected : expected_tensors(hparams)) {
        std::string found = problem(expected, file.find(expected.name));
        if (!found.empty()) problems.push_back(std::move(found));
    }
    if (problems.empty()) return;
    std::string all;
    for (std::size_t i = 0; i < std::min(problems.size(), most_listed); ++i) all += (i ? "; " : "") + problems[i];
    if (problems.size() > most_listed) all += "; and " + std::to_string(problems.size() - most_listed) + " more";
    throw Error("model.tensor", "Model file '" + file.path() + "' cannot be used, its tensors do not fit its metadata: " + all + ".");
}

Weights::Weights(const GgufFile& file, const Hparams& hparams, const Backend& backend) : file_(file), conv_shapes_(head_convs(hparams)) {
    const std::vector<Expected> expected = expected_tensors(hparams);
    context_.reset(ggml_init({(expected.size() + 1) * ggml_tensor_overhead(), nullptr, true}));
    for (const Expected& one : expected) {
        const TensorEntry* entry = file.find(one.name);
        ggml_tensor* tensor = ggml_new_tensor(context_.get(), entry->type, 4, entry->ne.data());
        ggml_set_name(tensor, one.name.c_str());
        tensors_.emplace(one.name, tensor);
    }
    if (backend.own_kernels()) pack(false);
    if (backend.on_host())
        map();
    else
        copy(backend);
    release_pages(file_);
}

void Weights::pack_gaussian_head() {
    if (convs_.empty()) return;
    const std::size_t before = convs_.size();
    pack(true);
    if (convs_.size() != before) release_pages(file_);
}

void Weights::pack(bool gaussian_head) {
    for (const auto& [path, shape] : conv_shapes_) {
        const bool of_gaussians = path.compare(0, kGaussianHead.size(), kGaussianHead) == 0;
        // Some may be there from a call that ran out of memory.
        if (of_gaussians == gaussian_head && convs_.count(path) == 0) convs_.emplace(path, packed(file_, path, shape));
    }
}

// Vectors lie between matrices whose pages are let go when they are packed: the system reads the pages around a missing one too, up to two
// megabytes of a file, so that reading vectors there would bring the matrices back.
void Weights::map() {
    auto* base = const_cast<std::uint8_t*>(file_.mapping());  // ggml takes no const pointer; weights are only read
    buffer_.reset(ggml_backend_cpu_buffer_from_ptr(base, file_.bytes()));
    std::map<ggml_tensor*, std::size_t> places;  // in vectors_
    std::size_t bytes = 0;
    for (const auto& [name, tensor] : tensors_) {
        if (ggml_nbytes(tensor) > kLargestVector) continue;
        places.emplace(tensor, bytes);
        bytes += (ggml_nbytes(tensor) + kCacheLine - 1) / kCacheLine * kCacheLine;
    }
    vectors_ = AlignedFloats(bytes / sizeof(float));
    auto* copies = reinterpret_cast<std::uint8_t*>(vectors_.data());
    vectors_buffer_.reset(ggml_backend_cpu_buffer_from_ptr(copies, bytes));
    for (const auto& [name, tensor] : tensors_) {
        auto* data = const_cast<std::uint8_t*>(file_.find(name)->data);
        const auto place = places.find(tensor);
        if (place == places.end()) {
            ggml_backend_tensor_alloc(buffer_.get(), tensor, data);
        } else {
            std::memcpy(copies + place->second, data, ggml_nbytes(tensor));
            ggml_backend_tensor_alloc(vectors_buffer_.get(), tensor, copies + place->second);
        }
    }
}

void Weights::copy(const Backend& backend) {
    buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(context_.get(), backend.memory()));
    if (buffer_ == nullptr) {
        throw Error("device.memory", backend.description() + " has no room for the weights of '" + file_.path() + "', " +
                                         std::to_string(file_.bytes() >> 20) + " MiB.");
    }
    for (const auto& [name, tensor] : tensors_) ggml_backend_tensor_set(tensor, file_.find(name)->data, 0, ggml_nbytes(tensor));
}

const float* Weights::host_values(const std::string& name) const {
    return reinterpret_cast<const float*>(file_.find(name)->data);
}

void Weights::pack_layers(bool exact, const kernels::KernelSet& kernels, ThreadPool& threads, std::uint64_t memory_limit) {
    const bool integers = kernels.fast_integers && !exact, slices = kernels.slices != nullptr && !exact;
    std::map<std::string, ggml_tensor*> quantised, sliced, plain;
    for (const auto& [name, tensor] : tensors_) {
        // Not the camera decoder: it has one row for each picture, and the pose depends on it.
        const bool matrix = name.compare(0, kBlocks.size(), kBlocks) == 0 && tensor->ne[1] > 1;
        if (!matrix) continue;
        const std::string path = name.substr(0, name.size() - kWeight.size());
        if (ggml_is_quantized(tensor->type)) {
            if (integers) quantised.emplace(path, tensor);
        } else if (slices) {
            sliced.emplace(path, tensor);
        } else if (tensor->type == GGML_TYPE_F32) {
            plain.emplace(path, tensor);
        }
    }
    integers_ = PackedLayers(quantised, Packing::integers, kernels, threads, memory_limit);
    slices_ = PackedLayers(sliced, Packing::slices, kernels, threads, memory_limit);
    floats_ = PackedLayers(plain, Packing::floats, kernels, threads, memory_limit);
}

const PackedLinear* Weights::packed_layer(const std::string& path) const {
    for (const PackedLayers* layers : {&integers_, &slices_, &floats_}) {
        if (const PackedLinear* found = layers->find(path)) return found;
    }
    return nullptr;
}

}  // namespace da
