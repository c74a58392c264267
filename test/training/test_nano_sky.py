"""The sky of held-out scenes in mask and cloud, with the model in the package."""

import numpy as np
import pytest
from nano_scenes import held_out_rows, true_depth

from depth_anything_ros import Engine, Frame
from depth_anything_ros.geometry import centred_intrinsics
from depth_anything_ros.pipeline import WantedProducts, process

pytestmark = pytest.mark.native


@pytest.mark.case(33)
def test_sky_is_marked_and_leaves_the_cloud_while_rooms_have_none():
    in_rooms, found, hanging, wanted = [], [], [], WantedProducts(depth=False, confidence=False)
    with Engine.load("nano") as engine:
        for row in held_out_rows(48):
            pixels, sky = np.ascontiguousarray(row["rgb"][0]), np.isinf(true_depth(row))
            height, width = sky.shape
            frame = Frame(pixels, False, centred_intrinsics(float(row["focal"]), width, height), 0, "camera_optical")
            products = process(frame, engine, wanted=wanted)
            marked = products.sky_mask == 255
            assert not np.isfinite(products.points["z"][marked[::2, ::2]]).any()
            if sky.any():
                found.append(marked[sky].mean())
                hanging.append(np.isfinite(products.points["z"][sky[::2, ::2]]).mean())
            else:
                in_rooms.append(marked.mean())
    assert len(in_rooms) > 10 and np.mean(in_rooms) < 0.01
    assert len(found) > 10 and np.mean(found) > 0.9 and np.mean(hanging) < 0.1
