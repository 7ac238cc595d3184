"""Which requests get past the gate in front of the web server, and what is said with every answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from core.settings import PREFIX, get_settings
from ui.gate import HEADERS, Gate, is_foreign


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        (None, "127.0.0.1:8501"),
        ("http://127.0.0.1:8501", "127.0.0.1:8501"),
        ("http://localhost:8501", "localhost:8501"),
        ("http://[::1]:8501", "[::1]:8501"),
        ("https://checkpoints.example.com", "checkpoints.example.com"),
        ("https://checkpoints.example.com", "checkpoints.example.com:443"),
        ("https://checkpoints.example.com", "checkpoints.example.com, inner.proxy"),
        ("http://Checkpoints.Example.com", "checkpoints.example.com:80"),
    ],
)
def test_the_pages_of_the_app_itself_get_in(origin: str | None, host: str) -> None:
    assert not is_foreign(origin, host)


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://evil.example", "127.0.0.1:8501"),
        ("http://127.0.0.1:9999", "127.0.0.1:8501"),
        ("http://localhost:8501", "127.0.0.1:8501"),
        ("null", "127.0.0.1:8501"),
        ("", "127.0.0.1:8501"),
        ("http://[::1", "127.0.0.1:8501"),
        ("http://127.0.0.1:99999999", "127.0.0.1:8501"),
        ("http://127.0.0.1:8501", ""),
        ("http://127.0.0.1:8501@evil.example", "127.0.0.1:8501"),
    ],
)
def test_pages_of_other_servers_and_ports_do_not(origin: str, host: str) -> None:
    assert is_foreign(origin, host)


def asked(kind: str, *headers: tuple[bytes, bytes], path: str = "/") -> list[dict[str, Any]]:
    """What is sent for a request with these headers."""
    sent: list[dict[str, Any]] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"inner"})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": kind,
        "path": path,
        "headers": list(headers),
        "extensions": {"websocket.http.response": {}},
    }
    asyncio.run(Gate(inner)(scope, receive, send))
    return sent


def test_every_answer_has_the_headers() -> None:
    start, body = asked("http", (b"host", b"127.0.0.1:8501"))
    assert body["body"] == b"inner"
    assert {name.decode(): value.decode() for name, value in start["headers"]} == {
        name.lower(): value for name, value in HEADERS.items()
    }


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_foreign_page_never_reaches_streamlit(kind: str) -> None:
    sent = asked(kind, (b"host", b"127.0.0.1:8501"), (b"origin", b"http://127.0.0.1:9999"))
    assert sent[0]["status"] == 403
    assert b"inner" not in sent[-1]["body"]


def test_the_name_that_a_proxy_was_asked_by_counts() -> None:
    sent = asked(
        "http",
        (b"host", b"10.0.0.7:8501"),
        (b"x-forwarded-host", b"checkpoints.example.com"),
        (b"origin", b"https://checkpoints.example.com"),
    )
    assert sent[0]["status"] == 200


def test_what_is_neither_request_nor_connection_passes() -> None:
    assert asked("lifespan")[-1]["body"] == b"inner"


@pytest.mark.parametrize(
    ("address", "uploads", "status"),
    [
        ("127.0.0.1", "private", 200),
        ("127.0.0.1", "never", 403),
        ("192.0.2.1", "private", 403),
        ("192.0.2.1", "always", 200),
        ("192.0.2.1", "nonsense", 403),
    ],
)
def test_an_upload_gets_in_only_where_uploads_are_taken(
    monkeypatch: pytest.MonkeyPatch, address: str, uploads: str, status: int
) -> None:
    monkeypatch.setenv(f"{PREFIX}ADDRESS", address)
    monkeypatch.setenv(f"{PREFIX}OPEN_UPLOADS", uploads)
    get_settings.cache_clear()
    try:
        sent = asked("http", (b"host", b"h"), path="/base/_stcore/upload_file/session/file")
        assert sent[0]["status"] == status
        assert asked("http", (b"host", b"h"), path="/_stcore/health")[0]["status"] == 200
    finally:
        get_settings.cache_clear()
