"""The data files that a stream still reads from a Delta table: which they are by the log, and whether they
are there.

A commit that waits names the files it added. One that a later version removed (OPTIMIZE, DELETE, MERGE)
belongs to no current version, and VACUUM deletes it once the retention has passed; the stream asks for it
all the same (observed, Delta 4.4 on Spark 4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from core.checkpoint.sources.delta import TablePosition
from core.connectors.delta.actions import CommitFile, TableFile
from core.connectors.delta.log import DeltaLog
from core.errors import StorageError
from core.storage import FileInfo, Gone

# So many files of the newest versions are looked for, to see whether this is the table and not its log alone.
WITNESSES = 3


@dataclass(frozen=True, slots=True)
class DataFiles:
    """Files in the order in which the stream reads them. ``is_whole`` False: commits that wait were not read
    (a limit, or a file that cannot be read), so there may be more. ``first_version``: the version that the
    first of them is read from."""

    files: tuple[TableFile, ...] = ()
    is_whole: bool = True
    first_version: int = 0


@dataclass(frozen=True, slots=True)
class FilesLook:
    """``gone``: files that are not there, as the log names them; ``before``: how many files the stream reads
    before the first of them; ``unseen``: how many were not looked for, or could not be."""

    gone: tuple[str, ...] = ()
    before: int = 0
    unseen: int = 0


def files_to_read(
    log: DeltaLog, start: TablePosition, end: TablePosition | None, skips_changes: bool
) -> DataFiles | None:
    """The files from ``start`` up to ``end`` (None: up to the newest version, as far as the setting
    ``table_versions`` goes). ``skips_changes``: commits that remove rows are passed over (skipChangeCommits).
    None when the first snapshot cannot be worked out, or ``start`` lies behind ``end``."""
    found: list[TableFile] = []
    first, at = start.version, start.files_done
    if start.in_first_snapshot:
        snapshot = log.snapshot_files(start.version)
        if snapshot is None:
            return None
        if end is not None and end.in_first_snapshot:
            return DataFiles(snapshot[at : end.files_done], first_version=start.version)
        found += snapshot[at:]
        first, at = first + 1, 0
    elif end is not None and end.in_first_snapshot:
        return None
    last = log.newest if end is None else end.version - (end.files_done == 0)
    limit = log.table_versions
    read = log.files_of(range(first, min(last, first + limit - 1) + 1))
    for version, commit in read.items():
        if skips_changes and commit.removed:
            continue
        stop = end.files_done if end is not None and version == end.version and end.files_done else None
        found += commit.files[at if version == first else 0 : stop]
    is_whole = last - first + 1 <= len(read) and all(commit.problem is None for commit in read.values())
    return DataFiles(tuple(found), is_whole, start.version)


def look_for_files(log: DeltaLog, wanted: DataFiles, limit: int) -> FilesLook:
    """Looks for at most ``limit`` of the files, those first that a version after them removed. One request
    each, for size and time. Read are the commits from the version before them to the newest one, as far as
    they were not read yet and the setting ``table_versions`` goes.

    Nothing is said to be gone when no file of the newest versions is there either: then this is a copy of the
    log alone.
    """
    if not wanted.files:
        return FilesLook()
    since = max(wanted.first_version - 1, log.newest - log.table_versions + 1, 0)
    removed, current = _removed_and_current([*log.files_of(range(since, log.newest + 1)).values()])
    places = {
        file.path: place for file in wanted.files if (place := _below_table(file.path, log)) is not None
    }
    chosen = sorted(places, key=lambda path: path not in removed)[:limit]
    if not chosen:
        return FilesLook(unseen=len(wanted.files))
    witnesses = [
        place for path in current if path not in places and (place := _below_table(path, log)) is not None
    ][:WITNESSES]
    try:
        looks = log.look([*(places[path] for path in chosen), *witnesses])
    except StorageError:
        return FilesLook(unseen=len(wanted.files))
    gone = {path for path in chosen if isinstance(looks[places[path]], Gone)}
    seen = {path for path in chosen if isinstance(looks[places[path]], FileInfo)}
    is_table = bool(seen) or any(isinstance(looks[place], FileInfo) for place in witnesses)
    if gone and not is_table:
        return FilesLook(unseen=len(wanted.files))
    in_order = [file.path for file in wanted.files]
    first = next((at for at, path in enumerate(in_order) if path in gone), 0)
    ordered = tuple(path for path in in_order if path in gone)
    return FilesLook(ordered, first, len(in_order) - len(gone) - len(seen))


def _removed_and_current(read: Sequence[CommitFile]) -> tuple[set[str], list[str]]:
    """The paths that these commits (by ascending version) removed, and those that they added and none
    removed, newest first."""
    removed = {path for commit in read for path in commit.all_removed}
    added = [file.path for commit in reversed(read) for file in commit.all_added if file.path not in removed]
    return removed, added


def _below_table(path: str, log: DeltaLog) -> str | None:
    """Where a file of the log lies, relative to the table; None when it lies elsewhere (a shallow clone)."""
    split = urlsplit(path)
    plain = unquote(path)
    if split.scheme or plain.startswith("/") or ".." in plain.split("/"):
        return None
    return plain
