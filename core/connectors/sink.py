"""What the sink holds of this query, and so what happens to the batches that run next.

Rules (observed with Delta 4.4 on Spark 4.2 and with the file sink of Spark 3.3 to 4.3): both compare a
number, never the content. A Delta table skips a batch whose id is not above the newest transaction version of
the query's id; the file sink skips a batch whose id is not above the newest id in ``_spark_metadata``. A
skipped batch writes nothing, leaves no trace in the sink, and its rows are lost unless they are already
there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from core.checkpoint import Checkpoint
from core.connectors.answers import TableCommit, TableTransaction
from core.connectors.delta.log import DeltaLog
from core.connectors.file_sink_log import FileSinkLog
from core.connectors.model import ConcernKind, SinkBatch, SinkState
from core.connectors.words import are, capital, counted, listed, span
from core.sparklogs.evidence import Certainty
from core.storage import Location

# Commits after which the table may hold something else than the batches wrote.
_CHANGES = {
    "restore": "RESTORE",
    "overwrite": "an overwrite",
    "replace": "CREATE OR REPLACE TABLE",
    "clone": "CLONE",
}
NEW_ID = (
    "Way out: a new id in metadata (the batches are then written again, also what the table holds beyond"
    " batch {n}), for Delta after a RESTORE of the table to the version of batch {n} (then exact)."
)


def sink_state(ck: Checkpoint, what: DeltaLog | FileSinkLog | Location) -> SinkState:
    """The sink against the checkpoint. A bare :class:`Location` is an output that keeps no log of batches.
    Reads the sink's newest" " commits."""
    if isinstance(what, DeltaLog):
        return _delta(ck, what)
    if isinstance(what, FileSinkLog):
        return _file(ck, what)
    sentence = (
        f"{what.url} keeps no log of batches (neither _delta_log nor _spark_metadata): the files cannot tell"
        " which batches are in it, and such a sink writes a batch that runs again once more."
    )
    return SinkState("plain", what.url, None, None, None, sentence, "needs_input")


Fate = Literal["written", "skipped"] | None
Note = tuple[ConcernKind | None, str]
"""A sentence beside the first one, and what it puts at risk."""
LOG_NAME = "_spark_metadata"


@dataclass(frozen=True, slots=True)
class _Judged:
    """The comparison of two numbers: newest batch in the sink (None: none of this query) and newest batch of
    the checkpoint."""

    pending: Fate
    skips_up_to: int | None
    sentence: str
    concern: ConcernKind | None = None
    is_sure: bool = True


def _concerns(judged: _Judged, notes: Iterable[Note]) -> tuple[tuple[ConcernKind, str], ...]:
    return tuple(
        (kind, sentence) for kind, sentence in ((judged.concern, judged.sentence), *notes) if kind is not None
    )


def _delta(ck: Checkpoint, log: DeltaLog) -> SinkState:
    query_id = ck.query_id
    found = log.transactions.get(query_id) if query_id is not None else None
    expired = found is not None and log.is_expired(found)
    holds = found.version if found is not None and not expired else None
    if query_id is None:
        judged = _Judged(None, None, _no_id(ck))
    elif holds is None:
        judged = _nothing_held(ck, log, found)
    else:
        judged = _compare(ck, holds, "table")
    read = log.commits()
    batches = _delta_batches(
        ck, read.commits, query_id, holds, is_whole=log.oldest == 0 and not read.limit_words and not log.gaps
    )
    notes: list[Note] = [
        *_since(read.commits, query_id),
        *_expiry(log, found, expired),
        *_gone(ck, batches, holds, read.commits),
        *_stateful(ck, judged),
    ]
    certainty: Certainty = "certain" if judged.is_sure else "needs_input"
    if not log.transactions_known and holds is None:
        certainty = "needs_input"
        sentence = (
            "Not every file that holds transactions could be read, so a batch of this query may be in the"
            " table all the same."
        )
        notes.append((None, sentence))
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
    )


def _file(ck: Checkpoint, log: FileSinkLog) -> SinkState:
    holds = log.newest
    if holds is None:
        sentence = f"The log of {log.url} is empty: no batch is in it."
        if ck.pending_batch is not None:
            sentence += f" Pending batch {ck.pending_batch} will be written."
        judged = _Judged("written" if ck.pending_batch is not None else None, None, sentence)
    else:
        judged = _compare(ck, holds, "output")
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
        files = counted(len(unknown.files), "data file")
        it = "it belongs" if len(unknown.files) == 1 else "they belong"
        sentence = (
            f"{files} in {log.url} (for example {unknown.files[0].path})"
            f" stand{'s' if len(unknown.files) == 1 else ''} in no log entry: {it} to a batch that did not"
            " finish, or to somebody else. Spark's own readers pass over them, other readers count them."
        )
        notes.append((None, sentence))
    if log.missing:
        sentence = (
            f"{LOG_NAME} has no entry for {span(log.missing[0], log.missing[-1])}: Spark cannot read this"
            f" output ({LOG_NAME}/{log.missing[0]} doesn't exist), and the query stops at the next compaction"
            " of the log (BATCH_METADATA_NOT_FOUND). Output and checkpoint do not belong together, or log"
            " files were removed."
        )
        notes.append(("log_hole", sentence))
    elif holds is None and ck.commit_ids:
        sentence = (
            f"The checkpoint has committed batches up to {ck.commit_ids[-1]}: the output was emptied or is"
            " another one. Without its entries from 0 on Spark cannot read what the query writes next."
        )
        notes.append(("unknown", sentence))
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
    )


def _compare(ck: Checkpoint, holds: int, where: str) -> _Judged:
    """The sentences for a sink that holds batches of this query up to ``holds``."""
    pending, newest = ck.pending_batch, ck.offset_ids[-1] if ck.offset_ids else None
    first = ck.next_batch.batch_id
    of = "of this query" if where == "table" else "in its log"
    skips = holds if holds >= first else None
    if newest is None:
        lost = (
            f"Batches 0 to {holds} will be skipped whatever they hold"
            if holds
            else "Batch 0 will be skipped whatever it holds"
        )
        why = (
            "the checkpoint is empty, but its metadata still has the old query id"
            if where == "table"
            else "the checkpoint is empty"
        )
        way = (
            "Delete metadata too, so that the query gets a new id."
            if where == "table"
            else "Start with a new output directory."
        )
        return _Judged(
            "skipped",
            skips,
            concern="ahead",
            sentence=f"{lost}: the {where} holds batches up to {holds} {of}, and {why}. {way}",
        )
    if holds > newest:
        sentence = (
            f"The checkpoint is older than the {where}: the {where} holds batches up to {holds} {of}, so"
            f" {span(first, holds)} will be skipped whatever they hold. Rows are lost unless the batches are"
            " cut exactly as before."
        )
        if where == "table":
            sentence += " " + NEW_ID.format(n=first - 1 if pending is None else pending)
        else:
            sentence = (
                f"The output directory holds batches up to {holds} {of}, while the checkpoint ends at batch"
                f" {newest}: new batches up to {holds} will be skipped, without an error. Rows are lost"
                " unless the batches are cut exactly as before. Way out: a new output directory."
            )
        return _Judged("skipped", skips, sentence, "ahead")
    if pending is not None and holds >= pending:
        sentence = (
            f"Pending batch {pending} is already in the {where} and will be skipped. No loss, no repeat, as"
            " long as it still stands for the same offsets."
        )
        return _Judged("skipped", skips, sentence)
    committed = ck.last_committed_batch
    missing = _after(ck, holds)
    head = f"The {where} holds batches up to {holds} {of}."
    if missing and committed is not None:
        sentence = (
            f"{head} {capital(span(missing[0], missing[-1]))} {are(missing[0], missing[-1])} committed in the"
            f" checkpoint but not in the {where}: their rows are missing there (an older copy, or made anew)."
        )
        if pending is not None:
            sentence += f" Pending batch {pending} will be written."
        return _Judged("written" if pending is not None else None, None, sentence, "behind")
    if pending is not None:
        return _Judged("written", None, f"{head} Pending batch {pending} will be written.")
    return _Judged(None, None, f"{head} Nothing is pending.")


def _after(ck: Checkpoint, holds: int | None) -> list[int]:
    """Batches that the checkpoint has committed and that are above what the sink holds."""
    return [
        i
        for i in ck.commit_ids
        if (holds is None or i > holds) and i in ck.offset_files and i != ck.pending_batch
    ]


def _no_id(ck: Checkpoint) -> str:
    what = (
        f"Pending batch {ck.pending_batch} will be written"
        if ck.pending_batch is not None
        else "The next batch will be written"
    )
    return (
        "The checkpoint has no readable query id, so no batch in the table can be recognised as its own."
        f" {what}."
    )


def _nothing_held(ck: Checkpoint, log: DeltaLog, found: TableTransaction | None) -> _Judged:
    pending = ck.pending_batch
    fate: Fate = "written" if pending is not None else None
    written = f" Pending batch {pending} will be written." if pending is not None else ""
    if found is not None:
        again = pending is not None and found.version >= pending
        if again:
            written = (
                f" Pending batch {pending} is in the table already and will be written again: its rows are"
                " then there twice."
            )
        sentence = (
            f"The table's newest batch of this query, {found.version}, has expired"
            f" (delta.setTransactionRetentionDuration): Delta no longer recognises it.{written}"
        )
        return _Judged(fate, None, sentence, "forgotten" if again else None)
    others = [
        item
        for item in log.transactions.values()
        if item.app_id != ck.query_id and item.version >= ck.next_batch.batch_id
    ]
    if others and pending is not None:
        # Of a foreachBatch sink with an id of its own only its code knows the name.
        newest = max(others, key=lambda item: item.last_updated_ms or 0)
        sentence = (
            f"The table at {log.url} holds no batch under this query's id, but"
            f" {counted(len(others), 'other application')} with batch {pending} or above (newest:"
            f" {newest.app_id[:60]}, batch {newest.version}). If the query writes in foreachBatch with that"
            f" txnAppId, batches up to {newest.version} are skipped; else pending batch {pending} will be"
            " written."
        )
        return _Judged(None, None, sentence, "unknown" if ck.commit_ids else None, is_sure=False)
    if not ck.offset_ids:
        return _Judged(fate, None, "The table holds no batch of this query. The first batch will be written.")
    sentence = (
        f"The table at {log.url} holds no batch of this query: it is another table, a recreated one, a"
        f" foreachBatch sink without transaction ids, or the id in metadata was changed.{written}"
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
        if commit.kind not in _CHANGES:
            continue
        sentence = (
            f"Version {commit.version} of the table is {_CHANGES[commit.kind]}, made after the newest batch"
            " of this query."
        )
        if commit.kind == "restore":
            sentence += (
                " The batch number in the table survives a RESTORE: rows of batches that were restored away"
                " are missing, and batches up to that number are still skipped. To write them again, rewind"
                " the checkpoint to the restored batch and put a new id into metadata."
            )
        else:
            sentence += " The batch number stays; rows that this took away do not come back."
        notes.append(("changed", sentence))
    others = [commit for commit in foreign if commit.kind == "other" and (commit.adds or commit.removes)]
    if others:
        names = ", ".join(dict.fromkeys(commit.operation or "unknown" for commit in others))
        sentence = (
            f"{counted(len(others), 'commit')} of others ({names[:80]}) changed the table after the newest"
            " batch of this query."
        )
        notes.append((None, sentence))
    return notes


def _expiry(log: DeltaLog, found: TableTransaction | None, expired: bool) -> list[Note]:
    if found is None or expired or log.transaction_retention_ms is None:
        return []
    sentence = (
        "The table forgets batch numbers after delta.setTransactionRetentionDuration"
        f" ({(log.configuration or {}).get('delta.setTransactionRetentionDuration', '')}) without a write: a"
        " batch that is in the table is then written again."
    )
    return [(None, sentence)]


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
    why = (
        "the table was made anew after they were committed"
        if is_younger
        else "the table was made anew, or they were written otherwise"
    )
    sentence = (
        f"The checkpoint has committed {'batch' if len(ids) == 1 else 'batches'} {listed(ids)}, and no"
        f" version in the table's log (whole, from version 0) holds them: {why}."
    )
    return [("behind" if is_younger else None, sentence)]


def _stateful(ck: Checkpoint, judged: _Judged) -> list[Note]:
    """A skipped batch is not executed and writes no state (observed)."""
    newest = ck.offset_ids[-1] if ck.offset_ids else -1
    if judged.skips_up_to is None or judged.skips_up_to <= newest or not ck.has_state:
        return []
    sentence = (
        "The query keeps state, and a skipped batch writes none:"
        f" {span(ck.next_batch.batch_id, judged.skips_up_to)} would pass empty, and the batch after them fails"
        " because its state is missing (CANNOT_LOAD_STATE_STORE). Try on a copy only."
    )
    return [(None, sentence)]


def _first_problem(problems: tuple[str, ...]) -> str | None:
    if not problems:
        return None
    return problems[0] if len(problems) == 1 else f"{problems[0]} And {len(problems) - 1} more."
