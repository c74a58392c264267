"""Size and depth error of every quantised type: python tools/quantization.py MODEL PICTURE... [--instruction-set NAME]

MODEL: a GGUF file, or the name of an official model for seeded weights of that size. Pictures are processed at 504 x 336. Each type is
computed in floats (`exact`) and as the engine does by itself, and compared with the f32 file; a file that is quantised already with itself
computed in floats only. Inverse depth is zero where the network sees nothing: AbsRel leaves out what is below a tenth of its rms.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import cv2
import numpy as np

from depth_anything_ros import Engine
from depth_anything_ros.convert import gguf_file
from depth_anything_ros.convert.gguf_file import TensorType
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS
from depth_anything_ros.convert.quantize import TYPES, quantize
from depth_anything_ros.convert.seeded import write_seeded
from depth_anything_ros.files import read_picture

SIZE = (504, 336)
CLEAR_OF_ZERO = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("pictures", nargs="+", type=Path, metavar="PICTURE")
    parser.add_argument("--instruction-set", default="", metavar="NAME", help="of the engine's kernels (default: the best one)")
    args = parser.parse_args()
    images = [cv2.resize(read_picture(path), SIZE, interpolation=cv2.INTER_AREA) for path in args.pictures]
    with TemporaryDirectory() as folder:
        source = Path(args.model)
        if args.model in OFFICIAL_MODELS:
            source = Path(folder) / "f32.gguf"
            write_seeded(source, OFFICIAL_MODELS[args.model])
        print(f"| {args.model} | MB | in floats | AbsRel | by itself | AbsRel | to floats | AbsRel |\n|---|---|---|---|---|---|---|---|")
        if any(info.type not in (TensorType.F32, TensorType.F16) for info in gguf_file.read(source).infos):
            row("as it is", source, None, images, args.instruction_set)
            return
        expected = depths(source, images, "", exact=True)
        for name, refine in [(name, refine) for name in TYPES for refine in (False, True)]:
            path = Path(folder) / f"{name}.gguf"
            quantize(source, path, name, refine)
            row(f"{name}{' refined' if refine else ''}", path, expected, images, args.instruction_set)
            path.unlink()


def row(name: str, path: Path, expected: np.ndarray | None, images: list[np.ndarray], instruction_set: str) -> None:
    exact = depths(path, images, instruction_set, exact=True)
    found = depths(path, images, instruction_set, exact=False)
    to_f32 = f"{errors(exact, expected)} | {errors(found, expected)}" if expected is not None else "| | |"
    print(f"| {name} | {path.stat().st_size / 1e6:.1f} | {to_f32} | {errors(found, exact)} |", flush=True)


def errors(found: np.ndarray, expected: np.ndarray) -> str:
    """The lowest correlation, and the mean of |a/b - 1| where b is clear of zero (depth always is)."""
    correlation = min(np.corrcoef(one.ravel(), other.ravel())[0, 1] for one, other in zip(found, expected))
    clear = expected > (0.0 if expected.min() > 0 else CLEAR_OF_ZERO * np.sqrt(np.mean(expected**2)))
    return f"{correlation:.6f} | {np.mean(np.abs(found[clear] / expected[clear] - 1)):.5f}"


def depths(path: Path, images: list[np.ndarray], instruction_set: str, exact: bool) -> np.ndarray:
    """float32 [pictures, H, W]."""
    with Engine.load(path, exact=exact, instruction_set=instruction_set) as engine:
        return np.stack([engine.infer(image, fill_sky=False).depth for image in images])


if __name__ == "__main__":
    main()
