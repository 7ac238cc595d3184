"""Any file system that fsspec knows, many requests at a time where its implementation allows that."""

from __future__ import annotations

import asyncio
import calendar
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, TypeVar

from fsspec.asyn import sync

from core.storage import clouds
from core.storage.listing import Content, FileInfo, Gone, Look, ReadFailure
from core.storage.patience import NoAnswer, awaited_in_time, in_time
from core.storage.store import Folder, ListingFailed, NoCloudCredentials, Tally, failure_reason, join

T = TypeVar("T")
R = TypeVar("R")

# Blocking implementations that are safe to call from several threads. All others are called one after
# another.
THREADED = {"hdfs", "arrow_hdfs", "viewfs", "webhdfs", "webHDFS"}

TIME_KEYS = ("LastModified", "last_modified", "mtime", "modified", "updated", "modificationTime", "created")
_Pairs = list[tuple[str, str]]
_Found = list[tuple[str, Folder]]

ETAG_KEYS = ("ETag", "etag", "content_md5", "md5Hash")


class RemoteStore:
    """The directory ``root`` of the fsspec file system that ``connect`` makes at the first use."""

    def __init__(
        self, protocol: str, root: str, connect: Callable[[], Any], at_once: int, seconds: float | None = None
    ) -> None:
        self._protocol = protocol
        self._root = root
        self._connect = connect
        self._at_once = at_once
        self._seconds = seconds

    def list(
        self, prefixes: Sequence[str], recursive: bool, first_page: bool, tally: Tally
    ) -> dict[str, Folder]:
        fs = self._connect()

        def note(level: Sequence[str], found: Sequence[Folder | Exception]) -> _Found:
            tally.add(list=len(level))
            pairs = []
            for prefix, folder in zip(level, found, strict=True):
                if isinstance(folder, Exception):
                    raise ListingFailed(prefix, folder) from folder
                pairs.append((prefix, folder))
            return pairs

        result = dict(note(prefixes, self._each(fs, prefixes, self._ls)))
        level = (
            [(top, path) for top in prefixes for path in sorted(result[top].directories)] if recursive else []
        )
        while level:
            found = note([path for _, path in level], self._each(fs, [path for _, path in level], self._ls))
            deeper: _Pairs = []
            for (top, path), (_, folder) in zip(level, found, strict=True):
                if not folder.exists and not folder.is_file:
                    result[top].lost.add(path)
                result[top].files.extend(folder.files)
                new = folder.directories - result[top].directories
                result[top].directories.update(new)
                deeper.extend((top, below) for below in sorted(new))
            level = deeper
        return result

    def read(self, paths: Sequence[str], tally: Tally) -> dict[str, Content]:
        fs = self._connect()
        answers = self._each(fs, paths, self._cat)
        contents = {path: content_of(answer) for path, answer in zip(paths, answers, strict=True)}
        tally.add(get=len(contents), bytes=sum(len(c) for c in contents.values() if isinstance(c, bytes)))
        return contents

    def look(self, paths: Sequence[str], tally: Tally) -> dict[str, Look]:
        fs = self._connect()
        answers = self._each(fs, paths, self._info)
        tally.add(head=len(paths))
        return {path: look_of(path, answer) for path, answer in zip(paths, answers, strict=True)}

    def _info(self, fs: Any, path: str) -> Any:
        return fs._info(join(self._root, path)) if fs.async_impl else fs.info(join(self._root, path))

    def _ls(self, fs: Any, prefix: str) -> Any:
        path = join(self._root, prefix)
        if not fs.async_impl:
            return self._folder(prefix, path, fs.ls(path, detail=True))

        async def go() -> Folder:
            return self._folder(prefix, path, await fs._ls(path, detail=True))

        return go()

    def _cat(self, fs: Any, path: str) -> Any:
        return fs._cat_file(join(self._root, path)) if fs.async_impl else fs.cat_file(join(self._root, path))

    def _folder(self, prefix: str, path: str, entries: Sequence[dict[str, Any]]) -> Folder:
        folder = Folder()
        own = path.strip("/")
        start = prefix + "/" if prefix else ""
        for entry in entries:
            full = str(entry["name"])
            if full.strip("/") == own:
                # Either the marker of this directory or, when it is all there is, a file.
                folder.is_file = len(entries) == 1 and entry["type"] == "file" and not full.endswith("/")
                continue
            name = full.rstrip("/").rsplit("/", 1)[-1]
            if entry["type"] == "directory" or full.endswith("/"):
                folder.directories.add(start + name)
            elif name:
                folder.files.append(FileInfo(start + name, _size(entry), _modified_ms(entry), _etag(entry)))
        folder.exists = not folder.is_file
        return folder

    def _each(self, fs: Any, items: Sequence[T], call: Callable[[Any, T], Any]) -> Sequence[Any]:
        """The answers of ``call`` for each item, in order; an answer can be the exception that it raised."""
        wave = _Wave(None if self._protocol == "memory" else self._seconds)
        is_nobody = call == self._ls and clouds.is_nobody(fs, self._protocol)
        seconds = self._seconds
        if is_nobody:
            seconds = min(clouds.ANONYMOUS_SECONDS, seconds or clouds.ANONYMOUS_SECONDS)
        if fs.async_impl:
            answers = sync(
                fs.loop,
                gather_bounded,
                [lambda item=item: call(fs, item) for item in items],
                self._at_once,
                seconds,
            )
        elif self._protocol in THREADED and len(items) > 1:
            with ThreadPoolExecutor(min(self._at_once, len(items))) as pool:
                answers = list(pool.map(lambda item: _caught(call, fs, item, wave), items))
        else:
            answers = [_caught(call, fs, item, wave) for item in items]
        if is_nobody:
            answers = [_without_credentials(answer) for answer in answers]
        return [
            Folder(exists=False) if call == self._ls and isinstance(a, FileNotFoundError) else a
            for a in answers
        ]


class _Wave:
    """Requests sent together, each with ``seconds`` to be answered. After the first that was not, the others
    are not sent: they would wait as long."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.silent: NoAnswer | None = None


async def gather_bounded(
    calls: Sequence[Callable[[], Awaitable[R]]], at_once: int, seconds: float | None = None
) -> list[R | Exception]:
    """Awaits all ``calls``, at most ``at_once`` at one time and each for at most ``seconds``; exceptions come
    back as answers, in order."""
    gate = asyncio.Semaphore(at_once)
    wave = _Wave(seconds)

    async def one(call: Callable[[], Awaitable[R]]) -> R | Exception:
        async with gate:
            if wave.silent is not None:
                return wave.silent
            try:
                return await awaited_in_time(call(), seconds)
            except NoAnswer as error:
                wave.silent = error
                return error
            except Exception as error:
                return error

    return list(await asyncio.gather(*[one(call) for call in calls]))


def _caught(call: Callable[[Any, T], Any], fs: Any, item: T, wave: _Wave) -> Any:
    if wave.silent is not None:
        return wave.silent
    try:
        return in_time(lambda: call(fs, item), wave.seconds)
    except NoAnswer as error:
        wave.silent = error
        return error
    except Exception as error:
        return error


def _without_credentials(answer: Any) -> Any:
    is_failure = isinstance(answer, Exception) and not isinstance(answer, FileNotFoundError)
    return NoCloudCredentials(clouds.GOOGLE) if is_failure else answer


def content_of(answer: Any) -> Content:
    """What an answer to a read means: bytes, gone, or a failure with its reason."""
    if isinstance(answer, FileNotFoundError):
        return Gone()
    if isinstance(answer, Exception):
        return ReadFailure(failure_reason(answer))
    return bytes(answer)


def look_of(path: str, answer: Any) -> Look:
    """What an answer to a question about one file means: its size and time, gone, or a failure with its
    reason."""
    if isinstance(answer, FileNotFoundError | NotADirectoryError):
        return Gone()
    if isinstance(answer, Exception):
        return ReadFailure(failure_reason(answer))
    return FileInfo(path, _size(answer), _modified_ms(answer), _etag(answer))


def _size(entry: dict[str, Any]) -> int | None:
    value = entry.get("size")
    return int(value) if isinstance(value, int | float) and value >= 0 else None


def _modified_ms(entry: dict[str, Any]) -> int | None:
    value = next((entry[key] for key in TIME_KEYS if entry.get(key) is not None), None)
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        utc = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return calendar.timegm(utc.timetuple()) * 1000 + utc.microsecond // 1000
    if isinstance(value, int | float):
        # WebHDFS gives milliseconds, all others seconds; 1e11 seconds is the year 5138.
        return int(value if value > 1e11 else value * 1000)
    return None


def _etag(entry: dict[str, Any]) -> str | None:
    value = next((entry[key] for key in ETAG_KEYS if entry.get(key)), None)
    return str(value) if value is not None else None
