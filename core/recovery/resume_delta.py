"""The start position of a Delta source with the table's log at hand: what can be said exactly, and where no
start fits.

Every way was run row by row with Delta 4.4: a start at a version that exists is exact; inside a commit or the
first snapshot the files that are done are left out by name (``excludeRegex``, which Delta matches against the
path of each file); a caught-up query has no version to name yet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from core.checkpoint.sources.base import ResumePoint
from core.checkpoint.sources.delta import DELTA, TablePosition
from core.checkpoint.sources.forms import no_option
from core.connectors.delta.judgement import JudgedPosition, judge_position, trailing_version
from core.connectors.delta.log import DeltaLog
from core.messages import say
from core.messages.words import spanned

OUT_OF_RANGE = "spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled"
MOST_NAMES = 500  # files named in one option; a regular expression of more is no longer something to paste


def with_table(point: ResumePoint, offset: object, log: DeltaLog) -> ResumePoint:
    """The start position after ``offset`` (parsed), now that the log of the table is known; ``point`` is what
    the checkpoint alone tells.

    ``options`` is filled exactly where the log shows that a start with them repeats and skips nothing. Reads
    at most the commits that it needs the names of files from.
    """
    position = DELTA.position(offset)
    if position is None:
        return point
    judged = judge_position(log, position)
    if judged.state == "other_table":
        return no_option(
            say("resume_delta.other_table", url=log.url, table_id=log.table_id, read_id=position.table_id),
            repeats=say("resume_delta.other_table_repeats"),
            skips=say("resume_delta.other_table_skips"),
        )
    if judged.state == "in_snapshot":
        return _in_snapshot(position, log)
    if judged.state == "beyond_newest":
        return no_option(
            say(
                "resume_delta.table_older",
                read=trailing_version(position),
                url=log.url,
                newest=log.newest,
                first=log.newest + 1,
            ),
            repeats=say("resume_delta.table_older_repeats", first=log.newest + 1),
            skips=say("resume_delta.table_older_skips"),
        )
    if judged.state == "caught_up":
        return _caught_up(position, log)
    if judged.state == "cleaned":
        return _cleaned(judged)
    return _inside(position, log) if position.files_done else _whole(position, log)


def _whole(position: TablePosition, log: DeltaLog) -> ResumePoint:
    note = (
        say("resume_delta.at_schema_change", version=position.version, newest=log.newest)
        if position.at_schema_change
        else say("resume_delta.version_is_there", version=position.version, newest=log.newest)
    )
    options = {"startingVersion": str(position.version)}
    return ResumePoint(True, options, "nothing", "nothing", note, "certain", "transplant")


def _caught_up(position: TablePosition, log: DeltaLog) -> ResumePoint:
    version = position.version
    return no_option(
        say("resume_delta.caught_up", newest=log.newest, version=version, conf=OUT_OF_RANGE),
        repeats=say("resume_delta.caught_up_repeats", newest=log.newest),
        skips=say("resume_delta.caught_up_skips", version=version),
        seed="transplant",
    )


def _cleaned(judged: JudgedPosition) -> ResumePoint:
    if judged.lost is None:
        return no_option(
            say("resume_delta.cleaned_with_hole", version=judged.version, newest=judged.newest),
            repeats="nothing",
            skips=say("resume_delta.skips_versions_from", version=judged.version),
        )
    lost = spanned(*judged.lost, "version")
    return no_option(
        say("resume_delta.cleaned", version=judged.version, oldest=judged.oldest, lost=lost),
        repeats="nothing",
        skips=say("resume_delta.cleaned_skips", oldest=judged.oldest, lost=lost),
    )


def _inside(position: TablePosition, log: DeltaLog) -> ResumePoint:
    version = position.version
    commit = log.files_of([version]).get(version)
    if commit is None or commit.problem is not None:
        return no_option(
            say("resume_delta.commit_not_read", version=version),
            repeats=say("resume_delta.repeats_first_files", version=version, files=position.files_done),
            skips=say("resume_delta.skips_other_files", version=version, next_version=version + 1),
            seed="transplant",
        )
    has_feed = bool(commit.cdc_files or commit.removed)
    if position.files_done > len(commit.files):
        values = {"index": position.index, "files": len(commit.files), "version": version}
        note = (
            say("resume_delta.index_beyond_or_feed", **values)
            if has_feed
            else say("resume_delta.index_beyond", **values)
        )
        return no_option(
            note,
            repeats=say("resume_delta.repeats_version", version=version),
            skips=say("resume_delta.skips_nothing_if_whole", next_version=version + 1),
            seed="transplant",
        )
    done = [file.name for file in commit.files[: position.files_done]]
    return _without(
        done,
        {"startingVersion": str(version)},
        position,
        len(commit.files),
        "version_with_feed" if has_feed else "version",
    )


def _in_snapshot(position: TablePosition, log: DeltaLog) -> ResumePoint:
    version = position.version
    can_rebuild = log.can_rebuild(version)
    snapshot = log.snapshot_files(version) if can_rebuild else None
    now = log.snapshot_files(log.newest)
    if snapshot is None or now is None:
        note = (
            say("resume_delta.snapshot_in_sidecars", version=version)
            if can_rebuild
            else say("resume_delta.snapshot_gone", version=version)
        )
        return no_option(
            note,
            repeats=say("resume_delta.repeats_whole_table"),
            skips=say("resume_delta.skips_rest_of_snapshot", version=min(version + 1, log.newest)),
            seed="transplant" if can_rebuild else None,
        )
    done = [file.name for file in snapshot[: position.files_done]]
    there = {file.name for file in now}
    moved = [name for name in done if name not in there]
    if moved:
        return no_option(
            say("resume_delta.files_moved", version=version, done=len(done), moved=len(moved)),
            repeats=say("resume_delta.repeats_moved_files"),
            skips="nothing",
            seed="transplant",
        )
    return _without(done, {}, position, len(snapshot), "snapshot")


def _without(
    done: Sequence[str],
    options: dict[str, str],
    position: TablePosition,
    total: int,
    inside: Literal["version", "version_with_feed", "snapshot"],
) -> ResumePoint:
    """A start that leaves out the files that are done by name; too many names are no option to paste."""
    values = {"version": position.version, "done": len(done), "total": total}
    if len(done) > MOST_NAMES:
        if inside == "snapshot":
            note = say("resume_delta.too_many_names_in_snapshot", **values)
            repeats = say("resume_delta.start_alone_repeats_snapshot", files=len(done))
        else:
            note = say("resume_delta.too_many_names", **values)
            repeats = say("resume_delta.start_alone_repeats", files=len(done), version=position.version)
        return no_option(note, repeats=repeats, skips="nothing", seed="transplant")
    if inside == "snapshot":
        note = say("resume_delta.inside_snapshot", **values)
    elif inside == "version_with_feed":
        note = say("resume_delta.inside_version_or_feed", **values)
    else:
        note = say("resume_delta.inside_version", **values)
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
