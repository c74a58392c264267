"""What a real camera does to light: exposure, white balance, lens blur, vignetting, noise, gamma, eight bits."""

import cv2
import numpy as np


def develop(linear, random):
    """Linear light [H, W, 3] float32 -> uint8 RGB, with faults drawn from `random`."""
    height, width = linear.shape[:2]
    bright = float(np.percentile(linear, 90)) + 1e-3
    picture = linear * (random.uniform(0.5, 1.0) / bright) ** random.uniform(0.5, 1.0)
    picture = picture * random.uniform(0.92, 1.08, 3).astype(np.float32)
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j].astype(np.float32)
    picture *= (1.0 - random.uniform(0.0, 0.25) * (x * x + y * y) / 2)[..., None]
    picture = cv2.GaussianBlur(picture, (0, 0), random.uniform(0.45, 0.9))
    shot = np.sqrt(np.clip(picture, 0, 1)) * random.uniform(0.0, 0.03) + random.uniform(0.0, 0.008)
    picture = picture + shot * random.standard_normal(picture.shape, dtype=np.float32)
    return (255.0 * np.clip(picture, 0, 1) ** (1 / 2.2) + 0.5).astype(np.uint8)
