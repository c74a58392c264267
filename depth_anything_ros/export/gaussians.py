"""3-D Gaussians as the PLY that splatting programs read, with the layout and the selection of the official export, written by plyfile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.errors import OptionError
from depth_anything_ros.export.ply import write_vertices
from depth_anything_ros.types import DepthKind, Float32Array, Prediction

_PROPERTIES = (
    *("x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2", "opacity"),
    *("scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"),
)
_BORDER = 8 / 256
"""Part of the height and width that is left out at each edge: Gaussians there are poor."""
_NEAREST = 0.9
"""Part of the pixels of each view that is kept, the nearest ones."""
_LEAST_OPACITY, _LEAST_SCALE = 1e-6, 1e-9
"""Logarithms of what is nearer to 0 (and to 1) are those of these."""


def write_gaussians(path: Path, predictions: Sequence[Prediction], metres_per_unit: float | None = None) -> int:
    """Gaussians of all views, in the world of the network's own poses; gives their number. The unit stands in a comment.

    metres_per_unit: what lengths are multiplied with to be metres (`Prediction.scale_factor` of a pair); None leaves them as they are.
    Opacity is written as its logit, scales as logarithms, colour as the harmonic of degree 0.
    Raises OptionError ``option.range`` for a prediction without Gaussians and ``option.unknown`` without plyfile, InputError
    ``input.file`` when the file cannot be written.
    """
    if any(prediction.gaussians is None for prediction in predictions):
        raise OptionError("option.range", "Gaussians come from DA3-GIANT and DA3NESTED alone, with a pose; this model gave none.")
    factor = 1.0 if metres_per_unit is None else metres_per_unit
    vertices = np.concatenate([_vertices(prediction, factor) for prediction in predictions])
    unit = DepthKind.RELATIVE_DEPTH.value if metres_per_unit is None else "metre"
    write_vertices(path, vertices, unit)
    return len(vertices)


def _vertices(prediction: Prediction, factor: float) -> NDArray[np.void]:
    one = prediction.gaussians
    assert one is not None
    kept = _kept(prediction.depth).ravel()
    opacity = np.clip(one.opacities[kept], _LEAST_OPACITY, 1.0 - _LEAST_OPACITY)
    columns = [
        one.means[kept] * np.float32(factor),
        np.zeros((np.count_nonzero(kept), 3), np.float32),
        one.harmonics[kept, :, 0],
        np.log(opacity / (1.0 - opacity))[:, np.newaxis],
        np.log(np.maximum(one.scales[kept] * np.float32(factor), _LEAST_SCALE)),
        one.rotations[kept],
    ]
    vertices = np.empty(len(opacity), [(name, "<f4") for name in _PROPERTIES])
    for name, column in zip(_PROPERTIES, np.concatenate(columns, axis=1).T):
        vertices[name] = column
    return vertices


def _kept(depth: Float32Array) -> NDArray[np.bool_]:
    """bool [h, w]: inside of the border and not among the farthest."""
    height, width = depth.shape
    top, left = int(_BORDER * height), int(_BORDER * width)
    inside = np.zeros(depth.shape, bool)
    inside[top : height - top, left : width - left] = True
    return np.asarray(inside & (depth <= np.quantile(depth, _NEAREST)))
