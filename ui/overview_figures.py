"""The four figures of Overview: where the query stands, and when it last wrote."""

from __future__ import annotations

import time

from core.analysis.forecast import Forecast
from core.analysis.timeline import Timeline
from core.checkpoint import Checkpoint
from core.messages import say, say_of, words
from core.messages.screen_overview import OUTCOMES
from ui import cached_answers, cards


def last_committed(ck: Checkpoint, timeline: Timeline) -> None:
    """The newest batch of the commit log."""
    last = ck.last_committed_batch
    cards.figure("Last committed", _batch(last), _committed_at(timeline, last), "done")


def not_committed(ck: Checkpoint, timeline: Timeline) -> None:
    """The batch that is planned and not committed."""
    batch = ck.uncommitted_batch
    if batch is not None:
        cards.figure("Not committed", _batch(batch), _planned_at(timeline, batch), "doubt")
        return
    is_any = ck.last_committed_batch is not None
    note = say("screen_overview.all_committed") if is_any else say("screen_overview.none_planned")
    cards.figure("Not committed", _batch(None), note)


def next_at_restart(forecast: Forecast | str) -> None:
    """The batch of the next start, and what becomes of it."""
    if isinstance(forecast, str):
        cards.figure("Next at restart", words.NOT_KNOWN, say("screen_overview.see_above"))
        return
    batch = "no batch" if forecast.batch_id is None else _batch(forecast.batch_id)
    outcome = forecast.outcome if forecast.outcome in OUTCOMES else "other"
    note = say_of("screen_overview", "OUTCOMES", outcome)
    cards.figure("Next at restart", batch, note, cached_answers.tone_of(forecast))


def newest_file(ck: Checkpoint, timeline: Timeline) -> None:
    """The age of the newest log file."""
    files = (*ck.offset_files.values(), *ck.commit_files.values())
    newest = max((file.modified_ms for file in files if file.modified_ms is not None), default=None)
    if newest is None:
        cards.figure("Newest log file", words.NOT_KNOWN, say("screen_overview.no_file_times"))
        return
    since = words.age(max(0, int(time.time() * 1000) - newest))
    when = say("screen_overview.of_the_copy", ms=newest) if timeline.is_copy else words.moment(newest)
    cards.figure("Newest log file", since, when)


def _batch(batch: int | None) -> str:
    return "none" if batch is None else f"batch {batch}"


def _committed_at(timeline: Timeline, batch: int | None) -> str:
    row = None if batch is None else timeline.row(batch)
    if row is not None and timeline.committed_ms[row] >= 0:
        return say("screen_overview.committed_at", ms=int(timeline.committed_ms[row]))
    return _planned_at(timeline, batch)


def _planned_at(timeline: Timeline, batch: int | None) -> str:
    row = None if batch is None else timeline.row(batch)
    if row is None:
        return ""
    planned = int(timeline.planned_ms[row])
    return say("screen_overview.planned_at", ms=planned) if planned >= 0 else f"time {words.NOT_KNOWN}"
