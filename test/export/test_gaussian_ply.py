"""Gaussian PLY, read back by a reader of its own (the layout is a header of text and records) and by trimesh."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import trimesh

from depth_anything_ros.errors import OptionError
from depth_anything_ros.export.gaussians import write_gaussians
from depth_anything_ros.types import DepthKind, Gaussians, Prediction, Timings

POSITION, COLOUR = ["x", "y", "z", "nx", "ny", "nz"], ["f_dc_0", "f_dc_1", "f_dc_2", "opacity"]
SHAPE = ["scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"]
LAYOUT = POSITION + COLOUR + SHAPE
HEIGHT, WIDTH = 64, 96


def prediction(seed: int) -> Prediction:
    random = np.random.default_rng(seed)
    count = HEIGHT * WIDTH

    def values(*shape: int) -> np.ndarray:
        return random.normal(size=(count, *shape)).astype(np.float32)

    gaussians = Gaussians(
        DepthKind.RELATIVE_DEPTH, values(3), np.abs(values(3)) + 0.01, values(4), values(3, 9), random.random(count).astype(np.float32)
    )
    depth = random.random((HEIGHT, WIDTH)).astype(np.float32)
    return Prediction(DepthKind.METRIC, depth, None, None, None, None, Timings(0.0, 0.0, 0.0), {}, 2.5, gaussians)


def read(path: Path) -> tuple[list[str], np.ndarray]:
    """Comments, and the records as a structured array."""
    header, _, body = path.read_bytes().partition(b"end_header\n")
    lines = header.decode().splitlines()
    assert lines[:2] == ["ply", "format binary_little_endian 1.0"]
    count = next(int(line.split()[2]) for line in lines if line.startswith("element vertex"))
    names = [line.split()[2] for line in lines if line.startswith("property float")]
    assert len(body) == count * 4 * len(names)
    return [line for line in lines if line.startswith("comment")], np.frombuffer(body, [(name, "<f4") for name in names])


def selected(one: Prediction) -> np.ndarray:
    """Row by row: no border of 8/256, nothing beyond the nearest nine tenths."""
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
    inside = (rows >= 2) & (rows < HEIGHT - 2) & (columns >= 3) & (columns < WIDTH - 3)
    return (inside & (one.depth <= np.quantile(one.depth, 0.9))).ravel()


def test_records_hold_the_gaussians_of_all_views(tmp_path: Path) -> None:
    views = [prediction(1), prediction(2)]
    count = write_gaussians(tmp_path / "g.ply", views)
    comments, found = read(tmp_path / "g.ply")
    assert list(found.dtype.names) == LAYOUT and len(found) == count
    assert comments[0] == "comment unit: relative_depth"
    kept = [selected(one) for one in views]
    assert count == sum(map(np.count_nonzero, kept)) > 2000

    def expected(name: str) -> np.ndarray:
        return np.concatenate([getattr(one.gaussians, name)[mask] for one, mask in zip(views, kept)])

    np.testing.assert_array_equal(np.column_stack([found[name] for name in "xyz"]), expected("means"))
    np.testing.assert_array_equal(np.column_stack([found[f"f_dc_{i}"] for i in range(3)]), expected("harmonics")[:, :, 0])
    np.testing.assert_array_equal(np.column_stack([found[f"rot_{i}"] for i in range(4)]), expected("rotations"))
    np.testing.assert_allclose(np.exp(np.column_stack([found[f"scale_{i}"] for i in range(3)])), expected("scales"), rtol=1e-6)
    np.testing.assert_allclose(1.0 / (1.0 + np.exp(-found["opacity"].astype(float))), expected("opacities"), atol=2e-6)
    assert not found["nx"].any() and not found["nz"].any()
    np.testing.assert_array_equal(trimesh.load(tmp_path / "g.ply").vertices, expected("means"))


def test_metres_of_a_pair(tmp_path: Path) -> None:
    one = prediction(1)
    write_gaussians(tmp_path / "g.ply", [one])
    write_gaussians(tmp_path / "m.ply", [one], one.scale_factor)
    (_, relative), (comments, metric) = read(tmp_path / "g.ply"), read(tmp_path / "m.ply")
    assert comments[0] == "comment unit: metre"
    np.testing.assert_allclose(metric["z"], 2.5 * relative["z"], rtol=1e-6)
    np.testing.assert_allclose(metric["scale_1"] - relative["scale_1"], np.log(2.5), atol=1e-5)
    np.testing.assert_array_equal(metric["opacity"], relative["opacity"])


def test_values_at_the_ends_stay_finite(tmp_path: Path) -> None:
    one = prediction(3)
    assert one.gaussians is not None
    one.gaussians.opacities[: HEIGHT * WIDTH // 2] = 0.0
    one.gaussians.opacities[HEIGHT * WIDTH // 2 :] = 1.0
    one.gaussians.scales[:] = 0.0
    write_gaussians(tmp_path / "g.ply", [one])
    _, found = read(tmp_path / "g.ply")
    assert all(np.isfinite(found[name]).all() for name in LAYOUT)
    assert found["opacity"].min() < -13.0 and found["opacity"].max() > 13.0 and found["scale_0"].max() < -20.0


def test_without_gaussians_nothing_is_written(tmp_path: Path) -> None:
    bare = Prediction(DepthKind.METRIC, np.ones((4, 4), np.float32), None, None, None, None, Timings(0.0, 0.0, 0.0))
    with pytest.raises(OptionError, match="GIANT"):
        write_gaussians(tmp_path / "g.ply", [prediction(1), bare])
    assert not (tmp_path / "g.ply").exists()


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plyfile", None)
    with pytest.raises(OptionError, match="pip install plyfile"):
        write_gaussians(tmp_path / "g.ply", [prediction(1)])
