"""Positions of a Kafka source that only an editor writes, and what Spark makes of them."""

from __future__ import annotations

from core.analysis.forecast.context import Range, RestartContext, Verdict, failed
from core.checkpoint.sources.forms import parse
from core.checkpoint.sources.kafka import topics_of
from core.messages import say

EARLIEST = -2  # as a position: Spark reads from the earliest record


def negative_position(s: RestartContext, part: Range) -> Verdict | None:
    """A position below 0 in the committed newest offset, which only an editor writes. The next batch reads
    from the earliest record for -2, and dies in its tasks for any other (observed with 4.3, whatever
    failOnDataLoss says)."""
    for topic, ps in (topics_of(parse(part.end_text or "")) or {}).items():
        for p, position in ps.items():
            if position < 0 and position != EARLIEST and part.end is not None:
                at, details = part.end.evidence, {"position": position}
                why = say(
                    "forecast_steps.kafka_negative", at=str(at), partition=f"{topic}-{p}", position=position
                )
                return failed(
                    s,
                    "kafka_negative",
                    "SOURCE_OFFSET_UNREADABLE",
                    why,
                    at,
                    details=details,
                    fails_at="batch",
                    certainty="inferred",
                )
    return None


def refused_positions(s: RestartContext, part: Range) -> Verdict | None:
    """A position in quotes, or a partition that is no number (observed with 4.3): met while the batch is
    planned. Null and numbers with a fraction are taken."""
    for line in (part.end, part.start) if s.runs_again else (part.end,):
        offset = parse(line.raw) if line is not None and line.raw is not None else None
        if line is None or not isinstance(offset, dict):
            continue
        entries = [item for ps in offset.values() if isinstance(ps, dict) for item in ps.items()]
        bad = next((p for p, at in entries if isinstance(at, str) or not p.isdecimal()), None)
        if bad is not None:
            why = say("forecast_steps.kafka_positions_refused", at=str(line.evidence), partition=bad)
            return failed(
                s,
                "kafka_line_bad",
                "SOURCE_OFFSET_UNREADABLE",
                why,
                line.evidence,
                details={"text": line.raw},
                fails_at="batch",
                certainty="inferred",
            )
    return None
