"""The source steps: logs of file sources, the range of batch N asked again, the plan of the next batch, the
commit at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Literal

from core.analysis.forecast.context import Range, RestartContext, Verdict, failed
from core.analysis.forecast.delta_source import check_delta_plan, check_delta_range
from core.analysis.forecast.input_files import check_inputs
from core.analysis.forecast.kafka_source import (
    broker_of,
    check_next,
    check_planned,
    repair_of_plan,
    why_not_asked,
)
from core.analysis.forecast.model import EXACT, UNKNOWN, DataEffect, Effect, FailsAt, Risk
from core.analysis.forecast.sink import sink_risks
from core.analysis.forecast.versions import V40
from core.checkpoint.model import OffsetEntry
from core.checkpoint.sources.base import Asks
from core.checkpoint.sources.files import FILES
from core.checkpoint.sources.forms import parse
from core.checkpoint.sources.kafka import topics_of
from core.messages import say
from core.sparklogs.budget import ids_written
from core.sparklogs.compactible import CompactibleLog
from core.sparklogs.evidence import Evidence
from core.sparklogs.json_text import is_broken, json_trouble

LAST_BATCH_TWICE = DataEffect("duplicates", "duplicates", "duplicates")
DEFAULT_COMPACT_INTERVAL = 10


def ranges(s: RestartContext) -> Iterator[Range]:
    """The range of batch N per source that either of the two entries knows."""
    newest, before = s.newest, s.offset_entry(s.previous)
    if newest is None:
        return
    for key in dict.fromkeys([o.key for e in (newest, before) if e is not None for o in e.sources]):
        yield Range(key, before.source(key) if before is not None else None, newest.source(key))


def log_id(text: str | None) -> int | None:
    """The log id in a file source's offset text; None for another kind of source, or without an offset."""
    return None if text is None else FILES.value(parse(text))


def start_id(part: Range) -> int:
    """The log id after which the batch reads; -1 for the beginning."""
    start = log_id(part.start_text)
    return -1 if start is None else start


def check_source_logs(s: RestartContext) -> Verdict:
    """A gap between the last compact file and the newest entry of a file source's log stops the query, also
    with no offset at all."""
    for log in s.file_logs.values():
        if log.missing:
            return _gap(s, log)
    if not s.file_logs:
        return Verdict("does_not_apply", note=say("forecast_steps.no_source_logs"))
    return Verdict(
        evidence=tuple(
            Evidence(log.newest_path) for log in s.file_logs.values() if log.newest_path is not None
        )
    )


def _gap(s: RestartContext, log: CompactibleLog) -> Verdict:
    interval = log.interval or DEFAULT_COMPACT_INTERVAL
    # Ids that a lost compact file held are all "missing"; Spark looks for the newest compact file first.
    compacts = [i for i in log.missing if (i + 1) % interval == 0]
    path = f"{log.directory}/{compacts[-1]}.compact" if compacts else f"{log.directory}/{log.missing[0]}"
    why = say("forecast_steps.source_log_gap", path=path, newest=log.newest_id)
    details = {"file": f"{s.location}/{path}", "latest": log.newest_id, "interval": interval}
    return failed(s, "source_log_gap", "SOURCE_LOG_GAP", why, Evidence(path), details=details)


def check_ranges(s: RestartContext) -> Verdict:
    """Spark asks its sources for the range N-1..N again when the two offsets differ, also when batch N is
    committed."""
    newest = s.newest
    if newest is None:
        return Verdict("cannot_be_judged", note=say("forecast_steps.no_newest_offsets"))
    phase: FailsAt = "batch" if s.runs_again else "start"
    risks: list[Risk] = []
    not_checked: list[str] = []
    for part in ranges(s):
        verdict = _broken_line(s, part, phase)
        if verdict is not None:
            return verdict
        if part.end_text is None:
            risks.append(_no_offset(s, part, newest))
            continue
        failure = _file_range(s, part, phase)
        if failure is not None:
            return failure
        if s.kind(part.key).asks == "table":
            verdict = check_delta_range(s, part, phase)
            if verdict.ok is False:
                return verdict
            risks += verdict.risks
            not_checked += verdict.not_checked
            if part.differs and part.key not in s.connectors.tables:
                first = s.previous if s.previous is not None else s.n
                not_checked.append(say("forecast.open_delta_log", key=part.key, batch_id=first))
    return Verdict(evidence=(newest.evidence,), risks=tuple(risks), not_checked=tuple(not_checked))


def _broken_line(s: RestartContext, part: Range, phase: FailsAt) -> Verdict | None:
    """An offset that is no JSON is met when it is used.

    File and Delta sources are asked for the range N-1..N at start; Kafka only for what comes next, so of a
    committed batch the start does not matter, and the end is met while the next batch is planned.
    """
    is_late = s.kind(part.key).is_parsed_when_planned
    used = (part.end,) if is_late and not s.runs_again else (part.end, part.start)
    broken = next((o for o in used if o is not None and o.raw is not None and is_broken(o.raw)), None)
    if broken is None:
        return None
    why = say("forecast_steps.source_offset_json", key=part.key, at=str(broken.evidence))
    condition, _ = json_trouble(broken.raw or "")
    error = "kafka_line_bad" if is_late else "json_cut" if condition == "truncated" else "json_bad"
    details = {"text": broken.raw}
    fails_at: FailsAt = "batch" if is_late else phase
    return failed(
        s, error, "SOURCE_OFFSET_UNREADABLE", why, broken.evidence, details=details, fails_at=fails_at
    )


def _file_range(s: RestartContext, part: Range, phase: FailsAt) -> Verdict | None:
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
    if _newest_id(log) >= end:
        return None
    first = start + 1  # Spark names the whole range, also the entries that are there
    path = f"{_directory(log, part)}/{end}"
    error = "source_log_end_missing" if first == end else "source_log_ends_missing"
    details = {"id": first, "ids": ids_written(first, end), "start": first, "end": end}
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


def _no_offset(s: RestartContext, part: Range, newest: OffsetEntry) -> Risk:
    """``-``, or no line for a source that the entry before knows."""
    at = part.end.evidence if part.end is not None else newest.evidence
    scratch = _scratch(s, part)
    text, key = str(at), part.key
    if not s.runs_again and part.start_text is None:
        sentence, effect = say("forecast.no_offset", at=text, key=key), scratch
    elif not s.runs_again:
        sentence = say("forecast.no_offset_committed", at=text, key=key, previous=s.previous, batch_id=s.n)
        effect = LAST_BATCH_TWICE
    elif s.version < V40:
        sentence = say("forecast.no_offset_pending_old", at=text, key=key, batch_id=s.n, previous=s.previous)
        effect = DataEffect("duplicates", "exact", "duplicates")
    else:
        sentence, effect = say("forecast.no_offset_pending", at=text, key=key, batch_id=s.n), scratch
    return Risk("SOURCE_WITHOUT_OFFSET", sentence, (at,), effect)


def _scratch(s: RestartContext, part: Range) -> DataEffect:
    """A source that has never had an offset repeats nothing by starting from scratch."""
    log = s.file_logs.get(part.key)
    if part.start_text is None and (log is None or log.newest_id is None):
        return EXACT
    return LAST_BATCH_TWICE


def check_plan(s: RestartContext) -> Verdict:
    """How each source resumes from offsets/N: what a source log ahead or behind means, and Kafka's own checks
    while planning."""
    risks: list[Risk] = []
    not_checked: list[str] = []
    notes: list[str] = []
    then: str | None = None
    for part in ranges(s):
        kind = s.kind(part.key)
        if kind.asks is None:
            continue
        verdict = _PLANS[kind.asks](s, part)
        if verdict.ok is False:
            return verdict
        if s.runs_again and kind.has_own_log and part.differs:
            inputs = check_inputs(s, part, start_id(part), log_id(part.end_text) or 0)
            risks += inputs.risks
            not_checked += inputs.not_checked
        risks += verdict.risks
        not_checked += verdict.not_checked
        notes += [verdict.note] if verdict.note else []
        then = then or verdict.then
    if s.later_state and not any(risk.id == "SOURCE_LOG_AHEAD" for risk in risks):
        risks.append(_set_back(s))
    return _stale_checksum(s, "offsets") or Verdict(
        note="; ".join(notes), risks=tuple(risks), not_checked=tuple(dict.fromkeys(not_checked)), then=then
    )


def _file_plan(s: RestartContext, part: Range) -> Verdict:
    log, end = s.file_logs.get(part.key), log_id(part.end_text)
    if end is None or part.end is None:
        return Verdict()
    newest_id, directory = _newest_id(log), _directory(log, part)
    if newest_id < end and not part.differs:
        return _log_behind(s, directory, newest_id, end, part.end.evidence)
    if newest_id > end and not s.checkpoint.is_async:
        return _log_ahead(s, directory, newest_id, end, part.end.evidence)
    return Verdict()


def _log_behind(s: RestartContext, directory: str, newest_id: int, end: int, at: Evidence) -> Verdict:
    where = (
        say("forecast.log_behind", directory=directory, newest=newest_id, at=str(at), end=end)
        if newest_id >= 0
        else say("forecast.log_empty", directory=directory, at=str(at), end=end)
    )
    if newest_id < end - 1:
        why = say("forecast.log_behind_fails", where=where)
        return failed(s, "source_offset_backwards", "SOURCE_LOG_BEHIND", why, Evidence(directory), at)
    sentence = say("forecast.log_behind_risk", where=where, end=end)
    return Verdict(
        evidence=(at,),
        risks=(Risk("SOURCE_LOG_BEHIND", sentence, (Evidence(directory), at), UNKNOWN, "needs_input"),),
    )


def _log_ahead(s: RestartContext, directory: str, newest_id: int, end: int, at: Evidence) -> Verdict:
    ahead, newest = newest_id - end, Evidence(f"{directory}/{newest_id}")
    proof = rewind_marks(s)
    if ahead == 1 and not proof:
        # A crash between the two writes leaves exactly this; so does going back by one batch by hand. The
        # files cannot tell.
        note = say("forecast.log_one_ahead", entry=str(newest))
        sentence = say("forecast.log_one_ahead_risk", entry=str(newest))
        effect = DataEffect("unknown", "exact", "unknown")
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
    return Verdict(evidence=(at,), risks=(Risk("SOURCE_LOG_AHEAD", sentence, (newest, at, *proof), effect),))


def rewind_marks(s: RestartContext) -> tuple[Evidence, ...]:
    """Files that only a batch after N can have left: checksum files of removed log entries, state of later
    versions."""
    if s.n is None:
        return ()
    stale = [("offsets", s.offset_checksums), ("commits", s.commit_checksums)]
    marks = [Evidence(f"{log}/.{i}.crc") for log, ids in stale for i in sorted(ids) if i > s.n]
    return tuple(marks[:1]) + s.later_state


def _set_back(s: RestartContext) -> Risk:
    """Sources without a log of their own cut the same batches again; only a sink that appends notices."""
    sentence = say("forecast.set_back", path=str(s.later_state[0]), batch_id=s.n)
    return Risk("SET_BACK", sentence, s.later_state, DataEffect(append="duplicates"))


def _kafka_plan(s: RestartContext, part: Range) -> Verdict:
    answer, not_checked, risks = broker_of(s, part.key), list[str](), list[Risk]()
    if answer is None:
        reason = why_not_asked(s, part.key)
        not_checked.append(
            say("forecast_kafka.broker_not_asked", key=part.key)
            if reason is None
            else say("forecast_kafka.broker_not_asked_because", key=part.key, reason=reason)
        )
    if s.runs_again:
        left = _failed_plan(s, part)
        if left.ok is False:
            return left if answer is None else replace(left, then=repair_of_plan(s, part, answer))
        risks += [*left.risks, *(_initial_offsets(s, part) if s.n == 0 else ())]
        planned = check_planned(s, part, answer) if answer is not None and not left.risks else Verdict()
        if planned.ok is False:
            return planned
        risks += planned.risks
        not_checked += planned.not_checked
    topics = topics_of(parse(part.end_text)) if part.end_text is not None else None
    wanted = s.query.topics.get(part.key)
    if wanted is None:
        not_checked.append(say("forecast.open_subscription", key=part.key))
    coming = (
        check_next(s, part, answer, wanted)
        if answer is not None
        else _removed_topics(s, part, topics, wanted)
    )
    not_checked += coming.not_checked
    if coming.ok is False and not s.runs_again:
        return replace(coming, not_checked=tuple(not_checked))
    if coming.ok is False:
        then = say("forecast.then_fails", why=coming.why)
        return Verdict(not_checked=tuple(not_checked), risks=tuple(risks), then=then)
    known = {risk.id for risk in risks}
    risks += [risk for risk in coming.risks if risk.id not in known]
    return Verdict(not_checked=tuple(not_checked), risks=tuple(risks))


def _removed_topics(
    s: RestartContext,
    part: Range,
    topics: Mapping[str, Mapping[int, int]] | None,
    wanted: tuple[str, ...] | None,
) -> Verdict:
    """What the subscription alone tells, without a broker."""
    if topics is None or wanted is None or part.end is None:
        return Verdict()
    removed = [f"{topic}-{p}" for topic, ps in topics.items() if topic not in wanted for p in ps]
    added = [topic for topic in wanted if topic not in topics]
    not_checked = (
        (say("forecast.open_new_topics", topics=added, key=part.key, count=len(added)),) if added else ()
    )
    if not removed or not s.query.fail_on_data_loss:
        return Verdict(not_checked=not_checked)
    why = say("forecast_steps.topics_removed", at=str(part.end.evidence), partitions=removed)
    details = {"partitions": ", ".join(removed)}
    failure = failed(
        s, "kafka_partitions_deleted", "KAFKA_TOPIC_REMOVED", why, part.end.evidence, details=details
    )
    return replace(failure, not_checked=not_checked)


def _failed_plan(s: RestartContext, part: Range) -> Verdict:
    """A batch that failed while Kafka planned it has left its plan: partitions missing, or an end below the
    start."""
    before = topics_of(parse(part.start_text)) if part.start_text is not None else None
    after = topics_of(parse(part.end_text)) if part.end_text is not None else None
    if before is None or after is None or part.end is None:
        return Verdict()
    positions = [
        (t, p, start, after.get(t, {}).get(p)) for t, ps in before.items() for p, start in ps.items()
    ]
    gone = [f"{t}-{p}" for t, p, _, end in positions if end is None]
    lower = [(f"{t}-{p}", start, end) for t, p, start, end in positions if end is not None and end < start]
    at = part.end.evidence
    if lower:
        name, start, end = lower[0]
        why = say("forecast_steps.plan_back", at=str(at), partition=name, start=start, end=end)
        verdict = failed(
            s,
            "kafka_offset_changed",
            "FAILED_PLAN_LEFT",
            why,
            at,
            details={"partition": name, "before": start, "after": end},
        )
    elif gone:
        why = say("forecast_steps.plan_partitions_gone", at=str(at), partitions=gone, previous=s.previous)
        verdict = failed(
            s,
            "kafka_partitions_deleted",
            "FAILED_PLAN_LEFT",
            why,
            at,
            details={"partitions": ", ".join(gone)},
        )
    else:
        return Verdict()
    if s.query.fail_on_data_loss:
        return verdict
    return Verdict(
        risks=(Risk("FAILED_PLAN_LEFT", say("forecast.failed_plan_without_check", why=why), (at,), UNKNOWN),)
    )


def _initial_offsets(s: RestartContext, part: Range) -> tuple[Risk, ...]:
    """``sources/<n>/0`` counts only while batch 0 is not committed; missing, Spark writes it from today's
    startingOffsets."""
    source = s.checkpoint.source(part.key)
    if source is None or source.context.initial is not None:
        return ()
    path = f"{source.directory or f'sources/{part.key}'}/0"
    sentence = say("forecast.kafka_start_lost", path=path)
    return (Risk("KAFKA_START_LOST", sentence, (Evidence(path),), UNKNOWN, "needs_input"),)


def check_commit(s: RestartContext) -> Verdict:
    """The end of the first batch: what the sink does with its id, and its commit, which must not be there
    yet."""
    verdict = _check_commit(s)
    return replace(verdict, risks=(*verdict.risks, *sink_risks(s.sink)))


def _check_commit(s: RestartContext) -> Verdict:
    batch, commits = s.first_batch, s.checkpoint.commit_files
    if batch in commits:
        why = say("forecast_steps.commit_exists", batch_id=batch, commit=max(commits), offset=s.n)
        evidence = (Evidence(commits[batch].path), Evidence("offsets"))
        skipped = s.sink is not None and s.sink.pending == "skipped"
        again = say("forecast.then_each_start_skipped") if skipped else say("forecast.then_each_start")
        twice = DataEffect(append="duplicates")
        return failed(
            s,
            "commit_exists",
            "COMMIT_AHEAD",
            why,
            *evidence,
            details={"batch": batch},
            delivered=twice,
            then=again,
        )
    stale = _stale_checksum(s, "commits")
    if stale is not None:
        return stale
    if s.c is not None and s.n is not None and s.c > s.n and batch + 1 in commits:
        then = say("forecast.then_commit_exists", batch_id=batch + 1)
        sentence = say("forecast.commit_ahead", commit=s.c, offset=s.n, then=then)
        risk = Risk("COMMIT_AHEAD", sentence, (Evidence(commits[s.c].path),), EXACT)
        return Verdict(evidence=risk.evidence, then=then, risks=(risk,))
    return Verdict()


def _stale_checksum(s: RestartContext, log: Literal["offsets", "commits"]) -> Verdict | None:
    """A checksum side file whose log file was removed makes the write of that name fail (local file system
    only)."""
    batch = s.first_batch
    stale = s.offset_checksums if log == "offsets" else s.commit_checksums
    writes = log == "commits" or not s.runs_again
    if not writes or not s.is_local or batch not in stale:
        return None
    path = f"{log}/.{batch}.crc"
    why = say("forecast_steps.stale_checksum", path=path, log=log, batch_id=batch)
    delivered = DataEffect(append="duplicates") if s.runs_again else EXACT
    return failed(
        s,
        "stale_crc",
        "STALE_CHECKSUM_FILE",
        why,
        Evidence(path),
        details={"directory": f"{s.location}/{log}"},
        delivered=delivered,
    )


def _newest_id(log: CompactibleLog | None) -> int:
    return log.newest_id if log is not None and log.newest_id is not None else -1


def _directory(log: CompactibleLog | None, part: Range) -> str:
    return log.directory if log is not None else f"sources/{part.key}"


_PLANS: Mapping[Asks, Callable[[RestartContext, Range], Verdict]] = {
    "directory": _file_plan,
    "broker": _kafka_plan,
    "table": check_delta_plan,
}
