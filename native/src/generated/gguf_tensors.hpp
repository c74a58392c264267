// Written by `python -m depth_anything_ros.convert.cpp_headers native/src/generated`; edit convert/gguf_keys.py instead.
#pragma once

#include <cstdint>

namespace da::keys {

// When a tensor belongs to a file; the meaning of each is in gguf_keys.py.
enum class Part { always, block, qknorm_block, mlp_block, swiglu_block, camera_token, head_norm, sky, camera };

// Extents that depend on the hyper-parameters; other extents are literal and positive.
namespace dim {
inline constexpr int64_t patch = -1;
inline constexpr int64_t embed = -2;
inline constexpr int64_t qkv = -3;
inline constexpr int64_t tokens = -4;
inline constexpr int64_t head_dim = -5;
inline constexpr int64_t mlp_hidden = -6;
inline constexpr int64_t gated_hidden = -7;
inline constexpr int64_t head_in = -8;
inline constexpr int64_t out0 = -9;
inline constexpr int64_t out1 = -10;
inline constexpr int64_t out2 = -11;
inline constexpr int64_t out3 = -12;
inline constexpr int64_t features = -13;
inline constexpr int64_t half_features = -14;
inline constexpr int64_t output_dim = -15;
}  // namespace dim

struct TensorRule {
    Part part;
    const char* name;   // "{i}" stands for the number of the block
    int64_t extents[4]; // ggml order, fastest first; missing ones are 1
    bool narrow;        // may be stored in a narrower type than f32
};

inline constexpr TensorRule kTensors[] = {
    {Part::always, "vit.cls_token", {dim::embed, 1, 1, 1}, false},
    {Part::camera_token, "vit.camera_token", {dim::embed, 2, 1, 1}, false},
    {Part::always, "vit.pos_embed", {dim::embed, dim::tokens, 1, 1}, false},
    {Part::always, "vit.patch_embed.weight", {dim::patch, dim::patch, 3, dim::embed}, false},
    {Part::always, "vit.patch_embed.bias", {dim::embed, 1, 1, 1}, false},
    {Part::block, "vit.blk.{i}.norm1.weight", {dim::embed, 1, 1, 1}, false},
    {Part::block, "vit.blk.{i}.norm1.bias", {dim::embed, 1, 1, 1}, false},
    {Part::block, "vit.blk.{i}.attn_qkv.weight", {dim::embed, dim::qkv, 1, 1}, true},
    {Part::block, "vit.blk.{i}.attn_qkv.bias", {dim::qkv, 1, 1, 1}, false},
    {Part::qknorm_block, "vit.blk.{i}.attn_qnorm.weight", {dim::head_dim, 1, 1, 1}, false},
    {Part::qknorm_block, "vit.blk.{i}.attn_qnorm.bias", {dim::head_dim, 1, 1, 1}, false},
    {Part::qknorm_block, "vit.blk.{i}.attn_knorm.weight", {dim::head_dim, 1, 1, 1}, false},
    {Part::qknorm_block, "vit.blk.{i}.attn_knorm.bias", {dim::head_dim, 1, 1, 1}, false},
    {Part::block, "vit.blk.{i}.attn_proj.weight", {dim::embed, dim::embed, 1, 1}, true},
    {Part::block, "vit.blk.{i}.attn_proj.bias", {dim::embed, 1, 1, 1}, false},
    {Part::block, "vit.blk.{i}.ls1", {dim::embed, 1, 1, 1}, false},
    {Part::block, "vit.blk.{i}.norm2.weight", {dim::embed, 1, 1, 1}, false},
    {Part::block, "vit.blk.{i}.norm2.bias", {dim::embed, 1, 1, 1}, false},
    {Part::mlp_block, "vit.blk.{i}.mlp_fc1.weight", {dim::embed, dim::mlp_hidden, 1, 1}, true},
    {Part::mlp_block, "vit.blk.{i}.mlp_fc1.bias", {dim::mlp_hidden, 1, 1, 1}, false},
    {Part::mlp_block, "vit.blk.{i}.mlp_fc2.weight", {dim::mlp_hidden, dim::embed, 1, 1}, true},
    {Part::mlp_block, "vit.blk.{i}.mlp_fc2.bias", {dim::embed, 1, 1, 1}, false},
    {Part::swiglu_block, "vit.blk.{i}.mlp_w12.weight", {dim::embed, dim::gated_hidden, 1, 1}, true},
    {Part::swiglu_block, "vit.blk.{i}.mlp_w12.bias", {dim::gated_hidden, 1, 1, 1}, false},
    {Part::swiglu_block, "vit.blk.{i}.mlp_w3.weight", {dim::mlp_hidden, dim::embed, 1, 1}, true},
    {Part::swiglu_block, "vit.blk.{i}.mlp_w3.bias", {dim::embed, 1, 1, 1}, false},
    {Part::block, "vit.blk.{i}.ls2", {dim::embed, 1, 1, 1}, false},
    {Part::always, "vit.norm.weight", {dim::embed, 1, 1, 1}, false},
    {Part::always, "vit.norm.bias", {dim::embed, 1, 1, 1}, false},
    {Part::head_norm, "head.norm.weight", {dim::head_in, 1, 1, 1}, false},
    {Part::head_norm, "head.norm.bias", {dim::head_in, 1, 1, 1}, false},
    {Part::always, "head.proj.0.weight", {1, 1, dim::head_in, dim::out0}, false},
    {Part::always, "head.proj.0.bias", {dim::out0, 1, 1, 1}, false},
    {Part::always, "head.proj.1.weight", {1, 1, dim::head_in, dim::out1}, false},
    {Part::always, "head.proj.1.bias", {dim::out1, 1, 1, 1}, false},
    {Part::always, "head.proj.2.weight", {1, 1, dim::head_in, dim::out2}, false},
    {Part::always, "head.proj.2.bias", {dim::out2, 1, 1, 1}, false},
    {Part::always, "head.proj.3.weight", {1, 1, dim::head_in, dim::out3}, false},
    {Part::always, "head.proj.3.bias", {dim::out3, 1, 1, 1}, false},
    {Part::always, "head.resize.0.weight", {4, 4, dim::out0, dim::out0}, false},
    {Part::always, "head.resize.0.bias", {dim::out0, 1, 1, 1}, false},
    {Part::always, "head.resize.1.weight", {2, 2, dim::out1, dim::out1}, false},
    {Part::always, "head.resize.1.bias", {dim::out1, 1, 1, 1}, false},
    {Part::always, "head.resize.3.weight", {3, 3, dim::out3, dim::out3}, false},
    {Part::always, "head.resize.3.bias", {dim::out3, 1, 1, 1}, false},
    {Part::always, "head.scratch.layer1_rn.weight", {3, 3, dim::out0, dim::features}, false},
    {Part::always, "head.scratch.layer2_rn.weight", {3, 3, dim::out1, dim::features}, false},
    {Part::always, "head.scratch.layer3_rn.weight", {3, 3, dim::out2, dim::features}, false},
    {Part::always, "head.scratch.layer4_rn.weight", {3, 3, dim::out3, dim::features}, false},
    {Part::always, "head.scratch.rn1.rc1.c1.weight", {3, 3, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn1.rc1.c1.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.rn1.rc1.c2.weight", {3, 3, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn1.rc1.c2.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.rn1.rc2.c1.weight", {3, 3, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn1.rc2.c1.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.rn1.rc2.c2.weight", {3, 3, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn1.rc2.c2.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.rn1.out.weight", {1, 1, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn1.out.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.rn2.rc1.c1.weight", {3, 3, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn2.rc1.c1.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.rn2.rc1.c2.weight", {3, 3, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn2.rc1.c2.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.rn2.rc2.c1.weight", {3, 3, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn2.rc2.c1.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.rn2.rc2.c2.weight", {3, 3, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn2.rc2.c2.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.rn2.out.weight", {1, 1, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn2.out.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.rn3.rc1.c1.weight", {3, 3, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn3.rc1.c1.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.rn3.rc1.c2.weight", {3, 3, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn3.rc1.c2.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.rn3.rc2.c1.weight", {3, 3, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn3.rc2.c1.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.rn3.rc2.c2.weight", {3, 3, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn3.rc2.c2.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.rn3.out.weight", {1, 1, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn3.out.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.rn4.rc2.c1.weight", {3, 3, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn4.rc2.c1.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.rn4.rc2.c2.weight", {3, 3, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn4.rc2.c2.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.rn4.out.weight", {1, 1, dim::features, dim::features}, false},
    {Part::always, "head.scratch.rn4.out.bias", {dim::features, 1, 1, 1}, false},
    {Part::always, "head.scratch.out1.weight", {3, 3, dim::features, dim::half_features}, false},
    {Part::always, "head.scratch.out1.bias", {dim::half_features, 1, 1, 1}, false},
    {Part::always, "head.scratch.out2a.weight", {3, 3, dim::half_features, 32}, false},
    {Part::always, "head.scratch.out2a.bias", {32, 1, 1, 1}, false},
    {Part::always, "head.scratch.out2b.weight", {1, 1, 32, dim::output_dim}, false},
    {Part::always, "head.scratch.out2b.bias", {dim::output_dim, 1, 1, 1}, false},
    {Part::sky, "head.scratch.sky_out2a.weight", {3, 3, dim::half_features, 32}, false},
    {Part::sky, "head.scratch.sky_out2a.bias", {32, 1, 1, 1}, false},
    {Part::sky, "head.scratch.sky_out2b.weight", {1, 1, 32, 1}, false},
    {Part::sky, "head.scratch.sky_out2b.bias", {1, 1, 1, 1}, false},
    {Part::camera, "cam.bb0.weight", {dim::head_in, dim::head_in, 1, 1}, true},
    {Part::camera, "cam.bb0.bias", {dim::head_in, 1, 1, 1}, false},
    {Part::camera, "cam.bb2.weight", {dim::head_in, dim::head_in, 1, 1}, true},
    {Part::camera, "cam.bb2.bias", {dim::head_in, 1, 1, 1}, false},
    {Part::camera, "cam.fc_t.weight", {dim::head_in, 3, 1, 1}, true},
    {Part::camera, "cam.fc_t.bias", {3, 1, 1, 1}, false},
    {Part::camera, "cam.fc_q.weight", {dim::head_in, 4, 1, 1}, true},
    {Part::camera, "cam.fc_q.bias", {4, 1, 1, 1}, false},
    {Part::camera, "cam.fc_fov.weight", {dim::head_in, 2, 1, 1}, true},
    {Part::camera, "cam.fc_fov.bias", {2, 1, 1, 1}, false},
};

}  // namespace da::keys
