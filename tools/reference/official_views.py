"""Several pictures of one scene in the official network, and the official pair of an any-view and a metric network."""

from __future__ import annotations

import cv2
import numpy as np
import official
import skimage.data
import torch
from depth_anything_3.model import da3
from depth_anything_3.model.dinov2 import vision_transformer
from numpy.typing import NDArray
from torch import nn

from depth_anything_ros.convert.hyper_parameters import HyperParameters

OUTPUTS = {"depth": "depth", "depth_conf": "confidence", "extrinsics": "extrinsics", "intrinsics": "intrinsics"}
"""Name of an output in the official code to its name here."""


def pictures(sizes: list[tuple[int, int]]) -> list[NDArray[np.uint8]]:
    """Windows into one photograph, each further to the right, of those widths and heights, uint8 RGB."""
    photo = skimage.data.coffee()
    shots = []
    for number, (width, height) in enumerate(sizes):
        left, top = 55 * number, 20 * number
        window = photo[top : top + 4 * height, left : left + 4 * width]
        shots.append(cv2.resize(window, (width, height), interpolation=cv2.INTER_AREA))
    return shots


def normalised(shots: list[NDArray[np.uint8]], resolution: int, parameters: HyperParameters) -> torch.Tensor:
    """float32 [1, views, 3, h, w]: each resized by the official code, then cropped to the smallest about the centre."""
    inputs = [official.normalised(official.processed(shot, resolution), parameters)[0, 0] for shot in shots]
    height, width = (min(x.shape[axis] for x in inputs) for axis in (1, 2))
    tops_and_lefts = [((x.shape[1] - height) // 2, (x.shape[2] - width) // 2) for x in inputs]
    return torch.stack([x[:, t : t + height, s : s + width] for x, (t, s) in zip(inputs, tops_and_lefts, strict=True)])[None]


def forward(net: nn.Module, x: torch.Tensor) -> official.Arrays:
    """The outputs of every view, stacked; `reference_view` where the network has chosen one; `scale_factor` of a pair."""
    chosen: list[int] = []
    select = vision_transformer.select_reference_view

    def recorded(tokens: torch.Tensor, strategy: str) -> torch.Tensor:
        index = select(tokens, strategy=strategy)
        chosen.append(int(index[0]))
        return index

    vision_transformer.select_reference_view = recorded
    with torch.inference_mode():
        result = net(x)
    vision_transformer.select_reference_view = select
    found = {name: np.ascontiguousarray(result[key][0].numpy()) for key, name in OUTPUTS.items()}
    if chosen:
        found["reference_view"] = np.array(chosen[0])
    if "scale_factor" in result:
        found["scale_factor"] = np.array(result["scale_factor"], np.float32)
    return found


def pair(any_view: HyperParameters, metric: HyperParameters, seed: int) -> nn.Module:
    """The official nested network of two seeded networks."""
    net = da3.NestedDepthAnything3Net.__new__(da3.NestedDepthAnything3Net)
    nn.Module.__init__(net)
    net.da3, net.da3_metric = official.network(any_view, seed), official.network(metric, seed)
    return net.eval()
