"""Checks of the logs as a whole: what is missing, what cannot be read, what goes back, who wrote."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from core.analysis.findings.catalogue import finding
from core.analysis.findings.model import Finding
from core.checkpoint import Checkpoint
from core.checkpoint.model import CommitEntry, OffsetEntry
from core.checkpoint.rewind import rewind
from core.checkpoint.sources.forms import parse
from core.connectors.model import SinkState
from core.messages import say
from core.sparklogs.evidence import Evidence, NotRead

MOST_NAMED = 20
"""So many files that could not be read are named by one finding; a store that refuses all would name all."""


def missing_files(ck: Checkpoint) -> Iterator[Finding]:
    """Gaps in the two logs that the next start does not look at. Legal gaps of asynchronous progress are not
    among them."""
    tracking, newest = ck.tracking, max(ck.offset_ids, default=None)
    offsets = [i for i in tracking.missing_offsets if newest is None or i != newest - 1]
    if offsets:
        sentence = say("findings_checks.offsets_missing", ids=offsets)
        yield finding("OFFSETS_MISSING", sentence, *_paths("offsets", offsets))
    commits = [i for i in tracking.missing_commits if i != newest]
    if commits:
        sentence = say("findings_checks.commit_gap", ids=commits)
        yield finding("COMMIT_GAP", sentence, *_paths("commits", commits))


def without_commit(ck: Checkpoint, sink: SinkState | None) -> Iterator[Finding]:
    """Batches between the newest commit and the newest offset file: they are never re-run. Where the log of
    the sink has them, nothing of them is missing."""
    newest, committed = ck.uncommitted_batch, ck.last_committed_batch
    if newest is None or (committed is not None and committed > newest):
        return
    first = 0 if committed is None else committed + 1
    left_out = [i for i in ck.offset_ids if first <= i < newest]
    if not left_out or ck.is_async:
        return
    log = sink if sink is not None and sink.has_log and sink.trouble is None else None
    held = {batch.batch_id for batch in log.batches if batch.fate == "written"} if log is not None else set()
    lacking = [batch_id for batch_id in left_out if batch_id not in held]
    if not lacking:
        sentence = say(
            "findings_checks.commits_missing_in_sink", ids=left_out, count=len(left_out), newest=newest
        )
        gap = finding("COMMIT_GAP", sentence, *_paths("commits", left_out), severity="note")
        yield replace(gap, action=say("findings.commits_in_sink"))
        return
    sentence = (
        say("findings_checks.commits_missing_one", first=lacking[0], newest=newest)
        if len(lacking) == 1
        else say("findings_checks.commits_missing", ids=lacking, newest=newest)
    )
    if log is not None and not log.limit_words:
        sentence = say("findings_checks.not_in_sink", sentence=sentence, ids=lacking)
    yield finding(
        "COMMITS_MISSING",
        sentence,
        *_paths("commits", lacking),
        certainty="needs_input",
        batch_id=lacking[0],
    )


def of_newest_offset(ck: Checkpoint, found: Finding) -> tuple[Finding, int | None]:
    """An unreadable log file that stops the start: where it is the newest offset file, with what to do for
    its batch; and the batch that the checkpoint can be rolled back to (None where that is no answer).

    Nothing else in the checkpoint says where a committed batch ended. One that is not committed can be
    planned again: the same rule as that of the option ``repair_files``.
    """
    newest, committed = max(ck.offset_ids, default=-1), max(ck.commit_ids, default=-1)
    if found.evidence[0].path != f"offsets/{newest}":
        return found, None
    if newest <= committed:
        action = say("findings.committed_offset", batch=newest)
        return replace(found, action=action, recipe="restore_backup"), rewind(ck).newest
    if newest == committed + 1 and not ck.is_async:
        return replace(found, action=say("findings.pending_offset", batch=newest)), None
    return found, None


def unreadable_files(ck: Checkpoint, needed: frozenset[str]) -> Iterator[Finding]:
    """Log files that cannot be read and that the next start does not look at. ``needed``: paths that it does
    look at."""
    for problem in ck.problems:
        if problem.evidence.path in needed or problem.evidence.path == "metadata" or problem.is_read_failure:
            continue
        finding_id = "UNKNOWN_FORMAT" if problem.condition == "unknown_version" else "OLD_LOG_FILE_UNREADABLE"
        yield finding(finding_id, problem.reason, problem.evidence)


def not_read(items: Sequence[NotRead]) -> Iterator[Finding]:
    """What could not be read: one finding, however many files it is."""
    if not items:
        return
    what = items[0].sentence
    sentence = (
        say("findings_checks.not_read_one", what=what)
        if len(items) == 1
        else say("findings_checks.not_read", count=len(items), what=what)
    )
    evidence = (Evidence(item.path) for item in items[:MOST_NAMED])
    yield finding("FILE_NOT_READ", sentence, *evidence, certainty="needs_input")


def watermark_back(entries: Sequence[OffsetEntry], ck: Checkpoint) -> Iterator[Finding]:
    """The watermark of a query never goes back; a file that says so was written by hand. In the newest batch
    the forecast says what follows; before it, it is history."""
    reached, where = 0, None
    for entry in entries:
        if entry.watermark_ms is not None and entry.watermark_ms < reached and where is not None:
            sentence = say(
                "findings_checks.watermark_back",
                before=reached,
                where=str(where),
                after=entry.watermark_ms,
                path=entry.evidence.path,
            )
            yield finding(
                "WATERMARK_WENT_BACK",
                sentence,
                Evidence(entry.evidence.path, 2),
                where,
                batch_id=entry.batch_id,
                severity="attention",
            )
            return
        if entry.watermark_ms is not None and entry.watermark_ms > reached:
            reached, where = entry.watermark_ms, entry.evidence
        commit = ck.commit(entry.batch_id) if entry.batch_id in ck.commit_files else None
        if (
            isinstance(commit, CommitEntry)
            and commit.next_watermark_ms is not None
            and commit.next_watermark_ms > reached
        ):
            reached, where = commit.next_watermark_ms, commit.evidence


def positions_back(entries: Sequence[OffsetEntry], ck: Checkpoint) -> Iterator[Finding]:
    """A position that only grows goes down between two committed batches. In the newest one the forecast says
    what follows; before it, it is history."""
    growing = {source.key: source for source in ck.sources if source.kind.positions_only_grow}
    for key, source in growing.items():
        before: dict[str, int] = {}
        for entry in entries:
            line = entry.source(key)
            if line is None or line.raw is None:
                continue
            now = dict(source.kind.positions(parse(line.raw)))
            lower = [
                say("findings_checks.position_back_partition", name=name, before=before[name], after=position)
                for name, position in now.items()
                if position < before.get(name, position)
            ]
            if lower and entry.batch_id in ck.commit_files:
                sentence = say(
                    "findings_checks.position_back", batch_id=entry.batch_id, key=key, partitions=lower
                )
                yield finding(
                    "OFFSET_WENT_BACK",
                    sentence,
                    line.evidence,
                    severity="attention",
                    batch_id=entry.batch_id,
                )
                break
            before = now


def two_writers(entries: Sequence[OffsetEntry], clock_slack_ms: int) -> Iterator[Finding]:
    """Batch times that go back by more than ``clock_slack_ms`` while ids go up, and a number of sources that
    changes in a log of version 1."""
    for before, after in itertools.pairwise(entries):
        if before.timestamp_ms is None or after.timestamp_ms is None:
            continue
        if after.timestamp_ms < before.timestamp_ms - clock_slack_ms:
            sentence = say(
                "findings_checks.two_writers_times",
                after=after.batch_id,
                ms=before.timestamp_ms - after.timestamp_ms,
                before=before.batch_id,
            )
            yield finding(
                "TWO_WRITERS",
                sentence,
                Evidence(after.evidence.path, 2),
                Evidence(before.evidence.path, 2),
                certainty="inferred",
                batch_id=after.batch_id,
            )
            return
    plain = [entry for entry in entries if entry.format_version == 1]
    for before, after in itertools.pairwise(plain):
        if len(before.sources) != len(after.sources) and after is not entries[-1]:
            sentence = say(
                "findings_checks.two_writers_sources",
                after=after.batch_id,
                after_count=len(after.sources),
                before=before.batch_id,
                before_count=len(before.sources),
            )
            yield finding(
                "TWO_WRITERS",
                sentence,
                after.evidence,
                before.evidence,
                certainty="inferred",
                batch_id=after.batch_id,
            )
            return


def _paths(log: str, ids: Sequence[int]) -> list[Evidence]:
    return [Evidence(f"{log}/{i}") for i in ids[:5]]
