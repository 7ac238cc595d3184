"""The sources of a query as the checkpoint shows them: which directory belongs to which offset line, and what
lies in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from core.checkpoint.model import FileLogEntry, OffsetEntry
from core.checkpoint.source_log import parse_file_log, parse_initial
from core.checkpoint.sources.base import SourceContext, SourceKind
from core.sparklogs.budget import read_within
from core.sparklogs.compactible import CompactibleLog, compactible_log
from core.sparklogs.evidence import Problem
from core.storage import Door, FileInfo

SOURCE_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
_RENAMED = re.compile(r"([0-9]{1,9})[^0-9].*", re.DOTALL)
_SOURCE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Source:
    """One source. ``key`` is its position ("0", "1", ...) in an offset log v1 and its id or name in v2.

    ``directory`` is its path below the checkpoint root (``sources/0``), None when it keeps nothing or it
    cannot be told. ``partitions`` counts those of the newest offset, None when the source has no partitions
    or the offset cannot be read. ``context`` reads the source's own files on first use.
    """

    key: str
    kind: SourceKind
    directory: str | None
    partitions: int | None
    load_context: Callable[[], SourceContext] = field(repr=False, compare=False)

    @property
    def context(self) -> SourceContext:
        """What lies beside the offsets (initial offset, file source log). Reads it on first use; kept by the
        checkpoint."""
        return self.load_context()


def directories_of(
    entries: Sequence[OffsetEntry], directories: Sequence[str], files: Mapping[str, FileInfo]
) -> dict[str, str]:
    """Source key -> path of its directory, for the keys of the newest of ``entries`` (ascending).

    Offset log v2: the directory has the name of the key. v1: directories are numbered by *distinct* sources
    in plan order, lines by their position. A DataFrame used twice (a self-join, ``a.union(b).union(a)``)
    gives two equal lines and ONE directory, numbered by first use (observed, Spark 4.3), so when there are
    fewer numbers than lines, lines that were equal in every entry share one. When that leaves more
    directories than distinct lines, only the first line is certain. Spark 4.2 with named sources writes v1
    lines and directories with names; one line and one directory then belong together. Any other name, such as
    ``0.bak`` or ``backup``, is no source's: somebody has renamed it, and Spark does not look there. With a
    ``1.bak`` and no ``1`` the log of the second source is missing, and no line shares one.
    """
    if not entries:
        return {}
    newest = entries[-1]
    names = {*directories, *files}
    keys = [source.key for source in newest.sources]
    if newest.format_version >= 2:
        return {key: f"sources/{key}" for key in keys if key in names}
    numbers = sorted(int(name) for name in names if is_number(name))
    if not numbers:
        if newest.conf.get(SOURCE_EVOLUTION) != "true":
            return {}
        named = [name for name in names if _SOURCE_NAME.fullmatch(name)]  # and no "0.bak"
        return {keys[0]: f"sources/{named[0]}"} if len(keys) == 1 and len(names) == len(named) == 1 else {}
    positions = list(range(len(keys)))
    put_away = {int(found[1]) for name in names if (found := _RENAMED.fullmatch(name))}
    if numbers[-1] < len(keys) - 1 and not put_away.difference(numbers):
        positions = _distinct_lines(
            [entry for entry in entries if len(entry.sources) == len(keys)], len(keys)
        )
        if max(positions) < numbers[-1]:
            keys, positions = keys[:1], [0]
    return {key: f"sources/{n}" for key, n in zip(keys, positions, strict=True) if n in numbers}


def without_own_log(sources: Sequence[Source], places: Mapping[str, str]) -> frozenset[str]:
    """Keys of the sources that would share the log of another one, because their lines are equal in every
    entry, and of which somebody says that they read another place than that one: no DataFrame is used twice,
    their own log is gone. ``places``: key -> location."""
    owners: dict[str, str] = {}
    lost = set()
    for source in sources:
        if source.directory is None:
            continue
        one = places.get(owners.setdefault(source.directory, source.key))
        other = places.get(source.key)
        if one is not None and other is not None and one.rstrip("/") != other.rstrip("/"):
            lost.add(source.key)
    return frozenset(lost)


def is_number(name: str) -> bool:
    """Whether a name below ``sources/`` is the number of a source."""
    return name.isdecimal() and name.isascii() and len(name) < 10


def _distinct_lines(entries: Sequence[OffsetEntry], count: int) -> list[int]:
    """For each line the number of its group, where lines with the same text in every entry form one group."""
    groups: dict[tuple[str | None, ...], int] = {}
    return [
        groups.setdefault(tuple(entry.sources[i].raw for entry in entries), len(groups)) for i in range(count)
    ]


def read_context(
    door: Door, key: str, directory: str, file: FileInfo | None, is_file_source: bool
) -> tuple[SourceContext, list[Problem]]:
    """Reads what a source keeps for itself: one listing and the files that matter. ``file``: the path itself
    is a file (MongoDB)."""
    if file is not None:
        return _initial_context(door, key, file)
    listing = door.list([directory], known_there=True)[directory]
    log = compactible_log(listing)
    # Only a file source keeps more than one numbered file.
    if is_file_source or len(log.files) > 1 or log.compact:
        return _file_context(door, key, log)
    info = listing.names().get("0")
    if info is None and f"{directory}/offsets" in listing.directories:  # Iceberg
        below = f"{directory}/offsets"
        info = door.list([below], known_there=True)[below].names().get("0")
    if info is None:
        return SourceContext(key), []
    return _initial_context(door, key, info)


def _initial_context(door: Door, key: str, info: FileInfo) -> tuple[SourceContext, list[Problem]]:
    data = read_within(door, [info], door.settings.log_file_bytes)[info.path]
    if not isinstance(data, bytes):
        return SourceContext(key), [] if data is None else [data]
    initial, trouble = parse_initial(data, info.path)
    return SourceContext(key, initial=initial), [trouble] if trouble is not None else []


def _file_context(door: Door, key: str, log: CompactibleLog) -> tuple[SourceContext, list[Problem]]:
    problems: list[Problem] = []
    contents = read_within(door, log.files.values(), door.settings.source_log_bytes)
    entries: list[FileLogEntry] = []
    complete = bool(log.files) and not log.missing
    damaged: list[int] = []
    for log_id, info in log.files.items():
        data = contents[info.path]
        troubles: list[Problem] = []
        if isinstance(data, bytes):
            found, troubles = parse_file_log(data, log_id, info.path)
            entries += found
        elif data is not None:
            troubles = [data]
        problems += troubles
        if troubles or not isinstance(data, bytes):
            damaged.append(log_id)
    entries.sort(key=lambda entry: entry.log_id)
    is_plain = bool(damaged) and not log.missing and min(damaged) not in log.compact
    context = SourceContext(
        key,
        file_log=tuple(entries),
        file_log_complete=complete and not damaged,
        file_log_ends_before=min(damaged) if is_plain else None,
    )
    return context, problems
