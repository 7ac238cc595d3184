"""Checks of the logs as a whole: what is missing, what cannot be read, what goes back, who wrote."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from core.analysis.findings.catalogue import finding
from core.analysis.findings.model import Finding
from core.checkpoint import Checkpoint
from core.checkpoint.model import CommitEntry, OffsetEntry
from core.checkpoint.sources.forms import parse
from core.sparklogs.evidence import Evidence

# batch times may go back by so much: clocks of two hosts differ, and a query may move to another host
CLOCK_SLACK_MS = 60_000


def missing_files(ck: Checkpoint) -> Iterator[Finding]:
    """Gaps in the two logs that the next start does not look at. Legal gaps of asynchronous progress are not
    among them."""
    tracking, newest = ck.tracking, max(ck.offset_ids, default=None)
    offsets = [i for i in tracking.missing_offsets if newest is None or i != newest - 1]
    if offsets:
        sentence = (
            f"offsets/ has no file for {batches(offsets)}. The next start does not need them; going back to"
            " them is not possible."
        )
        yield finding("OFFSETS_MISSING", sentence, *_paths("offsets", offsets))
    commits = [i for i in tracking.missing_commits if i != newest]
    if commits:
        sentence = f"commits/ has no file for {batches(commits)}, while later batches are committed."
        yield finding("COMMIT_GAP", sentence, *_paths("commits", commits))


def without_commit(ck: Checkpoint) -> Iterator[Finding]:
    """Batches after the newest commit: the newest one is normal, any before it are never run again."""
    newest, committed = max(ck.offset_ids, default=None), ck.last_committed_batch
    if newest is None or newest in ck.commit_files or (committed is not None and committed > newest):
        return
    first = 0 if committed is None else committed + 1
    left_out = [i for i in ck.offset_ids if first <= i < newest]
    if left_out and not ck.is_async:
        sentence = (
            f"{batches(left_out).capitalize()} {'has' if len(left_out) == 1 else 'have'} offsets and no"
            f" commit, and the next start runs only batch {newest} again. What the sink did not get of them"
            " before is never delivered."
        )
        yield finding(
            "COMMITS_MISSING",
            sentence,
            *_paths("commits", left_out),
            certainty="needs_input",
            batch_id=left_out[0],
        )
    sentence = (
        f"Batch {newest} has offsets and no commit: it is in flight, or Spark runs it again at the next start"
        " with the same end offsets."
    )
    yield finding("BATCH_NOT_COMMITTED", sentence, Evidence(f"offsets/{newest}"), batch_id=newest)


def unreadable_files(ck: Checkpoint, needed: frozenset[str]) -> Iterator[Finding]:
    """Log files that cannot be read and that the next start does not look at. ``needed``: paths that it does
    look at."""
    for problem in ck.problems:
        if problem.evidence.path in needed or problem.evidence.path == "metadata":
            continue
        finding_id = "UNKNOWN_FORMAT" if problem.condition == "unknown_version" else "OLD_LOG_FILE_UNREADABLE"
        yield finding(finding_id, problem.reason, problem.evidence)


def watermark_back(entries: Sequence[OffsetEntry], ck: Checkpoint) -> Iterator[Finding]:
    """The watermark of a query never goes back; a file that says so was written by hand."""
    reached, where = 0, None
    for entry in entries:
        if entry.watermark_ms is not None and entry.watermark_ms < reached and where is not None:
            sentence = (
                f"The watermark goes back from {reached} ({where}) to {entry.watermark_ms}"
                f" ({entry.evidence.path}): rows that were late count again and closed windows open again."
            )
            yield finding(
                "WATERMARK_WENT_BACK",
                sentence,
                Evidence(entry.evidence.path, 2),
                where,
                batch_id=entry.batch_id,
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
    """A Kafka position that goes down, or a partition that disappears, between two committed batches."""
    growing = {source.key: source for source in ck.sources if source.kind.positions_only_grow}
    for key, source in growing.items():
        before: dict[str, int] = {}
        for entry in entries:
            line = entry.source(key)
            if line is None or line.raw is None:
                continue
            now = dict(source.kind.positions(parse(line.raw)))
            lower = [
                f"{name} from {before[name]} to {position}"
                for name, position in now.items()
                if position < before.get(name, position)
            ]
            if lower and entry.batch_id in ck.commit_files:
                sentence = (
                    f"In batch {entry.batch_id} the position of source {key} goes back:"
                    f" {', '.join(lower[:3])}."
                )
                yield finding("OFFSET_WENT_BACK", sentence, line.evidence, batch_id=entry.batch_id)
                break
            before = now


def two_writers(entries: Sequence[OffsetEntry]) -> Iterator[Finding]:
    """Batch times that go back while ids go up, and a number of sources that changes in a log of version 1."""
    for before, after in itertools.pairwise(entries):
        if before.timestamp_ms is None or after.timestamp_ms is None:
            continue
        if after.timestamp_ms < before.timestamp_ms - CLOCK_SLACK_MS:
            seconds = (before.timestamp_ms - after.timestamp_ms) // 1000
            sentence = (
                f"Batch {after.batch_id} was planned {seconds:,} seconds before batch {before.batch_id}: two"
                " queries may have used this checkpoint."
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
            sentence = (
                f"Batch {after.batch_id} has {len(after.sources)} sources and batch {before.batch_id} has"
                f" {len(before.sources)}: one query cannot have written both."
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


def batches(ids: Sequence[int]) -> str:
    """``batch 5``, ``batches 5 to 9``, ``batches 5, 7 and 9``."""
    if len(ids) == 1:
        return f"batch {ids[0]}"
    if ids[-1] - ids[0] == len(ids) - 1:
        return f"batches {ids[0]} to {ids[-1]}" if len(ids) > 2 else f"batches {ids[0]} and {ids[1]}"
    shown = [str(i) for i in ids[:5]]
    rest = len(ids) - len(shown)
    return (
        f"batches {', '.join(shown)} and {rest} more"
        if rest
        else f"batches {', '.join(shown[:-1])} and {shown[-1]}"
    )


def _paths(log: str, ids: Sequence[int]) -> list[Evidence]:
    return [Evidence(f"{log}/{i}") for i in ids[:5]]
