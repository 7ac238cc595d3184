"""A Delta source as one row for a person: how far behind its table it is, and whether a restart finds what it
needs. ``judgement`` judges."""

from __future__ import annotations

from core.checkpoint import Checkpoint
from core.checkpoint.sources.delta import TablePosition
from core.connectors.delta.judgement import (
    SourceRange,
    is_available,
    is_same_table,
    judge_position,
    source_range,
    trailing_version,
)
from core.connectors.delta.log import Amount, DeltaLog
from core.connectors.delta.properties import retention_words
from core.connectors.model import DeltaSourceState
from core.messages import say
from core.messages.words import spanned
from core.sparklogs.evidence import Problem


def delta_source_state(ck: Checkpoint, key: str, log: DeltaLog) -> DeltaSourceState:
    """One Delta source against its table's log. Reads at most as many commits as the setting
    ``table_versions`` allows, for the lag."""
    asked = source_range(ck, key)
    unread = _unread_entry(ck)
    position = (
        asked.committed if asked.committed is not None else asked.before if asked.newest is None else None
    )
    same = _same_table(asked, log)
    available = is_available(asked, log) if same is not False else None
    lag = lag_after(position, log) if same is not False else None
    versions = None if position is None or same is False else judge_position(log, position).lag
    counted = lag if lag is not None and lag.is_counted else None
    is_whole = counted is not None or not log.not_read
    if unread is not None:
        return _position_not_read(key, log, unread)
    return DeltaSourceState(
        key=key,
        url=log.url,
        table_id=log.table_id,
        same_table=same,
        oldest=log.oldest,
        newest=log.newest,
        position=position.version if position is not None else None,
        needed_from=asked.needed_from,
        is_available=available,
        lag_versions=versions,
        lag_files=counted.files if counted is not None else None,
        lag_bytes=counted.size_bytes if counted is not None else None,
        lag_rows=counted.rows if counted is not None else None,
        retention_words=retention_words(log.configuration),
        sentence=_sentence(asked, position, log, same, available, versions, counted),
        certainty="certain" if same is not None and asked.newest is not None and is_whole else "needs_input",
        limit_words=lag.words if lag is not None else "",
        trouble=log.problems[0] if log.problems else None,
    )


def _unread_entry(ck: Checkpoint) -> Problem | None:
    """The offset entry that the position of the source stands in and that could not be read."""
    newest = ck.offset_ids[-1] if ck.offset_ids else None
    for batch_id in (newest, ck.last_committed_batch):
        entry = ck.offset(batch_id) if batch_id is not None and batch_id in ck.offset_files else None
        if isinstance(entry, Problem) and entry.is_read_failure:
            return entry
    return None


def _position_not_read(key: str, log: DeltaLog, problem: Problem) -> DeltaSourceState:
    return DeltaSourceState(
        key=key,
        url=log.url,
        table_id=log.table_id,
        same_table=None,
        oldest=log.oldest,
        newest=log.newest,
        position=None,
        needed_from=None,
        is_available=None,
        lag_versions=None,
        lag_files=None,
        lag_bytes=None,
        lag_rows=None,
        retention_words=retention_words(log.configuration),
        sentence=say("delta.position_not_read", reason=problem.reason.rstrip(".")),
        certainty="needs_input",
        trouble=log.problems[0] if log.problems else None,
    )


def _same_table(asked: SourceRange, log: DeltaLog) -> bool | None:
    position = asked.newest or asked.committed
    return None if position is None else is_same_table(position, log)


def lag_after(position: TablePosition | None, log: DeltaLog) -> Amount | None:
    """Files, bytes and rows between a position and the newest version; None without a position."""
    if position is None:
        return None
    if not position.in_first_snapshot:
        return log.rows_between(position.version, log.newest, position.index if position.files_done else -1)
    later = log.rows_between(position.version + 1, log.newest)
    files = log.snapshot_files(position.version)
    if files is None:
        return Amount(0, 0, None, say("delta.snapshot_files_not_known"), is_counted=False)
    rest = files[position.files_done :]
    rows = [file.rows for file in rest]
    known = (
        None
        if later.rows is None or None in rows
        else later.rows + sum(row for row in rows if row is not None)
    )
    words = later.words or ("" if known is not None else say("delta.no_row_numbers"))
    return Amount(
        later.files + len(rest),
        later.size_bytes + sum(file.size_bytes for file in rest),
        known,
        words,
        later.is_counted,
    )


def _sentence(
    asked: SourceRange,
    position: TablePosition | None,
    log: DeltaLog,
    same: bool | None,
    available: bool | None,
    versions: int | None,
    lag: Amount | None,
) -> str:
    newest = asked.newest
    if newest is None:
        return say("delta.no_offset", url=log.url, newest=log.newest)
    if same is False:
        return say("delta.other_table", url=log.url, table_id=log.table_id, read_id=newest.table_id)
    if trailing_version(newest) > log.newest:
        return say("delta.table_older", read=trailing_version(newest), newest=log.newest)
    if available is False and log.oldest is not None:
        return say("delta.log_begins_later", needed=asked.needed_from, oldest=log.oldest)
    if available is False:
        return say("delta.log_has_no_run", needed=asked.needed_from)
    if position is None or versions is None:
        return say("delta.nothing_committed", oldest=log.oldest, newest=log.newest)
    if versions == 0:
        return say("delta.caught_up", newest=log.newest)
    span = spanned(position.version, log.newest, "version")
    if lag is None:
        return say("delta.behind", versions=versions, span=span)
    if lag.rows is None:
        return say("delta.behind_by_files", versions=versions, span=span, files=lag.files)
    return say("delta.behind_by_rows", versions=versions, span=span, files=lag.files, rows=lag.rows)
