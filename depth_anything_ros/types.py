"""The values that travel through the pipeline: frozen, small, without behaviour of ROS or of the engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Float32Array = NDArray[np.float32]
UInt8Array = NDArray[np.uint8]


class DepthKind(str, Enum):
    """What the numbers of a depth map mean."""

    METRIC = "metric"
    """Metres along the optical z axis."""
    RELATIVE_DEPTH = "relative_depth"
    """Depth along the optical z axis times one unknown scale; near is small."""
    RELATIVE_INVERSE_DEPTH = "relative_inverse_depth"
    """1/z with unknown scale and shift; near is large."""


@dataclass(frozen=True)
class Intrinsics:
    """Pinhole intrinsics of an image of `width` x `height` pixels, in pixels.

    OpenCV convention: the centre of the top left pixel is (0, 0).
    """

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float


@dataclass(frozen=True)
class KnownCamera:
    """A camera whose calibration and place are known before its picture is looked at."""

    intrinsics: Intrinsics
    """Of the picture as given."""
    camera_from_world: NDArray[np.floating]
    """[3, 4], OpenCV axes, metres: a rotation and the translation. Any world will do."""


@dataclass(frozen=True)
class ModelInfo:
    """What a model is and can give."""

    path: str
    checkpoint: str
    """`checkpoint_name` of the file, for example ``DA3-SMALL``."""
    architecture: str
    """``any_view`` (DualDPT and camera), ``mono`` (DPT and sky) or ``v2`` (Depth Anything V2, depth alone)."""
    kind: DepthKind
    """Best kind of depth that the model can give."""
    needs_focal: bool
    """True for DA3METRIC: depth is metric only when a focal length is given to `infer`, else relative."""
    license: str
    """SPDX identifier of the weights, or ``unknown``."""
    has_confidence: bool
    has_sky: bool
    has_pose: bool
    patch_size: int
    parameters: int
    """Number of scalars in the tensors of the file."""
    file_bytes: int
    device: str
    """What it runs on, with the kernels below; both empty as long as it is not loaded (`engine.inspect_model`)."""
    instruction_set: str
    has_rays: bool = False
    """Takes `ray_pose`: the file was converted with the auxiliary ray branch."""
    has_pose_encoder: bool = False
    """Takes known cameras: the file was converted with their encoder."""
    has_gaussians: bool = False


@dataclass(frozen=True)
class Wanted:
    """Which optional outputs are computed; depth always is. What a model cannot give stays absent."""

    confidence: bool = True
    sky: bool = True
    pose: bool = True
    gaussians: bool = False
    """3-D Gaussians of GIANT: 38 numbers for every pixel."""


@dataclass(frozen=True)
class Gaussians:
    """3-D Gaussians for splatting, one for each pixel of one picture, row by row, in the world of the network's own poses."""

    kind: DepthKind
    """Of all lengths: relative depth also where a pair or known cameras turn the depth map into metres (`Prediction.scale_factor`)."""
    means: Float32Array
    """float32 [n, 3], OpenCV axes."""
    scales: Float32Array
    """float32 [n, 3], standard deviation along the Gaussian's own axes."""
    rotations: Float32Array
    """float32 [n, 4], unit quaternion w, x, y, z."""
    harmonics: Float32Array
    """float32 [n, 3, 9], spherical harmonics of degree 0 to 2 for red, green and blue."""
    opacities: Float32Array
    """float32 [n], 0 to 1."""


@dataclass(frozen=True)
class PartTime:
    """What one kind of kernel did while a frame was computed."""

    name: str
    """products, attention, convolutions, resampling, norms or other."""
    seconds: float
    operations: float
    """Multiplications and additions of the direct method; 0 where they are not what takes the time."""


@dataclass(frozen=True)
class Timings:
    """Wall time of the stages of one `infer`, seconds."""

    preprocess: float
    compute: float
    postprocess: float


@dataclass(frozen=True)
class Prediction:
    """Result of `Engine.infer` for one picture, at the processed (network) size h x w. Absent outputs are None."""

    kind: DepthKind
    depth: Float32Array
    """float32 [h, w], unit by `kind`."""
    confidence: Float32Array | None
    """float32 [h, w], raw network value, 1 and more."""
    sky: Float32Array | None
    """float32 [h, w], raw network value, 0 and more; sky where it is at least 0.3."""
    intrinsics: Intrinsics | None
    """For the processed size: the model's own estimate, or those of the known camera. cx and cy count from the picture's corner."""
    extrinsics: Float32Array | None
    """float32 [3, 4], camera_from_world, translation in the unit of the depth."""
    timings: Timings
    stages: dict[str, Float32Array] = field(default_factory=dict)
    """Intermediate tensors asked for by name, in the order of the official modules (for parity tests)."""
    scale_factor: float | None = None
    """What the network's depth was multiplied with to be metres, by the metric network of a pair or by known cameras."""
    gaussians: Gaussians | None = None

    @property
    def width(self) -> int:
        return int(self.depth.shape[1])

    @property
    def height(self) -> int:
        return int(self.depth.shape[0])


@dataclass(frozen=True)
class Scale:
    """From a network's numbers to metres: z = factor * depth or, of inverse depth, 1 / z = factor * value + shift."""

    factor: float
    shift: float = 0.0


@dataclass(frozen=True)
class Frame:
    """One camera picture on its way through the pipeline."""

    pixels: UInt8Array
    """uint8 [H, W, 3], a view of the message where possible; rows may be padded (strides)."""
    bgr: bool
    """Channel order of `pixels`: False for RGB, True for BGR."""
    intrinsics: Intrinsics | None
    """Of this picture, or None when the camera is not calibrated."""
    stamp_ns: int
    frame_id: str
    rectified: bool = False
    """The lens distortion was removed from what the camera sent."""
    outside: UInt8Array | None = None
    """uint8 [H, W], 255 where a rectified picture has no pixel of the camera; None when all of it was seen."""


@dataclass(frozen=True)
class Products:
    """What one frame gives at the asked output size H x W; None for what was not wanted or cannot be given."""

    frame: Frame
    prediction: Prediction
    depth: Float32Array | None
    """float32 [H, W]: metres (NaN invalid, sky by policy) or, when `metric` is False, relative depth without unit."""
    metric: bool
    confidence: Float32Array | None
    """float32 [H, W], 0 to 1, 1 is good."""
    sky_mask: UInt8Array | None
    """uint8 [H, W], 0 or 255."""
    intrinsics: Intrinsics | None
    """Of the output maps (size H x W)."""
    points: NDArray[np.void] | None
    """Organised cloud [h, w] of a structured dtype x, y, z, rgb (and confidence), optical frame, metres."""
    color: UInt8Array | None
    """uint8 RGB [H, W, 3], the depth map for people."""
    timings: dict[str, float]
    """Stage name to seconds."""


class InfersDepth(Protocol):
    """What the pipeline and the scale's sources need of an engine."""

    @property
    def info(self) -> ModelInfo: ...

    def infer(
        self,
        pixels: UInt8Array,
        *,
        bgr: bool = False,
        intrinsics: Intrinsics | None = None,
        wanted: Wanted = Wanted(),
        fill_sky: bool = True,
    ) -> Prediction: ...
