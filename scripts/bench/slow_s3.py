"""A read-only S3 server with a latency, light enough not to be what is measured.

    python -m scripts.bench.slow_s3 --port 9000 --ms 30 --bucket typical=DIRECTORY --bucket large=names.tsv

A bucket is a directory, or a file of key<TAB>size lines as ``large_checkpoint --listing`` writes; what lies
in the folder beside it (``names`` for ``names.tsv``) has that content, other objects are zeros. Answers
ListObjectsV2 (prefix, delimiter, max-keys, continuation-token, start-after; 1,000 keys a page, in the order
of their bytes), GET with ranges, and HEAD. Every answer leaves ``--ms`` after its request came in. ``GET
/-/stats``: the requests of each kind since the last call, and the most at one time; these numbers do not
depend on how busy the machine is. It is a model: no signatures, no writes, no errors, and the names as they
were at its start.
"""

from __future__ import annotations

import argparse
import asyncio
import bisect
import json
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from core.storage import Location, parse_location

PROJECT = Path(__file__).resolve().parents[2]
STAMP = "2026-12-20T12:00:00.000Z"
HTTP_STAMP = "Sun, 20 Dec 2026 12:00:00 GMT"
LONGEST_PAGE = 1000
LAST = "\U0010ffff"  # sorts behind all that a name goes on with
REASONS = {200: "OK", 206: "Partial Content", 404: "Not Found", 416: "Range Not Satisfiable"}


# ------------------------------------------------------------- from outside


@dataclass(frozen=True, slots=True)
class SlowS3:
    """A running server. The keys are dummies."""

    endpoint: str

    def location(self, bucket: str, endpoint: str | None = None) -> Location:
        """A bucket as a location; ``endpoint``: through something that stands before the server."""
        options = {
            "key": "k",
            "secret": "s",
            "endpoint_url": endpoint or self.endpoint,
            "client_kwargs": {"region_name": "us-east-1"},
        }
        return parse_location(f"s3://{bucket}", options)

    def stats(self) -> dict[str, int]:
        """The requests since the last call: list, head, get, most_at_once."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.endpoint}/-/stats", timeout=30) as answer:
            return {"list": 0, "head": 0, "get": 0, **json.load(answer)}


@contextmanager
def serving(buckets: Mapping[str, Path], ms: float = 0, port: int = 0) -> Iterator[SlowS3]:
    """The server in a process of its own, on a free port unless one is named."""
    command = [sys.executable, "-m", "scripts.bench.slow_s3", "--port", str(port), "--ms", str(ms)]
    for name, source in buckets.items():
        command += ["--bucket", f"{name}={source}"]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout is not None else ""
            if not line.startswith("http://"):
                raise RuntimeError(
                    f"the slow S3 server did not start{f' on port {port}; choose another' if port else ''}"
                )
            yield SlowS3(line.strip())
        finally:
            process.terminate()


# ------------------------------------------------------------------ buckets


class Bucket:
    """The keys of a bucket with their sizes, in the order of their bytes."""

    def __init__(self, source: Path) -> None:
        self.root = source if source.is_dir() else source.with_suffix("")
        if not source.is_dir():
            rows = (line.split("\t") for line in source.read_text(encoding="utf-8").splitlines())
            self.sizes = {key: int(size) for key, size in rows}
        else:
            # An object store has no .crc files.
            found = (path for path in source.rglob("*") if path.suffix != ".crc" and path.is_file())
            self.sizes = {path.relative_to(source).as_posix(): path.stat().st_size for path in found}
        self.keys = sorted(self.sizes, key=str.encode)
        self.entries = [
            f"<Contents><Key>{escape(key)}</Key><LastModified>{STAMP}</LastModified><ETag>&quot;0&quot;</ETag>"
            f"<Size>{self.sizes[key]}</Size><StorageClass>STANDARD</StorageClass></Contents>"
            for key in self.keys
        ]

    def read(self, key: str) -> bytes:
        path = self.root / key
        return path.read_bytes() if path.is_file() else bytes(self.sizes[key])

    def list_page(self, name: str, query: Mapping[str, str]) -> bytes:
        """One page of ListObjectsV2."""
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        limit = min(LONGEST_PAGE, int(query.get("max-keys", LONGEST_PAGE)))
        after = query.get("continuation-token") or query.get("start-after", "")
        keys = self.keys
        at = bisect.bisect_left(keys, prefix)
        if after:
            at = max(at, bisect.bisect_right(keys, after))
        end = bisect.bisect_left(keys, prefix + LAST, at)
        entries: list[str] = []
        last = token = ""
        if not delimiter and at < end:
            entries = self.entries[at : min(end, at + limit)]
            at += len(entries)
            last = keys[at - 1]
        while at < end and len(entries) < limit:
            key = keys[at]
            cut = key.find(delimiter, len(prefix))
            if cut >= 0:  # a common prefix: on behind all of its keys
                group = key[: cut + len(delimiter)]
                entries.append(f"<CommonPrefixes><Prefix>{escape(group)}</Prefix></CommonPrefixes>")
                last = group + LAST
                at = bisect.bisect_left(keys, last, at)
            else:
                entries.append(self.entries[at])
                last, at = key, at + 1
        if at < end:
            token = f"<NextContinuationToken>{escape(last)}</NextContinuationToken>"
        return (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{name}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(entries)}</KeyCount><MaxKeys>{limit}</MaxKeys>"
            f"<IsTruncated>{'true' if token else 'false'}</IsTruncated>"
            f"{token}{''.join(entries)}</ListBucketResult>"
        ).encode()


# --------------------------------------------------------------------- HTTP


def response(
    status: int,
    body: bytes = b"",
    *,
    size: int | None = None,
    content_range: str = "",
    kind: str = "binary/octet-stream",
) -> bytes:
    """A whole answer. ``size``: of the object, where no body follows (HEAD)."""
    lines = [
        f"HTTP/1.1 {status} {REASONS[status]}",
        f"Content-Type: {kind}",
        'ETag: "0"',
        f"Last-Modified: {HTTP_STAMP}",
        "Accept-Ranges: bytes",
        *([f"Content-Range: {content_range}"] if content_range else []),
        f"Content-Length: {len(body) if size is None else size}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def refusal(status: int, code: str, method: str) -> bytes:
    body = f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
    return response(status, b"" if method == "HEAD" else body, kind="application/xml")


class Server:
    """The buckets, the latency and what was counted; every connection asks here."""

    def __init__(self, buckets: Mapping[str, Bucket], ms: float) -> None:
        self.buckets, self.delay = buckets, ms / 1000
        self.counts: Counter[str] = Counter()
        self.now = self.most_at_once = 0

    def answer(self, lines: list[str]) -> bytes:
        method, target, _ = lines[0].split(" ", 2)
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        url = urlsplit(target)
        name, _, key = unquote(url.path).lstrip("/").partition("/")
        if name == "-":
            return self._stats()
        bucket = self.buckets.get(name)
        if bucket is None:
            return refusal(404, "NoSuchBucket", method)
        if key:
            self.counts[method.lower()] += 1
            return self._object(bucket, key, method, headers.get("range", ""))
        if method == "HEAD":
            return response(200)
        self.counts["list"] += 1
        query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        return response(200, bucket.list_page(name, query), kind="application/xml")

    def _stats(self) -> bytes:
        body = json.dumps({**self.counts, "most_at_once": self.most_at_once}).encode()
        self.counts.clear()
        self.most_at_once = 0
        return response(200, body)

    @staticmethod
    def _object(bucket: Bucket, key: str, method: str, wanted: str) -> bytes:
        if key not in bucket.sizes:
            return refusal(404, "NoSuchKey", method)
        if method == "HEAD":
            return response(200, size=bucket.sizes[key])
        body = bucket.read(key)
        if not wanted.startswith("bytes="):
            return response(200, body)
        begin, _, end = wanted.removeprefix("bytes=").partition("-")
        first = int(begin) if begin else max(0, len(body) - int(end))
        last = min(int(end), len(body) - 1) if begin and end else len(body) - 1
        if first >= len(body):
            return refusal(416, "InvalidRange", method)
        return response(206, body[first : last + 1], content_range=f"bytes {first}-{last}/{len(body)}")


class Connection(asyncio.Protocol):
    """One connection, kept open; its requests have no body."""

    transport: asyncio.Transport

    def __init__(self, server: Server) -> None:
        self.server, self.buffer = server, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
            self.server.now += 1
            self.server.most_at_once = max(self.server.most_at_once, self.server.now)
            answer = self.server.answer(head.decode("latin-1").split("\r\n"))
            asyncio.get_running_loop().call_later(self.server.delay, self._send, answer)

    def _send(self, answer: bytes) -> None:
        self.server.now -= 1
        if not self.transport.is_closing():
            self.transport.write(answer)


async def serve(server: Server, port: int) -> None:
    """Serves until it is ended; says on stdout where."""
    listening = await asyncio.get_running_loop().create_server(lambda: Connection(server), "127.0.0.1", port)
    print(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", flush=True)
    await listening.serve_forever()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--port", type=int, default=0, help="on 127.0.0.1; 0: a free one, printed at the start"
    )
    parser.add_argument("--ms", type=float, default=30, help="latency of each request")
    parser.add_argument("--bucket", action="append", required=True, metavar="NAME=DIRECTORY_OR_LISTING")
    given = parser.parse_args()
    sources = dict(bucket.split("=", 1) for bucket in given.bucket)
    server = Server({name: Bucket(Path(source)) for name, source in sources.items()}, given.ms)
    try:
        asyncio.run(serve(server, given.port))
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
