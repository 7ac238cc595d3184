"""What still shows that later batches ran before offsets and commits were rolled back: a log that somebody
renamed and left beside the new one, and a batch that took more entries of a source log than one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.analysis.forecast.context import Range, RestartContext
from core.analysis.forecast.model import DataEffect, Risk
from core.analysis.forecast.ranges import log_id, start_id
from core.errors import StorageError
from core.messages import Sentence, say
from core.sparklogs.evidence import Evidence
from core.sparklogs.names import batch_id_of

_MOST = 8  # directories that are looked into

# One entry may be the second try of a batch: a crash between the writes of source log and offsets.
_ENTRIES_OF_TRIES = 2


def later_batches_beside(s: RestartContext) -> tuple[tuple[Evidence, ...], tuple[Sentence, ...]]:
    """The newest batch in a directory beside the logs that has their name in its own (``commits_old``,
    ``offsets.bak``), when it is later than batch N; and what was not looked at, because it cannot be
    listed."""
    names = s.put_away("offsets", "commits")[:_MOST]
    if not names or s.n is None:
        return (), ()
    try:
        listings = s.checkpoint.door.list(names)
    except StorageError as error:
        return (), (say("forecast.open_put_away", paths=names, reason=str(error)),)
    found = {name: _newest(listing.names()) for name, listing in listings.items()}
    later = {name: newest for name, newest in found.items() if newest is not None and newest > s.n}
    return tuple(Evidence(f"{name}/{later[name]}") for name in sorted(later)[:1]), ()


def _newest(names: Iterable[str]) -> int | None:
    return max((found for name in names if (found := batch_id_of(name)) is not None), default=None)


def batches_in_one(s: RestartContext, parts: Sequence[Range]) -> Risk | None:
    """A batch adds one entry to the log of a file source. One that took more runs under an id that an earlier
    batch had: sinks may know the ids up to those of the other entries. Seen with 4.3, rolled back from batch
    9 to 3 and started once.

    Sources that fail to plan leave entries too; with several sources this may be such a trace.
    """
    if s.checkpoint.is_async or s.n is None:
        return None
    for part in parts:
        end = log_id(part.end_text)
        if end is None or part.start_text is None or not s.kind(part.key).has_own_log or part.end is None:
            continue
        entries = end - start_id(part)
        known = s.n + entries - _ENTRIES_OF_TRIES
        if entries <= _ENTRIES_OF_TRIES or known < s.first_batch:
            continue
        sentence = say(
            "forecast.batches_in_one",
            at=str(part.end.evidence),
            key=part.key,
            count=entries,
            batch_id=s.n,
            known=known,
        )
        effect = DataEffect("exact", "duplicates", "exact" if s.query.new_data == "no" else "loss").may()
        return Risk(
            "SET_BACK",
            sentence,
            (part.end.evidence,),
            effect,
            "inferred",
            "data_risk" if len(parts) == 1 else "attention",
        )
    return None
