"""Which older batches a checkpoint can be rolled back to, by the files that are kept.

Batch B needs (observed, Spark 4.3): ``offsets/B`` and ``offsets/B-1``, ``commits/B``, state version B + 1 in
every partition of every store, and in the log of each file source the entries up to its position in batch B.
Spark would load a snapshot that is older than the batch it is named after (left by batches that were rolled
back) unchecked, so a batch that needs one is none of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from core.checkpoint.checkpoint import Checkpoint
from core.checkpoint.left_snapshots import snapshots_older_than_their_batch
from core.checkpoint.model import CommitEntry, OffsetEntry
from core.checkpoint.restore_chain import restorable_versions
from core.checkpoint.source import Source
from core.checkpoint.sources.registry import parse
from core.checkpoint.state import committed_ids, state_inventory
from core.messages import Sentence, say


@dataclass(frozen=True, slots=True)
class Rewind:
    """The batches, ascending, that the names of the files allow a checkpoint to be rolled back to."""

    ck: Checkpoint
    batches: tuple[int, ...]

    @property
    def newest(self) -> int | None:
        """The newest of them whose log files can be read; None when there is none."""
        return self.at_most(None)

    def at_most(self, limit: int | None) -> int | None:
        """The newest of them up to batch ``limit`` whose log files can be read; None when there is none."""
        kept = reversed(self.batches)
        return next((b for b in kept if (limit is None or b <= limit) and self.why_not(b) is None), None)

    def why_not(self, batch_id: int) -> Sentence | None:
        """Why the checkpoint cannot be rolled back to a batch, in one sentence with the range that is
        possible; None when it can."""
        at = bisect_left(self.batches, batch_id)
        if self.batches[at : at + 1] != (batch_id,):
            if not self.batches:
                return say("rewind.none")
            return say("rewind.not_kept", batch=batch_id, ids=self.batches)
        for needed in {batch_id, max(batch_id - 1, 0)}:
            if not isinstance(self.ck.offset(needed), OffsetEntry):
                return say("rewind.unreadable", batch=batch_id, path=f"offsets/{needed}")
        if not isinstance(self.ck.commit(batch_id), CommitEntry):
            return say("rewind.unreadable", batch=batch_id, path=f"commits/{batch_id}")
        stale = self.ck.kept(f"stale snapshot of {batch_id}", lambda: self._stale_snapshot(batch_id))
        if stale is not None:
            return say("rewind.stale_snapshot", batch=batch_id, path=stale)
        return self._why_not_sources(batch_id)

    def _stale_snapshot(self, batch_id: int) -> str | None:
        """A snapshot of batches that were rolled back, from which the state of this batch would be loaded."""
        operators = state_inventory(self.ck).operators
        stale = (
            f for each in operators for f in snapshots_older_than_their_batch(self.ck, each, batch_id + 1)
        )
        return next((file.path for file in stale), None)

    def _why_not_sources(self, batch_id: int) -> Sentence | None:
        for source, wanted in read_log_ids(self.ck, batch_id):
            context = source.context
            if not (context.file_log_reaches(wanted) or context.file_log_cut_from(wanted) is not None):
                return say("rewind.source_log", batch=batch_id, key=source.key)
        return None


def read_log_ids(ck: Checkpoint, batch_id: int) -> Iterator[tuple[Source, int]]:
    """The sources with a log of their own, each with the newest log id that had been read at the end of a
    batch, -1 for none; without those of which its offset entry does not tell."""
    entry = ck.offset(batch_id)
    for source in ck.sources:
        line = entry.source(source.key) if isinstance(entry, OffsetEntry) else None
        if source.kind.has_own_log and line is not None and line.raw is not None:
            yield source, source.kind.positions(parse(line.raw)).get("log id", -1)


def rewind(ck: Checkpoint) -> Rewind:
    """The batches that the checkpoint can be rolled back to; looked for once for each reading of it. Raises
    :class:`StorageError` when ``state/`` cannot be listed."""
    # The batches alone are kept: a Rewind would hold the checkpoint that keeps it.
    return Rewind(ck, ck.kept("rewind", lambda: _batches(ck)))


def _batches(ck: Checkpoint) -> tuple[int, ...]:
    ids = committed_ids(ck)
    versions: set[int] | None = None
    for operator in state_inventory(ck).operators:
        own = set(restorable_versions(operator, ids))
        versions = own if versions is None else versions & own
    kept = set(ck.offset_files)
    batches = (
        batch
        for batch in ck.commit_files
        if batch in kept and (batch == 0 or batch - 1 in kept) and (versions is None or batch + 1 in versions)
    )
    return tuple(sorted(batches))
