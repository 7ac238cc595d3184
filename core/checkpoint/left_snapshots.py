"""Snapshots of state that batches which were rolled back have left in a checkpoint, by names and times; no
file of the state is opened. What Spark does with them is in :mod:`core.analysis.forecast.stale_snapshots`."""

from __future__ import annotations

from core.checkpoint.checkpoint import Checkpoint
from core.checkpoint.model import OffsetEntry, OperatorState, StateFile


def snapshots_of_later_batches(ck: Checkpoint, op: OperatorState) -> tuple[StateFile, ...]:
    """Snapshots of one operator that only batches after the newest one of both logs can have written,
    ascending by version."""
    newest = max([*ck.offset_ids, *ck.commit_ids], default=None)
    if newest is None or op.format_version != 1:
        return ()
    kinds = _full_kinds(op)
    found = [
        file
        for part in op.partitions
        for file in part.files
        if file.kind in kinds
        and file.version is not None
        and file.version > newest + 1
        and not _is_newer(ck, file)
    ]
    return tuple(sorted(found, key=lambda file: (file.version or 0, file.path)))


def snapshots_older_than_their_batch(
    ck: Checkpoint, op: OperatorState, version: int
) -> tuple[StateFile, ...]:
    """The snapshots from which a start loads this version of one operator, and which were there before the
    batch that should have written them was planned; by path."""
    if op.format_version != 1:
        return ()
    kinds = _full_kinds(op)
    newest: dict[tuple[int, str], StateFile] = {}
    for part in op.partitions:
        usable = [f for f in part.files if f.kind in kinds and 0 < (f.version or 0) <= version]
        if usable:
            newest[part.partition_id, part.store] = max(usable, key=lambda file: file.version or 0)
    stale = [file for file in newest.values() if is_older_than_its_batch(ck, file)]
    return tuple(sorted(stale, key=lambda file: file.path))


def is_older_than_its_batch(ck: Checkpoint, file: StateFile) -> bool:
    """Whether a file of version V was there before batch V - 1 was planned. Files of a copied checkpoint have
    later times, so that nothing is said of them."""
    if file.version is None or file.modified_ms is None or file.version - 1 not in ck.offset_files:
        return False
    entry = ck.offset(file.version - 1)
    planned_ms = entry.timestamp_ms if isinstance(entry, OffsetEntry) else None
    return planned_ms is not None and file.modified_ms + ck.settings.clock_slack_ms < planned_ms


def _full_kinds(op: OperatorState) -> frozenset[str]:
    """Snapshots, and zips where changelogs are in use: a zip is written again for every version otherwise."""
    has_changelogs = any(file.kind == "changelog" for part in op.partitions for file in part.files)
    return frozenset({"snapshot", "zip"} if has_changelogs else {"snapshot"})


def _is_newer(ck: Checkpoint, file: StateFile) -> bool:
    """Written after the logs were listed: by a batch that a running query has planned since."""
    return file.modified_ms is not None and file.modified_ms > ck.read_at_ms
