"""From an image message to what the pipeline takes: pixels, and what is known about the camera. Live and in bags; imports no ROS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from depth_anything_ros.ros import calibration
from depth_anything_ros.ros.calibration import CameraView, Match
from depth_anything_ros.ros.messages import frame_from
from depth_anything_ros.types import Frame


@dataclass(frozen=True)
class Picture:
    """One picture, ready for the pipeline."""

    frame: Frame
    view: CameraView
    header: Any
    """Of the image message, as it came."""


class PictureMaker:
    """Makes the pictures of one camera. One thread at a time.

    image_topic: resolved name. rectify: the parameter.
    """

    def __init__(self, image_topic: str, rectify: str) -> None:
        self._rectified = calibration.rectified_by_name(image_topic, rectify)

    def view(self, image: Any, match: Match | None, focal: float) -> CameraView:
        """What is known about the camera. focal: pixels, for the time without a usable camera_info; 0 is not known."""
        return calibration.view_of(image, match, rectified=self._rectified, focal=focal)

    def picture(self, image: Any, view: CameraView) -> Picture:
        """Raises InputError when the message holds no usable picture."""
        return Picture(frame_from(image, view.intrinsics), view, image.header)
