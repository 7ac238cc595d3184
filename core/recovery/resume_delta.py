"""The start position of a Delta source with the table's log at hand: what can be said exactly, and where no
start fits.

Every way was run row by row with Delta 4.4: a start at a version that exists is exact; inside a commit or the
first snapshot the files that are done are left out by name (``excludeRegex``, which Delta matches against the
path of each file); a caught-up query has no version to name yet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.checkpoint.sources.base import ResumePoint
from core.checkpoint.sources.delta import DELTA, TablePosition
from core.checkpoint.sources.forms import no_option
from core.connectors.delta.log import DeltaLog
from core.connectors.words import counted, span

OUT_OF_RANGE = "spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled"
MOST_NAMES = 500  # files named in one option; a regular expression of more is no longer something to paste
TRANSPLANT = "The exact way is a new checkpoint with the old offset in it (recovery, option reset)."


def with_table(point: ResumePoint, offset: object, log: DeltaLog) -> ResumePoint:
    """The start position after ``offset`` (parsed), now that the log of the table is known; ``point`` is what
    the checkpoint alone told.

    ``options`` is filled exactly where the log shows that a start with them repeats and skips nothing. Reads
    at most the commits that it needs the names of files from.
    """
    position = DELTA.position(offset)
    if position is None:
        return point
    if log.table_id is not None and log.table_id != position.table_id:
        return no_option(
            f"The table at {log.url} has another id ({log.table_id}) than the one that was read"
            f" ({position.table_id}): no position of the old table means anything in it. Decide whether its"
            " rows are in the target already, then start without a start option or at a version.",
            repeats="what the target already holds of it, when it is started from the beginning",
            skips="nothing, when it is started from the beginning",
        )
    if position.in_first_snapshot:
        return _in_snapshot(point, position, log)
    if position.version > log.newest + 1:
        return no_option(
            f"The query has read up to version {position.version - 1}, and the table at {log.url} ends at"
            f" version {log.newest}: an older copy. Versions from {log.newest + 1} on that are written now"
            " were never read: they have numbers that count as read.",
            repeats=f"with startingVersion={log.newest + 1}: nothing of this copy",
            skips="nothing of this copy; what the newer one held is not in it",
        )
    if position.version == log.newest + 1:
        return _caught_up(position, log)
    if log.oldest is None or log.oldest > position.version:
        return _gone(position, log)
    return _inside(position, log) if position.files_done else _whole(position, log)


def _whole(position: TablePosition, log: DeltaLog) -> ResumePoint:
    version = position.version
    note = (
        f"Version {version} is in the table's log, which goes on to version {log.newest}. Counts only in a"
        " new, empty checkpoint."
    )
    if position.at_schema_change:
        note = f"The query stopped at a schema change in version {version}, before any row of it. {note}"
    return ResumePoint(
        True, {"startingVersion": str(version)}, "nothing", "nothing", note, "certain", "transplant"
    )


def _caught_up(position: TablePosition, log: DeltaLog) -> ResumePoint:
    version = position.version
    return no_option(
        f"The query has read everything: the table is at version {log.newest}, and version {version} does not"
        " exist yet, so"
        f" startingVersion={version} fails with DELTA_VERSION_NOT_FOUND until the next commit. Either wait"
        " for it, or set"
        f" {OUT_OF_RANGE}=true"
        f' for this start and use startingVersion={version}. Do not use "latest": it is looked up at every'
        " start until a batch has run, and"
        f" what is committed in between is lost. {TRANSPLANT}",
        repeats=f"with startingVersion={log.newest}: version {log.newest}",
        skips=f"with startingVersion={version}: nothing, once that version exists",
        seed="transplant",
    )


def _gone(position: TablePosition, log: DeltaLog) -> ResumePoint:
    version = position.version
    begins = (
        f"begins at version {log.oldest}"
        if log.oldest is not None
        else f"has a hole before version {log.newest}"
    )
    lost = (
        span(version, log.oldest - 1, "version")
        if log.oldest is not None
        else f"the versions from {version} on"
    )
    return no_option(
        f"Version {version} is no longer in the table's log, which {begins}. The nearest start is"
        f" startingVersion={log.oldest}; a smaller number fails. The rows of {lost} then have to come from"
        " the table by a batch read, as far as it still holds them.",
        repeats="nothing",
        skips=f"with startingVersion={log.oldest}: {lost}",
    )


def _inside(position: TablePosition, log: DeltaLog) -> ResumePoint:
    version = position.version
    commit = log.files_of([version]).get(version)
    if commit is None or commit.problem is not None:
        return no_option(
            f"The query stopped inside version {version}, and its commit file cannot be read, so the files"
            f" that are done have no names. {TRANSPLANT}",
            repeats=f"with startingVersion={version}: the first {counted(position.files_done, 'file')} of it",
            skips=f"with startingVersion={version + 1}: the other files of version {version}",
            seed="transplant",
        )
    feed = (
        " If the query reads the change data feed, the index counts other files: then"
        f" {TRANSPLANT[0].lower()}{TRANSPLANT[1:]}"
        if commit.cdc_files or commit.removed
        else ""
    )
    if position.files_done > len(commit.files):
        return no_option(
            f"The index {position.index} is beyond the {counted(len(commit.files), 'file')} that version"
            f" {version} added: the whole version counts as read.{feed} {TRANSPLANT}",
            repeats=f"with startingVersion={version}: the files of version {version}",
            skips=f"with startingVersion={version + 1}: nothing, if the version was read whole",
            seed="transplant",
        )
    done = [file.name for file in commit.files[: position.files_done]]
    note = (
        f"The query stopped inside version {version}, after {len(done)} of"
        f" {counted(len(commit.files), 'file')}. excludeRegex leaves these out by name; take it away after"
        f" the first run (it does no harm).{feed} Counts only in a new, empty checkpoint."
    )
    return _without(
        done,
        {"startingVersion": str(version)},
        note,
        f"the first {counted(len(done), 'file')} of version {version}",
    )


def _in_snapshot(point: ResumePoint, position: TablePosition, log: DeltaLog) -> ResumePoint:
    version = position.version
    snapshot = log.snapshot_files(version) if log.can_rebuild(version) else None
    now = log.snapshot_files(log.newest)
    if snapshot is None or now is None:
        gone = not log.can_rebuild(version)
        why = (
            "the log can no longer rebuild that version"
            if gone
            else "the log's checkpoint keeps the files in sidecars, which are not read"
        )
        seed = "" if gone else f" {TRANSPLANT}"
        return no_option(
            f"The query stopped inside the first snapshot of the table (version {version}), and {why}, so the"
            f" files that are done have no names.{seed}",
            repeats="without a start option: the whole table as it is now",
            skips=f"with startingVersion={min(version + 1, log.newest)}: what is left of the snapshot",
            seed=None if gone else "transplant",
        )
    done = [file.name for file in snapshot[: position.files_done]]
    there = {file.name for file in now}
    moved = [name for name in done if name not in there]
    if moved:
        return no_option(
            f"The query stopped inside the first snapshot (version {version}), after"
            f" {counted(len(done), 'file')}, and {len(moved)} of them are no longer in the table (OPTIMIZE,"
            f" UPDATE or DELETE since), so their rows stand in other files now. {TRANSPLANT}",
            repeats="without a start option: the rows of these files, where they stand now",
            skips="nothing",
            seed="transplant",
        )
    note = (
        f"The query stopped inside the first snapshot (version {version}), after {len(done)} of"
        f" {counted(len(snapshot), 'file')}. Without a start option the query reads the table as it is now;"
        " excludeRegex leaves the files that are done out by name, and all of them are still in the table."
        " Start before the next OPTIMIZE, and take excludeRegex away after the first run. Counts only in a"
        " new, empty checkpoint."
    )
    return _without(done, {}, note, f"the first {counted(len(done), 'file')} of the snapshot")


def _without(done: Sequence[str], options: dict[str, str], note: str, repeats: str) -> ResumePoint:
    if len(done) > MOST_NAMES:
        return no_option(
            f"{note.split('. ')[0]}. These are too many to name in an option. {TRANSPLANT}",
            repeats=f"with the start alone: {repeats}",
            skips="nothing",
            seed="transplant",
        )
    given = {**options, "excludeRegex": exclude_regex(done)} if done else options
    return ResumePoint(
        True, given, "nothing", "nothing", note, "certain", "transplant", filter_code(done) if done else ""
    )


def exclude_regex(names: Sequence[str]) -> str:
    """A regular expression (of Java) that finds each of these file names and no other: every special
    character is escaped."""
    return "|".join(re.sub(r"([^A-Za-z0-9_%=-])", r"\\\1", name) for name in names)


def filter_code(names: Sequence[str]) -> str:
    """The same as a filter in PySpark, for a query that cannot take ``excludeRegex``. Names are quoted
    literals, so they cannot become code."""
    listed = "".join(f"    {name!a},\n" for name in names)
    return (
        f"from pyspark.sql import functions as F\n\ndone = [\n{listed}]\n"
        'df = df.where(~F.element_at(F.split(F.input_file_name(), "/"), -1).isin(done))\n'
    )


def done_files(offset: object, log: DeltaLog) -> tuple[str, ...] | None:
    """The names of the files that a position inside a commit or snapshot has done; None when the log does not
    tell them."""
    position = DELTA.position(offset)
    if position is None or (log.table_id is not None and log.table_id != position.table_id):
        return None
    if position.in_first_snapshot:
        files = log.snapshot_files(position.version) if log.can_rebuild(position.version) else None
        return None if files is None else tuple(file.name for file in files[: position.files_done])
    if not position.files_done:
        return ()
    commit = log.files_of([position.version]).get(position.version)
    if commit is None or commit.problem is not None or position.files_done > len(commit.files):
        return None
    return tuple(file.name for file in commit.files[: position.files_done])


__all__ = ["done_files", "exclude_regex", "filter_code", "with_table"]
