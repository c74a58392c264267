"""Metres by every source on drives through held-out scenes, with the nano nets: accuracy and cost beside the nested pair on every frame.

    python -m training.scale_drive --any-view nano-any-view.gguf --metric nano-metric.gguf

Keyframes come back two frames late, as in a running node. The errors of `camera_height` and `odometry` are those of the scale, against the
best one for each frame, after the first five metres. The tables are Markdown. `--cost-only` times any pair of models on noise.
"""

import argparse
import math
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from depth_anything_ros import Engine, Frame
from depth_anything_ros.ros.camera_bag import Shot
from depth_anything_ros.scale.ground_plane import CameraHeight, CameraHeightSource
from depth_anything_ros.scale.metric_model import MetricModelSource
from depth_anything_ros.scale.odometry import OdometrySource
from depth_anything_ros.scale.options import FOCAL_LENGTHS, ScaleOptions
from depth_anything_ros.scale.steady import DepthSteadier, TemporalOptions
from depth_anything_ros.scale.tracker import ScaleTracker
from depth_anything_ros.types import Intrinsics, Wanted

from .dataset import SPLITS
from .drive import poses
from .scenes import cameras, layouts, render, sensor
from .score import abs_rel, best_scale

RATE = 10.0  # pictures per second
STEP = 0.08  # metres per picture
WARM_UP = 5.0  # metres
LATE = 2  # frames from a keyframe to its result
EVERY = 10


class LateRunner:
    """Runs one job at a time, `LATE` frames after it was given; `step` counts frames."""

    def __init__(self):
        self.waiting = deque()

    def __call__(self, job):
        if self.waiting:
            return False
        self.waiting.append([LATE, job])
        return True

    def step(self):
        for entry in self.waiting:
            entry[0] -= 1
        while self.waiting and self.waiting[0][0] <= 0:
            self.waiting.popleft()[1]()


def drive(seed, longest, size):
    """Shots of one way, about `STEP` metres apart, and the height of its camera; None where the scene has no way of 8 metres."""
    world = layouts.build(seed, held_out=True)
    height = math.sqrt(world.heights[0] * world.heights[1])
    ends = list(poses(layouts.build(seed, held_out=True), 2, height, longest / 0.6))
    frames = int(np.linalg.norm(ends[1][:3, 3] - ends[0][:3, 3]) / STEP)
    if frames * STEP < 8.0:
        return None
    width, rows = size
    focal = cameras.focal_from(width, math.radians(75.0))
    camera = Intrinsics(width, rows, focal, focal, (width - 1) / 2, (rows - 1) / 2)
    found = []
    for pose in poses(layouts.build(seed, held_out=True), frames, height, longest / 0.6):
        picture = render.render(world, cameras.Camera(width, rows, focal, pose))
        rgb = sensor.develop(picture.rgb, np.random.default_rng(seed))
        found.append(Shot(rgb, camera, np.where(picture.sky, np.inf, picture.depth).astype(np.float32), pose))
    return found, height


def watch(tracker, runner, shots, predictions):
    """Scale of every frame (NaN while it is not known), with depth from `predictions`."""
    scales = []
    for number, (shot, prediction) in enumerate(zip(shots, predictions)):
        runner.step()
        frame = Frame(shot.rgb, False, shot.intrinsics, round(number / RATE * 1e9), "camera_optical_frame")
        scale = tracker.scale_of(frame, prediction)
        scales.append(math.nan if scale is None else scale.factor)
    return np.array(scales)


def trackers(fast, slow, shots, height, options):
    """Name -> (tracker, runner) of every source."""
    runners = {name: LateRunner() for name in (*FOCAL_LENGTHS, "camera_height", "odometry")}
    by_stamp = {round(number / RATE * 1e9): shot for number, shot in enumerate(shots)}

    def ground(frame):
        return CameraHeight(height, -by_stamp[frame.stamp_ns].pose[2, :3], math.radians(12.0))

    sources = {
        **{focal: MetricModelSource(lambda: slow, EVERY, runners[focal], focal) for focal in FOCAL_LENGTHS},
        "camera_height": CameraHeightSource(ground),
        "odometry": OdometrySource(
            lambda: fast,
            lambda frame: by_stamp[frame.stamp_ns].pose,
            runners["odometry"],
            views=options.odometry_views,
            baseline=options.odometry_baseline,
        ),
    }
    return {name: (ScaleTracker(name, source, options), runners[name]) for name, source in sources.items()}


def truth(shot, size):
    return cv2.resize(shot.depth, size, interpolation=cv2.INTER_NEAREST)


@dataclass(frozen=True)
class Report:
    """One drive. AbsRel is by whose focal length makes the metres (`FOCAL_LENGTHS`), the rest by source."""

    nested: dict
    """AbsRel of the pair on every frame."""
    keyframes: dict
    """AbsRel of metric_model."""
    off: dict
    """Median error of the scale after the first metres; NaN where it never is known."""
    share: dict
    """Of the frames in which it is known."""


def one_drive(fast, slow, pair, shots, height, options):
    predictions = [fast.infer(shot.rgb, fill_sky=False) for shot in shots]
    size = (predictions[0].width, predictions[0].height)
    true = np.stack([truth(shot, size) for shot in shots])
    relative = np.stack([one.depth for one in predictions])
    nested = {
        focal: np.stack(
            [pair.infer(one.rgb, intrinsics=one.intrinsics if focal == "camera" else None, fill_sky=False).depth for one in shots]
        )
        for focal in FOCAL_LENGTHS
    }
    best = best_scale(relative, true)[:, 0, 0]
    scales = {
        name: watch(tracker, runner, shots, predictions) for name, (tracker, runner) in trackers(fast, slow, shots, height, options).items()
    }
    known = np.isfinite(scales[FOCAL_LENGTHS[0]])
    late = np.arange(len(shots)) * STEP >= WARM_UP
    errors = {name: np.abs(np.log(scales[name][late] / best[late])) for name in ("camera_height", "odometry")}
    return Report(
        {focal: abs_rel(nested[focal][known], true[known]) for focal in FOCAL_LENGTHS},
        {focal: abs_rel(relative[known] * scales[focal][known, None, None], true[known]) for focal in FOCAL_LENGTHS},
        {name: float(np.nanmedian(one)) if np.isfinite(one).any() else math.nan for name, one in errors.items()},
        {name: np.isfinite(one).sum() / max(one.size, 1) for name, one in errors.items()},
    )


def cost(fast, slow, shots, rounds=5):
    """Milliseconds per frame of the fast net alone and with keyframes of one in ten, interleaved; medians over the rounds."""
    alone, both = [], []
    frames = [Frame(shot.rgb, False, shot.intrinsics, number, "") for number, shot in enumerate(shots[:EVERY])]
    wanted = Wanted(confidence=True, sky=True, pose=True)
    for _ in range(rounds + 1):
        began = time.process_time()
        for frame in frames:
            fast.infer(frame.pixels, wanted=wanted, fill_sky=False)
        between = time.process_time()
        source = MetricModelSource(lambda: slow, EVERY, lambda job: job() or True)
        for frame in frames:
            source.observe(frame, fast.infer(frame.pixels, wanted=wanted, fill_sky=False), lambda reading: None)
        alone.append((between - began) / EVERY)
        both.append((time.process_time() - between) / EVERY)
    return np.median(alone[1:]) * 1e3, np.median(both[1:]) * 1e3


def flicker(fast, shot, frames=120):
    """Median over the pixels of depth's relative deviation in time while the camera stands (noise of 3 levels): as it is, and steadied."""
    random = np.random.default_rng(0)
    steadier = DepthSteadier(TemporalOptions(depth=True))
    raw, steady = [], []
    for number in range(frames):
        rgb = (shot.rgb + random.normal(0.0, 3.0, shot.rgb.shape)).clip(0, 255).astype(np.uint8)
        frame = Frame(rgb, False, shot.intrinsics, round(number / RATE * 1e9), "")
        raw.append(fast.infer(rgb, fill_sky=False).depth)
        steady.append(steadier.apply(frame, raw[-1], False))
    return [float(np.median(np.std(maps, axis=0) / np.mean(maps, axis=0))) for maps in (raw[frames // 2 :], steady[frames // 2 :])]


def measured(any_view, metric, drives, size):
    """(seed of the scene, shots, `Report`) of so many drives."""
    seed = SPLITS["test"][0] + 600_000  # used by nothing else
    with (
        Engine.load(any_view, threads=1) as fast,
        Engine.load(metric, threads=1) as slow,
        Engine.load(any_view, threads=1, metric_model=metric) as pair,
    ):
        while drives:
            seed += 1
            if (found := drive(seed, 12.0, size)) is not None:
                shots, height = found
                yield seed, shots, one_drive(fast, slow, pair, shots, height, ScaleOptions())
                drives -= 1


def accuracy(any_view, metric, drives, size):
    print("| scene | metres driven | AbsRel nested / metric_model, focal of the camera | of the model | camera_height off | odometry off |")
    print("|---|---|---|---|---|---|")
    reports = []
    for seed, shots, report in measured(any_view, metric, drives, size):
        reports.append(report)
        ratios = [
            f"{report.nested[f]:.3f} / {report.keyframes[f]:.3f} (x {report.keyframes[f] / report.nested[f]:.2f})" for f in FOCAL_LENGTHS
        ]
        off = [f"{report.off[name]:.3f} (known {report.share[name]:.0%})" for name in report.off]
        print("| " + " | ".join([str(seed), f"{len(shots) * STEP:.1f}", *ratios, *off]) + " |", flush=True)
    means = [[np.mean([getattr(one, part)[f] for one in reports]) for part in ("nested", "keyframes")] for f in FOCAL_LENGTHS]
    ratios = [f"{nested:.3f} / {keyframes:.3f} (x {keyframes / nested:.2f})" for nested, keyframes in means]
    off = [f"median {np.nanmedian([one.off[name] for one in reports]):.3f}" for name in reports[0].off]
    print("| " + " | ".join(["all", "", *ratios, *off]) + " |")
    with Engine.load(any_view, threads=1) as fast:
        raw, steady = flicker(fast, shots[0])
    print(f"\nFlicker of a standing camera: {raw:.4f} as it is, {steady:.4f} with temporal.depth (/ {raw / steady:.1f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--any-view", type=Path, required=True)
    parser.add_argument("--metric", type=Path, required=True)
    parser.add_argument("--drives", type=int, default=6)
    parser.add_argument("--size", type=int, nargs=2, default=(320, 240), metavar=("WIDTH", "HEIGHT"))
    parser.add_argument("--cost-only", action="store_true")
    options = parser.parse_args()
    if not options.cost_only:
        accuracy(options.any_view, options.metric, options.drives, options.size)
    width, height = options.size
    noise = np.random.default_rng(0).integers(0, 256, (EVERY, height, width, 3), np.uint8)
    camera = Intrinsics(width, height, 0.65 * width, 0.65 * width, (width - 1) / 2, (height - 1) / 2)
    with Engine.load(options.any_view, threads=1) as fast, Engine.load(options.metric, threads=1) as slow:
        alone, both = cost(fast, slow, [Shot(one, camera) for one in noise])
    print(f"\nCPU milliseconds per frame: {alone:.1f} alone, {both:.1f} with keyframes of 1 in {EVERY} (x {both / alone:.2f})")


if __name__ == "__main__":
    main()
