"""The tables against the official networks: every tensor that they have is converted or knowingly left out, with its shape.

The shapes were written by the official code (tools/reference/official_shapes.py).
"""

import gzip
import json
from pathlib import Path

import pytest

from depth_anything_ros.convert.gguf_keys import IGNORED_OFFICIAL
from depth_anything_ros.convert.hyper_parameters import with_pose_encoder, with_rays
from depth_anything_ros.convert.layout import tensors
from depth_anything_ros.convert.model_config import from_shapes, named
from depth_anything_ros.convert.naming import renamed
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS
from depth_anything_ros.errors import ConversionError

OFFICIAL = {
    name: {tensor: tuple(shape) for tensor, shape in shapes.items()}
    for name, shapes in json.loads(gzip.decompress((Path(__file__).parents[1] / "data" / "official_shapes.json.gz").read_bytes())).items()
}
FAMILY = {"da3-large-1.1": "da3-large", "da3-giant-1.1": "da3-giant"}
CASES = [*OFFICIAL, *FAMILY, *(name for name in OFFICIAL_MODELS if name.startswith("da2-metric"))]


def official(name):
    return OFFICIAL[FAMILY.get(name, name.replace("metric-hypersim-", "").replace("metric-vkitti-", ""))]


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_every_official_tensor_has_its_place(name, complete):
    networks = [with_pose_encoder(with_rays(network)) if complete and network.cam_dim_in else network for network in named(name)]
    converted = {spec.official: spec.shape for network in networks for spec in tensors(network)}
    left_out = tuple(renamed(prefix, network.naming.official) for network in networks for prefix in IGNORED_OFFICIAL)
    shapes = official(name)
    assert {tensor: shapes.get(tensor) for tensor in converted} == converted
    rest = set(shapes) - set(converted)
    assert all(tensor.startswith(left_out) for tensor in rest)
    if complete:  # then only levels of the ray branch that nothing uses, and what training alone uses
        assert all("output_conv1_aux." in tensor or "output_conv2_aux." in tensor or "mask_token" in tensor for tensor in rest)


def test_a_bare_file_is_known_by_its_shapes():
    alone = ("da3-small", "da3-base", "da3nested-giant-large")
    assert {name: from_shapes(Path("bare"), OFFICIAL[name]) for name in alone} == {name: named(name) for name in alone}
    for name, candidates in (("da3-giant", "da3-giant or da3-giant-1.1"), ("da3mono-large", "da3mono-large or da3metric-large")):
        with pytest.raises(ConversionError, match=f"could be {candidates} "):
            from_shapes(Path("bare"), OFFICIAL[name])
