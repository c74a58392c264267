"""The bag of a drive, read back: what it holds, and that its TF, camera_info and depth describe one camera."""

import numpy as np
import pytest
from rosbags.highlevel import AnyReader

from depth_anything_ros.geometry import quaternion_of
from depth_anything_ros.ros.camera_bag import CAMERA_INFO, IMAGE, TF, TRUTH, write_camera_bag
from training import drive
from training.scenes.cameras import pose_from


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drive") / "bag"
    write_camera_bag(folder, drive.shots(drive.SCENE, 3, 96, 72), 10.0)
    found = {}
    with AnyReader([folder]) as reader:
        for connection, _, data in reader.messages():
            found.setdefault(connection.topic, []).append(reader.deserialize(data, connection.msgtype))
    return found


def test_every_picture_has_its_info_depth_and_pose(messages):
    stamps = {
        topic: [(m.transforms[0] if topic == TF else m).header.stamp for m in messages[topic]] for topic in (IMAGE, CAMERA_INFO, TRUTH, TF)
    }
    assert len(stamps[IMAGE]) == 3
    assert all(stamps[topic] == stamps[IMAGE] for topic in stamps)


def rotation(q):
    x, y, z, w = q.x, q.y, q.z, q.w
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_ground_lies_at_height_zero_for_every_pose(messages):
    for info, image, tf in zip(messages[CAMERA_INFO], messages[TRUTH], messages[TF]):
        depth = np.frombuffer(image.data.tobytes(), np.float32).reshape(image.height, image.width)
        v, u = np.mgrid[0 : image.height, 0 : image.width]
        k = info.k.reshape(3, 3)
        rays = np.stack([(u - k[0, 2]) / k[0, 0], (v - k[1, 2]) / k[1, 1], np.ones(depth.shape)], -1)
        transform = tf.transforms[0].transform
        t = transform.translation
        points = (rays * np.where(np.isfinite(depth), depth, 0)[..., None]) @ rotation(transform.rotation).T + [t.x, t.y, t.z]
        lowest = points[..., 2][np.isfinite(depth)]
        assert 1.0 <= t.z <= 1.25
        assert lowest.min() == pytest.approx(0.0, abs=0.03)
        assert np.mean(np.abs(lowest) < 0.03) > 0.1


def test_the_camera_moves_forward(messages):
    places = np.array([[m.transforms[0].transform.translation.x, m.transforms[0].transform.translation.y] for m in messages[TF]])
    assert np.linalg.norm(places[-1] - places[0]) > 1.0


@pytest.mark.parametrize("angles", [(0.0, 0.0, 0.0), (1.0, -0.4, 0.2), (3.0, 0.9, -2.0), (-2.5, -1.2, 3.0)])
def test_quaternion_turns_as_its_matrix(angles):
    matrix = pose_from((0, 0, 0), *angles)[:3, :3]
    x, y, z, w = quaternion_of(matrix)
    assert w >= 0.0
    np.testing.assert_allclose(rotation(type("Q", (), {"x": x, "y": y, "z": z, "w": w})), matrix, atol=1e-9)
