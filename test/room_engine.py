"""Networks that know the room of `box_room`: a picture carries the camera's place in its first pixels, and depth is that of the place."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from box_room import CAMERA, look, pose_at
from fake_engine import ANY_VIEW, METRIC, FakeEngine

from depth_anything_ros.types import DepthKind, Intrinsics, Prediction, UInt8Array, Wanted

V2 = replace(ANY_VIEW, checkpoint="V2", architecture="v2", kind=DepthKind.RELATIVE_INVERSE_DEPTH, has_confidence=False, has_pose=False)
_PLACE = struct.Struct("<4f")


def picture_at(x: float, y: float = 0.0, z: float = 0.6, yaw: float = 0.0) -> np.ndarray:
    """uint8 [48, 64, 3] of the room from a place."""
    picture = look(pose_at(x, y, z, yaw))[1].copy()
    picture.reshape(-1)[: _PLACE.size] = np.frombuffer(_PLACE.pack(x, y, z, yaw), np.uint8)
    return picture


def pose_of(pixels: UInt8Array) -> np.ndarray:
    """[4, 4] camera to world of a picture from `picture_at`."""
    return pose_at(*_PLACE.unpack(np.ascontiguousarray(pixels[0]).reshape(-1)[: _PLACE.size].tobytes()))


@dataclass
class RoomEngine(FakeEngine):
    """An any-view network. One unit of its depth is `unit` metres, or `views_unit` when it sees several pictures together."""

    unit: float = 1.0
    views_unit: float = 5.3

    def _prediction(self, pixels: UInt8Array, intrinsics: Intrinsics | None) -> Prediction:
        made = super()._prediction(pixels, intrinsics)
        depth = look(pose_of(pixels))[0] / np.float32(self.unit)
        if self.info.kind is DepthKind.RELATIVE_INVERSE_DEPTH:
            depth = (1.0 / (depth * np.float32(self.unit)) - np.float32(0.05)) / np.float32(self.unit)
        own = Intrinsics(64, 48, CAMERA.fx, CAMERA.fy, 32.0, 24.0)
        return replace(made, depth=depth, intrinsics=own if self.info.has_pose else None)

    def infer_views(
        self, pictures: Sequence[UInt8Array], *, bgr: bool = False, wanted: Wanted = Wanted(), fill_sky: bool = True
    ) -> list[Prediction]:
        first = np.linalg.inv(pose_of(pictures[0]))
        found = []
        for pixels in pictures:
            pose = first @ pose_of(pixels)
            pose[:3, 3] /= self.views_unit
            made = self._prediction(pixels, None)
            depth = made.depth * np.float32(self.unit / self.views_unit)
            found.append(replace(made, depth=depth, extrinsics=np.linalg.inv(pose)[:3].astype(np.float32)))
        return found


def metric_engine(**settings: object) -> FakeEngine:
    """A metric network: canonical depth, metres = depth * focal / 300."""

    def canonical(pixels: UInt8Array) -> np.ndarray:
        return look(pose_of(pixels))[0] * np.float32(300.0 / CAMERA.fx)

    return FakeEngine(METRIC, depth_of=canonical, **settings)  # type: ignore[arg-type]
