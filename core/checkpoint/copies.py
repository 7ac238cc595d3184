"""The checkpoint as a copy of it would be: rolled back to a batch, behind a planned batch, without state.
Nothing is written, and what stays is read as through the checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from core.checkpoint.checkpoint import Checkpoint
from core.checkpoint.model import OffsetEntry
from core.checkpoint.rewind import read_log_ids
from core.checkpoint.state import state_inventory
from core.checkpoint.state_content.checksums import hidden_name


def rolled_back(ck: Checkpoint, batch_id: int) -> Checkpoint:
    """Without the offsets, commits and state versions of later batches, and without damaged source log
    entries that only those need. Raises :class:`StorageError` when state/ cannot be listed."""
    logs = (*ck.offset_files.items(), *ck.commit_files.items())
    left_out = [info.path for number, info in logs if number > batch_id]
    for operator in state_inventory(ck).operators if ck.has_state else ():
        for partition in operator.partitions:
            later = (f for f in partition.files if f.version is not None and f.version > batch_id + 1)
            left_out += [file.path for file in later]
    return _copy(ck, [*left_out, *damaged_entries(ck, batch_id)])


def damaged_entries(ck: Checkpoint, batch_id: int) -> tuple[str, ...]:
    """The files of source logs that a copy at a batch is made without: from a damaged entry on that only
    later batches need. Spark lists the input files again that they named."""
    found: dict[str, None] = {}  # two lines may share one log
    for source, wanted in read_log_ids(ck, batch_id):
        first = source.context.file_log_cut_from(wanted)
        if first is None or source.directory is None:
            continue
        for path in ck.door.list([source.directory])[source.directory].files:
            number = path.rpartition("/")[2].removesuffix(".compact")
            if number.isdecimal() and int(number) >= first:
                found[path] = None
    return tuple(found)


def behind_batch(ck: Checkpoint, committed: int, planned: int) -> Checkpoint:
    """The last committed batch ends where the planned one was to end, whose plan is left out. It is the
    checkpoint itself where the two entries name other sources, or cannot be read."""
    old, new = ck.offset(committed), ck.offset(planned)
    if not isinstance(old, OffsetEntry) or not isinstance(new, OffsetEntry):
        return ck
    lines, ends = old.raw.splitlines(), new.raw.splitlines()
    if len(lines) != len(ends):
        return ck
    reached = [line if end == "-" else end for line, end in zip(lines[2:], ends[2:], strict=True)]
    path = ck.offset_files[committed].path
    text = "\n".join([*lines[:2], *reached])
    return _copy(ck, [path, ck.offset_files[planned].path], {path: text.encode()})


def without_state(ck: Checkpoint) -> Checkpoint:
    """Without any file of the state. Raises :class:`StorageError` when ``state/`` cannot be listed."""
    inventory = state_inventory(ck)
    left_out = [leftover.path for leftover in inventory.leftovers]
    for operator in inventory.operators:
        left_out += [file.path for file in operator.own_files]
        left_out += [file.path for partition in operator.partitions for file in partition.files]
    return _copy(ck, left_out)


def _copy(
    ck: Checkpoint, left_out: Iterable[str], written: Mapping[str, bytes] = MappingProxyType({})
) -> Checkpoint:
    """Without some files and their hidden checksums, and with others written."""
    paths = [each for path in left_out for each in (path, hidden_name(path))]
    return Checkpoint.open(ck.door.changed({**dict.fromkeys(paths), **written}), ck.settings)
