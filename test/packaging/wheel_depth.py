"""Run by the wheel tests in an environment that has the wheel and none of these sources: the instruction set and the depth of one picture.

wheel_depth.py MODEL RESULT.npz [another extension with a ggml of its own, imported and used first]
"""

import importlib
import sys

import numpy as np


def main(model, result, *neighbours):
    for name in neighbours:
        print(importlib.import_module(name).whisper_print_system_info())
    from depth_anything_ros import Engine

    columns, rows = np.meshgrid(np.arange(84), np.arange(56))
    picture = np.stack([columns * 3, rows * 4, (columns * rows) % 251], axis=2).astype(np.uint8)
    engine = Engine.load(model, threads=2, resolution=84)
    np.savez(result, depth=engine.infer(picture).depth, instruction_set=engine.info.instruction_set)


if __name__ == "__main__":
    main(*sys.argv[1:])
