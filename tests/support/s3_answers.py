"""A server that gives any bytes in S3's place, for answers that no well-kept server gives."""

from __future__ import annotations

import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PAGE = (
    b"<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>ck/a</Key>"
    b"<LastModified>2026-11-20T03:12:11.000Z</LastModified><ETag>&quot;e&quot;</ETag><Size>4</Size></Contents>"
    b"</ListBucketResult>"
)


def plain(body: bytes, status: str = "200 OK", *more: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *more, "", ""]
    return "\r\n".join(lines).encode() + body


def error(status: str, code: str) -> bytes:
    return plain(f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode(), status)


Answer = Callable[[int, str], bytes | None]


@contextmanager
def answering(
    answer: Answer,
    context: ssl.SSLContext | None = None,
    asked: list[str] | None = None,
    accepted: list[Any] | None = None,
) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """A server that gives these bytes for the n-th request and its target, and closes at None; its storage
    options, and what it was asked. `accepted`: the address of each connection that it took."""
    asked = [] if asked is None else asked
    accepted = [] if accepted is None else accepted

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while line := self.rfile.readline().decode():
                head = [line]
                while (more := self.rfile.readline()) not in (b"\r\n", b""):
                    head.append(more.decode())
                asked.append("".join(head))
                given = answer(len(asked), line.split(" ")[1])
                if given is None:
                    return
                self.wfile.write(given)
                if b"Connection: close" in given:
                    return

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

        def get_request(self) -> tuple[Any, Any]:
            connection, address = super().get_request()
            accepted.append(address)
            if context is not None:
                connection = context.wrap_socket(connection, server_side=True)
            return connection, address

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that hangs up is no news."""

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http{'s' if context else ''}://127.0.0.1:{server.server_address[1]}"
        yield {"key": "k", "secret": "s", "endpoint_url": url, "client_kwargs": {"region_name": "x"}}, asked
        server.shutdown()


def usual(target: str) -> bytes:
    return plain(PAGE) if "list-type=2" in target else plain(b"abcd")
