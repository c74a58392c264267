"""Which CameraInfo belongs to a picture, and what the node knows about the camera then."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from depth_anything_ros import geometry
from depth_anything_ros.errors import InputError
from depth_anything_ros.geometry import Calibration
from depth_anything_ros.ros.messages import calibration_from, stamp_ns
from depth_anything_ros.types import Intrinsics

if TYPE_CHECKING:
    from sensor_msgs.msg import CameraInfo, Image

_KEPT = 32


@dataclass(frozen=True)
class Match:
    """A CameraInfo for a picture; `exact` when it carries the picture's own stamp."""

    info: CameraInfo
    exact: bool


@dataclass(frozen=True)
class CameraView:
    """What is known about the camera of one picture."""

    intrinsics: Intrinsics | None
    lens: Calibration | None
    """With the distortion of a picture that is not rectified; None when rays are straight."""
    source: str
    """Where the intrinsics come from, for people."""
    problem: str = ""
    """What is wrong with the calibration, or empty."""


class CameraInfos:
    """The last CameraInfos by stamp. `add` on the executor's thread, `match` on the worker's."""

    def __init__(self, patience: float = 0.05) -> None:
        self._arrived = threading.Condition()
        self._by_stamp: OrderedDict[int, CameraInfo] = OrderedDict()
        self._latest: CameraInfo | None = None
        self._paired = True
        self._patience = patience

    def add(self, info: CameraInfo) -> None:
        stamp = stamp_ns(info.header.stamp)
        with self._arrived:
            self._by_stamp.pop(stamp, None)
            self._by_stamp[stamp] = self._latest = info
            if len(self._by_stamp) > _KEPT:
                self._by_stamp.popitem(last=False)
            self._arrived.notify_all()

    def match(self, stamp: int) -> Match | None:
        """The info of exactly this stamp, else the last one that came, else None.

        Some cameras send the picture before its info. While infos have been coming in pairs with pictures, this waits a moment for the
        partner; one missing partner ends the waiting until a pair is seen again.
        """
        with self._arrived:
            if self._paired:
                self._arrived.wait_for(lambda: stamp in self._by_stamp, self._patience)
            info = self._by_stamp.get(stamp)
            self._paired = info is not None
            if info is not None:
                return Match(info, exact=True)
            return None if self._latest is None else Match(self._latest, exact=False)


def rectified_by_name(image_topic: str, rectify: str) -> bool:
    """Whether pictures of the resolved topic are rectified: its last token says so, unless `rectify` is off."""
    return rectify == "auto" and "rect" in image_topic.rsplit("/", 1)[-1]


def sibling(image_topic: str) -> str:
    """The camera_info topic that belongs to a resolved image topic."""
    return image_topic.rsplit("/", 1)[0] + "/camera_info"


def view_of(image: Image, match: Match | None, *, rectified: bool, focal: float) -> CameraView:
    """What is known about the camera of a picture: from its CameraInfo, else from the given focal length (pixels), else nothing."""
    problem = "no camera_info has come"
    if match is not None:
        calibration = calibration_from(match.info)
        try:
            model = geometry.camera_model(calibration, image.width, image.height, rectified=rectified)
        except InputError as error:
            problem = str(error)
        else:
            lens = calibration if calibration.distorted and model.matrix == "K" and not rectified else None
            return CameraView(model.intrinsics, lens, _described(match, model, image), _objection(match, image, lens))
    if focal > 0.0:
        return CameraView(geometry.centred_intrinsics(focal, image.width, image.height), None, "parameter focal", problem)
    return CameraView(None, None, "none", problem)


def _described(match: Match, model: geometry.CameraModel, image: Image) -> str:
    text = f"{model.matrix} of camera_info, {'stamp of the image' if match.exact else 'last known'}"
    if model.calibrated_size != (image.width, image.height):
        text += f", scaled from {model.calibrated_size[0]}x{model.calibrated_size[1]} to {image.width}x{image.height}"
    return text


def _objection(match: Match, image: Image, lens: Calibration | None) -> str:
    objections = []
    if lens is not None:
        objections.append(
            "the picture is distorted and not rectified: depth goes out on depth/image_raw, and the cloud is approximate; feed image_rect"
        )
    if match.info.header.frame_id != image.header.frame_id:
        objections.append(f"its frame {match.info.header.frame_id!r} is not the image's {image.header.frame_id!r}, which is used")
    return "; ".join(objections)
