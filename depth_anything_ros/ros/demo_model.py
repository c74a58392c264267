"""Tries a model on the first picture before the demo: what it is, how long a frame takes, and where metres can come from."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from depth_anything_ros.depth import resize
from depth_anything_ros.engine import Engine
from depth_anything_ros.models.cache import resolve_model
from depth_anything_ros.models.checkpoint_facts import DOUBTFUL
from depth_anything_ros.ros.camera_bag import Shot
from depth_anything_ros.types import DepthKind, ModelInfo, Prediction


@dataclass(frozen=True)
class DemoModel:
    info: ModelInfo
    seconds: float
    """Of one frame, after the first."""
    scale: float
    """Metres per unit for the node's `scale.value`; 0 where the model's own unit holds."""
    unit: str
    """What a number of the depth map is, for people."""

    @property
    def doubt(self) -> str:
        """Why this model's depth deserves no trust, or empty."""
        return DOUBTFUL.get(self.info.checkpoint, "")

    @property
    def caption(self) -> str:
        """One line below a picture."""
        return f"{self.info.checkpoint} {self.doubt or 'depth'} ({self.unit})"

    @property
    def parameters(self) -> dict[str, str | float]:
        """Of the node."""
        scale = {"scale.source": "constant", "scale.value": self.scale} if self.scale else {}
        return {"model": self.info.path, **scale}


def try_model(path: Path, shot: Shot) -> DemoModel:
    """Load the model and run it twice. Raises what `Engine.load` and `infer` raise."""
    with Engine.load(resolve_model(path).absolute()) as engine:
        engine.infer(shot.rgb, intrinsics=shot.intrinsics)
        started = time.perf_counter()
        prediction = engine.infer(shot.rgb, intrinsics=shot.intrinsics)
        seconds = time.perf_counter() - started
        info = engine.info
    if prediction.kind is DepthKind.METRIC:
        return DemoModel(info, seconds, 0.0, "metres by the model")
    if prediction.kind is DepthKind.RELATIVE_INVERSE_DEPTH:
        return DemoModel(info, seconds, 0.0, "inverse depth without scale: no cloud")
    if shot.depth is None:
        return DemoModel(info, seconds, 1.0, "relative: the scale is not known, one unit is taken as one metre")
    scale = _fitted(prediction, shot)
    return DemoModel(info, seconds, scale, f"relative: one unit is {scale:.3g} m, fitted to the true depth of the first picture")


def _fitted(prediction: Prediction, shot: Shot) -> float:
    """Median of true depth over predicted depth, where the true one is known and no sky."""
    height, width = shot.rgb.shape[:2]
    ratio = shot.depth / resize(prediction.depth, width, height)
    return float(np.median(ratio[np.isfinite(ratio)]))
