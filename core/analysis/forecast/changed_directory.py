"""Whether something was removed from a directory, or put into it, after the newest commit: on a local disk
the time of the directory is the only trace of an operator's state that somebody deleted.

Spark makes ``state/`` and the directories of its operators before it commits the first batch, and nothing
directly in the checkpoint or in ``state/`` later (seen with 3.5 and 4.3, with restarts).
"""

from __future__ import annotations

from core.checkpoint import Checkpoint
from core.checkpoint.model import OffsetEntry
from core.storage import FileInfo, Look

# A batch is planned, and its offsets are written. A log whose files are later than that is a copy, and the
# times of its directories are those of the copying. So are they where files keep their times and directories
# do not (a download): then commits/ is later than what was written into it, or removed from it, last.
PLANNED_MS = 2_000
PURGED_MS = 10_000
SLACK_MS = 20


def was_changed(ck: Checkpoint, path: str) -> bool:
    """Whether the directory ``path`` ("" is the checkpoint itself) has changed since the newest commit was
    written, where a local disk shows that: one look at two directories. False for a copy of a checkpoint, for
    evidence, and wherever directories have no time."""
    door = ck.door
    batch_id = ck.commit_ids[-1] if ck.commit_ids else None
    if batch_id is None or not door.location.is_local or door.evidence is not None or door.is_nothing:
        return False
    commit, offsets, entry = ck.commit_files[batch_id], ck.offset_files.get(batch_id), ck.offset(batch_id)
    if offsets is None or not isinstance(entry, OffsetEntry) or not entry.timestamp_ms:
        return False
    if commit.modified_ms is None or offsets.modified_ms is None:
        return False
    is_original = 0 <= offsets.modified_ms - entry.timestamp_ms <= PLANNED_MS
    if not is_original or commit.modified_ms < offsets.modified_ms:
        return False
    seen = door.look([path, "commits"])
    changed_ms, log_ms = (_time_of(seen[each]) for each in (path, "commits"))
    if changed_ms is None or log_ms is None or log_ms > commit.modified_ms + PURGED_MS:
        return False
    return changed_ms > commit.modified_ms + SLACK_MS


def _time_of(seen: Look) -> int | None:
    return seen.modified_ms if isinstance(seen, FileInfo) else None
