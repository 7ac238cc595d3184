"""Listing S3 in as few and as short waits as it allows: long directories in ranges of names, trees by
partition, pages of both side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, Protocol

from core.storage.listing import FileInfo
from core.storage.patience import awaited_in_time
from core.storage.s3_pages import OLD_MARKER, Page, files_of, milliseconds
from core.storage.store import Folder, ListingFailed

# So many names lead to a partition (``state/<operator>/<partition>``), by which a tree is listed in shares.
SHARD_DEPTH = 3

# A directory that is longer than this many pages is listed in ranges of names, side by side.
PAGES_IN_A_ROW = 2

# Where the numbers on the first page show that there are at least so many more pages, ranges begin with the
# second one: one wait less for the logs of 20,000 batches.
PAGES_SURELY_LONG = 6

# A request asks for so much of what fits on a page: partitions do not all have as many files.
PLANNED = 0.9

# What the first directory of ``state/`` is called, and of ``sources/``.
FIRST_DIRECTORY = "0/"

DIGITS = frozenset("0123456789")

# Sorts behind every name that continues with a digit and an ASCII character; the others are listed with their
# digit.
BEHIND_DIGITS = "9~"

# Sorts behind the names of all operators and of whatever else people put into a directory.
BEHIND_ALL = "~~~~"


class Ask(Protocol):
    """Sends one ListObjectsV2 with these parameters (``Prefix``, ``Delimiter``, ...)."""

    def __call__(self, **where: Any) -> Awaitable[Page]: ...


class Lister:
    """Lists below the key ``top`` of a bucket, at most ``at_once`` requests at one time, each answered within
    ``seconds``."""

    def __init__(self, ask: Ask, top: str, first_page: bool, at_once: int, seconds: float | None) -> None:
        self._ask = ask
        self._seconds = seconds
        self._first_page = first_page
        self._top = top.strip("/") + "/" if top.strip("/") else ""
        self._gate = asyncio.Semaphore(at_once)

    async def without(self, left_out: str) -> Folder | None:
        """Everything below the root, at any depth, but what is in the directory ``left_out``. Keys come in
        the order of their bytes, so that one page that reaches the directory holds all before it; a second
        one lists what sorts behind it. None when that is longer than one page, or nothing is there."""
        result = Folder(exists=False)
        try:
            page = await self._page(Prefix=self._top)
            self._note(page, result, self._top)
            if page.next_page:
                last = max((entry[0] for entry in page.entries), default="")[len(self._top) :]
                if last < f"{left_out}/":
                    return None
                behind = await self._page(
                    Prefix=self._top, StartAfter=f"{self._top}{left_out}/{BEHIND_ALL}", Delimiter="/"
                )
                if behind.next_page:
                    return None
                self._note(behind, result, self._top)
        except Exception as error:
            raise ListingFailed("", first_of(error)) from error
        if not result.exists:
            return None
        inside = f"{left_out}/"
        result.files = list(
            {info.path: info for info in result.files if not info.path.startswith(inside)}.values()
        )
        result.directories = {path for path in result.directories if not path.startswith(inside)}
        return result

    async def after(self, prefix: str, name: str) -> Folder:
        """One level of a directory: what sorts behind a name."""
        result = Folder(exists=False)
        below = f"{self._top}{prefix}/" if prefix else self._top
        try:
            await self._level(below, below, below + name, result, set())
        except Exception as error:
            raise ListingFailed(prefix, first_of(error)) from error
        return result

    async def flat(self, prefix: str) -> Folder:
        """The whole tree below a prefix, page after page: as few requests as S3 allows."""
        result = Folder(exists=False)
        try:
            await self._flat(result, Prefix=f"{self._top}{prefix}/" if prefix else self._top)
        except Exception as error:
            raise ListingFailed(prefix, first_of(error)) from error
        result.files = list({info.path: info for info in result.files}.values())
        return result

    async def folder(self, prefix: str, recursive: bool, is_there: bool = False) -> Folder:
        """One level of a directory, or the whole tree below it; more requests than :meth:`flat`, side by
        side. ``is_there``: something is in it, so that its first directory can be listed together with it."""
        result = Folder(exists=False)
        below = f"{self._top}{prefix}/" if prefix else self._top
        try:
            await self._tree(below, result, recursive, is_there)
        except Exception as error:
            cause = first_of(error)
            raise ListingFailed(prefix, cause) from cause
        result.by_path = {info.path: info for info in result.files}
        result.files = list(result.by_path.values())
        if not result.exists and not prefix and self._top:
            page = await self._page(Prefix=below.rstrip("/"), MaxKeys=1)
            result.is_file = any(entry[0] == below.rstrip("/") for entry in page.entries)
        return result

    async def _tree(self, below: str, result: Folder, recursive: bool, is_there: bool = False) -> None:
        depth = below[len(self._top) :].count("/")
        if recursive and depth >= SHARD_DEPTH:
            await self._flat(result, Prefix=below)
            return
        if recursive and depth == SHARD_DEPTH - 1:
            await self._in_shares(below, result)
            return
        children: set[str] = set()
        async with asyncio.TaskGroup() as group:
            guessed = below + FIRST_DIRECTORY if recursive and is_there and depth == SHARD_DEPTH - 2 else None
            if guessed is not None:
                group.create_task(self._tree(guessed, result, recursive))
            await self._level(below, below, "", result, children)
            if not recursive:
                return
            for child in sorted(children):
                if child != guessed:
                    group.create_task(self._tree(child, result, recursive))

    async def _in_shares(self, below: str, result: Folder) -> None:
        """The tree of an operator, ``state/<operator>/``. Its partitions and the first page of its keys are
        asked for together. Where that page is not all, it shows how many partitions a page holds: the others
        are listed side by side, so many by each request."""
        children: set[str] = set()
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(self._page(Prefix=below))
            await self._level(below, below, "", result, children)
        page = asked.result()
        self._note(page, result, below)
        if not page.next_page or not page.entries:
            return
        last = page.entries[-1][0]
        ordered = sorted(child for child in children if child > last or last.startswith(child))
        done = len(children) - len(ordered)
        size = max(1, int(PLANNED * done))
        begins = range(0, len(ordered), size)
        if size == 1 and len(ordered) > 1:
            begins = range(len(ordered) - 1)  # "_metadata" costs no request of its own
        async with asyncio.TaskGroup() as group:
            for at in begins:
                share = ordered[at:] if at == begins[-1] else ordered[at : at + size]
                after = last if last.startswith(share[0]) else share[0]
                where = {"Prefix": share[0] if len(share) == 1 else below, "StartAfter": after}
                following = ordered[at + len(share)] if at != begins[-1] else None
                group.create_task(self._flat(result, following, **where))

    async def _flat(self, result: Folder, until: str | None = None, **where: str) -> None:
        """All keys below, page after page, as far as a key (what is behind it on its page is noted too)."""
        while True:
            page = await self._page(**where)
            self._note(page, result, where["Prefix"])
            if not page.next_page or (until and page.entries and page.entries[-1][0] >= until):
                return
            where["ContinuationToken"] = page.next_page

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
            children.update(key for key in page.prefixes if not key.endswith("//"))
            if not page.next_page:
                return
            if self._first_page:
                result.is_complete = False
                return
            last = max([entry[0] for entry in page.entries[-1:]] + page.prefixes[-1:], default="")
            digit = last[len(prefix) : len(prefix) + 1]
            is_padded = digit == "0" and last[len(prefix) + 1 : len(prefix) + 2].isdigit()
            is_long = pages >= PAGES_IN_A_ROW or _pages_left(page, prefix) >= PAGES_SURELY_LONG
            if is_long and not is_padded and digit in DIGITS and after != prefix + BEHIND_DIGITS:
                break
            where["ContinuationToken"] = page.next_page
        async with asyncio.TaskGroup() as group:
            group.create_task(self._level(below, prefix + digit, last, result, children))
            for following in range(int(digit) + 1, 10):
                group.create_task(self._level(below, f"{prefix}{following}", "", result, children))
            group.create_task(self._level(below, prefix, prefix + BEHIND_DIGITS, result, children))

    def _note(self, page: Page, result: Folder, below: str) -> None:
        """Adds one page to the result. Markers of directories make a directory, never a file."""
        top, start = len(self._top), len(below) - len(self._top)
        if page.entries or page.prefixes:
            result.exists = True
        if (found := files_of(page.entries, top)) is not None:
            folders, files = found
            result.files += files
            for folder in folders:
                _note_folders(folder, start, result)
        else:
            self._note_each(page, result, start)
        for key in page.prefixes:
            _note_folders(key[top:].rstrip("/"), start, result)

    def _note_each(self, page: Page, result: Folder, start: int) -> None:
        top = len(self._top)
        noted: str | None = None
        stamp, modified_ms = "", None
        add = result.files.append
        for key, modified, etag, size in page.entries:
            path = key[top:]
            if "//" in path:
                continue  # a name without a name; no file system that Spark writes through makes one
            folder, _, name = path.rpartition("/")
            if size == "0" and name.endswith(OLD_MARKER):
                folder, name = path.removesuffix(OLD_MARKER), ""
            if name:
                if modified != stamp:
                    stamp, modified_ms = modified, milliseconds(modified)
                add(FileInfo(path, int(size) if size else None, modified_ms, etag or None))
            if folder != noted:
                noted = folder
                _note_folders(folder, start, result)

    async def _page(self, **where: Any) -> Page:
        async with self._gate:
            return await awaited_in_time(self._ask(**where), self._seconds)


def first_of(error: Exception) -> Exception:
    """The first of the errors of tasks that ran together."""
    return first_of(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error


def _note_folders(folder: str, start: int, result: Folder) -> None:
    """``folder`` and the directories above it, down from the one that is listed."""
    while len(folder) > start and folder not in result.directories:
        result.directories.add(folder)
        folder = folder.rpartition("/")[0]


def _pages_left(page: Page, prefix: str) -> float:
    """How many pages may follow this one, by how far its numbers came. A guess that decides how the rest is
    asked for, not what is found."""
    at = len(prefix)
    keys: list[str] = [entry[0] for entry in page.entries if entry[0][at : at + 1] in DIGITS]
    if len(keys) < 2:
        return 0.0
    first, last = _part(keys[0], prefix), _part(keys[-1], prefix)
    return (1 - last) / max(last - first, 0.0001)


def _part(key: str, prefix: str) -> float:
    """Where a number stands among all that begin like it, as text: 0 to 1 ("25" is a quarter)."""
    digits = key[len(prefix) : len(prefix) + 6]
    while not digits.isdecimal() or not digits.isascii():
        digits = digits[:-1]
    return float(f"0.{digits}")
