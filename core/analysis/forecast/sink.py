"""What the sink's own log means for the start: the concerns of a :class:`SinkState` as risks of the forecast,
and a log of a file sink that the next batch cannot be written to."""

from __future__ import annotations

from collections.abc import Mapping

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.model import DataEffect, Risk
from core.analysis.forecast.source_logs import compactible_log_error
from core.analysis.forecast.step_verdict import Verdict, failed
from core.connectors.model import ConcernKind, SinkState
from core.messages import say
from core.sparklogs.evidence import Certainty, Evidence

_RISKS: Mapping[ConcernKind, tuple[str, DataEffect, Certainty]] = {
    "ahead": ("SINK_AHEAD", DataEffect(skip="loss").may(), "certain"),
    "behind": ("SINK_BEHIND", DataEffect(skip="loss"), "certain"),
    "changed": ("SINK_CHANGED", DataEffect(skip="loss"), "inferred"),
    "forgotten": ("SINK_FORGOT_BATCH", DataEffect(skip="duplicates"), "certain"),
    "new_id": ("SINK_NEW_QUERY_ID", DataEffect(skip="duplicates"), "inferred"),
    "unknown": ("SINK_UNKNOWN", DataEffect(skip="unknown"), "needs_input"),
    "no_log": ("SINK_NO_LOG", DataEffect(skip="unknown"), "needs_input"),
    "log_gone": ("SINK_LOG_GONE", DataEffect(skip="unknown"), "certain"),
    "never_written": ("SINK_NEVER_WRITTEN", DataEffect(skip="loss"), "inferred"),
    "log_hole": ("SINK_LOG_HOLE", DataEffect(), "certain"),
    "log_damaged": ("SINK_LOG_DAMAGED", DataEffect(), "certain"),
    "entry_damaged": ("SINK_LOG_DAMAGED", DataEffect(skip="loss"), "certain"),
}
_ATTENTION = ("SINK_UNKNOWN", "SINK_NO_LOG")


def sink_risks(end: SinkState | None) -> tuple[Risk, ...]:
    """One risk for each concern, in order; none when the sink was not asked. The evidence names files of the
    sink."""
    if end is None:
        return ()
    evidence = tuple(Evidence(f"{end.url.rstrip('/')}/{path}") for path in end.evidence)
    return tuple(_risk(kind, sentence, evidence) for kind, sentence in end.concerns)


def stopped_compaction(s: RestartContext) -> Verdict | None:
    """The batch that compacts the log of a file sink of which a file is missing or damaged: it fails before
    its entry is written, at every start (observed with 3.5.9 and 4.3.0)."""
    stopped = s.sink.stopped if s.sink is not None else None
    if s.sink is None or stopped is None or stopped.batch_id != s.first_batch:
        return None
    file = f"{s.sink.url.rstrip('/')}/{stopped.path}"
    then = say("forecast.then_each_start_alike")
    if stopped.problem is None:
        why = say("forecast_steps.sink_log_gap", path=stopped.path)
        details: dict[str, object] = {"file": file}
        return failed(s, "sink_log_gap", "SINK_LOG_HOLE", why, Evidence(file), details=details, then=then)
    error, details = compactible_log_error(stopped.problem, file, ("path",))
    why = say("forecast_steps.sink_log_damaged", path=stopped.path, clause=stopped.problem.clause)
    return failed(s, error, "SINK_LOG_DAMAGED", why, Evidence(file), details=details, then=then)


def no_sink_there(s: RestartContext) -> tuple[Risk, ...]:
    """A risk when nothing is at the place that was given for the sink, although batches are committed."""
    trouble, committed = s.connectors.troubles.get("sink"), s.c
    if trouble is None or "sink" in s.connectors.refused or committed is None:
        return ()
    is_file = s.query.sink == "file"
    sentence = say(
        "sink.file_output_gone" if is_file else "sink.nothing_there", trouble=trouble, committed=committed
    )
    return (_risk("log_gone" if is_file else "no_log", sentence, (Evidence(f"commits/{committed}"),)),)


def _risk(kind: ConcernKind, sentence: str, evidence: tuple[Evidence, ...]) -> Risk:
    finding, effect, certainty = _RISKS[kind]
    return Risk(
        finding,
        sentence,
        evidence,
        effect,
        certainty,
        "attention" if finding in _ATTENTION else "data_risk",
    )
