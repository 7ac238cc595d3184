"""An evidence file as a store: it lists what was recorded, and reads what was taken. What was not taken is
there and cannot be read: neither gone nor damaged."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.errors import EvidenceRefused
from core.messages import say, say_of
from core.storage import evidence_manifest
from core.storage.evidence_manifest import Manifest, Recorded, answer_member, member_of, read_manifest
from core.storage.evidence_zip import CheckedZip, checked_zip
from core.storage.listing import Content, FileInfo, Gone, Look, ReadFailure
from core.storage.location import Location
from core.storage.store import Folder, ListingFailed, Store, Tally

ENDING = ".zip"
SPARE_BYTES = 256 * 1024 * 1024  # for the manifest and the directory of the zip, beside the contents
_KEPT = 2  # opened evidence files of this process: a page opens its checkpoint again and again
_KEPT_BYTES = 64 * 1024 * 1024
MOST_LEVELS = 32
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Archive:
    """An evidence file that was checked as a whole: each content has the size and checksum that the manifest
    says."""

    manifest: Manifest
    files: Mapping[str, Recorded]
    folders: Mapping[str, tuple[tuple[str, ...], tuple[FileInfo, ...]]]
    """By directory ("" is the root): its directories and its files."""
    content: CheckedZip
    sha256: str
    """Of the whole file."""

    def read(self, path: str) -> Content:
        """The content of a file."""
        file = self.files.get(path)
        if file is None:
            return Gone()
        if file.not_taken is not None:
            why = say_of("evidence", "NOT_TAKEN", file.not_taken)
            return ReadFailure(why if file.reason is None else f"{why} {file.reason}")
        return self.content.read(member_of(path))

    def answer(self, verb: str) -> bytes | None:
        """The JSON that a verb answered at the time; None where it was not recorded."""
        return self.content.read(answer_member(verb)) if verb in self.manifest.answers else None


def read_archive(data: bytes, most_bytes: int) -> Archive:
    """Checks an evidence file as a whole. Contents of more than ``most_bytes`` together are not unpacked.
    Raises :class:`EvidenceRefused` with the reason."""
    content = checked_zip(data, most_bytes + evidence_manifest.MOST_BYTES)
    members = content.members
    first = members.get(evidence_manifest.NAME)
    if first is None:
        raise EvidenceRefused(say("evidence.not_ours"))
    if first.file_size > evidence_manifest.MOST_BYTES:
        raise EvidenceRefused(say("evidence.manifest_large", limit_bytes=evidence_manifest.MOST_BYTES))
    manifest = read_manifest(content.read(evidence_manifest.NAME))
    taken = {member_of(file.info.path): file for file in manifest.files if file.sha256 is not None}
    wanted = {name: (file.taken_bytes, file.sha256, file.info.path) for name, file in taken.items()}
    for verb, answer in manifest.answers.items():
        wanted[answer_member(verb)] = (answer.size_bytes, answer.sha256, answer_member(verb))
    if len(members) != len(wanted) + 1 or not wanted.keys() <= members.keys():
        raise EvidenceRefused(say("evidence.other_members"))
    for name, (size_bytes, sha256, path) in wanted.items():
        if members[name].file_size != size_bytes:
            raise EvidenceRefused(say("evidence.other_content", path=ascii(path[:80])[1:-1]))
        if hashlib.sha256(content.read(name)).hexdigest() != sha256:
            raise EvidenceRefused(say("evidence.other_content", path=ascii(path[:80])[1:-1]))
    files = {file.info.path: file for file in manifest.files}
    return Archive(manifest, files, _folders(manifest), content, hashlib.sha256(data).hexdigest())


def read_record(data: bytes, most_bytes: int, record_bytes: int, verb: str) -> tuple[Manifest, bytes | None]:
    """What an evidence file says of itself, and what one verb answered at the time (None where that was not
    recorded); neither is unpacked beyond ``record_bytes``. The contents are not looked at. Raises
    :class:`EvidenceRefused`."""
    content = checked_zip(data, most_bytes + evidence_manifest.MOST_BYTES)
    name = answer_member(verb)
    first, answer = content.members.get(evidence_manifest.NAME), content.members.get(name)
    if first is None:
        raise EvidenceRefused(say("evidence.not_ours"))
    if first.file_size > record_bytes:
        raise EvidenceRefused(say("evidence.manifest_large", limit_bytes=record_bytes))
    manifest = read_manifest(content.read(evidence_manifest.NAME))
    is_read = answer is not None and answer.file_size <= record_bytes
    return manifest, content.read(name) if is_read else None


_opened: OrderedDict[tuple[object, ...], Archive] = OrderedDict()


class EvidenceStore:
    """What lies at a location that ends in ``.zip``: an evidence file, or a directory of that name after all.

    ``plain`` is the store of the location as a directory, ``beside`` that of the directory above it.
    """

    def __init__(self, location: Location, plain: Store, beside: Store, most_bytes: int) -> None:
        self._location = location
        self._plain = plain
        self._beside = beside
        self._name = location.path.rpartition("/")[2]
        self._most_bytes = most_bytes
        self._archive: Archive | None = None
        self._is_known = False
        self._lock = threading.Lock()

    @property
    def manifest(self) -> Manifest | None:
        """The record of the evidence file; None for a directory, and before anything was listed or read."""
        return None if self._archive is None else self._archive.manifest

    @property
    def sha256(self) -> str | None:
        """The checksum of the evidence file; None as for ``manifest``."""
        return None if self._archive is None else self._archive.sha256

    def answer(self, verb: str) -> bytes | None:
        """The JSON that a verb answered when the evidence was taken; None where it was not recorded."""
        return None if self._archive is None else self._archive.answer(verb)

    def list(
        self, prefixes: Sequence[str], recursive: bool, first_page: bool, tally: Tally
    ) -> dict[str, Folder]:
        archive = self._found(tally, is_again="" in prefixes)
        if archive is None:
            return self._plain.list(prefixes, recursive, first_page, tally)
        return {prefix: _listed(archive, prefix, recursive) for prefix in prefixes}

    def read(self, paths: Sequence[str], tally: Tally) -> dict[str, Content]:
        archive = self._found(tally)
        if archive is None:
            return self._plain.read(paths, tally)
        return {path: archive.read(path) for path in paths}

    def look(self, paths: Sequence[str], tally: Tally) -> dict[str, Look]:
        archive = self._found(tally)
        if archive is None:
            return self._plain.look(paths, tally)
        return {path: archive.files[path].info if path in archive.files else Gone() for path in paths}

    def _found(self, tally: Tally, is_again: bool = False) -> Archive | None:
        with self._lock:
            if is_again or not self._is_known:
                self._archive = self._open(tally)
                self._is_known = True
            return self._archive

    def _open(self, tally: Tally) -> Archive | None:
        kept = self._location.evidence_id
        if not kept and self._plain.list([""], False, True, tally)[""].exists:
            return None
        info = self._beside.look([self._name], tally)[self._name]
        if isinstance(info, Gone) and kept:
            raise EvidenceRefused(say("incident_store.missing", name=self._location.name))
        if isinstance(info, Gone):
            return None  # and the directory's store says so
        if isinstance(info, ReadFailure):
            raise ListingFailed("", OSError(info.reason))
        archive = self._checked(info, tally)
        if not archive.sha256.startswith(kept):
            raise EvidenceRefused(say("incident_store.changed", name=self._location.name))
        return archive

    def _checked(self, info: FileInfo, tally: Tally) -> Archive:
        place = self._location
        key = (place.protocol, place.path, place.options_token, self._most_bytes, info)
        with _lock:
            if info.modified_ms is not None and key in _opened:
                _opened.move_to_end(key)
                return _opened[key]
        try:
            archive = self._read_whole(info, tally)
        except EvidenceRefused as error:
            shown = place.name if place.evidence_id else place.url
            sentence = say("evidence.refused", location=shown, why=str(error))
            raise EvidenceRefused(sentence, place.url) from error
        with _lock:
            if len(archive.content.data) <= _KEPT_BYTES:
                _opened[key] = archive
            while len(_opened) > _KEPT:
                _opened.popitem(last=False)
        return archive

    def _read_whole(self, info: FileInfo, tally: Tally) -> Archive:
        limit_bytes = self._most_bytes + SPARE_BYTES
        if info.size_bytes is None or info.size_bytes > limit_bytes:
            raise EvidenceRefused(say("evidence.too_large", limit_bytes=limit_bytes))
        data = self._beside.read([self._name], tally)[self._name]
        if isinstance(data, ReadFailure):
            raise ListingFailed("", OSError(data.reason))
        if isinstance(data, Gone):
            raise FileNotFoundError
        if len(data) != info.size_bytes:
            raise EvidenceRefused(say("evidence.cut"))
        return read_archive(data, self._most_bytes)


def _folders(manifest: Manifest) -> dict[str, tuple[tuple[str, ...], tuple[FileInfo, ...]]]:
    files: dict[str, list[FileInfo]] = {"": []}
    for path in (*manifest.directories, *manifest.not_listed):
        files.setdefault(path, [])
    for file in manifest.files:
        files.setdefault(file.info.path.rpartition("/")[0], []).append(file.info)
    directories: dict[str, list[str]] = {"": []}
    for found in sorted(files):
        parts = found.split("/") if found else []
        if len(directories) > evidence_manifest.MOST_FILES or len(parts) > MOST_LEVELS:
            raise EvidenceRefused(say("evidence.too_many", limit=evidence_manifest.MOST_FILES))
        above = ""
        for at in range(1, len(parts) + 1):
            path = "/".join(parts[:at])
            if path not in directories:
                directories[path] = []
                directories[above].append(path)
            above = path
    return {path: (tuple(below), tuple(files.get(path, ()))) for path, below in directories.items()}


def _listed(archive: Archive, prefix: str, recursive: bool) -> Folder:
    if prefix not in archive.folders:
        return Folder(exists=False, is_file=prefix in archive.files)
    folder = Folder()
    for path in _tree(archive, prefix) if recursive else (prefix,):
        if path in archive.manifest.not_listed:
            raise ListingFailed(path, OSError(archive.manifest.not_listed[path]))
        below, files = archive.folders[path]
        folder.directories.update(below)
        folder.files.extend(files)
    return folder


def _tree(archive: Archive, prefix: str) -> Iterator[str]:
    pending = [prefix]
    while pending:
        path = pending.pop()
        yield path
        pending.extend(archive.folders[path][0])
