"""A watermark in the future: the rows that come after it are late, whoever starts the query."""

from __future__ import annotations

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.model import UNKNOWN, DataEffect, Risk
from core.checkpoint.model import CommitEntry, OffsetEntry
from core.messages import say

_LOST = DataEffect("loss", "loss", "loss")


def watermark_risks(s: RestartContext) -> tuple[Risk, ...]:
    """The watermark that the next start takes over, when it is ahead of the clock of the newest batch by more
    than the setting ``watermark_ahead_ms``.

    Observed with 4.3: after one row of the year 2099 a windowed count drops every row of the later batches,
    without an error. A query without state drops nothing. A watermark that stands in the commit only was not
    used yet: the next batch hands out every window that is open, before its rows are complete. Reads the
    newest offset and commit only, which every start reads.
    """
    if s.n is None or not s.is_stateful:
        return ()
    offset, commit = s.checkpoint.offset(s.n), s.commit(s.n)
    if not isinstance(offset, OffsetEntry) or not offset.timestamp_ms:
        return ()
    reached, evidence, effect = offset.watermark_ms or 0, offset.evidence, _LOST
    if isinstance(commit, CommitEntry) and (commit.next_watermark_ms or 0) > reached:
        reached, evidence, effect = commit.next_watermark_ms or 0, commit.evidence, UNKNOWN
    ahead_ms = reached - offset.timestamp_ms
    if ahead_ms <= s.checkpoint.settings.watermark_ahead_ms:
        return ()
    values = {"ms": reached, "ahead_ms": ahead_ms, "batch_id": s.n}
    sentence = (
        say("forecast.watermark_ahead", **values)
        if effect is _LOST
        else say("forecast.watermark_ahead_unused", **values)
    )
    return (Risk("WATERMARK_AHEAD", sentence, (evidence,), effect, "inferred"),)
