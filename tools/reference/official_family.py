"""What the official code makes of rays, known cameras and Gaussians, with the random choices of the engine in place of its own.

Everything goes through the official API class, around the network: pictures and intrinsics through its InputProcessor, poses through its
normalisation before and its alignment after.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import official
import torch
from family_comparison import GAUSSIANS
from numpy.typing import NDArray
from torch import nn

sys.modules.setdefault("depth_anything_3.utils.export", MagicMock())
_hub = types.ModuleType("huggingface_hub")
_hub.PyTorchModelHubMixin = type("PyTorchModelHubMixin", (), {})  # type: ignore[attr-defined]
sys.modules.setdefault("huggingface_hub", _hub)

from depth_anything_3.api import DepthAnything3  # noqa: E402
from depth_anything_3.model import da3  # noqa: E402
from depth_anything_3.utils import pose_align  # noqa: E402

from depth_anything_ros.convert.hyper_parameters import HyperParameters  # noqa: E402

METHOD = "upper_bound_resize"
_RAY_SAMPLES, _RAY_SAMPLE, _MOST_INLIERS = 100, 8, 8000


@dataclass(frozen=True)
class Cameras:
    """Known ones, of the pictures as given."""

    extrinsics: NDArray[np.float64]
    """[n, 4, 4], camera_from_world."""
    intrinsics: NDArray[np.float64]
    """[n, 3, 3]; counted from the corner, as the official code does."""


class RandomChoice:
    """SplitMix64 and the first steps of a Fisher-Yates shuffle, written a second time (native/src/model/random_choice.hpp)."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def __call__(self, size: int, count: int) -> NDArray[np.int64]:
        everything = np.arange(size)
        for i in range(min(count, size)):
            j = i + self._next() % (size - i)
            everything[[i, j]] = everything[[j, i]]
        return everything[:count]

    def _next(self) -> int:
        mask = 2**64 - 1
        self._state = (self._state + 0x9E3779B97F4A7C15) & mask
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)


def prepared(
    shots: list[NDArray[np.uint8]], resolution: int, parameters: HyperParameters, cameras: Cameras | None = None
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Pictures, float32 [1, views, 3, h, w], and their intrinsics, float32 [1, views, 3, 3]: resized, then cropped to the smallest."""
    processor = official.InputProcessor()
    tensors, sizes, matrices = [], [], []
    for number, shot in enumerate(shots):
        k = None if cameras is None else cameras.intrinsics[number]
        image = processor._load_image(shot)
        for resize in (
            lambda image: processor._resize_image(image, resolution, METHOD),
            lambda image: processor._make_divisible_by_resize(image, processor.PATCH_SIZE),
        ):
            before, image = image.size, resize(image)
            k = processor._resize_ixt(k, *before, *image.size)
        tensors.append(official.normalised(np.asarray(image), parameters)[0, 0])
        sizes.append(image.size[::-1])
        matrices.append(k)
    tensors, _, matrices = processor._unify_batch_shapes(tensors, sizes, matrices)
    return torch.stack(list(tensors))[None], None if cameras is None else torch.from_numpy(np.stack(matrices)).float()[None]


def inference(
    net: nn.Module,
    x: torch.Tensor,
    known: tuple[Cameras, torch.Tensor] | None = None,
    *,
    rays: bool = False,
    gaussians: bool = False,
    seed: int = 0,
) -> official.Arrays:
    """The official `inference` from tensors on: depth, extrinsics and intrinsics of every view, and Gaussians of all together."""
    api = DepthAnything3
    extrinsics = None if known is None else torch.from_numpy(known[0].extrinsics).to(x.dtype)
    intrinsics = None if known is None else known[1]
    with torch.inference_mode(), _choices(seed):
        given = api._normalize_extrinsics(None, None if extrinsics is None else extrinsics[None].clone())
        raw = net(x, given, intrinsics, export_feat_layers=[], infer_gs=gaussians, use_ray_pose=rays)
        result = SimpleNamespace(**{name: raw[name][0].numpy().copy() for name in ("depth", "extrinsics", "intrinsics")})
        kept = None if intrinsics is None else intrinsics[0]
        api._align_to_input_extrinsics_intrinsics(None, extrinsics, kept, result)
    found = {"depth": result.depth, "extrinsics": np.asarray(result.extrinsics)[:, :3], "intrinsics": np.asarray(result.intrinsics)}
    if gaussians:
        found |= {name: getattr(raw.gaussians, name)[0].numpy() for name in GAUSSIANS}
    return {name: np.ascontiguousarray(values, np.float32) for name, values in found.items()}


def pose_of_rays(rays: NDArray[np.float32], confidence: NDArray[np.float32], size: tuple[int, int], seed: int) -> official.Arrays:
    """Official pose of one picture from its rays [6, h, w] and their confidence [h, w]; size: height and width of the picture.

    The fits are decomposed in float64: those of the seeded rays lose three digits in float32.
    """
    output = da3.Dict(ray=torch.from_numpy(rays).permute(1, 2, 0)[None, None], ray_conf=torch.from_numpy(confidence.copy())[None, None])
    svd = torch.linalg.svd

    def exact(matrix: torch.Tensor) -> tuple[torch.Tensor, ...]:
        # The official code asks for all left vectors too, 16000 where 8000 rays are fitted, and uses the right ones.
        return tuple(part.to(matrix.dtype) for part in svd(matrix.double(), full_matrices=False))

    torch.linalg.svd = exact  # type: ignore[assignment]
    try:
        with torch.inference_mode(), _choices(seed):
            result = da3.DepthAnything3Net._process_ray_pose_estimation(None, output, *size)
    finally:
        torch.linalg.svd = svd
    return {name: result[name][0, 0].numpy() for name in ("extrinsics", "intrinsics")}


@contextmanager
def _choices(seed: int) -> Iterator[None]:
    """The engine's choices: of rays, one generator for all; of known cameras, another one."""
    for_rays = RandomChoice(seed)
    counts = iter([_RAY_SAMPLE] * _RAY_SAMPLES)
    randperm, argsort, default_rng = torch.randperm, torch.argsort, np.random.default_rng

    def permutation(size: int, device: object = None) -> torch.Tensor:
        return torch.from_numpy(for_rays(size, next(counts, _MOST_INLIERS)))

    def generator(_: object) -> SimpleNamespace:
        for_cameras = RandomChoice(seed)
        return SimpleNamespace(choice=lambda indices, size, replace: indices[for_cameras(len(indices), size)])

    def sorted_indices(values: torch.Tensor, descending: bool, dim: int = -1) -> torch.Tensor:
        return argsort(values, descending=descending, dim=dim, stable=True)  # confidences are often equal

    torch.randperm, torch.argsort = permutation, sorted_indices  # type: ignore[assignment]
    pose_align.np.random.default_rng = generator  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.randperm, torch.argsort, np.random.default_rng = randperm, argsort, default_rng
