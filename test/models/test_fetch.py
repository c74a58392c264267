"""Fetching from a hub on 127.0.0.1, with the real huggingface_hub in between."""

from __future__ import annotations

import hashlib
import sys
import time

import numpy as np
import pytest

from depth_anything_ros.errors import ModelError
from depth_anything_ros.models.cache import resolve_model
from depth_anything_ros.models.fetch import fetch, sha256, verify
from depth_anything_ros.models.registry import Model, ModelFile, get_model

CONTENT = np.random.default_rng(0).bytes(12_000_000)
CONFIG = b'{"model_name": "da3-small"}'
OFFICIAL = "depth-anything/DA3-SMALL"


@pytest.fixture
def cache(tmp_path):
    return tmp_path / ".cache" / "depth_anything_ros" / "models"


@pytest.fixture
def official(hub):
    hub.files = {f"{OFFICIAL}/model.safetensors": CONTENT, f"{OFFICIAL}/config.json": CONFIG}
    return hub


def downloads(hub, ending=".safetensors"):
    return [span for method, path, span in hub.requests if method == "GET" and path.startswith("/store/") and path.endswith(ending)]


def wait_for_download(process, folder):
    """Until a part of a file lies in `folder`."""
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size for path in folder.glob(".*.partial")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)


def test_every_file_arrives_whole_and_alone(official, command, cache):
    done = command("fetch", "da3-small-official", TQDM_POSITION="-1")  # the progress bar also where stderr is no terminal
    assert done.returncode == 0, done.stderr
    folder = cache / "da3-small-official"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"model.safetensors": CONTENT, "config.json": CONFIG}
    licence, path = done.stdout.splitlines()
    assert "Apache-2.0" in licence and path == str(folder)
    assert "model.safetensors" in done.stderr and "100%" in done.stderr
    assert command("path", "da3-small-official").stdout.strip() == str(folder)
    assert hashlib.sha256(CONTENT).hexdigest() in command("verify", "da3-small-official").stdout


def test_a_mirror_gets_the_token_and_another_host_does_not(official, command):
    assert command("fetch", "da3-small-official", HF_TOKEN="hf_of_the_user").returncode == 0
    asked = {path: token for path, token in official.authorisations.items() if path.endswith(".safetensors")}
    assert asked == {
        f"/{OFFICIAL}/resolve/main/model.safetensors": "Bearer hf_of_the_user",
        f"/store/{OFFICIAL}/model.safetensors": None,
    }


def test_what_is_there_is_not_fetched_again(official, command):
    assert command("fetch", "da3-small-official").returncode == 0
    before = len(official.requests)
    assert command("fetch", "da3-small-official", HF_HUB_OFFLINE="1").returncode == 0
    assert len(official.requests) == before


def test_a_lost_connection_is_taken_up_where_it_ended(official, command, cache):
    official.cut_after = 11_000_000
    done = command("fetch", "da3-small-official")
    assert done.returncode == 0, done.stderr
    assert len(downloads(official)) == 2 and downloads(official)[1] is not None
    assert (cache / "da3-small-official" / "model.safetensors").read_bytes() == CONTENT


def test_a_killed_download_is_continued_by_the_next(official, command, cache, popen):
    official.stall_after = 11_000_000
    process = popen("fetch", "da3-small-official")
    folder = cache / "da3-small-official"
    wait_for_download(process, folder)
    process.kill()
    process.wait()
    (kept,) = [path.stat().st_size for path in folder.glob(".*.partial")]
    assert not (folder / "model.safetensors").exists()
    done = command("fetch", "da3-small-official")
    assert done.returncode == 0, done.stderr
    assert downloads(official)[1] == f"bytes={kept}-"
    assert (folder / "model.safetensors").read_bytes() == CONTENT
    assert not list(folder.glob(".*"))


def test_a_download_that_was_killed_before_it_got_its_name_is_taken_as_it_is(official, command, cache):
    folder = cache / "da3-small-official"
    folder.mkdir(parents=True)
    digest = hashlib.sha256(CONTENT).hexdigest()[:16]
    (folder / f".model.safetensors.{digest}.partial").write_bytes(CONTENT)
    (folder / ".model.safetensors.0123456789abcdef.partial").write_bytes(b"of an earlier version on the hub")
    assert command("fetch", "da3-small-official").returncode == 0
    assert downloads(official) == [] and (folder / "model.safetensors").read_bytes() == CONTENT
    (folder / "model.safetensors").rename(folder / f".model.safetensors.{digest}.partial")
    with (folder / f".model.safetensors.{digest}.partial").open("ab") as stream:
        stream.write(b"more than there is")
    assert command("fetch", "da3-small-official").returncode == 0
    assert (folder / "model.safetensors").read_bytes() == CONTENT and not list(folder.glob(".*"))


def test_of_two_processes_one_waits_for_the_other(official, popen, cache):
    official.stall_after = 11_000_000
    first = popen("fetch", "da3-small-official")
    folder = cache / "da3-small-official"
    wait_for_download(first, folder)
    second = popen("fetch", "da3-small-official")
    assert "being fetched by another process" in second.stderr.readline()
    assert len(downloads(official)) == 1
    official.released.set()
    for process in (first, second):
        assert process.communicate(timeout=120)[0].splitlines()[-1] == str(folder)
        assert process.returncode == 0
    assert (folder / "model.safetensors").read_bytes() == CONTENT
    whole = [span for span in downloads(official) if span is None]
    assert len(whole) == 1, "only one of them fetched"


def test_wrong_content_is_refused_and_deleted(official, command, cache):
    official.stated_sha256[f"{OFFICIAL}/model.safetensors"] = "ab" * 32
    done = command("fetch", "da3-small-official")
    assert done.returncode == 3 and "came with SHA-256" in done.stderr.splitlines()[-1]
    assert not list((cache / "da3-small-official").iterdir())


def test_a_file_other_than_the_published_one_is_refused_before_the_download(hub, command, cache):
    hub.files["mudler/depth-anything.cpp-gguf/depth-anything-small-f32.gguf"] = b"GGUF something else"
    done = command("fetch", "da3-small")
    assert done.returncode == 3 and "another file than the known one" in done.stderr
    assert not downloads(hub, ".gguf") and not list((cache / "da3-small").iterdir())


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"HF_HUB_OFFLINE": "1"}, "ffline"),
        ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "refused"),
        ({"HF_ENDPOINT": "http://127.0.0.1:99999"}, "Port"),
        ({}, "404"),
    ],
)
def test_what_cannot_be_reached_is_one_line(command, environment, said):
    done = command("fetch", "da3-small", **environment)
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1].startswith("depth-anything-ros models: depth-anything-small-f32.gguf of mudler/")
    assert said in done.stderr.splitlines()[-1]


def test_a_home_that_takes_no_files(official, command, tmp_path):
    (tmp_path / ".cache").write_text("not a folder")
    done = command("fetch", "da3-small-official")
    assert done.returncode == 3 and "Not a directory" in done.stderr.splitlines()[-1]


def test_unknown_names_and_missing_models(command):
    assert command("fetch", "da3-tiny").returncode == 2
    for action in ("path", "verify"):
        done = command(action, "da3-small")
        assert done.returncode == 3 and "models fetch da3-small" in done.stderr


def test_verify_finds_a_changed_file(tmp_path):
    model = Model("one", "DA3-SMALL", "nobody/nothing", (ModelFile("one.gguf", 5, hashlib.sha256(b"right").hexdigest()),))
    path = tmp_path / "one" / "one.gguf"
    path.parent.mkdir()
    path.write_bytes(b"right")
    assert verify(model, tmp_path) == {"one.gguf": sha256(path)}
    path.write_bytes(b"wrong")
    with pytest.raises(ModelError, match="fetch it again"):
        verify(model, tmp_path)


def test_the_fetched_checkpoint_has_to_be_converted(official, command, cache):
    assert command("fetch", "da3-small-official").returncode == 0
    with pytest.raises(ModelError, match="convert") as refusal:
        resolve_model("da3-small-official", cache)
    assert refusal.value.code == "model.unsupported"


def test_without_huggingface_hub_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub.errors", None)
    with pytest.raises(ModelError, match="pip install huggingface_hub"):
        fetch(get_model("da3-small"), tmp_path, print)
    assert not list(tmp_path.iterdir())
