"""The model in the package, in the node: metres and flat ground in what is published, and a warning that it is for demos."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from nano_scenes import ground_of, held_out_rows, true_depth
from rig import NodeProcess, Rig, cloud_of, image_message, info_message, values_of
from sensor_msgs.msg import CameraInfo

pytestmark = pytest.mark.native
Start = Callable[..., NodeProcess]
SCENES, REACH = 12, 5.0


def off_plane(points: np.ndarray) -> float:
    """RMS distance of points [N, 3] from their best plane."""
    spread = np.linalg.eigvalsh(np.cov(points.T.astype(np.float64), bias=True))
    return float(np.sqrt(max(spread[0], 0.0)))


@pytest.mark.parametrize("models", [{"model": "nano"}, {"model": "nano-any-view", "metric_model": "nano-metric"}], ids=["metric", "pair"])
def test_metres_and_flat_ground(rig: Rig, start: Start, models: dict[str, str]) -> None:
    arguments = [part for name, value in models.items() for part in ("-p", f"{name}:={value}")]
    node = start("--ros-args", *arguments, "-p", "points.stride:=1", native=True)
    rig.until(lambda: "for demos and tests, not for robots" in node.log and "models fetch" in node.log, 5.0)
    rig.listen("depth/image_rect", "points", "/diagnostics")
    camera, infos = rig.camera("image"), rig.camera("camera_info", CameraInfo)
    rig.wait_for_node(camera, infos)
    errors, roughness = [], []
    for stamp, row in enumerate(held_out_rows(SCENES)):
        true = true_depth(row)
        height, width = true.shape
        centre = {"cx": (width - 1) / 2, "cy": (height - 1) / 2}

        def send(
            stamp: int = stamp, row: np.ndarray = row, centre: dict[str, float] = centre, size: tuple[int, int] = (width, height)
        ) -> None:
            infos.publish(info_message(size, stamp, fx=float(row["focal"]), fy=float(row["focal"]), **centre))
            camera.publish(image_message(np.ascontiguousarray(row["rgb"][0]), stamp))

        depth, cloud = rig.next(send, "depth/image_rect", "points")
        values, points = values_of(depth), cloud_of(cloud)
        known = np.isfinite(true) & np.isfinite(values)
        assert known.sum() > 0.9 * np.isfinite(true).sum()
        errors.append(np.mean(np.abs(values[known] - true[known]) / true[known]))
        ground = ground_of(row, REACH) & np.isfinite(points["z"])
        if ground.sum() > 0.05 * ground.size:
            xyz = np.stack([points[name][ground] for name in ("x", "y", "z")], axis=-1)
            roughness.append(off_plane(xyz) / row["pose"][0][2, 3])
    assert np.mean(errors) <= 0.15
    assert len(roughness) >= SCENES // 2 and np.median(roughness) <= 0.05

    def levels() -> dict[str, bytes]:
        return {status.name.partition(": ")[2]: status.level for message in rig.received["/diagnostics"] for status in message.status}

    rig.until(lambda: "engine" in levels(), 10.0)
    assert levels()["engine"] == DiagnosticStatus.WARN
