"""A model hub on the loopback interface that speaks as much of the Hugging Face hub's protocol as a download needs.

GET  /api/models/{repo}/revision/{rev}   the commit and the list of files
GET  /api/models/{repo}/tree/{rev}       sizes and hashes of the files
HEAD /{repo}/resolve/{rev}/{file}        ETag, X-Repo-Commit, Content-Length
GET  /{repo}/resolve/{rev}/{file}        the bytes, or with Range the rest of them
"""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """Serves folders as repositories, `requests` tells what was asked for. Until stop(), or as a context."""

    def __init__(self, repositories: dict[str, Path]) -> None:
        self.repositories = repositories
        self.gated: set[str] = set()
        self.requests: list[str] = []
        self.ranges: list[str] = []
        # file name -> how often the connection is still cut in the middle of it
        self.cuts: dict[str, int] = {}
        # file name that stops in the middle and goes on only when the server ends
        self.stalls = ""
        self.stalled, self.released = threading.Event(), threading.Event()
        # answers every request: "hang up", "web page" or "error 500"
        self.trouble = ""

    def __enter__(self) -> "Hub":
        hub = self

        class Handler(Answers):
            pass

        Handler.hub = hub
        # port 0: the system picks a free one
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self.released.set()
        if self.thread.is_alive():
            self.server.shutdown()
            self.thread.join()
            self.server.server_close()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def fetched(self) -> list[str]:
        """The files whose bytes were asked for, in order."""
        return [line.rsplit("/", 1)[1] for line in self.requests if line.startswith("GET") and "/resolve/" in line]


class Answers(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the tests read `requests`."""

    def do_HEAD(self) -> None:
        self.answer(with_body=False)

    def do_GET(self) -> None:
        self.answer(with_body=True)

    def answer(self, with_body: bool) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append(f"{self.command} {path}")
        if self.hub.trouble:
            self.misbehave()
            return
        if path.startswith("/api/models/"):
            self.describe(path.removeprefix("/api/models/"))
            return
        repository, _, rest = path.removeprefix("/").partition("/resolve/")
        folder = self.allowed(repository)
        if folder is not None:
            self.send_file(folder / rest.partition("/")[2], with_body)

    def misbehave(self) -> None:
        if self.hub.trouble == "hang up":
            self.close_connection = True
        elif self.hub.trouble == "web page":
            self.send(200, b"<html>Please log in to this hotel's network</html>", {"Content-Type": "text/html"})
        else:
            self.send(500, b"Internal Server Error")

    def describe(self, rest: str) -> None:
        repository, _, what = rest.rpartition("/revision/" if "/revision/" in rest else "/tree/")
        folder = self.allowed(repository)
        if folder is None:
            return
        assert what in ("main", COMMIT)
        files = sorted(path for path in folder.iterdir() if path.is_file())
        body: object = [
            {"type": "file", "path": path.name, "size": path.stat().st_size, "oid": digest(path)} for path in files
        ]
        if "/revision/" in rest:
            body = {
                "id": repository,
                "modelId": repository,
                "sha": COMMIT,
                "private": False,
                "tags": [],
                "downloads": 0,
                "likes": 0,
                "siblings": [{"rfilename": path.name} for path in files],
            }
        self.send(200, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def allowed(self, repository: str) -> Path | None:
        """The repository's folder, or an answer that refuses it."""
        if repository in self.hub.gated:
            self.send(403, b"", {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access is restricted"})
            return None
        if repository not in self.hub.repositories:
            # 401 to who is not logged in: the real hub does not tell private from missing
            self.send(401, b"", {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"})
            return None
        return self.hub.repositories[repository]

    def send_file(self, path: Path, with_body: bool) -> None:
        if not path.is_file():
            self.send(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
            return
        whole = path.read_bytes()
        start = 0
        headers = {"ETag": f'"{digest(path)}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        wanted = self.headers.get("Range")
        if wanted:
            self.hub.ranges.append(wanted)
            start = int(wanted.removeprefix("bytes=").partition("-")[0])
            headers["Content-Range"] = f"bytes {start}-{len(whole) - 1}/{len(whole)}"
        body = whole[start:]
        if not with_body:
            self.send(200, body, headers)
        elif self.hub.cuts.get(path.name, 0) > 0:
            self.hub.cuts[path.name] -= 1
            self.send_half(body, headers)
        elif path.name == self.hub.stalls:
            self.send_half(body, headers)
            self.hub.stalled.set()
            self.hub.released.wait()
        else:
            self.send(206 if wanted else 200, body, headers)

    def send_half(self, body: bytes, headers: dict[str, str]) -> None:
        self.close_connection = True
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2])
        self.wfile.flush()

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def digest(path: Path) -> str:
    """What git calls the file: 40 hex digits."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
