"""The S3 server of the tests, as a process of its own: moto behind a layer that counts requests and can make
some of them fail.

    python -m tests.support.s3_server        # prints its port on a line of its own, serves until it is
    stopped

GET /-/stats answers how many requests of each kind came since the last call (list, get, head, write) and the
most at one time. PUT /-/faults takes [{"match": text in the path and query, "status": 503, "code":
"SlowDown", "times": 1}, ...]; times -1 = always. PUT /-/objects/BUCKET takes {key: content in base64}: one
request for many objects, and none that is counted; DELETE empties the bucket.
"""

from __future__ import annotations

import base64
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote

from moto.backends import get_backend
from moto.core import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server


class Layer:
    """Counts what comes in, and answers with an error where a fault is set."""

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._now = self._most = 0
        self._faults: list[dict[str, Any]] = []

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path, query, method = environ["PATH_INFO"], environ.get("QUERY_STRING", ""), environ["REQUEST_METHOD"]
        if path == "/-/stats":
            return self._stats(start_response)
        if path == "/-/faults":
            body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            with self._lock:
                self._faults = json.loads(body)
            return self._reply(start_response, "200 OK", b"{}")
        if path.startswith("/-/objects/"):
            self._objects(path.rpartition("/")[2], method, environ)
            return self._reply(start_response, "200 OK", b"{}")
        kind = {"HEAD": "head", "GET": "list" if "list-type=2" in query else "get"}.get(method, "write")
        with self._lock:
            self._counts[kind] += 1
            self._now += 1
            self._most = max(self._most, self._now)
            fault = next(
                (f for f in self._faults if f["times"] and f["match"] in f"{path}?{unquote(query)}"), None
            )
            if fault is not None:
                fault["times"] -= 1
        try:
            if fault is not None:
                body = f"<Error><Code>{fault['code']}</Code><Message>{fault['code']}</Message></Error>"
                return self._reply(start_response, f"{fault['status']} X", body.encode())
            return list(self._app(environ, start_response))
        finally:
            with self._lock:
                self._now -= 1

    def _stats(self, start_response: Callable[..., Any]) -> Iterable[bytes]:
        with self._lock:
            answer = {
                **{kind: self._counts[kind] for kind in ("list", "get", "head", "write")},
                "most_at_once": self._most,
            }
            self._counts.clear()
            self._most = 0
        return self._reply(start_response, "200 OK", json.dumps(answer).encode())

    @staticmethod
    def _objects(bucket: str, method: str, environ: dict[str, Any]) -> None:
        store = get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"]
        if method == "DELETE":
            store.get_bucket(bucket).keys.clear()
            return
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        for key, content in json.loads(body).items():
            store.put_object(bucket, key, base64.b64decode(content))

    @staticmethod
    def _reply(start_response: Callable[..., Any], status: str, body: bytes) -> Iterable[bytes]:
        start_response(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
        return [body]


def main() -> None:
    os.environ.setdefault("MOTO_PORT", "0")
    app = Layer(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=MotoRequestHandler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
