#include "model/dinov2.hpp"

#include <string>

#include "model/reference_view.hpp"

namespace da {

namespace {

constexpr float kQkNormEps = 1e-5f;  // PyTorch's default in the official code; the file's ln_eps is for the norms before the branches

ggml_tensor* tokens_from(Graph& g, ggml_tensor* x, std::int64_t first, std::int64_t count) {
    return ggml_view_2d(g.context, x, x->ne[0], count, x->nb[1], first * x->nb[1]);
}

// What depends on the extent of the input: a sequence holds the tokens of all views, one view after the other.
struct Sequence {
    Grid grid;
    int views;

    std::int64_t tokens() const { return grid.patches() + 1; }  // of one view
};

// A sequence without the class tokens: [channels, patches, views].
ggml_tensor* patch_tokens(Graph& g, ggml_tensor* x, const Sequence& sequence) {
    return ggml_view_3d(g.context, x, x->ne[0], sequence.grid.patches(), sequence.views, x->nb[1], sequence.tokens() * x->nb[1], x->nb[1]);
}

// The class tokens of a sequence: [channels, views].
ggml_tensor* class_tokens(Graph& g, ggml_tensor* x, const Sequence& sequence) {
    return ggml_view_2d(g.context, x, x->ne[0], sequence.views, sequence.tokens() * x->nb[1], 0);
}

// tokens: [channels, views], rows at any distance; patches: [channels, patches, views]; a sequence.
ggml_tensor* joined(Graph& g, ggml_tensor* tokens, ggml_tensor* patches, const Sequence& sequence) {
    ggml_tensor* first = ggml_view_3d(g.context, tokens, tokens->ne[0], 1, sequence.views, tokens->nb[1], tokens->nb[1], 0);
    ggml_tensor* all = ggml_concat(g.context, first, patches, 1);
    return ggml_reshape_2d(g.context, all, all->ne[0], sequence.tokens() * sequence.views);
}

// One token [channels, 1] for each of several views.
ggml_tensor* repeated(Graph& g, ggml_tensor* token, std::int64_t views) {
    return ggml_repeat_4d(g.context, token, token->ne[0], views, 1, 1);
}

ggml_tensor* reordered(Graph& g, ggml_tensor* x, ggml_tensor* order, const Sequence& sequence) {
    ggml_tensor* views = ggml_reshape_2d(g.context, x, x->ne[0] * sequence.tokens(), sequence.views);
    return ggml_reshape_2d(g.context, ggml_get_rows(g.context, views, order), x->ne[0], x->ne[1]);
}

ggml_tensor* prepare_tokens(Graph& g, ggml_tensor* patches, const VitParams& vit, const Sequence& sequence) {
    ggml_tensor* weight = g.weights.tensor("vit.patch_embed.weight");
    weight = ggml_reshape_2d(g.context, weight, patches->ne[0], vit.embed_dim);
    ggml_tensor* x = matmul(g, weight, g.weights.tensor("vit.patch_embed.bias"), patches);
    x = ggml_reshape_3d(g.context, x, vit.embed_dim, sequence.grid.patches(), sequence.views);
    ggml_tensor* cls = ggml_reshape_2d(g.context, g.weights.tensor("vit.cls_token"), vit.embed_dim, 1);
    x = joined(g, repeated(g, cls, sequence.views), x, sequence);
    const float* table = g.weights.host_values("vit.pos_embed");
    ggml_tensor* positions = g.constant(interpolate_pos_embed(table, vit, sequence.grid), vit.embed_dim, sequence.tokens());
    x = ggml_add(g.context, ggml_reshape_3d(g.context, x, vit.embed_dim, sequence.tokens(), sequence.views), positions);
    return ggml_reshape_2d(g.context, x, vit.embed_dim, sequence.tokens() * sequence.views);
}

// How the tokens of a block attend to each other: within parts of the sequence (each view) or all to all (one part).
struct Reach {
    int parts;
    ggml_tensor* rope;  // of one part
};

ggml_tensor* attn(Graph& g, ggml_tensor* x, const std::string& path, int block, const Reach& reach, const VitParams& vit) {
    AttentionOptions options;
    options.heads = vit.num_heads;
    options.norm_eps = kQkNormEps;
    if (vit.has_qknorm(block)) {
        options.q_norm = path + "attn_qnorm";
        options.k_norm = path + "attn_knorm";
    }
    if (vit.has_rope(block)) options.rope = reach.rope;
    ggml_tensor* qkv = linear(g, x, path + "attn_qkv");
    const std::int64_t tokens = qkv->ne[1] / reach.parts;
    ggml_tensor* result = nullptr;
    for (int part = 0; part < reach.parts; ++part) {
        ggml_tensor* attended = attention(g, tokens_from(g, qkv, part * tokens, tokens), options);
        result = result == nullptr ? attended : ggml_concat(g.context, result, attended, 1);
    }
    return result;
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
ggml_tensor* block(Graph& g, ggml_tensor* x, int index, const Reach& reach, const VitParams& vit) {
    const std::string path = "vit.blk." + std::to_string(index) + ".";
    const auto end_branch = [&](ggml_tensor* branch, const std::string& projection, const char* scale) {
        LinearOptions options;
        options.scale = g.weights.tensor(path + scale);
        options.residual = x;
        return linear(g, branch, path + projection, options);
    };
    x = end_branch(attn(g, layer_norm(g, x, path + "norm1", vit.ln_eps), path, index, reach, vit), "attn_proj", "ls1");
    ggml_tensor* normalised = layer_norm(g, x, path + "norm2", vit.ln_eps);
    return vit.swiglu ? end_branch(swiglu(g, normalised, path), "mlp_w3", "ls2") : end_branch(mlp(g, normalised, path), "mlp_fc2", "ls2");
}

ggml_tensor* rope_input(Graph& g, const Sequence& sequence, const VitParams& vit, bool global) {
    const std::vector<float> view = rope_table(sequence.grid, vit, global);
    std::vector<float> table = view;
    for (int i = 1; global && i < sequence.views; ++i) table.insert(table.end(), view.begin(), view.end());
    return g.constant(table, vit.head_dim, static_cast<std::int64_t>(table.size()) / vit.head_dim);
}

// Learned camera tokens: slot 0 for the reference view, which is the first, slot 1 for the others.
ggml_tensor* learned_camera_tokens(Graph& g, const Sequence& sequence) {
    ggml_tensor* slots = g.weights.tensor("vit.camera_token");
    ggml_tensor* tokens = tokens_from(g, slots, 0, 1);
    if (sequence.views > 1) tokens = ggml_concat(g.context, tokens, repeated(g, tokens_from(g, slots, 1, 1), sequence.views - 1), 1);
    return tokens;
}

// What the head gets of one view. local and x: sequences.
ggml_tensor* tap(Graph& g, ggml_tensor* local, ggml_tensor* x, int view, const VitParams& vit, const Sequence& sequence) {
    const auto patches = [&](ggml_tensor* all) { return tokens_from(g, all, view * sequence.tokens() + 1, sequence.grid.patches()); };
    ggml_tensor* normalised = layer_norm(g, patches(x), "vit.norm", vit.final_norm_eps);
    return vit.cat_token ? side_by_side(g, patches(local), normalised) : normalised;
}

}  // namespace

Features dinov2(Graph& g, ggml_tensor* patches, const VitParams& vit, Grid grid, int views, ggml_tensor* camera_tokens) {
    constexpr int fewest_views_with_choice = 3;
    const Sequence sequence{grid, views};
    ggml_tensor* x = prepare_tokens(g, patches, vit, sequence);
    g.stage("patch_tokens", tokens_from(g, x, 0, sequence.tokens()), {sequence.tokens(), vit.embed_dim});
    const Reach local_reach{views, vit.rotates() ? rope_input(g, sequence, vit, false) : nullptr};
    const Reach global_reach{1, vit.rotates() ? rope_input(g, sequence, vit, true) : nullptr};
    ggml_tensor* local = x;
    ViewOrder order;
    Features features;
    features.taps.resize(views);
    std::size_t taps = 0;
    for (int i = 0; i < vit.depth && taps < 4; ++i) {
        if (i == vit.alt_start - 1 && views >= fewest_views_with_choice && camera_tokens == nullptr) {
            order = view_order(g, class_tokens(g, x, sequence));
            x = reordered(g, x, order.forth, sequence);
        }
        if (i == vit.alt_start) {  // camera tokens take the place of the class tokens
            ggml_tensor* tokens = camera_tokens != nullptr ? camera_tokens : learned_camera_tokens(g, sequence);
            x = joined(g, tokens, patch_tokens(g, x, sequence), sequence);
        }
        x = block(g, x, i, vit.is_global(i) ? global_reach : local_reach, vit);
        if (!vit.is_global(i)) local = x;
        if (i != vit.out_layers[taps]) continue;
        const auto as_given = [&](ggml_tensor* tokens) { return order.back ? reordered(g, tokens, order.back, sequence) : tokens; };
        ggml_tensor* given_local = as_given(local);
        ggml_tensor* given_x = as_given(x);
        for (int view = 0; view < views; ++view) features.taps[view][taps] = tap(g, given_local, given_x, view, vit, sequence);
        g.stage("tap." + std::to_string(taps), features.taps[0][taps], {grid.patches(), vit.tap_dim()});
        if (vit.cat_token) {
            ggml_tensor* tokens = class_tokens(g, given_local, sequence);
            features.camera_tokens = ggml_concat(g.context, tokens, class_tokens(g, given_x, sequence), 0);
        }
        ++taps;
    }
    if (vit.cat_token) g.stage("cam_token", tokens_from(g, features.camera_tokens, 0, 1), {vit.tap_dim()});
    return features;
}

}  // namespace da
