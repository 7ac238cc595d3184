"""Whether a checkpoint was written since it was read: a look at four names, no listing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.checkpoint.checkpoint import Checkpoint
from core.storage import FileInfo, Gone, ReadFailure


@dataclass(frozen=True, slots=True)
class WrittenSince:
    """The newest thing that was seen.

    ``planned`` and ``committed``: the log entry of this batch is there now; ``removed``: the newest log entry
    of the reading is away. ``unknown``: a look failed, ``reason`` says why.
    """

    what: Literal["planned", "committed", "removed", "unknown"]
    batch_id: int | None = None
    reason: str = ""


def written_since(ck: Checkpoint) -> WrittenSince | None:
    """What was written since ``ck`` was read; None when nothing is seen, and for an evidence file.

    At most four requests: the newest entries of both logs, and those that follow. Spark writes ``offsets/N``
    before ``commits/N`` and always the next number (``MicroBatchExecution``, 3.3 to 4.3); with asynchronous
    progress tracking, which leaves numbers out, the directories are listed. A change of older files is not
    seen.
    """
    if ck.door.evidence is not None:
        return None
    newest = ck.offset_ids[-1] if ck.offset_ids else -1
    committed = ck.commit_ids[-1] if ck.commit_ids else -1
    return _by_listing(ck, newest, committed) if ck.is_async else _by_look(ck, newest, committed)


def _by_look(ck: Checkpoint, newest: int, committed: int) -> WrittenSince | None:
    following, pending = f"offsets/{newest + 1}", f"commits/{max(newest, 0)}"
    kept = {ck.offset_files[newest].path: newest} if newest >= 0 else {}
    kept |= {ck.commit_files[committed].path: committed} if committed >= 0 else {}
    seen = ck.door.look([following, *kept, pending])
    if isinstance(seen[following], FileInfo):
        return WrittenSince("planned", newest + 1)
    if newest > committed and isinstance(seen[pending], FileInfo):
        return WrittenSince("committed", newest)
    for path, batch_id in kept.items():
        if isinstance(seen[path], Gone):
            return WrittenSince("removed", batch_id)
    reasons = [look.reason for look in seen.values() if isinstance(look, ReadFailure)]
    return WrittenSince("unknown", reason=reasons[0]) if reasons else None


def _by_listing(ck: Checkpoint, newest: int, committed: int) -> WrittenSince | None:
    fresh = ck.refresh()
    if fresh.offset_ids[-1:] and fresh.offset_ids[-1] > newest:
        return WrittenSince("planned", fresh.offset_ids[-1])
    if fresh.commit_ids[-1:] and fresh.commit_ids[-1] > committed:
        return WrittenSince("committed", fresh.commit_ids[-1])
    is_removed = fresh.offset_ids[-1:] != ck.offset_ids[-1:] or fresh.commit_ids[-1:] != ck.commit_ids[-1:]
    return WrittenSince("removed", max(newest, committed)) if is_removed else None
