"""Spark's compactible logs (``CompactibleFileStreamLog``): the log of a file source, ``sources/<n>``, and
the log of a file sink, ``_spark_metadata``.

Each entry is a file with a version line and one JSON object per line. Every tenth one by default
(``spark.sql.streaming.fileSource.log.compactInterval``, ``...fileSink.log.compactInterval``) is called
``<id>.compact`` and holds all entries so far, so that plain files before the newest one do not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from core.messages import say
from core.sparklogs.evidence import Problem, problem
from core.sparklogs.json_text import first_value
from core.sparklogs.names import batch_id_of, checksum_owner, compact_id_of, name_kind
from core.sparklogs.versioned import json_object, versioned
from core.storage import FileInfo, Listing

NEWEST_VERSION = 1  # Spark 2.1 to 4.3 write v1 only
DEFAULT_COMPACT_INTERVAL = 10
MOST_MISSING = 1000  # so many missing ids are named; the first one is what stops Spark

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class CompactibleLog:
    """One compactible log, from its listing. Nothing of it was read.

    ``plain`` and ``compact``: the files by id, ascending. ``files``: those that together hold every entry,
    the newest compact file and the plain ones after it: Spark reads all of them at a start. ``missing``: ids
    that Spark needs between that compact file (or 0) and the newest entry; it does not start with such a gap.
    ``checksums``: names with a checksum side file, whether or not the file is there. ``misnamed``: files that
    have leading zeros in their name: Spark counts their id and looks for the name without them.
    """

    directory: str
    plain: Mapping[int, FileInfo]
    compact: Mapping[int, FileInfo]
    files: Mapping[int, FileInfo]
    missing: tuple[int, ...]
    checksums: frozenset[str]
    misnamed: Mapping[int, FileInfo] = field(default_factory=dict)

    @property
    def newest_id(self) -> int | None:
        """The newest id, None when there is no entry at all."""
        return max([*self.plain, *self.compact, *self.misnamed], default=None)

    @property
    def newest_path(self) -> str | None:
        """The file of the newest id."""
        newest = self.newest_id
        return None if newest is None else self.path_of(newest)

    @property
    def is_empty(self) -> bool:
        """There is no entry at all."""
        return not self.files

    @property
    def interval(self) -> int | None:
        """The compact interval that Spark takes from the names, None when there is no compact file."""
        return _interval(self.compact)

    def path_of(self, log_id: int) -> str:
        """The name under which Spark looks for an entry, whether or not it is there."""
        if self.interval is None and (log_id in self.plain or DEFAULT_COMPACT_INTERVAL - 1 in self.plain):
            return f"{self.directory}/{log_id}"  # a query whose interval is longer than the default
        is_compact = (log_id + 1) % (self.interval or DEFAULT_COMPACT_INTERVAL) == 0
        return f"{self.directory}/{log_id}{'.compact' if is_compact else ''}"

    @property
    def newest_compact(self) -> int | None:
        """The id of the newest compact file."""
        return max(self.compact, default=None)


def compactible_log(listing: Listing) -> CompactibleLog:
    """The log in the directory of ``listing`` (one level)."""
    names = dict(sorted(listing.names().items(), reverse=True))  # of 7 and 007 the one that Spark opens wins
    compact = {i: info for name, info in names.items() if (i := compact_id_of(name)) is not None}
    plain = {i: info for name, info in names.items() if (i := batch_id_of(name)) is not None}
    misnamed = {
        i: info for i, info in (*plain.items(), *compact.items()) if info.name.split(".")[0] != str(i)
    }
    plain = {i: info for i, info in plain.items() if i not in misnamed}
    compact = {i: info for i, info in compact.items() if i not in misnamed}
    newest, first, interval = max([*compact, *plain, *misnamed], default=-1), 0, _interval(compact)
    if interval is not None:
        first = max(0, (newest + 1) // interval * interval - 1)
    there = _needed(plain, compact, first, interval)
    return CompactibleLog(
        directory=listing.prefix,
        plain=dict(sorted(plain.items())),
        compact=dict(sorted(compact.items())),
        files=dict(sorted(there.items())),
        missing=(*_absent(first, sorted(there)), *([newest] if newest >= 0 and newest not in there else [])),
        checksums=frozenset(checksum_owner(name) for name in names if name_kind(name) == "checksum"),
        misnamed=misnamed,
    )


def _needed(
    plain: Mapping[int, FileInfo], compact: Mapping[int, FileInfo], first: int, interval: int | None
) -> dict[int, FileInfo]:
    """The files from ``first`` on under the names that Spark looks for: ids at the interval are compact
    files."""
    if interval is None:
        return dict(plain)
    entries = {i: info for i, info in plain.items() if i >= first and (i + 1) % interval}
    return entries | {i: info for i, info in compact.items() if i >= first and (i + 1) % interval == 0}


def _interval(compact: Iterable[int]) -> int | None:
    """The interval as ``CompactibleFileStreamLog`` derives it: the distance of the two newest compact files;
    of a single one a divisor of its id plus 1, the first that is not below the default."""
    ids = sorted(compact)
    if len(ids) > 1:
        return ids[-1] - ids[-2]
    if not ids:
        return None
    count = ids[0] + 1
    if count / 2 <= DEFAULT_COMPACT_INTERVAL:
        return count
    tried = range(DEFAULT_COMPACT_INTERVAL, min(count // 2, DEFAULT_COMPACT_INTERVAL + MOST_MISSING) + 1)
    return next((i for i in tried if count % i == 0), count)


def _absent(first: int, present: Sequence[int]) -> tuple[int, ...]:
    absent: list[int] = []
    expected = first
    for i in present:
        absent.extend(range(expected, min(i, expected + MOST_MISSING - len(absent))))
        expected = i + 1
    return tuple(absent)


def parse_entries(
    data: bytes, path: str, entry_of: Callable[[dict[str, object]], Entry | None], fields: Sequence[str]
) -> tuple[list[Entry], list[Problem]]:
    """The entries of one log file. A line that cannot be read is a problem; the others are kept. So is an
    empty one, also at the end: Spark reads none of the log then. What follows an entry in its line Spark does
    not look at (seen with 3.5, 4.0 and 4.3).

    ``entry_of`` makes an entry of a JSON object, None when it is none; ``fields`` are the fields that it
    needs.
    """
    file = versioned(data, path, NEWEST_VERSION)
    if isinstance(file, Problem):
        return [], [file]
    entries: list[Entry] = []
    problems: list[Problem] = []
    for number, line in enumerate((*file.lines[1:], *[""] * file.empty_at_the_end), start=2):
        if not line.strip():
            problems.append(problem(path, "empty", say("logs.empty_line"), data, line=number))
            continue
        value = json_object(line, path, data, number)
        if isinstance(value, Problem):
            value = json_object(first_value(line), path, data, number)
        if isinstance(value, Problem):
            problems.append(value)
        elif (entry := entry_of(value)) is not None:
            entries.append(entry)
        else:
            problems.append(
                problem(path, "bad_json", say("logs.no_file_entry", fields=fields), data, line=number)
            )
    return entries, problems
