"""Which older batches a checkpoint can be rolled back to, by the files that are kept.

Batch B needs (observed, Spark 4.3): ``offsets/B`` and ``offsets/B-1``, ``commits/B``, state version B + 1 in
every partition of every store, and in the log of each file source the entries up to its position in batch B.
Spark would load a snapshot that is older than the batch it is named after (left by batches that were rolled
back) unchecked, so a batch that needs one is none of them.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from core.checkpoint.checkpoint import Checkpoint
from core.checkpoint.left_snapshots import snapshots_older_than_their_batch
from core.checkpoint.model import CommitEntry, OffsetEntry
from core.checkpoint.restore_chain import restorable_versions
from core.checkpoint.sources.registry import parse
from core.checkpoint.state import committed_ids, state_inventory
from core.checkpoint.state_content.checksums import hidden_name
from core.messages import Sentence, say
from core.storage import FileInfo


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
        entry = self.ck.offset(batch_id)
        for source in self.ck.sources:
            line = entry.source(source.key) if isinstance(entry, OffsetEntry) else None
            if not source.kind.has_own_log or line is None or line.raw is None:
                continue
            context = source.context
            wanted = source.kind.positions(parse(line.raw)).get("log id", -1)
            is_whole = context.file_log_reaches(wanted) or context.file_log_cut_from(wanted) is not None
            if not is_whole:
                return say("rewind.source_log", batch=batch_id, key=source.key)
        return None


def damaged_entries(ck: Checkpoint, batch_id: int) -> tuple[str, ...]:
    """The files of source logs that a copy at a batch is made without: from a damaged entry on that only
    later batches need. Spark lists the input files again that they named."""
    entry, found = ck.offset(batch_id), list[str]()
    for source in ck.sources:
        line = entry.source(source.key) if isinstance(entry, OffsetEntry) else None
        if not source.kind.has_own_log or source.directory is None or line is None or line.raw is None:
            continue
        wanted = source.kind.positions(parse(line.raw)).get("log id", -1)
        first = source.context.file_log_cut_from(wanted)
        if first is not None:
            names = ck.door.list([source.directory])[source.directory].files
            numbered = ((path, path.rpartition("/")[2].removesuffix(".compact")) for path in names)
            found += [path for path, number in numbered if number.isdecimal() and int(number) >= first]
    return tuple(dict.fromkeys(found))


def rolled_back(ck: Checkpoint, batch_id: int) -> Checkpoint:
    """The checkpoint as its copy at a batch would be: without the offsets, commits and state versions of
    later batches. Nothing is written, and what stays is read as through ``ck``. Raises :class:`StorageError`
    when state/ cannot be listed."""
    logs = (*ck.offset_files.items(), *ck.commit_files.items())
    left_out = [info.path for number, info in logs if number > batch_id]
    for operator in state_inventory(ck).operators if ck.has_state else ():
        for partition in operator.partitions:
            later = (f for f in partition.files if f.version is not None and f.version > batch_id + 1)
            left_out += [file.path for file in later]
    left_out += damaged_entries(ck, batch_id)
    changes: dict[str, bytes | None] = dict.fromkeys(left_out)
    changes |= dict.fromkeys(map(hidden_name, left_out))
    return Checkpoint.open(ck.door.changed(changes), ck.settings)


def behind_batch(ck: Checkpoint, committed: int, planned: int) -> Checkpoint:
    """The checkpoint as its copy behind a planned batch would be: the last committed batch ends where the
    planned one was to end, whose plan is left out. Nothing is written. It is the checkpoint itself where the
    two entries name other sources."""
    entries = ck.offset(committed), ck.offset(planned)
    if not all(isinstance(entry, OffsetEntry) for entry in entries):
        return ck
    files = [ck.offset_files[batch_id] for batch_id in (committed, planned)]
    contents = ck.door.read([FileInfo(file.path, file.size_bytes) for file in files])
    texts = [contents[file.path] for file in files]
    if not all(isinstance(text, bytes) for text in texts):
        return ck
    old, new = (text.decode("utf-8", "replace").splitlines() for text in texts if isinstance(text, bytes))
    if len(old) != len(new):
        return ck
    ends = [before if end == "-" else end for before, end in zip(old[2:], new[2:], strict=True)]
    changes: dict[str, bytes | None] = {files[0].path: "\n".join([*old[:2], *ends]).encode()}
    changes |= dict.fromkeys([files[1].path, hidden_name(files[1].path), hidden_name(files[0].path)])
    return Checkpoint.open(ck.door.changed(changes), ck.settings)


def without_state(ck: Checkpoint) -> Checkpoint:
    """The checkpoint as its copy without state would be. Nothing is written. Raises :class:`StorageError`
    when ``state/`` cannot be listed."""
    inventory = state_inventory(ck)
    paths = [leftover.path for leftover in inventory.leftovers]
    for operator in inventory.operators:
        paths += [file.path for file in operator.own_files]
        paths += [file.path for partition in operator.partitions for file in partition.files]
    changes: dict[str, bytes | None] = dict.fromkeys(paths)
    changes |= dict.fromkeys(map(hidden_name, paths))
    return Checkpoint.open(ck.door.changed(changes), ck.settings)


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
