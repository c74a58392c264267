"""Model files that were crafted, belong to something else, may not be read or have strange names: through the front doors."""

from __future__ import annotations

import json
import os
import resource
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from toy_model import SMALLEST_ANY_VIEW, write_toy_model

from depth_anything_ros.cli import main
from depth_anything_ros.convert import gguf_file
from depth_anything_ros.convert.gguf_file import GgufFile, TensorInfo, TensorType
from depth_anything_ros.convert.output import Content, write_files

pytestmark = pytest.mark.native

ROOT = Path(__file__).parents[2]
TENSORS, VALUES = 8, 16
FIRST = "vit.cls_token"
HUNDRED_MB = 100 << 20
NOBODY = 65534

LOAD_ALL = """
import json, resource, sys
from pathlib import Path
from depth_anything_ros import DepthAnythingError, Engine
from depth_anything_ros.convert import gguf_file
Engine.load(sys.argv[2], threads=1).close()
gguf_file.read(Path(sys.argv[2]))
used = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmSize"))
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]),) * 2)
found = []
for path in sys.argv[3:]:
    for load in (lambda: Engine.load(path, threads=1), lambda: gguf_file.read(Path(path))):
        try:
            load()
            found.append("loaded")
        except DepthAnythingError as error:
            found.append(f"{error.code} {error}")
print(json.dumps(found))
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_toy_model(tmp_path, SMALLEST_ANY_VIEW)


def crafted(good: bytes) -> dict[str, bytes]:
    """The files of the case: numbers in the header that no file can keep."""
    dims = good.index(FIRST.encode()) + len(FIRST)
    rank = struct.unpack_from("<I", good, dims)[0]
    type_, offset = dims + 4 + 8 * rank, dims + 8 + 8 * rank

    def with_number(position: int, number: int, format: str = "<Q") -> bytes:
        changed = bytearray(good)
        struct.pack_into(format, changed, position, number)
        return bytes(changed)

    files = {f"{count} tensors": with_number(TENSORS, count) for count in (2**60, 2**32)}
    files |= {f"{count} values": with_number(VALUES, count) for count in (2**60, 2**32)}
    files |= {f"rank {count}": with_number(dims, count, "<I") for count in (0, 5, 2**31)}
    files["extent"] = with_number(dims + 12, 2**42 + 1)
    files["twice the data"] = with_number(dims + 12, 2**20)
    files["type 255"] = with_number(type_, 255, "<I")
    files["offset past the end"] = with_number(offset, 2**40)
    files["length of a key"] = with_number(24, 2**60)
    return files


@pytest.mark.case(65)
def test_crafted_files_are_one_error_and_little_memory(tmp_path: Path, model: Path) -> None:
    files = crafted(model.read_bytes())
    paths = []
    for name, content in files.items():
        paths.append(tmp_path / f"{name}.gguf")
        paths[-1].write_bytes(content)
    command = [sys.executable, "-c", LOAD_ALL, str(HUNDRED_MB), str(model), *map(str, paths)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) == 2 * len(paths)
    for path, by_engine, by_converter in zip(paths, found[::2], found[1::2], strict=True):
        assert by_engine.startswith(("model.format", "model.tensor")) and str(path) in by_engine, by_engine
        assert by_converter.startswith("convert.verify") and str(path) in by_converter, by_converter


Change = Callable[[GgufFile], None]


def _info(model: GgufFile, name: str) -> int:
    return next(number for number, info in enumerate(model.infos) if info.name == name)


def _remove(model: GgufFile) -> None:
    del model.infos[_info(model, "vit.blk.2.norm1.bias")]


def _rename(model: GgufFile) -> None:
    number = _info(model, "head.proj.0.weight")
    model.infos[number] = replace(model.infos[number], name="head.proj.7.weight")
    model.data["head.proj.7.weight"] = model.data["head.proj.0.weight"]


def _transpose(model: GgufFile) -> None:
    number = _info(model, "vit.blk.0.mlp_fc1.weight")
    info = model.infos[number]
    model.infos[number] = replace(info, extents=info.extents[::-1])
    model.data[info.name] = np.ascontiguousarray(model.data[info.name].T)


def _narrow(model: GgufFile) -> None:
    number = _info(model, "vit.norm.bias")
    model.infos[number] = TensorInfo("vit.norm.bias", model.infos[number].extents, TensorType.F16)
    model.data["vit.norm.bias"] = model.data["vit.norm.bias"].astype(np.float16)


def _value(name: str, value: object) -> Change:
    def change(model: GgufFile) -> None:
        number = next(number for number, item in enumerate(model.items) if item.name == name)
        model.items[number] = replace(model.items[number], value=value)

    return change


WRONG: dict[str, tuple[Change, str]] = {
    "removed": (_remove, "vit.blk.2.norm1.bias is missing"),
    "renamed": (_rename, "head.proj.0.weight is missing"),
    "transposed": (_transpose, "vit.blk.0.mlp_fc1.weight has extents"),
    "other type": (_narrow, "vit.norm.bias is of type f16"),
    "architecture": (_value("general.architecture", "llama"), "llama"),
    "heads": (_value("depthanything3.vit.num_heads", 5), "vit.embed_dim is 32, but 5 heads of 16 make 80"),
    "depth 0": (_value("depthanything3.vit.depth", 0), "vit.depth is 0"),
    "patch 16": (_value("depthanything3.patch_size", 16), "vit.patch_embed.weight"),
}


@pytest.mark.case(68)
@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name: str, tmp_path: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, said = WRONG[name]
    content = gguf_file.read(model)
    change(content)
    path = tmp_path / "wrong.gguf"
    write_files([Content(path, content.items, content.infos, (np.asarray(content.data[info.name]) for info in content.infos))])
    assert main(["info", str(path)]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert str(path) in line and said in line, line
    assert "damaged" not in line and "fetch it again" not in line


@pytest.mark.case(69)
@pytest.mark.parametrize("denied", ["file", "folder"])
def test_no_right_to_read(denied: str, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with TemporaryDirectory() as name:
        path = Path(name) / model.name
        path.write_bytes(model.read_bytes())
        Path(name).chmod(0o755)
        (path if denied == "file" else Path(name)).chmod(0)
        with _as_nobody():
            assert main(["info", str(path)]) == 3
        Path(name).chmod(0o755)
    (line,) = capsys.readouterr().err.splitlines()
    assert str(path) in line and "Permission denied" in line


@contextmanager
def _as_nobody() -> Iterator[None]:
    """Root may read everything."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.case(70)
@pytest.mark.parametrize("name", ["relative", "home", "symlink", "two hundred and fifty"])
def test_ways_to_name_a_file(name: str, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    long = tmp_path / ("n" * 245 + ".gguf")
    long.symlink_to(model)
    (tmp_path / "link").symlink_to(model)
    given = {"relative": f"./{model.name}", "home": f"~/{model.name}", "symlink": "link", "two hundred and fifty": str(long)}[name]
    assert main(["info", given]) == 0


def test_the_limit_of_memory_works() -> None:
    """The child process of the test above could not have allocated more."""
    code = f"import resource\nresource.setrlimit(resource.RLIMIT_AS, ({HUNDRED_MB},) * 2)\nbytearray({HUNDRED_MB})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "MemoryError" in done.stderr
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
