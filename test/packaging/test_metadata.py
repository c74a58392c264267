"""The package's own papers agree with one another."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from catkin_pkg.package import parse_package

from depth_anything_ros import __version__
from depth_anything_ros.cli import VERBS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def manifest() -> object:
    return parse_package(str(ROOT))


def test_one_version_everywhere(manifest: object) -> None:
    cmake = re.search(r"project\(depth_anything VERSION (\S+)", (ROOT / "native/CMakeLists.txt").read_text())
    assert {manifest.version, cmake.group(1)} == {__version__}
    assert "[Unreleased]" in (ROOT / "CHANGELOG.md").read_text()


def test_manifest_is_a_python_package_under_apache(manifest: object) -> None:
    assert manifest.package_format == 3
    assert manifest.licenses == ["Apache-2.0"]
    assert [str(export) for export in manifest.exports] == ["<build_type>ament_python</build_type>"]
    assert "Apache License" in (ROOT / "LICENSE").read_text()


def test_every_ros_package_that_is_imported_is_declared(manifest: object) -> None:
    declared = {dependency.name for dependency in manifest.exec_depends}
    imported = set()
    for path in [*(ROOT / "depth_anything_ros").rglob("*.py"), *(ROOT / "launch").glob("*.py")]:
        for line in path.read_text(encoding="utf-8").splitlines():
            if match := re.match(r"\s*(?:from|import) (rclpy|launch_ros|launch|\w+_msgs|std_srvs)\b", line):
                imported.add(match.group(1))
    # What rclpy itself stands on comes with it.
    assert imported - {"rcl_interfaces", "builtin_interfaces"} <= declared
    assert "rclpy" in imported


def test_requirements_and_setup_name_the_same_packages() -> None:
    listed = {re.split(r"[><=]", line)[0] for line in (ROOT / "requirements/run.txt").read_text().splitlines() if line[:1].isalpha()}
    setup = (ROOT / "setup.py").read_text()
    assert listed and all(f'"{name}' in setup for name in listed)


def test_readme_names_every_verb() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [verb for verb in VERBS if f"`{verb}`" not in readme] == []


def test_links_in_the_papers_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target, section in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page.read_text()):
            there = page.parent / target if target else page
            assert there.exists(), f"{page.name} links to {target}"
            assert not section or section in _sections(there), f"{page.name} links to {target}#{section}"


def _sections(page: Path) -> set[str]:
    """As GitHub names them: letters, digits and hyphens of the heading in lower case."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_page_of_parity_counts_its_own_table() -> None:
    page = (ROOT / "docs/parity.md").read_text()
    rows = [line.strip("| ").split("|") for line in page.splitlines() if re.match(r"\| da[23]\S* \| \d+x\d+", line)]
    models, tensors = len({row[0].strip() for row in rows}), sum(int(row[-1]) for row in rows)
    assert models >= 18 and f"compares {tensors} tensors of the {models} official models" in page


def test_the_build_takes_what_apt_has_where_ros_is() -> None:
    """rosdep installs these: Ubuntu 22.04 (Humble) and 24.04 (Jazzy, Kilted)."""
    files = {"pybind11": "native/python/CMakeLists.txt", "cmake": "native/CMakeLists.txt"}
    patterns = {"pybind11": r"find_package\(pybind11 ([\d.]+)", "cmake": r"cmake_minimum_required\(VERSION ([\d.]+)"}
    for apt in ({"pybind11": (2, 9, 1), "cmake": (3, 22, 1)}, {"pybind11": (2, 11, 1), "cmake": (3, 28, 3)}):
        for name, version in apt.items():
            wanted = re.search(patterns[name], (ROOT / files[name]).read_text())[1]
            assert tuple(map(int, wanted.split("."))) <= version


def test_licences_of_what_is_linked_in_go_with_the_package() -> None:
    """setuptools puts NOTICE beside LICENSE into wheels and source archives."""
    notice = (ROOT / "NOTICE").read_text()
    for owner in ("The ggml authors", "Wenzel Jakob"):
        assert owner in notice
    assert "THE SOFTWARE IS PROVIDED" in notice and "THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS" in notice


def test_source_archive_holds_what_the_build_needs(tmp_path: Path) -> None:
    command = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(tmp_path), "sdist", "--dist-dir", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    archive = next(tmp_path.glob("*.tar.gz"))
    names = subprocess.run(["tar", "tf", archive], check=True, capture_output=True, text=True).stdout
    for needed in (
        "depth_anything_ros/samples/drive.npz",
        "native/CMakeLists.txt",
        "native/cmake/fetch_ggml.py",
        "native/src/engine.cpp",
        "package.xml",
        "resource/",
        "LICENSE",
        "NOTICE",
        "depth_anything_ros/report/assets/three.LICENSE",
    ):
        assert needed in names
    assert ".so" not in names.replace(".source", "")
