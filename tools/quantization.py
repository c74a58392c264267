"""Size and depth error of every quantised type against f32: python tools/quantization.py MODEL PICTURE...

MODEL: a GGUF file (f32), or the name of an official model for seeded weights of that size. Pictures are processed at 504 x 336.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import cv2
import numpy as np

from depth_anything_ros import Engine
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS
from depth_anything_ros.convert.quantize import TYPES, quantize
from depth_anything_ros.convert.seeded import write_seeded

SIZE = (504, 336)


def main(model: str, pictures: list[str]) -> None:
    images = [np.ascontiguousarray(cv2.resize(cv2.imread(picture), SIZE, interpolation=cv2.INTER_AREA)) for picture in pictures]
    with TemporaryDirectory() as folder:
        exact = Path(model)
        if model in OFFICIAL_MODELS:
            exact = Path(folder) / "f32.gguf"
            write_seeded(exact, OFFICIAL_MODELS[model])
        expected = depths(exact, images)
        print(f"| {model} | MB | correlation | AbsRel |\n|---|---|---|---|\n| f32 | {exact.stat().st_size / 1e6:.1f} | 1 | 0 |")
        for name, refine in [(name, refine) for name in TYPES for refine in (False, True)]:
            path = Path(folder) / f"{name}.gguf"
            quantize(exact, path, name, refine)
            found = depths(path, images)
            error = np.mean(np.abs(found / expected - 1))
            correlation = min(np.corrcoef(one.ravel(), other.ravel())[0, 1] for one, other in zip(found, expected))
            print(
                f"| {name}{' refined' if refine else ''} | {path.stat().st_size / 1e6:.1f} | {correlation:.6f} | {error:.5f} |", flush=True
            )
            path.unlink()


def depths(path: Path, images: list[np.ndarray]) -> np.ndarray:
    """float32 [pictures, H, W]."""
    with Engine.load(path) as engine:
        return np.stack([engine.infer(image, bgr=True).depth for image in images])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
