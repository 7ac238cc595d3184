"""Where two checkpoints differ: production against a copy of it, before a repair against after it.

Logs are compared by what they say, everything else by name and size, and state files by their bytes where
that is asked for. What could not be read on one side is named as not compared; it is no difference.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from core.checkpoint import Checkpoint
from core.checkpoint.model import CommitEntry, OffsetEntry
from core.checkpoint.sources.forms import parse
from core.messages import say, words
from core.sparklogs.evidence import Problem
from core.storage import Listing

Area = Literal["metadata", "offsets", "commits", "conf", "sources", "state", "files"]
AREAS: tuple[Area, ...] = get_args(Area)

SHOWN_CHARACTERS = 300
READ_AT_ONCE = 64
"""State files whose bytes are in memory at one time, of each side."""

_HIDDEN = "."


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: where, of what, and the value on each side; None is "not there". ``unit`` "ms": the
    values are milliseconds since 1970."""

    area: Area
    what: str
    a: str | None
    b: str | None
    unit: Literal["", "ms"] = ""

    @property
    def what_with_unit(self) -> str:
        """``batch 7, time (ms)``: where the values stand as they are."""
        return f"{self.what} ({self.unit})" if self.unit else self.what


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences, by area and then in the order of batches and names. ``not_compared``: one sentence
    for each part whose contents were not looked at, or that one side could not read.

    ``unread_files`` state files have the same name and size on both sides and their bytes were not read:
    ``unread_bytes`` of them on each side.
    """

    differences: tuple[Difference, ...]
    not_compared: tuple[str, ...]
    unread_files: int = 0
    unread_bytes: int = 0

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs in what was compared."""
        return not self.differences


def compare(
    a: Checkpoint,
    b: Checkpoint,
    newest: int,
    *,
    with_state_bytes: bool = False,
    is_over: Callable[[], bool] = lambda: False,
) -> Comparison:
    """Compares names and sizes of all files, and what the newest ``newest`` batches of each log say;
    ``with_state_bytes`` also the bytes of the state files, until ``is_over`` says that there is no time left.

    Raises StorageError when one side cannot be listed.
    """
    found = _Comparing(a, b, newest, is_over)
    found.metadata()
    found.offsets()
    found.commits()
    found.files({"sources": True, "state": with_state_bytes})
    found.rest()
    differences = sorted(found.differences, key=lambda one: AREAS.index(one.area))
    return Comparison(tuple(differences), tuple(found.not_compared), found.unread_files, found.unread_bytes)


class _Comparing:
    def __init__(self, a: Checkpoint, b: Checkpoint, newest: int, is_over: Callable[[], bool]) -> None:
        self._a, self._b, self._newest, self._is_over = a, b, newest, is_over
        self.differences: list[Difference] = []
        self.not_compared: list[str] = []
        self.unread_files = self.unread_bytes = 0

    def metadata(self) -> None:
        """The query id."""
        if any(item.path == "metadata" for item in (*self._a.not_read, *self._b.not_read)):
            self.not_compared.append(say("comparison.not_read", path="metadata"))
        elif self._a.query_id != self._b.query_id:
            self._differ("metadata", say("comparison.query_id"), self._a.query_id, self._b.query_id)

    def offsets(self) -> None:
        """The offset log: ids, positions, times, watermarks, and the settings that each batch pins."""
        changed: dict[tuple[str, str | None, str | None], list[int]] = {}
        for batch_id in self._ids("offsets", self._a.offset_ids, self._b.offset_ids):
            one, other = self._a.offset(batch_id), self._b.offset(batch_id)
            if not isinstance(one, OffsetEntry) or not isinstance(other, OffsetEntry):
                self._unreadable("offsets", batch_id, one, other)
                continue
            if one.raw == other.raw:
                continue
            if one.format_version != other.format_version:  # whose lines have other keys
                what = say("comparison.version", batch=batch_id)
                self._differ("offsets", what, one.format_version, other.format_version)
                continue
            before = len(self.differences)
            for key in sorted({*one.conf, *other.conf}):
                if one.conf.get(key) != other.conf.get(key):
                    changed.setdefault((key, one.conf.get(key), other.conf.get(key)), []).append(batch_id)
            self._header(batch_id, one, other)
            for key in dict.fromkeys([*(s.key for s in one.sources), *(s.key for s in other.sources)]):
                self._source(batch_id, key, one, other)
            if len(self.differences) == before and one.conf == other.conf:
                self._differ("offsets", say("comparison.text", batch=batch_id), one.raw, other.raw)
        for (key, a, b), batches in changed.items():
            self._differ("conf", say("comparison.setting", key=key, batches=batches), a, b)

    def _header(self, batch_id: int, one: OffsetEntry, other: OffsetEntry) -> None:
        for what, a, b in (
            (say("comparison.time", batch=batch_id), one.timestamp_ms, other.timestamp_ms),
            (say("comparison.watermark", batch=batch_id), one.watermark_ms, other.watermark_ms),
        ):
            if a != b:
                self._differ("offsets", what, a, b, unit="ms")
        if dict(one.extra) != dict(other.extra):
            what = say("comparison.other_fields", batch=batch_id)
            self._differ("offsets", what, dict(one.extra), dict(other.extra))

    def _source(self, batch_id: int, key: str, one: OffsetEntry, other: OffsetEntry) -> None:
        line, counterpart = one.source(key), other.source(key)
        what = say("comparison.source", batch=batch_id, key=key)
        if line is None or counterpart is None:
            self._one_sided("offsets", what, in_a=line is not None)
            return
        if line.raw == counterpart.raw:
            return
        a, b = _positions(line.raw), _positions(counterpart.raw)
        if a is None or b is None or a == b:
            self._differ("offsets", what, line.raw, counterpart.raw)
            return
        for name in dict.fromkeys([*a, *b]):
            if a.get(name) != b.get(name):
                what = say("comparison.position", batch=batch_id, key=key, name=name)
                self._differ("offsets", what, a.get(name), b.get(name))

    def commits(self) -> None:
        """The commit log: ids and what each entry says."""
        for batch_id in self._ids("commits", self._a.commit_ids, self._b.commit_ids):
            one, other = self._a.commit(batch_id), self._b.commit(batch_id)
            if not isinstance(one, CommitEntry) or not isinstance(other, CommitEntry):
                self._unreadable("commits", batch_id, one, other)
            elif one.raw != other.raw:
                if one.next_watermark_ms != other.next_watermark_ms:
                    what = say("comparison.next_watermark", batch=batch_id)
                    self._differ("commits", what, one.next_watermark_ms, other.next_watermark_ms, unit="ms")
                else:
                    self._differ("commits", say("comparison.text", batch=batch_id), one.raw, other.raw)

    def _ids(self, area: Area, a: Sequence[int], b: Sequence[int]) -> list[int]:
        """The newest ids that both logs have, read; those of one side only are differences."""
        for ids, in_a in ((set(a) - set(b), True), (set(b) - set(a), False)):
            for run in _runs(sorted(ids)):
                self._one_sided(area, say("comparison.batches", batches=run), in_a=in_a)
        shared = sorted(set(a) & set(b))
        if len(shared) > self._newest:
            older = shared[: -self._newest]
            self.not_compared.append(say("comparison.older", log=area, n=len(older), before=older[-1] + 1))
        newest = shared[-self._newest :]
        self._a.load(newest)
        self._b.load(newest)
        return newest

    def _unreadable(self, area: Area, batch_id: int, one: object, other: object) -> None:
        if one is None or other is None:  # away since it was listed
            self.not_compared.append(say("comparison.not_read", path=f"{area}/{batch_id}"))
            return
        for side, each in (("A", one), ("B", other)):
            if isinstance(each, Problem) and each.condition == "unreadable":
                self.not_compared.append(say("comparison.side_not_read", side=side, reason=each.reason))
                return
        a, b = (
            say("comparison.damaged", reason=each.reason)
            if isinstance(each, Problem)
            else say("comparison.readable")
            for each in (one, other)
        )
        if a != b:
            self._differ(area, say("comparison.batches", batches=[batch_id]), a, b)

    def files(self, is_read: Mapping[Area, bool]) -> None:
        """The files below ``sources/`` and ``state/``: names, sizes, and bytes where they are read."""
        one, other = (ck.door.list(is_read, recursive=True) for ck in (self._a, self._b))
        for part, with_bytes in is_read.items():
            self._files(part, one[part], other[part], with_bytes)

    def _files(self, part: Area, a: Listing, b: Listing, with_bytes: bool) -> None:
        same = []
        for path in self._names(part, a, b):
            size, counterpart = a.files[path].size_bytes, b.files[path].size_bytes
            if size is None or counterpart is None or size == counterpart:
                same.append(path)
            else:
                self._differ(part, path, words.size(size), words.size(counterpart))
        if not with_bytes:
            if same:
                self._leave(same, a)
                self.not_compared.append(say("comparison.state_bytes", n=len(same)))
            return
        for at in range(0, len(same), READ_AT_ONCE):
            if part == "state" and self._is_over():
                self._leave(same[at:], a)
                self.not_compared.append(say("comparison.out_of_time", n=len(same) - at))
                return
            self._bytes(part, same[at : at + READ_AT_ONCE], a, b)

    def _leave(self, paths: Sequence[str], a: Listing) -> None:
        self.unread_files += len(paths)
        self.unread_bytes += sum(a.files[path].size_bytes or 0 for path in paths)

    def _bytes(self, part: Area, paths: Sequence[str], a: Listing, b: Listing) -> None:
        one = self._a.door.read(a.files[path] for path in paths)
        other = self._b.door.read(b.files[path] for path in paths)
        for path in paths:
            mine, theirs = one[path], other[path]
            if not isinstance(mine, bytes) or not isinstance(theirs, bytes):
                self.not_compared.append(say("comparison.not_read", path=path))
            elif mine != theirs:
                what = say("comparison.byte", path=path, at=_first_difference(mine, theirs))
                self._differ(part, what, words.size(len(mine)), words.size(len(theirs)))

    def _names(self, area: Area, a: Listing, b: Listing) -> list[str]:
        """The paths that both have. Those of one side only are differences, Hadoop's checksum files one."""
        hidden: Counter[bool] = Counter()
        for path in sorted(a.files.keys() ^ b.files.keys(), key=_by_number):
            if _is_hidden(path):
                hidden[path in a.files] += 1
            else:
                self._one_sided(area, path, in_a=path in a.files)
        if hidden:
            counts = (words.counted(n, "file") if (n := hidden[in_a]) else None for in_a in (True, False))
            self._differ("files", say("comparison.hidden", part=area), *counts)
        shared = (path for path in a.files.keys() & b.files.keys() if not _is_hidden(path))
        return sorted(shared, key=_by_number)

    def rest(self) -> None:
        """What lies there and is no part of a checkpoint."""
        a, b = (
            {item.path for item in ck.leftovers if not _is_hidden(item.path)} for ck in (self._a, self._b)
        )
        for path in sorted(a ^ b, key=_by_number):
            self._one_sided("files", path, in_a=path in a)

    def _one_sided(self, area: Area, what: str, *, in_a: bool) -> None:
        there = say("comparison.there")
        self._differ(area, what, there if in_a else None, None if in_a else there)

    def _differ(self, area: Area, what: str, a: object, b: object, *, unit: Literal["", "ms"] = "") -> None:
        self.differences.append(Difference(area, str(what), _shown(a), _shown(b), unit))


def _shown(value: object) -> str | None:
    return None if value is None else words.one_line(str(value), SHOWN_CHARACTERS)


def _positions(text: str | None) -> Mapping[str, object] | None:
    """``orders-3`` -> position of an offset that has the form topic -> partition -> number; else None."""
    value = None if text is None else parse(text)
    if not isinstance(value, dict) or not value or not all(isinstance(each, dict) for each in value.values()):
        return None
    return {f"{topic}-{partition}": at for topic, parts in value.items() for partition, at in parts.items()}


def _runs(ids: Iterable[int]) -> Iterator[list[int]]:
    """Ids without a gap, together."""
    run: list[int] = []
    for each in ids:
        if run and each != run[-1] + 1:
            yield run
            run = []
        run.append(each)
    if run:
        yield run


def _by_number(path: str) -> list[str | int]:
    """What paths are sorted by: 9.delta comes before 10.delta."""
    return [int(part) if at % 2 else part for at, part in enumerate(re.split("([0-9]+)", path))]


def _is_hidden(path: str) -> bool:
    return path.rsplit("/", 1)[-1].startswith(_HIDDEN)


def _first_difference(one: bytes, other: bytes) -> int:
    return next(
        (at for at, (x, y) in enumerate(zip(one, other, strict=False)) if x != y), min(len(one), len(other))
    )
