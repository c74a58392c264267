#include "model/dinov2.hpp"

#include <string>

namespace da {

namespace {

// The file's ln_eps is for the norms inside of the blocks; these two are PyTorch's default in the official code.
constexpr float kQkNormEps = 1e-5f;
constexpr float kFinalNormEps = 1e-5f;

struct RopeInputs {
    ggml_tensor* y;
    ggml_tensor* x;
};

ggml_tensor* tokens_from(Graph& g, ggml_tensor* x, std::int64_t first, std::int64_t count) {
    return ggml_view_2d(g.context, x, x->ne[0], count, x->nb[1], first * x->nb[1]);
}

ggml_tensor* without_class_token(Graph& g, ggml_tensor* x) {
    return tokens_from(g, x, 1, x->ne[1] - 1);
}

ggml_tensor* prepare_tokens(Graph& g, ggml_tensor* patches, const VitParams& vit, Grid grid) {
    ggml_tensor* weight = g.weights.tensor("vit.patch_embed.weight");
    ggml_tensor* x = matmul(g, ggml_reshape_2d(g.context, weight, patches->ne[0], vit.embed_dim), patches);
    x = ggml_add(g.context, x, g.weights.tensor("vit.patch_embed.bias"));
    ggml_tensor* cls = ggml_reshape_2d(g.context, g.weights.tensor("vit.cls_token"), vit.embed_dim, 1);
    x = ggml_concat(g.context, cls, x, 1);
    const auto* table = static_cast<const float*>(g.weights.tensor("vit.pos_embed")->data);
    return ggml_add(g.context, x, g.constant(interpolate_pos_embed(table, vit, grid), vit.embed_dim, grid.patches() + 1));
}

// One half of each head's channels turns with y, the other with x; pairs are (j, j + quarter of head_dim).
ggml_tensor* rope(Graph& g, ggml_tensor* x, const RopeInputs& positions, const VitParams& vit) {
    const int half = vit.head_dim / 2;
    const auto turn = [&](ggml_tensor* position, std::size_t offset) {
        ggml_tensor* part = ggml_view_3d(g.context, x, half, x->ne[1], x->ne[2], x->nb[1], x->nb[2], offset);
        return ggml_rope_ext(g.context, part, position, nullptr, half, GGML_ROPE_TYPE_NEOX, 0, vit.rope_freq, 1.0f, 0.0f, 1.0f, 0.0f, 0.0f);
    };
    return ggml_concat(g.context, turn(positions.y, 0), turn(positions.x, half * sizeof(float)), 0);
}

ggml_tensor* attn(Graph& g, ggml_tensor* x, const std::string& path, int block, const RopeInputs& positions, const VitParams& vit) {
    ggml_tensor* qkv = linear(g, x, path + "attn_qkv");
    const auto part = [&](int index) {
        const std::size_t head_bytes = vit.head_dim * sizeof(float);
        return ggml_view_3d(g.context, qkv, vit.head_dim, vit.num_heads, x->ne[1], head_bytes, qkv->nb[1],
                            index * vit.num_heads * head_bytes);
    };
    ggml_tensor* q = part(0);
    ggml_tensor* k = part(1);
    if (vit.has_qknorm(block)) {
        q = layer_norm(g, q, path + "attn_qnorm", kQkNormEps);
        k = layer_norm(g, k, path + "attn_knorm", kQkNormEps);
    }
    if (vit.has_rope(block)) {
        q = rope(g, q, positions, vit);
        k = rope(g, k, positions, vit);
    }
    return linear(g, attention(g, q, k, part(2)), path + "attn_proj");
}

ggml_tensor* mlp(Graph& g, ggml_tensor* x, const std::string& path) {
    return linear(g, ggml_gelu_erf(g.context, linear(g, x, path + "mlp_fc1")), path + "mlp_fc2");
}

// The first half of w12 opens the gate.
ggml_tensor* swiglu(Graph& g, ggml_tensor* x, const std::string& path) {
    return linear(g, ggml_swiglu(g.context, linear(g, x, path + "mlp_w12")), path + "mlp_w3");
}

ggml_tensor* block(Graph& g, ggml_tensor* x, int index, const RopeInputs& positions, const VitParams& vit) {
    const std::string path = "vit.blk." + std::to_string(index) + ".";
    ggml_tensor* branch = attn(g, layer_norm(g, x, path + "norm1", vit.ln_eps), path, index, positions, vit);
    x = ggml_add(g.context, x, ggml_mul(g.context, branch, g.weights.tensor(path + "ls1")));
    ggml_tensor* normalised = layer_norm(g, x, path + "norm2", vit.ln_eps);
    branch = vit.swiglu ? swiglu(g, normalised, path) : mlp(g, normalised, path);
    return ggml_add(g.context, x, ggml_mul(g.context, branch, g.weights.tensor(path + "ls2")));
}

RopeInputs rope_inputs(Graph& g, Grid grid, bool global) {
    const RopePositions positions = rope_positions(grid, global);
    return {g.constant(positions.y), g.constant(positions.x)};
}

// The reference view's camera token takes the place of the class token.
ggml_tensor* with_camera_token(Graph& g, ggml_tensor* x) {
    ggml_tensor* token = tokens_from(g, g.weights.tensor("vit.camera_token"), 0, 1);
    return ggml_concat(g.context, token, without_class_token(g, x), 1);
}

ggml_tensor* tap(Graph& g, ggml_tensor* local, ggml_tensor* x, const VitParams& vit) {
    ggml_tensor* normalised = layer_norm(g, without_class_token(g, x), "vit.norm", kFinalNormEps);
    return vit.cat_token ? ggml_concat(g.context, without_class_token(g, local), normalised, 0) : normalised;
}

}  // namespace

Features dinov2(Graph& g, ggml_tensor* patches, const VitParams& vit, Grid grid) {
    ggml_tensor* x = prepare_tokens(g, patches, vit, grid);
    g.stage("patch_tokens", x, {grid.patches() + 1, vit.embed_dim});
    const bool rotates = vit.rope_start >= 0 && vit.rope_start < vit.depth;
    const RopeInputs local_positions = rotates ? rope_inputs(g, grid, false) : RopeInputs{};
    const RopeInputs global_positions = rotates ? rope_inputs(g, grid, true) : RopeInputs{};
    ggml_tensor* local = x;
    Features features;
    std::size_t taps = 0;
    for (int i = 0; i < vit.depth && taps < features.taps.size(); ++i) {
        if (i == vit.alt_start) x = with_camera_token(g, x);
        x = block(g, x, i, vit.is_global(i) ? global_positions : local_positions, vit);
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
