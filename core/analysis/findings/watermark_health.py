"""A watermark that stands still while data comes: no window closes, and nothing is removed from the state."""

from __future__ import annotations

from collections.abc import Iterator

from core.analysis.findings.catalogue import finding
from core.analysis.findings.model import Finding
from core.analysis.watermark import held_back_by, watermark_history
from core.checkpoint import Checkpoint
from core.messages import say
from core.sparklogs.evidence import Evidence


def stalled(ck: Checkpoint) -> Iterator[Finding]:
    """The stall that lasts until the newest batch that was read; the rule is that of the page Watermark.

    A query without state has no use for its watermark. A watermark in the future stands still too: that is
    ``WATERMARK_AHEAD``.
    """
    if not ck.has_state or not ck.offset_ids:
        return
    history = watermark_history(ck)
    found = next((stall for stall in history.stalls if stall.reaches_end), None)
    if found is None or found.last < ck.offset_ids[-1] - 1:
        return
    if found.watermark_ms - int(history.batch_time_ms[-1]) > ck.settings.watermark_ahead_ms:
        return
    first, last, data = found.first, found.last, found.data_batches
    sentence = (
        say(
            "findings_health.watermark_stalled",
            first=first,
            last=last,
            data_batches=data,
            ms=found.watermark_ms,
        )
        if found.watermark_ms
        else say("findings_health.watermark_without_value", first=first, last=last, data_batches=data)
    )
    yield finding(
        "WATERMARK_STALLED",
        say("findings_health.with_reason", sentence=sentence, reason=held_back_by(ck, history, found)),
        Evidence(ck.offset_files[found.first].path, 2),
        Evidence(ck.offset_files[found.last].path, 2),
        certainty="inferred",
        batch_id=found.first,
    )
