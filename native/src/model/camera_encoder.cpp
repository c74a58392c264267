#include "model/camera_encoder.hpp"

#include <string>

#include "nn/standard.hpp"

namespace da {

namespace {

constexpr int kBlocks = 4, kHeads = 16;
constexpr float kNormEps = 1e-5f;

// One token per view, and heads narrower than those that our kernels are made for.
ggml_tensor* attended(Graph& g, ggml_tensor* qkv) {
    AttentionOptions options;
    options.heads = kHeads;
    return standard::attention(g, qkv, options);
}

ggml_tensor* block(Graph& g, ggml_tensor* x, const std::string& path) {
    const auto end_branch = [&](ggml_tensor* branch, const char* projection, const char* scale) {
        LinearOptions options;
        options.scale = g.weights.tensor(path + scale);
        options.residual = x;
        return linear(g, branch, path + projection, options);
    };
    LinearOptions gelu;
    gelu.gelu = true;
    x = end_branch(attended(g, linear(g, layer_norm(g, x, path + "norm1", kNormEps), path + "attn_qkv")), "attn_proj", "ls1");
    return end_branch(linear(g, layer_norm(g, x, path + "norm2", kNormEps), path + "mlp_fc1", gelu), "mlp_fc2", "ls2");
}

}  // namespace

ggml_tensor* camera_encoder(Graph& g, ggml_tensor* encodings) {
    LinearOptions gelu;
    gelu.gelu = true;
    ggml_tensor* x = linear(g, linear(g, encodings, "cam_enc.pose_fc1", gelu), "cam_enc.pose_fc2");
    x = layer_norm(g, x, "cam_enc.token_norm", kNormEps);
    for (int i = 0; i < kBlocks; ++i) x = block(g, x, "cam_enc.blk." + std::to_string(i) + ".");
    x = layer_norm(g, x, "cam_enc.trunk_norm", kNormEps);
    g.stage("known_camera_tokens", x, {x->ne[1], x->ne[0]});
    return x;
}

}  // namespace da
