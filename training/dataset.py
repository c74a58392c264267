"""Pictures on disk: scenes rendered once, in shards that training reads while more are written.

    python -m training.dataset --split train --scenes 12000

A scene is one record with `VIEWS` pictures taken by one camera that moves a little. Running again goes on where the shards end.
"""

import argparse
from pathlib import Path

import numpy as np

from .pause import wait_while_paused
from .scenes import cameras, layouts, render, sensor

WIDTH, HEIGHT, VIEWS, SHARD = 224, 168, 3, 64
STATE = Path.home() / ".cache" / "depth_anything_ros" / "training"
SPLITS = {"train": (0, False), "validation": (10_000_000, False), "test": (20_000_000, True)}  # first seed, with held-out things
RECORD = np.dtype(
    [
        ("seed", "i8"),
        ("focal", "f4"),  # pixels at WIDTH x HEIGHT, both axes; the principal point is the centre
        ("pose", "f4", (VIEWS, 4, 4)),  # camera (optical) to world
        ("rgb", "u1", (VIEWS, HEIGHT, WIDTH, 3)),
        ("depth", "f2", (VIEWS, HEIGHT, WIDTH)),  # metres along the optical axis, inf is sky
    ]
)


def acceptable(world, depth, owner):
    """Whether a picture can teach: nothing touches the lens, no surface fills it, it is not mostly sky, no ray leaves a closed room."""
    counts = np.bincount(owner.reshape(-1) + 1, minlength=2)
    if world.sky is None and counts[0] > 0:
        return False
    return depth.min() > 0.45 and counts[0] < 0.5 * owner.size and counts[1:].max() < 0.7 * owner.size


def _stands_in(world, camera):
    x, y, _ = camera.pose[:3, 3]
    x0, y0, x1, y1 = world.region
    return x0 - 0.2 <= x <= x1 + 0.2 and y0 - 0.2 <= y <= y1 + 0.2 and world.is_free(x, y, 0.1)


def _first_view(world):
    for _ in range(12):
        camera = cameras.sample(world, WIDTH, HEIGHT)
        hits = render.cast(world, camera)
        if acceptable(world, *hits[:2]):
            return camera, hits
    return None


def _next_view(world, first, reach):
    for _ in range(12):
        camera = cameras.moved(world, first, reach)
        if not _stands_in(world, camera):
            continue
        hits = render.cast(world, camera)
        if acceptable(world, *hits[:2]):
            return camera, hits
    return None


def views_of(seed, held_out):
    """The world of `seed` and its `VIEWS` pictures (render.Picture), or None where no good view was found."""
    world = layouts.build(seed, held_out)
    first = _first_view(world)
    if first is None:
        return None
    near = float(np.median(first[1][0][np.isfinite(first[1][0])]))
    shots = [first] + [_next_view(world, first[0], min(0.3 * near, 1.5)) for _ in range(VIEWS - 1)]
    if None in shots:
        return None
    return world, [render.render(world, camera, hits) for camera, hits in shots]


def record(seed, held_out):
    """One scene as a RECORD, or None."""
    found = views_of(seed, held_out)
    if found is None:
        return None
    world, pictures = found
    row = np.zeros((), RECORD)
    row["seed"], row["focal"] = seed, pictures[0].camera.focal
    for view, picture in enumerate(pictures):
        row["pose"][view] = picture.camera.pose
        row["rgb"][view] = sensor.develop(picture.rgb, world.random)
        row["depth"][view] = np.where(picture.sky, np.inf, picture.depth)
    return row


def shards(folder, split):
    return sorted(Path(folder).glob(f"{split}-*.npy"))


def load(folder, split):
    """All scenes that are on disk now, as memory-mapped arrays of RECORD. Raises FileNotFoundError where there are none."""
    found = [np.load(path, mmap_mode="r") for path in shards(folder, split)]
    if not found:
        raise FileNotFoundError(f"no {split} pictures in {folder}: run python -m training.dataset --split {split}")
    return found


def write(folder, split, scenes, report=print):
    """Render until the split holds `scenes` scenes. A shard appears only when it is complete."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    first_seed, held_out = SPLITS[split]
    done = shards(folder, split)
    seed = int(np.load(done[-1], mmap_mode="r")["seed"][-1]) + 1 if done else first_seed
    following = int(done[-1].stem.rpartition("-")[2]) + 1 if done else 0
    for number in range(following, -(-scenes // SHARD)):
        rows = []
        while len(rows) < SHARD:
            wait_while_paused(folder.parent)
            row = record(seed, held_out)
            seed += 1
            if row is not None:
                rows.append(row)
        partial = folder / f"partial-{split}.tmp"
        with open(partial, "wb") as stream:
            np.save(stream, np.stack(rows))
        partial.rename(folder / f"{split}-{number:05d}.npy")
        report(f"{split}: {(number + 1) * SHARD} scenes")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, default=STATE, help="folder for pictures and checkpoints")
    parser.add_argument("--split", choices=SPLITS, default="train")
    parser.add_argument("--scenes", type=int, default=12000)
    options = parser.parse_args(arguments)
    write(options.state / "pictures", options.split, options.scenes)


if __name__ == "__main__":
    main()
