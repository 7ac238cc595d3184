"""A Delta source with the log of its table at hand: does the restart still find what it asks for, and what
waits behind the position?

Rules observed with Delta 4.4 on Spark 4.2. Spark asks for the range of batch N again when offsets N-1 and N
differ, also when batch N is committed, so the log is needed from the version of offset N-1. The next batch is
planned from offset N.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from core.analysis.forecast.context import Range, RestartContext, Verdict
from core.analysis.forecast.delta_errors import delta_error
from core.analysis.forecast.model import DataEffect, FailsAt, Risk, SparkError
from core.checkpoint.sources.delta import DELTA, TablePosition
from core.checkpoint.sources.forms import as_int, as_object, parse
from core.connectors.delta.actions import CommitFile
from core.connectors.delta.log import DeltaLog
from core.connectors.delta.source import trailing_version
from core.connectors.words import counted, span
from core.sparklogs.evidence import Certainty, Evidence

LOST = DataEffect("loss", "loss", "loss")
AGAIN = DataEffect("duplicates", "duplicates", "duplicates")
LARGEST_SOURCE_VERSION = 3  # 1 in every offset, 3 while a tracked schema changes
SCHEMA_CHANGES = ("RENAME COLUMN", "DROP COLUMNS")
PASSED_VERSIONS = 20  # so many versions before the position are looked at for what the query lets pass
REFILL_SECONDS = 60  # how far the clocks of two writers may differ


def _fail(
    error: SparkError,
    reason: str,
    why: str,
    evidence: Iterable[Evidence],
    fails_at: FailsAt,
    certainty: Certainty = "certain",
) -> Verdict:
    return Verdict(
        status="fails",
        evidence=tuple(evidence),
        certainty=certainty,
        error=error,
        reason=reason,
        why=why,
        fails_at=fails_at,
    )


def _at(part: Range) -> tuple[Evidence, ...]:
    return (part.end.evidence,) if part.end is not None else ()


def _position(text: str | None) -> TablePosition | None:
    return None if text is None else DELTA.position(parse(text))


def _option(s: RestartContext, part: Range, name: str) -> str | None:
    """What is known of a reader option of this source today; names of options do not tell case."""
    given = s.query.options.get(part.key, {})
    return next((value for key, value in given.items() if key.lower() == name.lower()), None)


def _is_set(s: RestartContext, part: Range, *names: str) -> bool:
    return any((_option(s, part, name) or "").lower() == "true" for name in names)


def check_delta_range(s: RestartContext, part: Range, phase: FailsAt) -> Verdict:
    """The range of batch N asked again. ``ok`` False: Spark fails there. What follows from the offsets alone
    is judged without a table."""
    for text, offset in ((part.end_text, part.end), (part.start_text, part.start)):
        version = as_int(as_object(parse(text)).get("sourceVersion")) if text is not None else None
        if version is not None and version > LARGEST_SOURCE_VERSION and offset is not None:
            why = (
                f"the offset of source {part.key} in {offset.evidence} has sourceVersion {version}, which no"
                " Delta release has written"
            )
            return _fail(
                delta_error("source_version"), "SOURCE_OFFSET_UNREADABLE", why, (offset.evidence,), phase
            )
    log, start, end = s.connectors.tables.get(part.key), _position(part.start_text), _position(part.end_text)
    back = _back_in_snapshot(part, start, end)
    if log is None:
        return back
    if not log.can_rebuild(log.newest):
        return _not_contiguous(log, part)
    renamed = _renamed(s, part, log, end or start)
    if renamed is not None:
        return renamed
    if end is None:
        return back
    if (other := _other_table(log, part, end, phase)) is not None:
        return other  # the id is compared also where the offsets are equal and nothing is read
    if not part.differs:
        return back
    if start is None:
        found = _first_batch(s, part, log, end, phase) if part.start_text is None else Verdict()
    else:
        found = _between(s, part, log, start, end, phase)
    open_ends: tuple[str, ...] = ()
    if s.runs_again and not (s.sink is not None and s.sink.pending == "skipped"):
        open_ends = (
            f"whether the data files that batch {s.n} reads of source {part.key} are still there (VACUUM)",
        )
    return replace(found, risks=(*found.risks, *back.risks), not_checked=(*found.not_checked, *open_ends))


def _back_in_snapshot(part: Range, start: TablePosition | None, end: TablePosition | None) -> Verdict:
    if (
        start is None
        or end is None
        or not end.in_first_snapshot
        or start.in_first_snapshot
        or start.table_id != end.table_id
    ):
        return Verdict()
    sentence = (
        f"The offset of source {part.key} in {_at(part)[0]} says that the first snapshot (version"
        f" {end.version}) is being read, while the one before it had left it: the whole snapshot is read"
        " again. Spark does not write this; the file was edited."
    )
    return Verdict(risks=(Risk("DELTA_BACK_IN_SNAPSHOT", sentence, _at(part), AGAIN),))


def _not_contiguous(log: DeltaLog, part: Range) -> Verdict:
    error = "not_contiguous"
    if log.gaps:
        first, last = log.gaps[-1]
        missing = (
            f"{span(first, last, 'version')} {'is' if first == last else 'are'} missing in the middle of the"
            f" log of {log.url}"
        )
    else:
        missing, error = (
            f"the log of {log.url} begins at version {log.oldest} and has no complete log checkpoint",
            "truncated",
        )
    why = f"{missing}, so the table of source {part.key} cannot be read at all"
    return _fail(delta_error(error), "DELTA_LOG_GAP", why, _at(part), "start")


def _other_table(log: DeltaLog, part: Range, end: TablePosition, phase: FailsAt) -> Verdict | None:
    if log.table_id is None or log.table_id == end.table_id:
        return None
    why = (
        f"the table at {log.url} has the id {log.table_id}, and {_at(part)[0]} was read from {end.table_id}:"
        " the table was dropped and created again, or replaced, or it is another one"
    )
    return _fail(delta_error("other_table", now=log.table_id), "DELTA_TABLE_DIFFERS", why, _at(part), phase)


def _first_batch(
    s: RestartContext, part: Range, log: DeltaLog, end: TablePosition, phase: FailsAt
) -> Verdict:
    """Batch 0 begins where today's start option says, or at the snapshot before its end (also when it is
    committed)."""
    given = _option(s, part, "startingVersion")
    if given is not None and given.isdigit():
        first = int(given)
        if log.oldest is None or first < log.oldest:
            why = (
                f"source {part.key} starts at version {first} (startingVersion), and the log of {log.url}"
                f" begins at version {log.oldest}"
            )
            error = delta_error("version_not_found", version=first, oldest=log.oldest, newest=log.newest)
            return _fail(error, "DELTA_LOG_CLEANED", why, _at(part), phase)
        return _changes(s, part, log, first, end, phase)
    snapshot = end.version if end.in_first_snapshot else end.version - 1
    if snapshot >= 0 and not log.can_rebuild(snapshot):
        why = (
            f"batch 0 of source {part.key} begins with the table as of version {snapshot}, which the log of"
            f" {log.url} (from version {log.oldest} on) can no longer rebuild"
        )
        certainty: Certainty = "certain" if end.in_first_snapshot else "inferred"
        if not end.in_first_snapshot:
            why += "; a startingVersion in the code that is still in the log would avoid this"
        return _fail(delta_error("snapshot_gone"), "DELTA_SNAPSHOT_GONE", why, _at(part), phase, certainty)
    if trailing_version(end) > log.newest:
        return _trailing(log, part, end, max(snapshot, log.newest), phase)
    open_ends = []
    if s.runs_again:
        open_ends.append(
            f"today's startingVersion of source {part.key}: batch 0 is not committed and begins where it says"
        )
    elif log.oldest:
        open_ends.append(
            f"today's startingVersion of source {part.key}: a number below {log.oldest}, where its log"
            " begins, fails at the start"
        )
    return Verdict(not_checked=tuple(open_ends))


def _between(
    s: RestartContext, part: Range, log: DeltaLog, start: TablePosition, end: TablePosition, phase: FailsAt
) -> Verdict:
    first = start.version
    if start.in_first_snapshot:
        if not log.can_rebuild(start.version):
            return _snapshot_gone(log, part, start.version, phase)
        first += 1
    if end.in_first_snapshot:
        return Verdict()
    return _changes(s, part, log, first, end, phase)


def _snapshot_gone(log: DeltaLog, part: Range, version: int, phase: FailsAt) -> Verdict:
    why = (
        f"source {part.key} is inside its first snapshot, the table as of version {version}, which the log of"
        f" {log.url} (from version {log.oldest} on) can no longer rebuild; failOnDataLoss=false does not help"
    )
    return _fail(delta_error("snapshot_gone"), "DELTA_SNAPSHOT_GONE", why, _at(part), phase)


def _trailing(log: DeltaLog, part: Range, end: TablePosition, seen: int, phase: FailsAt) -> Verdict:
    last = trailing_version(end)
    error = delta_error("trailing_missing", last=last, after=seen)
    if last > log.newest:
        why = (
            f"{_at(part)[0]} counts on versions up to {last}, and the table at {log.url} ends at version"
            f" {log.newest}: an older copy of the table, or one that was set back"
        )
        return _fail(error, "DELTA_TABLE_OLDER", why, _at(part), phase)
    why = (
        f"the log of {log.url} begins at version {log.oldest}, so the end of the range of batch N"
        f" ({span(seen + 1, last, 'version')}) is gone too; failOnDataLoss=false does not help"
    )
    return _fail(
        error, "DELTA_LOG_CLEANED", why.replace("batch N", f"batch {_batch(part)}"), _at(part), phase
    )


def _batch(part: Range) -> str:
    return part.end.evidence.path.rsplit("/", 1)[-1] if part.end is not None else "N"


def _changes(
    s: RestartContext, part: Range, log: DeltaLog, first: int, end: TablePosition, phase: FailsAt
) -> Verdict:
    """The commits ``first`` to the end of the range must be there. Delta looks one version further, at that
    of the position itself.

    failOnDataLoss=false forgives holes, as long as the end of the range, or the version of the position, is
    still there.
    """
    last = trailing_version(end)
    if last < first:
        return Verdict()
    lost_from, found = _hole(log, first, end.version) or (None, None)
    if lost_from is not None and found is not None and s.query.fail_on_data_loss:
        return _cleaned(
            log, part, lost_from, found, phase, f"Spark asks for the range of batch {_batch(part)} again"
        )
    seen = max((v for v in log.names.commits if first <= v <= end.version), default=first - 1)
    if seen < last:
        return _trailing(log, part, end, seen, phase)
    if lost_from is None or found is None or lost_from > last or not s.runs_again:
        return Verdict()
    return Verdict(
        risks=(_rows_skipped(log, part, lost_from, min(found - 1, last), f"batch {s.n} is run without them"),)
    )


def _hole(log: DeltaLog, first: int, last: int) -> tuple[int, int | None] | None:
    """The first version from ``first`` to ``last`` that is missing, and the next one that is there; None when
    nothing is missing."""
    expected = first
    for version in log.names.commits:
        if version < first:
            continue
        if version > expected:
            return expected, version
        if version >= last:
            return None
        expected = version + 1
    return None if expected > last else (expected, None)


def _cleaned(log: DeltaLog, part: Range, first: int, found: int, phase: FailsAt, asks: str) -> Verdict:
    why = (
        f"{asks}, and the log of {log.url} has no version {first} any more (the next one is {found}): removed"
        " by the log's retention or by hand"
    )
    return _fail(
        delta_error("log_cleaned", first=first, found=found), "DELTA_LOG_CLEANED", why, _at(part), phase
    )


def _rows_skipped(log: DeltaLog, part: Range, first: int, last: int, what: str) -> Risk:
    sentence = (
        f"{span(first, last, 'version').capitalize()} of the table of source {part.key}"
        f" {'is' if first == last else 'are'} gone from its log: with failOnDataLoss=false {what}, and their"
        " rows are never read."
    )
    return Risk("DELTA_ROWS_SKIPPED", sentence, _at(part), LOST)


def _renamed(s: RestartContext, part: Range, log: DeltaLog, position: TablePosition | None) -> Verdict | None:
    """A column that was renamed or dropped (column mapping) after the position stops every start, unless the
    schema is tracked."""
    if (
        position is None
        or log.table_id != position.table_id
        or _option(s, part, "schemaTrackingLocation")
        or _option(s, part, "schemaLocation")
    ):
        return None
    for commit in log.commits(range(position.version, log.newest + 1)).commits[::-1]:
        if commit.operation in SCHEMA_CHANGES and commit.metadata_changed:
            why = (
                f"version {commit.version} of the table of source {part.key} is {commit.operation}, which a"
                " stream that stands before it cannot follow without schemaTrackingLocation"
            )
            if _tracks_schema(s):
                return None
            return _fail(delta_error("schema_change"), "DELTA_SCHEMA_WAITS", why, _at(part), "start")
    return None


def _tracks_schema(s: RestartContext) -> bool:
    """Whether the checkpoint holds a schema log of a Delta source: ``_schema_log_<table id>``, in it or one
    directory below."""
    root = s.checkpoint.door.list([""])[""]
    others = [path for path in root.directories if path not in ("offsets", "commits", "sources", "state")]
    below = (
        [path for listing in s.checkpoint.door.list(others).values() for path in listing.directories]
        if others
        else []
    )
    return any(path.rsplit("/", 1)[-1].startswith("_schema_log_") for path in (*others, *below))


def check_delta_plan(s: RestartContext, part: Range) -> Verdict:
    """How the source goes on from offsets/N. After a batch that runs again, a failure here is one of the
    batch after it."""
    log, end = s.connectors.tables.get(part.key), _position(part.end_text)
    if log is None or end is None:
        return Verdict()
    found = _plan(s, part, log, end)
    if found.ok is False and s.runs_again:
        return replace(
            Verdict(then=f"The batch after it fails: {found.why}.", not_checked=found.not_checked),
            risks=found.risks,
        )
    return found


def _plan(s: RestartContext, part: Range, log: DeltaLog, end: TablePosition) -> Verdict:
    if (other := _other_table(log, part, end, "batch")) is not None:
        return other
    first = end.version
    if end.in_first_snapshot:
        if not log.can_rebuild(first):
            return _snapshot_gone(log, part, first, "batch")
        first += 1
    risks: list[Risk] = []
    if trailing_version(end) > log.newest:
        sentence = (
            f"{_at(part)[0]} stands before version {end.version}, and the table at {log.url} ends at version"
            f" {log.newest}: an older copy, or one that was set back. What is committed as version"
            f" {log.newest + 1} to {end.version - 1} from now on is never read."
        )
        risks.append(Risk("DELTA_TABLE_OLDER", sentence, _at(part), LOST))
    lost_from, next_one = (_hole(log, first, log.newest) if first <= log.newest else None) or (0, None)
    if next_one is not None:
        if s.query.fail_on_data_loss:
            return _cleaned(
                log, part, lost_from, next_one, "batch", f"source {part.key} goes on at version {first}"
            )
        risks.append(
            _rows_skipped(log, part, lost_from, next_one - 1, f"the query goes on at version {next_one}")
        )
    risks += _inside(log, part, end)
    risks += _refilled(s, log, part, end)
    waiting = _waiting(s, part, log, end, first)
    return replace(waiting, risks=(*waiting.risks, *risks))


def _inside(log: DeltaLog, part: Range, end: TablePosition) -> list[Risk]:
    """An index beyond the files of its commit: Delta takes the rest of the commit as done."""
    if end.in_first_snapshot or not end.files_done:
        return []
    commit = log.files_of([end.version]).get(end.version)
    if commit is None or commit.problem is not None or end.files_done <= _file_count(commit):
        return []
    sentence = (
        f"{_at(part)[0]} has the file index {end.index} in version {end.version}, which has"
        f" {counted(_file_count(commit), 'file')}: Delta takes the whole version as read. Rows of it that"
        " were not read are never read; Spark does not write such an index."
    )
    return [Risk("DELTA_INDEX_BEYOND", sentence, _at(part), LOST)]


def _file_count(commit: CommitFile) -> int:
    """How many files an index can count in a commit: those added, or with the change data feed its own files
    or all added and removed."""
    return max(
        len(commit.files), commit.cdc_files, len(commit.files) + len(commit.removed) if commit.removed else 0
    )


def _refilled(s: RestartContext, log: DeltaLog, part: Range, end: TablePosition) -> list[Risk]:
    """A version that counts as read and was written after the batch that read it was planned: the table was
    set back and filled up" " again."""
    version = trailing_version(end)
    if s.n is None or s.newest is None or version < 0 or version > log.newest:
        return []
    commit = log.files_of([version]).get(version)
    planned = max(s.newest.timestamp_ms or 0, s.checkpoint.offset_files[s.n].modified_ms or 0)
    if commit is None or commit.commit.timestamp_ms is None or not planned:
        return []
    if commit.commit.timestamp_ms <= planned + REFILL_SECONDS * 1000:
        return []
    sentence = (
        f"Version {version} of the table of source {part.key} was written after batch {s.n}, which has read"
        " it: the table was set back and new commits have taken the numbers that were read already. What"
        " they hold is never read, without an error."
    )
    return [
        Risk(
            "DELTA_TABLE_REFILLED",
            sentence,
            (Evidence(s.checkpoint.offset_files[s.n].path),),
            LOST,
            "inferred",
        )
    ]


def _waiting(s: RestartContext, part: Range, log: DeltaLog, end: TablePosition, first: int) -> Verdict:
    """The commits that the next batches read: one that deletes or changes rows stops the query, unless an
    option says otherwise."""
    if end.files_done and not end.in_first_snapshot:
        first += 1  # the rest of a commit that was let through before
    if first > log.newest or _is_set(s, part, "skipChangeCommits", "readChangeFeed", "readChangeData"):
        return Verdict()
    read = log.commits(range(first, log.newest + 1))
    open_ends = (
        (f"the commits of source {part.key} behind that: {read.limit_words.rstrip('.').lower()}",)
        if read.limit_words
        else ()
    )
    before = 0
    for commit in reversed(read.commits):
        if not commit.removes:
            before += commit.adds
            continue
        deletes_only = commit.adds == 0
        if _is_set(s, part, "ignoreChanges") or (deletes_only and _is_set(s, part, "ignoreDeletes")):
            continue
        passed = None if part.key in s.query.options else _passed_before(s, part, log, end, deletes_only)
        if passed is not None:
            what = (
                f"whether source {part.key} lets version {commit.version} ({commit.operation or 'unknown'})"
                f" pass, which takes rows away; it let version {passed} pass, so an option such as"
                " skipChangeCommits is set"
            )
            return Verdict(not_checked=(what, *open_ends))
        file = log.files_of([commit.version])[commit.version].removed[0]
        options = (
            "ignoreDeletes or skipChangeCommits" if deletes_only else "skipChangeCommits or ignoreChanges"
        )
        what = "deletes rows" if deletes_only else "changes rows"
        why = (
            f"version {commit.version} of the table of source {part.key} ({commit.operation or 'unknown'})"
            f" {what}, and a stream that reads only what is added stops there, unless the query sets"
            f" {options}"
        )
        if before:
            why += (
                f" (the {counted(before, 'file')} added before it {'is' if before == 1 else 'are'} read first"
                " if a batch is limited)"
            )
        error = (
            delta_error("ignore_delete", file=file, version=commit.version)
            if deletes_only
            else delta_error("ignore_changes", operation=commit.operation or "")
        )
        certainty: Certainty = "certain" if part.key in s.query.options and not before else "inferred"
        return replace(
            _fail(error, "DELTA_CHANGES_WAIT", why, _at(part), "batch", certainty), not_checked=open_ends
        )
    return Verdict(not_checked=open_ends)


def _passed_before(
    s: RestartContext, part: Range, log: DeltaLog, end: TablePosition, deletes_only: bool
) -> int | None:
    """A version of the same kind that this query has already read past: then an option lets such commits
    through. Looks at the newest ones."""
    oldest = s.offset_entry(s.checkpoint.offset_ids[0])
    line = oldest.source(part.key) if oldest is not None else None
    begin = _position(line.raw) if line is not None else None
    if begin is None or begin.table_id != end.table_id:
        return None
    first = begin.version + 1 if begin.in_first_snapshot else begin.version
    for commit in log.commits(range(first, end.version), limit=PASSED_VERSIONS).commits:
        if commit.removes and (commit.adds or deletes_only):
            return commit.version
    return None
