#include "check.hpp"
#include "toy_model.hpp"
#include "weights.hpp"

namespace {

std::string tensor_error(const toy::Model& model) {
    const toy::File path(model);
    const da::GgufFile file(path.path());
    const da::Hparams hparams = da::read_hparams(file);
    return CHECK_ERROR("model.tensor", da::check_tensors(file, hparams));
}

}  // namespace

TEST(weights, good_files_pass) {
    const da::Backend backend("cpu", 1, "");
    for (const toy::Model& model : {toy::any_view(), toy::mono()}) {
        const toy::File path(model);
        const da::GgufFile file(path.path());
        const da::Hparams hparams = da::read_hparams(file);
        da::check_tensors(file, hparams);
        std::int64_t scalars = 0;
        for (const toy::Tensor& tensor : model.tensors) scalars += static_cast<std::int64_t>(tensor.values.size());
        CHECK(file.elements() == scalars);
        const da::Weights weights(file, hparams, backend);
    }
}

TEST(weights, case_68_all_that_is_wrong_is_listed_together) {
    toy::Model model = toy::any_view();
    model.remove_tensor("vit.norm.bias");
    model.tensor("cam.fc_t.weight").name = "cam.fc_x.weight";
    std::swap(model.tensor("vit.blk.2.mlp_fc1.weight").ne[0], model.tensor("vit.blk.2.mlp_fc1.weight").ne[1]);
    model.tensor("head.scratch.out1.weight").type = 26;  // GGML_TYPE_I32: same size
    const std::string message = tensor_error(model);
    CHECK_CONTAINS(message, "vit.norm.bias is missing");
    CHECK_CONTAINS(message, "cam.fc_t.weight is missing");
    CHECK_CONTAINS(message, "vit.blk.2.mlp_fc1.weight has extents [64,32,1,1], must be [32,64,1,1]");
    CHECK_CONTAINS(message, "head.scratch.out1.weight is of type i32, must be f32");
}

TEST(weights, case_68_a_width_that_the_tensors_do_not_have) {
    toy::Model model = toy::any_view();
    model.set("depthanything3.vit.embed_dim", std::uint32_t{64});
    model.set("depthanything3.vit.num_heads", std::uint32_t{4});
    const std::string message = tensor_error(model);
    CHECK_CONTAINS(message, "must be [64,");
    CHECK_CONTAINS(message, " more");  // a list of hundreds is cut
    CHECK(message.size() < 2500);
}

TEST(weights, case_68_patch_16) {
    toy::Model model = toy::any_view();
    model.set("depthanything3.patch_size", std::uint32_t{16});
    CHECK_CONTAINS(tensor_error(model), "vit.patch_embed.weight has extents [14,14,3,32], must be [16,16,3,32]");
}
