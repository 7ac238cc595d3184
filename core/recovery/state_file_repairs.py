"""Repairs of state files: snapshots that are damaged, or were left by batches that were rolled back; metadata
of operators that names another place. One rule per fault, by finding id."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from core.analysis.forecast import Forecast
from core.checkpoint import Checkpoint
from core.checkpoint.left_snapshots import (
    is_older_than_its_batch,
    snapshots_of_later_batches,
    snapshots_older_than_their_batch,
)
from core.checkpoint.model import OperatorState, StateFile
from core.checkpoint.operator_metadata import schema_paths, split_schema_path
from core.checkpoint.restore_chain import first_missing
from core.checkpoint.state import state_inventory
from core.checkpoint.state_content.stores import CHANGES, FULL
from core.messages import say
from core.recovery.file_repair_plan import CannotRepairError, RepairPlan

_FULL_STATE = re.compile(r"[0-9]+(_[^./]+)?\.(snapshot|zip)")


def _damaged_state(plan: RepairPlan, answer: Forecast) -> None:
    """A snapshot that cannot be read is left out; whether the changes before it are whole, the next forecast
    says."""
    full = [item.path for item in answer.evidence if _FULL_STATE.fullmatch(item.path.rpartition("/")[2])]
    if not full:
        raise CannotRepairError(say("file_repairs.state_not_full", sentence=answer.sentence))
    for path in dict.fromkeys(full):
        why = say("file_repairs.damaged_snapshot", file=path)
        plan.leave_out(path, why, answer.reason or "STATE_FILE_DAMAGED")


def _stale_snapshot(plan: RepairPlan, answer: Forecast) -> None:
    """Snapshots of batches that were rolled back are left out: the start rebuilds the state from the changes.

    That is exact for versions that no batch in the logs has reached. A version that a start loads may have
    been loaded by an earlier start, and the changes after it were then computed from wrong state: only the
    newest version, which no batch has computed with yet, is exact.
    """
    ck = plan.ck
    version = answer.batch_id
    if version is None:
        version = plan.newest + (plan.newest in ck.commit_files)
    for operator in state_inventory(ck).operators:
        later = snapshots_of_later_batches(ck, operator)
        loaded = snapshots_older_than_their_batch(ck, operator, version)
        _check_rebuilt(ck, operator, loaded, version)
        checksums = {file.path for part in operator.partitions for file in part.files}
        for file in (*later, *loaded):
            why = (
                say("file_repairs.later_snapshot", file=file.path, version=file.version)
                if (file.version or 0) > version
                else say("file_repairs.loaded_snapshot", file=file.path, version=file.version)
            )
            plan.leave_out(file.path, why, "STALE_SNAPSHOT")
            if f"{file.path}.crc" in checksums:
                why = say("file_repairs.checksum_of_snapshot", file=file.path)
                plan.leave_out(f"{file.path}.crc", why, "STALE_SNAPSHOT")


def _check_rebuilt(ck: Checkpoint, operator: OperatorState, stale: Sequence[StateFile], version: int) -> None:
    """Raises unless the other files of these stores rebuild this version as its batch left it."""
    oldest = min(stale, key=lambda file: file.version or 0, default=None)
    if oldest is not None and oldest.version is not None and oldest.version < version:
        first, batch = oldest.version, max(oldest.version - 2, 0)
        raise CannotRepairError(
            say("file_repairs.snapshot_in_use", file=oldest.path, first=first, batch=batch)
        )
    left_out = {file.path for file in stale}
    stores = {(file.partition_id, file.store) for file in stale}
    for part in operator.partitions:
        if (part.partition_id, part.store) not in stores:
            continue
        rest = tuple(file for file in part.files if file.path not in left_out)
        partitions = tuple(
            replace(each, files=rest) if each is part else each for each in operator.partitions
        )
        missing = first_missing(
            replace(operator, partitions=partitions), part.partition_id, part.store, version
        )
        if missing is not None:
            raise CannotRepairError(
                say("file_repairs.changes_missing", file=missing, batch=max(version - 2, 0))
            )
        _check_chain(ck, rest, version)


def _check_chain(ck: Checkpoint, files: Sequence[StateFile], version: int) -> None:
    """Raises where the snapshot before, or changes after it, may be of the abandoned batches too."""
    older = [f for f in files if f.kind in FULL and f.size_bytes and (f.version or 0) <= version]
    start = max(older, key=lambda file: file.version or 0, default=None)
    first = 0 if start is None else start.version or 0
    changes = {file.version or 0: file for file in files if file.kind in CHANGES}
    if start is not None and not _is_after_its_changes(ck, start, changes.get(first)):
        raise CannotRepairError(say("file_repairs.snapshot_before", file=start.path))
    for number in range(first + 1, version + 1):
        if is_older_than_its_batch(ck, changes[number]):
            raise CannotRepairError(
                say("file_repairs.changes_older", file=changes[number].path, batch=number - 1)
            )


def _is_after_its_changes(ck: Checkpoint, snapshot: StateFile, changes: StateFile | None) -> bool:
    """Whether a snapshot is known to be of the batches in the logs: it is not older than the plan of its
    batch, or, where that is purged, not older than the changes of its version."""
    if snapshot.modified_ms is None:
        return False
    if (snapshot.version or 0) - 1 in ck.offset_files:
        return not is_older_than_its_batch(ck, snapshot)
    slack_ms = ck.settings.clock_slack_ms
    return (
        changes is not None
        and changes.modified_ms is not None
        and changes.modified_ms <= snapshot.modified_ms + slack_ms
    )


def _schema_elsewhere(plan: RepairPlan, answer: Forecast) -> None:
    """The metadata of an operator names its schema files at the place where the checkpoint was. They are
    here, too: in the copy the names lead to its own. Exact on 4.0 and 4.3."""
    risk = answer.risk("STATE_SCHEMA_ELSEWHERE")
    fault, path = (
        ("STATE_SCHEMA_GONE", answer.evidence[0].path) if risk is None else (risk.id, risk.evidence[0].path)
    )
    files = {
        op.operator_id: {file.path for file in op.own_files} for op in state_inventory(plan.ck).operators
    }
    operator = next(op for op in state_inventory(plan.ck).operators if path in files[op.operator_id])
    text, here = operator.metadata_raw or "", plan.ck.door.origin.url.rstrip("/")
    for named in schema_paths(text):
        _, own = split_schema_path(named)
        if own not in files[operator.operator_id]:
            raise CannotRepairError(say("file_repairs.schema_not_here", file=named))
        text = text.replace(f'"{named}"', f'"{here}/{own}"')
    plan.write(path, text, say("file_repairs.schema_paths", file=path), fault)


STATE_RULES: Mapping[str, Callable[[RepairPlan, Forecast], None]] = {
    "STATE_FILE_DAMAGED": _damaged_state,
    "STATE_CHECKSUM_MISMATCH": _damaged_state,
    "STATE_NOT_RESTORABLE": _damaged_state,
    "STALE_SNAPSHOT": _stale_snapshot,
    "STATE_SCHEMA_ELSEWHERE": _schema_elsewhere,
    "STATE_SCHEMA_GONE": _schema_elsewhere,
}
