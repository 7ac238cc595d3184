"""The gate in front of the web server: which pages may ask, and what browsers are told about every answer.

Streamlit checks ``Host`` against ``server.allowedHosts``. It also accepts requests of pages of other ports of
this machine, looks its public address up on the internet when a foreign page asks, and says nothing against
frames; so that is done here, before Streamlit sees a request.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.errors import InvalidSettingError
from core.messages import say
from core.settings import get_settings

# No page of another server may show the app in a frame or learn the address of a checkpoint; no file is taken
# for another type than it says.
HEADERS = {
    "X-Frame-Options": "SAMEORIGIN",
    "Content-Security-Policy": "; ".join(
        f"{directive} 'self'" for directive in ("frame-ancestors", "base-uri", "form-action")
    )
    + "; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


UPLOADS = "/_stcore/upload_file/"
"""Streamlit takes uploads there from whoever has a session, whatever is on the page."""


def _takes_uploads() -> bool:
    try:
        return get_settings().takes_uploads
    except InvalidSettingError:
        return False  # and the page says which setting


def is_foreign(origin: str | None, host: str) -> bool:
    """Whether a request with these headers ``Origin`` and ``Host`` comes from a page of another server:
    another name or another port. No ``Origin`` (a program, or the page itself) is not foreign; ``null`` (a
    sandbox, a file) is."""
    if origin is None:
        return False
    try:
        parts = urlsplit(origin)
        asked = _name_and_port(host.split(",")[0].strip(), parts.scheme)
        return not parts.netloc or _name_and_port(parts.netloc, parts.scheme) != asked
    except ValueError:
        return True


def _name_and_port(netloc: str, scheme: str) -> tuple[str | None, int]:
    parts = urlsplit(f"//{netloc}")
    return parts.hostname, parts.port or (443 if scheme == "https" else 80)


class Gate:
    """ASGI middleware: foreign pages get 403, every other answer the headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request or connection."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if is_foreign(headers.get("origin"), headers.get("x-forwarded-host", headers.get("host", ""))):
            await PlainTextResponse(say("screens.foreign_page"), 403, HEADERS)(scope, receive, send)
            return
        if scope["type"] == "http" and UPLOADS in scope["path"] and not _takes_uploads():
            await PlainTextResponse(say("incident_store.uploads_off"), 403, HEADERS)(scope, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, answer)


GATE = Middleware(Gate)
