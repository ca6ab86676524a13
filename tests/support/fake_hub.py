"""A model hub on localhost: as much of Hugging Face's and ModelScope's HTTP as clients ask for.

It can fall silent, cut a file off half-way, or serve wrong bytes, and remembers what was asked.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class FakeHub:
    """`files` by name; those that end in .safetensors are stored as LFS objects."""

    repo: str
    files: dict[str, bytes]
    url: str = ""
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Method, path and Range header of every request."""
    tokens: set[str | None] = field(default_factory=set)
    """Authorization headers of requests about the model."""
    storage_tokens: set[str | None] = field(default_factory=set)
    """Those that came to the storage host, which must not learn them."""
    silent: threading.Event | None = None
    """While this is set to an event, answers wait for it."""
    cut: dict[str, int] = field(default_factory=dict)
    """Name to the number of bytes after which its next GET breaks off; later ones get a 500."""
    swapped: dict[str, bytes] = field(default_factory=dict)
    """Name to what is sent in place of the right content."""
    _broken: set[str] = field(default_factory=set)

    def heal(self) -> None:
        self.cut.clear()
        self.swapped.clear()
        self._broken.clear()
        self.asked.clear()

    def gets(self, name: str) -> list[str | None]:
        """Range headers of the GETs for a file's content."""
        large = (f"/storage/{name}", f"FilePath={name}")
        ends = large if _is_large(name) else (f"/{name}", f"FilePath={name}")
        return [
            asked_range
            for method, path, asked_range in self.asked
            if method == "GET" and path.endswith(ends)
        ]


@contextmanager
def serve(repo: str, files: dict[str, bytes]) -> Iterator[FakeHub]:
    hub = FakeHub(repo, files)
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        if hub.silent is not None:
            hub.silent.set()
        server.shutdown()
        thread.join()
        server.server_close()


def blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    hub: FakeHub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        hub = self.hub
        if hub.silent is not None:
            hub.silent.wait()
            self.close_connection = True
            return
        hub.asked.append((self.command, self.path, self.headers.get("Range")))
        if hub.repo in self.path:
            hub.tokens.add(self.headers.get("Authorization"))
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        resolve = re.fullmatch(rf"/{hub.repo}/resolve/[^/]+/(.+)", path)
        if path in (f"/api/models/{hub.repo}", f"/api/models/{hub.repo}/revision/main"):
            self._json({"id": hub.repo, "sha": COMMIT, "siblings": self._siblings()})
        elif path.startswith(f"/api/models/{hub.repo}/tree/"):
            self._json(self._tree())
        elif resolve and resolve[1] in hub.files and _is_large(resolve[1]):
            self._redirect(resolve[1])
        elif resolve and resolve[1] in hub.files:
            self._file(resolve[1])
        elif path.startswith("/storage/"):
            hub.storage_tokens.add(self.headers.get("Authorization"))
            self._file(path.removeprefix("/storage/"))
        elif path == f"/api/v1/models/{hub.repo}/repo/files":
            self._json({"Code": 200, "Success": True, "Data": {"Files": self._entries()}})
        elif path == f"/api/v1/models/{hub.repo}/repo" and query["FilePath"][0] in hub.files:
            self._file(query["FilePath"][0])
        else:
            self._json({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})

    def _siblings(self) -> list[dict[str, Any]]:
        return [
            {"rfilename": name, "size": len(content), "blobId": blob_id(content)}
            | ({"lfs": _lfs(content, "sha256")} if _is_large(name) else {})
            for name, content in self.hub.files.items()
        ]

    def _tree(self) -> list[dict[str, Any]]:
        return [
            {"type": "file", "path": name, "size": len(content), "oid": blob_id(content)}
            | ({"lfs": _lfs(content, "oid")} if _is_large(name) else {})
            for name, content in self.hub.files.items()
        ]

    def _entries(self) -> list[dict[str, Any]]:
        return [
            {
                "Path": name,
                "Type": "blob",
                "Size": len(content),
                "Sha256": hashlib.sha256(content).hexdigest(),
            }
            for name, content in self.hub.files.items()
        ]

    def _json(self, content: Any, status: int = 200, extra: dict[str, str] | None = None) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for key, value in (extra or {}).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def _redirect(self, name: str) -> None:
        """Large files lie on another host: this one by its other name."""
        content = self.hub.files[name]
        self.send_response(302)
        port = urlsplit(self.hub.url).port
        self.send_header("Location", f"http://localhost:{port}/storage/{name}")
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("X-Linked-ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Linked-Size", str(len(content)))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _file(self, name: str) -> None:
        hub, right = self.hub, self.hub.files[name]
        if name in hub._broken:
            self._json({"error": "broken"}, 500)
            return
        content = hub.swapped.get(name, right)
        start = 0
        if asked := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or ""):
            start = int(asked[1])
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        etag = hashlib.sha256(right).hexdigest() if _is_large(name) else blob_id(right)
        self.send_header("ETag", f'"{etag}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        if self.command == "HEAD":
            return
        end = len(content)
        if name in hub.cut:
            end = hub.cut.pop(name)
            hub._broken.add(name)
            self.close_connection = True
        self.wfile.write(content[start:end])


def _is_large(name: str) -> bool:
    return name.endswith(".safetensors")


def _lfs(content: bytes, key: str) -> dict[str, Any]:
    return {key: hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
