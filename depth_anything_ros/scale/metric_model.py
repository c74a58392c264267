"""Scale from a metric network on keyframes, by the formula of the official nested model (da3.py, utils/alignment.py)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from depth_anything_ros import depth as depths
from depth_anything_ros.scale.camera import estimated, of_picture
from depth_anything_ros.scale.estimate import Deliver, Estimate, Refusal
from depth_anything_ros.types import DepthKind, Float32Array, Frame, InfersDepth, Prediction, Scale, Wanted

SKY_THRESHOLD = 0.3
_ENOUGH_PIXELS = 10
_NEAREST_METRIC, _NEAREST = 1e-2, 1e-3
"""What is nearer, in metres and in units, has no say."""

RunInBackground = Callable[[Callable[[], None]], bool]
"""Takes a job and runs it some time later, or at once; False if another one is still at work."""


def nested_scale(
    relative: Float32Array, confidence: Float32Array, metric: Float32Array, sky: Float32Array | None
) -> tuple[float, float] | None:
    """Metres per unit of `relative` and the spread of the single ratios, or None where too little ground is seen.

    All float32 [h, w]. confidence: raw, of the any-view network. metric: metres. sky: raw, of the metric network; None is no sky.
    """
    ground = np.ones(metric.shape, bool) if sky is None else sky < SKY_THRESHOLD
    if np.count_nonzero(ground) <= _ENOUGH_PIXELS:
        return None
    use = ground & (confidence >= np.median(confidence[ground])) & (metric > _NEAREST_METRIC) & (relative > _NEAREST)
    metres, units = metric[use].astype(np.float64), relative[use].astype(np.float64)
    if metres.size <= _ENOUGH_PIXELS:
        return None
    factor = float(np.sum(metres * units) / max(float(np.sum(units * units)), 1e-12))
    return factor, 1.4826 * float(np.median(np.abs(np.log(metres / (factor * units)))))


class MetricModelSource:
    """Every n-th frame is a keyframe: its depth is compared with that of a metric network, which looks at it in the background."""

    least = 1
    kinds = frozenset({DepthKind.RELATIVE_DEPTH})

    def __init__(self, net: Callable[[], InfersDepth], every: int, run: RunInBackground, focal: str = "camera") -> None:
        """net: gives the loaded network, in the background. every: frames from one keyframe to the next.

        focal: whose focal length makes the metres, see `ScaleOptions`; where that one is not known, the other serves.
        """
        self._net = net
        self._focal = focal
        self._every = every
        self._run = run
        self._wait = 0
        """Frames until the next keyframe."""

    def observe(self, frame: Frame, prediction: Prediction, deliver: Deliver) -> None:
        if self._wait <= 0 and self._run(lambda: deliver(self._compare(frame, prediction))):
            self._wait = self._every
        self._wait -= 1

    def reset(self) -> None:
        self._wait = 0

    def memory(self) -> object:
        return self._wait

    def recall(self, memory: object) -> None:
        assert isinstance(memory, int)
        self._wait = memory

    def _compare(self, frame: Frame, prediction: Prediction) -> Estimate | Refusal:
        if prediction.confidence is None:
            return Refusal("the model has no confidence, which the nested formula needs")
        camera = of_picture(frame, prediction)
        if self._focal == "model":
            camera = estimated(frame, prediction) or camera
        metric = self._net().infer(frame.pixels, bgr=frame.bgr, intrinsics=camera, wanted=Wanted(False, True, False))
        if metric.kind is not DepthKind.METRIC:
            return Refusal("the metric model needs a focal length, and neither the camera nor the fast model gives one")
        width, height = prediction.width, prediction.height
        metres, sky = depths.resize(metric.depth, width, height), None if metric.sky is None else depths.resize(metric.sky, width, height)
        found = nested_scale(prediction.depth, prediction.confidence, metres, sky)
        if found is None:
            return Refusal("the metric model sees nothing but sky")
        return Estimate(frame.stamp_ns, Scale(found[0]), found[1])
