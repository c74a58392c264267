"""The layout of the official models against the published numbers: counts, parameters, bytes, keys, types, names, shapes."""

from dataclasses import replace

import pytest

from depth_anything_ros.convert.gguf_file import TensorInfo, TensorType, file_bytes
from depth_anything_ros.convert.layout import metadata, tensors
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS

# model name: metadata keys, tensors, parameters, bytes of the published f32 file
PUBLISHED = {
    "da3-small": (35, 279, 26_179_819, 104_737_600),
    "da3-base": (35, 279, 103_022_955, 412_110_144),
    "da3-large": (35, 479, 345_439_467, 1_381_787_616),
    "da3-giant": (44, 813, 1_226_566_065, 4_906_314_144),
    "da3nested-anyview": (44, 813, 1_226_566_065, 4_906_314_144),
    "da3nested-metric": (31, 406, 334_171_394, 1_336_711_840),
    "da3mono-large": (36, 406, 334_171_394, 1_336_711_232),
    "da3metric-large": (36, 406, 334_171_394, 1_336_711_232),
    "da2-small": (33, 238, 24_784_705, 99_154_784),
    "da2-base": (33, 238, 97_470_017, 389_896_032),
    "da2-large": (33, 406, 335_314_625, 1_341_284_000),
    "da2-metric-hypersim-small": (34, 238, 24_784_705, 99_154_848),
    "da2-metric-hypersim-base": (34, 238, 97_470_017, 389_896_096),
    "da2-metric-hypersim-large": (34, 406, 335_314_625, 1_341_284_064),
    "da2-metric-vkitti-small": (34, 238, 24_784_705, 99_154_848),
    "da2-metric-vkitti-base": (34, 238, 97_470_017, 389_896_096),
    "da2-metric-vkitti-large": (34, 406, 335_314_625, 1_341_284_032),
}
BASE_F16_BYTES = 232_775_968
# The published f16 file was rewritten by a tool that drops trailing extents of 1: two of cls_token, one of camera_token and pos_embed.
DROPPED_EXTENTS_BYTES = 4 * 8


def published(name):
    """The official model without the two keys of this converter."""
    return replace(OFFICIAL_MODELS[name], depth_kind=None, license=None)


def infos(parameters, narrow=TensorType.F32):
    return [TensorInfo(spec.name, spec.extents, narrow if spec.narrow else TensorType.F32) for spec in tensors(parameters)]


@pytest.mark.parametrize("name", PUBLISHED)
def test_counts_and_bytes_are_those_of_the_published_files(name):
    model = published(name)
    keys, count, parameters, size = PUBLISHED[name]
    assert len(metadata(model)) == keys
    assert len(infos(model)) == count
    assert sum(info.nbytes for info in infos(model)) == 4 * parameters
    assert file_bytes(metadata(model), infos(model)) == size


def test_f16_file_is_that_of_the_published_one_but_for_dropped_extents():
    model = published("da3-base")
    narrow = infos(model, TensorType.F16)
    assert sum(info.type is TensorType.F16 for info in narrow) == 53
    assert file_bytes(metadata(model), narrow) - BASE_F16_BYTES == DROPPED_EXTENTS_BYTES


SMALL_KEYS = {
    "general.architecture": ("STRING", "depthanything3"),
    "depthanything3.arch": ("STRING", "depthanything3"),
    "depthanything3.checkpoint_name": ("STRING", "DA3-SMALL"),
    "depthanything3.patch_size": ("U32", 14),
    "depthanything3.vit.embed_dim": ("U32", 384),
    "depthanything3.vit.depth": ("U32", 12),
    "depthanything3.vit.num_heads": ("U32", 6),
    "depthanything3.vit.head_dim": ("U32", 64),
    "depthanything3.vit.mlp_hidden": ("U32", 1536),
    "depthanything3.vit.num_register_tokens": ("U32", 0),
    "depthanything3.vit.init_values": ("F32", 0.0),
    "depthanything3.vit.alt_start": ("I32", 4),
    "depthanything3.vit.rope_start": ("I32", 4),
    "depthanything3.vit.qknorm_start": ("I32", 4),
    "depthanything3.vit.rope_freq": ("F32", 100.0),
    "depthanything3.vit.cat_token": ("BOOL", True),
    "depthanything3.vit.qkv_bias": ("BOOL", True),
    "depthanything3.vit.ln_eps": ("F32", 1e-6),
    "depthanything3.vit.interpolate_offset": ("F32", 0.1),
    "depthanything3.vit.interpolate_antialias": ("BOOL", False),
    "depthanything3.vit.pos_embed_grid": ("U32", 37),
    "depthanything3.vit.ffn_type": ("STRING", "mlp"),
    "depthanything3.vit.out_layers": ("I32", (5, 7, 9, 11)),
    "depthanything3.img.mean": ("F32", (0.485, 0.456, 0.406)),
    "depthanything3.img.std": ("F32", (0.229, 0.224, 0.225)),
    "depthanything3.img.resize_mode": ("STRING", "upper_bound"),
    "depthanything3.img.resize_target": ("U32", 504),
    "depthanything3.head.features": ("U32", 64),
    "depthanything3.head.out_channels": ("I32", (48, 96, 192, 384)),
    "depthanything3.head.output_dim": ("U32", 2),
    "depthanything3.head.pos_embed": ("BOOL", True),
    "depthanything3.head.down_ratio": ("U32", 1),
    "depthanything3.head.activation": ("STRING", "exp"),
    "depthanything3.head.conf_activation": ("STRING", "expp1"),
    "depthanything3.cam.dim_in": ("U32", 1536),
    "depthanything3.depth_kind": ("STRING", "relative_depth"),
    "depthanything3.license": ("STRING", "Apache-2.0"),
}
METRIC_KEYS = {
    "depthanything3.checkpoint_name": ("STRING", "DA3METRIC-LARGE"),
    "depthanything3.vit.alt_start": ("I32", -1),
    "depthanything3.vit.rope_start": ("I32", -1),
    "depthanything3.vit.qknorm_start": ("I32", -1),
    "depthanything3.vit.cat_token": ("BOOL", False),
    "depthanything3.vit.out_layers": ("I32", (4, 11, 17, 23)),
    "depthanything3.head.output_dim": ("U32", 1),
    "depthanything3.head.pos_embed": ("BOOL", False),
    "depthanything3.head.sky_activation": ("STRING", "relu"),
    "depthanything3.head.norm_type": ("STRING", "idt"),
    "depthanything3.depth_kind": ("STRING", "metric"),
}


def test_metadata_of_small():
    found = {item.name: (item.type.name, item.value) for item in metadata(OFFICIAL_MODELS["da3-small"])}
    assert found == SMALL_KEYS


def test_metadata_of_metric():
    found = {item.name: (item.type.name, item.value) for item in metadata(OFFICIAL_MODELS["da3metric-large"])}
    assert found.items() >= METRIC_KEYS.items()
    assert "depthanything3.cam.dim_in" not in found


# name: official key, extents; one of each row of the published table
SMALL_TENSORS = {
    "vit.cls_token": ("backbone.pretrained.cls_token", (384, 1, 1)),
    "vit.camera_token": ("backbone.pretrained.camera_token", (384, 2, 1)),
    "vit.pos_embed": ("backbone.pretrained.pos_embed", (384, 1370, 1)),
    "vit.patch_embed.weight": ("backbone.pretrained.patch_embed.proj.weight", (14, 14, 3, 384)),
    "vit.blk.11.norm1.bias": ("backbone.pretrained.blocks.11.norm1.bias", (384,)),
    "vit.blk.0.attn_qkv.weight": ("backbone.pretrained.blocks.0.attn.qkv.weight", (384, 1152)),
    "vit.blk.4.attn_qnorm.weight": ("backbone.pretrained.blocks.4.attn.q_norm.weight", (64,)),
    "vit.blk.4.attn_knorm.bias": ("backbone.pretrained.blocks.4.attn.k_norm.bias", (64,)),
    "vit.blk.3.attn_proj.weight": ("backbone.pretrained.blocks.3.attn.proj.weight", (384, 384)),
    "vit.blk.3.ls1": ("backbone.pretrained.blocks.3.ls1.gamma", (384,)),
    "vit.blk.3.ls2": ("backbone.pretrained.blocks.3.ls2.gamma", (384,)),
    "vit.blk.3.mlp_fc1.weight": ("backbone.pretrained.blocks.3.mlp.fc1.weight", (384, 1536)),
    "vit.blk.3.mlp_fc2.weight": ("backbone.pretrained.blocks.3.mlp.fc2.weight", (1536, 384)),
    "vit.norm.weight": ("backbone.pretrained.norm.weight", (384,)),
    "head.norm.bias": ("head.norm.bias", (768,)),
    "head.proj.2.weight": ("head.projects.2.weight", (1, 1, 768, 192)),
    "head.resize.0.weight": ("head.resize_layers.0.weight", (4, 4, 48, 48)),
    "head.resize.1.bias": ("head.resize_layers.1.bias", (96,)),
    "head.resize.3.weight": ("head.resize_layers.3.weight", (3, 3, 384, 384)),
    "head.scratch.layer4_rn.weight": ("head.scratch.layer4_rn.weight", (3, 3, 384, 64)),
    "head.scratch.rn1.rc1.c1.weight": ("head.scratch.refinenet1.resConfUnit1.conv1.weight", (3, 3, 64, 64)),
    "head.scratch.rn4.rc2.c2.bias": ("head.scratch.refinenet4.resConfUnit2.conv2.bias", (64,)),
    "head.scratch.rn2.out.weight": ("head.scratch.refinenet2.out_conv.weight", (1, 1, 64, 64)),
    "head.scratch.out1.weight": ("head.scratch.output_conv1.weight", (3, 3, 64, 32)),
    "head.scratch.out2a.weight": ("head.scratch.output_conv2.0.weight", (3, 3, 32, 32)),
    "head.scratch.out2b.weight": ("head.scratch.output_conv2.2.weight", (1, 1, 32, 2)),
    "cam.bb0.weight": ("cam_dec.backbone.0.weight", (768, 768)),
    "cam.bb2.bias": ("cam_dec.backbone.2.bias", (768,)),
    "cam.fc_t.weight": ("cam_dec.fc_t.weight", (768, 3)),
    "cam.fc_q.weight": ("cam_dec.fc_qvec.weight", (768, 4)),
    "cam.fc_fov.bias": ("cam_dec.fc_fov.0.bias", (2,)),
}


def test_tensors_of_small():
    found = {spec.name: (spec.official, spec.extents) for spec in tensors(OFFICIAL_MODELS["da3-small"])}
    assert {name: found.get(name) for name in SMALL_TENSORS} == {
        name: ("model." + official, extents) for name, (official, extents) in SMALL_TENSORS.items()
    }
    assert not any(name.startswith(("vit.blk.3.attn_qnorm", "head.scratch.rn4.rc1", "head.scratch.sky")) for name in found)


def test_sky_tensors_of_metric():
    found = {spec.name: (spec.official, spec.extents) for spec in tensors(OFFICIAL_MODELS["da3metric-large"])}
    assert found["head.scratch.sky_out2a.weight"] == ("model.head.scratch.sky_output_conv2.0.weight", (3, 3, 128, 32))
    assert found["head.scratch.sky_out2b.weight"] == ("model.head.scratch.sky_output_conv2.2.weight", (1, 1, 32, 1))
    assert not any(name.startswith(("cam.", "head.norm")) or "camera_token" in name for name in found)


GIANT_KEYS = {
    "depthanything3.vit.alt_start": ("I32", 13),
    "depthanything3.vit.ffn_type": ("STRING", "swiglu"),
    "depthanything3.vit.mlp_hidden": ("U32", 4096),
    "depthanything3.vit.out_layers": ("I32", (19, 27, 33, 39)),
    "depthanything3.gs.output_dim": ("U32", 38),
    "depthanything3.gs.features": ("U32", 256),
    "depthanything3.gs.out_channels": ("I32", (256, 512, 1024, 1024)),
    "depthanything3.gs.sh_degree": ("U32", 2),
    "depthanything3.gs.scale_min": ("F32", 1e-5),
    "depthanything3.gs.scale_max": ("F32", 30.0),
    "depthanything3.gs.pred_offset_depth": ("BOOL", True),
    "depthanything3.gs.pred_offset_xy": ("BOOL", True),
    "depthanything3.gs.pred_color": ("BOOL", False),
}
GIANT_TENSORS = {
    "vit.blk.39.mlp_w12.weight": ("backbone.pretrained.blocks.39.mlp.w12.weight", (1536, 8192)),
    "vit.blk.0.mlp_w12.bias": ("backbone.pretrained.blocks.0.mlp.w12.bias", (8192,)),
    "vit.blk.0.mlp_w3.weight": ("backbone.pretrained.blocks.0.mlp.w3.weight", (4096, 1536)),
    "gs.proj.0.weight": ("gs_head.projects.0.weight", (1, 1, 3072, 256)),
    "gs.resize.3.bias": ("gs_head.resize_layers.3.bias", (1024,)),
    "gs.scratch.layer2_rn.weight": ("gs_head.scratch.layer2_rn.weight", (3, 3, 512, 256)),
    "gs.scratch.rn4.rc2.c1.weight": ("gs_head.scratch.refinenet4.resConfUnit2.conv1.weight", (3, 3, 256, 256)),
    "gs.scratch.out1.weight": ("gs_head.scratch.output_conv1.weight", (3, 3, 256, 128)),
    "gs.scratch.out2b.weight": ("gs_head.scratch.output_conv2.2.weight", (1, 1, 32, 38)),
    "gs.merger.0.weight": ("gs_head.images_merger.0.weight", (3, 3, 3, 32)),
    "gs.merger.1.weight": ("gs_head.images_merger.2.weight", (3, 3, 32, 64)),
    "gs.merger.2.bias": ("gs_head.images_merger.4.bias", (128,)),
}


@pytest.mark.parametrize(("name", "prefix"), [("da3-giant", "model."), ("da3nested-anyview", "model.da3.")])
def test_giant(name, prefix):
    keys = {item.name: (item.type.name, item.value) for item in metadata(OFFICIAL_MODELS[name])}
    assert keys.items() >= GIANT_KEYS.items()
    found = {spec.name: (spec.official, spec.extents) for spec in tensors(OFFICIAL_MODELS[name])}
    assert {key: found.get(key) for key in GIANT_TENSORS} == {
        key: (prefix + official, extents) for key, (official, extents) in GIANT_TENSORS.items()
    }
    assert sum(key.startswith("gs.") for key in found) == 66
    assert not any("mlp_fc" in key or "gs.norm" in key or "gs.scratch.rn4.rc1" in key for key in found)


def test_the_metric_half_of_the_nested_pair():
    half, alone = OFFICIAL_MODELS["da3nested-metric"], OFFICIAL_MODELS["da3metric-large"]
    keys = {item.name for item in metadata(half)}
    assert {"depthanything3.m_vit.embed_dim", "depthanything3.m_head.sky_activation"} <= keys
    assert not any(key.startswith(("depthanything3.vit.", "depthanything3.head.", "depthanything3.img.")) for key in keys)
    assert "depthanything3.m_head.pos_embed" not in keys
    renamed = [(f"m_{spec.name}", spec.official.replace("model.", "model.da3_metric.", 1), spec.extents) for spec in tensors(alone)]
    assert [(spec.name, spec.official, spec.extents) for spec in tensors(half)] == renamed


V2_KEYS = {
    "general.architecture": ("STRING", "depthanything3"),
    "depthanything3.arch": ("STRING", "depthanything2"),
    "depthanything3.checkpoint_name": ("STRING", "Depth-Anything-V2-Metric-VKITTI-Base"),
    "depthanything3.vit.init_values": ("F32", 1.0),
    "depthanything3.vit.alt_start": ("I32", -1),
    "depthanything3.vit.out_layers": ("I32", (2, 5, 8, 11)),
    "depthanything3.vit.cat_token": ("BOOL", False),
    "depthanything3.img.resize_mode": ("STRING", "lower_bound"),
    "depthanything3.img.resize_target": ("U32", 518),
    "depthanything3.head.pos_embed": ("BOOL", False),
    "depthanything3.head.activation": ("STRING", "sigmoid"),
    "depthanything3.head.norm_type": ("STRING", "idt"),
    "depthanything3.head.max_depth": ("F32", 80.0),
    "depthanything3.depth_kind": ("STRING", "metric"),
    "depthanything3.license": ("STRING", "CC-BY-NC-4.0"),
}


def test_depth_anything_v2():
    found = {item.name: (item.type.name, item.value) for item in metadata(OFFICIAL_MODELS["da2-metric-vkitti-base"])}
    assert found.items() >= V2_KEYS.items()
    assert not any(key.endswith(("down_ratio", "conf_activation", "sky_activation")) for key in found)
    relative = {item.name: item.value for item in metadata(OFFICIAL_MODELS["da2-small"])}
    assert relative["depthanything3.head.activation"] == "relu" and "depthanything3.head.max_depth" not in relative
    assert relative["depthanything3.depth_kind"] == "relative_inverse_depth"
    names = {spec.name: spec.official for spec in tensors(OFFICIAL_MODELS["da2-small"])}
    assert names["vit.blk.0.attn_qkv.weight"] == "pretrained.blocks.0.attn.qkv.weight"
    assert names["head.scratch.rn4.rc1.c1.weight"] == "depth_head.scratch.refinenet4.resConfUnit1.conv1.weight"
    assert names["head.scratch.out2b.bias"] == "depth_head.scratch.output_conv2.2.bias"
