"""A start from scratch: no batch is in the logs. What that means depends on whether the checkpoint has been
used, which the files only sometimes tell.

Observed with Spark 3.5 and 4.3: an emptied directory, or one with ``metadata`` or ``sources/`` alone, starts
with batch 0 without an error. With the log of a file source kept, the first batches take all logged files at
once, so that their ids stand for other rows than before.
"""

from __future__ import annotations

from typing import Literal

from core.analysis.forecast.context import RestartContext, Verdict
from core.analysis.forecast.model import DataEffect, Risk
from core.connectors.file_sink_log import FileSinkLog
from core.messages import say
from core.sparklogs.evidence import Certainty, Evidence

FROM_SCRATCH = DataEffect("duplicates", "duplicates", "loss").may()
"""Rows that the sinks have are delivered again, cut into other batches perhaps, whose ids a skipping sink has
seen; what the first life wrote is not known."""


def from_scratch(s: RestartContext) -> Verdict:
    """Batch 0: of a checkpoint that was used before, or of one that may never have been."""
    used = tuple(Evidence(path) for path in _signs_of_life(s))
    logs = (Evidence("offsets"), Evidence("commits"))
    if used:
        sentence = say("forecast_steps.fresh_start_risk", path=str(used[0]))
        risk = Risk("FRESH_START", sentence, used, FROM_SCRATCH)
        note = say("forecast_steps.scratch")
        return Verdict(evidence=logs, note=note, risks=(risk,), starts_from_scratch=True)
    note = say("forecast_steps.first_start")
    if isinstance(s.connectors.sink, FileSinkLog) and s.connectors.sink.newest is None:
        return Verdict(note=note, starts_from_scratch=True)  # the sink has no rows of an earlier life
    return Verdict(note=note, risks=(_unused(s),), starts_from_scratch=True)


def _unused(s: RestartContext) -> Risk:
    """A directory without a sign that it was used: a new one, or one that was emptied."""
    weight: Literal["attention", "note"] = "attention"
    certainty: Certainty = "needs_input"
    if s.checkpoint.is_bare:
        sentence, at = say("forecast_steps.fresh_start_empty"), Evidence("metadata")
    elif s.checkpoint.has_log_directories:
        sentence, at, weight = say("forecast_steps.fresh_start_no_batch"), Evidence("offsets"), "note"
    else:
        sentence, at = say("forecast_steps.fresh_start_only_metadata"), Evidence("offsets")
    return Risk("FRESH_START", sentence, (at,), FROM_SCRATCH, certainty, weight)


def _signs_of_life(s: RestartContext) -> list[str]:
    return [*s.source_directories, *(["state"] if s.checkpoint.has_state else [])]
