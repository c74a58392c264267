"""The arrays of a GLB file, by pygltflib."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pygltflib


def arrays(path: Path) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Mode, positions and colours of each primitive, by the accessors of the file."""
    file = pygltflib.GLTF2().load(str(path))
    blob = file.binary_blob()

    def read(index: int, kind: str, width: int) -> np.ndarray:
        accessor = file.accessors[index]
        start = file.bufferViews[accessor.bufferView].byteOffset
        return np.frombuffer(blob, kind, accessor.count * width, start).reshape(-1, width)

    return [
        (one.mode, read(one.attributes.POSITION, "<f4", 3), read(one.attributes.COLOR_0, "u1", 4))
        for mesh in file.meshes
        for one in mesh.primitives
    ]
