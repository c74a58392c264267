"""Names of models: those in the package, every published GGUF file, every official checkpoint; what each gives, and its licence."""

from __future__ import annotations

from dataclasses import dataclass

from depth_anything_ros.errors import OptionError
from depth_anything_ros.models.checkpoint_facts import CheckpointFact, known_checkpoint
from depth_anything_ros.models.published import PUBLISHED, REPOSITORY


@dataclass(frozen=True)
class ModelFile:
    """One file of a repository on the hub. A size or SHA-256 that is None is not known beforehand."""

    name: str
    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Model:
    """A name: a GGUF file, or the files of an official checkpoint."""

    name: str
    checkpoint: str
    repository: str
    """On the hub; empty for a model that lies in the package."""
    files: tuple[ModelFile, ...]
    converts_as: str = ""
    """Of a checkpoint: its name for ``convert --model``. Its own config.json does not tell versions apart, a .pth file has none."""

    @property
    def fact(self) -> CheckpointFact:
        fact = known_checkpoint(self.checkpoint)
        assert fact is not None, self.checkpoint
        return fact

    @property
    def is_gguf(self) -> bool:
        return self.files[0].name.endswith(".gguf")

    @property
    def is_shipped(self) -> bool:
        """True for a model in the package, which needs no fetching."""
        return not self.repository

    @property
    def size(self) -> int | None:
        """Bytes of all files together; None where one is not known beforehand."""
        sizes = [file.size for file in self.files if file.size is not None]
        return sum(sizes) if len(sizes) == len(self.files) else None

    @property
    def outputs(self) -> tuple[str, ...]:
        """What this version gets out of the network."""
        return next(outputs for start, outputs in _OUTPUTS.items() if self.checkpoint.startswith(start))

    @property
    def hint(self) -> str:
        """What has to be done to run it; empty where it runs as it is."""
        return _HINTS.get(self.checkpoint, "") if self.is_gguf else "to convert"


_SKY = ("depth", "sky")
_ANY_VIEW = ("depth", "confidence", "pose")
_OUTPUTS: dict[str, tuple[str, ...]] = {
    "DA3MONO": _SKY,
    "DA3METRIC": _SKY,
    "DA3NESTED-GIANT-LARGE-metric": _SKY,
    "DA3NESTED-GIANT-LARGE-anyview": (*_ANY_VIEW, "gaussians"),
    "DA3-GIANT": (*_ANY_VIEW, "gaussians"),
    "DA3-": _ANY_VIEW,
    "Depth-Anything-V2": ("depth",),
}
"""Beginning of a checkpoint name (the first that fits holds) to its outputs."""
_HINTS = {"DA3NESTED-GIANT-LARGE-metric": "metric model of da3nested-anyview"}
"""Checkpoints of which a file does not run alone."""


def find_model(name: str) -> Model | None:
    """The model of that name."""
    return next((model for model in MODELS if model.name == name), None)


def get_model(name: str) -> Model:
    """The model of that name. Raises OptionError (``option.unknown``)."""
    model = find_model(name)
    if model is None:
        raise OptionError("option.unknown", f"There is no model {name!r}; `depth-anything-ros models list` shows the names.")
    return model


_SHORT = (
    ("depth-anything-mono-", "da3mono-"),
    ("depth-anything-metric-", "da3metric-"),
    ("depth-anything-nested-", "da3nested-"),
    ("depth-anything2-", "da2-"),
    ("depth-anything-", "da3-"),
)
_CASE = {"hypersim": "Hypersim", "vkitti": "VKITTI", "metric": "Metric", "small": "Small", "base": "Base", "large": "Large"}


def _published() -> tuple[Model, ...]:
    return tuple(
        Model(name, _checkpoint(name), REPOSITORY, (ModelFile(file, size, sha256),))
        for name, file, size, sha256 in ((_name(file), file, size, sha256) for file, size, sha256 in PUBLISHED)
    )


def _name(file: str) -> str:
    """``da3-base`` for depth-anything-base-f32.gguf, ``da3-base-q8_0`` for depth-anything-base-q8_0.gguf."""
    stem = file.removesuffix(".gguf").removesuffix("-f32")
    long, short = next(pair for pair in _SHORT if stem.startswith(pair[0]))
    return short + stem.removeprefix(long)


def _checkpoint(name: str) -> str:
    """The `checkpoint_name` in the file of that name."""
    family, *words = [word for word in name.split("-") if word not in ("f16", "q8_0", "q6_k", "q5_k", "q4_k")]
    if family == "da2":
        return "-".join(["Depth-Anything-V2", *(_CASE[word] for word in words)])
    if family == "da3nested":
        return f"DA3NESTED-GIANT-LARGE-{words[0]}"
    return "-".join([family, *words]).upper()


_SAFETENSORS = (ModelFile("model.safetensors"), ModelFile("config.json"))
_OFFICIAL_DA3 = ("DA3-SMALL", "DA3-BASE", "DA3-LARGE", "DA3-LARGE-1.1", "DA3-GIANT", "DA3-GIANT-1.1", "DA3MONO-LARGE", "DA3METRIC-LARGE")
_V2_ENCODERS = {"Small": "vits", "Base": "vitb", "Large": "vitl"}


def _official() -> tuple[Model, ...]:
    da3 = [Model(f"{name.lower()}-official", name, f"depth-anything/{name}", _SAFETENSORS, name.lower()) for name in _OFFICIAL_DA3]
    nested = [
        Model(
            f"da3nested-giant-large{version}-official",
            "DA3NESTED-GIANT-LARGE-anyview",
            f"depth-anything/DA3NESTED-GIANT-LARGE{version}",
            _SAFETENSORS,
            "da3nested-giant-large",
        )
        for version in ("", "-1.1")
    ]
    da2 = [
        Model(
            f"da2-{infix}{size}-official".lower(),
            f"Depth-Anything-V2-{infix}{size}",
            f"depth-anything/Depth-Anything-V2-{infix}{size}",
            (ModelFile(f"depth_anything_v2_{infix}{encoder}.pth".lower().replace("-", "_")),),
            f"da2-{infix}{size}".lower(),
        )
        for infix in ("", "Metric-Hypersim-", "Metric-VKITTI-")
        for size, encoder in _V2_ENCODERS.items()
    ]
    return (*da3, *nested, *da2)


_SHIPPED = (
    Model("nano", "DA3METRIC-NANO", "", (ModelFile("nano-metric.gguf"),)),
    Model("nano-metric", "DA3METRIC-NANO", "", (ModelFile("nano-metric.gguf"),)),
    Model("nano-any-view", "DA3-NANO", "", (ModelFile("nano-any-view.gguf"),)),
)
"""`nano` is the one that gives metres; the two together are a nested pair (docs/nano.md)."""

MODELS: tuple[Model, ...] = (*_SHIPPED, *_published(), *_official())
"""Every known model; a name says which checkpoint it is, and for a quantised file its type."""
