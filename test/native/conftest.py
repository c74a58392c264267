"""What the tests of the extension share."""

import pytest


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder for the model files of one test file."""
    return tmp_path_factory.mktemp("models")
