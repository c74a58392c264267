"""Downloads with huggingface_hub, which honours its own settings (HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE) and shows the progress.

A file grows under a ``.partial`` name, is continued there after an interruption, and gets its own name once its size and SHA-256 are right.
Of several processes that want one model, one fetches and the others wait.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from depth_anything_ros.errors import ModelError
from depth_anything_ros.models.cache import fetched, home
from depth_anything_ros.models.registry import Model, ModelFile

_CHUNK = 1 << 20


def fetch(model: Model, folder: Path | None, say: Callable[[str], object]) -> Path:
    """Bring a model into `folder` (see `cache.home`) and return its place; what is there is kept, what lies in the package stays there.

    say: gets a line for people when another process has to be waited for.
    Raises ModelError (``model.missing``): not reachable, offline, no such file, other content than known, disk full. What was downloaded
    so far stays for the next try, unless its content was wrong.
    """
    target = home(model, folder)
    for file in () if model.is_shipped else model.files:
        if not (target / file.name).is_file():
            _fetch_file(model.repository, file, target / file.name, say)
    return fetched(model, folder)


def verify(model: Model, folder: Path | None = None) -> dict[str, str]:
    """SHA-256 of each file of a fetched model, by file name.

    Raises ModelError (``model.missing``, ``model.format``) when a file is not there or is not the known one.
    """
    fetched(model, folder)
    digests = {file.name: sha256(home(model, folder) / file.name) for file in model.files}
    for file in model.files:
        if file.sha256 not in (None, digests[file.name]):
            path = home(model, folder) / file.name
            raise ModelError("model.format", f"{path} has SHA-256 {digests[file.name]}, not {file.sha256}; delete it and fetch it again.")
    return digests


def sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


@dataclass(frozen=True)
class _Remote:
    url: str
    size: int | None
    sha256: str | None
    """Known beforehand, else as the hub states it; None where neither is (small files)."""


def _fetch_file(repository: str, file: ModelFile, path: Path, say: Callable[[str], object]) -> None:
    errors = _network_errors()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path, say):
            if path.is_file():  # the other process was successful
                return
            remote = _examine(repository, file)
            partial = path.with_name(f".{file.name}.{(remote.sha256 or 'unknown')[:16]}.partial")
            _download(remote, partial, file.name)
            _check(partial, remote)
            partial.replace(path)
            for other in path.parent.glob(f".{file.name}.*.partial"):  # of an earlier version on the hub
                other.unlink()
    except errors as error:
        raise ModelError("model.missing", f"{file.name} of {repository} cannot be fetched: {_first_line(error)}") from error


@contextmanager
def _alone(path: Path, say: Callable[[str], object]) -> Iterator[None]:
    """Holds the folder of a file: nobody else fetches into it. A process that ends, however, lets go."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{path.name} is being fetched by another process; waiting for it")
            fcntl.flock(folder, fcntl.LOCK_EX)
        except OSError:  # a file system without locks, such as some of the network
            say(f"{path.parent} cannot be locked; let one process at a time fetch into it")
        yield
    finally:
        os.close(folder)


def _network_errors() -> tuple[type[Exception], ...]:
    """What huggingface_hub raises: errors of its HTTP library, whose common base its own class inherits from first, OSErrors, and
    ValueErrors for an HF_ENDPOINT that is no address."""
    try:
        from huggingface_hub.errors import HfHubHTTPError
    except ImportError as error:
        raise ModelError("model.missing", "Fetching needs huggingface_hub: pip install huggingface_hub") from error
    return (HfHubHTTPError.__bases__[0], OSError, ValueError)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _examine(repository: str, file: ModelFile) -> _Remote:
    """What the hub has under that name; refused before the download when it is known to be another file."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    url = hf_hub_url(repository, file.name)
    found = get_hf_file_metadata(url)
    stated = found.etag if found.etag and re.fullmatch("[0-9a-f]{64}", found.etag) else None
    if file.sha256 and stated not in (None, file.sha256):
        raise ModelError("model.missing", f"{url} has SHA-256 {stated}, not {file.sha256}: it is another file than the known one.")
    return _Remote(url, found.size, file.sha256 or stated)


def _download(remote: _Remote, partial: Path, shown: str) -> None:
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers

    # Without a SHA-256 nothing tells whether a partial file is the beginning of this one.
    with partial.open("ab" if remote.sha256 else "wb") as stream:
        if remote.size is not None and stream.tell() > remote.size:
            stream.seek(stream.truncate(0))
        if stream.tell() == remote.size:  # it was stopped before it got its name; servers refuse to send nothing
            return
        # With the user's token, which a mirror may want; redirects to another host go without.
        headers = build_hf_headers()
        http_get(remote.url, stream, resume_size=stream.tell(), headers=headers, expected_size=remote.size, displayed_filename=shown)
        stream.flush()
        os.fsync(stream.fileno())


def _check(partial: Path, remote: _Remote) -> None:
    found = sha256(partial)
    if remote.sha256 not in (None, found):
        partial.unlink()
        raise ModelError("model.missing", f"{remote.url} came with SHA-256 {found}, not {remote.sha256}; it was deleted. Fetch it again.")
