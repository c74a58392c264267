"""One camera: its subscriptions, its worker, its outputs, its health.

Everything of rclpy is made and destroyed on the executor's thread. The worker's thread takes the newest picture when the engine is free,
finds its calibration, computes what is listened to, and publishes it.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable
from typing import Any, Protocol

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image

from depth_anything_ros.errors import DepthAnythingError, InputError
from depth_anything_ros.pipeline import InfersDepth, process
from depth_anything_ros.ros import calibration, diagnostics, qos
from depth_anything_ros.ros.live_messages import make_live
from depth_anything_ros.ros.messages import stamp_ns
from depth_anything_ros.ros.outputs import Outputs
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.ros.picture import PictureMaker
from depth_anything_ros.ros.scale_tracking import ScaleTracking
from depth_anything_ros.ros.throttle import LogThrottle
from depth_anything_ros.ros.timing import timing_array
from depth_anything_ros.ros.topics import TIMING, wanted_products
from depth_anything_ros.worker import LatestFrameWorker


class NodeEngine(InfersDepth, Protocol):
    """What the node needs of an engine beyond the pipeline."""

    def warm_up(self, width: int, height: int) -> None: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...


class CameraStream:
    """From construction to `destroy`: publishers. From `start` to `stop`: the worker and, while somebody listens, the subscriptions."""

    def __init__(self, node: Node, engine: NodeEngine, options: Callable[[], NodeOptions], scale: ScaleTracking) -> None:
        """options: gives the options of the moment; called once per frame, on the worker's thread. scale: of this camera."""
        self._node = node
        self._engine = engine
        self._options = options
        self._scale = scale
        self._outputs = Outputs(node, engine.info)
        self._image_topic = node.resolve_topic_name("image")
        self._pictures = PictureMaker(self._image_topic, options().rectify)
        self._infos = calibration.CameraInfos()
        self._health = diagnostics.Health()
        self._faults = LogThrottle()
        self._remarks = LogThrottle(period=math.inf)
        self._worker = LatestFrameWorker(self._work, self._failed, engine.cancel)
        self._subscriptions: list[Any] = []

    # executor's thread

    def start(self) -> None:
        self._health = diagnostics.Health()
        self._worker = LatestFrameWorker(self._work, self._failed, self._engine.cancel)
        self._worker.start()

    def stop(self) -> bool:
        """End the frame at work and the thread; False if the frame does not end."""
        self._unsubscribe()
        return self._worker.stop()

    def destroy(self) -> None:
        self._scale.destroy()
        self._outputs.destroy()

    def reset(self) -> None:
        """Forget what earlier frames told about the scale and the depth."""
        self._scale.reset()

    def background_failed(self, text: str) -> None:
        self._scale.background_failed(text)

    @property
    def alive(self) -> bool:
        return self._worker.alive

    def follow_listeners(self) -> None:
        """Subscribe the camera while an output has a subscriber; to be called a few times a second."""
        listened = bool(self._outputs.listened())
        if listened and not self._subscriptions:
            self._subscribe()
        elif not listened and self._subscriptions:
            self._unsubscribe()
        self._scale.follow(self._options(), listened)
        message = self._scale.news(self._node.get_name())
        if message is not None:
            self._outputs.publish_scale(message)

    def statuses(self, node_name: str) -> list[DiagnosticStatus]:
        health = self._health.status(node_name, self._engine.info.device, self._worker.dropped, bool(self._subscriptions))
        return [health, *self._scale.statuses(node_name)]

    def _subscribe(self) -> None:
        create, info_topic, take_info = self._node.create_subscription, self._info_topic(), self._infos.add
        # The executor serves them in this order: a calibration that comes together with its picture is there first.
        self._subscriptions = [
            create(CameraInfo, info_topic, take_info, qos.info_input()),
            create(CameraInfo, info_topic, take_info, qos.latched_info_input(), event_callbacks=qos.silent_about_mismatch()),
            create(Image, "image", self._take, qos.image_input(), qos_overriding_options=qos.overrides()),
        ]

    def _unsubscribe(self) -> None:
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions = []

    def _info_topic(self) -> str:
        """`camera_info` where it is remapped, else the sibling of the resolved image topic."""
        resolve = self._node.resolve_topic_name
        if resolve("camera_info") != resolve("camera_info", only_expand=True):
            return "camera_info"
        return calibration.sibling(self._image_topic)

    def _take(self, image: Image) -> None:
        self._health.count_received()
        self._worker.offer(image)

    # worker's thread

    def _work(self, image: Image) -> None:
        started = time.perf_counter()
        options, topics = self._options(), self._outputs.listened()
        if not topics:
            return
        view = self._view_of(image, options)
        picture = self._pictures.picture(image, view)
        products = process(
            picture.frame,
            self._engine,
            options.processing,
            wanted_products(topics),
            scale_of=self._scale.scale_of,
            steady=self._scale.steady,
        )
        self._scale.note(products)
        self._outputs.publish(topics, products, picture.header, view.lens, options.depth_encoding)
        age = (self._node.get_clock().now().nanoseconds - stamp_ns(image.header.stamp)) * 1e-9
        self._health.count_processed(products.timings["infer"], age)
        if TIMING in topics:
            total, name = time.perf_counter() - started, self._node.get_name()
            counts = {"dropped": self._worker.dropped, "processed": self._health.processed}
            self._outputs.publish_timing(timing_array(make_live, image.header, name, products, total, age, counts))

    def _view_of(self, image: Image, options: NodeOptions) -> calibration.CameraView:
        match = self._infos.match(stamp_ns(image.header.stamp))
        view = self._pictures.view(image, match, options.focal)
        self._health.note_calibration(view.source, view.problem)
        if self._remarks.passes(f"{view.source}: {view.problem}"):
            if view.problem:
                self._node.get_logger().warning(f"Calibration from {view.source}: {view.problem}.")
            else:
                self._node.get_logger().info(f"Calibration from {view.source}.")
        return view

    def _failed(self, error: Exception) -> None:
        rejected, known = isinstance(error, InputError), isinstance(error, DepthAnythingError)
        text = str(error) if known else f"unexpected {type(error).__name__}: {error}"
        self._health.count_trouble(text, rejected=rejected)
        if not self._faults.passes(text):
            return
        if rejected:
            self._node.get_logger().warning(f"Picture refused: {text}")
        else:
            trace = "" if known else "\n" + "".join(traceback.format_exception(type(error), error, error.__traceback__))
            self._node.get_logger().error(f"Frame lost: {text}{trace}")
