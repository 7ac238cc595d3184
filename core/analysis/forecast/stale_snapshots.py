"""Snapshots of state that were left by batches which were rolled back: Spark loads the newest snapshot up to
the version it needs, and checks nothing.

Observed with Spark 3.5 and 4.3, HDFS-backed store and RocksDB with changelogs: after a rollback the new
batches write new deltas or changelogs, the old ``6.snapshot`` or ``4.zip`` stays, and a later start computes
wrong numbers from it without an error. Files with ids (format 2) were right. Without changelogs a zip is
written again by every batch.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.model import UNKNOWN, DataEffect, Risk
from core.checkpoint import Checkpoint
from core.checkpoint.model import OffsetEntry, OperatorState, StateFile
from core.checkpoint.state import state_inventory
from core.messages import say
from core.sparklogs.evidence import Evidence

MOST_NAMED = 5


PLANNED_AGAIN = DataEffect("duplicates", "duplicates", "loss").may()


def stale_snapshots(s: RestartContext) -> tuple[Risk, ...]:
    """The risks of snapshots of an abandoned time line: those of later versions, which a later start loads,
    and those that the next start loads although they are older than the batch that should have written
    them."""
    if not s.checkpoint.has_state or not s.with_state:
        return ()
    return (*_later(s), *_loaded_next(s))


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


def _later(s: RestartContext) -> Iterator[Risk]:
    ck = s.checkpoint
    newest = max([*ck.offset_ids, *ck.commit_ids], default=None)
    for op in state_inventory(ck).operators:
        found = snapshots_of_later_batches(ck, op)
        if found:
            sentence = say(
                "findings_checks.stale_snapshot",
                path=found[0].path,
                newest=newest,
                loaded_after=(found[0].version or 0) - 1,
            )
            evidence = tuple(Evidence(file.path) for file in found[:MOST_NAMED])
            # The batch that runs next loads an older version; the batches that were rolled back come again.
            yield Risk("STALE_SNAPSHOT", sentence, evidence, PLANNED_AGAIN)


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


def _loaded_next(s: RestartContext) -> Iterator[Risk]:
    for op in state_inventory(s.checkpoint).operators:
        stale = snapshots_older_than_their_batch(s.checkpoint, op, s.first_batch)
        if stale:
            batch_id = (stale[0].version or 0) - 1
            sentence = say("forecast.stale_snapshot", path=stale[0].path, batch_id=batch_id)
            evidence = tuple(Evidence(file.path) for file in stale[:MOST_NAMED])
            yield Risk("STALE_SNAPSHOT", sentence, evidence, UNKNOWN, "inferred")


def _full_kinds(op: OperatorState) -> frozenset[str]:
    """Snapshots, and zips where changelogs are in use: a zip is written again for every version otherwise."""
    has_changelogs = any(file.kind == "changelog" for part in op.partitions for file in part.files)
    return frozenset({"snapshot", "zip"} if has_changelogs else {"snapshot"})


def _is_newer(ck: Checkpoint, file: StateFile) -> bool:
    """Written after the logs were listed: by a batch that a running query has planned since."""
    return file.modified_ms is not None and file.modified_ms > ck.read_at_ms
