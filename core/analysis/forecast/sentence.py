"""The words of a forecast. One trustworthy sentence: what Spark does, with which batch, how much that is, and
what the sinks see."""

from __future__ import annotations

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.input_files import planned_files
from core.analysis.forecast.model import DataEffect, SparkError
from core.analysis.forecast.sources import log_id, ranges, start_id
from core.analysis.forecast.start import StepResults
from core.analysis.forecast.upgrade import SPOILS
from core.checkpoint.sources.base import Advance, SourceKind
from core.sparklogs.evidence import Evidence

CODE_STAYS_OPEN = (
    "the code of the query that starts next (a changed aggregate, window or key can give wrong numbers"
    " without an error)"
)
SINK_STAYS_OPEN = "the sink"


def resume_sentence(s: RestartContext) -> str:
    """Nothing is in doubt: the next batch is a new one."""
    assert s.n is not None
    if s.checkpoint.is_async:
        return (
            f"Spark will go on after batch {s.n}, the newest that was logged. Progress was tracked"
            f" asynchronously: batches after {s.n} that ran already are made again with other boundaries, and"
            " none of their rows is lost."
        )
    if s.query.new_data == "yes" or s.has_unplanned_files or s.has_other_offsets:
        return f"Spark will go on with batch {s.n + 1}, from the end of batch {s.n}."
    if s.nothing_runs:
        return f"Spark will run no batch until there is new data; the next one is batch {s.n + 1}."
    return f"Spark will go on with batch {s.n + 1} when there is new data, from the end of batch {s.n}."


def rerun_sentence(s: RestartContext) -> str:
    """Batch N again: its number, its size, and that the sink sees the id a second time."""
    amount = amounts(s)
    held = f" ({amount})" if amount else ""
    left_out = ""
    if s.c is not None and s.n is not None and s.c < s.n - 1 and not s.checkpoint.is_async:
        first, last = s.c + 1, s.n - 1
        span = f"Batch {first} is" if first == last else f"Batches {first} to {last} are"
        left_out = f" {span} not run again, although {'it has' if first == last else 'they have'} no commit."
    return (
        f"Spark will run batch {s.n} again, with the same end offsets{held}. The sink sees batch id {s.n} a"
        f" second time.{left_out}"
    )


def scratch_sentence(results: StepResults) -> str:
    """Batch 0, from scratch."""
    if results.risks:
        return (
            "Spark will start from scratch with batch 0, without an error: what the sources still have is"
            " read and delivered again."
        )
    return (
        "Spark will start from scratch with batch 0: no batch has been planned or committed in this"
        " checkpoint."
    )


def fail_sentence(s: RestartContext, results: StepResults) -> str:
    """That it fails, when, why, and what the user will read."""
    failure = results.failure
    assert failure is not None
    if results.fails_at == "start":
        head = "Spark will not start"
    elif s.runs_again:
        head = f"Spark will start and fail when it runs batch {s.first_batch} again"
    elif s.from_scratch:
        head = "Spark will start from scratch and fail in batch 0"
    else:
        when = "" if s.query.new_data == "yes" or s.has_other_offsets else ", as soon as there is new data"
        head = f"Spark will start and fail in batch {s.first_batch}{when}"
    return f"{head}: {failure.why}.{_delivered(s, failure.delivered)}"


def _delivered(s: RestartContext, effect: DataEffect) -> str:
    if effect.is_exact:
        return " The sink gets no rows."
    if s.sink is not None and s.sink.has_log:  # what this sink does with the batch, instead of any
        return f" The batch is handed to the sink before that. {s.sink.sentence}"
    return " The sink gets the rows of the batch before that; one that appends has them twice."


def because(s: RestartContext, results: StepResults) -> tuple[str, tuple[Evidence, ...]]:
    """The short proof behind the sentence, and its files."""
    if results.failure is not None:
        return (_named(results.failure.error), results.failure.evidence)
    if s.from_scratch or s.n is None:
        return ("offsets/ and commits/ hold no batch", (Evidence("offsets"), Evidence("commits")))
    offset = Evidence(s.checkpoint.offset_files[s.n].path)
    if s.runs_again:
        if s.n in s.checkpoint.commit_files:
            return (
                f"commits/ goes on to {s.c} while offsets/ ends at {s.n}",
                (offset, Evidence(f"commits/{s.c}")),
            )
        return (f"offsets/{s.n} has no commits/{s.n}", (offset, Evidence("commits")))
    return (f"offsets/{s.n} has its commits/{s.n}", (offset, Evidence(s.checkpoint.commit_files[s.n].path)))


def _named(error: SparkError | None) -> str:
    if error is None:
        return ""
    name = error.condition or error.error_class or ""
    return f"{name}: {error.message}" if error.message else name


def amounts(s: RestartContext) -> str:
    """How much batch N holds, per source: "orders: 18,422 offsets on 12 partitions"."""
    parts = []
    for source in s.checkpoint.sources:
        advance = _advance(s, source.key, source.kind)
        if advance is None or advance.amount is None:
            continue
        noun = advance.unit if advance.amount != 1 else advance.unit.removesuffix("s")
        names = list(advance.by_partition)
        on = f" on {len(names)} partitions" if len(names) > 1 else ""
        up_to = {"exact": "", "at_most": "", "estimate": "about "}[advance.bound]
        parts.append(
            f"{_label(source.kind.label, source.key, names, len(s.checkpoint.sources))}{up_to}{advance.amount:,}"
            f" {noun}{on}"
        )
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


def _label(kind: str, key: str, names: list[str], sources: int) -> str:
    """The topics of a Kafka source, else the key and kind when there are several sources."""
    topics = sorted(
        {name.rsplit("-", 1)[0] for name in names if "-" in name and name.rsplit("-", 1)[1].isdigit()}
    )
    if topics:
        return (
            ", ".join(topics[:3]) + (f" and {len(topics) - 3} more topics" if len(topics) > 3 else "") + ": "
        )
    return f"source {key} ({kind}): " if sources > 1 else ""


def what_then(s: RestartContext, results: StepResults) -> str | None:
    """What is known to stop a later batch, or what a failed start leaves behind."""
    if results.failure is not None and results.failure.then:
        return results.failure.then
    if results.failure is not None and results.fails_at == "batch" and not s.is_writer and not s.runs_again:
        return SPOILS.format(n=s.first_batch, spark=s.version)
    return results.then[0] if results.then else None


def not_checked(s: RestartContext, results: StepResults) -> tuple[str, ...]:
    """What this answer could not look at, most important first."""
    open_ends = list(results.not_checked)
    if s.query.operators is None and s.is_stateful:
        open_ends.append("whether the query still has the same stateful operators")
    open_ends.append(CODE_STAYS_OPEN)
    if s.sink is None or not s.sink.has_log:
        trouble = s.connectors.troubles.get("sink")
        open_ends.append(f"{SINK_STAYS_OPEN}: {trouble}" if trouble else SINK_STAYS_OPEN)
    return tuple(dict.fromkeys(open_ends))


def sink_sentence(s: RestartContext, results: StepResults) -> tuple[str, ...]:
    """What the sink holds, for the end of the sentence; nothing when it was not asked, or when no batch gets
    to it."""
    if s.sink is None or not s.sink.has_log or results.failure is not None:
        return ()
    return (s.sink.sentence,)
