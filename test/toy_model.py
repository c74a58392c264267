"""Tiny models of the true architectures for tests: no download, no PyTorch.

The files are those of `depth_anything_ros.convert.seeded`; a test that needs another size gives it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from depth_anything_ros.convert.hyper_parameters import HyperParameters, Identity, Size, any_view, with_pose_encoder
from depth_anything_ros.convert.layout import metadata, tensors
from depth_anything_ros.convert.naming import NESTED_METRIC
from depth_anything_ros.convert.output import write_model
from depth_anything_ros.convert.seeded import (
    LICENSE,
    SEEDED_ANY_VIEW,
    SEEDED_COMPLETE,
    SEEDED_METRIC,
    SEEDED_MONO,
    SEEDED_RAYS,
    SEEDED_SWIGLU,
    SEEDED_V2,
    SEEDED_V2_METRIC,
    seeded_tensors,
    write_seeded,
)

SMALLEST_ANY_VIEW = any_view(
    Size(32, 4, 2, (0, 1, 2, 3), 8, (4, 4, 8, 8), alt_start=1, pos_embed_grid=5), Identity("seeded-smallest", "relative_depth", LICENSE)
)
"""The smallest file that loads (under 400 kB): for tests that damage it thousands of times."""


def write_toy_model(folder: Path, parameters: HyperParameters, seed: int = 0) -> Path:
    """Write a model file into `folder` and give its path."""
    path = folder / f"{parameters.checkpoint_name}.gguf"
    write_seeded(path, parameters, seed)
    return path


def any_view_model(folder: Path, seed: int = 0) -> Path:
    """Depth, confidence and pose."""
    return write_toy_model(folder, SEEDED_ANY_VIEW, seed)


def swiglu_model(folder: Path, seed: int = 0) -> Path:
    """As `any_view_model`, built like GIANT."""
    return write_toy_model(folder, SEEDED_SWIGLU, seed)


def v2_model(folder: Path, seed: int = 0) -> Path:
    """Depth Anything V2: relative inverse depth alone."""
    return write_toy_model(folder, SEEDED_V2, seed)


def v2_metric_model(folder: Path, seed: int = 0) -> Path:
    """Depth Anything V2: metres alone, without a focal length."""
    return write_toy_model(folder, SEEDED_V2_METRIC, seed)


def rays_model(folder: Path, seed: int = 0) -> Path:
    """As `swiglu_model`, with the auxiliary ray branch."""
    return write_toy_model(folder, SEEDED_RAYS, seed)


def complete_model(folder: Path, seed: int = 0) -> Path:
    """As `rays_model`, with the encoder of known cameras and the head of Gaussians."""
    return write_toy_model(folder, SEEDED_COMPLETE, seed)


def pose_encoder_model(folder: Path, seed: int = 0) -> Path:
    """As `swiglu_model`, with the encoder of known cameras."""
    return write_toy_model(folder, replace(with_pose_encoder(SEEDED_SWIGLU), checkpoint_name="seeded-pose-encoder"), seed)


def optional_parts_model(folder: Path, seed: int = 0) -> Path:
    """As `rays_model`, with the encoder of known cameras."""
    return write_toy_model(folder, with_pose_encoder(SEEDED_RAYS), seed)


def mono_model(folder: Path, seed: int = 0) -> Path:
    """Relative depth and sky."""
    return write_toy_model(folder, SEEDED_MONO, seed)


def metric_model(folder: Path, seed: int = 0) -> Path:
    """Depth in metres once a focal length is given, and sky."""
    return write_toy_model(folder, SEEDED_METRIC, seed)


def metric_half_model(folder: Path, seed: int = 0) -> Path:
    """The weights of `metric_model` as the metric half of a nested pair: other names, and no word about pictures."""
    half = replace(SEEDED_METRIC, checkpoint_name="seeded-metric-half", naming=NESTED_METRIC)
    path = folder / "metric-half.gguf"
    arrays = (array for _, array in seeded_tensors(SEEDED_METRIC, seed))
    write_model(path, metadata(half), list(tensors(half)), arrays)
    return path
