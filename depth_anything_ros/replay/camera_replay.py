"""One camera of a recording: image message in, output messages out, by the node's own steps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from depth_anything_ros.errors import InputError
from depth_anything_ros.pipeline import InfersDepth, process
from depth_anything_ros.replay.cameras import Camera
from depth_anything_ros.ros.bag_messages import BagMessages
from depth_anything_ros.ros.bag_reader import BagMessage
from depth_anything_ros.ros.calibration import Match
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.ros.picture import Picture, PictureMaker
from depth_anything_ros.ros.timing import timing_array
from depth_anything_ros.ros.topics import TIMING, messages_of, wanted_products

NODE_NAME = "depth_anything"


@dataclass(frozen=True)
class Output:
    """A message to write."""

    topic: str
    stamp_ns: int
    """Time of recording: that of the image message."""
    make: Callable[[], memoryview]
    """Gives the CDR bytes."""


class CameraReplay:
    """`prepare` may run on a thread of its own, ahead of `outputs`.

    topics: outputs as the node names them, relative. calibrations: CDR of the camera_infos that the recording holds.
    """

    def __init__(
        self,
        camera: Camera,
        engine: InfersDepth,
        options: NodeOptions,
        topics: frozenset[str],
        messages: BagMessages,
        calibrations: Sequence[bytes],
    ) -> None:
        self._camera = camera
        self._engine = engine
        self._options = options
        self._topics = topics
        self._messages = messages
        self._infos = [messages.read(data, "sensor_msgs/msg/CameraInfo") for data in calibrations]
        self._pictures = PictureMaker(camera.base, options.rectify)

    def prepare(self, data: bytes, calibration: int, exact: bool) -> Picture | InputError:
        """The picture of a message, or why it cannot be used. calibration: number of its camera_info, -1 for none."""
        try:
            image = self._messages.read(data, self._camera.type)
            match = Match(self._infos[calibration], exact) if calibration >= 0 else None
            return self._pictures.picture(image, self._pictures.view(image, match, self._options.focal))
        except InputError as error:
            return error

    def outputs(self, picture: Picture, message: BagMessage, number: int) -> tuple[list[Output], float]:
        """Depth of a picture, and the seconds that the engine took. number: of processed pictures of the camera before it.

        Raises what `infer` raises.
        """
        started = time.perf_counter()
        options = self._options
        products = process(picture.frame, self._engine, options.processing, wanted_products(self._topics))
        builders = messages_of(self._messages.make, products, picture.header, picture.view.lens, options.depth_encoding)
        if TIMING in self._topics:
            # Nothing waits and nothing is dropped here, so that an age would say nothing.
            counts = {"dropped": 0, "processed": number + 1}
            total = time.perf_counter() - started
            builders[TIMING] = lambda: timing_array(self._messages.make, picture.header, NODE_NAME, products, total, math.nan, counts)
        outputs = [self._output(name, message.stamp_ns, build) for name, build in builders.items() if name in self._topics]
        return outputs, products.timings["infer"]

    def _output(self, name: str, stamp_ns: int, build: Callable[[], Any]) -> Output:
        return Output(f"{self._camera.namespace}/{name}", stamp_ns, lambda: self._messages.bytes_of(build()))
