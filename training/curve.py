"""The course of training from the logs, as a figure.

python -m training.curve --output docs/nano/training.png
"""

import argparse
import re
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot

from .dataset import STATE


def read(log):
    """Rows (pictures seen, loss of depth), and rows (pictures seen, AbsRel with one scale, AbsRel in metres or NaN)."""
    losses, scores, pictures = [], [], 0
    for line in log.read_text().splitlines():
        if found := re.search(r"pictures (\d+) .* depth (\S+)", line):
            pictures = int(found.group(1))
            losses.append((pictures, float(found.group(2))))
        elif found := re.search(r"one scale (\S+)(?:.* metres AbsRel (\S+))?", line):
            scores.append((pictures, float(found.group(1)), float(found.group(2) or "nan")))
    return np.array(losses), np.array(scores)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, default=STATE, help="folder with the logs")
    parser.add_argument("--output", "-o", type=Path, required=True)
    options = parser.parse_args()
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 3.6), constrained_layout=True)
    for axis, net in zip(axes, ("any-view", "metric")):
        losses, scores = read(options.state / net / "log.txt")
        axis.plot(losses[:, 0] / 1000, losses[:, 1], color="0.8", label="loss of depth, training")
        axis.plot(scores[:, 0] / 1000, scores[:, 1], "o-", markersize=3, label="AbsRel, one scale, validation")
        if np.isfinite(scores[:, 2]).any():
            axis.plot(scores[:, 0] / 1000, scores[:, 2], "s-", markersize=3, label="AbsRel, metres, validation")
        axis.set(title=net, xlabel="thousand pictures", yscale="log", yticks=(0.08, 0.1, 0.2, 0.3, 0.5), ylim=(0.06, 0.7))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter("")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.output, dpi=80)


if __name__ == "__main__":
    main()
