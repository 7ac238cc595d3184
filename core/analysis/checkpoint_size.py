"""How large a checkpoint is, by what it holds, which batches it keeps, and what Spark removes next.

Observed with 4.3: after batch 129 the logs hold 29 to 129, so Spark keeps ``minBatchesToRetain`` (100) + 1 of
each log and removes one file of each per batch. The setting is not in the logs; the number that is kept
shows it once the logs no longer begin at batch 0. State files are removed later, by maintenance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.checkpoint import Checkpoint
from core.checkpoint.state import state_inventory
from core.messages import Sentence, say
from core.storage import FileInfo


@dataclass(frozen=True, slots=True)
class Amount:
    """Files and their bytes. ``size_bytes`` None: the store gives no size for one of them."""

    files: int
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class CheckpointSize:
    """``logs``: offsets and commits. ``sources`` and ``state`` None: not listed. ``first_batch`` and
    ``last_batch``: the offset files that are kept, None without any. ``removed_next``: the batch whose log
    files go when the next batch is committed, None while the logs begin at batch 0 or have gaps by design."""

    logs: Amount
    sources: Amount | None
    state: Amount | None
    first_batch: int | None
    last_batch: int | None
    kept_batches: int
    removed_next: int | None

    @property
    def sentence(self) -> Sentence:
        """The sizes in one sentence."""
        named = (
            (say("size.logs"), self.logs),
            (say("size.sources"), self.sources),
            (say("size.state"), self.state),
        )
        parts = [
            say("size.part", what=what, files=amount.files, size_bytes=amount.size_bytes)
            for what, amount in named
            if amount is not None and amount.files
        ]
        return say("size.all", parts=parts)

    @property
    def retention(self) -> Sentence:
        """Which batches are kept and what is removed next."""
        if self.first_batch is None or self.last_batch is None:
            return say("size.no_batch")
        ids = range(self.first_batch, self.last_batch + 1)
        if self.removed_next is None:
            return say("size.kept", ids=ids, kept=self.kept_batches)
        return say(
            "size.kept_and_removed",
            ids=ids,
            kept=self.kept_batches,
            removed=self.removed_next,
            following=self.last_batch + 1,
        )


def checkpoint_size(ck: Checkpoint, *, with_state: bool) -> CheckpointSize:
    """The size by the listings that the check makes as well, plus one of each source log; without
    ``with_state`` (level quick) only what opening has listed. Raises StorageError when a listing fails."""
    logs = [*ck.offset_files.values(), *ck.commit_files.values()]
    ids = ck.offset_ids
    sources = state = None
    if with_state:
        directories = list(ck.source_directories)
        found = ck.kept(
            "size:sources", lambda: ck.door.list(directories, known_there=True) if directories else {}
        )
        sources = _sum(info for listing in found.values() for info in listing.files.values())
        if ck.has_state:
            inventory = state_inventory(ck)
            state = Amount(inventory.file_count, inventory.size_bytes)
    return CheckpointSize(
        logs=Amount(len(logs), _bytes(file.size_bytes for file in logs)),
        sources=sources,
        state=state,
        first_batch=ids[0] if ids else None,
        last_batch=ids[-1] if ids else None,
        kept_batches=len(ids),
        removed_next=ids[0] if ids and ids[0] > 0 and not ck.is_async and not ck.is_continuous else None,
    )


def _sum(files: Iterable[FileInfo]) -> Amount:
    sizes = [info.size_bytes for info in files if not info.name.startswith(".")]  # hidden .crc: 12 bytes each
    return Amount(len(sizes), _bytes(sizes))


def _bytes(sizes: Iterable[int | None]) -> int | None:
    known = list(sizes)
    return None if None in known else sum(size for size in known if size is not None)
