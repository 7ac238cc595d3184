"""Whether the newest files of a checkpoint are what they were when it was listed: three listings of one page
each, whatever its size."""

from __future__ import annotations

from collections.abc import Mapping

from core.checkpoint.layout import Layout
from core.checkpoint.log_directory import LogDirectory, read_log_directory
from core.errors import StorageError
from core.storage import Door, FileInfo, Listing

LOGS = ("offsets", "commits")

ONE_PAGE = 900
"""A log of at most so many files is listed whole: that is one page of an object store as well."""

FURTHEST_NEXT = 500
"""The next entry of a log is at most this far from the newest one. Spark plans N + 1 after N; asynchronous
progress tracking leaves out the batches of one interval."""


def is_unchanged(before: FileInfo | None, now: FileInfo | None) -> bool:
    """Whether nothing shows that a file was replaced. Without a time or a mark nothing would show it."""
    return (
        before is not None and before == now and (before.modified_ms is not None or before.etag is not None)
    )


def shows_nothing_new(door: Door, before: Layout) -> bool:
    """Whether the root, and the newest entries of both logs with all that follows them, are as ``before``.

    True: the metadata, the newest offset and the newest commit have their size, time and mark, so the
    directory was not deleted and begun again under the same names; and no later entry is there. Of a log of
    more than :data:`ONE_PAGE` files, and of ``state/`` and ``sources/``, older files may have changed.
    False also where that cannot be seen in three pages. A store that cannot answer is False: who reads in
    full says why.
    """
    logs = {"offsets": before.offsets, "commits": before.commits}
    ends = {name: _start(log) for name, log in logs.items()}
    if before.metadata is None or any(end is None for end in ends.values()):
        return False
    paged = {name: end for name, end in ends.items() if end}
    try:
        found = door.list(["", *(name for name in LOGS if name not in paged)])
        if not _is_same_root(before.root, found[""]) or not is_unchanged(
            before.metadata, found[""].names().get("metadata")
        ):
            return False
        if paged:
            found |= door.list_after(paged, first_page=True)
    except StorageError:
        return False
    return all(_is_same_log(logs[name], found[name], ends[name] or "") for name in LOGS)


def _start(log: LogDirectory) -> str | None:
    """The name behind which the newest entry and its followers are; "" to list the whole log. None: they are
    not behind one another, or nothing is there to compare."""
    if not log.files:
        return None
    newest = log.columns.ids[-1]
    if not is_unchanged(log.infos[newest], log.infos[newest]):
        return None
    if len(log.files) <= ONE_PAGE:
        return ""
    if len(str(newest + FURTHEST_NEXT)) != len(str(newest)):
        return None  # 10000 is listed before 9999
    return str(newest - 1)


def _is_same_root(before: Listing, now: Listing) -> bool:
    return dict(before.files) == dict(now.files) and before.directories == now.directories


def _is_same_log(before: LogDirectory, now: Listing, start: str) -> bool:
    if not start:
        return read_log_directory(now) == before
    newest = before.columns.ids[-1]
    found = read_log_directory(now).infos
    if not is_unchanged(before.infos[newest], found.get(newest)):
        return False
    last = None if now.is_complete else max((info.name for info in found.values()), default=start)
    if last is not None and last < str(newest + FURTHEST_NEXT):
        return False  # files of others fill the page
    return found == _between(before.infos, start, last)


def _between(infos: Mapping[int, FileInfo], start: str, last: str | None) -> dict[int, FileInfo]:
    return {
        batch_id: info
        for batch_id, info in infos.items()
        if info.name > start and (last is None or info.name <= last)
    }
