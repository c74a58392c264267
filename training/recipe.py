"""The whole training, from nothing to two checkpoints: `make train`. What is done already is not done again.

python -m training.recipe --state ~/.cache/depth_anything_ros/training
"""

import argparse
from pathlib import Path

from . import dataset, train

PICTURES = ("--split validation --scenes 128", "--split test --scenes 256", "--split train --scenes 12000")
STAGES = (  # small pictures first, the rate falls at full size; steps are counted through
    "--net any-view --width 112 --steps 20000 --decay 0",
    "--net any-view --width 224 --steps 26000 --decay 4000",
    "--net metric --start any-view --width 112 --steps 14000 --decay 0",
    "--net metric --width 224 --steps 20000 --decay 4000",
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
