"""Which Python packages are there, what they are for, and how to get those that are not."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec


@dataclass(frozen=True)
class Package:
    module: str
    """Name to import."""
    purpose: str
    get: str
    """Command, or what to do."""
    distribution: str = ""
    """Name to install, where it is another than the module's."""
    needed: bool = False
    """True where nothing works without it."""


PACKAGES = (
    Package("depth_anything_ros._native", "the engine", "build it: pip install ., colcon build or make build", needed=True),
    Package("numpy", "all", "pip install numpy", needed=True),
    Package("cv2", "pictures", "pip install opencv-python-headless", "opencv-python-headless", needed=True),
    Package(
        "rclpy", "the node, play, record", "source a ROS 2 distribution (source /opt/ros/DISTRO/setup.bash), or pip install ros-jazzy-rclpy"
    ),
    Package("rosbags", "bags: play, record, replay, sample, demo", "pip install rosbags"),
    Package("huggingface_hub", "models fetch", "pip install huggingface_hub"),
    Package("skimage", "verify, sample --scene motorcycle", "pip install scikit-image", "scikit-image"),
    Package("plyfile", "infer and reconstruct --formats ply, gaussians", "pip install plyfile"),
    Package("matplotlib", "evaluate --plots", "pip install matplotlib"),
    Package("ray", "replay --ray", "pip install ray"),
)

_COME_WITH = {"apsw": "rosbags", "backports": "rosbags", "lz4": "rosbags", "ruamel": "rosbags"}


def how_to_get(module: str) -> str:
    """What to do about a module that cannot be imported; empty for one that is in none of the packages."""
    top = module.partition(".")[0]
    wanted = {module, top, _COME_WITH.get(top, "")}
    return next((package.get for package in PACKAGES if package.module in wanted), "")


@dataclass(frozen=True)
class Found:
    """A package on this machine."""

    version: str
    """"yes" for what has none."""
    problem: str = ""
    """Why it cannot be imported although it is there: a library that it lacks, a build for another Python or NumPy."""


def find_package(package: Package) -> Found | None:
    """None where it is not there. It is imported, since only that tells whether it works."""
    try:
        if find_spec(package.module) is None:
            return None
    except ModuleNotFoundError:
        return None
    try:
        found = version(package.distribution or package.module)
    except PackageNotFoundError:
        found = "yes"
    try:
        import_module(package.module)
    except (ImportError, AttributeError, OSError, RuntimeError) as error:
        return Found(found, f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else 'no reason given'}")
    return Found(found)


def described(package: Package, found: Found | None) -> str:
    """A line for people: name, version or state, purpose, and what to do where it does not work."""
    name = "engine" if package.module.endswith("_native") else package.distribution or package.module
    if found is not None and not found.problem:
        return f"{name:<24} {found.version:<10} {package.purpose}"
    state, why = ("MISSING", "") if found is None else ("BROKEN", f"; {found.problem}")
    return f"{name:<24} {state:<10} {package.purpose}{why}; to get it: {package.get}"
