#!/usr/bin/env python3
"""Fetch the source of ggml into a folder and print where it lies: ``fetch_ggml.py FOLDER``.

It is the sdist of libggml-python on PyPI, downloaded by pip (which knows about proxies and mirrors) and checked by SHA-256. Its ``ggml/``
folder is ggml's own source tree. Can be run again: a complete folder is not fetched twice. Standard library only.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "0.20.2.post1"
SHA256 = "e47ff53506342959ffb3ce15380b82828fea10ec5f208f9ef6915895f1a7a176"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: fetch_ggml.py FOLDER", file=sys.stderr)
        return 2
    print(fetch(Path(arguments[0]).resolve()))
    return 0


def fetch(folder: Path) -> Path:
    """Source folder of ggml below `folder`, fetched if it is not there yet. Raises SystemExit with the reason."""
    source = folder / SHA256[:12]
    if source.is_dir():
        return source
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        archive = _download(Path(work))
        with tarfile.open(archive) as tar:
            _extract(tar, Path(work) / "unpacked")
        unpacked = next((Path(work) / "unpacked").glob("*/ggml"))
        # A rename is atomic: an interrupted run leaves no half a folder under the final name.
        shutil.move(unpacked, source)
    return source


def _download(into: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-binary", "libggml-python", "--dest", str(into), f"libggml-python=={VERSION}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    archives = list(into.glob("libggml*.tar.gz"))
    if done.returncode != 0 or not archives:
        raise SystemExit(f"{done.stdout}\npip could not download libggml-python=={VERSION} (exit code {done.returncode}).")
    found = hashlib.sha256(archives[0].read_bytes()).hexdigest()
    if found != SHA256:
        raise SystemExit(f"{archives[0].name} has SHA-256 {found}, expected {SHA256}: not used.")
    return archives[0]


def _extract(tar: tarfile.TarFile, into: Path) -> None:
    if hasattr(tarfile, "data_filter"):
        tar.extractall(into, filter="data")
    else:
        # Older than the filter; the archive's checksum is known.
        tar.extractall(into)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
