"""PyTorch or ONNX Runtime as a contender of the bench: rival.py ENGINE MODEL WIDTH HEIGHT THREADS

ENGINE: torch (depth and confidence or sky only), torch-full (the official forward), onnxruntime. MODEL: an official name; seeded weights.
The picture is normalised before the clock starts: a rival's frame is the network alone.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable

import numpy as np
from cache import cached_path

from depth_anything_ros.bench.contender import picture, serve
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS

ONNX_OPSET = 17


def main() -> None:
    engine, model, *numbers = sys.argv[1:]
    width, height, threads = map(int, numbers)
    if engine == "export":
        _export(model, width, height)
    elif engine in ("torch", "torch-full"):
        _torch(model, width, height, threads, full=engine == "torch-full")
    elif engine == "onnxruntime":
        _onnxruntime(model, width, height, threads)
    else:
        raise SystemExit(f"There is no rival {engine!r}; known: torch, torch-full, onnxruntime.")


def _network_and_input(model: str, width: int, height: int):
    import official
    from depth_network import DepthNetwork

    parameters = OFFICIAL_MODELS[model]
    net = official.network(parameters)
    x = official.normalised(picture(width, height), parameters)
    return net, DepthNetwork(net), x


def _torch(model: str, width: int, height: int, threads: int, full: bool) -> None:
    import torch

    torch.set_num_threads(threads)
    net, depth_network, x = _network_and_input(model, width, height)

    def frame() -> np.ndarray:
        with torch.inference_mode():
            return (net(x)["depth"][0, 0] if full else depth_network(x)[0][0]).numpy()

    serve({"torch": torch.__version__}, frame)


def _onnxruntime(model: str, width: int, height: int, threads: int) -> None:
    path = cached_path(OFFICIAL_MODELS[model], f"-{width}x{height}.onnx")
    if not path.exists():  # in a process of its own, so that its memory is not counted
        subprocess.run([sys.executable, __file__, "export", model, str(width), str(height), "0"], check=True, stdout=sys.stderr)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    parameters = OFFICIAL_MODELS[model]
    mean, std = (np.array(values, np.float32)[:, None, None] for values in (parameters.mean, parameters.std))
    x = ((picture(width, height).transpose(2, 0, 1).astype(np.float32) / np.float32(255) - mean) / std)[None, None]
    run: Callable[[], np.ndarray] = lambda: session.run(["depth"], {"x": x})[0][0]  # noqa: E731
    serve({"onnxruntime": onnxruntime.__version__}, run)


def _export(model: str, width: int, height: int) -> None:
    import torch

    warnings.filterwarnings("ignore", category=torch.jit.TracerWarning)  # the size is fixed, so constants are right
    _, depth_network, x = _network_and_input(model, width, height)
    path = cached_path(OFFICIAL_MODELS[model], f"-{width}x{height}.onnx")
    with torch.inference_mode():
        depth_network(x)  # what depends on the size alone becomes constant
    names = {"input_names": ["x"], "output_names": ["depth", "second"]}
    with torch.no_grad():
        torch.onnx.export(depth_network, (x,), str(path), opset_version=ONNX_OPSET, dynamo=False, **names)


if __name__ == "__main__":
    main()
