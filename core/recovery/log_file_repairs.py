"""Repairs of files of the logs: offsets, commits, metadata, source logs and hidden checksum files. One rule
per fault, by finding id."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from core.analysis.forecast import Forecast
from core.checkpoint import Checkpoint
from core.checkpoint.model import CommitEntry, OffsetEntry
from core.checkpoint.operator_metadata import StateSchema
from core.checkpoint.sources.registry import parse
from core.checkpoint.state import read_schemas, state_inventory
from core.connectors.delta.log import DeltaLog
from core.messages import say, say_of
from core.recovery.file_repair_plan import CannotRepairError, RepairPlan
from core.sparklogs.evidence import Problem

WATERMARK_IN_SCHEMA = frozenset({"stateStoreSave", "dedupe", "symmetricHashJoin", "globalLimit"})
"""Operators that use a watermark only through a column of their state, whose schema then has its delay."""

_UUID = re.compile(r'"id"\s*:\s*"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"')
_NEXT_WATERMARK = re.compile(r'"nextBatchWatermarkMs"\s*:\s*(\d+)\s*[,}]')
_OWN_WATERMARK = re.compile(r'("batchWatermarkMs"\s*:\s*)\d+')


def _stale_checksum(plan: RepairPlan, answer: Forecast) -> None:
    path = answer.evidence[0].path
    plan.leave_out(path, say("file_repairs.stale_checksum", file=path), "STALE_CHECKSUM_FILE")


def _unreadable_log(plan: RepairPlan, answer: Forecast) -> None:
    path = answer.evidence[0].path
    log, _, name = path.partition("/")
    number = int(name)
    if log == "commits":
        _commit(plan, number)
    elif number == plan.newest:
        _newest_offset(plan, number)
    else:
        _previous_offset(plan, number)


def _newest_offset(plan: RepairPlan, number: int) -> None:
    path = f"offsets/{number}"
    if number <= plan.committed:
        raise CannotRepairError(say("file_repairs.committed_offset", file=path, batch=number))
    if number != plan.committed + 1 or plan.ck.is_async:
        raise CannotRepairError(say("file_repairs.offset_gap_before", file=path, committed=plan.committed))
    plan.leave_out(path, say("file_repairs.newest_offset", batch=number), "LOG_FILE_UNREADABLE")
    plan.again(number, is_same=False)


def _offset_gap(plan: RepairPlan, answer: Forecast) -> None:
    _previous_offset(plan, int(answer.evidence[0].path.rpartition("/")[2]))


def _previous_offset(plan: RepairPlan, number: int) -> None:
    newest, path = plan.newest, f"offsets/{number}"
    entry = plan.ck.offset(newest)
    if number != newest - 1 or plan.ck.is_async or not isinstance(entry, OffsetEntry):
        raise CannotRepairError(say("file_repairs.not_the_previous", file=path))
    if newest not in plan.ck.commit_files:
        raise CannotRepairError(say("file_repairs.previous_of_pending", file=path, batch=newest))
    why = say("file_repairs.previous_offset", file=path, newest=newest)
    plan.write(path, entry.raw, why, "OFFSET_GAP", source=f"offsets/{newest}")


def _commit(plan: RepairPlan, number: int) -> None:
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
        raise CannotRepairError(say("file_repairs.commit_of_format_2", file=path, newest=plan.newest))
    reason = "commit_without_ids" if version is None else "commit_without_watermark"
    why = say("file_repairs.commit_left_out", batch=number, why=say_of("file_repairs", "UNKNOWN", reason))
    plan.leave_out(path, why, "LOG_FILE_UNREADABLE")
    plan.again(number, is_same=True)
    plan.makes_state_again = version is None and plan.ck.has_state


def _commit_version(plan: RepairPlan, number: int, raw: str) -> int | None:
    """The version of a commit file that says nothing but the watermark; None when it must say more."""
    if plan.ck.has_state and any(op.format_version == 2 for op in state_inventory(plan.ck).operators):
        return None
    before = plan.ck.commit(number - 1) if number - 1 in plan.ck.commit_files else None
    if isinstance(before, CommitEntry):
        return before.format_version if before.format_version < 3 else None
    named = re.match(r"v(\d+)", raw)
    return 1 if named is None or named[1] == "1" else None


def _next_watermark(plan: RepairPlan, number: int, raw: str) -> int | None:
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


def _commit_ahead(plan: RepairPlan, answer: Forecast) -> None:
    _commits_ahead(plan)


def _commits_ahead(plan: RepairPlan) -> None:
    newest = plan.newest
    ahead = [number for number in plan.ck.commit_ids if number > newest]
    for number in ahead:
        why = say("file_repairs.commit_ahead", batch=number, newest=newest)
        plan.leave_out(f"commits/{number}", why, "COMMIT_AHEAD")
    plan.again(newest + 1, is_same=False, last=ahead[-1])


def _metadata(plan: RepairPlan, answer: Forecast) -> None:
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


def _id_in_sink(plan: RepairPlan) -> str | None:
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


def _unplanned_entry(plan: RepairPlan, answer: Forecast) -> None:
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
    raise CannotRepairError(say("file_repairs.source_log_named", file=path))


def _watermark(plan: RepairPlan, answer: Forecast) -> None:
    """A watermark that somebody changed in the newest offset entry: the commit before names what it was."""
    number = plan.newest
    entry = plan.ck.offset(number)
    commits = (plan.ck.commit(i) for i in (number - 1, number))
    # without the commit before, the own one: a start takes the later of that and the entry's
    known = next((each for each in commits if isinstance(each, CommitEntry)), None)
    was = None if known is None else known.next_watermark_ms
    if known is None or was is None or not isinstance(entry, OffsetEntry):
        raise CannotRepairError(say("file_repairs.watermark_not_known", file=f"offsets/{number}"))
    text = _OWN_WATERMARK.sub(rf"\g<1>{was}", entry.raw, count=1)
    finding = next(risk.id for risk in answer.risks if risk.id in _WATERMARK_RISKS)
    path = entry.evidence.path
    plan.write(path, text, say("file_repairs.watermark", file=path, was=was, commit=known.batch_id), finding)


_WATERMARK_RISKS = ("WATERMARK_WENT_BACK", "WATERMARK_RAISED")

LOG_RULES: Mapping[str, Callable[[RepairPlan, Forecast], None]] = {
    "STALE_CHECKSUM_FILE": _stale_checksum,
    "LOG_FILE_UNREADABLE": _unreadable_log,
    "OFFSET_GAP": _offset_gap,
    "COMMIT_AHEAD": _commit_ahead,
    "METADATA_MISSING": _metadata,
    "METADATA_UNREADABLE": _metadata,
    "SOURCE_LOG_UNREADABLE": _unplanned_entry,
    **dict.fromkeys(_WATERMARK_RISKS, _watermark),
}
