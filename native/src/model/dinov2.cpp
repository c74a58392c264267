#include "model/dinov2.hpp"

#include <string>

namespace da {

namespace {

constexpr float kQkNormEps = 1e-5f;  // PyTorch's default in the official code; the file's ln_eps is for the norms before the branches

ggml_tensor* tokens_from(Graph& g, ggml_tensor* x, std::int64_t first, std::int64_t count) {
    return ggml_view_2d(g.context, x, x->ne[0], count, x->nb[1], first * x->nb[1]);
}

ggml_tensor* without_class_token(Graph& g, ggml_tensor* x) {
    return tokens_from(g, x, 1, x->ne[1] - 1);
}

ggml_tensor* prepare_tokens(Graph& g, ggml_tensor* patches, const VitParams& vit, Grid grid) {
    ggml_tensor* weight = g.weights.tensor("vit.patch_embed.weight");
    weight = ggml_reshape_2d(g.context, weight, patches->ne[0], vit.embed_dim);
    ggml_tensor* x = matmul(g, weight, g.weights.tensor("vit.patch_embed.bias"), patches);
    ggml_tensor* cls = ggml_reshape_2d(g.context, g.weights.tensor("vit.cls_token"), vit.embed_dim, 1);
    x = ggml_concat(g.context, cls, x, 1);
    const auto* table = static_cast<const float*>(g.weights.tensor("vit.pos_embed")->data);
    return ggml_add(g.context, x, g.constant(interpolate_pos_embed(table, vit, grid), vit.embed_dim, grid.patches() + 1));
}

ggml_tensor* attn(Graph& g, ggml_tensor* x, const std::string& path, int block, ggml_tensor* rope, const VitParams& vit) {
    AttentionOptions options;
    options.heads = vit.num_heads;
    options.norm_eps = kQkNormEps;
    if (vit.has_qknorm(block)) {
        options.q_norm = path + "attn_qnorm";
        options.k_norm = path + "attn_knorm";
    }
    if (vit.has_rope(block)) options.rope = rope;
    return attention(g, linear(g, x, path + "attn_qkv"), options);
}

ggml_tensor* mlp(Graph& g, ggml_tensor* x, const std::string& path) {
    LinearOptions options;
    options.gelu = true;
    return linear(g, x, path + "mlp_fc1", options);
}

// The first half of w12 opens the gate.
ggml_tensor* swiglu(Graph& g, ggml_tensor* x, const std::string& path) {
    return ggml_swiglu(g.context, linear(g, x, path + "mlp_w12"));
}

// Each branch ends in a projection, LayerScale and the residual.
ggml_tensor* block(Graph& g, ggml_tensor* x, int index, ggml_tensor* rope, const VitParams& vit) {
    const std::string path = "vit.blk." + std::to_string(index) + ".";
    const auto end_branch = [&](ggml_tensor* branch, const std::string& projection, const char* scale) {
        LinearOptions options;
        options.scale = g.weights.tensor(path + scale);
        options.residual = x;
        return linear(g, branch, path + projection, options);
    };
    x = end_branch(attn(g, layer_norm(g, x, path + "norm1", vit.ln_eps), path, index, rope, vit), "attn_proj", "ls1");
    ggml_tensor* normalised = layer_norm(g, x, path + "norm2", vit.ln_eps);
    return vit.swiglu ? end_branch(swiglu(g, normalised, path), "mlp_w3", "ls2") : end_branch(mlp(g, normalised, path), "mlp_fc2", "ls2");
}

ggml_tensor* rope_input(Graph& g, Grid grid, const VitParams& vit, bool global) {
    return g.constant(rope_table(grid, vit, global), vit.head_dim, grid.patches() + 1);
}

// The reference view's camera token takes the place of the class token.
ggml_tensor* with_camera_token(Graph& g, ggml_tensor* x) {
    ggml_tensor* token = tokens_from(g, g.weights.tensor("vit.camera_token"), 0, 1);
    return ggml_concat(g.context, token, without_class_token(g, x), 1);
}

ggml_tensor* tap(Graph& g, ggml_tensor* local, ggml_tensor* x, const VitParams& vit) {
    ggml_tensor* normalised = layer_norm(g, without_class_token(g, x), "vit.norm", vit.final_norm_eps);
    return vit.cat_token ? ggml_concat(g.context, without_class_token(g, local), normalised, 0) : normalised;
}

}  // namespace

Features dinov2(Graph& g, ggml_tensor* patches, const VitParams& vit, Grid grid) {
    ggml_tensor* x = prepare_tokens(g, patches, vit, grid);
    g.stage("patch_tokens", x, {grid.patches() + 1, vit.embed_dim});
    const bool rotates = vit.rope_start >= 0 && vit.rope_start < vit.depth;
    ggml_tensor* local_rope = rotates ? rope_input(g, grid, vit, false) : nullptr;
    ggml_tensor* global_rope = rotates ? rope_input(g, grid, vit, true) : nullptr;
    ggml_tensor* local = x;
    Features features;
    std::size_t taps = 0;
    for (int i = 0; i < vit.depth && taps < features.taps.size(); ++i) {
        if (i == vit.alt_start) x = with_camera_token(g, x);
        x = block(g, x, i, vit.is_global(i) ? global_rope : local_rope, vit);
        if (!vit.is_global(i)) local = x;
        if (i != vit.out_layers[taps]) continue;
        features.taps[taps] = tap(g, local, x, vit);
        g.stage("tap." + std::to_string(taps), features.taps[taps], {grid.patches(), vit.tap_dim()});
        ++taps;
    }
    if (vit.cat_token) {
        features.camera_token = ggml_concat(g.context, tokens_from(g, local, 0, 1), tokens_from(g, x, 0, 1), 0);
        g.stage("cam_token", features.camera_token, {vit.tap_dim()});
    }
    return features;
}

}  // namespace da
