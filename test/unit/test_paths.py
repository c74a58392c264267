"""A ``~`` in paths, also of a user who is not there: what opens the path says so, in one of our errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from depth_anything_ros.errors import DepthAnythingError, InputError, ModelError, OptionError
from depth_anything_ros.files import find_pictures
from depth_anything_ros.models.cache import resolve_model
from depth_anything_ros.paths import user_path
from depth_anything_ros.replay.calibration_file import read_calibration
from depth_anything_ros.replay.journal import Journal
from depth_anything_ros.replay.parameter_file import read_options
from depth_anything_ros.replay.pictures import PictureSource
from depth_anything_ros.replay.source import SourceOptions, open_source
from depth_anything_ros.ros.bag_reader import BagReader
from depth_anything_ros.ros.bag_writer import BagWriter

NOBODY = Path("~nobody-of-that-name/thing")
READERS = {
    "pictures": (InputError, lambda: find_pictures([str(NOBODY)])),
    "model": (ModelError, lambda: resolve_model(NOBODY)),
    "bag": (InputError, lambda: BagReader(NOBODY)),
    "recording": (InputError, lambda: open_source(SourceOptions(NOBODY))),
    "folder of pictures": (InputError, lambda: PictureSource(SourceOptions(NOBODY))),
    "calibration": (InputError, lambda: read_calibration(NOBODY)),
    "parameters": (OptionError, lambda: read_options([NOBODY], {}, "/depth_node")),
}


@pytest.mark.parametrize("what", READERS)
def test_the_home_of_nobody_is_one_of_our_errors(what: str) -> None:
    kind, read = READERS[what]
    with pytest.raises(DepthAnythingError, match="nobody-of-that-name") as raised:
        read()
    assert isinstance(raised.value, kind)


def test_results_go_where_a_shell_would_put_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    assert user_path("~/out") == tmp_path / "home" / "out"
    assert user_path("a~b/~") == Path("a~b/~")
    for given, expected in ((Path("~/out"), tmp_path / "home" / "out"), (NOBODY, tmp_path / NOBODY)):
        assert Journal(given, {}).output == expected
        with BagWriter(given) as writer:
            assert writer.folder == expected
        assert expected.is_dir()
