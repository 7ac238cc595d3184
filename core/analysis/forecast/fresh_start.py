"""A start from scratch: no batch is in the logs. What that means depends on whether the checkpoint has been
used, which the files only sometimes tell.

Observed with Spark 3.5 and 4.3: an emptied directory, or one with ``metadata`` or ``sources/`` alone, starts
with batch 0 without an error. With the log of a file source kept, the first batches take all logged files at
once, so that their ids stand for other rows than before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.model import DataEffect, Risk
from core.analysis.forecast.step_verdict import Verdict
from core.analysis.forecast.versions import V41
from core.checkpoint.model import Leftover
from core.connectors.file_sink_log import FileSinkLog
from core.messages import say
from core.sparklogs.evidence import Certainty, Evidence
from core.sparklogs.names import is_hidden_checksum

FROM_SCRATCH = DataEffect("duplicates", "duplicates", "loss").may()
"""Rows that the sinks have are delivered again, cut into other batches perhaps, whose ids a skipping sink has
seen; what the first life wrote is not known."""
NOT_FROM_SCRATCH = ("OFFSETS_LOST", "OLD_FILES_BEFORE_BATCH_0")
"""Why 4.1 and newer do not start where older ones start from scratch."""


LOGS = ("offsets", "commits")

BEING_WRITTEN_MS = 60_000
"""An unfinished write of a log file that is younger may be going on: Spark writes such a file within
milliseconds, and a new query shows nothing else in the instant in which it writes offsets/0."""


def what_blocks_batch_zero(s: RestartContext) -> str | None:
    """What Spark 4.1 and newer refuse to start batch 0 with: a file in offsets/ or commits/, anything below
    state/. Hadoop's local file system shows no hidden checksum files (seen with 4.3)."""
    for item in s.checkpoint.leftovers:
        directory, _, name = item.path.partition("/")
        if directory not in LOGS or _may_be_being_written(s, item):
            continue
        if not s.is_local or not is_hidden_checksum(name.rpartition("/")[2]):
            return directory
    if s.checkpoint.has_state and s.with_state and not s.state_is_empty:
        return "state"  # for a stateless query too (seen with 4.3)
    return None


def _may_be_being_written(s: RestartContext, item: Leftover) -> bool:
    if item.kind != "temporary" or item.modified_ms is None:
        return False
    return s.checkpoint.read_at_ms - item.modified_ms < BEING_WRITTEN_MS


def from_scratch(s: RestartContext) -> Verdict:
    """Batch 0: of a checkpoint that was used before, or of one that may never have been."""
    verdict = _scratch(s)
    logs = [item for item in s.checkpoint.leftovers if item.path.partition("/")[0] in LOGS]
    written = next((item.path for item in logs if _may_be_being_written(s, item)), None)
    if written is None or s.version < V41:
        return verdict
    note = say("forecast_steps.being_written", path=written, spark=s.version)
    return replace(verdict, certainty="inferred", not_checked=(*verdict.not_checked, note))


def _written_by_a_first_start(s: RestartContext) -> str | None:
    """The newest of the files that Spark writes before ``offsets/0``: ``metadata``, and entry 0 of each
    source. None where one is missing or not so young, and where more is there than a first start leaves."""
    ck = s.checkpoint
    if ck.metadata_file is None or ck.has_state or not ck.has_log_directories:
        return None
    directories = s.source_directories
    listings = ck.door.list(directories, known_there=True) if directories else {}
    found = [info for directory in directories for info in listings[directory].files.values()]
    found = [info for info in found if not is_hidden_checksum(info.path.rpartition("/")[2])]
    if any(info.path.rpartition("/")[2] != "0" for info in found):
        return None
    files = [ck.metadata_file, *found]
    ages = [ck.read_at_ms - info.modified_ms for info in files if info.modified_ms is not None]
    is_young = len(ages) == len(files) and all(abs(age) < BEING_WRITTEN_MS for age in ages)
    return max(files, key=lambda info: info.modified_ms or 0).path if is_young else None


def _scratch(s: RestartContext) -> Verdict:
    young = _written_by_a_first_start(s)
    if young is not None:
        sentence = say("forecast_steps.fresh_start_starting", path=young)
        risk = Risk("FRESH_START", sentence, (Evidence(young),), FROM_SCRATCH, "needs_input", "note")
        note = say("forecast_steps.first_start")
        return Verdict(note=note, risks=(risk,), starts_from_scratch=True)
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
