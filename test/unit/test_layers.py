"""Imports go one way, as docs/architecture.md draws them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = "depth_anything_ros"
ROOT = Path(__file__).resolve().parents[2] / PACKAGE

LEVEL = {
    "types": 0,
    "errors": 0,
    "paths": 0,
    "images": 1,
    "compressed": 1,
    "rectification": 1,
    "upsampling": 1,
    "edges": 1,
    "depth": 1,
    "geometry": 1,
    "colors": 1,
    "files": 1,
    "process": 1,
    "progress": 1,
    "motorcycle": 1,
    "scenes": 2,
    "models": 1,
    "_native": 1,
    "export": 2,
    "scale": 2,
    "engine": 2,
    "worker": 2,
    "stage_clock": 2,
    "pipeline": 3,
    "background": 3,
    "engine_room": 3,
    "ros": 4,
    "cli": 4,
    "convert": 4,
    "bench": 4,
    "checks": 4,
    "replay": 5,
    "evaluate": 5,
    "report": 6,
    "__main__": 7,
}
MAY_IMPORT_PEERS = {"ros", "cli", "convert", "bench", "checks", "replay", "evaluate", "report", "models", "export", "scale"}
"""Folders: their modules know each other."""
FOREIGN = {
    "rclpy": {"ros"},
    "ray": {"replay"},
    "matplotlib": {"evaluate"},
    "torch": set(),
    "sensor_msgs": {"ros"},
    "diagnostic_msgs": {"ros"},
    "gguf": set(),
    "huggingface_hub": {"models"},
    "plyfile": {"export"},
    "pycolmap": set(),
    "pygltflib": set(),
    "trimesh": set(),
}


def modules() -> list[Path]:
    return [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


def owner(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path, *, inside_functions: bool) -> set[str]:
    """Dotted names that a module imports; at the top level only, or everywhere."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = ast.walk(tree) if inside_functions else iter(tree.body)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: imports are absolute"
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def targets(path: Path, *, inside_functions: bool) -> set[str]:
    """Owners of our own modules that a module imports."""
    own = {name for name in imports(path, inside_functions=inside_functions) if name.startswith(PACKAGE + ".")}
    return {name.split(".")[1] for name in own} & set(LEVEL)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_arrows_point_down(path: Path) -> None:
    here = owner(path)
    assert here in LEVEL, f"{path.name} has no layer; add it to docs/architecture.md and here"
    for target in targets(path, inside_functions=here != "cli"):
        if target == here and here in MAY_IMPORT_PEERS:
            continue
        peers_below = LEVEL[target] == LEVEL[here] and here not in MAY_IMPORT_PEERS and target != here
        assert LEVEL[target] < LEVEL[here] or (peers_below and LEVEL[here] <= 1), f"{here} imports {target}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_heavy_packages_stay_in_their_folder(path: Path) -> None:
    for name in imports(path, inside_functions=True):
        allowed = FOREIGN.get(name.split(".")[0])
        assert allowed is None or owner(path) in allowed, f"{path.name} imports {name}"


def test_importing_the_package_is_light() -> None:
    code = f"import sys, {PACKAGE}; print(sorted(set(sys.modules) & {{'rclpy', 'torch', 'cv2', 'sensor_msgs', '{PACKAGE}._native'}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent)
    assert done.stdout.strip() == "[]"
