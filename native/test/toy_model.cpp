#include "toy_model.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>

namespace toy {

namespace {

constexpr int kFeatures = 16, kGrid = 5, kMlp = 64;
constexpr std::array<int, 4> kOutChannels = {8, 8, 16, 16};

struct Builder {
    Model model;
    std::mt19937 random{1};

    // Fan-in scaled weights, norms about 1, small biases.
    void add(const std::string& name, std::vector<std::uint64_t> ne) {
        std::uint64_t count = 1, fan_in = 1;
        for (std::size_t d = 0; d < ne.size(); ++d) {
            count *= ne[d];
            if (d + 1 < ne.size()) fan_in *= ne[d];
        }
        const bool matrix = ne.size() > 1;
        const bool scale = !matrix && name.find("weight") != std::string::npos;
        std::normal_distribution<float> normal(scale ? 1.0f : 0.0f, matrix ? 1.0f / std::sqrt(static_cast<float>(fan_in)) : 0.2f);
        Tensor tensor{name, std::move(ne), 0, std::vector<float>(count)};
        for (float& value : tensor.values) value = normal(random);
        model.tensors.push_back(std::move(tensor));
    }

    void linear(const std::string& path, std::uint64_t in, std::uint64_t out) {
        add(path + ".weight", {in, out});
        add(path + ".bias", {out});
    }

    void conv(const std::string& path, std::uint64_t kernel, std::uint64_t in, std::uint64_t out, bool bias = true) {
        add(path + ".weight", {kernel, kernel, in, out});
        if (bias) add(path + ".bias", {out});
    }

    void norm(const std::string& path, std::uint64_t channels) {
        add(path + ".weight", {channels});
        add(path + ".bias", {channels});
    }
};

void add_backbone(Builder& b, int depth, int embed, int heads, int alt_start) {
    b.add("vit.cls_token", {static_cast<std::uint64_t>(embed)});
    if (alt_start >= 0) b.add("vit.camera_token", {static_cast<std::uint64_t>(embed), 2});
    b.add("vit.pos_embed", {static_cast<std::uint64_t>(embed), 1 + kGrid * kGrid});
    b.conv("vit.patch_embed", 14, 3, embed);
    for (int i = 0; i < depth; ++i) {
        const std::string path = "vit.blk." + std::to_string(i) + ".";
        b.norm(path + "norm1", embed);
        b.linear(path + "attn_qkv", embed, 3 * embed);
        if (alt_start >= 0 && i >= alt_start) {
            b.norm(path + "attn_qnorm", embed / heads);
            b.norm(path + "attn_knorm", embed / heads);
        }
        b.linear(path + "attn_proj", embed, embed);
        b.add(path + "ls1", {static_cast<std::uint64_t>(embed)});
        b.norm(path + "norm2", embed);
        b.linear(path + "mlp_fc1", embed, kMlp);
        b.linear(path + "mlp_fc2", kMlp, embed);
        b.add(path + "ls2", {static_cast<std::uint64_t>(embed)});
    }
    b.norm("vit.norm", embed);
}

void add_refinenets(Builder& b, const std::string& head, const std::string& suffix) {
    for (int level = 1; level <= 4; ++level) {
        const std::string path = head + "scratch.rn" + std::to_string(level) + suffix;
        for (int unit = level == 4 ? 2 : 1; unit <= 2; ++unit) {
            for (const char* conv : {".c1", ".c2"}) b.conv(path + ".rc" + std::to_string(unit) + conv, 3, kFeatures, kFeatures);
        }
        b.conv(path + ".out", 1, kFeatures, kFeatures);
    }
}

void add_head(Builder& b, const std::string& head, int tap_dim, int output_dim, bool norm) {
    if (norm) b.norm(head + "norm", tap_dim);
    for (int s = 0; s < 4; ++s) b.conv(head + "proj." + std::to_string(s), 1, tap_dim, kOutChannels[s]);
    b.conv(head + "resize.0", 4, kOutChannels[0], kOutChannels[0]);
    b.conv(head + "resize.1", 2, kOutChannels[1], kOutChannels[1]);
    b.conv(head + "resize.3", 3, kOutChannels[3], kOutChannels[3]);
    for (int level = 1; level <= 4; ++level)
        b.conv(head + "scratch.layer" + std::to_string(level) + "_rn", 3, kOutChannels[level - 1], kFeatures, false);
    add_refinenets(b, head, "");
    b.conv(head + "scratch.out1", 3, kFeatures, kFeatures / 2);
    b.conv(head + "scratch.out2a", 3, kFeatures / 2, 32);
    b.conv(head + "scratch.out2b", 1, 32, output_dim);
}

void add_rays(Builder& b) {
    add_refinenets(b, "head.", "_aux");
    for (int i = 0; i < 5; ++i) {
        const int in = i % 2 == 0 ? kFeatures : kFeatures / 2;
        b.conv("head.scratch.out1_aux." + std::to_string(i), 3, in, kFeatures + kFeatures / 2 - in);
    }
    b.conv("head.scratch.out2a_aux", 3, kFeatures / 2, 32);
    b.norm("head.scratch.out2_aux_ln", 32);
    b.conv("head.scratch.out2b_aux", 1, 32, 7);
}

void add_pose_encoder(Builder& b, int embed) {
    for (int i = 0; i < 4; ++i) {
        const std::string path = "cam_enc.blk." + std::to_string(i) + ".";
        b.norm(path + "norm1", embed);
        b.linear(path + "attn_qkv", embed, 3 * embed);
        b.linear(path + "attn_proj", embed, embed);
        b.add(path + "ls1", {static_cast<std::uint64_t>(embed)});
        b.norm(path + "norm2", embed);
        b.linear(path + "mlp_fc1", embed, 4 * embed);
        b.linear(path + "mlp_fc2", 4 * embed, embed);
        b.add(path + "ls2", {static_cast<std::uint64_t>(embed)});
    }
    b.norm("cam_enc.token_norm", embed);
    b.norm("cam_enc.trunk_norm", embed);
    b.linear("cam_enc.pose_fc1", 9, embed / 2);
    b.linear("cam_enc.pose_fc2", embed / 2, embed);
}

void add_metadata(Model& model, int depth, int embed, int heads, int alt_start, int output_dim) {
    const std::string p = "depthanything3.";
    const bool any_view = alt_start >= 0;
    model.metadata = {
        {"general.architecture", std::string("depthanything3")},
        {p + "arch", std::string("depthanything3")},
        {p + "checkpoint_name", std::string(any_view ? "toy-any-view" : "toy-mono")},
        {p + "patch_size", std::uint32_t{14}},
        {p + "vit.embed_dim", static_cast<std::uint32_t>(embed)},
        {p + "vit.depth", static_cast<std::uint32_t>(depth)},
        {p + "vit.num_heads", static_cast<std::uint32_t>(heads)},
        {p + "vit.head_dim", static_cast<std::uint32_t>(embed / heads)},
        {p + "vit.mlp_hidden", std::uint32_t{kMlp}},
        {p + "vit.alt_start", alt_start},
        {p + "vit.rope_start", alt_start},
        {p + "vit.qknorm_start", alt_start},
        {p + "vit.rope_freq", 100.0f},
        {p + "vit.cat_token", any_view},
        {p + "vit.ln_eps", 1e-6f},
        {p + "vit.pos_embed_grid", std::uint32_t{kGrid}},
        {p + "vit.out_layers", std::vector<std::int32_t>{depth - 4, depth - 3, depth - 2, depth - 1}},
        {p + "img.mean", std::vector<float>{0.485f, 0.456f, 0.406f}},
        {p + "img.std", std::vector<float>{0.229f, 0.224f, 0.225f}},
        {p + "img.resize_target", std::uint32_t{56}},
        {p + "head.features", std::uint32_t{kFeatures}},
        {p + "head.out_channels", std::vector<std::int32_t>(kOutChannels.begin(), kOutChannels.end())},
        {p + "head.output_dim", static_cast<std::uint32_t>(output_dim)},
        {p + "head.pos_embed", any_view},
    };
}

template <typename T>
void put(std::vector<std::uint8_t>& bytes, T value) {
    const auto* start = reinterpret_cast<const std::uint8_t*>(&value);
    bytes.insert(bytes.end(), start, start + sizeof(T));
}

void put_text(std::vector<std::uint8_t>& bytes, const std::string& text) {
    put<std::uint64_t>(bytes, text.size());
    bytes.insert(bytes.end(), text.begin(), text.end());
}

struct PutValue {
    std::vector<std::uint8_t>& bytes;

    template <typename T>
    void scalar(std::uint32_t type, T value) const {
        put(bytes, type);
        put(bytes, value);
    }
    template <typename T>
    void list(std::uint32_t type, const std::vector<T>& values) const {
        put(bytes, std::uint32_t{9});
        put(bytes, type);
        put<std::uint64_t>(bytes, values.size());
        for (const T value : values) put(bytes, value);
    }
    void operator()(std::uint32_t value) const { scalar(4, value); }
    void operator()(std::int32_t value) const { scalar(5, value); }
    void operator()(float value) const { scalar(6, value); }
    void operator()(bool value) const { scalar(7, static_cast<std::uint8_t>(value)); }
    void operator()(const std::string& value) const {
        put(bytes, std::uint32_t{8});
        put_text(bytes, value);
    }
    void operator()(const std::vector<std::int32_t>& values) const { list(5, values); }
    void operator()(const std::vector<float>& values) const { list(6, values); }
};

std::uint64_t aligned(std::uint64_t position) {
    return (position + 31) / 32 * 32;
}

}  // namespace

void Model::set(const std::string& key, Value value) {
    for (auto& [name, old] : metadata) {
        if (name == key) {
            old = std::move(value);
            return;
        }
    }
    metadata.emplace_back(key, std::move(value));
}

void Model::remove(const std::string& key) {
    metadata.erase(std::remove_if(metadata.begin(), metadata.end(), [&](const auto& entry) { return entry.first == key; }), metadata.end());
}

Tensor& Model::tensor(const std::string& name) {
    for (Tensor& tensor : tensors) {
        if (tensor.name == name) return tensor;
    }
    throw std::runtime_error("toy model has no tensor " + name);
}

void Model::remove_tensor(const std::string& name) {
    tensors.erase(std::remove_if(tensors.begin(), tensors.end(), [&](const Tensor& tensor) { return tensor.name == name; }), tensors.end());
}

Model any_view(int depth, int embed_dim, int num_heads) {
    Builder b;
    add_metadata(b.model, depth, embed_dim, num_heads, 1, 2);
    add_backbone(b, depth, embed_dim, num_heads, 1);
    add_head(b, "head.", 2 * embed_dim, 2, true);
    b.linear("cam.bb0", 2 * embed_dim, 2 * embed_dim);
    b.linear("cam.bb2", 2 * embed_dim, 2 * embed_dim);
    b.linear("cam.fc_t", 2 * embed_dim, 3);
    b.linear("cam.fc_q", 2 * embed_dim, 4);
    b.linear("cam.fc_fov", 2 * embed_dim, 2);
    return std::move(b.model);
}

Model swiglu() {
    Model plain = any_view();
    Builder b;
    b.model.metadata = plain.metadata;
    b.model.set("depthanything3.vit.ffn_type", std::string("swiglu"));
    for (Tensor& tensor : plain.tensors) {
        const std::size_t part = tensor.name.find("mlp_");
        if (part == std::string::npos) b.model.tensors.push_back(tensor);
        if (tensor.name.find("mlp_fc1.weight") == std::string::npos) continue;
        const std::string path = tensor.name.substr(0, part);
        b.linear(path + "mlp_w12", tensor.ne[0], 2 * kMlp);
        b.linear(path + "mlp_w3", kMlp, tensor.ne[0]);
    }
    return std::move(b.model);
}

Model complete(int embed_dim, int num_heads) {
    Builder b;
    b.model = any_view(4, embed_dim, num_heads);
    add_rays(b);
    add_pose_encoder(b, embed_dim);
    add_head(b, "gs.", 2 * embed_dim, 38, false);
    b.conv("gs.merger.0", 3, 3, kFeatures / 8);
    b.conv("gs.merger.1", 3, kFeatures / 8, kFeatures / 4);
    b.conv("gs.merger.2", 3, kFeatures / 4, kFeatures / 2);
    return std::move(b.model);
}

Model mono() {
    constexpr int depth = 4, embed = 32, heads = 2;
    Builder b;
    add_metadata(b.model, depth, embed, heads, -1, 1);
    add_backbone(b, depth, embed, heads, -1);
    add_head(b, "head.", embed, 1, false);
    b.conv("head.scratch.sky_out2a", 3, kFeatures / 2, 32);
    b.conv("head.scratch.sky_out2b", 1, 32, 1);
    return std::move(b.model);
}

std::vector<std::uint8_t> serialise(const Model& model) {
    std::vector<std::uint8_t> bytes = {'G', 'G', 'U', 'F'};
    put(bytes, std::uint32_t{3});
    put<std::uint64_t>(bytes, model.tensors.size());
    put<std::uint64_t>(bytes, model.metadata.size());
    for (const auto& [key, value] : model.metadata) {
        put_text(bytes, key);
        std::visit(PutValue{bytes}, value);
    }
    std::uint64_t offset = 0;
    for (const Tensor& tensor : model.tensors) {
        put_text(bytes, tensor.name);
        put<std::uint32_t>(bytes, static_cast<std::uint32_t>(tensor.ne.size()));
        for (const std::uint64_t extent : tensor.ne) put(bytes, extent);
        put(bytes, tensor.type);
        put(bytes, offset);
        offset = aligned(offset + tensor.values.size() * sizeof(float));
    }
    for (const Tensor& tensor : model.tensors) {
        bytes.resize(aligned(bytes.size()));
        const auto* start = reinterpret_cast<const std::uint8_t*>(tensor.values.data());
        bytes.insert(bytes.end(), start, start + tensor.values.size() * sizeof(float));
    }
    bytes.resize(aligned(bytes.size()));
    return bytes;
}

File::File(const std::vector<std::uint8_t>& bytes) {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder != nullptr ? folder : "/var/tmp") + "/da_test_XXXXXX";
    const int descriptor = ::mkstemp(path_.data());
    if (descriptor < 0) throw std::runtime_error("no temporary file at " + path_);
    std::FILE* file = ::fdopen(descriptor, "wb");
    if (!bytes.empty() && std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size())
        throw std::runtime_error("could not write " + path_);
    std::fclose(file);
}

File::~File() {
    ::unlink(path_.c_str());
}

}  // namespace toy
