"""Taking evidence: one zip that keeps what a checkpoint shows now.

The listing of the whole checkpoint goes in, and the contents of what explains it: logs, ``metadata``,
operator metadata and schemas of the state. The contents of state files go in only when they are asked for:
they hold keys and values. Files that Spark does not write never do. Secrets in logs and metadata are masked
(:mod:`core.incident.masking`). The same files and the same moment give the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from core import __version__
from core.checkpoint.state_names import directory_of, name_of
from core.errors import StorageError, UsageError
from core.incident.masking import masked, secret_values
from core.incident.target import written_whole
from core.messages import say
from core.settings import Settings
from core.storage import Door, FileInfo, Gone, Listing, ReadFailure
from core.storage.evidence_manifest import (
    MOST_FILES,
    MOST_TEXT,
    NAME,
    Manifest,
    NotTaken,
    Recorded,
    RecordedAnswer,
    answer_member,
    member_of,
)
from core.storage.evidence_zip import MOST_MEMBERS, MOST_NAME, ZipWriter
from core.storage.location import texts_in
from core.storage.store import hidden

LOGS = ("offsets", "commits", "sources")
READ_AT_ONCE = 64
MOST_ANSWER_BYTES = 16 * 1024 * 1024
WAVE_BYTES = 64 * 1024 * 1024
_DEFINITIONS = ("schema", "metadata")


@dataclass(frozen=True, slots=True)
class Taken:
    """An evidence file that was written. ``gone``: files that the query removed while it was taken; they are
    not in the listing of the evidence."""

    path: Path
    manifest: Manifest
    size_bytes: int
    sha256: str
    gone: tuple[str, ...]

    @property
    def contents(self) -> list[Recorded]:
        """The files whose contents are in it."""
        return [file for file in self.manifest.files if file.sha256 is not None]


def take(
    door: Door,
    target: Path,
    *,
    with_state_contents: bool = False,
    moment_ms: int | None = None,
    answers: Mapping[str, bytes] | None = None,
) -> Taken:
    """Writes the evidence of what is behind ``door`` to ``target``, whole or not at all.

    ``moment_ms``: what is recorded as the moment (default: when the logs were listed). ``answers``: what the
    verbs answer now, JSON without secrets (:func:`core.documents.recorded.recorded_answers`). Raises
    :class:`StorageError` when the checkpoint cannot be listed, :class:`UsageError` when the file cannot be
    written.
    """
    listed = _listing(door)
    with written_whole(target) as unfinished:
        with unfinished.open("wb") as handle, ZipWriter(handle) as writer:
            taking = _Taking(door, writer, with_state_contents)
            files = taking.contents(listed.files)
            recorded = _add_answers(writer, answers or {})
            manifest = Manifest(
                version=__version__,
                moment_ms=listed.moment_ms if moment_ms is None else moment_ms,
                location=door.location.without_credentials()[:MOST_TEXT],
                with_state_contents=with_state_contents,
                files=files,
                directories=listed.directories,
                not_listed={path: taking.plain(reason) for path, reason in listed.not_listed.items()},
                answers=recorded,
            )
            writer.add(NAME, manifest.to_bytes())
        size_bytes = unfinished.stat().st_size
        with unfinished.open("rb") as written:
            sha256 = hashlib.file_digest(written, "sha256").hexdigest()
    return Taken(target, manifest, size_bytes, sha256, tuple(taking.gone))


def _add_answers(writer: ZipWriter, answers: Mapping[str, bytes]) -> dict[str, RecordedAnswer]:
    """Adds the answers that are not too large."""
    recorded: dict[str, RecordedAnswer] = {}
    for verb, content in sorted(answers.items()):
        if len(content) <= MOST_ANSWER_BYTES:
            writer.add(answer_member(verb), content)
            recorded[verb] = RecordedAnswer(hashlib.sha256(content).hexdigest(), len(content))
    return recorded


@dataclass(frozen=True, slots=True)
class _Listed:
    moment_ms: int
    files: tuple[FileInfo, ...]
    directories: tuple[str, ...]
    not_listed: dict[str, str]


def _listing(door: Door) -> _Listed:
    """The whole checkpoint in the order in which it is read: both logs at one moment, then what Spark wrote
    before them. What is below an unlisted directory is unknown."""
    found: dict[str, Listing] = door.list(["", "offsets", "commits"])
    if door.evidence is not None:
        raise UsageError(say("evidence.of_evidence", location=door.location.url))
    root, offsets, commits = found[""], found["offsets"], found["commits"]
    if _newest(offsets) < _newest(commits):
        offsets = door.list(["offsets"])["offsets"]  # written while the commits were listed
    files = dict(root.files)
    directories = set(root.directories)
    not_listed: dict[str, str] = {}
    for listing in (offsets, commits):
        files.update(listing.files)
        directories.update(listing.directories)
        if listing.exists:
            directories.add(listing.prefix)
    done = {"offsets", "commits"}
    deeper = (*offsets.directories, *commits.directories)
    for path in (*deeper, *(each for each in root.directories if each not in done)):
        _add_tree(door, path, files, directories, not_listed)
    return _Listed(
        moment_ms=root.read_at_ms,
        files=tuple(sorted(files.values(), key=_order)[:MOST_FILES]),
        directories=tuple(sorted(directories)),
        not_listed=not_listed,
    )


def _newest(listing: Listing) -> int:
    return max((int(name) for name in listing.names() if name.isdecimal() and len(name) < 20), default=-1)


def _add_tree(
    door: Door, path: str, files: dict[str, FileInfo], directories: set[str], not_listed: dict[str, str]
) -> None:
    """Adds all below a directory; where a part of it cannot be listed, all but that part."""
    try:
        whole = door.list([path], recursive=True)[path]
    except StorageError as error:
        try:
            whole = door.list([path])[path]
        except StorageError:
            not_listed[path] = str(error)
            return
        for below in whole.directories:
            _add_tree(door, below, files, directories, not_listed)
    files.update(whole.files)
    directories.update(whole.directories)


def _order(info: FileInfo) -> tuple[int, int, str]:
    """Logs first and the newest of them first, so that they are in when the file is full."""
    top = info.path.partition("/")[0]
    rank = 0 if top == info.path else 1 if top in ("offsets", "commits") else 2 if top == "sources" else 3
    if top == "state":
        rank = 4 if _is_definition(info.path) else 5
    stem = info.name.lstrip(".").partition(".")[0]
    number = int(stem) if stem.isdecimal() and len(stem) < 20 else 0
    return rank, -number, info.path


def _is_definition(path: str) -> bool:
    """Whether a file below ``state/`` says what the state is like: operator metadata or a schema, or the
    checksum of one."""
    directory, _, name = path.rpartition("/")
    place = directory_of(directory)
    main = name[1:-4] if name.startswith(".") and name.endswith(".crc") else name
    return place is not None and name_of(place.section, main).kind in _DEFINITIONS


class _Taking:
    """Reads contents and adds them to the zip, in one order."""

    def __init__(self, door: Door, writer: ZipWriter, with_state_contents: bool) -> None:
        self._door = door
        self._settings: Settings = door.settings
        self._writer = writer
        self._with_state_contents = with_state_contents
        self._secrets = texts_in(door.location.storage_options)
        self._secret_values = secret_values(door.location.storage_options)
        self._bytes = self._members = 0
        self.gone: list[str] = []

    def contents(self, infos: Iterable[FileInfo]) -> tuple[Recorded, ...]:
        """What became of each file, by path."""
        found: list[Recorded] = []
        wanted: list[FileInfo] = []
        for info in infos:
            why = self._why_not(info)
            if why is None:
                wanted.append(info)
            else:
                found.append(Recorded(info, not_taken=why))
        for wave in _waves(wanted):
            contents = self._door.read(wave)
            found += (each for info in wave if (each := self._take(info, contents[info.path])) is not None)
        bare = (replace(each, info=each.info._replace(etag=None)) for each in found)
        return tuple(sorted(bare, key=lambda each: each.info.path))

    def _why_not(self, info: FileInfo) -> NotTaken | None:
        limit_bytes = self._limit_bytes(info.path)
        if limit_bytes is None:
            return "foreign"
        if info.path.startswith("state/") and not self._with_state_contents and not _is_definition(info.path):
            return "state_contents"
        return "too_large" if (info.size_bytes or 0) > limit_bytes else None

    def _limit_bytes(self, path: str) -> int | None:
        """How large the file may be, None for one that Spark does not write."""
        top = path.partition("/")[0]
        if path in ("metadata", ".metadata.crc") or top in ("offsets", "commits"):
            return self._settings.log_file_bytes
        if top == "sources":
            return self._settings.source_log_bytes
        if top != "state":
            return None
        if _is_definition(path):
            return self._settings.state_definition_bytes
        return self._settings.state_file_bytes

    def _take(self, info: FileInfo, content: bytes | Gone | ReadFailure) -> Recorded | None:
        if isinstance(content, Gone):
            self.gone.append(info.path)
            return None
        if isinstance(content, ReadFailure):
            return Recorded(info, not_taken="not_read", reason=self.plain(content.reason))
        name = member_of(info.path)
        is_full = self._bytes + len(content) > self._settings.evidence_bytes
        if is_full or self._members >= MOST_MEMBERS - 2 or len(name) > MOST_NAME:
            return Recorded(info, not_taken="full")
        is_state = info.path.startswith("state/") and not _is_definition(info.path)
        kept = content if is_state else masked(content, self._secret_values)
        self._writer.add(name, kept)
        self._bytes += len(kept)
        self._members += 1
        is_masked = kept != content
        return Recorded(info, hashlib.sha256(kept).hexdigest(), len(kept), is_masked=is_masked)

    def plain(self, reason: str) -> str:
        """A reason without values of storage options."""
        return hidden(reason, self._secrets)[:MOST_TEXT]


def _waves(infos: Iterable[FileInfo]) -> Iterator[list[FileInfo]]:
    """Files that are in memory together."""
    wave: list[FileInfo] = []
    size = 0
    for info in infos:
        wave.append(info)
        size += info.size_bytes or 0
        if size >= WAVE_BYTES or len(wave) >= READ_AT_ONCE:
            yield wave
            wave, size = [], 0
    if wave:
        yield wave
