"""Accuracy of the nano models on the test scenes, through GGUF files and the engine, beside the two baselines.

    python -m training.evaluate                                        # the models in the package
    python -m training.evaluate --any-view any-view-f32.gguf --metric metric-f32.gguf

Every test scene gives one picture, for several views its first two. Any-view depth has one scale per picture, the median of the ratios.
The table is Markdown.
"""

import argparse
from pathlib import Path

import cv2
import numpy as np

from depth_anything_ros import Engine
from depth_anything_ros.types import Intrinsics

from . import baselines, dataset, score

BANDS = ((50, 60), (60, 70), (70, 80), (80, 90), (90, 100))  # degrees of the horizontal field of view


def camera(row):
    height, width = dataset.HEIGHT, dataset.WIDTH
    return Intrinsics(width, height, float(row["focal"]), float(row["focal"]), (width - 1) / 2, (height - 1) / 2)


def field_of(row):
    """Horizontal field of view of a scene's camera, degrees."""
    return float(np.degrees(2 * np.arctan(dataset.WIDTH / 2 / row["focal"])))


def predictions(engine, rows):
    """Predictions for the first view of every scene."""
    return [engine.infer(np.ascontiguousarray(row["rgb"][0]), intrinsics=camera(row), fill_sky=False) for row in rows]


def truths(rows, width, height, view=0):
    depth = (row["depth"][view].astype(np.float32) for row in rows)
    return np.stack([cv2.resize(one, (width, height), interpolation=cv2.INTER_NEAREST) for one in depth])


def metric_accuracy(engine, rows):
    """Of the metric net, in metres: name -> number."""
    found = predictions(engine, rows)
    metres, sky = np.stack([one.depth for one in found]), np.stack([one.sky for one in found])
    true = truths(rows, metres.shape[2], metres.shape[1])
    fields = np.array([field_of(row) for row in rows])
    return {
        **_errors("metric net, metres", metres, true),
        **_errors("metric net, one scale", metres * score.best_scale(metres, true), true),
        "sky IoU": score.sky_iou(sky >= score.SKY_THRESHOLD, ~np.isfinite(true)),
        "metric net, ground": ground_roughness(metres, true, rows),
        **{
            f"metric net, {low} to {high} degrees": score.abs_rel(metres[inside], true[inside])
            for low, high in BANDS
            if (inside := (fields >= low) & (fields < high)).any()
        },
    }


def any_view_accuracy(engine, rows):
    """Of the any-view net, one scale per picture: name -> number."""
    found = predictions(engine, rows)
    relative, confidence = np.stack([one.depth for one in found]), np.stack([one.confidence for one in found])
    true = truths(rows, relative.shape[2], relative.shape[1])
    aligned = relative * score.best_scale(relative, true)
    fields = [np.degrees(2 * np.arctan(one.intrinsics.width / 2 / one.intrinsics.fx)) - field_of(row) for one, row in zip(found, rows)]
    return {
        **_errors("any-view net, one scale", aligned, true),
        "doubt": score.doubt_ratio(aligned, true, confidence),
        "field of view": float(np.median(np.abs(fields))),
        "field of view, always the mean": float(np.median(np.abs([field_of(row) - 75.0 for row in rows]))),
    }


def nested_accuracy(pair, rows):
    """Of the any-view net with the metres of the metric net."""
    metres = np.stack([one.depth for one in predictions(pair, rows)])
    true = truths(rows, metres.shape[2], metres.shape[1])
    return {**_errors("nested pair, metres", metres, true), "nested pair, ground": ground_roughness(metres, true, rows)}


def two_view_accuracy(engine, rows):
    """Of the any-view net on two views of each scene: depth with one scale for both, the move between them, metres from its length."""
    errors, metres, turns, courses = [], [], [], []
    for row in rows:
        first, second = engine.infer_views([np.ascontiguousarray(row["rgb"][view]) for view in (0, 1)])
        depth = np.stack([first.depth, second.depth])
        true = np.concatenate([truths([row], *depth.shape[:0:-1], view) for view in (0, 1)])
        valid = np.isfinite(true)
        errors.append(score.abs_rel(depth * np.median(true[valid] / depth[valid]), true))
        moved, expected = _move(first.extrinsics, second.extrinsics), np.linalg.inv(row["pose"][0].astype(float)) @ row["pose"][1]
        turns.append(_angle(moved[:3, :3].T @ expected[:3, :3]))
        length, true_length = np.linalg.norm(moved[:3, 3]), np.linalg.norm(expected[:3, 3])
        courses.append(np.degrees(np.arccos(np.clip(moved[:3, 3] @ expected[:3, 3] / max(length * true_length, 1e-9), -1, 1))))
        metres.append(score.abs_rel(depth * true_length / max(length, 1e-9), true))
    return {
        "two views, one scale": float(np.mean(errors)),
        "two views, metres from the length of the move": float(np.median(metres)),
        "two views, turn": float(np.median(turns)),
        "two views, course": float(np.median(courses)),
    }


def baseline_accuracy(rows, width, height, train_folder):
    """Without looking: the two baselines and the spread of the depths."""
    true = truths(rows, width, height)
    row_means = baselines.row_means(truths(np.concatenate([shard[:8] for shard in dataset.load(train_folder, "train")]), width, height))
    low, high = np.percentile(true[np.isfinite(true)], (2.5, 97.5))
    return {
        **_errors("mean depth of each row over the training pictures", np.broadcast_to(row_means[None, :, None], true.shape), true),
        **_errors("best plane through each picture's own truth", np.stack([baselines.best_plane(one) for one in true]), true),
        "depths, 2.5 %": float(low),
        "depths, 97.5 %": float(high),
    }


def ground_roughness(depth, true, rows):
    """Median over the pictures that show ground: RMS off its plane over the height of the camera."""
    scale = true.shape[2] / dataset.WIDTH
    values = [score.ground_roughness(d, t, row["focal"] * scale, row["pose"][0]) for d, t, row in zip(depth, true, rows)]
    return float(np.median([value for value in values if value is not None]))


def _errors(name, depth, true):
    return {name: score.abs_rel(depth, true), f"{name}, within 1.25": score.within(depth, true)}


def _move(first, second):
    """Pose of the second camera in the first one's frame, from two camera_from_world [3, 4]."""
    full = [np.vstack([one, [0, 0, 0, 1]]).astype(float) for one in (first, second)]
    return full[0] @ np.linalg.inv(full[1])


def _angle(rotation):
    return float(np.degrees(np.arccos(np.clip((np.trace(rotation) - 1) / 2, -1, 1))))


def table(numbers):
    """Lines of Markdown."""
    both = [name for name in numbers if f"{name}, within 1.25" in numbers]
    rest = [name for name in numbers if name not in both and not name.endswith("within 1.25")]
    return [
        "| prediction | AbsRel | within 1.25 |",
        "|---|---|---|",
        *(f"| {name} | {numbers[name]:.3f} | {numbers[f'{name}, within 1.25']:.3f} |" for name in both),
        "",
        *(f"- {name}: {numbers[name]:.3f}" for name in rest),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--any-view", default="nano-any-view", help="GGUF file or name of a model")
    parser.add_argument("--metric", default="nano-metric", help="GGUF file or name of a model")
    parser.add_argument("--state", type=Path, default=dataset.STATE)
    parser.add_argument("--split", choices=dataset.SPLITS, default="test")
    options = parser.parse_args()
    rows = np.concatenate(dataset.load(options.state / "pictures", options.split))
    with Engine.load(options.any_view) as engine:
        size = engine.processed_size(dataset.WIDTH, dataset.HEIGHT)
        numbers = {**any_view_accuracy(engine, rows), **two_view_accuracy(engine, rows)}
    with Engine.load(options.metric) as engine:
        numbers = {**metric_accuracy(engine, rows), **numbers}
    with Engine.load(options.any_view, metric_model=options.metric) as pair:
        numbers = {**baseline_accuracy(rows, *size, options.state / "pictures"), **numbers, **nested_accuracy(pair, rows)}
    print(f"{len(rows)} pictures of {size[0]} x {size[1]}\n")
    print("\n".join(table(numbers)))


if __name__ == "__main__":
    main()
