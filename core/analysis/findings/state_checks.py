"""Checks of ``state/`` beyond what the next batch needs: snapshots of an abandoned time line, missing
metadata, extra partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.analysis.findings.catalogue import finding
from core.analysis.findings.model import Finding
from core.analysis.forecast.versions import V40, Version
from core.checkpoint import Checkpoint
from core.checkpoint.model import OffsetEntry, OperatorState, StateFile
from core.checkpoint.restore_chain import restorable_versions
from core.checkpoint.state import committed_ids, state_inventory
from core.sparklogs.evidence import Evidence

STILL_BATCHES = 20  # so many batches without a move of the watermark are no pause any more
GROWTH = 1.5  # so many times its size: less is the noise of a busy hour


def later_versions(ck: Checkpoint) -> Iterator[Finding]:
    """State that only batches after the newest one can have written: offsets and commits were set back."""
    newest = max([*ck.offset_ids, *ck.commit_ids], default=None)
    if newest is None:
        return
    for op in state_inventory(ck).operators:
        later = [
            file
            for file in all_files(op)
            if file.version is not None and file.version > newest + 1 and not _is_newer(ck, file)
        ]
        if not later:
            continue
        snapshots = [
            f for f in later if op.format_version == 1 and f.kind in ("snapshot", "zip") and _is_trap(op, f)
        ]
        if snapshots:
            first = min(snapshots, key=lambda f: (f.version or 0, f.path))
            sentence = (
                f"{first.path} was written by a batch that the logs no longer have (they end at batch"
                f" {newest}). A start after batch {(first.version or 0) - 1} would load it without any check,"
                " and the results would be wrong."
            )
            yield finding(
                "STALE_SNAPSHOT",
                sentence,
                *(Evidence(f.path) for f in snapshots[:5]),
                place=str(op.operator_id),
            )
        highest = max(f.version or 0 for f in later)
        sentence = (
            f"Operator {op.operator_id} has state up to version {highest}, and batch {newest} leads to"
            f" version {newest + 1}."
        )
        yield finding("STATE_OF_LATER_BATCHES", sentence, Evidence(later[-1].path), place=str(op.operator_id))


def way_back(ck: Checkpoint) -> str:
    """Which batch the state allows to go back to, in one sentence: the number that matters for a repair.

    Setting the checkpoint back to batch B needs state version B + 1 in every partition of every store,
    offsets/B, offsets/B-1, commits/B.
    """
    ids = committed_ids(ck)
    versions: set[int] | None = None
    for op in state_inventory(ck).operators:
        own = set(restorable_versions(op, ids))
        versions = own if versions is None else versions & own
    batches = [
        v - 1
        for v in versions or ()
        if v - 1 in ck.offset_files and v - 1 in ck.commit_files and (v == 1 or v - 2 in ck.offset_files)
    ]
    if batches:
        best = max(batches)
        return (
            f"Every partition of every store can rebuild version {best + 1}, so the checkpoint can be set"
            f" back to batch {best}."
        )
    return "No kept batch has its state complete in every partition, so there is none to go back to."


def growth(ck: Checkpoint, entries: Sequence[OffsetEntry]) -> Iterator[Finding]:
    """State that grows while the watermark stands still, by the sizes of its snapshots (the HDFS-backed store
    writes whole ones)."""
    marks = {entry.watermark_ms or 0 for entry in entries}
    if len(entries) < STILL_BATCHES or len(marks) > 1:
        return
    for op in state_inventory(ck).operators:
        sizes: dict[int, int] = {}
        for file in all_files(op):
            if file.kind == "snapshot" and file.version is not None:
                sizes[file.version] = sizes.get(file.version, 0) + file.size_bytes
        kept = [sizes[version] for version in sorted(sizes)]
        if len(kept) < 3 or kept != sorted(kept) or kept[-1] < GROWTH * kept[0]:
            continue
        why = "there is no watermark" if marks == {0} else "the watermark stands still"
        sentence = (
            f"The state of operator {op.operator_id} grew from {kept[0]:,} to {kept[-1]:,} bytes over"
            f" {len(kept)} snapshots while {why}: nothing is removed from it."
        )
        newest = max(
            (f for f in all_files(op) if f.kind == "snapshot"), key=lambda f: (f.version or 0, f.path)
        )
        yield finding(
            "STATE_GROWS", sentence, Evidence(newest.path), certainty="inferred", place=str(op.operator_id)
        )


def _is_trap(op: OperatorState, file: StateFile) -> bool:
    """A zip is written anew for every version unless changelogs are in use; a snapshot is not."""
    return file.kind == "snapshot" or any(other.kind == "changelog" for other in all_files(op))


def _is_newer(ck: Checkpoint, file: StateFile) -> bool:
    """Written after the logs were listed: by a batch that a running query has planned since."""
    return file.modified_ms is not None and file.modified_ms > ck.read_at_ms


def metadata_and_schemas(ck: Checkpoint, version: Version) -> Iterator[Finding]:
    """Files that Spark misses without a word, and with them its own checks."""
    for op in state_inventory(ck).operators:
        place = str(op.operator_id)
        if (
            version >= V40
            and op.metadata_raw is None
            and not any(f.kind == "metadata" for f in op.own_files)
            and ck.commit_ids
        ):
            sentence = (
                f"Operator {op.operator_id} has no operator metadata (state/{op.operator_id}/_metadata): the"
                " next start does not notice when the query's stateful operators changed."
            )
            yield finding(
                "OPERATOR_METADATA_MISSING",
                sentence,
                Evidence(f"state/{op.operator_id}/_metadata/metadata"),
                place=place,
            )
        has_schema = any(f.kind == "schema" for f in (*all_files(op), *op.own_files))
        if not has_schema and op.partitions and ck.commit_ids:
            sentence = (
                f"Operator {op.operator_id} has no state schema: the next start writes one from today's query"
                " and compares nothing."
            )
            yield finding(
                "STATE_SCHEMA_MISSING",
                sentence,
                Evidence(f"state/{op.operator_id}/0/_metadata/schema"),
                place=place,
            )


def extra_partitions(ck: Checkpoint) -> Iterator[Finding]:
    """Directories of partitions that the pinned number does not reach: their rows are not read."""
    for op in state_inventory(ck).operators:
        expected = op.expected_partitions
        if expected is None:
            continue
        extra = sorted({p.partition_id for p in op.partitions if p.partition_id >= expected and p.files})
        if extra:
            sentence = (
                f"Operator {op.operator_id} has state in {len(extra)} more partitions than the {expected} of"
                f" the newest offset entry (partition {extra[0]} on): either it was repartitioned down, or"
                " the number in the log was changed and their rows are not read."
            )
            yield finding(
                "EXTRA_PARTITIONS",
                sentence,
                Evidence(f"state/{op.operator_id}/{extra[0]}"),
                certainty="inferred",
                place=f"{op.operator_id}/{extra[0]}",
            )


def all_files(op: OperatorState) -> list[StateFile]:
    """The files of every store of every partition."""
    return [file for partition in op.partitions for file in partition.files]
