"""One camera of a recording: image message in, output messages out, by the node's own steps."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from depth_anything_ros.colors import StreamColours
from depth_anything_ros.errors import InputError
from depth_anything_ros.pipeline import Finisher, WantedProducts, predict
from depth_anything_ros.replay.cameras import Camera
from depth_anything_ros.replay.following import Following
from depth_anything_ros.ros.bag_messages import BagMessages
from depth_anything_ros.ros.calibration import Match
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.ros.picture import Picture, PictureMaker
from depth_anything_ros.ros.scale_state import scale_status, state_of_frame
from depth_anything_ros.ros.timing import timing_array
from depth_anything_ros.ros.topics import SCALE, TIMING, messages_of, wanted_products
from depth_anything_ros.scale.tracker import ScaleState, ScaleTracker
from depth_anything_ros.types import InfersDepth, Prediction, Products

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
    """Three steps, each on a thread of its own, in the order of the recording: `prepare`, `infer`, `finish` (or `follow`).

    topics: outputs as the node names them, relative. calibrations: CDR of the camera_infos that the recording holds.
    turn: held while a network works.
    """

    def __init__(
        self,
        camera: Camera,
        engine: InfersDepth,
        options: NodeOptions,
        topics: frozenset[str],
        messages: BagMessages,
        calibrations: Sequence[bytes],
        turn: threading.Lock,
    ) -> None:
        self._camera = camera
        self._engine = engine
        self._options = options
        self._topics = topics
        self._wanted = wanted_products(topics)
        self._messages = messages
        self._infos = [messages.read(data, "sensor_msgs/msg/CameraInfo") for data in calibrations]
        self._pictures = PictureMaker(camera.base, options.rectify)
        self._turn = turn
        self._tracker: ScaleTracker | None = None
        self._finisher = Finisher()
        self._told: ScaleState | None = None

    def begin(self, following: Following) -> None:
        """From now on with this state. To be called before the first picture."""
        self._tracker, steadier = following.tracker, following.steadier
        self._finisher = Finisher(
            None if self._tracker is None else self._tracker.scale_of,
            None if steadier is None else steadier.apply,
            StreamColours(follow=1.0),  # a range that follows the pictures would depend on where a worker began
        )

    def begin_segment(self) -> None:
        """The next picture tells the scale anew, for readers of the segment alone."""
        self._told = None

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
        doubts = self._tracker is not None
        with self._turn:
            prediction = predict(picture.frame, self._engine, self._options.processing, self._wanted, doubts=doubts)
        return Inferred(picture, prediction, stamp_ns, number, time.perf_counter() - started)

    def finish(self, inferred: Inferred) -> Iterator[Output]:
        """The messages of a picture."""
        started = time.perf_counter()
        make, picture, options = self._messages.make, inferred.picture, self._options
        products = self._finisher.finish(picture.frame, inferred.prediction, options.processing, self._wanted)
        yield from self._scale(inferred, products)
        for name, build in messages_of(make, products, picture.header, picture.view.lens, options.depth_encoding).items():
            if name in self._topics:
                yield self._output(name, inferred, build())
        if TIMING in self._topics:
            # Nothing waits and nothing is dropped here, so that an age would say nothing.
            seconds = {**products.timings, "total": inferred.seconds + time.perf_counter() - started}
            counts = {"dropped": 0, "processed": inferred.number + 1}
            yield self._output(TIMING, inferred, timing_array(make, picture.header, NODE_NAME, seconds, counts))

    def follow(self, inferred: Inferred) -> None:
        """The state goes on; there is no output."""
        wanted = WantedProducts(confidence=False, sky_mask=False, points=False)
        self._finisher.finish(inferred.picture.frame, inferred.prediction, self._options.processing, wanted)

    def _scale(self, inferred: Inferred, products: Products) -> Iterator[Output]:
        """`depth/scale`, when it tells more than another age."""
        tracker = self._tracker
        state = state_of_frame(products, self._options.processing, watched=tracker is not None) or (tracker and tracker.state())
        if SCALE not in self._topics or state is None:
            return
        header, make = inferred.picture.header, self._messages.make
        if self._told is None or replace(state, age=None) != replace(self._told, age=None):
            self._told = state
            status = scale_status(make, f"{NODE_NAME}: scale", header.frame_id, state)
            yield self._output(SCALE, inferred, make("diagnostic_msgs/msg/DiagnosticArray", header=header, status=[status]))

    def _output(self, name: str, inferred: Inferred, message: Any) -> Output:
        return Output(f"{self._camera.namespace}/{name}", inferred.stamp_ns, self._messages.bytes_of(message))
