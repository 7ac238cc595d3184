"""What has happened to a sink: who wrote which batches, when and how many rows, and the signs of duplicates
and gaps in it.

Rules (observed with Delta 4.4 on Spark 4.2 and with the file sink of Spark 4.3): a Delta table has the query
ID and the batch ID of each batch in the version that wrote it; the numbers of one query have no gaps, and
none comes twice. A checkpoint that was deleted and created again has a new query ID and begins at batch 0.
The file sink logs batch IDs alone and skips those it has, without a trace: that the batch was planned after
its entry was written is the only sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from core.checkpoint import Checkpoint
from core.checkpoint.model import OffsetEntry
from core.connectors.answers import TableCommit
from core.connectors.delta.log import DeltaLog
from core.connectors.file_sink_log import FileSinkLog
from core.connectors.input_files import is_outside
from core.storage import Location
from core.storage.location import has_one_clock

Writer = Literal["query", "application", "log"]
"""query: a streaming query by its ID; application: a foreachBatch sink by its transaction ID; log: the log of
a file sink, which names nobody."""

_RESETS = ("restore", "overwrite", "replace", "clone")
MOST_IDS = 1_000  # of missing numbers: a file can claim a range of any length


@dataclass(frozen=True, slots=True)
class SinkRun:
    """Batches of one writer, their IDs ascending. ``rows`` None: one of them keeps no number. ``missing``:
    IDs between the first and the last that no version has, although every version between them was read.
    The versions of a file sink are None. Times are milliseconds since 1970."""

    writer: Writer
    writer_id: str
    is_own: bool
    first_batch: int
    last_batch: int
    batches: int
    missing: tuple[int, ...]
    first_version: int | None
    last_version: int | None
    rows: int | None
    first_ms: int | None
    last_ms: int | None
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BegunAgain:
    """``later`` began again at numbers that ``earlier``, of another ID, had written before. ``same_rows``: so
    many batches of both have a number in common and the same number of rows, and none has another.
    ``first_rows``: the rows of batch 0 of the later one, where they are as many as all of the earlier one, or
    more: a file source without a limit reads everything that is there in its first batch. None otherwise."""

    earlier: SinkRun
    later: SinkRun
    common: int
    same_rows: bool
    first_rows: int | None = None


@dataclass(frozen=True, slots=True)
class SinkHistory:
    """The runs of batches in a sink, oldest first, and what is odd about them.

    ``twice``: batch ID -> the two versions that have it, of this query. ``skipped``: batches of this
    checkpoint that were planned after the sink had their number. ``gone``: data files that the log of a file
    sink names and that are not there; ``unknown``: data files that it does not name. ``elsewhere``: another
    directory in which that log says that data files lie; empty when there is none, or nobody can tell.
    ``limit_words`` says what was not read.
    """

    runs: tuple[SinkRun, ...] = ()
    again: tuple[BegunAgain, ...] = ()
    twice: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    skipped: tuple[int, ...] = ()
    gone: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    has_data_files: bool = True
    elsewhere: str = ""
    limit_words: str = ""

    @property
    def own(self) -> tuple[SinkRun, ...]:
        """The runs of this query."""
        return tuple(run for run in self.runs if run.is_own)


def sink_history(ck: Checkpoint, what: DeltaLog | FileSinkLog | Location | None) -> SinkHistory | None:
    """The history of the sink; None when it was not asked or keeps no log. Reads what the sink checks read:
    the newest versions of the table, or the log of the file sink and one listing of its directory."""
    if isinstance(what, DeltaLog):
        return _of_table(ck, what)
    if isinstance(what, FileSinkLog):
        return _of_output(ck, what)
    return None


@dataclass(slots=True)
class _Run:
    writer: Writer
    writer_id: str
    batches: list[tuple[int, TableCommit]]

    def frozen(self, own_id: str | None, is_unbroken: bool) -> SinkRun:
        ids = [batch_id for batch_id, _ in self.batches]
        commits = [commit for _, commit in self.batches]
        times = [commit.timestamp_ms for commit in commits if commit.timestamp_ms is not None]
        rows = [commit.rows for commit in commits]
        return SinkRun(
            writer=self.writer,
            writer_id=self.writer_id,
            is_own=self.writer_id == own_id,
            first_batch=ids[0],
            last_batch=ids[-1],
            batches=len(ids),
            missing=_between(ids) if is_unbroken else (),
            first_version=commits[0].version,
            last_version=commits[-1].version,
            rows=None if None in rows else sum(row for row in rows if row is not None),
            first_ms=min(times, default=None),
            last_ms=max(times, default=None),
            paths=tuple(dict.fromkeys((commits[0].path, commits[-1].path))),
        )


def _of_table(ck: Checkpoint, log: DeltaLog) -> SinkHistory:
    read = log.commits()
    commits = sorted(read.commits, key=lambda commit: commit.version)
    versions = [commit.version for commit in commits]
    is_unbroken = not versions or versions[-1] - versions[0] == len(versions) - 1
    runs = _runs(commits)
    resets = [commit.version for commit in commits if commit.kind in _RESETS]
    frozen = [run.frozen(ck.query_id, is_unbroken) for run in runs]
    again = [
        found
        for at, later in enumerate(frozen)
        if (found := _began_again(runs, frozen, at, resets)) is not None
        and (later.is_own or found.earlier.is_own)
    ]
    own = [run for run in runs if run.writer_id == ck.query_id]
    return SinkHistory(
        runs=tuple(frozen),
        again=tuple(again),
        twice=_twice(own, resets),
        skipped=_skipped(
            ck, {batch_id: commit.timestamp_ms for run in own for batch_id, commit in run.batches}
        ),
        limit_words=read.limit_words,
    )


def _runs(commits: Iterable[TableCommit]) -> list[_Run]:
    """The runs of all writers in the order in which they began. A number that is not above the one before
    begins a new run."""
    runs: list[_Run] = []
    current: dict[str, _Run] = {}
    for commit in commits:
        for writer, writer_id, batch_id in _written(commit):
            run = current.get(writer_id)
            if run is None or batch_id <= run.batches[-1][0]:
                run = current[writer_id] = _Run(writer, writer_id, [])
                runs.append(run)
            run.batches.append((batch_id, commit))
    return runs


def _written(commit: TableCommit) -> list[tuple[Writer, str, int]]:
    """Who wrote which batch in this version."""
    if commit.query_id is not None and commit.batch_id is not None:
        return [("query", commit.query_id, commit.batch_id)]
    return [("application", app_id, version) for app_id, version in commit.transactions]


def _began_again(
    runs: Sequence[_Run], frozen: Sequence[SinkRun], at: int, resets: Sequence[int]
) -> BegunAgain | None:
    """The newest run of another query that had ended before this one began at a number it has too. Queries
    that write side by side are none, nor is a table that was emptied or restored in between."""
    later = frozen[at]
    for index in range(at - 1, -1, -1):
        earlier = frozen[index]
        if earlier.writer != "query" or later.writer != "query" or earlier.writer_id == later.writer_id:
            continue
        ended, began = earlier.last_version or 0, later.first_version or 0
        if ended >= began or later.first_batch > earlier.last_batch:
            continue
        if any(ended < version < began for version in resets):
            continue
        before = {batch_id: commit.rows for batch_id, commit in runs[index].batches}
        pairs = [(before[i], commit.rows) for i, commit in runs[at].batches if i in before]
        same = [first for first, second in pairs if first == second and first is not None]
        is_same = len(same) == len(pairs) and sum(same) > 0
        return BegunAgain(earlier, later, len(pairs), is_same, _first_rows(runs[at], earlier))
    return None


def _first_rows(later: _Run, earlier: SinkRun) -> int | None:
    """The rows of batch 0, where they may hold all of an earlier run."""
    batch_id, commit = later.batches[0]
    rows = commit.rows if batch_id == 0 else None
    return rows if rows and earlier.rows and rows >= earlier.rows else None


def _twice(own: Sequence[_Run], resets: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Batches of this query that two versions have, with nothing between them that took rows away."""
    seen: dict[int, int] = {}
    found: dict[int, tuple[int, int]] = {}
    for run in own:
        for batch_id, commit in run.batches:
            if batch_id in seen and not any(seen[batch_id] < v < commit.version for v in resets):
                found.setdefault(batch_id, (seen[batch_id], commit.version))
            seen[batch_id] = commit.version
    return found


_STORE_SLACK_MS = 2_000
"""How far times of one store may be apart: object stores and archives keep whole seconds."""


def planned_after_written(
    ck: Checkpoint, written_ms: Mapping[int, int | None], sink: Location | None = None
) -> tuple[int, ...]:
    """Batches that this checkpoint planned after the sink had their number. By the clocks of the two logs,
    which may be apart by the setting ``clock_slack_ms``; more exactly with ``sink``, where it lies in the
    store of the checkpoint: then by the times of two files there, as far as that of the offset file is the
    one of its batch (a copy has others)."""
    slack_ms = ck.settings.clock_slack_ms
    is_one_clock = sink is not None and has_one_clock(sink, ck.location)
    found = []
    for batch_id in sorted(ck.loaded_ids):
        entry, time_ms = ck.offset(batch_id), written_ms.get(batch_id)
        if not isinstance(entry, OffsetEntry) or not entry.timestamp_ms or time_ms is None:
            continue
        planned_ms, apart_ms = entry.timestamp_ms, slack_ms
        file_ms = ck.offset_files[batch_id].modified_ms if is_one_clock else None
        if file_ms is not None and abs(file_ms - planned_ms) <= slack_ms:
            planned_ms, apart_ms = file_ms, min(slack_ms, _STORE_SLACK_MS)
        if time_ms + apart_ms < planned_ms:
            found.append(batch_id)
    return tuple(found)


def _skipped(
    ck: Checkpoint, written_ms: Mapping[int, int | None], sink: Location | None = None
) -> tuple[int, ...]:
    """Those that are committed."""
    found = planned_after_written(ck, written_ms, sink)
    return tuple(batch for batch in found if batch in ck.commit_files)


def _of_output(ck: Checkpoint, log: FileSinkLog) -> SinkHistory:
    read = log.batches()
    batches = sorted(read.batches, key=lambda batch: batch.batch_id)
    runs: tuple[SinkRun, ...] = ()
    if batches:
        times = [batch.modified_ms for batch in batches if batch.modified_ms is not None]
        run = SinkRun(
            writer="log",
            writer_id="",
            is_own=False,
            first_batch=batches[0].batch_id,
            last_batch=batches[-1].batch_id,
            batches=len(batches),
            missing=log.missing[:MOST_IDS],
            first_version=None,
            last_version=None,
            rows=None,
            first_ms=min(times, default=None),
            last_ms=max(times, default=None),
            paths=tuple(dict.fromkeys((batches[0].path, batches[-1].path))),
        )
        runs = (run,)
    compared = log.unknown_files
    return SinkHistory(
        runs=runs,
        skipped=_skipped(ck, {batch.batch_id: batch.modified_ms for batch in batches}, log.location),
        gone=log.gone_files,
        has_data_files=log.has_data_files,
        elsewhere=_elsewhere(ck, log),
        unknown=tuple(info.path for info in compared.files),
        limit_words=" ".join(part for part in (read.limit_words, compared.words) if part),
    )


def _elsewhere(ck: Checkpoint, log: FileSinkLog) -> str:
    return next(
        (
            directory
            for directory in log.named_directories
            if is_outside(f"{directory}/file", log.location, ck.location, ck.settings)
        ),
        "",
    )


def _between(ids: Sequence[int]) -> tuple[int, ...]:
    """The numbers that are missing between ascending ones, at most ``MOST_IDS``."""
    found: list[int] = []
    for before, after in pairwise(ids):
        found += range(before + 1, min(after, before + 1 + MOST_IDS - len(found)))
        if len(found) >= MOST_IDS:
            break
    return tuple(found)
