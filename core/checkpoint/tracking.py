"""Which batch ids are missing, and whether gaps are legal because the query used asynchronous progress
tracking.

With asynchronous progress tracking (Spark 3.4+, stateless queries only) only some batches are logged: offsets
0, 6, 11, 16 and commits with the SAME ids (the last ones may lack). In an ordinary log every id is there. So
an id counts as *seen* when either log, or a checksum side file that was left behind, shows that it was
written; what is seen in one log and absent in the other was removed. Ids that no trace is left of are a gap
of an asynchronous log, or batches whose two files were both removed; the rules of :func:`track` tell these
apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from core.messages import say
from core.sparklogs.evidence import Certainty

Mode = Literal["sync", "async"]

LISTED_MISSING = 10_000  # a stray file called 99999999999 must not make a list of that length

SPARSE_SHARE = (
    1 / 3
)  # from this share of absent ids on, a log is sparse; one lost batch among four or more is below it


@dataclass(frozen=True, slots=True)
class Tracking:
    """Whether the log is ordinary (``sync``) or asynchronous, why, and what is missing.

    ``missing_offsets`` and ``missing_commits`` are ascending ids between the first and the last of each log,
    at most :data:`LISTED_MISSING`; the counts are of all. Legal gaps of an asynchronous log are not among
    them.
    """

    mode: Mode
    certainty: Certainty
    why: str
    missing_offsets: tuple[int, ...]
    missing_commits: tuple[int, ...]
    missing_offset_count: int
    missing_commit_count: int


def track(
    offset_ids: Sequence[int],
    commit_ids: Sequence[int],
    *,
    traces: Iterable[int] = (),
    has_state: bool = False,
    too_old: bool = False,
) -> Tracking:
    """Decides from the ids; all sequences ascending.

    ``traces``: ids of checksum side files whose log file may be gone. ``has_state``: the checkpoint has a
    ``state/`` directory, and then it cannot be asynchronous. ``too_old``: the pinned conf shows a Spark
    before 3.4.
    """
    seen = set(offset_ids) | set(commit_ids)
    if offset_ids:
        first, last = offset_ids[0], offset_ids[-1]
        seen |= {i for i in traces if first < i < last}
    mode, certainty, why = _mode(sorted(seen), offset_ids, has_state=has_state, too_old=too_old)
    missing_offsets, offset_count = _missing(offset_ids, seen, mode)
    missing_commits, commit_count = _missing(commit_ids, seen, mode)
    return Tracking(mode, certainty, why, missing_offsets, missing_commits, offset_count, commit_count)


def _mode(
    seen: list[int], offset_ids: Sequence[int], *, has_state: bool, too_old: bool
) -> tuple[Mode, Certainty, str]:
    # Outside the offset log's own range ids say nothing about its gaps (commits may be ahead after offsets
    # were removed).
    ids = [i for i in seen if offset_ids and offset_ids[0] <= i <= offset_ids[-1]]
    holes = sum(1 for before, after in pairwise(ids) if after - before > 1)
    if not holes:
        return "sync", "inferred", say("checkpoint.every_id")
    first, last = ids[0], ids[-1]
    span = last - first + 1
    absent = span - len(ids)
    numbers = {"absent": absent, "span": span, "first": first, "last": last}
    if has_state:
        return "sync", "certain", say("checkpoint.gaps_with_state", **numbers)
    if too_old:
        return "sync", "inferred", say("checkpoint.gaps_too_old", **numbers)
    if absent / span >= SPARSE_SHARE:
        certainty: Certainty = "inferred" if len(ids) > 3 else "needs_input"
        return "async", certainty, say("checkpoint.gaps_most", **numbers)
    if holes >= 3:
        return "async", "inferred", say("checkpoint.gaps_many", holes=holes, **numbers)
    return "sync", "inferred", say("checkpoint.gaps_few", **numbers)


def _missing(ids: Sequence[int], seen: set[int], mode: Mode) -> tuple[tuple[int, ...], int]:
    if len(ids) < 2:
        return (), 0
    present, first, last = set(ids), ids[0], ids[-1]
    if mode == "async":
        absent = sorted(i for i in seen if first < i < last and i not in present)
        return tuple(absent[:LISTED_MISSING]), len(absent)
    listed: list[int] = []
    for before, after in pairwise(ids):
        if after - before > 1 and len(listed) < LISTED_MISSING:
            listed.extend(range(before + 1, min(after, before + 1 + LISTED_MISSING - len(listed))))
    return tuple(listed), last - first + 1 - len(ids)
