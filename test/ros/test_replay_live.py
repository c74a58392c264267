"""The live node and the replay give the same bits for the same pictures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from bag_tools import START_NS, verb
from replay_tools import IMAGE, INFO, image, info, read, stamps, write
from toy_model import any_view_model, metric_model

pytestmark = pytest.mark.native
COUNT, SIZE = 12, (120, 90)
NODE = "import sys; from depth_anything_ros.ros.node import main; sys.exit(main())"
PARAMETERS = {
    "metric": {"resolution": 84, "depth.min": 0.1, "sky.policy": "nan"},
    "any_view": {"resolution": 84, "scale.source": "constant", "scale.value": 2.5, "depth.encoding": "16UC1"},
    "distorted": {"resolution": 84, "depth.upsample": "guided"},
}
MODELS = {"metric": metric_model, "any_view": any_view_model, "distorted": metric_model}
IMAGES = {"metric": IMAGE, "any_view": IMAGE, "distorted": "/cam/image_raw"}
LENSES = {"metric": (0.0,) * 5, "any_view": (0.0,) * 5, "distorted": (-0.2, 0.03, 0.001, -0.002, 0.0)}
EXTRA = {"metric": "/cam/depth/sky_mask", "any_view": "/cam/depth/confidence", "distorted": "/cam/rgb/image_rect_color"}


def messages(kind: str) -> list[tuple[str, int, bytes]]:
    found = []
    for index in range(COUNT):
        time_ns = START_NS + index * 400_000_000
        found.append((INFO, time_ns, info(index, 80.0 + index, SIZE, LENSES[kind])))
        found.append((IMAGES[kind], time_ns + 1000, image(index, size=SIZE)))
    return found


def played_live(tmp_path: Path, recording: Path, parameters: Path, image_topic: str, topics: list[str]) -> Path:
    """The bag recorded from a real node that listened to the played recording."""
    domain = int(os.environ["ROS_DOMAIN_ID"])
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    remaps = ["-r", "__ns:=/cam", "-r", f"image:={image_topic}", "--params-file", str(parameters)]
    with (tmp_path / "node.log").open("w") as log:
        node = subprocess.Popen([sys.executable, "-c", NODE, "--ros-args", *remaps], env=environment, stdout=log, stderr=log)
    recorder = verb("record", "-o", tmp_path / "live", "--until-idle", 4, *topics, domain=domain)
    processes = [node, recorder]
    try:
        end = time.monotonic() + 40
        while "ready in" not in (tmp_path / "node.log").read_text():
            assert node.poll() is None and time.monotonic() < end, (tmp_path / "node.log").read_text()
            time.sleep(0.05)
        processes.append(verb("play", recording, "--wait-for", image_topic, INFO, "--wait", 20, domain=domain))
        assert [process.wait(60) for process in reversed(processes[1:])] == [0, 0], "player and recorder"
        return tmp_path / "live"
    finally:
        node.send_signal(signal.SIGINT)
        for process in processes:
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


@pytest.mark.parametrize("kind", MODELS)
def test_the_same_bits_as_live(tmp_path: Path, kind: str) -> None:
    kinds = {INFO: "sensor_msgs/msg/CameraInfo", IMAGES[kind]: "sensor_msgs/msg/Image"}
    recording = write(tmp_path / "in", messages(kind), kinds=kinds)
    model = MODELS[kind](tmp_path)
    parameters = tmp_path / "parameters.yaml"
    parameters.write_text(json.dumps({"/**": {"ros__parameters": {"model": str(model), **PARAMETERS[kind]}}}))
    topics = ["/cam/depth/image_rect", "/cam/depth/camera_info", "/cam/points", EXTRA[kind]]
    live = read(played_live(tmp_path, recording, parameters, IMAGES[kind], topics))
    replaying = verb("replay", recording, "-o", tmp_path / "out", "--params-file", parameters, "--outputs", "all", "--namespace", "/cam")
    _, err = replaying.communicate(timeout=60)
    assert replaying.returncode == 0, err
    offline = read(tmp_path / "out")
    for topic in topics:
        ours = dict(zip(stamps(offline[topic]), (data for _, data in offline[topic])))
        theirs = dict(zip(stamps(live[topic]), (data for _, data in live[topic])))
        assert len(ours) == COUNT and len(theirs) >= COUNT // 2, f"{topic}: {len(ours)} offline, {len(theirs)} live"
        # CDR is padded with zeros to a multiple of four by the middleware.
        assert {stamp: data.ljust(len(theirs[stamp]), b"\0") for stamp, data in ours.items() if stamp in theirs} == theirs
    depth = np.frombuffer(live["/cam/depth/image_rect"][0][1], np.uint8)
    assert len(np.unique(depth)) > 100
