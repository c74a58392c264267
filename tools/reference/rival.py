"""PyTorch, ONNX Runtime or OpenVINO as a contender of the bench: rival.py ENGINE MODEL WIDTH HEIGHT THREADS

ENGINE: torch (depth and confidence or sky only), torch-full (the official forward), onnxruntime, openvino. MODEL: an official name; its
weights are seeded.
The picture is normalised before the clock starts: a rival's frame is the network alone.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

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
    elif engine == "openvino":
        _openvino(model, width, height, threads)
    else:
        raise SystemExit(f"There is no rival {engine!r}; known: torch, torch-full, onnxruntime, openvino.")


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


def _exported(model: str, width: int, height: int) -> tuple[Path, np.ndarray]:
    """The network as an ONNX file, and its input, float32 [1, 1, 3, height, width]."""
    path = cached_path(OFFICIAL_MODELS[model], f"-{width}x{height}.onnx")
    if not path.exists():  # in a process of its own, so that its memory is not counted
        subprocess.run([sys.executable, __file__, "export", model, str(width), str(height), "0"], check=True, stdout=sys.stderr)
    parameters = OFFICIAL_MODELS[model]
    mean, std = (np.array(values, np.float32)[:, None, None] for values in (parameters.mean, parameters.std))
    return path, ((picture(width, height).transpose(2, 0, 1).astype(np.float32) / np.float32(255) - mean) / std)[None, None]


def _onnxruntime(model: str, width: int, height: int, threads: int) -> None:
    path, x = _exported(model, width, height)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    run: Callable[[], np.ndarray] = lambda: session.run(["depth"], {"x": x})[0][0]  # noqa: E731
    serve({"onnxruntime": onnxruntime.__version__}, run)


def _openvino(model: str, width: int, height: int, threads: int) -> None:
    path, x = _exported(model, width, height)
    import openvino

    hints = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    network = openvino.Core().compile_model(str(path), "CPU", hints)
    request = network.create_infer_request()
    run: Callable[[], np.ndarray] = lambda: request.infer({0: x})[network.output("depth")][0]  # noqa: E731
    serve({"openvino": openvino.__version__.split("-")[0]}, run)


def _export(model: str, width: int, height: int) -> None:
    import torch

    from depth_anything_ros.files import replacing

    warnings.filterwarnings("ignore", category=torch.jit.TracerWarning)  # the size is fixed, so constants are right
    _, depth_network, x = _network_and_input(model, width, height)
    path = cached_path(OFFICIAL_MODELS[model], f"-{width}x{height}.onnx")
    with torch.inference_mode():
        depth_network(x)  # what depends on the size alone becomes constant
    names = {"input_names": ["x"], "output_names": ["depth", "second"]}
    with torch.no_grad(), replacing(path) as partial:  # it is kept, so never half of it
        torch.onnx.export(depth_network, (x,), str(partial), opset_version=ONNX_OPSET, dynamo=False, **names)


if __name__ == "__main__":
    main()
