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


@dataclass(frozen=True, slots=True)
class Liveness:
    """Whether a writer was seen. ``seconds``: how long was waited between the two listings. ``evidence``: the
    files that tell."""

    writer: Writer
    certainty: Certainty
    sentence: str
    evidence: tuple[Evidence, ...]
    seconds: float


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
    parts = (
        [f"{len(changed):,} files were written" if len(changed) != 1 else "1 file was written"]
        if changed
        else []
    )
    parts += [f"{len(gone):,} were removed" if len(gone) != 1 else "1 was removed"] if gone else []
    sentence = (
        f"A writer is active: within {_duration(seconds * 1000)} {' and '.join(parts)}"
        f" ({(changed or gone)[-1]})."
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
    nothing = f"Nothing changed within {_duration(seconds * 1000)}"
    if newest is None or newest.modified_ms is None:
        return Liveness(
            "unclear",
            "needs_input",
            f"{nothing}, and the files carry no times: a query may be idle.",
            (),
            seconds,
        )
    evidence = (Evidence(newest.path),)
    silence_ms = ck.read_at_ms - newest.modified_ms
    gaps = [after - before for before, after in pairwise(times)]
    last = f"the newest log file is {_duration(silence_ms)} old"
    if len(gaps) >= _FEWEST_GAPS:
        usual, longest = median(gaps), max(gaps)
        rhythm = f"batches were planned every {_duration(usual)}, at most {_duration(longest)} apart"
        if silence_ms > max(_TYPICAL * usual, _LONGEST * longest, _AT_LEAST_MS):
            sentence = (
                f"The writer seems stopped: {nothing.lower()}, {last}, and {rhythm}. A query without new data"
                " would look the same."
            )
            return Liveness("stopped", "inferred", sentence, evidence, seconds)
        last = f"{last}, and {rhythm}"
    return Liveness(
        "unclear",
        "needs_input",
        f"{nothing}, and {last}: a query may be idle, or busy with a long batch.",
        evidence,
        seconds,
    )


def _duration(milliseconds: float) -> str:
    """``300 ms``, ``5 seconds``, ``3 hours``: one unit."""
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    amount = milliseconds / 1000
    for unit, size in (("second", 60), ("minute", 60), ("hour", 24), ("day", 0)):
        if not size or amount < size:
            shown = f"{amount:.1f}".removesuffix(".0") if amount < 10 else f"{amount:.0f}"
            return f"{shown} {unit}" if shown == "1" else f"{shown} {unit}s"
        amount /= size
    return ""
