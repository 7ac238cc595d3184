"""S3 and what speaks like it: s3fs for connections and credentials, and listings in as few and as short waits
as S3 allows.

Three things are slow when s3fs is used as it comes (measured with s3fs 2026.9): a HEAD before each GET, pages
that wait for one another, and building a Python object for each field of each listed key. Here a GET is one
request, a large directory is listed in ranges side by side, and the XML of a listing is read directly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime
from functools import lru_cache, partial
from typing import Any
from urllib.parse import unquote_plus
from xml.etree import ElementTree

from fsspec.asyn import sync

from core.messages import say
from core.storage.listing import Content, FileInfo, Look
from core.storage.patience import awaited_in_time
from core.storage.remote import content_of, gather_bounded, look_of
from core.storage.store import Folder, ListingFailed, Tally, join

# Below this many names (``state/<operator>/<partition>``) a tree is listed flat: one piece of work for each
# partition.
SHARD_DEPTH = 3

# A directory that is longer than this many pages is listed in ranges of names, side by side.
PAGES_IN_A_ROW = 2

# Sorts behind every name that continues with a digit and an ASCII character; the others are listed with their
# digit.
BEHIND_DIGITS = "9~"

# Sorts behind the names of all operators and of whatever else people put into a directory.
BEHIND_ALL = "~~~~"

# What EMR and old Hadoop versions leave in place of a directory: an empty object with this ending.
OLD_MARKER = "_$folder$"

ENTRIES = "ListedEntries"
_counting: ContextVar[Tally | None] = ContextVar("counting", default=None)


class S3Store:
    """The keys below ``root`` (``bucket/prefix``) of the s3fs file system that ``connect`` makes at the first
    use."""

    def __init__(
        self, root: str, connect: Callable[[], Any], at_once: int, seconds: float | None = None
    ) -> None:
        self._root = root
        self._connect = connect
        self._at_once = at_once
        self._seconds = seconds

    def list(
        self, prefixes: Sequence[str], recursive: bool, first_page: bool, tally: Tally
    ) -> dict[str, Folder]:
        fs = self._connect()
        lister = partial(
            _list, first_page=first_page, tally=tally, at_once=self._at_once, seconds=self._seconds
        )
        return sync(fs.loop, lister, fs, self._root, prefixes, recursive)  # type: ignore[no-any-return]

    def list_without(self, left_out: str, tally: Tally) -> Folder | None:
        """Everything below the root, at any depth, but what is in the directory ``left_out``: one request, or
        two. None when it is longer than one page, or nothing is there."""
        fs = self._connect()
        return sync(fs.loop, _without, fs, self._root, left_out, tally, self._at_once, self._seconds)  # type: ignore[no-any-return]

    def list_flat(self, prefixes: Sequence[str], tally: Tally) -> dict[str, Folder]:
        """The whole tree below each prefix, page after page: as few requests as S3 allows, one after another.
        :meth:`list` takes more of them, side by side."""
        fs = self._connect()
        return sync(fs.loop, _flat, fs, self._root, prefixes, tally, self._at_once, self._seconds)  # type: ignore[no-any-return]

    def list_after(self, after: Mapping[str, str], first_page: bool, tally: Tally) -> dict[str, Folder]:
        """One level of each directory: what sorts behind a name."""
        fs = self._connect()
        return sync(  # type: ignore[no-any-return]
            fs.loop, _after, fs, self._root, after, first_page, tally, self._at_once, self._seconds
        )

    def read(self, paths: Sequence[str], tally: Tally) -> dict[str, Content]:
        fs = self._connect()
        answers = sync(fs.loop, _read, fs, self._root, paths, tally, self._at_once, self._seconds)
        contents = {path: content_of(answer) for path, answer in zip(paths, answers, strict=True)}
        tally.add(bytes=sum(len(content) for content in contents.values() if isinstance(content, bytes)))
        return contents

    def look(self, paths: Sequence[str], tally: Tally) -> dict[str, Look]:
        fs = self._connect()
        answers = sync(fs.loop, _heads, fs, self._root, paths, tally, self._at_once, self._seconds)
        return {path: look_of(path, answer) for path, answer in zip(paths, answers, strict=True)}


async def _heads(
    fs: Any, root: str, paths: Sequence[str], tally: Tally, at_once: int, seconds: float | None
) -> Sequence[Any]:
    await _prepare(fs, root, tally)
    return await gather_bounded([partial(_head, fs, join(root, path)) for path in paths], at_once, seconds)


async def _head(fs: Any, path: str) -> dict[str, Any]:
    bucket, key, _ = fs.split_path(path)
    answer = await fs._call_s3("head_object", Bucket=bucket, Key=key)
    return {"size": answer.get("ContentLength"), "modified": answer.get("LastModified"), **answer}


async def _read(
    fs: Any, root: str, paths: Sequence[str], tally: Tally, at_once: int, seconds: float | None
) -> Sequence[Any]:
    await _prepare(fs, root, tally)
    # max_concurrency=1 keeps s3fs from asking for the size first.
    return await gather_bounded(
        [partial(fs._cat_file, join(root, path), max_concurrency=1) for path in paths], at_once, seconds
    )


async def _list(
    fs: Any,
    root: str,
    prefixes: Sequence[str],
    recursive: bool,
    *,
    first_page: bool,
    tally: Tally,
    at_once: int,
    seconds: float | None,
) -> dict[str, Folder]:
    await _prepare(fs, root, tally)
    lister = _Lister(fs, root, first_page, at_once, seconds)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(lister.folder(prefix, recursive)) for prefix in prefixes]
    except ExceptionGroup as errors:
        raise _first(errors) from None
    return dict(zip(prefixes, [task.result() for task in tasks], strict=True))


async def _without(
    fs: Any, root: str, left_out: str, tally: Tally, at_once: int, seconds: float | None
) -> Folder | None:
    await _prepare(fs, root, tally)
    try:
        return await _Lister(fs, root, False, at_once, seconds).without(left_out)
    except Exception as error:
        raise ListingFailed("", _first(error)) from error


async def _after(
    fs: Any,
    root: str,
    after: Mapping[str, str],
    first_page: bool,
    tally: Tally,
    at_once: int,
    seconds: float | None,
) -> dict[str, Folder]:
    await _prepare(fs, root, tally)
    lister = _Lister(fs, root, first_page, at_once, seconds)
    found = await asyncio.gather(*(lister.after(prefix, name) for prefix, name in after.items()))
    return dict(zip(after, found, strict=True))


async def _flat(
    fs: Any, root: str, prefixes: Sequence[str], tally: Tally, at_once: int, seconds: float | None
) -> dict[str, Folder]:
    await _prepare(fs, root, tally)
    lister = _Lister(fs, root, False, at_once, seconds)
    return {prefix: await lister.flat(prefix) for prefix in prefixes}


def _first(error: Exception) -> Exception:
    return _first(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error


class _Lister:
    """Lists below one root, at most ``at_once`` requests at one time."""

    def __init__(self, fs: Any, root: str, first_page: bool, at_once: int, seconds: float | None) -> None:
        self._fs = fs
        self._seconds = seconds
        self._first_page = first_page
        self._bucket, key, _ = fs.split_path(root)
        self._top = key.strip("/") + "/" if key.strip("/") else ""
        self._gate = asyncio.Semaphore(at_once)

    async def without(self, left_out: str) -> Folder | None:
        """As :meth:`S3Store.list_without`. Keys come in the order of their bytes, so that one page that
        reaches the directory holds all before it; a second one lists what sorts behind it."""
        result = Folder(exists=False)
        page = await self._page(Prefix=self._top)
        self._note(page, result, self._top)
        if page.get("IsTruncated"):
            last = max((key for key, *_ in page[ENTRIES]), default="")[len(self._top) :]
            if last < f"{left_out}/":
                return None
            behind = await self._page(
                Prefix=self._top, StartAfter=f"{self._top}{left_out}/{BEHIND_ALL}", Delimiter="/"
            )
            if behind.get("IsTruncated"):
                return None
            self._note(behind, result, self._top)
        if not result.exists:
            return None
        inside = f"{left_out}/"
        result.files = list(
            {info.path: info for info in result.files if not info.path.startswith(inside)}.values()
        )
        result.directories = {path for path in result.directories if not path.startswith(inside)}
        return result

    async def after(self, prefix: str, name: str) -> Folder:
        """As :meth:`S3Store.list_after`, of one prefix."""
        result = Folder(exists=False)
        below = f"{self._top}{prefix}/" if prefix else self._top
        try:
            await self._level(below, below, below + name, result, set())
        except Exception as error:
            raise ListingFailed(prefix, _first(error)) from error
        return result

    async def flat(self, prefix: str) -> Folder:
        """As :meth:`S3Store.list_flat`, of one prefix."""
        result = Folder(exists=False)
        try:
            await self._flat(result, Prefix=f"{self._top}{prefix}/" if prefix else self._top)
        except Exception as error:
            raise ListingFailed(prefix, _first(error)) from error
        result.files = list({info.path: info for info in result.files}.values())
        return result

    async def folder(self, prefix: str, recursive: bool) -> Folder:
        result = Folder(exists=False)
        below = f"{self._top}{prefix}/" if prefix else self._top
        try:
            await self._tree(below, result, recursive)
        except Exception as error:
            cause = _first(error)
            raise ListingFailed(prefix, cause) from cause
        result.files = list({info.path: info for info in result.files}.values())
        if not result.exists and not prefix and self._top:
            page = await self._page(Prefix=below.rstrip("/"), MaxKeys=1)
            result.is_file = any(key == below.rstrip("/") for key, *_ in page[ENTRIES])
        return result

    async def _tree(self, below: str, result: Folder, recursive: bool) -> None:
        depth = below[len(self._top) :].count("/")
        if recursive and depth >= SHARD_DEPTH:
            await self._flat(result, Prefix=below)
            return
        children: set[str] = set()
        await self._level(below, below, "", result, children)
        if not recursive:
            return
        ordered = sorted(children)
        async with asyncio.TaskGroup() as group:
            if depth + 1 >= SHARD_DEPTH and len(ordered) > 1:
                # The last two directories share one listing, so that "_metadata" beside the partitions costs
                # no request of its own.
                group.create_task(self._flat(result, Prefix=below, StartAfter=ordered[-2]))
                ordered = ordered[:-2]
            for child in ordered:
                group.create_task(self._tree(child, result, recursive))

    async def _flat(self, result: Folder, **where: str) -> None:
        """All keys below, page after page."""
        while True:
            page = await self._page(**where)
            self._note(page, result, where["Prefix"])
            if not page.get("IsTruncated"):
                return
            where["ContinuationToken"] = page["NextContinuationToken"]

    async def _level(self, below: str, prefix: str, after: str, result: Folder, children: set[str]) -> None:
        """One level of the directory ``below``: the names that begin with ``prefix`` and sort behind
        ``after``.

        Pages of one listing wait for one another. So when a directory is long and its names are numbers
        (20,000 batches), the rest is listed by the next digit, side by side, and what sorts behind the digits
        in one listing more. Numbers with leading zeros (a Delta log) are listed page by page: they all go on
        with the same digit, so the other ranges would be empty.
        """
        where: dict[str, str] = {"Prefix": prefix, "Delimiter": "/"}
        if after:
            where["StartAfter"] = after
        pages = 0
        while True:
            page = await self._page(**where)
            pages += 1
            self._note(page, result, below)
            children.update(key for key in page["CommonPrefixes"] if not key.endswith("//"))
            if not page.get("IsTruncated"):
                return
            if self._first_page:
                result.is_complete = False
                return
            last = max([key for key, *_ in page[ENTRIES][-1:]] + page["CommonPrefixes"][-1:], default="")
            digit = last[len(prefix) : len(prefix) + 1]
            is_padded = digit == "0" and last[len(prefix) + 1 : len(prefix) + 2].isdigit()
            if (
                not is_padded
                and pages >= PAGES_IN_A_ROW
                and digit
                and digit in "0123456789"
                and after != prefix + BEHIND_DIGITS
            ):
                break
            where["ContinuationToken"] = page["NextContinuationToken"]
        async with asyncio.TaskGroup() as group:
            group.create_task(self._level(below, prefix + digit, last, result, children))
            for following in range(int(digit) + 1, 10):
                group.create_task(self._level(below, f"{prefix}{following}", "", result, children))
            group.create_task(self._level(below, prefix, prefix + BEHIND_DIGITS, result, children))

    def _note(self, page: dict[str, Any], result: Folder, below: str) -> None:
        """Adds one page to the result. Markers of directories make a directory, never a file."""
        top = len(self._top)
        for key, size, modified, etag in page[ENTRIES]:
            result.exists = True
            path = key[top:]
            if "//" in path:
                continue  # a name without a name; no file system that Spark writes through makes one
            folder, _, name = path.rpartition("/")
            if name.endswith(OLD_MARKER) and size == 0:
                folder, name = path.removesuffix(OLD_MARKER), ""
            if name:
                result.files.append(FileInfo(path, size, _milliseconds(modified), etag))
            self._note_folders(folder, result, below)
        for key in page["CommonPrefixes"]:
            result.exists = True
            self._note_folders(key[top:].rstrip("/"), result, below)

    def _note_folders(self, folder: str, result: Folder, below: str) -> None:
        """``folder`` and the directories above it, down from the one that is listed."""
        start = len(below) - len(self._top)
        while len(folder) > start and folder not in result.directories:
            result.directories.add(folder)
            folder = folder.rpartition("/")[0]

    async def _page(self, **where: Any) -> dict[str, Any]:
        async with self._gate:
            request = self._fs._call_s3("list_objects_v2", Bucket=self._bucket, **where)
            page: dict[str, Any] = await awaited_in_time(request, self._seconds)
        if ENTRIES not in page:
            raise OSError(say("storage.not_a_listing"))
        return page


async def _prepare(fs: Any, root: str, tally: Tally) -> None:
    """Connects, counts the requests of this task and the tasks it starts, and reads listings the short
    way."""
    _counting.set(tally)
    await fs.set_session()
    client = await fs.get_s3(fs.split_path(root)[0])
    events = client.meta.events
    # Registering again under the same id changes nothing; s3fs makes a new client when it has to reconnect.
    events.register("before-send.s3", _count, unique_id="checkpoint-explorer-count")
    # Spelled with "*" because that is called before botocore's own handler, which would parse the whole page
    # to see that it is no error.
    events.register("before-parse.*.ListObjectsV2", _read_listing, unique_id="checkpoint-explorer-listing")


def _count(request: Any, event_name: str, **_: Any) -> None:
    tally = _counting.get()
    if tally is None:
        return
    operation = event_name.rsplit(".", 1)[-1]
    if operation.startswith("List"):
        tally.add(list=1)
    elif request.method == "HEAD":
        tally.add(head=1)
    else:
        tally.add(get=1)


def _read_listing(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    """Takes the entries out of a listing before botocore reads it."""
    if response_dict["status_code"] != 200:
        return
    try:
        page = parse_page(response_dict["body"])
    except (ElementTree.ParseError, KeyError, ValueError):
        return  # botocore reads it, or says what is wrong
    customized_response_dict.update(page)
    response_dict["body"] = b"<ListBucketResult/>"


def parse_page(body: bytes) -> dict[str, Any]:
    """One page of ListObjectsV2: ``IsTruncated``, ``NextContinuationToken``, ``CommonPrefixes`` (a list of
    texts) and the entries (key, size, time as text, etag)."""
    root = ElementTree.fromstring(body)  # noqa: S314  (botocore reads the same answer with the same parser)
    if not root.tag.endswith("ListBucketResult"):
        raise ValueError(root.tag)  # an error of the server, which botocore knows how to read
    space = root.tag.removesuffix("ListBucketResult")
    plain: Callable[[str], str] = unquote_plus if root.findtext(space + "EncodingType") == "url" else str
    key, size, modified, etag = (space + name for name in ("Key", "Size", "LastModified", "ETag"))
    entries = [
        (
            plain(item.findtext(key) or ""),
            _number(item.findtext(size)),
            item.findtext(modified) or "",
            item.findtext(etag),
        )
        for item in root.iter(space + "Contents")
    ]
    return {
        "IsTruncated": root.findtext(space + "IsTruncated") == "true",
        "NextContinuationToken": root.findtext(space + "NextContinuationToken"),
        "CommonPrefixes": [
            plain(item.findtext(space + "Prefix") or "") for item in root.iter(space + "CommonPrefixes")
        ],
        ENTRIES: entries,
    }


def _number(text: str | None) -> int | None:
    return int(text) if text else None


@lru_cache(maxsize=4096)
def _milliseconds(text: str) -> int | None:
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        return None
