"""Losses on the logits of the nets. Depth is compared in log space; masks leave out the sky."""

import math

import torch
from torch.nn import functional

CANONICAL_FOCAL = 300.0  # the metric net gives depth for this focal length in pixels
CONFIDENCE_PRIOR = 0.5  # weight of log confidence: an error of this size in log depth has confidence 1


def masked_mean(values, mask):
    """Mean over the pixels of `mask` per picture, then over pictures."""
    values = torch.where(mask, values, 0.0)
    return (values.sum((-2, -1)) / mask.sum((-2, -1)).clamp(min=1)).mean()


def magnitude(error):
    """Size of an error in log depth: mostly the relative error of depth, which weighs too far more than too near; linear from 1 on."""
    relative = torch.expm1(error.clamp(max=1.0)) + math.e * (error - 1.0).clamp(min=0.0)
    return 0.3 * error.abs() + 0.7 * relative.abs()


def outside(error, mask):
    """Share of the pixels that are off by more than a factor of 1.25, with a soft border; what is far off no longer pulls."""
    return masked_mean(torch.sigmoid((error.abs() - math.log(1.25)) / 0.06), mask)


def gradient(error, mask, scales=4):
    """Differences of the error between neighbours at `scales` strides, which keeps edges sharp and surfaces flat."""
    total = 0.0
    for scale in range(scales):
        e, m = error[..., :: 2**scale, :: 2**scale], mask[..., :: 2**scale, :: 2**scale]
        for axis in (-1, -2):
            size = e.shape[axis] - 1
            step = (e.narrow(axis, 1, size) - e.narrow(axis, 0, size)).abs().clamp(max=1.0)
            total = total + masked_mean(step, m.narrow(axis, 1, size) & m.narrow(axis, 0, size))
    return total / scales


def beyond(log_depth, target, sky):
    """Sky must not come nearer than the farthest thing in the picture."""
    farthest = torch.where(sky, -torch.inf, target).amax((-2, -1), keepdim=True).clamp(min=-5.0)
    return masked_mean(functional.relu(farthest - log_depth), sky)


def log_targets(batch, multi_view):
    """Log depth the net should give, and the mask of pixels that have one.

    Any-view: relative to the geometric mean over the first view. Metric: canonical, as if the focal length were 300 pixels.
    Also returns the scale [B] by which metres were divided.
    """
    valid = torch.isfinite(batch.depth)
    log_depth = torch.where(valid, batch.depth, 1.0).log()
    if multi_view:
        first = torch.where(valid[:, 0], log_depth[:, 0], 0.0).sum((-2, -1)) / valid[:, 0].sum((-2, -1)).clamp(min=1)
        offset = first
    else:
        offset = (batch.focal / CANONICAL_FOCAL).log()
    return log_depth - offset[:, None, None, None], valid, offset.exp()


def pose_targets(batch, scale):
    """Pose encoding [B, S, 9]: translation in units of the net's depth, quaternion x y z w, field of view (height, width) in rad."""
    translation = batch.pose[..., :3, 3] / scale[:, None, None]
    height, width = batch.depth.shape[-2:]
    fields = torch.stack([2 * torch.atan(size / 2 / batch.focal) for size in (height, width)], -1)
    return torch.cat([translation, quaternions(batch.pose[..., :3, :3]), fields[:, None].expand(-1, batch.pose.shape[1], -1)], -1)


def quaternions(rotation):
    """Rotation matrices [..., 3, 3] of less than 180 degrees -> quaternions x y z w with w > 0."""
    w = (1 + rotation.diagonal(dim1=-2, dim2=-1).sum(-1)).clamp(min=1e-6).sqrt() / 2
    r = rotation
    xyz = torch.stack([r[..., 2, 1] - r[..., 1, 2], r[..., 0, 2] - r[..., 2, 0], r[..., 1, 0] - r[..., 0, 1]], -1)
    return torch.cat([xyz / (4 * w[..., None]), w[..., None]], -1)


def any_view(logits, batch):
    """Terms of the any-view net's loss, weighted."""
    target, valid, scale = log_targets(batch, True)
    error = logits["depth"] - target
    confidence = logits["conf"].clamp(max=5.0).exp() + 1
    weighted = confidence * error.abs().clamp(max=2.0).detach() - CONFIDENCE_PRIOR * confidence.log()
    pose, wanted = logits["pose"], pose_targets(batch, scale)
    quaternion = functional.normalize(pose[..., 3:7], dim=-1)
    return {
        "depth": masked_mean(magnitude(error), valid),
        "gradient": 0.5 * gradient(error, valid),
        "sky": 0.1 * beyond(logits["depth"], target, ~valid) + 0.02 * masked_mean(confidence - 1, ~valid),
        "confidence": 0.3 * masked_mean(weighted, valid),
        "field": 1.5 * (pose[..., 7:] - wanted[..., 7:]).abs().mean(),
        "pose": 0.5 * (pose[..., :3] - wanted[..., :3]).abs().clamp(max=3.0).mean() + (quaternion - wanted[..., 3:7]).abs().mean(),
    }


def metric(logits, batch):
    """Terms of the metric net's loss, weighted. The sky map is ReLU of its logit: 1 in the sky, 0 elsewhere.

    The mean error of a picture counts once more by itself: pixel by pixel, a wrong scale is hidden behind the larger errors of shape.
    Sky is what passes 0.3 (official): errors in the sky weigh 3 to 7, so that a pixel that is as likely sky as not gets that value.
    """
    target, valid, _ = log_targets(batch, False)
    error = logits["depth"] - target
    scale = torch.where(valid, error, 0.0).sum((-2, -1)) / valid.sum((-2, -1)).clamp(min=1)
    sky = torch.where(valid, 1.4 * functional.relu(logits["sky"]).square(), 0.6 * (logits["sky"] - 1.0).square())
    return {
        "depth": masked_mean(magnitude(error), valid),
        "scale": scale.abs().mean(),
        "outside": 0.25 * outside(error, valid),
        "gradient": 0.5 * gradient(error, valid),
        "beyond": 0.1 * beyond(logits["depth"], target, ~valid),
        "sky": sky.clamp(max=4.0).mean(),
    }
