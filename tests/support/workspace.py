"""A server on this machine that answers like the documented calls of a Databricks workspace: updates of a pipeline
and settings of a job. It plays the errors that it is given."""

from __future__ import annotations

import http.server
import json
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class Answer:
    """An answer in place of the usual one. ``is_done``: what was asked is carried out all the same."""

    status: int
    body: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    is_done: bool = False


@dataclass
class Workspace:
    """One pipeline and one job.

    ``plays``: the next answers to a call ("POST /updates"). ``ends``: the states of each further update, the last
    of which stays. An update is not started while one is active.
    """

    state: str = "IDLE"
    ends: deque[list[str]] = field(default_factory=deque)
    plays: dict[str, deque[Answer]] = field(default_factory=dict)
    job: dict[str, Any] = field(default_factory=dict)
    keeps_settings: bool = True
    runs: list[int] = field(default_factory=list)
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    updates: dict[str, list[str]] = field(default_factory=dict)
    tokens: set[str | None] = field(default_factory=set)
    address: str = ""

    def play(self, call: str, *answers: Answer) -> None:
        """The next answers to a call."""
        self.plays.setdefault(call, deque()).extend(answers)

    def posted(self) -> list[tuple[str, Any]]:
        """What was asked to change something."""
        return [(path, body) for method, path, body in self.calls if method == "POST"]

    def asked(self, method: str, target: str, body: Any) -> Answer:
        """The answer to one call."""
        parts = urlsplit(target)
        path = unquote(parts.path)
        self.calls.append((method, path, body))
        what = path.rpartition("/")[2] if "/updates/" not in path else "updates/id"
        queue = self.plays.get(f"{method} /{what}")
        played = queue.popleft() if queue else None
        if played is not None and not played.is_done:
            return played
        usual = self._usual(method, path, parse_qs(parts.query), body)
        return played or usual

    def _usual(self, method: str, path: str, query: Mapping[str, list[str]], body: Any) -> Answer:
        if path.startswith("/api/2.2/jobs/"):
            return self._of_job(path, query, body)
        if not path.startswith("/api/2.0/pipelines/"):
            return Answer(404, {"error_code": "ENDPOINT_NOT_FOUND", "message": "No such call."})
        if path.endswith("/stop"):
            self.state = "IDLE"
            return Answer(200)
        if path.endswith("/updates"):
            if self.state == "RUNNING":
                return Answer(409, {"error_code": "RESOURCE_CONFLICT", "message": "An active update exists."})
            name = f"u{len(self.updates)}"
            self.updates[name] = list(self.ends.popleft()) if self.ends else ["COMPLETED"]
            return Answer(200, {"update_id": name})
        if "/updates/" in path:
            states = self.updates[path.rpartition("/")[2]]
            return Answer(200, {"update": {"state": states.pop(0) if len(states) > 1 else states[0]}})
        newest = [{"update_id": name, "state": self.updates[name][0]} for name in reversed(self.updates)]
        return Answer(200, {"pipeline_id": "p", "state": self.state, "latest_updates": newest})

    def _of_job(self, path: str, query: Mapping[str, list[str]], body: Any) -> Answer:
        if path.endswith("/runs/list"):
            return Answer(200, {"runs": [{"run_id": each} for each in self.runs]} if self.runs else {})
        if path.endswith("/get"):
            return Answer(200, {"job_id": query["job_id"][0], "settings": self.job})
        if self.keeps_settings:
            new = dict(body["new_settings"])
            tasks = {task["task_key"]: task for task in new.pop("tasks", [])}
            self.job |= new
            self.job["tasks"] = [tasks.get(task["task_key"], task) for task in self.job.get("tasks", [])]
        return Answer(200)


@contextmanager
def serving(workspace: Workspace) -> Iterator[Workspace]:
    """The server, at ``workspace.address``."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self._answer("POST")

        def _answer(self, method: str) -> None:
            workspace.tokens.add(self.headers["Authorization"])
            text = self.rfile.read(int(self.headers["Content-Length"] or 0))
            answer = workspace.asked(method, self.path, json.loads(text) if text else None)
            data = json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    workspace.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield workspace
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
