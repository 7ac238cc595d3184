"""Spark's compactible logs (``CompactibleFileStreamLog``): the log of a file source, ``sources/<n>``, and
the log of a file sink, ``_spark_metadata``.

Each entry is a file with a version line and one JSON object per line. Every tenth one by default
(``spark.sql.streaming.fileSource.log.compactInterval``, ``...fileSink.log.compactInterval``) is called
``<id>.compact`` and holds all entries so far, so that plain files before the newest one do not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from core.messages import say
from core.sparklogs.evidence import Problem, problem
from core.sparklogs.names import batch_id_of, checksum_owner, compact_id_of, name_kind
from core.sparklogs.versioned import json_object, versioned
from core.storage import FileInfo, Listing

NEWEST_VERSION = 1  # Spark 2.1 to 4.3 write v1 only
MOST_MISSING = 1000  # so many missing ids are named; the first one is what stops Spark

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class CompactibleLog:
    """One compactible log, from its listing. Nothing of it was read.

    ``plain`` and ``compact``: the files by id, ascending. ``files``: those that together hold every entry,
    the newest compact file and the plain ones after it. ``missing``: ids that Spark needs between the newest
    compact file (or 0) and the newest entry; it does not start with such a gap. ``checksums``: ids with a
    checksum side file, whether or not the entry is there.
    """

    directory: str
    plain: Mapping[int, FileInfo]
    compact: Mapping[int, FileInfo]
    files: Mapping[int, FileInfo]
    missing: tuple[int, ...]
    checksums: frozenset[int]

    @property
    def newest_id(self) -> int | None:
        """The newest id, None when there is no entry at all."""
        return max(self.files, default=None)

    @property
    def newest_path(self) -> str | None:
        """The file of the newest id."""
        newest = self.newest_id
        return None if newest is None else self.files[newest].path

    @property
    def is_empty(self) -> bool:
        """There is no entry at all."""
        return not self.files

    @property
    def interval(self) -> int | None:
        """The compact interval that the names show, None when there is no compact file."""
        return min(self.compact) + 1 if self.compact else None

    @property
    def newest_compact(self) -> int | None:
        """The id of the newest compact file."""
        return max(self.compact, default=None)


def compactible_log(listing: Listing) -> CompactibleLog:
    """The log in the directory of ``listing`` (one level)."""
    names = listing.names()
    compact = {i: info for name, info in names.items() if (i := compact_id_of(name)) is not None}
    plain = {i: info for name, info in names.items() if (i := batch_id_of(name)) is not None}
    base = max(compact, default=None)
    later = {i: info for i, info in sorted(plain.items()) if base is None or i > base}
    files = {**({base: compact[base]} if base is not None else {}), **later}
    owners = (
        batch_id_of(checksum_owner(name).removesuffix(".compact"))
        for name in names
        if name_kind(name) == "checksum"
    )
    return CompactibleLog(
        directory=listing.prefix,
        plain=dict(sorted(plain.items())),
        compact=dict(sorted(compact.items())),
        files=files,
        missing=_absent(0 if base is None else base + 1, sorted(later)),
        checksums=frozenset(i for i in owners if i is not None),
    )


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
    """The entries of one log file. A line that cannot be read is a problem; the others are kept.

    ``entry_of`` makes an entry of a JSON object, None when it is none; ``fields`` are the fields that it
    needs.
    """
    file = versioned(data, path, NEWEST_VERSION)
    if isinstance(file, Problem):
        return [], [file]
    entries: list[Entry] = []
    problems: list[Problem] = []
    for number, line in enumerate(file.lines[1:], start=2):
        if not line.strip():
            continue
        value = json_object(line, path, data, number)
        if isinstance(value, Problem):
            problems.append(value)
        elif (entry := entry_of(value)) is not None:
            entries.append(entry)
        else:
            problems.append(
                problem(path, "bad_json", say("logs.no_file_entry", fields=fields), data, line=number)
            )
    return entries, problems
