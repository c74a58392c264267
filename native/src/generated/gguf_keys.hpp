// Written by `python -m depth_anything_ros.convert.cpp_headers native/src/generated`; edit convert/gguf_keys.py instead.
#pragma once

namespace da::keys {

inline constexpr const char* kGeneralArchitecture = "general.architecture";
inline constexpr const char* kGeneralArchitectureValue = "depthanything3";
inline constexpr const char* kArch = "depthanything3.arch";
inline constexpr const char* kCheckpointName = "depthanything3.checkpoint_name";
inline constexpr const char* kPatchSize = "depthanything3.patch_size";
inline constexpr const char* kEmbedDim = "depthanything3.vit.embed_dim";
inline constexpr const char* kDepth = "depthanything3.vit.depth";
inline constexpr const char* kNumHeads = "depthanything3.vit.num_heads";
inline constexpr const char* kHeadDim = "depthanything3.vit.head_dim";
inline constexpr const char* kMlpHidden = "depthanything3.vit.mlp_hidden";
inline constexpr const char* kNumRegisterTokens = "depthanything3.vit.num_register_tokens";
inline constexpr const char* kInitValues = "depthanything3.vit.init_values";
inline constexpr const char* kAltStart = "depthanything3.vit.alt_start";
inline constexpr const char* kRopeStart = "depthanything3.vit.rope_start";
inline constexpr const char* kQknormStart = "depthanything3.vit.qknorm_start";
inline constexpr const char* kRopeFreq = "depthanything3.vit.rope_freq";
inline constexpr const char* kCatToken = "depthanything3.vit.cat_token";
inline constexpr const char* kQkvBias = "depthanything3.vit.qkv_bias";
inline constexpr const char* kLnEps = "depthanything3.vit.ln_eps";
inline constexpr const char* kInterpolateOffset = "depthanything3.vit.interpolate_offset";
inline constexpr const char* kInterpolateAntialias = "depthanything3.vit.interpolate_antialias";
inline constexpr const char* kPosEmbedGrid = "depthanything3.vit.pos_embed_grid";
inline constexpr const char* kFfnType = "depthanything3.vit.ffn_type";
inline constexpr const char* kOutLayers = "depthanything3.vit.out_layers";
inline constexpr const char* kMean = "depthanything3.img.mean";
inline constexpr const char* kStd = "depthanything3.img.std";
inline constexpr const char* kResizeMode = "depthanything3.img.resize_mode";
inline constexpr const char* kResizeTarget = "depthanything3.img.resize_target";
inline constexpr const char* kHeadFeatures = "depthanything3.head.features";
inline constexpr const char* kHeadOutChannels = "depthanything3.head.out_channels";
inline constexpr const char* kHeadOutputDim = "depthanything3.head.output_dim";
inline constexpr const char* kHeadPosEmbed = "depthanything3.head.pos_embed";
inline constexpr const char* kHeadDownRatio = "depthanything3.head.down_ratio";
inline constexpr const char* kHeadActivation = "depthanything3.head.activation";
inline constexpr const char* kHeadConfActivation = "depthanything3.head.conf_activation";
inline constexpr const char* kHeadSkyActivation = "depthanything3.head.sky_activation";
inline constexpr const char* kHeadNormType = "depthanything3.head.norm_type";
inline constexpr const char* kHeadMaxDepth = "depthanything3.head.max_depth";
inline constexpr const char* kHeadHasRays = "depthanything3.head.has_aux";
inline constexpr const char* kHeadRayDim = "depthanything3.head.aux_ray_dim";
inline constexpr const char* kHeadRayLevels = "depthanything3.head.aux_levels";
inline constexpr const char* kCamDimIn = "depthanything3.cam.dim_in";
inline constexpr const char* kGsOutputDim = "depthanything3.gs.output_dim";
inline constexpr const char* kGsFeatures = "depthanything3.gs.features";
inline constexpr const char* kGsOutChannels = "depthanything3.gs.out_channels";
inline constexpr const char* kGsShDegree = "depthanything3.gs.sh_degree";
inline constexpr const char* kGsScaleMin = "depthanything3.gs.scale_min";
inline constexpr const char* kGsScaleMax = "depthanything3.gs.scale_max";
inline constexpr const char* kGsPredOffsetDepth = "depthanything3.gs.pred_offset_depth";
inline constexpr const char* kGsPredOffsetXy = "depthanything3.gs.pred_offset_xy";
inline constexpr const char* kGsPredColor = "depthanything3.gs.pred_color";
inline constexpr const char* kDepthKind = "depthanything3.depth_kind";
inline constexpr const char* kLicense = "depthanything3.license";

}  // namespace da::keys
