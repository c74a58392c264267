"""Which CameraInfo belongs to a picture, and what the node knows about the camera then."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from depth_anything_ros import geometry
from depth_anything_ros.errors import InputError
from depth_anything_ros.geometry import Calibration
from depth_anything_ros.rectification import Lens, lens_of
from depth_anything_ros.ros.messages import calibration_from, stamp_ns
from depth_anything_ros.types import Intrinsics

if TYPE_CHECKING:
    from sensor_msgs.msg import CameraInfo

NO_CAMERA_INFO = "no camera_info has come"
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
    """Of the picture that the engine gets."""
    source: str
    """Where the intrinsics come from, for people."""
    removes: Lens | None = None
    """Distortion that is to be removed first."""
    lens: Calibration | None = None
    """With the distortion of a picture that keeps it; None when rays are straight."""
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

    def clear(self) -> None:
        """Forget all of them."""
        with self._arrived:
            self._by_stamp.clear()
            self._latest, self._paired = None, True

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


def view_of(
    size: tuple[int, int], frame_id: str, match: Match | None, *, rectified: bool, focal: float, keeps_distortion: str = ""
) -> CameraView:
    """What is known about the camera of a picture: from its CameraInfo, else from the given focal length (pixels), else nothing.

    size: width and height. rectified: the picture came without distortion. keeps_distortion: why a distorted picture is left as it is;
    empty to have it rectified.
    """
    problem = NO_CAMERA_INFO
    if match is not None:
        calibration = calibration_from(match.info)
        try:
            model = geometry.camera_model(calibration, *size, rectified=rectified)
        except InputError as error:
            problem = str(error)
        else:
            return _calibrated(size, frame_id, match, calibration, model, keeps_distortion, rectified)
    if focal > 0.0:
        return CameraView(geometry.centred_intrinsics(focal, *size), "parameter focal", problem=problem)
    return CameraView(None, "none", problem=problem)


def _calibrated(
    size: tuple[int, int],
    frame_id: str,
    match: Match,
    calibration: Calibration,
    model: geometry.CameraModel,
    keeps_distortion: str,
    rectified: bool,
) -> CameraView:
    objections = []
    if match.info.header.frame_id != frame_id:
        objections.append(f"its frame {match.info.header.frame_id!r} is not the image's {frame_id!r}, which is used")
    source = _described(match, model, size)
    if rectified or not calibration.distorted:
        return CameraView(model.intrinsics, source, problem="; ".join(objections))
    if not keeps_distortion:
        try:
            lens = lens_of(calibration, *size)
        except InputError as error:
            keeps_distortion = str(error)
        else:
            return CameraView(lens.rectified, f"{source}, {lens.model} removed", removes=lens, problem="; ".join(objections))
    consequence = "depth goes out on depth/image_raw, and the cloud is approximate; feed image_rect"
    objections.insert(0, f"the picture stays distorted ({keeps_distortion}): {consequence}")
    return CameraView(model.intrinsics, source, lens=calibration, problem="; ".join(objections))


def _described(match: Match, model: geometry.CameraModel, size: tuple[int, int]) -> str:
    text = f"{model.matrix} of camera_info, {'stamp of the image' if match.exact else 'last known'}"
    if model.calibrated_size != size:
        text += f", scaled from {model.calibrated_size[0]}x{model.calibrated_size[1]} to {size[0]}x{size[1]}"
    return text
