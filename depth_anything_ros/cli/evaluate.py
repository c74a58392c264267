"""How far the depth of a bag is from the truth: AbsRel, RMSE, δ1 to δ3, SILog, drift of the scale, by distance.

    depth-anything-ros evaluate drive_depth --truth /camera/truth/depth
    depth-anything-ros evaluate drive_depth --truth /lidar/points --tolerance 0.05 --csv errors.csv --plots plots/

The truth is a depth image topic, or the cloud of a laser, which is brought into the camera by the bag's TF and camera_info. Depth without
metres is fitted to it first (--align). docs/replay.md tells what each number means.

Exit codes: 0 done; 2 option or topic; 4 bag, or nothing that can be compared.
"""

from __future__ import annotations

import argparse
import sys

from depth_anything_ros.paths import user_path

BANDS = (0.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("bag", type=user_path, help="bag with the depth (of the verb replay, or recorded)")
    add("--truth", required=True, metavar="TOPIC", help="Image in metres (32FC1) or millimetres (16UC1), or PointCloud2")
    add("--truth-bag", type=user_path, metavar="BAG", help="bag with the truth, when it is another one")
    add("--depth", default="", metavar="TOPIC", help="depth topic; default: the only one")
    add(
        "--align",
        default="auto",
        metavar="HOW",
        help="fit to the truth first: none, recording, frame; auto (default): none for metres, recording for relative depth, frame for "
        "inverse depth",
    )
    add(
        "--values",
        default="auto",
        metavar="WHAT",
        help="what relative values are: depth (fitted by a factor), inverse (depth; by scale and shift); auto (default): told by the truth",
    )
    add("--bands", type=float, nargs="+", default=BANDS, metavar="M", help="borders of the bands of distance (default 0 2 5 10 20 50 100)")
    add("--tolerance", type=float, default=0.0, metavar="S", help="seconds between a depth and its truth (default 0: the same stamp)")
    add("--csv", type=user_path, metavar="FILE", help="write all numbers, also those of each frame")
    add("--plots", type=user_path, metavar="DIR", help="write plots by distance and over time (needs matplotlib)")


def run(arguments: argparse.Namespace) -> int:
    from depth_anything_ros.evaluate.evaluation import EvaluationOptions, evaluate
    from depth_anything_ros.evaluate.output import table, write_csv
    from depth_anything_ros.evaluate.plots import check_matplotlib, write_plots

    if arguments.plots:
        check_matplotlib()
    evaluation = evaluate(
        EvaluationOptions(
            bag=arguments.bag,
            truth=arguments.truth,
            truth_bag=arguments.truth_bag,
            depth=arguments.depth,
            align=arguments.align,
            values=arguments.values,
            bands=tuple(arguments.bands),
            tolerance=arguments.tolerance,
        )
    )
    for problem in evaluation.problems:
        print(f"warning: {problem}", file=sys.stderr)
    print(f"{evaluation.depth} against {evaluation.truth}\n{table(evaluation)}")
    if arguments.csv:
        write_csv(evaluation, arguments.csv)
        print(f"numbers: {arguments.csv}")
    if arguments.plots:
        for path in write_plots(evaluation, arguments.plots):
            print(f"plot: {path}")
    return 0
