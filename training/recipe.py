"""The whole training, from nothing to two checkpoints: `make train`. What is done already is not done again.

python -m training.recipe --state ~/.cache/depth_anything_ros/training
"""

import argparse
from pathlib import Path

from . import dataset, train

PICTURES = ("--split validation --scenes 128", "--split test --scenes 256", "--split train --scenes 16000")
STAGES = (  # 770,000 pictures, most of them small, and 500,000
    "--net any-view --workers 2 --batch 32 --width 112 --steps 9000 --decay 1",
    "--net any-view --workers 2 --batch 16 --width 168 --steps 15000 --decay 3000",
    "--net metric --workers 2 --batch 16 --width 168 --start any-view --steps 11000 --decay 1",
    "--net metric --workers 2 --batch 16 --width 168 --steps 15500 --decay 7000 --recoloured 0.2",
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
