"""The input files of the batch that runs next: which they are, and whether they are still where the source
reads them.

A batch that runs again uses the offsets in the log but today's files: one that is gone gives an empty batch
without an error, one that was changed gives its new content (observed, Spark 3.3 to 4.3). So does the batch
that takes the files which a source log is ahead of the offsets.
"""

from __future__ import annotations

from core.analysis.forecast.context import Range, RestartContext
from core.analysis.forecast.model import EXACT, LOSS, UNKNOWN, DataEffect, Risk
from core.analysis.forecast.ranges import log_id, ranges, start_id
from core.analysis.forecast.step_verdict import Verdict
from core.checkpoint.model import FileLogEntry
from core.connectors.input_files import InputLook, is_below, look_for_inputs
from core.messages import say
from core.sparklogs.evidence import Certainty, Evidence

# One that overwrites gets the batch again without these rows; the others may hold them from a first attempt.
LOST = LOSS.may(("append", "skip"))
# The batch hands out other rows beside these: an appending sink that holds it gets those twice, one that does
# not misses these. No single word says both.
LOST_OR_TWICE = DataEffect("unknown", "loss", "loss").may(("skip",))
UNSEEN = DataEffect("exact", "unknown", "unknown")


def planned_files(s: RestartContext, part: Range, start: int, end: int) -> tuple[FileLogEntry, ...] | None:
    """The files that batch N reads of a file source (log ids after ``start`` up to ``end``); None when the
    log does not tell."""
    log, read = s.file_logs.get(part.key), s.file_log(part.key)
    if log is None or log.newest_id is None or log.newest_id < end or log.missing or read.damaged:
        return None
    unread = {item.evidence.path for item in read.not_read}
    holding = [info.path for i, info in log.files.items() if start < i and (i <= end or i in log.compact)]
    return None if unread.intersection(holding) else read.between(start, end)


def check_inputs(s: RestartContext, part: Range) -> Verdict:
    """Looks for the input files of the batch that runs next, as far as a source log names them: of batch N
    when it runs again, else of the batch that takes what the log is ahead."""
    end = log_id(part.end_text)
    log = s.file_logs.get(part.key)
    if end is None or log is None or log.newest_id is None:
        return Verdict()
    first, last = (start_id(part), end) if s.runs_again else (end, log.newest_id)
    if first >= last or s.checkpoint.is_async:
        return Verdict()
    batch_id = s.first_batch
    files = planned_files(s, part, first, last)
    if files is None:
        return Verdict(
            not_checked=(say("forecast.open_inputs", batch_id=batch_id),), data=_unseen(s, last - first)
        )
    slot = f"inputs/{part.key}/{first}/{last}/{s.connectors.places.get(part.key)}"
    look = s.checkpoint.kept(slot, lambda: _look(s, part, files))
    return _judged(s, part, look, batch_id, _unseen(s, last - first), _is_all(s, part, look, files))


def _is_all(s: RestartContext, part: Range, look: InputLook, files: tuple[FileLogEntry, ...]) -> bool:
    """Whether nothing is left that the batch could hand out."""
    others = (other for other in ranges(s) if other.key != part.key)
    return len(look.gone) == len(files) and not s.is_stateful and not any(other.differs for other in others)


def _unseen(s: RestartContext, entries: int) -> DataEffect:
    """What input files that were not looked at mean. A log that is several entries ahead has its own say."""
    return UNSEEN if s.runs_again or entries == 1 else EXACT


def _look(s: RestartContext, part: Range, files: tuple[FileLogEntry, ...]) -> InputLook:
    place = s.connectors.places.get(part.key)
    ck = s.checkpoint
    return look_for_inputs(files, s.file_log(part.key).entries, ck.location, ck.settings, place)


def _judged(
    s: RestartContext, part: Range, look: InputLook, batch_id: int, unseen_effect: DataEffect, is_all: bool
) -> Verdict:
    at = part.end.evidence if part.end is not None else Evidence(f"offsets/{s.n}")
    certainty: Certainty = "certain" if look.is_same_place else "needs_input"
    risks = []
    if look.gone:
        is_sure = look.is_same_place and not look.may_be_renamed and not s.is_stateful
        lost = LOST if is_all else LOST_OR_TWICE
        effect = LOSS.may() if not s.runs_again else lost if is_sure else lost.may()
        sentence = say("forecast.input_gone", files=len(look.gone), file=look.gone[0], batch_id=batch_id)
        risks.append(Risk("INPUT_GONE", sentence, (at,), effect, certainty))
    if look.changed:
        sentence = say(
            "forecast.input_changed", files=len(look.changed), file=look.changed[0], batch_id=batch_id
        )
        risks.append(Risk("INPUT_CHANGED", sentence, (at,), UNKNOWN, certainty))
    if not look.unseen:
        return Verdict(risks=tuple(risks))
    files, file, place = len(look.unseen), look.unseen[0], s.connectors.places.get(part.key)
    unseen = say("forecast.open_inputs_unseen", files=files, file=file, batch_id=batch_id)
    if place is not None and not any(is_below(path, place) for path in look.unseen):
        unseen = say(
            "forecast.open_inputs_elsewhere", files=files, file=file, batch_id=batch_id, key=part.key
        )
    return Verdict(risks=tuple(risks), not_checked=(unseen,), instead_of_exact=unseen_effect)
