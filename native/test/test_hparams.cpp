#include "check.hpp"
#include "hparams.hpp"
#include "toy_model.hpp"

namespace {

const std::string kPrefix = "depthanything3.";

da::Hparams read(const toy::Model& model) {
    const toy::File file(model);
    return da::read_hparams(da::GgufFile(file.path()));
}

std::string key_error(const std::string& key, toy::Value value) {
    toy::Model model = toy::any_view();
    model.set(kPrefix + key, std::move(value));
    const std::string message = CHECK_ERROR("model.key", read(model));
    CHECK_CONTAINS(message, key);
    return message;
}

}  // namespace

TEST(hparams, of_both_architectures) {
    const da::Hparams any_view = read(toy::any_view());
    CHECK(any_view.architecture == da::Architecture::any_view && any_view.vit.tap_dim() == 64 &&
          any_view.kind == da::DepthKind::relative_depth);
    CHECK(!any_view.vit.is_global(0) && any_view.vit.is_global(1) && !any_view.vit.is_global(2) && any_view.vit.is_global(3));
    const da::Hparams mono = read(toy::mono());
    CHECK(mono.architecture == da::Architecture::mono && mono.vit.tap_dim() == 32 && !mono.vit.has_rope(3) && mono.license == "unknown");
}

TEST(hparams, facts_of_a_known_checkpoint_come_from_the_table) {
    toy::Model model = toy::mono();
    model.set(kPrefix + "checkpoint_name", std::string("DA3METRIC-LARGE"));
    model.set(kPrefix + "license", std::string("wrong"));
    const da::Hparams metric = read(model);
    CHECK(metric.kind == da::DepthKind::metric && metric.needs_focal && metric.license == "Apache-2.0");
    model.set(kPrefix + "checkpoint_name", std::string("da3metric-large"));  // no exact match, nothing is guessed
    model.set(kPrefix + "depth_kind", std::string("relative_depth"));
    CHECK(read(model).kind == da::DepthKind::relative_depth);
}

// Each would give numbers that are not what their kind says.
TEST(hparams, a_kind_of_depth_that_the_head_cannot_give) {
    const auto refused = [](toy::Model model, const char* key, const char* text) {
        model.set(kPrefix + key, std::string(text));
        CHECK_CONTAINS(CHECK_ERROR("model.key", read(model)), text);
    };
    refused(toy::any_view(), "checkpoint_name", "DA3METRIC-LARGE");
    refused(toy::any_view(), "checkpoint_name", "Depth-Anything-V2-Metric-VKITTI-Base");
    refused(toy::mono(), "checkpoint_name", "Depth-Anything-V2-Small");
    toy::Model inverse = toy::mono();
    inverse.set(kPrefix + "arch", std::string("depthanything2"));
    inverse.set(kPrefix + "head.activation", std::string("relu"));
    inverse.set(kPrefix + "img.resize_mode", std::string("lower_bound"));
    CHECK(read(inverse).kind == da::DepthKind::relative_inverse_depth);
    refused(inverse, "depth_kind", "metric");
    refused(inverse, "depth_kind", "relative_depth");
    refused(inverse, "checkpoint_name", "Depth-Anything-V2-Metric-Hypersim-Small");
    refused(inverse, "checkpoint_name", "DA3MONO-LARGE");
    toy::Model metric = inverse;
    metric.set(kPrefix + "head.activation", std::string("sigmoid"));
    metric.set(kPrefix + "head.max_depth", 20.0f);
    CHECK(read(metric).kind == da::DepthKind::metric);
    refused(metric, "depth_kind", "relative_inverse_depth");
    refused(metric, "checkpoint_name", "Depth-Anything-V2-Small");
    metric.set(kPrefix + "depth_kind", std::string("relative_depth"));  // less than it can
    CHECK(read(metric).kind == da::DepthKind::relative_depth);
}

// They are printed when a model is loaded.
TEST(hparams, case_68_texts_that_would_steer_a_terminal) {
    key_error("license", std::string("free\x1b[2J"));
    key_error("checkpoint_name", std::string("a\nb"));
    key_error("checkpoint_name", std::string(257, 'a'));
    CHECK(key_error("vit.ffn_type", std::string(1 << 20, 'a')).size() < 1000);
}

TEST(hparams, case_68_impossible_values) {
    key_error("vit.depth", std::uint32_t{100000});
    key_error("vit.depth", std::uint32_t{0});
    key_error("patch_size", std::uint32_t{0});
    key_error("img.resize_target", std::uint32_t{1000000});
    CHECK_CONTAINS(key_error("vit.embed_dim", std::uint32_t{48}), "2 heads of 16 make 32");
    toy::Model model = toy::any_view();
    model.set(kPrefix + "vit.num_heads", std::uint32_t{3});
    CHECK_CONTAINS(CHECK_ERROR("model.key", read(model)), "3 heads of 16 make 48");
    key_error("vit.out_layers", std::vector<std::int32_t>{0, 1, 2, 9});
    key_error("vit.out_layers", std::vector<std::int32_t>{3, 2, 1, 0});
    key_error("vit.out_layers", std::vector<std::int32_t>{0, 1});
    key_error("img.mean", std::vector<std::int32_t>{0, 0, 0});
    key_error("img.std", std::vector<float>{0.0f, 0.2f, 0.2f});
    key_error("head.features", std::uint32_t{12});
    key_error("head.output_dim", std::uint32_t{1});
    key_error("vit.cat_token", false);
    key_error("depth_kind", std::string("centimetres"));
    key_error("vit.embed_dim", std::string("32"));
}

// Such a file would be run with camera tokens that it does not have.
TEST(hparams, case_68_alternating_attention_in_a_network_without_cameras) {
    toy::Model model = toy::mono();
    model.set(kPrefix + "vit.alt_start", std::int32_t{1});
    CHECK_CONTAINS(CHECK_ERROR("model.key", read(model)), "vit.alt_start");
}

TEST(hparams, everything_that_is_missing_is_in_one_message) {
    toy::Model model = toy::any_view();
    for (const char* key : {"vit.embed_dim", "head.features", "img.std"}) model.remove(kPrefix + key);
    const std::string message = CHECK_ERROR("model.key", read(model));
    for (const char* key : {"vit.embed_dim", "head.features", "img.std"}) CHECK_CONTAINS(message, key);
}

TEST(hparams, case_68_models_of_another_kind) {
    toy::Model model = toy::any_view();
    model.set("general.architecture", std::string("llama"));
    CHECK_CONTAINS(CHECK_ERROR("model.unsupported", read(model)), "llama");
    model = toy::any_view();
    model.set(kPrefix + "arch", std::string("depthanything4"));
    CHECK_CONTAINS(CHECK_ERROR("model.key", read(model)), "depthanything4");
    model = toy::any_view();
    model.set(kPrefix + "vit.ffn_type", std::string("mixture"));
    CHECK_CONTAINS(CHECK_ERROR("model.key", read(model)), "mixture");
    model = toy::any_view();
    model.set(kPrefix + "m_vit.embed_dim", std::uint32_t{32});
    CHECK_CONTAINS(CHECK_ERROR("model.unsupported", read(model)), "nested");
}
