"""Connections to one server that stay open between requests: GET over HTTP/1.1 and nothing else.

A request here costs a fifth of the processor time that aiohttp needs for it, and most of a first view is
requests. It is strict on purpose: an answer that is not framed by a length or in chunks, or not to the
letter, is no answer, and s3fs asks again through aiohttp.
"""

from __future__ import annotations

import asyncio
import itertools
import ssl
import time
from collections.abc import Mapping
from typing import NamedTuple

KEEP_SECONDS = 12.0  # as long as aiobotocore keeps a connection; servers close theirs after 20 and more
ADDRESS_SECONDS = 10.0  # as long as aiohttp keeps what the name server said
LONGEST_HEAD = 65_536


class Broken(OSError):  # noqa: N818  (it never leaves this package)
    """No answer, or one that cannot be read here."""


class Answer(NamedTuple):
    """Status, headers by their small name, and the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Connections:
    """At most ``limit`` connections to ``host``; over TLS where there is a ``context``. A connection may take
    ``connect_seconds``, an answer ``read_seconds``."""

    def __init__(
        self,
        host: str,
        port: int,
        context: ssl.SSLContext | None,
        limit: int,
        connect_seconds: float | None = None,
        read_seconds: float | None = None,
    ) -> None:
        self._host = host
        self._port = port
        self._context = context
        self._connect_seconds = connect_seconds
        self._read_seconds = read_seconds
        self._gate = asyncio.Semaphore(limit)
        self._idle: list[_Connection] = []
        self._sweeper: asyncio.TimerHandle | None = None
        self._addresses: list[str] = []
        self._addresses_until = 0.0
        self._asking = asyncio.Lock()
        self._turns = itertools.count()

    async def get(self, head: bytes) -> Answer:
        """The answer to a request whose head is ``head``. Raises :class:`Broken`."""
        async with self._gate:
            connection = self._kept() or await self._connected()
            try:
                async with asyncio.timeout(self._read_seconds):
                    answer = await connection.get(head)
            except TimeoutError as error:
                connection.abort()
                raise Broken("silent") from error
            except BaseException:
                connection.abort()
                raise
            self._keep(connection)
            return answer

    def close(self) -> None:
        """Closes what is kept open; a request after this opens new connections."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        for connection in self._idle:
            connection.abort()
        self._idle.clear()

    def _kept(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and time.monotonic() - connection.used_at < KEEP_SECONDS:
                return connection
            connection.abort()
        return None

    def _keep(self, connection: _Connection) -> None:
        if not connection.is_open:
            connection.abort()
            return
        connection.used_at = time.monotonic()
        self._idle.append(connection)
        if self._sweeper is None:
            self._sweeper = asyncio.get_running_loop().call_later(KEEP_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """Closes what nobody used for a while."""
        oldest = time.monotonic() - KEEP_SECONDS
        for connection in self._idle:
            if connection.used_at <= oldest:
                connection.abort()
        self._idle = [connection for connection in self._idle if connection.is_open]
        self._sweeper = None
        if self._idle:
            self._sweeper = asyncio.get_running_loop().call_later(KEEP_SECONDS, self._sweep)

    async def _connected(self) -> _Connection:
        loop = asyncio.get_running_loop()
        name = self._host if self._context is not None else None
        error: Exception = Broken("address")
        try:
            async with asyncio.timeout(self._connect_seconds):
                addresses = await self._resolved()
                turn = next(self._turns) % len(addresses) if addresses else 0
                for address in addresses[turn:] + addresses[:turn]:
                    try:
                        _, connection = await loop.create_connection(
                            _Connection, address, self._port, ssl=self._context, server_hostname=name
                        )
                        return connection
                    except OSError as failed:
                        error = failed
        except TimeoutError as late:
            error = late
        self._addresses_until = 0.0
        raise Broken(str(error)) from error

    async def _resolved(self) -> list[str]:
        if time.monotonic() < self._addresses_until:
            return self._addresses
        async with self._asking:
            if time.monotonic() >= self._addresses_until:
                loop = asyncio.get_running_loop()
                found = await loop.getaddrinfo(self._host, self._port, type=1)
                self._addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
                self._addresses_until = time.monotonic() + ADDRESS_SECONDS
        return self._addresses


class _Connection(asyncio.Protocol):
    """One connection; one request at a time."""

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self.is_open = False
        self.used_at = 0.0
        self._waiting: asyncio.Future[Answer] | None = None
        self._start()

    def _start(self) -> None:
        self._buffer = bytearray()
        self._status = 0
        self._headers: dict[str, str] = {}
        self._length: int | None = None
        self._chunks: list[bytes] = []
        self._at = 0

    def get(self, head: bytes) -> asyncio.Future[Answer]:
        """Sends a request and gives its answer later."""
        self._start()
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(head)
        return self._waiting

    def abort(self) -> None:
        self.is_open = False
        self._waiting = None
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.is_open = True

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        self._fail("closed")

    def data_received(self, data: bytes) -> None:
        if self._waiting is None:  # nobody asked
            self.abort()
            return
        self._buffer += data
        try:
            body = self._body() if self._status or self._read_head() else None
        except (ValueError, IndexError) as error:
            self._fail(f"not HTTP/1.1: {error}")
            self.abort()
            return
        if body is None:
            return
        waiting, self._waiting = self._waiting, None
        if not waiting.done():
            waiting.set_result(Answer(self._status, self._headers, body))
        self._buffer = bytearray()

    def _fail(self, why: str) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_exception(Broken(why))

    def _read_head(self) -> bool:
        """Reads status and headers, once they are all there."""
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > LONGEST_HEAD:
                raise ValueError("head")
            return False
        first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
        if first[:9] not in ("HTTP/1.1 ", "HTTP/1.0 ") or not 200 <= int(first[9:12]) <= 599:
            raise ValueError(first[:40])
        for line in lines:
            name, colon, value = line.partition(":")
            name = name.lower()
            if not colon or name != name.strip() or (name in _FRAMING and name in self._headers):
                raise ValueError("header")
            self._headers[name] = value.strip()
        coding, length = self._headers.get("transfer-encoding"), self._headers.get("content-length")
        if coding is None and length is not None and length.isascii() and length.isdigit():
            self._length = int(length)
        elif first[:9] == "HTTP/1.0 " or coding is None or coding.lower() != "chunked" or length is not None:
            raise ValueError("framing")
        if first[:9] == "HTTP/1.0 " or "close" in self._headers.get("connection", "").lower():
            self.is_open = False  # for the next request
        self._status = int(first[9:12])
        del self._buffer[: end + 4]
        return True

    def _body(self) -> bytes | None:
        """The body, once it is all there."""
        if self._length is None:
            return self._chunked()
        if len(self._buffer) > self._length:
            raise ValueError("length")
        return bytes(self._buffer) if len(self._buffer) == self._length else None

    def _chunked(self) -> bytes | None:
        while (end := self._buffer.find(b"\r\n", self._at)) >= 0:
            size = int(bytes(self._buffer[self._at : end]).partition(b";")[0].strip(), 16)
            begin = end + 2
            if size < 0:
                raise ValueError("size")
            if size == 0:
                if len(self._buffer) < begin + 2:
                    return None
                if self._buffer[begin:] != b"\r\n":
                    raise ValueError("trailer")
                return b"".join(self._chunks)
            if len(self._buffer) < begin + size + 2:
                return None
            if self._buffer[begin + size : begin + size + 2] != b"\r\n":
                raise ValueError("chunk")
            self._chunks.append(bytes(self._buffer[begin : begin + size]))
            self._at = begin + size + 2
        return None


_FRAMING = ("content-length", "transfer-encoding", "connection")
