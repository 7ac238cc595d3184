"""By which names a browser may reach the app: a page of another name that resolves to this machine must get
nothing."""

from __future__ import annotations

import socket
from base64 import b64encode
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from tests.support.app import RunningApp


def handshake(app: RunningApp, host: str, origin: str | None = None) -> int:
    """The status that the app answers to a WebSocket of a page that calls the server ``host``. ``origin``: where
    the page is from, if not from there."""
    parts = urlsplit(app.address)
    assert parts.hostname is not None and parts.port is not None
    key = b64encode(b"0123456789abcdef").decode()
    lines = [
        "GET /_stcore/stream HTTP/1.1",
        f"Host: {host}:{parts.port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Origin: {origin or f'http://{host}:{parts.port}'}",
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


@pytest.mark.browser
@pytest.mark.parametrize("origin", ["http://127.0.0.1:1", "http://evil.example", "null"])
def test_a_page_of_another_port_or_server_gets_nothing(app: RunningApp, origin: str) -> None:
    assert handshake(app, "127.0.0.1", origin) == 403


@pytest.mark.browser
def test_no_other_page_may_show_the_app_in_a_frame(app: RunningApp) -> None:
    with urlopen(app.address) as answer:
        assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
        assert answer.headers["Content-Security-Policy"].startswith("frame-ancestors 'self'")
