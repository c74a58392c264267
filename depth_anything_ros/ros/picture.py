"""From an image message to what the pipeline takes: pixels without distortion, and what is known about the camera. Live and in bags.

Imports no ROS but cv_bridge, which is asked for encodings that `images` does not know, where it is installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from depth_anything_ros.compressed import decode
from depth_anything_ros.errors import InputError
from depth_anything_ros.images import view_pixels
from depth_anything_ros.rectification import Lens, Rectifier
from depth_anything_ros.ros import calibration
from depth_anything_ros.ros.calibration import CameraView, Match
from depth_anything_ros.ros.messages import stamp_ns
from depth_anything_ros.types import Frame, UInt8Array

RAW, COMPRESSED = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"


@dataclass(frozen=True)
class Picture:
    """One picture, ready for the pipeline."""

    frame: Frame
    view: CameraView
    header: Any
    """Of the image message, as it came."""


class PictureMaker:
    """Makes the pictures of one camera. One thread at a time.

    image_topic: resolved name of the raw topic, also for compressed pictures. rectify: the parameter.
    """

    def __init__(self, image_topic: str, rectify: str) -> None:
        self._rectified = calibration.rectified_by_name(image_topic, rectify)
        self._keeps_distortion = "" if rectify == "auto" else "rectify is off"
        self._lens: Lens | None = None
        self._rectifier: Rectifier | InputError | None = None

    def picture(self, image: Any, match: Match | None, focal: float) -> Picture:
        """The picture of an Image or CompressedImage message.

        focal: pixels, for the time without a usable camera_info; 0 is not known.
        Raises InputError when the message holds no usable picture.
        """
        pixels, bgr = pixels_of(image)
        view = self._view(pixels, image.header.frame_id, match, focal, self._keeps_distortion)
        rectifier = None if view.removes is None else self._rectifier_of(view.removes)
        if isinstance(rectifier, InputError):
            view, rectifier = self._view(pixels, image.header.frame_id, match, focal, str(rectifier)), None
        frame = Frame(
            pixels=pixels if rectifier is None else rectifier.apply(pixels),
            bgr=bgr,
            intrinsics=view.intrinsics,
            stamp_ns=stamp_ns(image.header.stamp),
            frame_id=image.header.frame_id,
            rectified=rectifier is not None,
            outside=None if rectifier is None else rectifier.outside,
        )
        return Picture(frame, view, image.header)

    def _view(self, pixels: UInt8Array, frame_id: str, match: Match | None, focal: float, keeps_distortion: str) -> CameraView:
        size = pixels.shape[1], pixels.shape[0]
        return calibration.view_of(size, frame_id, match, rectified=self._rectified, focal=focal, keeps_distortion=keeps_distortion)

    def _rectifier_of(self, lens: Lens) -> Rectifier | InputError:
        """Tables are kept until the calibration changes, and so is the finding that there can be none."""
        if lens != self._lens:
            try:
                self._rectifier = Rectifier(lens)
            except InputError as error:
                self._rectifier = error
            self._lens = lens
        assert self._rectifier is not None
        return self._rectifier


def encoding_of(image: Any) -> str:
    """Of an Image; of a CompressedImage that before it was compressed, where image_transport has written it into `format`."""
    return str(image.encoding if hasattr(image, "encoding") else image.format.partition(";")[0].strip())


def pixels_of(image: Any) -> tuple[UInt8Array, bool]:
    """Pixels uint8 [H, W, 3] of an Image or CompressedImage and whether they are BGR; a view of the message where possible.

    Raises InputError.
    """
    if not hasattr(image, "encoding"):
        return decode(bytes(image.data), encoding_of(image)), True
    try:
        return view_pixels(
            image.data,
            width=image.width,
            height=image.height,
            step=image.step,
            encoding=image.encoding,
            big_endian=bool(image.is_bigendian),
        )
    except InputError as error:
        if error.code != "input.encoding":
            raise
        return _by_cv_bridge(image, error), True


def _by_cv_bridge(image: Any, refusal: InputError) -> UInt8Array:
    """BGR by ROS's own converter. Raises the refusal where it is not installed or cannot convert the picture either.

    It raises whatever comes of data that is not as it says, and, with a NumPy that it was not compiled for, ImportError or AttributeError.
    """
    try:
        from cv_bridge import CvBridge, CvBridgeError
    except ImportError:
        raise refusal from None
    try:
        return np.asarray(CvBridge().imgmsg_to_cv2(image, "bgr8"), np.uint8)
    except (CvBridgeError, ValueError, TypeError, KeyError, AttributeError, ImportError) as error:
        raise InputError(refusal.code, f"{refusal} cv_bridge says: {type(error).__name__}, {error}.") from error
