"""The source steps: the range of batch N asked again, the plan of the next batch, the commit at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

from core.analysis.forecast.context import Range, RestartContext
from core.analysis.forecast.delta_source import check_delta_plan, check_delta_range
from core.analysis.forecast.initial_offsets import check_start_time
from core.analysis.forecast.input_files import check_inputs
from core.analysis.forecast.kafka_plan import failed_plan, new_and_missing
from core.analysis.forecast.kafka_positions import (
    named_twice,
    negative_position,
    negative_start,
    positions_lost,
    refused_positions,
    start_went_back,
)
from core.analysis.forecast.kafka_source import (
    broker_of,
    check_next,
    check_planned,
    read_again,
    repair_of_plan,
    why_not_asked,
)
from core.analysis.forecast.kafka_subscription import wanted_topics
from core.analysis.forecast.model import (
    EXACT,
    RUN_AGAIN,
    UNKNOWN,
    DataEffect,
    FailsAt,
    Risk,
    least_sure,
)
from core.analysis.forecast.offset_lines import (
    is_foreign_name,
    lost_name,
    no_offset,
    set_back,
    start_without_offset,
    without_one_ahead,
)
from core.analysis.forecast.put_away import batches_in_one, later_batches_beside
from core.analysis.forecast.ranges import log_id, ranges
from core.analysis.forecast.sink import no_sink_there, sink_risks, stopped_compaction
from core.analysis.forecast.source_logs import check_file_plan, check_file_range, lost_entry, rolled_back
from core.analysis.forecast.step_verdict import Verdict, failed
from core.checkpoint.sources.base import Asks
from core.checkpoint.sources.delta import DELTA
from core.checkpoint.sources.files import FILES
from core.checkpoint.sources.kafka import positions_read
from core.checkpoint.state import state_inventory
from core.connectors.answers import BrokerAnswer
from core.messages import Sentence, say
from core.sparklogs.evidence import Certainty, Evidence
from core.sparklogs.json_text import is_broken, json_trouble


def check_ranges(s: RestartContext) -> Verdict:
    """Spark asks its sources for the range N-1..N again when the two offsets differ, also when batch N is
    committed."""
    newest = s.newest
    if newest is None:
        return Verdict("cannot_be_judged", note=say("forecast_steps.no_newest_offsets"))
    phase: FailsAt = "batch" if s.runs_again else "start"
    risks: list[Risk] = []
    not_checked: list[str] = []
    is_open = False
    for part in ranges(s):
        verdict = _broken_line(s, part, phase)
        if verdict is not None:
            return verdict
        if part.end_text is None:
            risks += [risk] if (risk := no_offset(s, part, newest)) is not None else []
            continue
        if is_foreign_name(s, part):
            not_checked.append(say("forecast.open_name", key=part.key, at=str(newest.evidence)))
            continue
        risks += [risk] if (risk := start_without_offset(s, part)) is not None else []
        if s.has_untold_log(part.key):
            not_checked.append(say("forecast.open_untold_log", key=part.key, at=str(newest.evidence)))
        elif s.kind(part.key).has_own_log:
            failure = check_file_range(s, part, phase)
            if failure is not None:
                return failure
            risks += lost_entry(s, part)
        if s.kind(part.key).asks == "table":
            verdict = check_delta_range(s, part, phase)
            if verdict.ok is False:
                return verdict
            risks += verdict.risks
            not_checked += verdict.not_checked
            is_open = is_open or verdict.certainty == "needs_input"
            if part.differs and part.key not in s.connectors.tables:
                first = s.previous if s.previous is not None else s.n
                not_checked.append(say("forecast.open_delta_log", key=part.key, batch_id=first))
    lost = lost_name(s)
    risks += [lost] if lost is not None else []
    is_told = not any(s.has_untold_log(part.key) for part in ranges(s))
    return Verdict(
        evidence=(newest.evidence,),
        risks=tuple(risks),
        not_checked=tuple(not_checked),
        certainty="needs_input" if is_open else "certain" if is_told else "inferred",
    )


def _broken_line(s: RestartContext, part: Range, phase: FailsAt) -> Verdict | None:
    """An offset that is no JSON is met when it is used.

    File sources are asked for the range N-1..N at start; Kafka only for what comes next, so of a
    committed batch the start does not matter, and the end is met while the next batch is planned.
    """
    if s.kind(part.key).name == DELTA.name:
        return None  # Delta's own reader is asked with the range
    is_late = s.kind(part.key).is_parsed_when_planned
    used = (part.end,) if is_late and not s.runs_again else (part.end, part.start)
    broken = next((o for o in used if o is not None and o.raw is not None and is_broken(o.raw)), None)
    if broken is None:
        return _other_form(s, part, phase)
    why = say("forecast_steps.source_offset_json", key=part.key, at=str(broken.evidence))
    condition, _ = json_trouble(broken.raw or "")
    error = "kafka_line_bad" if is_late else "json_cut" if condition == "truncated" else "json_bad"
    details = {"text": broken.raw}
    fails_at: FailsAt = "batch" if is_late else phase
    return failed(
        s, error, "SOURCE_OFFSET_UNREADABLE", why, broken.evidence, details=details, fails_at=fails_at
    )


def _other_form(s: RestartContext, part: Range, phase: FailsAt) -> Verdict | None:
    """JSON without a whole number ``logOffset`` where a file source's offset stands, met when the range is
    asked for; or positions of Kafka that its reader refuses."""
    if s.kind(part.key).is_parsed_when_planned:
        return refused_positions(s, part)
    if s.kind(part.key).name != FILES.name or not (part.differs or s.runs_again):
        return None
    for line in (part.end, part.start):
        if line is not None and line.raw is not None and log_id(line.raw) is None:
            why = say("forecast_steps.source_offset_form", key=part.key, at=str(line.evidence))
            return failed(
                s, "source_offset_form", "SOURCE_OFFSET_UNREADABLE", why, line.evidence, fails_at=phase
            )
    return None


def check_plan(s: RestartContext) -> Verdict:
    """How each source resumes from offsets/N: what a source log ahead or behind means, and Kafka's own checks
    while planning."""
    risks: list[Risk] = []
    not_checked: list[str] = []
    notes: list[str] = []
    then: str | None = None
    sureness: Certainty = "certain"
    weaker = EXACT
    parts = tuple(ranges(s))
    for part in parts:
        kind = s.kind(part.key)
        if s.has_untold_log(part.key):
            weaker = weaker.plus(UNKNOWN) if s.runs_again else weaker  # its input files are not known either
            continue
        if kind.asks is None and not kind.may_count_from_a_start:
            continue
        verdict = check_start_time(s, part) if kind.asks is None else _PLANS[kind.asks](s, part)
        if verdict.ok is False:
            return verdict
        if kind.has_own_log:
            inputs = check_inputs(s.loading, part)
            risks += inputs.risks
            not_checked += inputs.not_checked
            weaker = weaker.plus(inputs.instead_of_exact)
        weaker = weaker.plus(verdict.instead_of_exact)
        risks += verdict.risks
        not_checked += verdict.not_checked
        notes += [verdict.note] if verdict.note else []
        then = then or verdict.then
        sureness = least_sure(sureness, verdict.certainty)
    by_hand = set_back(s, parts)
    if by_hand is not None:
        risks = [*without_one_ahead(risks), by_hand]
    elif s.newest is not None and not any(risk.id == "SOURCE_LOG_AHEAD" for risk in risks):
        beside, unseen = later_batches_beside(s)
        not_checked += unseen
        later = s.later_state or beside
        found = rolled_back(s, later) if later else batches_in_one(s, parts)
        risks += [found] if found is not None else []
    blocked = _blocked_by_checksum(s, "offsets", s.first_batch + 1) if s.hands_out else None
    if blocked is not None:
        then = then or say("forecast.then_fails", why=blocked)
    return _stale_checksum(s.loading, "offsets") or Verdict(
        note="; ".join(notes),
        risks=tuple(risks),
        not_checked=tuple(dict.fromkeys(not_checked)),
        then=then,
        certainty=sureness,
        instead_of_exact=weaker,
    )


def _kafka_plan(s: RestartContext, part: Range) -> Verdict:
    s = s.loading  # of a batch that the sink skips no position is looked at
    answer, not_checked, risks = broker_of(s, part.key), list[str](), list[Risk]()
    wanted = wanted_topics(s.query, part.key, answer)
    if answer is None:
        reason = why_not_asked(s, part.key)
        not_checked.append(
            say("forecast_kafka.broker_not_asked", key=part.key)
            if reason is None
            else say("forecast_kafka.broker_not_asked_because", key=part.key, reason=reason)
        )
    negative = negative_position(s, part)
    if s.runs_again:
        planned = _kafka_planned(s, part, answer, wanted)
        if planned.ok is False:
            return planned
        risks += planned.risks
        not_checked += planned.not_checked
    elif negative is not None:
        return negative
    risks += [*positions_lost(s, part, answer), *named_twice(s, part)]
    topics = positions_read(part.end_text) if part.end_text is not None else None
    if wanted is None:
        not_checked.append(say("forecast.open_subscription", key=part.key))
    coming = (
        negative
        if negative is not None
        else check_next(s, part, answer, wanted)
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
    # Records that expired behind the plan are others than those in it.
    risks += [risk for risk in coming.risks if risk.id not in known or risk.id == "KAFKA_RECORDS_EXPIRED"]
    return Verdict(not_checked=tuple(not_checked), risks=tuple(risks), certainty=coming.certainty)


def _kafka_planned(
    s: RestartContext, part: Range, answer: BrokerAnswer | None, wanted: tuple[str, ...] | None
) -> Verdict:
    """Planned batch N: what Spark looks at while it plans it again, then what its tasks meet."""
    missing = new_and_missing(s, part, answer, wanted)
    if missing.ok is False:
        return missing
    left = failed_plan(s, part, answer)
    if left.ok is False and (answer is None or s.previous is None):
        return left
    if left.ok is False and answer is not None:
        return replace(left, then=repair_of_plan(s, part, answer))
    negative = negative_start(s, part)
    if negative is not None:
        return negative
    risks = [*left.risks, *start_went_back(s, part), *(_initial_offsets(s, part) if s.n == 0 else ())]
    planned = check_planned(s, part, answer) if answer is not None and not left.risks else Verdict()
    return replace(planned, risks=(*risks, *planned.risks)) if planned.ok is not False else planned


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
    if not removed or not s.query.stops_on_loss(part.key):
        return Verdict(not_checked=not_checked, risks=tuple(read_again(s, part, added)))
    why = say("forecast_steps.topics_removed", at=str(part.end.evidence), partitions=removed)
    details = {"partitions": ", ".join(removed)}
    failure = failed(
        s, "kafka_partitions_deleted", "KAFKA_TOPIC_REMOVED", why, part.end.evidence, details=details
    )
    return replace(failure, not_checked=not_checked)


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
    if verdict.ok and (stopped := stopped_compaction(s)) is not None:
        verdict = stopped
    of_sink = (risk for risk in sink_risks(s.sink) if risk.id != verdict.reason)
    return replace(verdict, risks=(*verdict.risks, *of_sink, *no_sink_there(s)))


def _check_commit(s: RestartContext) -> Verdict:
    batch, commits = s.first_batch, s.checkpoint.commit_files
    if batch in commits:
        why = say("forecast_steps.commit_exists", batch_id=batch, commit=max(commits), offset=s.n)
        evidence = (Evidence(commits[batch].path), Evidence("offsets"))
        skipped = s.sink is not None and s.sink.pending == "skipped"
        again = say("forecast.then_each_start_skipped") if skipped else say("forecast.then_each_start")
        twice = s.handed_out_again("append")
        own = [part for part in ranges(s) if s.kind(part.key).has_own_log]
        if any(risk.id == "INPUT_GONE" for part in own for risk in check_inputs(s, part).risks):
            twice = twice.may()
        for part in ranges(s):
            found = start_without_offset(s, part)
            twice = twice if found is None else twice.plus(found.data)
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
    if s.c is not None and s.n is not None and s.c > s.n:
        return _commits_ahead(s, s.c, s.n, next(i for i in sorted(commits) if i > batch))
    return _commit_with_state_ids(s)


def _commit_with_state_ids(s: RestartContext) -> Verdict:
    """State checkpoint format 2: a commit names the state files that the tasks of its batch wrote. A sink
    that skips the batch starts no task, and the commit cannot be made, at any start (observed with the file
    sink of 4.3.0 and with Delta 4.4 on 4.2.0)."""
    partitions = _partitions_with_ids(s)
    if partitions is None:
        return Verdict()
    if s.sink is None and s.runs_again:
        open_end = say("forecast_steps.open_skipped_batch", batch_id=s.first_batch)
        return Verdict(not_checked=(open_end,))
    if s.sink is None or s.sink.pending != "skipped":
        return Verdict()
    at = Evidence(s.sink.url)
    return failed(
        s,
        "no_state_ids",
        "SKIPPED_BATCH_NEEDS_STATE",
        say("forecast_steps.skipped_batch_needs_state", batch_id=s.first_batch),
        at,
        details={"partitions": partitions},
        certainty=s.sink.certainty,
        then=say("forecast.then_each_start_alike"),
    )


def _partitions_with_ids(s: RestartContext) -> int | None:
    """The number of state partitions where the newest commit names their state files, or without a commit
    these have names with ids; None for any other."""
    entry = s.commit_entry(s.c)
    operators = entry.state_unique_ids if entry is not None else {}
    named = next((len(partitions) for partitions in operators.values()), None)
    if named is not None or entry is not None or not (s.with_state and s.checkpoint.has_state):
        return named
    found = state_inventory(s.checkpoint).operators
    return next((op.expected_partitions for op in found if op.format_version == 2), None)


def _commits_ahead(s: RestartContext, newest: int, offset: int, first: int) -> Verdict:
    """Commits after batch N, of which ``first`` is the next one that a batch meets: that batch is handed to
    the sink and fails. The start after that takes it as done."""
    then = (
        say("forecast.then_commit_exists", batch_id=first)
        if first == offset + 1
        else say("forecast.then_commit_exists_later", batch_id=first)
    )
    sentence = say("forecast.commit_ahead", commit=newest, offset=offset, then=then)
    # Lost offsets or foreign commits: only the first delivers rows again and lets a sink skip new ones.
    effect = DataEffect("duplicates", "exact", "loss").may()
    risk = Risk("COMMIT_AHEAD", sentence, (Evidence(s.checkpoint.commit_files[newest].path),), effect)
    is_far = s.query.new_data == "no" and first > s.first_batch + 2  # what is logged already makes one batch
    return Verdict(evidence=risk.evidence, then=None if is_far else then, risks=(risk,))


def _stale_checksum(s: RestartContext, log: Literal["offsets", "commits"]) -> Verdict | None:
    """A checksum side file of the first batch, where it writes that log file."""
    writes = log == "commits" or not s.runs_again
    why = _blocked_by_checksum(s, log, s.first_batch) if writes else None
    if why is None:
        return None
    delivered = RUN_AGAIN if s.runs_again else EXACT
    return failed(
        s,
        "stale_crc",
        "STALE_CHECKSUM_FILE",
        why,
        Evidence(f"{log}/.{s.first_batch}.crc"),
        details={"directory": f"{s.location}/{log}"},
        delivered=delivered,
    )


def _blocked_by_checksum(
    s: RestartContext, log: Literal["offsets", "commits"], batch: int
) -> Sentence | None:
    """A checksum side file whose log file was removed makes the write of that name fail (local file system
    only)."""
    stale = s.offset_checksums if log == "offsets" else s.commit_checksums
    if not s.is_local or batch not in stale:
        return None
    path = f"{log}/.{batch}.crc"
    return say("forecast_steps.stale_checksum", path=path, log=log, batch_id=batch)


_PLANS: Mapping[Asks, Callable[[RestartContext, Range], Verdict]] = {
    "directory": check_file_plan,
    "broker": _kafka_plan,
    "table": check_delta_plan,
}
