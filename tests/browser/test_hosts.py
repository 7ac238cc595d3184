"""By which names a browser may reach the app: a page of another name that resolves to this machine must get
nothing."""

from __future__ import annotations

import socket
from base64 import b64encode
from urllib.parse import urlsplit

import pytest

from tests.support.app import RunningApp


def handshake(app: RunningApp, host: str) -> int:
    """The status that the app answers to a WebSocket of a page that calls the server ``host``."""
    parts = urlsplit(app.address)
    assert parts.hostname is not None and parts.port is not None
    key = b64encode(b"0123456789abcdef").decode()
    lines = [
        "GET /_stcore/stream HTTP/1.1",
        f"Host: {host}:{parts.port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Origin: http://{host}:{parts.port}",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        "",
        "",
    ]
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as line:
        line.sendall("\r\n".join(lines).encode())
        return int(line.recv(64).split()[1])


@pytest.mark.browser
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_this_machine_reaches_the_app(app: RunningApp, host: str) -> None:
    assert handshake(app, host) == 101


@pytest.mark.browser
@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "192.168.1.7"])
def test_a_foreign_name_that_resolves_to_this_machine_gets_nothing(app: RunningApp, host: str) -> None:
    assert handshake(app, host) == 403
