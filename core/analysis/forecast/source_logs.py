"""The logs of file sources (``sources/<n>``): what Spark reads of them at every start, the range of batch N
in them, and what it means when a log ends elsewhere than the offsets.

Observed, Spark 3.3 to 4.3: every file from the newest compact file on is read before the commit log; a
damaged one stops the start. Files are known by their full path only; which log entry they stand in matters
for the batch that reads it.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.analysis.forecast.context import Range, RestartContext
from core.analysis.forecast.initial_offsets import check_start_file
from core.analysis.forecast.input_paths import changed_paths, check_paths, not_compared
from core.analysis.forecast.model import (
    DUPLICATES,
    EXACT,
    SINK_KINDS,
    UNKNOWN,
    DataEffect,
    Effect,
    FailsAt,
    Risk,
    SinkKind,
)
from core.analysis.forecast.ranges import log_id, ranges, start_id
from core.analysis.forecast.step_verdict import Verdict, failed, version_number
from core.checkpoint.source_log import FileLog
from core.messages import Sentence, say
from core.sparklogs.budget import ids_written
from core.sparklogs.compactible import DEFAULT_COMPACT_INTERVAL, NEWEST_VERSION, CompactibleLog
from core.sparklogs.evidence import Evidence, Problem
from core.sparklogs.json_text import has_control_character, parse_json
from core.sparklogs.versioned import split_lines


def check_source_logs(s: RestartContext) -> Verdict:
    """A gap between the last compact file and the newest entry of a file source's log, or a file among them
    that cannot be read, stops the query, also with no offset at all."""
    not_checked: list[str] = []
    risks: list[Risk] = []
    for key, log in s.file_logs.items():
        read = s.file_log(key)
        damaged = min(read.damaged, key=lambda problem: _turn(log, problem), default=None)
        missing = log.missing[0] if log.missing else None
        if damaged is not None and (missing is None or _turn(log, damaged) < missing):
            return _damaged(s, damaged)
        if missing is not None:
            return _gap(s, log, missing)
        not_checked += [
            say("forecast.open_source_log", path=item.evidence.path, why=item.clause)
            for item in read.not_read
        ]
        not_checked += not_compared(s, key)
        risks += _forgotten(s, key, read) or changed_paths(s, key)
    for part in ranges(s):
        verdict = check_start_file(s, part)
        if verdict is not None:
            return verdict
    if not s.file_logs:
        return Verdict("does_not_apply", note=say("forecast_steps.no_source_logs"))
    evidence = tuple(Evidence(log.newest_path) for log in s.file_logs.values() if log.newest_path is not None)
    shared = [
        say("forecast.open_shared_log", keys=keys, directory=directory)
        for directory, keys in _shared(s).items()
    ]
    return Verdict(
        evidence=evidence,
        risks=tuple(risks),
        not_checked=(*not_checked, *shared),
        certainty="inferred" if shared else "certain",
    )


def _shared(s: RestartContext) -> dict[str, list[str]]:
    """Directory -> the lines of file sources that were equal in every entry and are taken for one: either a
    DataFrame used twice, or sources of which some lost their log."""
    found: dict[str, list[str]] = {}
    for source in s.checkpoint.sources:
        is_own = source.key not in s.without_own_log
        if source.directory is not None and source.kind.has_own_log and is_own:
            found.setdefault(source.directory, []).append(source.key)
    return {directory: keys for directory, keys in found.items() if len(keys) > 1}


def _turn(log: CompactibleLog, problem: Problem) -> int:
    """When Spark reads a damaged file: the newest first of all, then by id."""
    log_id = next((i for i, info in log.files.items() if info.path == problem.evidence.path), 0)
    return -1 if log_id == log.newest_id else log_id


def _gap(s: RestartContext, log: CompactibleLog, missing: int) -> Verdict:
    newest = log.newest_id or 0
    is_turn = newest in log.missing and newest in log.plain  # of a compact file, and a plain one is there
    misnamed = log.plain[newest] if is_turn else log.misnamed.get(newest)
    if misnamed is not None:  # Spark reads the newest entry first
        wanted = f"{newest}{'.compact' if is_turn or misnamed.name.endswith('.compact') else ''}"
        why = say("forecast_steps.log_name", path=misnamed.path, batch_id=wanted, log=log.directory)
        named = {"log": log.directory, "id": wanted}
        return failed(s, "log_name", "LOG_FILE_NAME", why, Evidence(misnamed.path), details=named)
    path, error = log.path_of(missing), "source_log_gap"
    interval = log.interval or DEFAULT_COMPACT_INTERVAL
    lost = [i for i in log.missing if (i + 1) % interval == 0] if log.interval is None else []
    if lost and (lost[-1] == log.missing[-1] or not _may_have_been_compact(log.missing)):
        path = f"{log.directory}/{lost[-1]}.compact"  # the newest is looked for first
    elif log.interval is None and _may_have_been_compact(log.missing):
        path, error = f"{log.directory}/{missing}", "source_log_gap_somewhere"
    details = {"file": f"{s.location}/{path}", "latest": log.newest_id, "interval": interval}
    why = say("forecast_steps.source_log_gap", path=path, newest=log.newest_id)
    return failed(s, error, "SOURCE_LOG_GAP", why, Evidence(path), details=details)


def _may_have_been_compact(missing: tuple[int, ...]) -> bool:
    """Whether ids that are missing may have been compact files at another interval than the default: the
    beginning of the log, or ids in steps. The session sets the interval when no compact file tells it, and
    which file Spark looks for first depends on it."""
    step = missing[0] + 1
    is_step = step > 1 and len(missing) > 1 and all((i + 1) % step == 0 for i in missing)
    return missing[0] == 0 or is_step


_DAMAGE = {
    "empty": "source_log_empty",
    "unknown_version": "source_log_version",
    "no_version": "source_log_no_version",
    "not_text": "log_not_text",
}


def _damaged(s: RestartContext, damaged: Problem) -> Verdict:
    """A file of the log that Spark cannot read, in this version's words."""
    at = damaged.evidence
    why = say("forecast_steps.log_unreadable", path=at.path, clause=damaged.clause)
    error, details = compactible_log_error(damaged, f"{s.location}/{at.path}")
    return failed(s, error, "SOURCE_LOG_UNREADABLE", why, at, details=details)


def compactible_log_error(
    damaged: Problem, file: str, fields: Sequence[str] = ("path", "timestamp", "batchId")
) -> tuple[str, dict[str, object]]:
    """How Spark's reader of a compactible log (of a file source, of a file sink) fails on a damaged file: a
    key of the errors, and what fills its message. ``file`` is its path as Spark spells it, ``fields`` are
    those that each entry needs."""
    at, line = damaged.evidence, _line(damaged)
    error = _DAMAGE.get(damaged.condition, "")
    if error == "source_log_empty" and at.line is not None:
        error = "source_log_empty_line"
    if not error:
        field = _absent_field(line, fields)
        bad = "json_control" if has_control_character(damaged.raw) else "json_bad"
        error = "source_log_entry" if field else "json_cut" if damaged.condition == "truncated" else bad
    return error, {
        "file": file,
        "highest": NEWEST_VERSION,
        "version": version_number(damaged),
        "text": line[:60],
        "field": _absent_field(line, fields),
    }


def _line(damaged: Problem) -> str:
    """The line of the problem; the first one when it is about the file."""
    lines = split_lines(damaged.raw.decode("utf-8", "replace"))
    number = damaged.evidence.line or 1
    return lines[number - 1] if number <= len(lines) else ""


def _absent_field(line: str, fields: Sequence[str]) -> str:
    """The first field that an entry needs and this one lacks; "" for a line that is no JSON."""
    try:
        parse_json(line)
    except ValueError:
        return ""
    return next((field for field in fields if f'"{field}"' not in line), "")


def _forgotten(s: RestartContext, key: str, read: FileLog) -> list[Risk]:
    """Log ids without a file: Spark accepts them, and takes the files that they named for new ones.

    After the newest offset they matter to no one: no batch has read what they named (seen with 3.5.9 and
    4.3.0, with an empty entry and with a copy of the one before: every row exact).
    """
    if not read.without_files:
        return []
    part = next((part for part in ranges(s) if part.key == key), None)
    end = log_id(part.end_text) if part is not None else None
    found = [(i, at) for i, at in read.without_files if end is None or i <= end]
    if not found:
        return []
    ids, at = [i for i, _ in found], found[0][1]
    only_next = s.runs_again and part is not None and end is not None and min(ids) > start_id(part)
    sentence = say("forecast.source_log_forgotten", path=at.path, ids=ids, count=len(ids))
    # What was read a second time changes what the state holds; a stateless query hands it out again.
    effect = DataEffect("duplicates", "exact", "duplicates") if only_next else DUPLICATES
    return [Risk("SOURCE_LOG_INCOMPLETE", sentence, (at,), UNKNOWN if s.is_stateful else effect.may())]


def check_file_range(s: RestartContext, part: Range, phase: FailsAt) -> Verdict | None:
    """The log entries of batch N, which Spark reads again when the two offsets differ; None when they are
    there."""
    end, log = log_id(part.end_text), s.file_logs.get(part.key)
    start = log_id(part.start_text) if part.start_text is not None else -1
    if (
        end is None
        or start is None
        or part.end is None
        or not s.kind(part.key).has_own_log
        or not part.differs
    ):
        return None
    if end < start:
        why = say("forecast_steps.source_offset_back", key=part.key, start=start, end=end)
        return failed(
            s, "source_offset_backwards", "SOURCE_OFFSET_BACKWARDS", why, part.end.evidence, fails_at=phase
        )
    newest_id = s.newest_log_id(part.key)
    if newest_id >= end:
        return check_paths(s, part, start, end, phase)
    first = start + 1
    path = f"{_directory(log, part)}/{end}"
    # Of a range that is there in part Spark names what is missing, with the newest entry before it.
    error = "source_log_end_missing" if newest_id < first else "source_log_ends_missing"
    details = {"id": first, "ids": ids_written(max(newest_id, first), end), "start": first, "end": end}
    why = say("forecast_steps.source_log_end", path=path, at=str(part.end.evidence))
    return failed(
        s,
        error,
        "SOURCE_LOG_END_MISSING",
        why,
        Evidence(path),
        part.end.evidence,
        details=details,
        fails_at=phase,
    )


def check_file_plan(s: RestartContext, part: Range) -> Verdict:
    """How a file source goes on from offsets/N: what a log means that ends before or after it."""
    log, end = s.file_logs.get(part.key), log_id(part.end_text)
    if end is None or part.end is None:
        return Verdict()
    newest_id, directory = s.newest_log_id(part.key), _directory(log, part)
    stale = _stale_checksum(s, log, directory)
    if stale is not None:
        return stale if not s.runs_again else Verdict(then=say("forecast.then_fails", why=stale.why))
    if newest_id < end - 1 and not part.differs:
        where = _where(directory, newest_id, end, part.end.evidence)
        why = say("forecast.log_behind_fails", where=where)
        evidence = (Evidence(directory), part.end.evidence)
        if s.runs_again:  # batch N reads nothing of this source
            then = say("forecast.then_fails", why=why)
            return Verdict(then=then, risks=(Risk("SOURCE_LOG_BEHIND", then, evidence, EXACT),))
        return failed(s, "source_offset_backwards", "SOURCE_LOG_BEHIND", why, *evidence)
    if newest_id > end and not s.checkpoint.is_async:
        refused = None if s.runs_again else check_paths(s, part, end, newest_id, "batch")
        if refused is not None:
            return refused
        return _log_ahead(s, directory, newest_id, end, part.end.evidence, differs=part.differs)
    return Verdict()


def _stale_checksum(s: RestartContext, log: CompactibleLog | None, directory: str) -> Verdict | None:
    """A checksum side file without its entry, under the name of the next one (local file system only): the
    entry is written while the next batch is planned, before its offsets."""
    if log is None or not s.is_local or s.query.new_data == "no":
        return None
    name = log.path_of((-1 if log.newest_id is None else log.newest_id) + 1).rpartition("/")[2]
    if name not in log.checksums:
        return None
    path, entry = f"{directory}/.{name}.crc", f"{directory}/{name}"
    why = say("forecast_steps.stale_source_checksum", path=path, entry=entry)
    return failed(
        s,
        "stale_crc",
        "STALE_CHECKSUM_FILE",
        why,
        Evidence(path),
        details={"directory": f"{s.location}/{directory}"},
    )


def lost_entry(s: RestartContext, part: Range) -> tuple[Risk, ...]:
    """The risk of a log without its last entry that no range asks for: batch N read nothing."""
    end, newest_id = log_id(part.end_text), s.newest_log_id(part.key)
    if end is None or part.end is None or part.differs or newest_id != end - 1:
        return ()
    at, directory = part.end.evidence, _directory(s.file_logs.get(part.key), part)
    sentence = say("forecast.log_behind_risk", where=_where(directory, newest_id, end, at), end=end)
    return (Risk("SOURCE_LOG_BEHIND", sentence, (Evidence(directory), at), UNKNOWN, "needs_input"),)


def _where(directory: str, newest_id: int, end: int, at: Evidence) -> Sentence:
    if newest_id < 0:
        return say("forecast.log_empty", directory=directory, at=str(at), end=end)
    return say("forecast.log_behind", directory=directory, newest=newest_id, at=str(at), end=end)


def _log_ahead(
    s: RestartContext, directory: str, newest_id: int, end: int, at: Evidence, *, differs: bool
) -> Verdict:
    ahead, newest = newest_id - end, Evidence(f"{directory}/{newest_id}")
    proof = rewind_marks(s)
    if ahead == 1 and not proof:
        # A crash between the two writes leaves exactly this; so does going back by one batch by hand. The
        # files cannot tell.
        note = say("forecast.log_one_ahead", entry=str(newest))
        sentence = say("forecast.log_one_ahead_risk", entry=str(newest))
        # A committed batch whose offset of this source alone was set back by hand comes under a new id.
        effect = DataEffect("unknown", "exact" if differs or s.runs_again else "unknown", "unknown")
        return Verdict(
            note=note,
            evidence=(newest,),
            risks=(Risk("SOURCE_LOG_ONE_AHEAD", sentence, (newest, at), effect, "needs_input", "note"),),
        )
    sentence = (
        say("forecast.log_ahead_after", directory=directory, ahead=ahead, at=str(at))
        if s.runs_again
        else say("forecast.log_ahead", directory=directory, ahead=ahead, at=str(at), batch_id=s.first_batch)
    )
    skip: Effect = "exact" if s.query.new_data == "no" else "loss"
    # An overwriting sink keeps what the later old batches wrote; a skipping one ignores the merged batch with
    # its new rows.
    effect = DataEffect("duplicates", "duplicates" if ahead > 1 else "exact", skip)
    effect = effect.may(_not_sure_of_ahead(s, ahead))
    return Verdict(evidence=(at,), risks=(Risk("SOURCE_LOG_AHEAD", sentence, (newest, at, *proof), effect),))


def _not_sure_of_ahead(s: RestartContext, ahead: int) -> tuple[SinkKind, ...]:
    """Of the batches that were rolled back each but the last was committed before the next one was planned;
    what a stateful one handed out is not known. A sink that overwrites is right again once the new ids reach
    the old ones."""
    if ahead == 1 or s.is_stateful:
        return SINK_KINDS
    if s.c is not None and s.n is not None and s.c > s.n:
        return (
            "overwrite",
            "skip",
        )  # the batch that meets a commit fails first; the start after that skips it
    return ("overwrite",) if s.query.new_data == "yes" else ("overwrite", "skip")


def rewind_marks(s: RestartContext) -> tuple[Evidence, ...]:
    """Files that only a batch after N can have left: checksum files of removed log entries, state of later
    versions."""
    if s.n is None:
        return ()
    stale = [("offsets", s.offset_checksums), ("commits", s.commit_checksums)]
    marks = [Evidence(f"{log}/.{i}.crc") for log, ids in stale for i in sorted(ids) if i > s.n]
    return tuple(marks[:1]) + s.later_state


def rolled_back(s: RestartContext, later: tuple[Evidence, ...]) -> Risk:
    """Offsets and commits were rolled back, and the sources know nothing of it: the same rows are planned
    again, cut into the same batches or, without a limit per trigger, into one."""
    sentence = say("forecast.set_back", path=str(later[0]), batch_id=s.n)
    return Risk("SET_BACK", sentence, later, DataEffect("duplicates", "duplicates", "loss").may())


def _directory(log: CompactibleLog | None, part: Range) -> str:
    return log.directory if log is not None else f"sources/{part.key}"
