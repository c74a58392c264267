"""The engine: one GGUF file, one picture in, one prediction out.

Basic use::

    from depth_anything_ros import Engine

    with Engine.load("da3-small.gguf") as engine:
        prediction = engine.infer(rgb)          # uint8 [H, W, 3]
        prediction.depth                        # float32 [h, w] at the network size

What happens in `infer`: the picture is resized as the official code does it (long side to `resolution`, then both sides to multiples of
the patch), normalised straight into the graph's input, computed without the GIL, and the maps are copied out. Graphs are kept per size.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType

import numpy as np

import depth_anything_ros._native as _native
from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.models.cache import resolve_model
from depth_anything_ros.types import (
    DepthKind,
    Gaussians,
    Intrinsics,
    KnownCamera,
    ModelInfo,
    PartTime,
    Prediction,
    Timings,
    UInt8Array,
    Wanted,
)


@dataclass(frozen=True)
class EngineOptions:
    """How an engine runs. Zeros mean "choose for me"."""

    threads: int = 0
    """CPU threads; 0 takes the cores that this process may use."""
    device: str = "cpu"
    """Where the network runs: cpu, cuda, vulkan (cuda:1: the second), ggml (ggml's own operators on the CPU), or a list such as
    cuda,cpu, of which the first that is there is taken."""
    resolution: int = 0
    """Long side of the processed picture in pixels, of V2 the short one; 0 takes the model's own (504, V2: 518)."""
    cached_sizes: int = 4
    """How many picture sizes keep their graph and buffers."""
    memory_limit: int = 0
    """Bytes that weights and graphs may take, of each network of a pair; 0 takes what the machine (or its cgroup) has available."""
    metric_model: str | os.PathLike[str] = ""
    """Metric network (name or file) that gives an any-view one its metres: the other half of DA3NESTED, or DA3METRIC. Empty for none."""
    exact: bool = False
    """Compute everything in floats: slower. Of quantised files only the weights are rounded then; for f32 and f16 files it makes a
    difference with avx512_amx alone, which takes whole numbers of 24 bits for floats."""
    instruction_set: str = ""
    """Of the CPU kernels: avx512_amx, avx512_vnni, avx512, avx2_vnni, avx2, sse42, neon_i8mm, neon_dotprod or neon; empty takes the best
    usable one."""


class Engine:
    """A loaded model. `infer` and `close` may be called from any thread, one at a time; `cancel` from any thread at any time."""

    def __init__(self, native: _native.NativeEngine) -> None:
        self._native: _native.NativeEngine | None = native
        self._info = _model_info(native.info())

    @classmethod
    def load(cls, model: str | os.PathLike[str], options: EngineOptions | None = None, **overrides: object) -> Engine:
        """Load a GGUF file.

        model: path of the file (``~`` is expanded), or the name of a fetched model such as ``da3-small`` (`models.cache.resolve_model`).
        options and overrides: see `EngineOptions`; `Engine.load(path, threads=2)` is enough.
        Raises ModelError (file cannot be used), DeviceError (device or memory), OptionError (an option is out of range or unknown).
        """
        chosen = _merged(options or EngineOptions(), overrides)
        metric_model = os.fsencode(resolve_model(chosen.metric_model)) if chosen.metric_model else ""
        native_options = _native.EngineOptions(**{**vars(chosen), "metric_model": metric_model})
        return cls(_native.NativeEngine(os.fsencode(resolve_model(model)), native_options))

    @property
    def info(self) -> ModelInfo:
        return self._info

    def processed_size(self, width: int, height: int) -> tuple[int, int]:
        """Size (width, height) that a picture of that size is processed at."""
        return self._open().processed_size(width, height)

    def infer(
        self,
        pixels: UInt8Array,
        *,
        bgr: bool = False,
        intrinsics: Intrinsics | None = None,
        wanted: Wanted = Wanted(),
        fill_sky: bool = True,
        stages: Iterable[str] = (),
        ray_pose: bool = False,
        cameras: Sequence[KnownCamera] = (),
        seed: int = 0,
    ) -> Prediction:
        """Depth of one picture: `infer_views` with one.

        pixels: uint8 [H, W, 3]; rows may be padded (positive strides, packed pixels), no copy is made.
        intrinsics: of the picture as given; a model that needs a focal length gives metres only with it (official `focal / 300` at the
        processed size), and a pair trusts it more than its own estimate (the official one knows no other).
        fill_sky: mono and metric nets give sky pixels the 0.99-quantile of the rest, as the official code does.
        ray_pose: intrinsics and extrinsics from the rays of all pixels in place of the camera decoder (files with the ray branch).
        cameras: one for each picture; see `infer_views`. seed: of the random choices of `ray_pose` and of ten known cameras and more.
        Raises InputError (intrinsics of another size than the picture's among them), CancelledError (after `cancel`), DeviceError,
        ModelError (the file lacks what ray_pose or cameras need), OptionError (seed; the engine was closed).
        """
        return self.infer_views(
            [pixels],
            bgr=bgr,
            intrinsics=intrinsics,
            wanted=wanted,
            fill_sky=fill_sky,
            stages=stages,
            ray_pose=ray_pose,
            cameras=cameras,
            seed=seed,
        )[0]

    def infer_views(
        self,
        pictures: Sequence[UInt8Array],
        *,
        bgr: bool = False,
        intrinsics: Intrinsics | None = None,
        wanted: Wanted = Wanted(),
        fill_sky: bool = True,
        stages: Iterable[str] = (),
        ray_pose: bool = False,
        cameras: Sequence[KnownCamera] = (),
        seed: int = 0,
    ) -> list[Prediction]:
        """Depth of several pictures of one scene, one prediction each.

        An any-view network looks at all of them together: depths agree, and extrinsics have one origin. Of three pictures and more the
        network chooses the reference itself. Pictures that are processed at different sizes are cropped to the smallest, about their
        centres. intrinsics: of every picture. Stages are those of the first picture, timings those of the whole call. Rest: see `infer`.

        cameras: one for each picture, where they are known (files with the encoder of cameras): depth is conditioned on them and comes in
        metres, theirs, and they are given back as the pictures' cameras. Cameras that stand at one place do not tell the scale: then depth
        stays what it is without them, and extrinsics are the network's.
        """
        pictures = list(pictures)
        for pixels in pictures:
            _check_fit(pixels, intrinsics)
        for pixels, camera in zip(pictures, cameras):
            _check_fit(pixels, camera.intrinsics)
        _check_whole("seed", seed, 0, 2**64)
        options = _native.InferOptions(
            focal=None if intrinsics is None else (intrinsics.fx, intrinsics.fy),
            **vars(wanted),
            ray_pose=ray_pose,
            seed=seed,
            fill_sky=fill_sky,
            stages=list(stages),
            cameras=[_known(camera) for camera in cameras],
        )
        return [_prediction(raw) for raw in self._open().infer_views(pictures, bgr, options)]

    def warm_up(self, width: int, height: int, wanted: Wanted = Wanted()) -> None:
        """Build everything that depends on the picture size, so that the first real frame is as fast as the rest."""
        self.infer(np.zeros((height, width, 3), np.uint8), wanted=wanted)

    def parts(self) -> list[PartTime]:
        """Where the time of the last call went, largest first; what is not in a kernel of ours is missing."""
        return [PartTime(*part) for part in self._open().parts()]

    def peak(self) -> float:
        """Floating-point operations per second that this machine's fused multiply-adds reach on the engine's threads (20 ms)."""
        return self._open().peak()

    def cancel(self) -> None:
        """Make the running `infer` raise CancelledError within 100 ms; without one, nothing happens. From any thread."""
        if (native := self._native) is not None:
            native.cancel()

    def close(self) -> None:
        """Free the model, once a running `infer` has ended; the engine cannot be used afterwards, but closed again."""
        self._native = None

    def _open(self) -> _native.NativeEngine:
        """Raises OptionError ``option.closed``."""
        native = self._native
        if native is None:
            raise OptionError("option.closed", f"The engine of {self._info.path} was closed; load the model again.")
        return native

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def inspect_model(model: str | os.PathLike[str]) -> ModelInfo:
    """What a model file is and can give, without its weights: see `Engine.load` for `model`; `device` and `instruction_set` stay empty.

    Raises ModelError: the header or the table of tensors is not that of a model.
    """
    return _model_info(_native.inspect(os.fsencode(resolve_model(model))))


def _model_info(facts: dict[str, object]) -> ModelInfo:
    return ModelInfo(**{**facts, "kind": DepthKind(facts["kind"])})  # type: ignore[arg-type]


def _check_fit(pixels: UInt8Array, intrinsics: Intrinsics | None) -> None:
    """A focal length in pixels of another size than the picture's would make metres that are wrong by that factor."""
    if not isinstance(pixels, np.ndarray):
        raise InputError(
            "input.shape",
            f"The picture is a {type(pixels).__name__}; give a NumPy array, uint8 [height, width, 3]. "
            "(cv2.imread gives None for a file that it cannot read.)",
        )
    if intrinsics is None or pixels.ndim != 3:
        return
    height, width = pixels.shape[:2]
    if (intrinsics.width, intrinsics.height) != (width, height):
        raise InputError(
            "input.intrinsics",
            f"Intrinsics of {intrinsics.width}x{intrinsics.height} pixels were given for a picture of {width}x{height}; "
            "bring them to its size (geometry.scale_intrinsics).",
        )


def _known(camera: KnownCamera) -> _native.KnownCamera:
    pose = np.asarray(camera.camera_from_world, np.float64)
    if pose.shape != (3, 4):
        raise InputError("input.pose", f"A camera's pose has shape {list(pose.shape)}; give camera_from_world as [3, 4].")
    k = camera.intrinsics
    return _native.KnownCamera(pose.ravel().tolist(), k.fx, k.fy, k.cx + 0.5, k.cy + 0.5)


def _prediction(raw: dict[str, object]) -> Prediction:
    raw["kind"] = DepthKind(raw["kind"])
    raw["timings"] = Timings(*raw["timings"])  # type: ignore[misc]
    if raw["intrinsics"] is not None:
        raw["intrinsics"] = Intrinsics(*raw["intrinsics"])  # type: ignore[misc]
    if isinstance(gaussians := raw["gaussians"], dict):
        raw["gaussians"] = Gaussians(**{**gaussians, "kind": DepthKind(gaussians["kind"])})
    return Prediction(**raw)  # type: ignore[arg-type]


def _merged(options: EngineOptions, overrides: dict[str, object]) -> EngineOptions:
    unknown = sorted(set(overrides) - set(vars(options)))
    if unknown:
        raise OptionError("option.unknown", f"Engine.load has no option {', '.join(unknown)}; known: {', '.join(vars(options))}.")
    merged = EngineOptions(**{**vars(options), **overrides})
    for name, (low, high) in _WHOLE_NUMBERS.items():
        _check_whole(name, getattr(merged, name), low, high)
    for name in ("device", "instruction_set"):
        if not isinstance(value := getattr(merged, name), str):
            raise OptionError("option.range", f"{name} is {value!r}, must be a text.")
    if not isinstance(merged.exact, (bool, np.bool_)):
        raise OptionError("option.range", f"exact is {merged.exact!r}, must be True or False.")
    return merged


def _check_whole(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, (int, np.integer)) or not low <= value < high:
        raise OptionError("option.range", f"{name} is {value!r}, must be a whole number from {low} to {high - 1}.")


_INT = (-(2**31), 2**31)
_WHOLE_NUMBERS = {"threads": _INT, "resolution": _INT, "cached_sizes": _INT, "memory_limit": (0, 2**64)}
"""What the native engine can take, which knows better what makes sense."""
