"""What the sink holds of this query, and so what happens to the batches that run next.

Rules (observed with Delta 4.4 on Spark 4.2 and with the file sink of Spark 3.3 to 4.3): both compare a
number, never the content. A Delta table skips a batch whose id is not above the newest transaction version of
the query's id; the file sink skips a batch whose id is not above the newest id in ``_spark_metadata``. A
skipped batch writes nothing, leaves no trace in the sink, and its rows are lost unless they are already
there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

from core.checkpoint import Checkpoint
from core.connectors.answers import TableCommit, TableTransaction
from core.connectors.delta.log import DeltaLog
from core.connectors.file_sink_log import LOG, FileSinkLog
from core.connectors.model import ConcernKind, SinkBatch, SinkState, StoppedCompaction
from core.connectors.sink_history import planned_after_written
from core.messages import say
from core.messages.words import capital, spanned
from core.sparklogs.evidence import Certainty
from core.storage import Location


def sink_state(ck: Checkpoint, what: DeltaLog | FileSinkLog | Location) -> SinkState:
    """The sink against the checkpoint. A bare :class:`Location` is an output that keeps no log of batches.
    Reads the sink's newest commits."""
    if isinstance(what, DeltaLog):
        return _delta(ck, what)
    if isinstance(what, FileSinkLog):
        return _file(ck, what)
    if not ck.offset_ids and not ck.commit_ids:
        return SinkState("plain", what.url, None, None, None, say("sink.no_log_yet", url=what.url), "certain")
    if not ck.commit_ids:
        return SinkState("plain", what.url, None, None, None, say("sink.no_log", url=what.url), "needs_input")
    committed, coming = ck.commit_ids[-1], ck.next_batch.batch_id
    sentence = say("sink.no_log_under_old", url=what.url, committed=committed, next=coming)
    concern: tuple[ConcernKind, str] = ("no_log", sentence)
    return SinkState("plain", what.url, None, None, None, sentence, "needs_input", concerns=(concern,))


def as_answered(ck: Checkpoint, state: SinkState, there: object, answer: str | None) -> SinkState:
    """The state of the sink once somebody has said what it is (``answer``: "file", "delta" or None).
    ``there`` is what was found at its place."""
    if answer == "file" and any(kind == "no_log" for kind, _ in state.concerns):
        committed, coming = ck.commit_ids[-1], ck.next_batch.batch_id
        sentence = say("sink.file_log_gone", url=state.url, committed=committed, next=coming)
        return replace(state, sentence=sentence, certainty="certain", concerns=(("log_gone", sentence),))
    is_unknown = any(kind == "unknown" for kind, _ in state.concerns)
    if answer == "delta" and is_unknown and isinstance(there, DeltaLog) and _was_never_written(there):
        sentence = say("sink.never_written", url=state.url, committed=ck.commit_ids[-1])
        return replace(
            state, sentence=sentence, certainty="inferred", concerns=(("never_written", sentence),)
        )
    return state


def _was_never_written(log: DeltaLog) -> bool:
    """Whether the whole log is there, and no query has written a batch with its ID. A transaction that has
    expired stays in a log of which nothing was cleaned up."""
    is_whole = log.oldest == 0 and not log.gaps and not log.not_read and log.transactions_known
    return is_whole and not log.transactions


def _log_not_read(log: DeltaLog) -> SinkState:
    """Which batches a table holds is not known when a file that may tell could not be read."""
    paths = [item.path.rpartition("/")[2] for item in log.not_read]
    return _not_known(log, say("sink.log_not_read", url=log.url, paths=paths))


def _not_known(log: DeltaLog, sentence: str) -> SinkState:
    trouble = log.not_read[0].sentence if log.not_read else None
    return SinkState("delta", log.url, None, None, None, sentence, "needs_input", trouble=trouble)


def _before_the_unread(log: DeltaLog, commits: Sequence[TableCommit]) -> Sequence[TableCommit]:
    """The commits, newest first, up to one that could not be read: it may be the newest of this query."""
    unread = {item.path.removeprefix(f"{log.url.rstrip('/')}/") for item in log.not_read}
    oldest = min((commit.version for commit in commits), default=log.newest)
    there = log.names_from(oldest).commits
    barrier = max((v for v, info in there.items() if info.path in unread), default=-1)
    return [commit for commit in commits if commit.version > barrier]


Fate = Literal["written", "skipped"] | None
Note = tuple[ConcernKind | None, str]
"""A sentence beside the first one, and what it puts at risk."""


@dataclass(frozen=True, slots=True)
class _Judged:
    """The comparison of two numbers: newest batch in the sink (None: none of this query) and newest batch of
    the checkpoint."""

    pending: Fate
    skips_up_to: int | None
    sentence: str
    concern: ConcernKind | None = None
    is_sure: bool = True


def _stopped(ck: Checkpoint, log: FileSinkLog, fate: Fate) -> StoppedCompaction | None:
    """What stops the compaction of the log, where the batch that runs next is to make one (seen with 3.5.9
    and 4.3: it fails at once)."""
    batch = ck.next_batch.batch_id
    if fate == "skipped" or not log.compacts_at(batch):
        return None
    if log.missing:
        return StoppedCompaction(batch, log.path_of(log.missing[0]))
    if log.batch_ids and log.batch_ids[-1] + 1 < batch:  # the newest entries were removed
        return StoppedCompaction(batch, f"{LOG}/{log.batch_ids[-1] + 1}")
    return next((StoppedCompaction(batch, each.evidence.path, each) for each in log.damaged), None)


def _next_compaction(ck: Checkpoint, log: FileSinkLog) -> int:
    """The batch that compacts the log next."""
    first = ck.next_batch.batch_id
    return next(batch for batch in count(first) if log.compacts_at(batch))


def _with_compaction(stopped: StoppedCompaction | None, sentence: str) -> str:
    """The trouble of a log that stops its next compaction, with the batch where that is the next one."""
    if stopped is None:
        return sentence
    return f"{sentence} {say('sink.compacts_next', batch=stopped.batch_id)}"


def _concerns(judged: _Judged, notes: Iterable[Note]) -> tuple[tuple[ConcernKind, str], ...]:
    return tuple(
        (kind, sentence) for kind, sentence in ((judged.concern, judged.sentence), *notes) if kind is not None
    )


def _delta(ck: Checkpoint, log: DeltaLog) -> SinkState:
    query_id = ck.query_id
    newest = log.transactions.get(query_id) if query_id is not None else None
    expired = newest is not None and log.is_expired(newest)
    holds = newest.version if newest is not None and not expired else None
    if ck.metadata_problem is not None and ck.metadata_problem.is_read_failure:
        reason = ck.metadata_problem.reason.rstrip(".")
        return _not_known(log, say("sink.query_id_not_read", reason=reason))
    if query_id is None and ck.metadata_problem is None and not ck.offset_ids and not ck.commit_ids:
        judged = _new_id(ck, log)
    elif query_id is None:
        judged = _Judged(None, None, _no_id(ck))
    elif holds is None:
        judged = _nothing_held(ck, log, newest)
    else:
        judged = _compare(ck, holds, "delta")
    read = log.commits()
    if not log.transactions_known and log.not_read:
        return _log_not_read(log)
    commits = _before_the_unread(log, read.commits)
    is_whole = not (read.limit_words or log.not_read) and log.oldest == 0 and not log.gaps
    batches = _delta_batches(ck, read.commits, query_id, holds, is_whole=is_whole)
    notes: list[Note] = [
        *_since(commits, query_id),
        *_expiry(log, newest, expired),
        *_gone(ck, batches, holds, read.commits),
        *_stateful(ck, judged),
    ]
    is_skipped = judged.pending == "skipped" and judged.concern is None
    if is_skipped and any(kind == "changed" for kind, _ in notes):
        judged = replace(judged, sentence=say("sink.pending_in_changed_table", pending=ck.pending_batch))
    certainty: Certainty = "certain" if judged.is_sure else "needs_input"
    if not log.transactions_known and holds is None:
        certainty = "needs_input"
        notes.append((None, say("sink.transactions_not_read")))
    evidence = tuple(
        commit.path
        for commit in read.commits
        if holds is not None and (query_id, holds) in commit.transactions and query_id is not None
    )
    return SinkState(
        "delta",
        log.url,
        holds,
        judged.pending,
        judged.skips_up_to,
        judged.sentence,
        certainty,
        batches,
        tuple(sentence for _, sentence in notes),
        evidence[:1],
        read.limit_words,
        _first_problem(log.problems),
        _concerns(judged, notes),
        restored_to_batch=_restored_to(commits, query_id),
    )


def _file(ck: Checkpoint, log: FileSinkLog) -> SinkState:
    holds = log.newest
    if holds is None:
        pending = ck.pending_batch
        sentence = (
            say("sink.log_empty", url=log.url)
            if pending is None
            else say("sink.log_empty_pending_written", url=log.url, pending=pending)
        )
        judged = _Judged("written" if pending is not None else None, None, sentence)
    else:
        judged = _compare(ck, holds, "file")
    read = log.batches()
    held = {batch.batch_id for batch in read.batches}
    rows = [SinkBatch(b.batch_id, None, b.modified_ms, None, b.files, "written") for b in read.batches]
    rows += [SinkBatch(i, None, None, None, None, "missing") for i in _after(ck, holds) if i not in held]
    unknown = log.unknown_files
    if unknown.files:
        newest = max((info.modified_ms or 0 for info in unknown.files), default=0) or None
        rows.append(SinkBatch(None, None, newest, None, len(unknown.files), "uncommitted"))
    notes: list[Note] = list(_stateful(ck, judged))
    if unknown.files:
        sentence = say(
            "sink.files_without_entry",
            count=len(unknown.files),
            url=log.url,
            example=unknown.files[0].path,
        )
        notes.append((None, sentence))
    earlier = planned_after_written(ck, {b.batch_id: b.modified_ms for b in read.batches}, log.location)
    if holds is not None:
        both = {b.batch_id for b in read.batches} & {*ck.loaded_ids}
        judged = _of_this_query(ck, log, judged, earlier, is_all=bool(both) and both <= {*earlier})
    stopped = _stopped(ck, log, judged.pending)
    if log.missing:
        sentence = say(
            "sink.log_hole", batches=spanned(log.missing[0], log.missing[-1]), first=log.missing[0]
        )
        notes.append(("log_hole", _with_compaction(stopped, sentence)))
    elif log.damaged:
        next_id = ck.next_batch.batch_id
        paths = [trouble.evidence.path for trouble in log.damaged]
        is_skipped = judged.pending == "skipped" and log.path_of(next_id) in paths
        if is_skipped:
            judged = replace(judged, sentence=say("sink.pending_entry_damaged", pending=next_id))
        reason = log.damaged[0].reason.rstrip(".")
        sentence = say("sink.log_damaged", count=len(paths), reason=reason)
        notes.append(("entry_damaged" if is_skipped else "log_damaged", _with_compaction(stopped, sentence)))
    elif judged.concern == "behind" and judged.pending != "skipped":
        later = f"{judged.sentence} {say('sink.compacts_later', batch=_next_compaction(ck, log))}"
        judged = replace(judged, sentence=_with_compaction(stopped, judged.sentence) if stopped else later)
    elif holds is None and ck.commit_ids:
        notes.append(("unknown", say("sink.output_emptied", committed=ck.commit_ids[-1])))
    if unknown.words:
        notes.append((None, capital(unknown.words.rstrip(".")) + "."))
    return SinkState(
        "file",
        log.url,
        holds,
        judged.pending,
        judged.skips_up_to,
        judged.sentence,
        "certain",
        tuple(sorted(rows, key=lambda row: -1 if row.batch_id is None else row.batch_id)),
        tuple(sentence for _, sentence in notes),
        (log.path_of(holds),) if holds is not None else (),
        read.limit_words,
        _first_problem(log.problems),
        _concerns(judged, notes),
        stopped,
        earlier,
    )


def _of_this_query(
    ck: Checkpoint, log: FileSinkLog, judged: _Judged, earlier: Sequence[int], *, is_all: bool
) -> _Judged:
    """The comparison, where the log has a number before this checkpoint planned the batch (it is another
    query's, or an earlier checkpoint's), or data files of the planned batch are gone."""
    pending = ck.pending_batch
    if judged.concern == "behind":
        if not is_all:
            return judged
        return replace(judged, sentence=say("sink.log_of_another", url=log.url), concern="unknown")
    if pending is None or judged.pending != "skipped" or judged.concern is not None:
        return judged
    if pending in earlier:
        return replace(judged, sentence=say("sink.pending_of_another", pending=pending), concern="ahead")
    if log.has_data_files and (gone := log.gone_of(pending)):  # not a copy of the log alone
        sentence = say("sink.pending_files_gone", pending=pending, count=len(gone), example=gone[0])
        return replace(judged, sentence=sentence, concern="behind")
    return judged


def _compare(ck: Checkpoint, holds: int, log: Literal["delta", "file"]) -> _Judged:
    """The comparison for a sink that has batches of this query up to ``holds``."""
    pending, newest = ck.pending_batch, ck.offset_ids[-1] if ck.offset_ids else None
    first = ck.next_batch.batch_id
    skips = holds if holds >= first else None
    is_table = log == "delta"
    if newest is None:
        batches = spanned(0, holds)
        sentence = (
            say("sink.empty_checkpoint_table", batches=batches, holds=holds)
            if is_table
            else say("sink.empty_checkpoint_output", batches=batches, holds=holds)
        )
        return _Judged("skipped", skips, sentence, "ahead")
    if holds > newest:
        sentence = (
            say(
                "sink.table_ahead",
                holds=holds,
                batches=spanned(first, holds),
                n=first - 1 if pending is None else pending,
            )
            if is_table
            else say("sink.output_ahead", holds=holds, newest=newest)
        )
        return _Judged("skipped", skips, sentence, "ahead")
    if pending is not None and holds >= pending:
        sentence = (
            say("sink.pending_in_table", pending=pending)
            if is_table
            else say("sink.pending_in_output", pending=pending)
        )
        return _Judged("skipped", skips, sentence)
    head = say("sink.table_up_to", holds=holds) if is_table else say("sink.output_up_to", holds=holds)
    fate: Fate = "written" if pending is not None else None
    absent = _after(ck, holds)
    if absent and ck.last_committed_batch is not None:
        batches = spanned(absent[0], absent[-1])
        count = absent[-1] - absent[0] + 1
        behind = (
            say("sink.table_behind", head=head, batches=batches, count=count)
            if is_table
            else say("sink.output_behind", head=head, batches=batches, count=count)
        )
        if pending is not None:
            behind = say("sink.and_pending_written", before=behind, pending=pending)
        return _Judged(fate, None, behind, "behind")
    if pending is not None:
        return _Judged(fate, None, say("sink.and_pending_written", before=head, pending=pending))
    return _Judged(None, None, say("sink.and_nothing_pending", before=head))


def _after(ck: Checkpoint, holds: int | None) -> list[int]:
    """Batches that the checkpoint has committed and that are above what the sink holds."""
    return [
        i
        for i in ck.commit_ids
        if (holds is None or i > holds) and i in ck.offset_files and i != ck.pending_batch
    ]


def _no_id(ck: Checkpoint) -> str:
    if ck.pending_batch is not None:
        return say("sink.no_query_id_pending", pending=ck.pending_batch)
    return say("sink.no_query_id")


def _new_id(ck: Checkpoint, log: DeltaLog) -> _Judged:
    """A start that makes a new query id, which no table knows: nothing is skipped (observed: 30 rows became
    60)."""
    if not log.transactions:
        return _Judged(None, None, say("sink.first_batch_written"))
    newest = max(log.transactions.values(), key=lambda item: item.last_updated_ms or 0)
    sentence = say(
        "sink.new_query_id",
        url=log.url,
        others=len(log.transactions),
        app_id=newest.app_id[:60],
        batches=spanned(0, newest.version),
    )
    return _Judged(None, None, sentence, "new_id")


def _nothing_held(ck: Checkpoint, log: DeltaLog, expired: TableTransaction | None) -> _Judged:
    """A table that has no batch of this query that counts; ``expired``: the one that has expired."""
    pending = ck.pending_batch
    fate: Fate = "written" if pending is not None else None
    if expired is not None:
        if pending is None:
            return _Judged(fate, None, say("sink.transaction_expired", newest=expired.version))
        if expired.version >= pending:
            sentence = say("sink.transaction_expired_twice", newest=expired.version, pending=pending)
            return _Judged(fate, None, sentence, "forgotten")
        sentence = say("sink.transaction_expired_pending", newest=expired.version, pending=pending)
        return _Judged(fate, None, sentence)
    others = [
        item
        for item in log.transactions.values()
        if item.app_id != ck.query_id and item.version >= ck.next_batch.batch_id
    ]
    if others and pending is not None:
        # Of a foreachBatch sink with an id of its own only its code knows the name.
        newest = max(others, key=lambda item: item.last_updated_ms or 0)
        sentence = say(
            "sink.other_applications",
            url=log.url,
            others=len(others),
            pending=pending,
            app_id=newest.app_id[:60],
            newest=newest.version,
        )
        return _Judged(None, None, sentence, "unknown" if ck.commit_ids else None, is_sure=False)
    if not ck.offset_ids:
        return _Judged(fate, None, say("sink.first_batch_written"))
    sentence = (
        say("sink.no_batch_of_query", url=log.url)
        if pending is None
        else say("sink.no_batch_of_query_pending", url=log.url, pending=pending)
    )
    return _Judged(fate, None, sentence, "unknown" if ck.commit_ids else None)


def _delta_batches(
    ck: Checkpoint, commits: Iterable[TableCommit], query_id: str | None, holds: int | None, *, is_whole: bool
) -> tuple[SinkBatch, ...]:
    """One row per version, oldest first, then the batches that should be there and are not."""
    rows: list[SinkBatch] = []
    held: set[int] = set()
    for commit in commits:
        batch_id = commit.batch_id if commit.query_id == query_id else None
        batch_id = next((version for app, version in commit.transactions if app == query_id), batch_id)
        if query_id is None or batch_id is None:
            rows.append(
                SinkBatch(
                    None,
                    commit.version,
                    commit.timestamp_ms,
                    commit.rows,
                    commit.adds,
                    "foreign",
                    commit.operation or "",
                )
            )
        else:
            held.add(batch_id)
            rows.append(
                SinkBatch(
                    batch_id,
                    commit.version,
                    commit.timestamp_ms,
                    commit.rows,
                    commit.adds,
                    "written",
                    commit.operation or "",
                )
            )
    rows.reverse()
    absent = set(_after(ck, holds)) if holds is not None else set()
    if is_whole and held:
        absent |= {
            i for i in ck.commit_ids if i not in held and i != ck.pending_batch and i in ck.offset_files
        }
    rows += [SinkBatch(i, None, None, None, None, "missing") for i in sorted(absent - held)]
    if (
        ck.pending_batch is not None
        and (holds is None or holds < ck.pending_batch)
        and ck.pending_batch not in held
    ):
        rows.append(SinkBatch(ck.pending_batch, None, None, None, None, "uncommitted"))
    return tuple(rows)


def _since(commits: Iterable[TableCommit], query_id: str | None) -> list[Note]:
    """What others did to the table after the newest batch of this query that can be seen."""
    notes: list[Note] = []
    foreign: list[TableCommit] = []
    for commit in commits:  # newest first
        if query_id is not None and (
            commit.query_id == query_id or any(app == query_id for app, _ in commit.transactions)
        ):
            break
        foreign.append(commit)
    else:
        return []
    for commit in foreign:
        change = _change(commit)
        if change is not None:
            notes.append(("changed", change))
    others = [commit for commit in foreign if commit.kind == "other" and (commit.adds or commit.removes)]
    if others:
        names = ", ".join(dict.fromkeys(commit.operation or "unknown" for commit in others))
        notes.append((None, say("sink.commits_of_others", count=len(others), operations=names[:80])))
    return notes


def _restored_to(commits: Iterable[TableCommit], query_id: str | None) -> int | None:
    """The newest batch of this query in the version to which the table was put back, where that was the last
    thing that changed it, after its newest batch. None where it was not, or that is not known."""
    below: int | None = None
    for commit in commits:  # newest first
        if below is not None and commit.version > below:
            continue
        batch = next((version for app, version in commit.transactions if app == query_id), None)
        if batch is not None:
            return batch if below is not None else None
        if _change(commit) is not None:
            if commit.restored_to is None:
                return None
            below = commit.restored_to
    return None


def _change(commit: TableCommit) -> str | None:
    """A commit after which the table may have something else than the batches wrote; None for any other."""
    if commit.kind == "restore":
        return say("sink.restored_since", version=commit.version)
    if commit.kind == "overwrite":
        return say("sink.overwritten_since", version=commit.version)
    if commit.kind == "replace":
        return say("sink.replaced_since", version=commit.version)
    return say("sink.cloned_since", version=commit.version) if commit.kind == "clone" else None


def _expiry(log: DeltaLog, newest: TableTransaction | None, expired: bool) -> list[Note]:
    if newest is None or expired or log.transaction_retention_ms is None:
        return []
    retention = (log.configuration or {}).get("delta.setTransactionRetentionDuration", "")
    return [(None, say("sink.transactions_expire", retention=retention))]


def _gone(
    ck: Checkpoint, batches: Iterable[SinkBatch], holds: int | None, commits: Sequence[TableCommit]
) -> list[Note]:
    """Batches that no version of the whole log holds although the newest one is there.

    They are missing for certain only when the table is younger than their commit: before, another kind of
    sink may have written them.
    """
    ids = [
        r.batch_id
        for r in batches
        if r.fate == "missing" and r.batch_id is not None and holds is not None and r.batch_id < holds
    ]
    if not ids or not commits:
        return []
    made_ms = commits[-1].timestamp_ms
    times = [ck.commit_files[i].modified_ms for i in ids]
    is_younger = made_ms is not None and all(time is not None and time < made_ms for time in times)
    sentence = (
        say("sink.batches_missing_table_younger", ids=ids, count=len(ids))
        if is_younger
        else say("sink.batches_missing", ids=ids, count=len(ids))
    )
    return [("behind" if is_younger else None, sentence)]


def _stateful(ck: Checkpoint, judged: _Judged) -> list[Note]:
    """A skipped batch is not executed and writes no state (observed)."""
    newest = ck.offset_ids[-1] if ck.offset_ids else -1
    if judged.skips_up_to is None or judged.skips_up_to <= newest or not ck.has_state:
        return []
    batches = spanned(ck.next_batch.batch_id, judged.skips_up_to)
    return [(None, say("sink.skipped_batches_write_no_state", batches=batches))]


def _first_problem(problems: tuple[str, ...]) -> str | None:
    if not problems:
        return None
    if len(problems) == 1:
        return problems[0]
    return say("sink.first_of_problems", first=problems[0], more=len(problems) - 1)
