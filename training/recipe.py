"""The whole training, from nothing to two checkpoints: `make train`. What is done already is not done again.

python -m training.recipe --state ~/.cache/depth_anything_ros/training
"""

import argparse
from pathlib import Path

from . import dataset, train

PICTURES = ("--split validation --scenes 128", "--split test --scenes 256", "--split train --scenes 20000")
STAGES = (  # small pictures first, the rate falls at full size; steps are counted through
    "--net any-view --workers 2 --width 112 --steps 30000 --decay 0",
    "--net any-view --workers 2 --width 224 --batch 8 --steps 38000 --decay 5000",
    "--net metric --workers 2 --start any-view --width 112 --steps 10000 --decay 0",
    "--net metric --workers 2 --width 224 --batch 8 --steps 18000 --decay 5000",
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, default=dataset.STATE, help="folder for pictures and checkpoints")
    state = ["--state", str(parser.parse_args().state)]
    for pictures in PICTURES:
        dataset.main([*pictures.split(), *state])
    for stage in STAGES:
        train.main([*stage.split(), *state])


if __name__ == "__main__":
    main()
