"""Accuracy of predicted maps against truth: the same numbers for PyTorch and for the engine. NumPy only."""

import numpy as np

SKY_THRESHOLD = 0.3
GROUND_REACH = 5.0  # metres


def abs_rel(predicted, true):
    """Mean over pictures of mean |predicted - true| / true over their valid pixels."""
    valid = np.isfinite(true)
    error = np.where(valid, np.abs(predicted - np.where(valid, true, 1.0)) / np.where(valid, true, 1.0), 0.0)
    return float(np.mean(error.sum((1, 2)) / valid.sum((1, 2))))


def best_scale(predicted, true):
    """The factor per picture, [N, 1, 1], that brings relative depth [N, H, W] to metres: median of the ratios over valid pixels."""
    return np.stack([np.median(t[np.isfinite(t)] / p[np.isfinite(t)]) for p, t in zip(predicted, true)])[:, None, None]


def within(predicted, true, ratio=1.25):
    """Share of valid pixels whose prediction is within the ratio, mean over pictures."""
    shares = []
    for p, t in zip(predicted, true):
        valid = np.isfinite(t)
        shares.append(np.mean(np.maximum(p[valid] / t[valid], t[valid] / p[valid]) < ratio))
    return float(np.mean(shares))


def sky_iou(predicted, true):
    """Intersection over union of two boolean stacks, over all pictures together."""
    return float((predicted & true).sum() / max((predicted | true).sum(), 1))


def doubt_ratio(predicted, true, confidence):
    """Mean AbsRel of the least confident fifth of the valid pixels, all pictures together, over that of the rest."""
    valid = np.isfinite(true)
    error = np.abs(predicted[valid] - true[valid]) / true[valid]
    doubtful = confidence[valid] <= np.quantile(confidence[valid], 0.2)
    return float(error[doubtful].mean() / error[~doubtful].mean())


def ground_roughness(depth, true, focal, pose):
    """How far the ground of one picture is from a plane: RMS distance of its points within 5 m to their best plane, over the camera height.

    depth, true: metres [h, w]; focal: pixels; pose: camera to world. Ground is where the true point lies on z = 0. None where little of it
    is seen.
    """
    height, width = true.shape
    v, u = np.mgrid[0:height, 0:width]
    rays = np.stack([(u + 0.5 - width / 2) / focal, (v + 0.5 - height / 2) / focal, np.ones(true.shape)], -1)
    valid = np.isfinite(true)
    world = rays * np.where(valid, true, 1.0)[..., None] @ pose[:3, :3].T + pose[:3, 3]
    ground = valid & (np.abs(world[..., 2]) < 0.03) & (true < GROUND_REACH)
    if ground.sum() < 0.05 * true.size:
        return None
    points = rays[ground] * depth[ground][:, None]
    return float(np.linalg.svd(points - points.mean(0), compute_uv=False)[-1] / np.sqrt(len(points)) / pose[2, 3])
