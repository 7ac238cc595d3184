"""Is a query writing to this checkpoint now? Two listings a few seconds apart, and how often batches came
before.

Files can prove that somebody writes. They cannot prove that nobody does: a query without new data writes
nothing, so "stopped" is always inferred, from batches that came regularly and have not come for far longer
than ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

from core.checkpoint import Checkpoint
from core.checkpoint.model import OffsetEntry
from core.messages import say
from core.sparklogs.evidence import Certainty, Evidence
from core.storage import FileInfo

Writer = Literal["active", "stopped", "unclear"]

_LOGS = ("offsets", "commits")
_GAPS = 20  # of so many of the newest batches
_FEWEST_GAPS = 3
# "Stopped" needs a silence of so many typical and so many longest gaps between batches, and a minute at
# least.
_TYPICAL, _LONGEST, _AT_LEAST_MS = 20, 3, 60_000
_SHOWN = 5
# A batch that was planned so many typical gaps ago, or less than so long ago, was planned moments ago.
_RECENT_GAPS, _RECENT_MS = 3, 120_000


@dataclass(frozen=True, slots=True)
class Liveness:
    """Whether a writer was seen. ``seconds``: how long was waited between the two listings. ``evidence``: the
    files that tell."""

    writer: Writer
    certainty: Certainty
    sentence: str
    evidence: tuple[Evidence, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class JustPlanned:
    """The newest batch, and how long before the reading it was planned."""

    batch_id: int
    age_ms: int


def just_planned(ck: Checkpoint, *, of_evidence: bool = False) -> JustPlanned | None:
    """The newest batch where it was planned moments ago, by the time in its offset file: a query may be
    running. None where it was not, and for evidence, unless ``of_evidence`` asks how it was at its moment.
    What was planned long ago does not prove that none runs."""
    newest = ck.offset_ids[-1:]
    is_asked = of_evidence or ck.door.evidence is None
    entry = ck.offset(newest[0]) if newest and is_asked else None
    if not isinstance(entry, OffsetEntry) or not entry.timestamp_ms:
        return None
    age_ms = ck.read_at_ms - entry.timestamp_ms
    planned = [each.timestamp_ms for each in ck.loaded_offsets()[-_GAPS - 1 :] if each.timestamp_ms]
    gaps = [after - before for before, after in pairwise(planned)]
    usual_ms = round(median(gaps)) if len(gaps) >= _FEWEST_GAPS else 0
    is_recent = -_RECENT_MS <= age_ms <= max(_RECENT_MS, _RECENT_GAPS * usual_ms)  # clocks differ
    return JustPlanned(newest[0], max(0, age_ms)) if is_recent else None


def second_look(
    ck: Checkpoint, seconds: float = 5.0, wait: Callable[[float], None] | None = None
) -> Liveness:
    """Lists the logs (and the state, when a batch is pending or nothing is committed yet), waits, lists again
    and compares.

    ``wait`` is what passes the time (default: to sleep). Raises StorageError when a listing fails.
    """
    with_state = ck.has_state and (ck.pending_batch is not None or ck.last_committed_batch is None)
    before = _files(ck, with_state)
    (wait or time.sleep)(seconds)
    fresh = ck.refresh()
    after = _files(fresh, with_state)
    changed = sorted(path for path, info in after.items() if before.get(path) != info)
    gone = sorted(path for path in before if path not in after)
    if changed or gone:
        return _active(changed, gone, seconds)
    return _quiet(fresh, seconds)


def _files(ck: Checkpoint, with_state: bool) -> Mapping[str, FileInfo]:
    listings = [*ck.door.list([*_LOGS, *ck.source_directories]).values()]
    if with_state:
        listings += ck.door.list(["state"], recursive=True).values()
    return {path: info for listing in listings for path, info in listing.files.items()}


def _active(changed: list[str], gone: list[str], seconds: float) -> Liveness:
    changes = [say("findings_checks.files_written", files=len(changed))] if changed else []
    changes += [say("findings_checks.files_removed", files=len(gone))] if gone else []
    sentence = say(
        "findings_checks.writer_active",
        waited_ms=round(seconds * 1000),
        changes=changes,
        path=(changed or gone)[-1],
    )
    evidence = tuple(Evidence(path) for path in (*changed, *gone)[-_SHOWN:])
    return Liveness("active", "certain", sentence, evidence, seconds)


def _quiet(ck: Checkpoint, seconds: float) -> Liveness:
    times = sorted(file.modified_ms for file in ck.offset_files.values() if file.modified_ms is not None)[
        -_GAPS - 1 :
    ]
    newest = max(
        (
            file
            for log in (ck.offset_files, ck.commit_files)
            for file in log.values()
            if file.modified_ms is not None
        ),
        key=lambda file: file.modified_ms or 0,
        default=None,
    )
    waited_ms = round(seconds * 1000)
    if newest is None or newest.modified_ms is None:
        no_times = say("findings_checks.writer_no_times", waited_ms=waited_ms)
        return Liveness("unclear", "needs_input", no_times, (), seconds)
    evidence = (Evidence(newest.path),)
    silence_ms = ck.read_at_ms - newest.modified_ms
    gaps = [after - before for before, after in pairwise(times)]
    if len(gaps) < _FEWEST_GAPS:
        unclear = say("findings_checks.writer_unclear", waited_ms=waited_ms, silence_ms=silence_ms)
        return Liveness("unclear", "needs_input", unclear, evidence, seconds)
    usual, longest = round(median(gaps)), max(gaps)
    is_silent = silence_ms > max(_TYPICAL * usual, _LONGEST * longest, _AT_LEAST_MS)
    sentence = say(
        "findings_checks.writer_stopped" if is_silent else "findings_checks.writer_unclear_rhythm",
        waited_ms=waited_ms,
        silence_ms=silence_ms,
        usual_ms=usual,
        longest_ms=longest,
    )
    if is_silent:
        return Liveness("stopped", "inferred", sentence, evidence, seconds)
    return Liveness("unclear", "needs_input", sentence, evidence, seconds)
