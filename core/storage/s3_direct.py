"""A short way to S3: the requests that botocore would send, without the work around them.

botocore needs about 2 ms of processor time for each request, which is most of what opening a checkpoint
costs; nearly all of it is spent before and after signing and sending (serializing, hooks, parsing). So it is
asked once for each bucket what it would send (nothing leaves the machine then): that shows the host, the form
of the address, the headers, and who signs for which region. Where the same request made here is signed alike,
later requests are made after this pattern: signed by botocore's signer with its credentials, which renew
themselves, and sent by aiobotocore's connections with their certificates, proxies and time limits.

Only plain answers are taken from here: a listing, the content of an object, and that there is no such object.
Whatever else comes back (a refusal, a redirect, "slow down", a connection that broke) is no answer, and the
caller sends the request through s3fs, which retries and has the words for errors. There is no way here at all
with another kind of signature, or when anything is not as expected.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit
from weakref import WeakKeyDictionary
from xml.etree import ElementTree

from core.storage.s3_events import watched
from core.storage.s3_pages import Page, parse_page
from core.storage.store import Tally

# How often in a row no plain answer may come before s3fs alone is used for a while: a server that is too busy
# must not be asked twice for everything.
MOST_ODD = 8
REST_SECONDS = 10.0

# After a redirect s3fs finds the region of the bucket, and botocore is watched again; so often at most.
MOST_WAYS = 3

LIST_NAMES = {
    "Prefix": "prefix",
    "Delimiter": "delimiter",
    "StartAfter": "start-after",
    "ContinuationToken": "continuation-token",
    "MaxKeys": "max-keys",
}
PROBE = {
    "Prefix": "a b/+é%",
    "Delimiter": "/",
    "StartAfter": "x~'y",
    "ContinuationToken": "t==",
    "MaxKeys": 7,
}
PROBE_KEY = "a b/é%2F+~'()*=&:@,;!$.txt"

# Headers that are made for each request, and what only counts botocore's own tries.
_MADE = {"host", "authorization", "x-amz-date", "x-amz-security-token"}
_LEFT_OUT = {"amz-sdk-invocation-id", "amz-sdk-request"}
_ALGORITHM = "AWS4-HMAC-SHA256"

# Connections that nobody used for longer are closed: by aiobotocore after 12 seconds.
KEPT_OPEN_SECONDS = 10.0

RESTING, BROKEN = -1, 0  # in place of the status of an answer


@dataclass(frozen=True, slots=True)
class Pattern:
    """A request as botocore sends it. ``headers``: those that are always the same, by their small name."""

    origin: str
    path: str
    headers: Mapping[str, str]
    scope: tuple[str, str] | None  # region and service; None: not signed


class Lane:
    """The short way to one bucket, with the connections and credentials of a client of botocore."""

    def __init__(self, http: Any, credentials: Any, listing: Pattern, reading: Pattern, number: int) -> None:
        self.is_elsewhere = False
        self.number = number
        self._http = http
        self._credentials = credentials
        self._listing = listing
        self._reading = reading
        self._odd = 0
        self._rests_until = 0.0
        self._sent_at: float | None = None

    def connect(self, count: int) -> None:
        """Opens so many connections for the requests that follow, while an answer is waited for; none where
        there may be some already, and none to a proxy. No request is sent."""
        is_used = self._sent_at is not None and time.monotonic() - self._sent_at < KEPT_OPEN_SECONDS
        if not is_used and not self._http._proxy_config.proxy_url_for(self._reading.origin):
            for _ in range(count):
                task = asyncio.create_task(_connected(self._http, self._reading.origin))
                _connecting.add(task)
                task.add_done_callback(_connecting.discard)

    async def page(self, where: Mapping[str, Any], tally: Tally) -> Page | None:
        """One page of a listing; None when there was no plain answer."""
        pattern = self._listing
        status, _, body = await self._send(pattern, pattern.path, list_query(where), tally, list=1)
        if status == 200:
            try:
                page = parse_page(body)
            except (ElementTree.ParseError, ValueError):
                pass
            else:
                self._odd = 0
                return page
        self._note_odd(status)
        return None

    async def read(self, key: str, tally: Tally) -> bytes | None:
        """The content of an object; None when there was no plain answer. Raises ``FileNotFoundError``."""
        path = self._reading.path + quoted_key(key)
        status, headers, body = await self._send(self._reading, path, "", tally, get=1)
        if status == 200 and is_whole(body, headers):
            self._odd = 0
            return body
        if status == 404 and b"<Code>NoSuchKey</Code>" in body:
            self._odd = 0
            raise FileNotFoundError(key)
        self._note_odd(status)
        return None

    async def _send(
        self, pattern: Pattern, path: str, query: str, tally: Tally, **count: int
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of an answer; the status is RESTING or BROKEN when there is none."""
        if self.is_elsewhere or time.monotonic() < self._rests_until:
            return RESTING, {}, b""
        from botocore.exceptions import BotoCoreError

        try:
            request = await signed_request(pattern, self._credentials, path, query)
        except Exception:  # of botocore, which cannot renew credentials; s3fs says so in its own words
            return BROKEN, {}, b""
        tally.add(**count)
        self._sent_at = time.monotonic()
        try:
            answer = await self._http.send(request)
            return answer.status_code, answer.headers, await answer.content
        except BotoCoreError:
            return BROKEN, {}, b""

    def _note_odd(self, status: int) -> None:
        if status == RESTING:
            return
        self._odd += 1
        if 300 <= status <= 400:
            self.is_elsewhere = True
        elif self._odd >= MOST_ODD:
            self._odd = 0
            self._rests_until = time.monotonic() + REST_SECONDS


_connecting: set[asyncio.Task[None]] = set()


class _Connected(Exception):  # noqa: N818  (no error: it ends a request that is not to be sent)
    """The connection is there."""


async def _connected(http: Any, origin: str) -> None:
    """Leaves an open connection to ``origin`` with those that wait for a request. What goes wrong is left to
    the requests to see."""

    async def connects(request: Any, send: Any) -> Any:
        (await request.session.connector.connect(request, [], http._timeout)).release()
        raise _Connected

    with suppress(Exception):
        session = await http._get_session(None)
        await session.get(origin, middlewares=(connects,))


def quoted_key(key: str) -> str:
    """A key as it stands in an address."""
    return quote(key, safe="/-_.~")


def list_query(where: Mapping[str, Any]) -> str:
    """The query of a listing, encoded and in the order in which it is signed."""
    pairs = {LIST_NAMES[name]: str(value) for name, value in where.items()}
    pairs |= {"list-type": "2", "encoding-type": "url"}
    return "&".join(f"{name}={quote(pairs[name], safe='-_.~')}" for name in sorted(pairs))


async def signed_request(pattern: Pattern, credentials: Any, path: str, query: str) -> Any:
    """A request after a pattern, signed by botocore where the pattern is signed."""
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest

    address = f"{pattern.origin}{path}{'?' if query else ''}{query}"
    request = AWSRequest("GET", address, headers=dict(pattern.headers))
    if pattern.scope is not None:
        region, service = pattern.scope
        # botocore renews those that expire
        S3SigV4Auth(await credentials.get_frozen_credentials(), service, region).add_auth(request)
    return request.prepare()


def is_whole(body: bytes, headers: Mapping[str, str]) -> bool:
    """Whether a content fits the checksum that came with it, where there is one of a kind known here."""
    wanted = headers.get("x-amz-checksum-crc32")
    if wanted and "-" not in wanted:
        return base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode() == wanted
    for kind in ("sha256", "sha1"):
        wanted = headers.get(f"x-amz-checksum-{kind}")
        if wanted and "-" not in wanted:
            return base64.b64encode(hashlib.new(kind, body).digest()).decode() == wanted
    return True


# Finding the way: once for each client of botocore and bucket.

_lanes: WeakKeyDictionary[Any, dict[str, Lane | None]] = WeakKeyDictionary()
_finding: WeakKeyDictionary[Any, asyncio.Lock] = WeakKeyDictionary()
_failed_at: WeakKeyDictionary[Any, float] = WeakKeyDictionary()  # by monotonic time


async def lane_of(fs: Any, bucket: str) -> Lane | None:
    """The short way to a bucket of an s3fs file system; None where there is none."""
    client = await fs.get_s3(bucket)
    lanes = _lanes.setdefault(client, {})
    if bucket in lanes and not _is_over(lanes[bucket]):
        return lanes[bucket]
    async with _finding.setdefault(client, asyncio.Lock()):
        if time.monotonic() - _failed_at.get(client, -REST_SECONDS) < REST_SECONDS:
            return None  # whoever waited here does not wait for the same once more
        before = lanes.get(bucket)
        if bucket not in lanes or _is_over(before):
            try:
                lanes[bucket] = await _found(fs, client, bucket, 1 if before is None else before.number + 1)
            except Exception:  # no credentials, for one; s3fs says so in its own words
                _failed_at[client] = time.monotonic()
                return None
        return lanes[bucket]


def _is_over(lane: Lane | None) -> bool:
    """Whether another way may be found, now that s3fs knows where the bucket is."""
    return lane is not None and lane.is_elsewhere and lane.number < MOST_WAYS


async def _found(fs: Any, client: Any, bucket: str, number: int) -> Lane | None:
    if fs.version_aware:
        return None
    http = client._endpoint.http_session
    certificates = asyncio.create_task(http._get_session(None))  # read in a thread meanwhile
    certificates.add_done_callback(lambda task: task.cancelled() or task.exception())
    listed = await watched(fs, "list_objects_v2", Bucket=bucket, **PROBE)
    read = await watched(fs, "get_object", Bucket=bucket, Key=PROBE_KEY)
    credentials = client._request_signer._credentials
    listing = await _pattern(listed, credentials, list_query(PROBE), "")
    reading = await _pattern(read, credentials, "", quoted_key(PROBE_KEY))
    if listing is None or reading is None or listing.origin != reading.origin:
        return None
    return Lane(http, credentials, listing, reading, number)


async def _pattern(request: Any, credentials: Any, query: str, key: str) -> Pattern | None:
    """What is the same in all such requests; None when this one cannot be made here to the last sign."""
    url = urlsplit(request.url)
    headers = {name.lower(): _plain_text(value) for name, value in request.headers.items()}
    theirs = headers.get("authorization", "")
    if request.method != "GET" or request.body or not url.path.endswith(key):
        return None
    if sorted(url.query.split("&")) != sorted(query.split("&")):
        return None
    fixed = {name: value for name, value in headers.items() if name not in _MADE | _LEFT_OUT}
    path = url.path.removesuffix(key)
    pattern = Pattern(f"{url.scheme}://{url.netloc}", path, fixed, None)
    if not theirs:
        return pattern if not any(name.startswith("x-amz-date") for name in headers) else None
    scope = _scope(theirs)
    if scope is None or credentials is None:
        return None
    pattern = Pattern(pattern.origin, path, fixed, scope)
    made = await signed_request(pattern, credentials, url.path, query)
    ours = {name.lower(): _plain_text(value) for name, value in made.headers.items()}
    return pattern if _unsigned(ours) == _unsigned(headers) else None


def _unsigned(headers: Mapping[str, str]) -> tuple[object, ...]:
    """What two requests that are signed alike have in common: all but the moment and the signature."""
    signed = headers["authorization"].partition("Signature=")[0]
    return signed, headers.get("x-amz-security-token"), headers.get("x-amz-content-sha256")


def _scope(authorization: str) -> tuple[str, str] | None:
    kind, _, rest = authorization.partition(" ")
    parts = rest.partition("Credential=")[2].partition(",")[0].split("/")
    return (parts[-3], parts[-2]) if kind == _ALGORITHM and len(parts) >= 5 else None


def _plain_text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
