"""Rules about the rows that belong to no step of the start: what the newest entries of the logs show and
Spark does not look at.

Each gives risks for the rows of the next batches. What only older entries show is history, and a finding of
the integrity check (:mod:`core.analysis.findings.log_checks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.model import EXACT, SINK_KINDS, DataEffect, Risk
from core.analysis.forecast.watermark_ahead import watermark_risks
from core.analysis.forecast.watermark_edited import watermark_back, watermark_raised
from core.checkpoint.execution_mode import execution_of
from core.checkpoint.pipeline_flow import is_number_known, pipeline_flow, place_in_use
from core.checkpoint.sources.forms import parse
from core.messages import Sentence, say, say_of
from core.sparklogs.evidence import Evidence


def positions_back(s: RestartContext) -> Iterator[Risk]:
    """A position that only grows is lower in offsets/N than in offsets/N-1, and batch N is committed or the
    sink has it: the next batch reads from there. Of any other batch N this is a failed plan, which is a step
    of its own."""
    newest, before = s.newest, s.offset_entry(s.previous)
    is_done = s.n in s.checkpoint.commit_files or s.loading is not s
    if newest is None or before is None or not is_done:
        return
    for source in s.checkpoint.sources:
        line, earlier = newest.source(source.key), before.source(source.key)
        if line is None or earlier is None or line.raw is None or earlier.raw is None:
            continue
        if not source.kind.positions_only_grow:
            continue
        was = dict(source.kind.positions(parse(earlier.raw)))
        now = dict(source.kind.positions(parse(line.raw)))
        lower = [
            say("findings_checks.position_back_partition", name=name, before=was[name], after=position)
            for name, position in now.items()
            if position < was.get(name, position)
        ]
        if lower:
            sentence = say("findings_checks.position_back", batch_id=s.n, key=source.key, partitions=lower)
            # the source may not have all of these records any more
            yield Risk("OFFSET_WENT_BACK", sentence, (line.evidence,), s.handed_out_again(*SINK_KINDS).may())


def rows_before_the_log(s: RestartContext) -> Iterator[Risk]:
    """Real-time mode and continuous processing: rows of a batch are in the sink before any log knows of it,
    and come again after a stop in its middle (observed with 4.3.0 and Kafka: 5 rows of 5, nothing pending).
    A sink that keeps one result for each batch id replaces them."""
    execution = execution_of(s.checkpoint)
    if s.n is None or not execution.writes_before_logging:
        return
    sentence = say_of("findings_checks", "ROWS_BEFORE_LOG", execution.mode, n=s.n)
    effect = DataEffect("duplicates", "exact", "unknown")
    yield Risk("ROWS_BEFORE_LOG", sentence, execution.evidence, effect, "inferred", "note")


def not_in_use(s: RestartContext) -> Iterator[Risk]:
    """A checkpoint of a declarative pipeline beside one with a higher number, from which the pipeline starts
    (observed with 4.3.0). Inferred: only the place says that it is one of a pipeline."""
    place = place_in_use(s.checkpoint)
    if place is not None:
        sentence = say("findings_checks.not_in_use", place=place)
        yield Risk("NOT_IN_USE", sentence, (Evidence("."),), EXACT, "inferred", "attention")


def open_number(s: RestartContext) -> Iterator[Sentence]:
    """That nobody could see whether the pipeline starts from another checkpoint."""
    flow = pipeline_flow(s.checkpoint.door.origin.url)
    if flow is not None and not is_number_known(s.checkpoint):
        yield say("forecast.open_number", directory=flow.directory)


BESIDE: tuple[Callable[[RestartContext], Iterable[Risk]], ...] = (
    watermark_back,
    watermark_raised,
    positions_back,
    watermark_risks,
    rows_before_the_log,
)
"""Asked after the steps, also when one of them fails."""
