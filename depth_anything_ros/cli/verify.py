"""Check a model's accuracy on a photograph with true depth: after a fetch, a conversion or a quantisation.

    depth-anything-ros verify da3-small                # checksum of the fetched file, then accuracy
    depth-anything-ros verify my-model-q4_k.gguf

The photograph is the left picture of "Motorcycle" (Middlebury 2014), 741 x 500, which comes with scikit-image; nothing is downloaded.
Depth is compared after the best scale (Depth Anything V2: scale and shift of 1/z), metres also as they come. A model passes when its error
is at most half of that of the best plane through the truth, and its metres are right to 30 %. Exit code 3 when it does not.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from depth_anything_ros.cli import network
from depth_anything_ros.cli.stopping import interruptible
from depth_anything_ros.errors import ModelError

if TYPE_CHECKING:
    from depth_anything_ros.checks.accuracy import Score


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="name of a fetched model (verb models), or GGUF file")
    parser.add_argument("--metric-model", default="", metavar="M", help="the metric half of a pair, name or file")
    network.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    from depth_anything_ros.checks.accuracy import RATIO, assess
    from depth_anything_ros.engine import Engine
    from depth_anything_ros.motorcycle import SCENE, read_motorcycle

    _check_sum(arguments.model)
    picture, truth = read_motorcycle()
    with Engine.load(arguments.model, metric_model=arguments.metric_model, **network.options(arguments)) as engine:
        network.introduce(engine)
        prediction = interruptible(engine, lambda: engine.infer(picture, intrinsics=SCENE))
        print(f"{prediction.kind.value} at {prediction.width}x{prediction.height}")
    verdict = assess(prediction, truth)
    print(f"  {'':<34} {'AbsRel':>7}  within {RATIO:g}")
    _show("after the best fit", verdict.fitted)
    if verdict.metres:
        _show("metres as they come", verdict.metres)
    _show("for comparison: the best plane", verdict.plane)
    if not verdict.good:
        raise ModelError("model.accuracy", f"{arguments.model} is not what a trained model gives on this photograph (see above).")
    print("passed")
    return 0


def _check_sum(name: str) -> None:
    """Of a model that was fetched by name; a path has none to compare with."""
    from depth_anything_ros.models.cache import meant
    from depth_anything_ros.models.fetch import verify

    model = meant(name)
    if model is None:
        return
    for file, digest in verify(model).items():
        print(f"{file}: SHA-256 {digest}")


def _show(what: str, score: Score) -> None:
    print(f"  {what:<34} {score.abs_rel:>7.3f}  {score.within:>10.3f}")
