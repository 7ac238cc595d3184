"""The copy of a checkpoint that is started in its place: what a restart needs, byte by byte through the
storage door, and never a link, because Spark writes into the copy."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.checkpoint import Checkpoint
from core.checkpoint.state import state_inventory
from core.checkpoint.state_content.checksums import hidden_name
from core.checkpoint.state_content.stores import FULL
from core.errors import StagingError
from core.messages import say
from core.rehearsal.model import Copied
from core.spark.staging import moved_schemas
from core.storage import Door, FileInfo, Gone, Listing

OnProgress = Callable[[int, int], None]
_WAVE_BYTES = 64 * 1024 * 1024
_WAVE_FILES = 256
_GUESSED_BYTES = 4096


@dataclass(frozen=True)
class Copy:
    """A copy with what it was made of: the listing, and the SHA-256 of every file that was read."""

    copied: Copied
    listing: Listing
    hashes: Mapping[str, str] = field(repr=False)


def copy_checkpoint(ck: Checkpoint, targets: tuple[Path, ...], on_progress: OnProgress | None = None) -> Copy:
    """Copies the checkpoint to each of ``targets``, which do not exist yet.

    All of it is copied. Where that is more than the setting ``rehearsal_bytes`` allows, state files of
    versions before those that the start loads are left out. Operator metadata that names schemas by absolute
    path names those of the copy.

    Raises StagingError: too large, a file cannot be read, no room.
    """
    listing = ck.door.list([""], recursive=True)[""]
    files = [info for info in listing.files.values() if not _is_stale_checksum(info.path)]
    left_out: set[str] = set()
    limit = ck.settings.rehearsal_bytes
    if _size(files) > limit:
        left_out = _older_state(ck)
        files = [info for info in files if info.path not in left_out]
    size = _size(files)
    if size > limit:
        raise StagingError(say("rehearse.too_large", size_bytes=size, limit_bytes=limit))
    hashes: dict[str, str] = {}
    try:
        for target in targets:
            for directory in ("", *listing.directories):
                (target / directory).mkdir(parents=True, exist_ok=True)
        read = 0
        for wave in _waves(files):
            for path, data in _contents(ck.door, wave):
                hashes[path] = hashlib.sha256(data).hexdigest()
                read += len(data)
                for target in targets:
                    _write(target, path, data)
            if on_progress is not None:
                on_progress(len(hashes), len(files))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise StagingError(
            say("rehearse.no_room", directory=str(targets[0].parent), reason=reason)
        ) from error
    return Copy(Copied(len(hashes), read, len(left_out)), listing, hashes)


def copy_files(door: Door, files: Iterable[FileInfo], target: Path) -> None:
    """Copies single files, with their paths, below ``target``. Raises StagingError."""
    try:
        for wave in _waves(list(files)):
            for path, data in _contents(door, wave):
                place = target / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise StagingError(say("rehearse.no_room", directory=str(target), reason=reason)) from error


def _write(target: Path, path: str, data: bytes) -> None:
    place = target / path
    place.parent.mkdir(parents=True, exist_ok=True)
    operator = _operator_of_metadata(path)
    if operator is None:
        place.write_bytes(data)
        return
    place.write_bytes(moved_schemas(data, target.resolve() / operator))


def _operator_of_metadata(path: str) -> str | None:
    """``state/0`` of ``state/0/_metadata/v2/3``; None for any other file."""
    parts = path.split("/")
    is_metadata = len(parts) >= 4 and parts[0] == "state" and parts[2] == "_metadata"
    return f"state/{parts[1]}" if is_metadata else None


def _contents(door: Door, wave: list[FileInfo]) -> list[tuple[str, bytes]]:
    # Without a time, so that the door does not keep them.
    found = []
    for path, content in door.read([FileInfo(info.path, info.size_bytes) for info in wave]).items():
        if isinstance(content, bytes):
            found.append((path, content))
        elif isinstance(content, Gone):
            raise StagingError(say("rehearse.purged", path=path))
        else:
            raise StagingError(say("rehearse.unreadable", path=path, reason=content.reason))
    return found


def _waves(files: list[FileInfo]) -> Iterable[list[FileInfo]]:
    """Bounded numbers of files."""
    wave: list[FileInfo] = []
    size = 0
    for info in files:
        wave.append(info)
        size += info.size_bytes or _GUESSED_BYTES
        if size > _WAVE_BYTES or len(wave) >= _WAVE_FILES:
            yield wave
            wave, size = [], 0
    if wave:
        yield wave


def _size(files: Iterable[FileInfo]) -> int:
    return sum(_GUESSED_BYTES if info.size_bytes is None else info.size_bytes for info in files)


def _is_stale_checksum(path: str) -> bool:
    """Hadoop's checksum of an operator metadata, which differs in the copy. No start reads it."""
    return _operator_of_metadata(path) is not None and path.rpartition("/")[2].startswith(".")


def _older_state(ck: Checkpoint) -> set[str]:
    """State files of versions before the newest full one that a start can load, with their checksums."""
    if not ck.has_state:
        return set()
    needed = ck.next_batch.batch_id
    found: set[str] = set()
    for operator in state_inventory(ck).operators:
        for partition in operator.partitions:
            full = [f.version for f in partition.files if f.kind in FULL and f.version is not None]
            start = max((version for version in full if version <= needed), default=0)
            for file in partition.files:
                if file.version is not None and file.version < start and file.kind != "sst":
                    found |= {file.path, hidden_name(file.path)}
    return found
