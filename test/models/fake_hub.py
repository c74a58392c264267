"""A hub on 127.0.0.1: answers HEAD and GET of /REPOSITORY/resolve/main/FILE as the real one does, redirect to its store included."""

from __future__ import annotations

import hashlib
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread


class FakeHub:
    """`files`: content by ``repository/file``. `cut_after` ends the body of the next download early, `stall_after` makes it hang."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.stated_sha256: dict[str, str] = {}
        """Instead of the true one."""
        self.cut_after: int | None = None
        self.stall_after: int | None = None
        self.requests: list[tuple[str, str, str | None]] = []
        """Method, path, range of every request."""
        self.authorisations: dict[str, str | None] = {}
        """Of the last GET of each path."""
        self.released = Event()
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                hub.answer(self, with_body=False)

            def do_GET(self) -> None:
                hub.answer(self, with_body=True)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler, with_body: bool) -> None:
        span = handler.headers.get("Range")
        self.requests.append((handler.command, handler.path, span))
        if with_body:
            self.authorisations[handler.path] = handler.headers.get("Authorization")
        name = handler.path.lstrip("/").replace("/resolve/main/", "/", 1).removeprefix("store/")
        if name not in self.files:
            handler.send_response(404)
            handler.send_header("X-Error-Code", "EntryNotFound")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
        elif not handler.path.startswith("/store/"):
            self._redirect(handler, name)
        else:
            self._send(handler, self.files[name], span, with_body)

    def _redirect(self, handler: BaseHTTPRequestHandler, name: str) -> None:
        content = self.files[name]
        handler.send_response(302)
        # Another host name: huggingface_hub follows redirects within the hub before it looks at the headers.
        handler.send_header("Location", f"http://localhost:{self._server.server_port}/store/{name}")
        handler.send_header("X-Repo-Commit", "0" * 40)
        handler.send_header("X-Linked-Etag", f'"{self.stated_sha256.get(name, hashlib.sha256(content).hexdigest())}"')
        handler.send_header("X-Linked-Size", str(len(content)))
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    def _send(self, handler: BaseHTTPRequestHandler, content: bytes, span: str | None, with_body: bool) -> None:
        start = int(re.fullmatch(r"bytes=(\d+)-", span).group(1)) if span else 0
        handler.send_response(206 if span else 200)
        if span:
            handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        if not with_body:
            return
        length = next((bound for bound in (self.cut_after, self.stall_after) if bound is not None), len(content))
        stalls, self.cut_after, self.stall_after = self.stall_after is not None, None, None
        handler.wfile.write(content[start : start + length])
        handler.wfile.flush()
        if stalls:
            self.released.wait()
        handler.close_connection = start + length < len(content)
