"""The whole training, from nothing to two checkpoints: `make train`. What is done already is not done again.

python -m training.recipe --state ~/.cache/depth_anything_ros/training
"""

import argparse
from pathlib import Path

from . import dataset, train

PICTURES = ("--split validation --scenes 128", "--split test --scenes 256", "--split train --scenes 6016")
STAGES = (  # 770,000 pictures and 380,000
    "--net any-view --workers 2 --batch 32 --steps 12000 --decay 2500",
    "--net metric --workers 2 --batch 32 --start any-view --steps 6000 --decay 1500",
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
