"""What a forecast says: what Spark does, with which batch, how much that is, and what the sinks see."""

from __future__ import annotations

from core.analysis.forecast.beside import open_number
from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.input_files import planned_files
from core.analysis.forecast.model import DataEffect, FailsAt, SparkError
from core.analysis.forecast.ranges import log_id, ranges, start_id
from core.analysis.forecast.start import StepResults
from core.analysis.forecast.upgrade import forgotten_settings
from core.checkpoint.sources.base import Advance, SourceKind
from core.messages import Sentence, say, words
from core.sparklogs.evidence import Evidence


def resume_sentence(s: RestartContext, results: StepResults) -> Sentence:
    """Every planned batch is committed: the next batch is a new one."""
    newest, batch_id = s.n, s.first_batch
    if s.checkpoint.is_async:
        return say("forecast.resume_async", newest=newest)
    if s.nothing_runs:
        return say("forecast.resume_idle", batch_id=batch_id)
    is_known = s.query.new_data == "yes" or s.has_unplanned_files or s.has_other_offsets
    if not is_known and any(risk.id == "SOURCE_LOG_INCOMPLETE" for risk in results.risks):
        return say("forecast.resume_with_forgotten", batch_id=batch_id, newest=newest)
    return say(
        "forecast.resume" if is_known else "forecast.resume_with_data", batch_id=batch_id, newest=newest
    )


def rerun_sentences(s: RestartContext) -> tuple[Sentence, ...]:
    """Batch N again: its number, its size, that the sink may see the id a second time, unless it was asked
    and says so itself, and what is left out."""
    amount = amounts(s)
    is_told = s.sink is not None and s.sink.has_log and s.sink.certainty != "needs_input"
    if amount:
        rerun = say(
            "forecast.rerun_amount_told" if is_told else "forecast.rerun_amount", batch_id=s.n, amount=amount
        )
    else:
        rerun = say("forecast.rerun_told" if is_told else "forecast.rerun", batch_id=s.n)
    if s.c is None or s.n is None or s.c >= s.n - 1 or s.checkpoint.is_async:
        return (rerun,)
    left_out = list(range(s.c + 1, s.n))
    return (rerun, say("forecast.left_out", ids=left_out, count=len(left_out)))


def unless_stateful(s: RestartContext) -> tuple[Sentence, ...]:
    """What happens instead when state is missing that no file shows: all of it, where the query is likely to
    keep some or its directory may have been removed, or that of an operator."""
    if not s.first_batch:
        return ()
    if s.lacks_suggested_state:
        return (say("forecast.unless_stateful"),)
    if s.may_lack_state:
        return (say("forecast.unless_state_removed"),)
    return (say("forecast.unless_operator_removed"),) if s.may_lack_an_operator else ()


def scratch_sentence(results: StepResults) -> Sentence:
    """Batch 0, from scratch."""
    is_used = any(risk.certainty == "certain" for risk in results.risks)
    return say("forecast.scratch_used" if is_used else "forecast.scratch")


def fail_sentences(s: RestartContext, results: StepResults) -> tuple[Sentence, ...]:
    """That it fails, when, why, and what the sink gets before."""
    failure = results.failure
    assert failure is not None
    if failure.batch_id is not None:
        return (_behind_skipped(s, failure.batch_id, failure.why), say("forecast.no_rows"))
    return (_failure(s, results.fails_at, failure.why), _delivered(s, failure.delivered))


def _behind_skipped(s: RestartContext, batch_id: int, why: str) -> Sentence:
    """That the first batch that the sink does not skip fails."""
    is_known = s.query.new_data == "yes" or s.has_other_offsets
    return say(
        "forecast.fail_behind_skipped" if is_known else "forecast.fail_behind_skipped_with_data",
        pending=s.n,
        batch_id=batch_id,
        why=why,
    )


def _failure(s: RestartContext, fails_at: FailsAt | None, why: str) -> Sentence:
    if fails_at == "start":
        return say("forecast.fail_start", why=why)
    if s.runs_again:
        return say("forecast.fail_rerun", batch_id=s.first_batch, why=why)
    if s.from_scratch:
        return say("forecast.fail_scratch", why=why)
    is_known = s.query.new_data == "yes" or s.has_other_offsets
    return say(
        "forecast.fail_batch" if is_known else "forecast.fail_batch_with_data",
        batch_id=s.first_batch,
        why=why,
    )


def _delivered(s: RestartContext, effect: DataEffect) -> Sentence:
    if effect.is_exact:
        return say("forecast.no_rows")
    if s.sink is not None and s.sink.has_log:  # what this sink does with the batch, instead of any
        return say("forecast.handed_to_sink", sink=s.sink.sentence)
    return say("forecast.rows_before" if effect.is_sure("append") else "forecast.rows_maybe_before")


def because(s: RestartContext, results: StepResults) -> tuple[str, tuple[Evidence, ...]]:
    """The short proof behind the sentence, and its files."""
    if results.failure is not None:
        return (_named(results.failure.error), results.failure.evidence)
    if s.from_scratch or s.n is None:
        return (say("forecast.because_empty"), (Evidence("offsets"), Evidence("commits")))
    offset = Evidence(s.checkpoint.offset_files[s.n].path)
    if s.runs_again:
        if s.n in s.checkpoint.commit_files:
            return (
                say("forecast.because_commits_ahead", commit=s.c, offset=s.n),
                (offset, Evidence(f"commits/{s.c}")),
            )
        return (say("forecast.because_uncommitted", batch_id=s.n), (offset, Evidence("commits")))
    commit = Evidence(s.checkpoint.commit_files[s.n].path)
    return (say("forecast.because_committed", batch_id=s.n), (offset, commit))


def _named(error: SparkError | None) -> str:
    if error is None:
        return ""
    name = error.condition or error.error_class or ""
    if not name and not error.message:
        return say("forecast.error_open")
    return say("forecast.error", name=name, message=error.message) if error.message else name


def amounts(s: RestartContext) -> str:
    """How much batch N holds, per source: "orders: 18,422 offsets on 12 partitions"."""
    parts = []
    for source in s.checkpoint.sources:
        advance = _advance(s, source.key, source.kind)
        if advance is None or advance.amount is None:
            continue
        names = list(advance.by_partition)
        amount = words.amount(advance.amount, advance.unit)
        if advance.bound == "estimate":
            amount = say("forecast.amount_about", amount=amount)
        if len(names) > 1:
            amount = say("forecast.amount_on_partitions", amount=amount, partitions=len(names))
        label = _label(source.kind.label, source.key, names, len(s.checkpoint.sources))
        parts.append(amount if label is None else say("forecast.amount_of", label=label, amount=amount))
    return "; ".join(parts)


def _advance(s: RestartContext, key: str, kind: SourceKind) -> Advance | None:
    """How far a source moves in batch N. For a file source only the log entries of this batch are read, not
    its whole log."""
    if s.n is None:
        return None
    if not kind.has_own_log:
        return s.checkpoint.advance(s.n, key)
    part = next((part for part in ranges(s) if part.key == key), None)
    end = log_id(part.end_text) if part is not None else None
    if part is None or end is None:
        return None
    files = planned_files(s, part, start_id(part), end) if part.differs else ()
    return Advance(len(files), "files", "exact") if files is not None else None


def _label(kind: str, key: str, names: list[str], sources: int) -> Sentence | None:
    """The topics of a Kafka source, else the key and kind when there are several sources."""
    topics = sorted(
        {name.rsplit("-", 1)[0] for name in names if "-" in name and name.rsplit("-", 1)[1].isdigit()}
    )
    if topics:
        return say("forecast.topics_label", topics=topics)
    return say("forecast.source_label", key=key, kind=kind) if sources > 1 else None


def what_then(s: RestartContext, results: StepResults) -> str | None:
    """What is known to stop a later batch, or what a failed start leaves behind."""
    if results.failure is not None and results.failure.then:
        return results.failure.then
    if results.failure is not None and results.fails_at == "batch" and not s.is_writer and not s.runs_again:
        forgotten = forgotten_settings(s)
        if forgotten:
            return say("forecast.then_spoiled", batch_id=s.first_batch, spark=s.version, keys=forgotten)
    return results.then[0] if results.then else None


def not_checked(s: RestartContext, results: StepResults) -> tuple[str, ...]:
    """What this answer could not look at, most important first."""
    continuous = [say("forecast.open_continuous")] if s.checkpoint.is_continuous else []
    open_ends = [*continuous, *open_number(s), *results.not_checked]
    if s.query.operators is None and s.is_stateful:
        open_ends.append(say("forecast.open_operators"))
    open_ends.append(say("forecast.open_code"))
    if s.sink is not None and not s.sink.has_log:
        open_ends.append(say("forecast.open_sink_no_log", url=s.sink.url))
    elif s.sink is None:
        trouble = s.connectors.troubles.get("sink")
        open_ends.append(
            say("forecast.open_sink_because", reason=trouble) if trouble else say("forecast.open_sink")
        )
    return tuple(dict.fromkeys(open_ends))


def sink_sentence(s: RestartContext, results: StepResults) -> tuple[str, ...]:
    """What the sink holds, for the end of the sentence; nothing when it was not asked, or when no batch gets
    to it."""
    if s.sink is None or not s.sink.has_log or results.failure is not None:
        return ()
    return (s.sink.sentence,)
