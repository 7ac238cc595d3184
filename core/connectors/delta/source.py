"""The position of a Delta source against the table's log: how far behind, and whether the restart still finds
what it needs.

Rules observed with Delta 4.4 on Spark 4.2. Spark asks a Delta source again for the range of batch N when
offsets N-1 and N differ, also when batch N is committed: so **the version of offset N-1 counts**, not that of
N. An offset ``(V, -1)`` needs nothing of version V itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.checkpoint import Checkpoint
from core.checkpoint.sources.delta import DELTA, DeltaTable, TablePosition
from core.checkpoint.sources.forms import parse
from core.connectors.delta.log import Amount, DeltaLog
from core.connectors.delta.properties import retention_words
from core.connectors.model import DeltaSourceState
from core.connectors.words import counted, span


@dataclass(frozen=True, slots=True)
class SourceRange:
    """What a restart asks a Delta source for. ``before`` and ``newest``: positions in offsets/N-1 and
    offsets/N; ``committed``: the end of the last committed batch, from which a lag counts. ``asks_again``:
    Spark reads the range between them once more."""

    before: TablePosition | None
    newest: TablePosition | None
    committed: TablePosition | None
    asks_again: bool

    @property
    def needed_from(self) -> int | None:
        """The version from which Spark needs the log. For batch 0 without a start option that is the first
        snapshot."""
        if self.newest is None:
            return None
        if not self.asks_again:
            return self.newest.version
        if self.before is not None:
            return self.before.version
        return self.newest.version if self.newest.in_first_snapshot else max(0, self.newest.version - 1)


def source_range(ck: Checkpoint, key: str) -> SourceRange:
    """The positions of a source in the newest two offsets and in the last committed batch. Texts that are no
    Delta offset count as none."""
    source = ck.source(key)
    kind = source.kind if source is not None and isinstance(source.kind, DeltaTable) else DELTA
    newest_id = ck.offset_ids[-1] if ck.offset_ids else None

    def at(batch_id: int | None) -> TablePosition | None:
        text = None if batch_id is None else ck.source_texts(batch_id, key)[1]
        return None if text is None else kind.position(parse(text))

    previous = ck.previous_offset_id(newest_id) if newest_id is not None else None
    before, newest = at(previous), at(newest_id)
    return SourceRange(before, newest, at(ck.last_committed_batch), newest is not None and before != newest)


def trailing_version(position: TablePosition) -> int:
    """The last version that is needed to read up to this position: V-1 where nothing of V was read."""
    return position.version if position.files_done else position.version - 1


def delta_source_state(ck: Checkpoint, key: str, log: DeltaLog) -> DeltaSourceState:
    """One Delta source against its table's log. Reads at most as many commits as the setting
    ``table_versions`` allows, for the lag."""
    asked = source_range(ck, key)
    position = (
        asked.committed if asked.committed is not None else asked.before if asked.newest is None else None
    )
    same = _same_table(asked, log)
    available = is_available(asked, log) if same is not False else None
    lag = lag_after(position, log) if same is not False else None
    versions = None if position is None or same is False else max(0, log.newest - position.version + 1)
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
        lag_files=lag.files if lag is not None and not lag.words.startswith("more than") else None,
        lag_bytes=lag.size_bytes if lag is not None and not lag.words.startswith("more than") else None,
        lag_rows=lag.rows if lag is not None else None,
        retention_words=retention_words(log.configuration),
        sentence=_sentence(asked, position, log, same, available, versions, lag),
        certainty="certain" if same is not None and asked.newest is not None else "needs_input",
        limit_words=lag.words if lag is not None else "",
        trouble=log.problems[0] if log.problems else None,
    )


def _same_table(asked: SourceRange, log: DeltaLog) -> bool | None:
    position = asked.newest or asked.committed
    return None if position is None or log.table_id is None else position.table_id == log.table_id


def is_available(asked: SourceRange, log: DeltaLog) -> bool | None:
    """Whether a restart finds all it asks for; None when there is no position. The table is taken to be the
    same one."""
    if asked.newest is None or asked.needed_from is None:
        return None
    needed = asked.needed_from
    snapshot = asked.newest.in_first_snapshot if asked.before is None else asked.before.in_first_snapshot
    if asked.asks_again and (snapshot or asked.before is None):
        if not log.can_rebuild(needed):
            return False
        needed += 1
    elif not asked.asks_again and asked.newest.in_first_snapshot and not log.can_rebuild(needed):
        return False
    if trailing_version(asked.newest) > log.newest:
        return False
    return needed > log.newest or (log.oldest is not None and log.oldest <= needed)


def lag_after(position: TablePosition | None, log: DeltaLog) -> Amount | None:
    """Files, bytes and rows between a position and the newest version; None without a position."""
    if position is None:
        return None
    if not position.in_first_snapshot:
        return log.rows_between(position.version, log.newest, position.index if position.files_done else -1)
    later = log.rows_between(position.version + 1, log.newest)
    files = log.snapshot_files(position.version)
    if files is None:
        return Amount(
            0,
            0,
            None,
            "more than the log tells: the files of the first snapshot cannot be worked out from it",
        )
    rest = files[position.files_done :]
    rows = [file.rows for file in rest]
    known = (
        None
        if later.rows is None or None in rows
        else later.rows + sum(row for row in rows if row is not None)
    )
    words = later.words or ("" if known is not None else "the log keeps no row numbers for some files")
    return Amount(
        later.files + len(rest), later.size_bytes + sum(file.size_bytes for file in rest), known, words
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
        return (
            f"The checkpoint has no Delta offset of this source that can be read; the table at {log.url} is"
            f" at version {log.newest}."
        )
    if same is False:
        return (
            f"The table at {log.url} is another one than the query read: its id is {log.table_id}, the"
            f" offsets say {newest.table_id} (recreated, replaced, or another directory). The restart fails."
        )
    if trailing_version(newest) > log.newest:
        return (
            f"The query has read up to version {trailing_version(newest)}, and the table ends at version"
            f" {log.newest}: an older copy of the table, or one that was set back. Once new commits fill"
            " these versions up again, what they hold is never read, without an error."
        )
    if available is False:
        starts = (
            f"begins at version {log.oldest}" if log.oldest is not None else "has no unbroken run of commits"
        )
        return (
            f"The restart needs the log from version {asked.needed_from} on (the position before the newest"
            f" batch), and the log {starts}."
        )
    if position is None or versions is None:
        return f"No batch is committed yet; the log goes from version {log.oldest} to {log.newest}."
    if versions == 0:
        return f"The query has read everything up to version {log.newest}, the newest."
    behind = (
        f"The query is {counted(versions, 'version')} behind"
        f" ({span(position.version, log.newest, 'version')})"
    )
    if lag is None or lag.words.startswith("more than"):
        return f"{behind}."
    rows = f", {counted(lag.rows, 'row')}" if lag.rows is not None else ""
    return f"{behind}: {counted(lag.files, 'file')}{rows}."
