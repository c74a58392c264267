"""The C library as a program meets it: installed into a folder of its own, found by CMake or pkg-config, used from C."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from toy_model import any_view_model

from depth_anything_ros import Engine

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "c_library"

pytestmark = [pytest.mark.native, pytest.mark.timeout(1500)]  # the first time the engine is compiled


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


def ggml_of_build():
    """The option of CMake for the ggml of `make build`, where there is one."""
    ggml = ROOT / ".local" / "ggml" / "lib" / "cmake" / "ggml"
    return [f"-Dggml_DIR={ggml}"] if ggml.is_dir() else []


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Where the library is installed; it is built in build/c_library, with the ggml of `make build` where there is one."""
    run("cmake", "-S", ROOT / "native", "-B", BUILD, "-G", "Ninja", "-DDA_BUILD_C_LIBRARY=ON", *ggml_of_build())
    run("cmake", "--build", BUILD, "--parallel", 2)
    folder = tmp_path_factory.mktemp("with space") / "prefix"
    run("cmake", "--install", BUILD, "--prefix", folder)
    return folder


@pytest.fixture(scope="module")
def library_folder(prefix):
    return next(prefix.rglob("libdepth_anything.so")).parent


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return any_view_model(tmp_path_factory.mktemp("models"))


def depth_by_program(program, model, picture, folder):
    """float32 [h, w] of the example `program` for uint8 RGB `picture`."""
    height, width, _ = picture.shape
    (folder / "picture.ppm").write_bytes(b"P6\n%d %d\n255\n" % (width, height) + picture.tobytes())
    run(program, model, folder / "picture.ppm", folder / "depth.pfm")
    kind, size, scale, values = (folder / "depth.pfm").read_bytes().split(b"\n", 3)
    assert (kind, scale) == (b"Pf", b"-1.0")
    width, height = map(int, size.split())
    return np.frombuffer(values, "<f4").reshape(height, width)[::-1]


def test_licences_are_installed(prefix):
    folder = prefix / "share" / "licenses" / "depth_anything"
    assert [path.read_bytes() for path in (folder / "LICENSE", folder / "NOTICE")] == [
        (ROOT / name).read_bytes() for name in ("LICENSE", "NOTICE")
    ]


@pytest.mark.parametrize("backend", ["ggml::ggml-vulkan", "ggml::ggml-cuda"])
def test_with_a_gpu_there_is_no_static_library(tmp_path, backend):
    """It would lack the GPU's runtime, and no program could be linked with it."""
    (tmp_path / "gpu.cmake").write_text(f"add_library({backend} INTERFACE IMPORTED)\n")
    ggml = ROOT / ".local" / "ggml" / "lib" / "cmake" / "ggml"
    found = [f"-Dggml_DIR={ggml}"] if ggml.is_dir() else []
    told = run("cmake", "-S", ROOT / "native", "-B", tmp_path / "build", "-G", "Ninja", "-DDA_BUILD_C_LIBRARY=ON", *found,
               f"-DCMAKE_PROJECT_depth_anything_INCLUDE={tmp_path / 'gpu.cmake'}")  # fmt: skip
    targets = run("ninja", "-C", tmp_path / "build", "-t", "targets", "all")
    assert "shared only" in told and "libdepth_anything.so:" in targets and "libdepth_anything.a:" not in targets


@pytest.mark.parametrize("static", ["OFF", "ON"])
def test_example_on_the_installed_package_gives_the_depth_of_python(prefix, model, photo, tmp_path, static):
    run("cmake", "-S", ROOT / "native" / "example", "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DSTATIC={static}")
    run("cmake", "--build", tmp_path / "build")
    found = depth_by_program(tmp_path / "build" / "depth", model, photo, tmp_path)
    with Engine.load(model) as engine:
        expected = engine.infer(photo).depth
    assert found.shape == expected.shape and found.tobytes() == expected.tobytes()
    linked = run("ldd", tmp_path / "build" / "depth")
    assert ("libdepth_anything.so.1" in linked) == (static == "OFF")


def test_as_a_part_of_another_project(tmp_path):
    """Under the names of the package, and with its header; the library itself is that of the other tests and is not built once more."""
    (tmp_path / "depth.c").write_bytes((ROOT / "native" / "example" / "depth.c").read_bytes())
    names = ["depth_anything", "depth_anything_static"]
    programs = [f"add_executable(with_{name} depth.c)\ntarget_link_libraries(with_{name} depth_anything::{name})\n" for name in names]
    head = "cmake_minimum_required(VERSION 3.18)\nproject(robot LANGUAGES C CXX)\nset(DA_BUILD_C_LIBRARY ON)\n"
    (tmp_path / "CMakeLists.txt").write_text(f'{head}add_subdirectory("{ROOT}/native" native)\n{"".join(programs)}')
    ggml = ROOT / ".local" / "ggml" / "lib" / "cmake" / "ggml"
    found = [f"-Dggml_DIR={ggml}"] if ggml.is_dir() else []
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", *found)
    for name in names:
        commands = run("ninja", "-C", tmp_path / "build", "-t", "commands", f"CMakeFiles/with_{name}.dir/depth.c.o")
        run("sh", "-c", f"cd '{tmp_path}/build' && {commands.splitlines()[-1]}")


def test_a_c_compiler_and_the_installed_files_are_enough(prefix, library_folder, model, photo, tmp_path):
    program = tmp_path / "depth"
    run("cc", "-std=c99", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", ROOT / "native" / "example" / "depth.c", "-o", program,
        f"-I{prefix}/include", f"-L{library_folder}", "-ldepth_anything", f"-Wl,-rpath,{library_folder}")  # fmt: skip
    assert np.isfinite(depth_by_program(program, model, photo, tmp_path)).all()
    refused = subprocess.run([program, tmp_path / "none.gguf", tmp_path / "picture.ppm", tmp_path / "out.pfm"], stderr=subprocess.PIPE)
    assert refused.returncode == 1 and b"none.gguf" in refused.stderr and not (tmp_path / "out.pfm").exists()
    (tmp_path / "deep.ppm").write_bytes(b"P6\n4 3\n65535\n" + bytes(72))
    refused = subprocess.run([program, model, tmp_path / "deep.ppm", tmp_path / "out.pfm"], stderr=subprocess.PIPE)
    assert refused.returncode == 1 and b"usage" in refused.stderr and not (tmp_path / "out.pfm").exists()


@pytest.mark.parametrize("name, option", [("libdepth_anything.so", "-D"), ("libdepth_anything.a", "-g")])
def test_only_the_functions_of_the_header_are_visible(prefix, library_folder, name, option):
    header = (prefix / "include" / "depth_anything" / "depth_anything.h").read_text()
    declared = {line.split("(")[0].split()[-1].lstrip("*") for line in header.splitlines() if line.startswith("DA_API ")}
    lines = run("nm", option, "--defined-only", library_folder / name).splitlines()
    assert {line.split()[2] for line in lines if len(line.split()) == 3} == declared and len(declared) == 10


def folders_of(text, place):
    """What the pkg-config file `text` means when it lies in the folder `place`."""
    folders = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return {
        name: Path(value.replace("${prefix}", folders["prefix"]).replace("${pcfiledir}", str(place))).resolve()
        for name, value in folders.items()
    }


def test_pkg_config_leads_to_the_installed_files(prefix, library_folder):
    place = library_folder / "pkgconfig"
    found = folders_of((place / "depth_anything.pc").read_text(), place)
    assert found == {"prefix": prefix.resolve(), "includedir": (prefix / "include").resolve(), "libdir": library_folder.resolve()}


@pytest.mark.parametrize("libraries", ["prefix/lib/some-machine", "elsewhere/lib"])
def test_pkg_config_with_a_whole_path_for_libraries(tmp_path, libraries):
    """As some distributions configure: CMAKE_INSTALL_LIBDIR is absolute, inside the prefix or not."""
    folders = {"prefix": tmp_path / "prefix", "libdir": tmp_path / libraries}
    options = [f"-DCMAKE_INSTALL_PREFIX={folders['prefix']}", f"-DCMAKE_INSTALL_LIBDIR={folders['libdir']}", *ggml_of_build()]
    run("cmake", "-S", ROOT / "native", "-B", tmp_path / "build", "-G", "Ninja", "-DDA_BUILD_C_LIBRARY=ON", *options)
    text = next((tmp_path / "build").rglob("depth_anything.pc")).read_text()
    assert folders_of(text, folders["libdir"] / "pkgconfig") == folders | {"includedir": folders["prefix"] / "include"}
