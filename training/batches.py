"""Batches for training: views of scenes, augmented, with the targets of the losses."""

from dataclasses import dataclass

import cv2
import numpy as np
import torch

from . import dataset
from .retexture import retexture

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)
RETEXTURED = (0.65, 0.2, 0.15)  # shares of the pictures with no, one and two surfaces painted anew
NARROWEST = np.radians(50.0)  # a crop does not narrow the horizontal field of view below this


@dataclass
class Batch:
    """`picture` [B, S, 3, H, W] normalised; `depth` [B, S, H, W] metres, inf is sky; `focal` [B] pixels; `pose` [B, S, 4, 4].

    A pose takes points of its camera to the first camera of the scene.
    """

    picture: torch.Tensor
    depth: torch.Tensor
    focal: torch.Tensor
    pose: torch.Tensor


class Source:
    """Draws scenes from the shards on disk, and recolours a share of the pictures; `refresh` takes in shards written since."""

    def __init__(self, folder, split, seed, recoloured):
        self.folder, self.split, self.recoloured = folder, split, recoloured
        self.random = np.random.default_rng(seed)
        self.refresh()

    def refresh(self):
        self.shards = dataset.load(self.folder, self.split)

    def batch(self, scenes, views, width):
        """`scenes` random scenes with `views` views each, augmented, at `width` x 3/4 width."""
        rows = [self.shards[i][j] for i, j in zip(self._draw(len(self.shards), scenes), self._draw(dataset.SHARD, scenes))]
        return collate([sample(row, self.random.permutation(dataset.VIEWS)[:views], width, self.random, self.recoloured) for row in rows])

    def _draw(self, limit, count):
        return self.random.integers(limit, size=count)


def sample(row, views, width, random=None, recoloured=1.0):
    """One scene: pictures, depths, focal length and poses of the chosen views; augmented when `random` is given."""
    height = width * dataset.HEIGHT // dataset.WIDTH
    keep, flip = 1.0, False
    if random is not None:
        flip = random.random() < 0.5
        if random.random() < 0.5:
            field = dataset.WIDTH / 2 / row["focal"]
            keep = random.uniform(min(1.0, max(0.7, np.tan(NARROWEST / 2) / field)), 1.0)
    crop_w, crop_h = round(dataset.WIDTH * keep / 2) * 2, round(dataset.HEIGHT * keep / 2) * 2
    x, y = (dataset.WIDTH - crop_w) // 2, (dataset.HEIGHT - crop_h) // 2
    pictures, depths = [], []
    for view in views:
        rgb = cv2.resize(row["rgb"][view, y : y + crop_h, x : x + crop_w], (width, height), interpolation=cv2.INTER_AREA)
        depth = row["depth"][view, y : y + crop_h, x : x + crop_w].astype(np.float32)
        depth = cv2.resize(depth, (width, height), interpolation=cv2.INTER_NEAREST)
        rgb = rgb.astype(np.float32) / 255
        if random is not None:
            for _ in range(random.choice(3, p=RETEXTURED)):
                rgb = retexture(rgb, depth, row["focal"] * width / crop_w, random)
            if random.random() < recoloured:
                rgb = recolour(rgb, random)
        pictures.append(rgb[:, ::-1] if flip else rgb)
        depths.append(depth[:, ::-1] if flip else depth)
    mirror = np.diag([-1.0 if flip else 1.0, 1.0, 1.0, 1.0])
    poses = row["pose"][views].astype(np.float64)
    poses = mirror @ np.linalg.inv(poses[0]) @ poses @ mirror
    return np.stack(pictures), np.stack(depths), row["focal"] * width / crop_w, poses


def recolour(rgb, random):
    """float32 in [0, 1] with random gamma, contrast, colour cast, channel order, grey and noise."""
    picture = rgb ** random.uniform(0.85, 1.2)
    picture = (picture - 0.5) * random.uniform(0.85, 1.1) + 0.5 + random.uniform(-0.05, 0.05)
    picture = picture * random.uniform(0.9, 1.1, 3).astype(np.float32)
    if random.random() < 0.05:
        picture = picture[..., random.permutation(3)]
    if random.random() < 0.05:
        picture = np.repeat(picture.mean(-1, keepdims=True), 3, -1)
    if random.random() < 0.1:
        picture = picture + random.uniform(0, 0.03) * random.standard_normal(picture.shape, dtype=np.float32)
    return np.clip(picture, 0, 1)


def collate(samples):
    pictures, depths, focals, poses = (np.stack(part) for part in zip(*samples))
    return Batch(
        torch.from_numpy(((pictures - MEAN) / STD).transpose(0, 1, 4, 2, 3).copy()),
        torch.from_numpy(depths.copy()),
        torch.from_numpy(focals.astype(np.float32)),
        torch.from_numpy(poses.astype(np.float32)),
    )
