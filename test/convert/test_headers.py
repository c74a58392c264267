"""The C++ headers hold what the Python tables say."""

from pathlib import Path

import pytest

from depth_anything_ros.convert.cpp_headers import HEADERS

FOLDER = Path(__file__).parents[2] / "native" / "src" / "generated"


@pytest.mark.parametrize("name", HEADERS)
def test_header_is_up_to_date(name):
    assert (FOLDER / name).read_text(encoding="utf-8") == HEADERS[name](), (
        "run: python -m depth_anything_ros.convert.cpp_headers native/src/generated"
    )


def test_no_other_generated_files():
    assert {path.name for path in FOLDER.iterdir()} == set(HEADERS)
