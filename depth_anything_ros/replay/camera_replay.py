"""One camera of a recording: image message in, output messages out, by the node's own steps."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from depth_anything_ros.colors import StreamColours
from depth_anything_ros.errors import InputError
from depth_anything_ros.pipeline import Finisher, predict
from depth_anything_ros.replay.cameras import Camera
from depth_anything_ros.ros.bag_messages import BagMessages
from depth_anything_ros.ros.calibration import Match
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.ros.picture import Picture, PictureMaker
from depth_anything_ros.ros.timing import timing_array
from depth_anything_ros.ros.topics import TIMING, messages_of, wanted_products
from depth_anything_ros.types import InfersDepth, Prediction

NODE_NAME = "depth_anything"


class Output(NamedTuple):
    """A message to write."""

    topic: str
    stamp_ns: int
    """Time of recording: that of the image message."""
    data: bytes | memoryview
    """CDR with its header."""


@dataclass(frozen=True)
class Inferred:
    """A picture and what the network says about it."""

    picture: Picture
    prediction: Prediction
    stamp_ns: int
    number: int
    seconds: float
    """That the engine took."""


class CameraReplay:
    """Three steps, each on a thread of its own, in the order of the recording: `prepare`, `infer`, `finish`.

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
        self._wanted = wanted_products(topics)
        self._messages = messages
        self._infos = [messages.read(data, "sensor_msgs/msg/CameraInfo") for data in calibrations]
        self._pictures = PictureMaker(camera.base, options.rectify)
        # A range that follows the pictures would depend on where a worker began.
        self._finisher = Finisher(colours=StreamColours(follow=1.0))

    def prepare(self, data: bytes, calibration: int, exact: bool) -> Picture | InputError:
        """The picture of a message, or why it cannot be used. calibration: number of its camera_info, -1 for none."""
        try:
            image = self._messages.read(data, self._camera.type)
            match = Match(self._infos[calibration], exact) if calibration >= 0 else None
            return self._pictures.picture(image, match, self._options.focal)
        except InputError as error:
            return error

    def infer(self, picture: Picture, stamp_ns: int, number: int) -> Inferred:
        """number: of processed pictures of the camera before this one. Raises what the engine raises."""
        started = time.perf_counter()
        prediction = predict(picture.frame, self._engine, self._options.processing, self._wanted)
        return Inferred(picture, prediction, stamp_ns, number, time.perf_counter() - started)

    def finish(self, inferred: Inferred) -> Iterator[Output]:
        """The messages of a picture."""
        started = time.perf_counter()
        make, picture, options = self._messages.make, inferred.picture, self._options
        products = self._finisher.finish(picture.frame, inferred.prediction, options.processing, self._wanted)
        for name, build in messages_of(make, products, picture.header, picture.view.lens, options.depth_encoding).items():
            if name in self._topics:
                yield self._output(name, inferred, build())
        if TIMING in self._topics:
            # Nothing waits and nothing is dropped here, so that an age would say nothing.
            seconds = {**products.timings, "total": inferred.seconds + time.perf_counter() - started}
            counts = {"dropped": 0, "processed": inferred.number + 1}
            yield self._output(TIMING, inferred, timing_array(make, picture.header, NODE_NAME, seconds, counts))

    def _output(self, name: str, inferred: Inferred, message: Any) -> Output:
        return Output(f"{self._camera.namespace}/{name}", inferred.stamp_ns, self._messages.bytes_of(message))
