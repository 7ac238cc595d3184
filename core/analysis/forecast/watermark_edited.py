"""A watermark in the newest offset entry that Spark did not write: somebody has changed it by hand.

A batch is planned with the watermark that the commit before it names (``nextBatchWatermarkMs``), and its own
commit names the same or a later one. Of a committed batch a start takes the later of the two, of a planned
one the own one of the entry (observed with 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.model import DUPLICATES, DataEffect, Risk
from core.messages import say
from core.sparklogs.evidence import Evidence

_LOSS = DataEffect("loss", "loss", "loss")


def watermark_back(s: RestartContext) -> Iterator[Risk]:
    """The watermark that the next start takes is lower than one before it: rows that were late open closed
    windows again (an extra row, no error). A query without state does not use it."""
    newest, before = s.newest, s.offset_entry(s.previous)
    if newest is None or s.n is None or not s.is_stateful:
        return
    now = newest.watermark_ms or 0  # without the field Spark continues with 0 (seen with 4.3)
    reached = [(before.watermark_ms, before.evidence)] if before is not None and before.watermark_ms else []
    commit = s.commit_entry(s.n - 1)
    if commit is not None and commit.next_watermark_ms:
        reached.append((commit.next_watermark_ms, commit.evidence))
    highest = max(reached, key=lambda pair: pair[0], default=None)
    own = s.commit_entry(s.n)
    taken = max(now, (own.next_watermark_ms or 0) if own is not None else 0)
    if highest is None or taken >= highest[0]:
        return
    sentence = say(
        "findings_checks.watermark_back",
        before=highest[0],
        where=str(highest[1]),
        after=now,
        path=newest.evidence.path,
    )
    evidence = (Evidence(newest.evidence.path, 2), highest[1])
    yield Risk("WATERMARK_WENT_BACK", sentence, evidence, DUPLICATES.may())


def watermark_raised(s: RestartContext) -> Iterator[Risk]:
    """It is higher than the one that the commit before it names, and than the one that its own commit does:
    the rows of the next batches below it are dropped as late, without an error."""
    newest = s.newest
    if newest is None or s.n is None or not s.is_stateful or not newest.watermark_ms:
        return
    commits = [each for each in (s.commit_entry(s.n - 1), s.commit_entry(s.n)) if each is not None]
    named = [each for each in commits if each.next_watermark_ms is not None]
    if not named or newest.watermark_ms <= max(each.next_watermark_ms or 0 for each in named):
        return
    known = named[0]
    sentence = say(
        "findings_checks.watermark_raised",
        path=newest.evidence.path,
        after=newest.watermark_ms,
        named=known.next_watermark_ms,
        where=str(known.evidence),
    )
    evidence = (Evidence(newest.evidence.path, 2), known.evidence)
    yield Risk("WATERMARK_RAISED", sentence, evidence, _LOSS.may(), "inferred")
