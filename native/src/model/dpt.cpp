#include "model/dpt.hpp"

#include <optional>
#include <string>
#include <utility>

namespace da {

namespace {

constexpr float kNormEps = 1e-5f;

std::vector<std::int64_t> shape_of(const ggml_tensor* map) {
    return {map->ne[2], map->ne[1], map->ne[0]};
}

// What distinguishes the heads.
struct Branch {
    std::string path;    // of the weights
    std::string stages;  // beginning of the names of stages
    bool norm, pos_embed;
};

class Head {
  public:
    Head(Graph& g, const Hparams& hparams, Branch branch, Grid grid, Size picture)
        : g_(g),
          hparams_(hparams),
          branch_(std::move(branch)),
          grid_(grid),
          picture_(picture),
          aspect_(static_cast<float>(picture.width) / static_cast<float>(picture.height)) {}

    // Tokens of one tap to a map [width, height, features] at its own size.
    ggml_tensor* level(ggml_tensor* tokens, int index) {
        const std::string number = std::to_string(index);
        if (branch_.norm) tokens = layer_norm(g_, tokens, branch_.path + "norm", kNormEps);
        ggml_tensor* map = resize(to_map(g_, project(tokens, index), grid_.width, grid_.height), index);
        map = conv_2d(g_, map, scratch("layer" + std::to_string(index + 1) + "_rn"));
        stage("layer_rn." + std::to_string(index + 1), map);
        return map;
    }

    // Fusion block: top (+ lateral) refined, then its 1x1 convolution and the resampling to width x height.
    // The official order is resampling first; the two commute (weights of a resampling sum to 1), and this way is a quarter of the work.
    // suffix: of the chain, see fused.
    ggml_tensor* refinenet(int number, ggml_tensor* top, ggml_tensor* lateral, int width, int height, const std::string& suffix) {
        const std::string path = scratch("rn" + std::to_string(number) + suffix);
        if (lateral != nullptr) top = ggml_add(g_.context, top, residual_unit(lateral, path + ".rc1"));
        ggml_tensor* map = interpolate(g_, conv_2d(g_, residual_unit(top, path + ".rc2"), path + ".out"), {width, height, {}});
        stage("refinenet" + suffix + "." + std::to_string(number), map);
        return map;
    }

    // The chain from the coarsest level to the finest, and twice its size. suffix: "" for depth, "_aux" for rays.
    ggml_tensor* fused(const std::array<ggml_tensor*, 4>& levels, const std::string& suffix) {
        const auto width = [&](int i) { return static_cast<int>(levels[i]->ne[0]); };
        const auto height = [&](int i) { return static_cast<int>(levels[i]->ne[1]); };
        ggml_tensor* map = refinenet(4, levels[3], nullptr, width(2), height(2), suffix);
        map = refinenet(3, map, levels[2], width(1), height(1), suffix);
        map = refinenet(2, map, levels[1], width(0), height(0), suffix);
        return refinenet(1, map, levels[0], 2 * width(0), 2 * height(0), suffix);
    }

    // Ray of every cell (direction, origin) and its confidence, before the activation: [width, height, 7] at the size of `map`.
    ggml_tensor* rays(ggml_tensor* map) {
        for (int i = 0; i < 5; ++i) map = conv_2d(g_, map, scratch("out1_aux." + std::to_string(i)));
        const int width = static_cast<int>(map->ne[0]), height = static_cast<int>(map->ne[1]), channels = static_cast<int>(map->ne[2]);
        map = conv_2d(g_, interpolate(g_, map, {width, height, positions(width, height, channels)}), scratch("out2a_aux"));
        const std::int64_t cells = map->ne[0] * map->ne[1], hidden = map->ne[2];
        ggml_tensor* tokens = ggml_cont(g_.context, ggml_transpose(g_.context, ggml_reshape_2d(g_.context, map, cells, hidden)));
        tokens = layer_norm(g_, tokens, scratch("out2_aux_ln"), kNormEps);
        map = ggml_cont(g_.context, ggml_transpose(g_.context, tokens));
        ConvOptions options;
        options.relu_input = true;
        return conv_2d(g_, ggml_reshape_3d(g_.context, map, width, height, hidden), scratch("out2b_aux"), options);
    }

    // The last map before the output branches.
    ggml_tensor* last_map(ggml_tensor* fused) {
        ggml_tensor* map = conv_2d(g_, fused, scratch("out1"));
        stage("output_conv1", map);
        return map;
    }

    // How that map gets the size of the picture.
    Resampling full_size(const ggml_tensor* map) const {
        return {picture_.width, picture_.height, positions(picture_.width, picture_.height, static_cast<int>(map->ne[2]))};
    }

    // name: "out2" or "sky_out2"; stage_name: of the result; resampling: of the map first.
    ggml_tensor* output(ggml_tensor* map, const std::string& name, const std::string& stage_name, std::optional<Resampling> resampling) {
        ConvOptions options;
        options.resampling = std::move(resampling);
        options.relu_output = true;
        options.then = scratch(name + "b");
        ggml_tensor* result = conv_2d(g_, map, scratch(name + "a"), options);
        stage(stage_name, result);
        return result;
    }

  private:
    std::string scratch(const std::string& name) const { return branch_.path + "scratch." + name; }

    void stage(const std::string& name, ggml_tensor* map) { g_.stage(branch_.stages + name, map, shape_of(map)); }

    kernels::PositionTable positions(int width, int height, int channels) const {
        return branch_.pos_embed ? uv_embedding(width, height, channels, aspect_) : kernels::PositionTable{};
    }

    ggml_tensor* project(ggml_tensor* tokens, int index) {
        const std::string path = branch_.path + "proj." + std::to_string(index);
        ggml_tensor* weight = g_.weights.tensor(path + ".weight");
        weight = ggml_reshape_2d(g_.context, weight, weight->ne[2], weight->ne[3]);
        LinearOptions options;
        if (branch_.pos_embed) {
            const int channels = hparams_.head.out_channels[index];
            options.residual = g_.shared_constant("positions." + std::to_string(channels), channels, grid_.patches(), [&] {
                return as_tokens(uv_embedding(grid_.width, grid_.height, channels, aspect_), grid_.width, grid_.height, channels);
            });
        }
        return matmul(g_, weight, g_.weights.tensor(path + ".bias"), tokens, options);
    }

    ggml_tensor* resize(ggml_tensor* map, int index) {
        return index == 2 ? map : conv_2d(g_, map, branch_.path + "resize." + std::to_string(index));
    }

    ggml_tensor* residual_unit(ggml_tensor* x, const std::string& path) {
        ConvOptions first, second;
        first.relu_input = true;
        second.relu_input = true;
        second.residual = x;
        return conv_2d(g_, conv_2d(g_, x, path + ".c1", first), path + ".c2", second);
    }

    Graph& g_;
    const Hparams& hparams_;
    Branch branch_;
    Grid grid_;
    Size picture_;
    float aspect_;
};

void stage_rays(Graph& g, ggml_tensor* logits) {
    const std::int64_t width = logits->ne[0], height = logits->ne[1], channels = logits->ne[2] - 1;
    const auto some = [&](std::int64_t first, std::int64_t count) {
        return ggml_view_3d(g.context, logits, width, height, count, logits->nb[1], logits->nb[2], first * logits->nb[2]);
    };
    g.stage("ray", some(0, channels), {channels, height, width});
    g.stage("ray_conf", ggml_scale_bias(g.context, ggml_exp(g.context, some(channels, 1)), 1.0f, 1.0f), {height, width});
}

using Taps = std::array<ggml_tensor*, 4>;

Taps levels_of(Head& head, const Taps& taps) {
    Taps levels;
    for (int i = 0; i < 4; ++i) levels[i] = head.level(taps[i], i);
    return levels;
}

// Patches of one picture, see dinov2, as a map [width, height, 3].
ggml_tensor* picture_map(Graph& g, ggml_tensor* patches, Grid grid, Size picture) {
    const std::int64_t patch = picture.width / grid.width;
    ggml_tensor* cells = ggml_reshape_4d(g.context, patches, patch, 3 * patch, grid.width, grid.height);
    cells = ggml_cont(g.context, ggml_permute(g.context, cells, 0, 2, 1, 3));  // [patch, grid width, (row, channel), grid height]
    cells = ggml_reshape_4d(g.context, cells, picture.width, patch, 3, grid.height);
    return ggml_reshape_3d(g.context, ggml_cont(g.context, ggml_permute(g.context, cells, 0, 1, 3, 2)), picture.width, picture.height, 3);
}

}  // namespace

HeadOutputs dpt(Graph& g, const Taps& taps, const Hparams& hparams, Grid grid, Size picture, const HeadWanted& wanted) {
    Head head(g, hparams, {"head.", "", hparams.architecture == Architecture::any_view, hparams.head.pos_embed}, grid, picture);
    const Taps levels = levels_of(head, taps);
    ggml_tensor* map = head.last_map(head.fused(levels, ""));
    HeadOutputs outputs;
    outputs.logits = head.output(map, "out2", "logits", head.full_size(map));
    if (wanted.sky) outputs.sky_logits = head.output(map, "sky_out2", "sky_logits", head.full_size(map));
    if (hparams.has_rays) {
        ggml_tensor* rays = head.rays(head.fused(levels, "_aux"));
        stage_rays(g, rays);
        if (wanted.rays) outputs.ray_logits = rays;
    }
    return outputs;
}

ggml_tensor* gaussian_head(Graph& g, const Taps& taps, ggml_tensor* patches, const Hparams& hparams, Grid grid, Size picture) {
    Head head(g, hparams, {"gs.", "gs.", false, true}, grid, picture);
    ggml_tensor* merged = picture_map(g, patches, grid, picture);
    for (int i = 0; i < 3; ++i) merged = gelu(g, conv_2d(g, merged, "gs.merger." + std::to_string(i)));
    g.stage("gs.images_merger", merged, shape_of(merged));
    ggml_tensor* map = head.last_map(head.fused(levels_of(head, taps), ""));
    map = ggml_add(g.context, interpolate(g, map, head.full_size(map)), merged);
    return head.output(map, "out2", "logits", std::nullopt);
}

}  // namespace da
