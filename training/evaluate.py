"""Accuracy of the nano models on the test scenes, through GGUF files and the engine, beside the two baselines.

    python -m training.evaluate --any-view nano-any-view.gguf --metric nano-metric.gguf

Every test scene gives one picture. The table is Markdown.
"""

import argparse
from pathlib import Path

import cv2
import numpy as np

from depth_anything_ros import Engine
from depth_anything_ros.types import Intrinsics

from . import baselines, dataset, score


def predictions(model, rows):
    """Predictions of the engine for the first view of every scene."""
    height, width = dataset.HEIGHT, dataset.WIDTH
    with Engine.load(model) as engine:
        return [
            engine.infer(
                np.ascontiguousarray(row["rgb"][0]),
                intrinsics=Intrinsics(width, height, row["focal"], row["focal"], (width - 1) / 2, (height - 1) / 2),
                fill_sky=False,
            )
            for row in rows
        ]


def truths(rows, width, height):
    depth = (row["depth"][0].astype(np.float32) for row in rows)
    return np.stack([cv2.resize(one, (width, height), interpolation=cv2.INTER_NEAREST) for one in depth])


def _accuracy(name, depth, true):
    return f"| {name} | {score.abs_rel(depth, true):.3f} | {score.within(depth, true):.3f} |"


def _roughness(depth, true, rows):
    scale = true.shape[2] / dataset.WIDTH
    values = [score.ground_roughness(d, t, row["focal"] * scale, row["pose"][0]) for d, t, row in zip(depth, true, rows)]
    return float(np.median([value for value in values if value is not None]))


def table(any_view, metric, rows, train_folder):
    """Lines of the report for the predictions of both nets on the scenes `rows`."""
    height, width = metric[0].depth.shape
    true = truths(rows, width, height)
    row_means = baselines.row_means(truths(np.concatenate([shard[:8] for shard in dataset.load(train_folder, "train")]), width, height))
    relative, metres = (np.stack([one.depth for one in nets]) for nets in (any_view, metric))
    confidence, sky = np.stack([one.confidence for one in any_view]), np.stack([one.sky for one in metric])
    aligned = relative * score.best_scale(relative, true)
    factors = [score.nested_scale(*maps) for maps in zip(relative, confidence, metres, sky)]
    nested = relative * np.array(factors)[:, None, None]
    fields = [_field(one.intrinsics.fx, one.intrinsics.width) - _field(row["focal"], dataset.WIDTH) for one, row in zip(any_view, rows)]
    return [
        f"{len(rows)} pictures of {width} x {height}",
        "| prediction | AbsRel | within 1.25 |",
        "|---|---|---|",
        _accuracy("mean depth of each row over the training pictures", np.broadcast_to(row_means[None, :, None], true.shape), true),
        _accuracy("best plane through each picture's own truth", np.stack([baselines.best_plane(one) for one in true]), true),
        _accuracy("metric net, metres", metres, true),
        _accuracy("metric net, one scale per picture", metres * score.best_scale(metres, true), true),
        _accuracy("any-view net, one scale per picture", aligned, true),
        _accuracy("nested pair, metres", nested, true),
        "",
        f"- sky IoU {score.sky_iou(sky >= score.SKY_THRESHOLD, ~np.isfinite(true)):.3f}",
        f"- error of the least confident fifth over that of the rest {score.doubt_ratio(aligned, true, confidence):.2f}",
        f"- horizontal field of view, median error {np.median(np.abs(fields)):.1f} degrees",
        f"- ground within 5 m, RMS off its plane over camera height, median: metric {_roughness(metres, true, rows):.3f}, "
        f"nested {_roughness(nested, true, rows):.3f}",
    ]


def _field(focal, width):
    return float(np.degrees(2 * np.arctan(width / 2 / focal)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--any-view", type=Path, required=True)
    parser.add_argument("--metric", type=Path, required=True)
    parser.add_argument("--state", type=Path, default=dataset.STATE)
    parser.add_argument("--split", choices=dataset.SPLITS, default="test")
    options = parser.parse_args()
    pictures = options.state / "pictures"
    rows = np.concatenate(dataset.load(pictures, options.split))
    print("\n".join(table(predictions(options.any_view, rows), predictions(options.metric, rows), rows, pictures)))


if __name__ == "__main__":
    main()
