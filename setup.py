"""Installs the package and builds its extension: setuptools drives CMake for native/.

Arguments for CMake (another ggml, a build profile, a compiler launcher) come from the customary variable CMAKE_ARGS, for example
``CMAKE_ARGS="-Dggml_DIR=/somewhere/lib/cmake/ggml" pip install .``; nothing else in this package reads the environment.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from glob import glob
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

PACKAGE = "depth_anything_ros"
# colcon runs this file from its build folder, where only links to the Python files lie: sources are found from the file's true place.
ROOT = Path(__file__).resolve().parent


class CMakeBuild(build_ext):
    """Build the target `_native` of native/CMakeLists.txt where setuptools expects the extension."""

    def build_extension(self, extension: Extension) -> None:
        output = Path(self.get_ext_fullpath(extension.name)).resolve().parent
        build = Path(self.build_temp).resolve() / "native"
        build.mkdir(parents=True, exist_ok=True)
        _cmake("-S", str(ROOT / "native"), "-B", str(build), *self._arguments(build, output))
        jobs = self.parallel or len(os.sched_getaffinity(0))
        _cmake("--build", str(build), "--target", "_native", "--parallel", str(jobs))

    def _arguments(self, build: Path, output: Path) -> list[str]:
        arguments = [
            "-DCMAKE_BUILD_TYPE=Release",
            f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={output}",
            f"-DPython_EXECUTABLE={sys.executable}",
            "-DDA_BUILD_PYTHON=ON",
            "-DDA_BUILD_TESTS=OFF",
        ]
        if not (build / "CMakeCache.txt").exists() and shutil.which("ninja"):
            arguments += ["-G", "Ninja"]
        return [*arguments, *_pybind11(), *shlex.split(os.environ.get("CMAKE_ARGS", ""))]


def _cmake(*arguments: str) -> None:
    if subprocess.run(["cmake", *arguments]).returncode != 0:
        raise SystemExit("CMake failed (see above); its command was: cmake " + shlex.join(arguments))


def _pybind11() -> list[str]:
    """Where pybind11's CMake package lies when it came by pip; the apt package is found by CMake itself."""
    try:
        import pybind11
    except ImportError:
        return []
    return [f"-Dpybind11_DIR={pybind11.get_cmake_dir()}"]


def _version() -> str:
    text = (ROOT / PACKAGE / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE).group(1)


setup(
    name=PACKAGE,
    version=_version(),
    description="Depth from one plain camera: Depth Anything 3 in a C++ engine on ggml, as a ROS 2 lifecycle node",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    author="depth_anything_ros maintainers",
    maintainer="depth_anything_ros maintainers",
    python_requires=">=3.10",
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    package_data={PACKAGE: ["py.typed", "_native.pyi", "samples/*.npz", "weights/*.gguf", "report/assets/*"]},
    ext_modules=[Extension(f"{PACKAGE}._native", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
        (f"share/{PACKAGE}/launch", glob("launch/*.launch.py")),
        (f"share/{PACKAGE}/config", glob("config/*")),
    ],
    install_requires=["numpy>=1.21", "opencv-python-headless>=4.5"],
    extras_require={
        "bags": ["rosbags>=0.11.9"],
        "ray": ["ray>=2.9"],
        "evaluate": ["matplotlib>=3.5"],
        "export": ["plyfile>=1.0"],
        "models": ["huggingface_hub>=0.25"],
        "demo": ["rosbags>=0.11.9", "scikit-image>=0.19"],
    },
    zip_safe=False,
    entry_points={
        "console_scripts": [
            "depth_node = depth_anything_ros.ros.node:main",
            "depth-anything-ros = depth_anything_ros.cli:main",
        ],
    },
)
