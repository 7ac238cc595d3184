"""A TCP proxy that adds a fixed latency, to model a far object store in front of any real server.

    python -m scripts.bench.latency_proxy --port 9001 --to 127.0.0.1:9000 --ms 30

What the client sends goes through at once; every piece of a reply leaves ``--ms`` after it came in. So a
request costs one latency more, a long reply is not slowed down beyond that, and requests on different
connections wait at the same time, as with a real store.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


@contextmanager
def proxying(to: str, ms: float) -> Iterator[str]:
    """The endpoint of a proxy in a process of its own, before the server at ``to`` (host:port)."""
    command = [sys.executable, "-m", "scripts.bench.latency_proxy", "--to", to, "--ms", str(ms)]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout is not None else ""
            if not line.startswith("http://"):
                raise RuntimeError("the latency proxy did not start")
            yield line.strip()
        finally:
            process.terminate()


class Client(asyncio.Protocol):
    """One accepted connection and its connection to the real server."""

    transport: asyncio.Transport

    def __init__(self, host: str, port: int, delay: float) -> None:
        self.host, self.port, self.delay = host, port, delay
        self.early: list[bytes] = []
        self.server: asyncio.Transport | None = None
        self.task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.task = asyncio.get_running_loop().create_task(self._open())

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            self.server, _ = await loop.create_connection(lambda: Upstream(self), self.host, self.port)
        except OSError:
            self.transport.close()
            return
        for data in self.early:
            self.server.write(data)

    def data_received(self, data: bytes) -> None:
        if self.server is None:
            self.early.append(data)
        else:
            self.server.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.server is not None:
            self.server.close()


class Upstream(asyncio.Protocol):
    """The connection to the real server: what comes from there is late."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def data_received(self, data: bytes) -> None:
        asyncio.get_running_loop().call_later(self.client.delay, self.client.transport.write, data)

    def connection_lost(self, exc: Exception | None) -> None:
        asyncio.get_running_loop().call_later(self.client.delay + 0.001, self.client.transport.close)


async def serve(host: str, port: int, ms: float, listen: int) -> None:
    """Serves until it is ended; says on stdout where."""
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(lambda: Client(host, port, ms / 1000), "127.0.0.1", listen)
    print(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", flush=True)
    await listening.serve_forever()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--port", type=int, default=0, help="on 127.0.0.1; 0: a free one, printed at the start"
    )
    parser.add_argument("--to", required=True, metavar="HOST:PORT")
    parser.add_argument("--ms", type=float, default=30, help="latency of each reply")
    given = parser.parse_args()
    host, _, port = given.to.rpartition(":")
    try:
        asyncio.run(serve(host, int(port), given.ms, given.port))
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
