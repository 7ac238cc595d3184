"""The facts of a checkpoint as one JSON object: the answer of ``python -m core inspect``. Adding fields is
fine, renaming breaks users."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from core.checkpoint.model import CommitEntry, Leftover, OffsetEntry, OperatorState, StateInventory
from core.checkpoint.progress import NOT_KNOWN, parsed
from core.checkpoint.state import state_inventory
from core.errors import StorageError
from core.sparklogs.evidence import Problem, not_listed

if TYPE_CHECKING:
    from core.checkpoint.checkpoint import Checkpoint

SHOWN_BATCHES = 100


def inspect(ck: Checkpoint, all_batches: bool = False) -> dict[str, object]:
    """The answer of ``inspect``: the newest 100 batches, or all. Reads what it needs, ``state/`` included
    (one wave each)."""
    ids = sorted({*ck.offset_ids, *ck.commit_ids})
    shown = ids if all_batches else ids[-SHOWN_BATCHES:]
    before = [previous for i in shown[:1] if (previous := ck.previous_offset_id(i)) is not None]
    ck.load([*before, *shown])
    progress = {source.key: ck.progress(source.key, shown) for source in ck.sources}
    amounts = {
        key: dict(zip(found.batch_ids.tolist(), found.total.tolist(), strict=True))
        for key, found in progress.items()
    }
    batches = [_batch(ck, i, amounts) for i in shown]
    state, refused = state_of(ck)
    tracking, writer = ck.tracking, ck.written_by
    return {
        "schema_version": 1,
        "location": ck.location.url,
        "read_at": utc_text(ck.read_at_ms),
        "query_id": ck.query_id,
        "offsets": _log(ck, "offsets"),
        "commits": _log(ck, "commits"),
        "last_committed_batch": ck.last_committed_batch,
        "pending_batch": ck.pending_batch,
        "batches": batches,
        "sources": [
            {
                "key": source.key,
                "kind": source.kind.name,
                "partitions": source.partitions,
                "directory": source.directory,
                "advance_unit": progress[source.key].unit or None,
            }
            for source in ck.sources
        ],
        "operators": [_operator(operator) for operator in (state.operators if state is not None else ())],
        "conf": dict(ck.conf),
        "conf_changes": [
            {"batch": change.batch_id, "key": change.key, "from": change.before, "to": change.after}
            for change in ck.conf_changes()
        ],
        "progress_tracking": tracking.mode,
        "progress_tracking_certainty": tracking.certainty,
        "progress_tracking_why": tracking.why,
        "written_by": {
            "at_least": writer.at_least,
            "at_most": writer.at_most,
            "why": writer.why,
            "certainty": writer.certainty,
        },
        "leftovers": [
            _leftover(item) for item in (*ck.leftovers, *(state.leftovers if state is not None else ()))
        ],
        "problems": [_problem(item) for item in (*ck.problems, *refused, *_state_problems(state))],
    }


def state_of(ck: Checkpoint) -> tuple[StateInventory | None, list[Problem]]:
    """The state inventory; a ``state/`` that cannot be listed is a problem and takes nothing from the rest."""
    try:
        return (state_inventory(ck) if ck.has_state else None), []
    except StorageError as error:
        return None, [not_listed("state", error)]


def utc_text(epoch_ms: int) -> str:
    """An ISO time in UTC, to the second, with Z."""
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _log(ck: Checkpoint, which: str) -> dict[str, object]:
    tracking = ck.tracking
    offsets = which == "offsets"
    ids = ck.offset_ids if offsets else ck.commit_ids
    missing = tracking.missing_offsets if offsets else tracking.missing_commits
    paths = {file.path: i for i, file in (ck.offset_files if offsets else ck.commit_files).items()}
    entries = (ck.offset(i) if offsets else ck.commit(i) for i in ids[: -SHOWN_BATCHES - 1 : -1])
    versions = (entry.format_version for entry in entries if isinstance(entry, OffsetEntry | CommitEntry))
    return {
        "ids": list(ids),
        "first": ids[0] if ids else None,
        "last": ids[-1] if ids else None,
        "missing": list(missing),
        "missing_count": tracking.missing_offset_count if offsets else tracking.missing_commit_count,
        "unreadable": sorted(
            {paths[item.evidence.path] for item in ck.problems if item.evidence.path in paths}
        ),
        "format_version": next(versions, None),
    }


def _batch(ck: Checkpoint, batch_id: int, amounts: Mapping[str, Mapping[int, int]]) -> dict[str, object]:
    offset, commit = ck.offset(batch_id), ck.commit(batch_id)
    offset_file, commit_file = ck.offset_files.get(batch_id), ck.commit_files.get(batch_id)
    entry = offset if isinstance(offset, OffsetEntry) else None
    return {
        "id": batch_id,
        "timestamp_ms": None if entry is None else entry.timestamp_ms,
        "watermark_ms": None if entry is None else entry.watermark_ms,
        "next_watermark_ms": commit.next_watermark_ms if isinstance(commit, CommitEntry) else None,
        "committed": commit_file is not None,
        "planned_ms": offset_file.modified_ms if offset_file is not None else None,
        "committed_ms": commit_file.modified_ms if commit_file is not None else None,
        "no_data": ck.is_no_data(batch_id),
        "repartition": ck.is_repartition(batch_id),
        "sources": [
            _source(ck, batch_id, line.key, amounts.get(line.key, {}))
            for line in (() if entry is None else entry.sources)
        ],
    }


def _source(ck: Checkpoint, batch_id: int, key: str, amounts: Mapping[int, int]) -> dict[str, object]:
    start, end = ck.source_texts(batch_id, key)
    amount = amounts.get(batch_id, NOT_KNOWN)
    return {
        "key": key,
        "start": None if start is None else parsed(start),
        "end": None if end is None else parsed(end),
        "advance": None if amount == NOT_KNOWN else amount,
    }


def _operator(operator: OperatorState) -> dict[str, object]:
    restorable = operator.restorable
    return {
        "id": operator.operator_id,
        "name": operator.name,
        "partitions": len({partition.partition_id for partition in operator.partitions}),
        "stores": list(operator.stores),
        "provider": operator.provider,
        "format_version": operator.format_version,
        "bytes": operator.size_bytes,
        "files": operator.file_count,
        "restorable": {
            "newest_common_version": restorable.newest_common_version,
            "needed_version": restorable.needed_version,
            "broken_partitions": [
                {"partition": name, "missing": path} for name, path in restorable.broken_partitions
            ],
        },
    }


def _leftover(item: Leftover) -> dict[str, object]:
    return {"path": item.path, "kind": item.kind, "bytes": item.size_bytes}


def _problem(item: Problem) -> dict[str, object]:
    return {
        "path": item.evidence.path,
        "line": item.evidence.line,
        "condition": item.condition,
        "reason": item.reason,
    }


def _state_problems(state: StateInventory | None) -> list[Problem]:
    return [item for operator in (state.operators if state is not None else ()) for item in operator.problems]
