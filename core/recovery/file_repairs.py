"""Which single files of a checkpoint can be repaired exactly, and what the next start does then.

A repair is planned only for damage that the forecast itself names, one after the other: after each the
forecast is made again of the checkpoint as it would be then (nothing is written for that). The plan counts
only when the last of these forecasts says that the query starts. Every rule was observed on Spark 4.3.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from core.analysis.forecast import Forecast, Level, read_forecast
from core.checkpoint import Checkpoint
from core.checkpoint.left_snapshots import (
    is_older_than_its_batch,
    snapshots_of_later_batches,
    snapshots_older_than_their_batch,
)
from core.checkpoint.model import CommitEntry, OffsetEntry, OperatorState, StateFile
from core.checkpoint.operator_metadata import StateSchema, schema_paths, split_schema_path
from core.checkpoint.restore_chain import first_missing
from core.checkpoint.sources.registry import parse
from core.checkpoint.state import read_schemas, state_inventory
from core.checkpoint.state_content.checksums import hidden_name
from core.checkpoint.state_content.stores import CHANGES, FULL
from core.connectors import ConnectorAnswers
from core.connectors.delta.log import DeltaLog
from core.connectors.model import SinkState
from core.connectors.sink import sink_state
from core.messages import say, say_of
from core.sparklogs.evidence import Problem
from core.storage import FileInfo

MOST_BYTES = 256 << 20
"""A larger file is not replaced: the script holds each by its digest, for which it is read here."""

Does = Literal["leave_out", "write", "copy"]

MOST_ROUNDS = 12
"""So many faults, one behind the other, are repaired at most."""

WATERMARK_IN_SCHEMA = frozenset({"stateStoreSave", "dedupe", "symmetricHashJoin", "globalLimit"})
"""Operators that use a watermark only through a column of their state, whose schema then has its delay."""

_UUID = re.compile(r'"id"\s*:\s*"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"')
_NEXT_WATERMARK = re.compile(r'"nextBatchWatermarkMs"\s*:\s*(\d+)\s*[,}]')
_OWN_WATERMARK = re.compile(r'("batchWatermarkMs"\s*:\s*)\d+')
_FULL_STATE = re.compile(r"[0-9]+(_[^./]+)?\.(snapshot|zip)")


@dataclass(frozen=True, slots=True)
class FileRepair:
    """One file that the repaired copy has differently. ``text`` is the content of a file that is written,
    None for a new query id that the script makes; ``source`` the file that is copied. ``was``: SHA-256 of the
    content now, None when the file is missing."""

    file: str
    does: Does
    why: str
    finding: str
    text: str | None = None
    source: str | None = None
    was: str | None = None


@dataclass(frozen=True, slots=True)
class FileRepairs:
    """The repairs of a checkpoint, in order. ``refused`` says why what is wrong cannot be repaired so (empty
    when it can, or when nothing is wrong). ``forecast`` is about the repaired copy.

    ``again_from``: the first batch that is planned or run again although the sink may have rows of it,
    ``again_to``: the last one whose rows come again, ``again_is_same``: with the end offsets it had.
    ``is_new_id``: the query id cannot be known any more. ``makes_state_again``: the batch has to write its
    state a second time (state checkpoint format 2), which it does not where the sink skips it (observed:
    "CheckpointInfo length: 0"). ``reruns_planned``: ``again_from`` is the planned batch, which runs
    again as it does without any repair.
    """

    repairs: tuple[FileRepair, ...] = ()
    refused: str = ""
    forecast: Forecast | None = None
    again_from: int | None = None
    again_to: int | None = None
    again_is_same: bool = False
    is_new_id: bool = False
    makes_state_again: bool = False
    reruns_planned: bool = False

    @property
    def is_possible(self) -> bool:
        """Whether there is something to repair, and the repaired copy starts."""
        return bool(self.repairs) and not self.refused


class _CannotError(Exception):
    """Why a fault is not repaired; the text is one sentence."""


@dataclass(slots=True)
class _Plan:
    """The checkpoint as it would be, while repairs are added."""

    original: Checkpoint
    ck: Checkpoint
    connectors: ConnectorAnswers
    changes: dict[str, bytes | None] = field(default_factory=dict)
    repairs: list[FileRepair] = field(default_factory=list)
    again_from: int | None = None
    again_to: int | None = None
    again_is_same: bool = True
    is_new_id: bool = False
    makes_state_again: bool = False

    @property
    def newest(self) -> int:
        return self.ck.offset_ids[-1]

    @property
    def committed(self) -> int:
        return max(self.ck.commit_ids, default=-1)

    @property
    def sink(self) -> SinkState | None:
        known = self.connectors.sink
        return None if known is None else sink_state(self.ck, known)

    def leave_out(self, path: str, why: str, finding: str) -> None:
        """The repaired copy does not have this file."""
        self.changes[path] = None
        self.changes[hidden_name(path)] = None
        self.repairs.append(FileRepair(path, "leave_out", why, finding, was=self._digest(path)))

    def write(self, path: str, text: str | None, why: str, finding: str, source: str | None = None) -> None:
        """The repaired copy has this text in the file; None for a new query id."""
        content = text if text is not None else f'{{"id":"{uuid.UUID(int=0)}"}}'
        self.changes[path] = content.encode()
        self.changes[hidden_name(path)] = None
        does: Does = "write" if source is None else "copy"
        stays = text if source is None else None
        self.repairs.append(FileRepair(path, does, why, finding, stays, source, self._digest(path)))

    def again(self, batch_id: int, *, is_same: bool, last: int | None = None) -> None:
        """Notes a batch that comes again, with what the batches after it up to ``last`` had read."""
        if self.again_from is None or batch_id < self.again_from:
            self.again_from = batch_id
        self.again_to = max(batch_id, last or 0, self.again_to or 0)
        self.again_is_same = self.again_is_same and is_same

    def _digest(self, path: str) -> str | None:
        seen = self.original.door.look([path])[path]
        if isinstance(seen, FileInfo) and (seen.size_bytes or 0) > MOST_BYTES:
            size, most = seen.size_bytes or 0, MOST_BYTES
            raise _CannotError(say("file_repairs.too_large", file=path, size_bytes=size, limit_bytes=most))
        content = self.original.door.read([FileInfo(path, None)])[path]
        return hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else None


def file_repairs(
    ck: Checkpoint, forecast: Forecast, connectors: ConnectorAnswers, level: Level = "normal"
) -> FileRepairs:
    """The repairs of single files that make the query start again, as far as each of them is exact.

    ``forecast`` is what the next start does now. With ``level`` deep the contents of the state files count
    too. Raises :class:`StorageError` when something cannot be listed.
    """
    return connectors.kept(
        ck, f"file_repairs {level}", lambda: _file_repairs(ck, forecast, connectors, level)
    )


def _file_repairs(
    ck: Checkpoint, forecast: Forecast, connectors: ConnectorAnswers, level: Level
) -> FileRepairs:
    plan = _Plan(ck, ck, connectors)
    answer = forecast
    if level == "deep" and forecast.outcome != "fail":
        answer = read_forecast(ck, forecast.spark, level=level, connectors=connectors).forecast
    for _ in range(MOST_ROUNDS):
        fault = _fault(answer)
        if fault is None:
            break
        try:
            RULES[fault](plan, answer)
        except _CannotError as why:
            if answer.outcome != "fail" and plan.repairs:
                break  # the query starts now; this risk was there before, and stays
            return FileRepairs(tuple(plan.repairs), str(why), answer)
        plan.ck = Checkpoint.open(ck.door.changed(plan.changes), ck.settings)
        answer = read_forecast(plan.ck, forecast.spark, level=level, connectors=connectors).forecast
    return _judged(plan, answer)


def _fault(answer: Forecast) -> str | None:
    """The finding id of what is repaired next; None when no rule is about what the forecast says."""
    if answer.outcome == "fail":
        return answer.reason if answer.reason in RULES else None
    return next((risk.id for risk in answer.risks if risk.id in RULES), None)


def _judged(plan: _Plan, answer: Forecast) -> FileRepairs:
    made = tuple(plan.repairs)
    if not made:
        if answer.outcome == "fail":
            instead = say_of("file_repairs", "INSTEAD", _instead(answer.reason or ""))
            return FileRepairs((), say("file_repairs.no_rule", sentence=answer.sentence, instead=instead))
        return FileRepairs((), say("file_repairs.nothing_wrong"))
    if answer.outcome not in ("resume", "rerun") or answer.certainty == "needs_input":
        return FileRepairs(made, say("file_repairs.still_fails", sentence=answer.sentence), answer)
    held = plan.sink.holds_up_to_batch if plan.sink is not None else None
    first = None if plan.again_is_same else plan.again_from
    if first is not None and held is not None and held >= first:
        return FileRepairs(made, say("file_repairs.sink_has_it", batch=first, newest=held), answer)
    reruns = answer.outcome == "rerun" and plan.again_from is None
    if reruns and answer.batch_id is not None:
        plan.again(answer.batch_id, is_same=True)
    if answer.risk("SOURCE_LOG_AHEAD") is not None and answer.batch_id is not None and not reruns:
        plan.again(answer.batch_id, is_same=False)  # logs were rolled back: the sink may have its rows
    return FileRepairs(
        made,
        forecast=answer,
        again_from=plan.again_from,
        again_to=plan.again_to,
        again_is_same=plan.again_is_same and plan.again_from is not None,
        reruns_planned=reruns,
        is_new_id=plan.is_new_id,
        makes_state_again=plan.makes_state_again,
    )


def _instead(reason: str) -> str:
    if reason.startswith(("STATE", "JOIN")):
        return "state"
    return "sources" if reason.startswith("SOURCE") else "other"


# ---------------------------------------------------------------- one rule per fault


def _stale_checksum(plan: _Plan, answer: Forecast) -> None:
    path = answer.evidence[0].path
    plan.leave_out(path, say("file_repairs.stale_checksum", file=path), "STALE_CHECKSUM_FILE")


def _unreadable_log(plan: _Plan, answer: Forecast) -> None:
    path = answer.evidence[0].path
    log, _, name = path.partition("/")
    number = int(name)
    if log == "commits":
        _commit(plan, number)
    elif number == plan.newest:
        _newest_offset(plan, number)
    else:
        _previous_offset(plan, number)


def _newest_offset(plan: _Plan, number: int) -> None:
    path = f"offsets/{number}"
    if number <= plan.committed:
        raise _CannotError(say("file_repairs.committed_offset", file=path, batch=number))
    if number != plan.committed + 1 or plan.ck.is_async:
        raise _CannotError(say("file_repairs.offset_gap_before", file=path, committed=plan.committed))
    plan.leave_out(path, say("file_repairs.newest_offset", batch=number), "LOG_FILE_UNREADABLE")
    plan.again(number, is_same=False)


def _offset_gap(plan: _Plan, answer: Forecast) -> None:
    _previous_offset(plan, int(answer.evidence[0].path.rpartition("/")[2]))


def _previous_offset(plan: _Plan, number: int) -> None:
    newest, path = plan.newest, f"offsets/{number}"
    entry = plan.ck.offset(newest)
    if number != newest - 1 or plan.ck.is_async or not isinstance(entry, OffsetEntry):
        raise _CannotError(say("file_repairs.not_the_previous", file=path))
    if newest not in plan.ck.commit_files:
        raise _CannotError(say("file_repairs.previous_of_pending", file=path, batch=newest))
    why = say("file_repairs.previous_offset", file=path, newest=newest)
    plan.write(path, entry.raw, why, "OFFSET_GAP", source=f"offsets/{newest}")


def _commit(plan: _Plan, number: int) -> None:
    """The newest commit cannot be read. It is there, so sink and state have its batch completely."""
    path, problem = f"commits/{number}", plan.ck.commit(number)
    raw = problem.raw.decode("utf-8", "replace") if isinstance(problem, Problem) else ""
    if number > plan.newest:
        _commits_ahead(plan)
        return
    version, watermark = _commit_version(plan, number, raw), _next_watermark(plan, number, raw)
    if version is not None and watermark is not None:
        text = f'v{version}\n{{"nextBatchWatermarkMs":{watermark}}}'
        why = say("file_repairs.commit_written", batch=number, watermark=watermark)
        plan.write(path, text, why, "LOG_FILE_UNREADABLE")
        return
    if number != plan.newest:
        raise _CannotError(say("file_repairs.commit_of_format_2", file=path, newest=plan.newest))
    reason = "commit_without_ids" if version is None else "commit_without_watermark"
    why = say("file_repairs.commit_left_out", batch=number, why=say_of("file_repairs", "UNKNOWN", reason))
    plan.leave_out(path, why, "LOG_FILE_UNREADABLE")
    plan.again(number, is_same=True)
    plan.makes_state_again = version is None and plan.ck.has_state


def _commit_version(plan: _Plan, number: int, raw: str) -> int | None:
    """The version of a commit file that says nothing but the watermark; None when it must say more."""
    if plan.ck.has_state and any(op.format_version == 2 for op in state_inventory(plan.ck).operators):
        return None
    before = plan.ck.commit(number - 1) if number - 1 in plan.ck.commit_files else None
    if isinstance(before, CommitEntry):
        return before.format_version if before.format_version < 3 else None
    named = re.match(r"v(\d+)", raw)
    return 1 if named is None or named[1] == "1" else None


def _next_watermark(plan: _Plan, number: int, raw: str) -> int | None:
    """The watermark after a batch: of the batch planned next, what is left of the file, or none at all; None
    when it is not known."""
    following = plan.ck.offset(number + 1) if number + 1 in plan.ck.offset_files else None
    if isinstance(following, OffsetEntry) and following.watermark_ms is not None:
        return following.watermark_ms
    left = _NEXT_WATERMARK.search(raw)
    if left is not None:
        return int(left[1])
    own = plan.ck.offset(number)
    if not isinstance(own, OffsetEntry):
        return None
    if not plan.ck.has_state:
        return own.watermark_ms or 0  # no row depends on it
    return 0 if not own.watermark_ms and _has_no_watermark(plan.ck) else None


def _has_no_watermark(ck: Checkpoint) -> bool:
    """Whether no operator looks at a watermark: each is of a kind that would show it in its schema."""
    for operator in state_inventory(ck).operators:
        schemas = read_schemas(ck, operator.operator_id)
        known = [schema for schema in schemas if isinstance(schema, StateSchema)]
        if operator.name not in WATERMARK_IN_SCHEMA or not known or len(known) < len(schemas):
            return False
        if any(schema.watermark_delay_ms is not None for schema in known):
            return False
    return True


def _commit_ahead(plan: _Plan, answer: Forecast) -> None:
    _commits_ahead(plan)


def _commits_ahead(plan: _Plan) -> None:
    newest = plan.newest
    ahead = [number for number in plan.ck.commit_ids if number > newest]
    for number in ahead:
        why = say("file_repairs.commit_ahead", batch=number, newest=newest)
        plan.leave_out(f"commits/{number}", why, "COMMIT_AHEAD")
    plan.again(newest + 1, is_same=False, last=ahead[-1])


def _metadata(plan: _Plan, answer: Forecast) -> None:
    problem = plan.ck.metadata_problem
    finding = "METADATA_MISSING" if problem is None else "METADATA_UNREADABLE"
    left = _UUID.search(problem.raw.decode("utf-8", "replace")) if problem is not None else None
    old = left[1] if left is not None else _id_in_sink(plan)
    if old is not None:
        why = (
            say("file_repairs.metadata_left", query_id=old)
            if left is not None
            else say("file_repairs.metadata_in_sink", query_id=old)
        )
        plan.write("metadata", f'{{"id":"{old}"}}', why, finding)
        return
    plan.is_new_id = True
    plan.write("metadata", None, say("file_repairs.metadata_new"), finding)


def _id_in_sink(plan: _Plan) -> str | None:
    """The one query whose newest batch in the Delta table is the newest one here; None when there is none, or
    more than one."""
    log = plan.connectors.sink
    if not isinstance(log, DeltaLog):
        return None
    fitting = (plan.committed, plan.newest)
    found = [
        app
        for app, transaction in log.transactions.items()
        if transaction.version in fitting and _UUID.fullmatch(f'"id":"{app}"')
    ]
    return found[0] if len(found) == 1 else None


def _damaged_state(plan: _Plan, answer: Forecast) -> None:
    """A snapshot that cannot be read is left out; whether the changes before it are whole, the next forecast
    says."""
    full = [item.path for item in answer.evidence if _FULL_STATE.fullmatch(item.path.rpartition("/")[2])]
    if not full:
        raise _CannotError(say("file_repairs.state_not_full", sentence=answer.sentence))
    for path in dict.fromkeys(full):
        why = say("file_repairs.damaged_snapshot", file=path)
        plan.leave_out(path, why, answer.reason or "STATE_FILE_DAMAGED")


def _stale_snapshot(plan: _Plan, answer: Forecast) -> None:
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
        raise _CannotError(say("file_repairs.snapshot_in_use", file=oldest.path, first=first, batch=batch))
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
            raise _CannotError(say("file_repairs.changes_missing", file=missing, batch=max(version - 2, 0)))
        _check_chain(ck, rest, version)


def _check_chain(ck: Checkpoint, files: Sequence[StateFile], version: int) -> None:
    """Raises where the snapshot before, or changes after it, may be of the abandoned batches too."""
    older = [f for f in files if f.kind in FULL and f.size_bytes and (f.version or 0) <= version]
    start = max(older, key=lambda file: file.version or 0, default=None)
    first = 0 if start is None else start.version or 0
    changes = {file.version or 0: file for file in files if file.kind in CHANGES}
    if start is not None and not _is_after_its_changes(ck, start, changes.get(first)):
        raise _CannotError(say("file_repairs.snapshot_before", file=start.path))
    for number in range(first + 1, version + 1):
        if is_older_than_its_batch(ck, changes[number]):
            raise _CannotError(say("file_repairs.changes_older", file=changes[number].path, batch=number - 1))


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


def _schema_elsewhere(plan: _Plan, answer: Forecast) -> None:
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
            raise _CannotError(say("file_repairs.schema_not_here", file=named))
        text = text.replace(f'"{named}"', f'"{here}/{own}"')
    plan.write(path, text, say("file_repairs.schema_paths", file=path), fault)


def _unplanned_entry(plan: _Plan, answer: Forecast) -> None:
    """The newest entry of a file source log, half written: Spark writes it before the offsets that refer to
    it, so a stop in between leaves files that no batch has planned, and the next start lists them again."""
    path = answer.evidence[0].path
    directory, _, name = path.rpartition("/")
    number = int(name.removesuffix(".compact")) if name.removesuffix(".compact").isdecimal() else -1
    entry = plan.ck.offset(plan.newest) if plan.ck.offset_ids else None
    for source in plan.ck.sources:
        if source.directory != directory or not isinstance(entry, OffsetEntry):
            continue
        line = entry.source(source.key)
        if line is None or line.raw is None:
            continue
        if number > source.kind.positions(parse(line.raw)).get("log id", number):
            plan.leave_out(path, say("file_repairs.unplanned_entry", file=path), "SOURCE_LOG_UNREADABLE")
            # a rollback of offsets and commits by one batch looks the same
            plan.again(plan.newest + 1, is_same=False)
            return
    raise _CannotError(say("file_repairs.source_log_named", file=path))


def _watermark(plan: _Plan, answer: Forecast) -> None:
    """A watermark that somebody changed in the newest offset entry: the commit before names what it was."""
    number = plan.newest
    entry = plan.ck.offset(number)
    commits = (plan.ck.commit(i) for i in (number - 1, number))
    # without the commit before, the own one: a start takes the later of that and the entry's
    known = next((each for each in commits if isinstance(each, CommitEntry)), None)
    was = None if known is None else known.next_watermark_ms
    if known is None or was is None or not isinstance(entry, OffsetEntry):
        raise _CannotError(say("file_repairs.watermark_not_known", file=f"offsets/{number}"))
    text = _OWN_WATERMARK.sub(rf"\g<1>{was}", entry.raw, count=1)
    finding = next(risk.id for risk in answer.risks if risk.id in _WATERMARK_RISKS)
    path = entry.evidence.path
    plan.write(path, text, say("file_repairs.watermark", file=path, was=was, commit=known.batch_id), finding)


_WATERMARK_RISKS = ("WATERMARK_WENT_BACK", "WATERMARK_RAISED")

RULES: Mapping[str, Callable[[_Plan, Forecast], None]] = {
    "STALE_CHECKSUM_FILE": _stale_checksum,
    "LOG_FILE_UNREADABLE": _unreadable_log,
    "OFFSET_GAP": _offset_gap,
    "COMMIT_AHEAD": _commit_ahead,
    "METADATA_MISSING": _metadata,
    "METADATA_UNREADABLE": _metadata,
    "STATE_FILE_DAMAGED": _damaged_state,
    "STATE_CHECKSUM_MISMATCH": _damaged_state,
    "STATE_NOT_RESTORABLE": _damaged_state,
    "STALE_SNAPSHOT": _stale_snapshot,
    "STATE_SCHEMA_ELSEWHERE": _schema_elsewhere,
    "STATE_SCHEMA_GONE": _schema_elsewhere,
    "SOURCE_LOG_UNREADABLE": _unplanned_entry,
    **dict.fromkeys(_WATERMARK_RISKS, _watermark),
}
"""By finding id; any other fault is not one of a single file."""

__all__ = ["RULES", "FileRepair", "FileRepairs", "file_repairs"]
