"""One picture with its depth and camera, at the size that the network saw: what every export starts from."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.geometry import scale_intrinsics
from depth_anything_ros.types import DepthKind, Float32Array, Frame, Intrinsics, Prediction, UInt8Array

_PATCH = 14
"""Pixels of the networks' patches."""


@dataclass(frozen=True)
class View:
    """Raises OptionError ``option.range`` for inverse depth, whose unknown shift leaves no points to speak of."""

    name: str
    """File name of the picture, unique among the views of a scene."""
    picture_size: tuple[int, int]
    """Width and height of the picture before it was resized for the network."""
    kind: DepthKind
    depth: Float32Array
    """float32 [h, w] along the optical axis; points come from finite values above 0."""
    confidence: Float32Array | None
    """float32 [h, w], raw network value."""
    pixels: UInt8Array
    """uint8 RGB [h, w, 3]."""
    intrinsics: Intrinsics
    """Of the depth map; cx and cy count from the corner of the picture, as the network and COLMAP do."""
    camera_from_world: NDArray[np.float64]
    """float64 [3, 4], OpenCV axes."""

    def __post_init__(self) -> None:
        if self.kind is DepthKind.RELATIVE_INVERSE_DEPTH:
            raise OptionError(
                "option.range",
                f"{self.name}: the model gives inverse depth of unknown scale and shift, which makes no points; take a model of depth.",
            )


def view_of(frame: Frame, prediction: Prediction, name: str, sky_threshold: float = 0.3) -> View:
    """The view of one picture with what the engine gave for it; sky is left out. Without a pose of the model, the camera is the world.

    sky_threshold: network value from which a pixel is sky.
    Raises OptionError (see `View`), InputError: ``input.intrinsics`` when neither the camera nor the network gives intrinsics,
    ``input.shape`` when the prediction is of a part of the picture, as `Engine.infer_views` crops pictures of different shapes.
    """
    _check_whole(frame, prediction, name)
    depth = prediction.depth
    if prediction.sky is not None:
        depth = np.where(prediction.sky >= sky_threshold, np.float32(np.nan), depth)
    rgb = frame.pixels[:, :, ::-1] if frame.bgr else frame.pixels
    pose = np.eye(3, 4) if prediction.extrinsics is None else prediction.extrinsics
    return View(
        name=name,
        picture_size=(frame.pixels.shape[1], frame.pixels.shape[0]),
        kind=prediction.kind,
        depth=depth,
        confidence=prediction.confidence,
        pixels=np.asarray(cv2.resize(rgb, (prediction.width, prediction.height), interpolation=cv2.INTER_AREA), np.uint8),
        intrinsics=_intrinsics(frame, prediction, name),
        camera_from_world=np.asarray(pose, np.float64),
    )


def unit_of(views: list[View]) -> str:
    """``metre``, or the kind of depth where the scale is unknown."""
    kinds = {view.kind for view in views}
    return "metre" if kinds <= {DepthKind.METRIC} else DepthKind.RELATIVE_DEPTH.value


def _check_whole(frame: Frame, prediction: Prediction, name: str) -> None:
    """Sides are rounded to patches, so that those of a whole picture are within one of a common scale."""
    height, width = frame.pixels.shape[:2]
    sides = [(prediction.width, width), (prediction.height, height)]
    least, most = (max((side - _PATCH) / full for side, full in sides), min((side + _PATCH) / full for side, full in sides))
    if least > most and min(prediction.width, prediction.height) > _PATCH:  # thin pictures are made one patch wide
        raise InputError(
            "input.shape",
            f"{name} has {width}x{height} pixels, and its prediction of {prediction.width}x{prediction.height} is of a part of it; "
            "give infer_views pictures of one shape.",
        )


def _intrinsics(frame: Frame, prediction: Prediction, name: str) -> Intrinsics:
    """The camera's own where it is calibrated, else the network's estimate, which counts from the corner already."""
    width, height = prediction.width, prediction.height
    if frame.intrinsics is not None:
        own = scale_intrinsics(frame.intrinsics, width, height)
        return Intrinsics(width, height, own.fx, own.fy, own.cx + 0.5, own.cy + 0.5)
    if prediction.intrinsics is None:
        raise InputError("input.intrinsics", f"{name}: this model estimates no camera; give the focal length (--focal) to get points.")
    return prediction.intrinsics
