"""The log of Spark's file sink, ``<output>/_spark_metadata``: its batches, the files they wrote, and files
that it does not know.

Observed (Spark 3.3 to 4.3): a batch whose id is not above the newest id in this log is skipped, whatever it
holds; readers see only the files that the log names, so files of a batch that never finished stay in the
directory and count for nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from core.errors import FileSinkLogError, StorageError
from core.messages import say
from core.settings import DEFAULTS, Settings
from core.sparklogs.budget import read_within
from core.sparklogs.compactible import compactible_log, parse_entries
from core.sparklogs.evidence import NotRead, Problem, problem
from core.storage import Door, FileInfo, Listing, Location, Requests, parse_location
from core.storage.lazy import lazy

LOG = "_spark_metadata"

_Entries = Mapping[str, int | None]
_NEWEST = 3  # log files that are read to see what the files of the sink look like: a batch may write none


@dataclass(frozen=True, slots=True)
class SinkLogBatch:
    """One batch in the log. ``files`` and ``size_bytes`` None: not known for this batch alone (it stands only
    in a compact file)."""

    batch_id: int
    path: str
    modified_ms: int | None
    files: int | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class SinkBatches:
    """Batches, newest first. ``limit_words`` says what was left out; empty when nothing was."""

    batches: tuple[SinkLogBatch, ...]
    limit_words: str = ""


@dataclass(frozen=True, slots=True)
class UnknownFiles:
    """Data files that no log entry names. ``known`` False: the log could not be read whole, so nothing is
    said about files.

    ``files`` are paths in the output directory; ``words`` says what was not looked at.
    """

    files: tuple[FileInfo, ...]
    known: bool
    words: str = ""


class FileSinkLog:
    """One look at one output directory. A file that cannot be read is a sentence in ``problems``."""

    def __init__(self, location: Location, door: Door, listing: Listing) -> None:
        self.location = location
        self.read_at_ms = listing.read_at_ms
        self._door = door
        self._problems: dict[str, str] = {}
        self._damaged: dict[str, Problem] = {}
        self._log = compactible_log(listing)
        self._plain, self._compact = self._log.plain, self._log.compact
        self._entries: dict[str, _Entries | None] = {}

    @classmethod
    def open(cls, location: Location | str, settings: Settings = DEFAULTS) -> FileSinkLog:
        """Lists the log of the output directory ``location`` (or the ``_spark_metadata`` in it). One listing,
        nothing is read.

        Raises :class:`FileSinkLogError` when there is no log, another :class:`~core.storage.StorageError`
        when it cannot be listed.
        """
        place = parse_location(location) if isinstance(location, str) else location
        if place.url.rstrip("/").rsplit("/", 1)[-1] == LOG:
            place = parse_location(place.url.rstrip("/").rsplit("/", 1)[0], place.storage_options)
        door = Door.open(place, settings)
        listing = door.list([LOG])[LOG]
        if not listing.exists:
            raise FileSinkLogError(
                say("file_sink_log.absent", url=place.url, log=LOG),
                place.url,
            )
        return cls(place, door, listing)

    @property
    def url(self) -> str:
        """The output directory as people write it."""
        return self.location.url

    @property
    def batch_ids(self) -> tuple[int, ...]:
        """The batch ids that have a file in the log, ascending. Ids before the newest compact file may have
        been removed: not a gap."""
        return tuple(sorted({*self._plain, *self._compact}))

    @property
    def newest(self) -> int | None:
        """The newest batch id in the log; batches up to it are skipped. None: the log is empty."""
        return self._log.newest_id

    @property
    def missing(self) -> tuple[int, ...]:
        """Ids without a file that readers and the next compaction need: those after the newest compact file,
        or after the beginning."""
        return self._log.missing

    @property
    def requests(self) -> Requests:
        """What this look has cost so far."""
        return self._door.requests

    @property
    def not_read(self) -> tuple[NotRead, ...]:
        """The files and directories whose content is not known, as URLs."""
        return tuple(
            NotRead(f"{self.url.rstrip('/')}/{path}", reason) for path, reason in self._door.not_read.items()
        )

    @property
    def problems(self) -> tuple[str, ...]:
        """One sentence for each file that could not be read or used."""
        return tuple(self._problems.values())

    def compacts_at(self, batch_id: int) -> bool:
        """Whether Spark compacts the log when it writes this batch: by the names of the compact files, else
        by the default interval."""
        return self._log.path_of(batch_id).endswith(".compact")

    def path_of(self, batch_id: int) -> str:
        """The log file of a batch, relative to the output directory."""
        info = self._plain.get(batch_id) or self._compact.get(batch_id)
        return info.path if info is not None else f"{LOG}/{batch_id}"

    def batches(self, limit: int | None = None) -> SinkBatches:
        """The batches that have a file in the log, newest first, at most ``limit`` (default: setting
        ``table_versions``)."""
        at_most = self._door.settings.table_versions if limit is None else limit
        wanted = list(reversed(self.batch_ids))
        taken = wanted[:at_most]
        self._load([self._plain.get(i) or self._compact[i] for i in taken])
        words = ""
        if len(wanted) > at_most:
            words = say("file_sink_log.newest_only", read=at_most, batches=len(wanted))
        return SinkBatches(tuple(self._batch(i) for i in taken), words)

    @lazy
    def newest_files(self) -> tuple[str, ...]:
        """The paths of the files that the newest batch with any has written, as the log has them; nothing
        where none of the newest log files names one. Reads at most ``_NEWEST`` of them, and none that repeats
        all before it: that one has no bound."""
        for batch_id in sorted(self._plain, reverse=True)[:_NEWEST]:
            info = self._plain[batch_id]
            self._load([info])
            if entries := self._entries.get(info.path):
                return tuple(entries)
        return ()

    def _batch(self, batch_id: int) -> SinkLogBatch:
        info = self._plain.get(batch_id) or self._compact[batch_id]
        entries = self._entries.get(info.path)
        if entries is not None and batch_id not in self._plain:
            entries = self._own(batch_id, entries)
        if entries is None:
            return SinkLogBatch(batch_id, info.path, info.modified_ms, None, None)
        return SinkLogBatch(batch_id, info.path, info.modified_ms, len(entries), _total(entries.values()))

    def _own(self, batch_id: int, entries: _Entries) -> _Entries | None:
        """What a compact file adds to the batches before it; None unless all of these are still there."""
        base = max((i for i in self._compact if i < batch_id), default=None)
        before = [self._compact[base]] if base is not None else []
        after = range(0 if base is None else base + 1, batch_id)
        if not all(i in self._plain for i in after):
            return None
        before += [self._plain[i] for i in after]
        self._load(before)
        known: set[str] = set()
        for info in before:
            found = self._entries[info.path]
            if found is None:
                return None
            known.update(found)
        return {path: size for path, size in entries.items() if path not in known}

    @lazy
    def damaged(self) -> tuple[Problem, ...]:
        """The damaged ones of the log files that readers and the next compaction need, by ID. What could not
        be read is not among them."""
        chain = list(self._log.files.values())
        self._load(chain)
        return tuple(self._damaged[info.path] for info in chain if info.path in self._damaged)

    @lazy
    def named_directories(self) -> tuple[str, ...]:
        """The directories in which the log says that its data files lie, without those of partitions, oldest
        first; nothing when a part of it is missing or unreadable."""
        if self.named_files is None:
            return ()
        paths = [path for info in self._log.files.values() for path in self._entries[info.path] or ()]
        return tuple(dict.fromkeys(_without_partitions(path) for path in paths))

    @lazy
    def named_files(self) -> frozenset[str] | None:
        """The names (last part of the path) of all files that the log names now; None when a part of it is
        missing or unreadable."""
        if self.missing:
            return None
        chain = list(self._log.files.values())
        self._load(chain)
        names: set[str] = set()
        for info in chain:
            entries = self._entries[info.path]
            if entries is None:
                return None
            names.update(path.rsplit("/", 1)[-1] for path in entries)
        return frozenset(names)

    @lazy
    def unknown_files(self) -> UnknownFiles:
        """The data files in the directory that the log does not name: of a batch that did not finish, or
        written by somebody else.

        Lists the directory and, when it is partitioned, the directories below it, at most
        ``sink_directories`` of them (setting); once, however many answers ask for it.
        """
        names = self.named_files
        if names is None:
            return UnknownFiles((), False, say("file_sink_log.not_compared"))
        files, words = self._present
        if files is None:
            return UnknownFiles((), False, words)
        return UnknownFiles(tuple(info for info in files if info.name not in names), True, words)

    @lazy
    def gone_files(self) -> tuple[str, ...]:
        """The names of the data files that the log names and that are not in the directory, ascending. Empty
        when the log or the directory was not read whole."""
        names = self.named_files
        files, words = self._present if names is not None else (None, "")
        if names is None or files is None or words:
            return ()
        return tuple(sorted(names - {info.name for info in files}))

    def gone_of(self, batch_id: int) -> tuple[str, ...]:
        """The names of the data files of one batch that are gone, ascending; empty where its log file does
        not tell, or the log or the directory was not read whole."""
        info = self._plain.get(batch_id)
        if info is None or not self.gone_files:
            return ()
        names = {path.rsplit("/", 1)[-1] for path in self._entries.get(info.path) or ()}
        return tuple(name for name in self.gone_files if name in names)

    @property
    def has_data_files(self) -> bool:
        """Whether the directory has any data file. An output that was emptied has none, and a copy of the log
        alone."""
        return bool(self._present[0])

    @lazy
    def _present(self) -> tuple[list[FileInfo] | None, str]:
        """The data files of the directory and what was not looked at; None with the reason when it cannot be
        listed."""
        at_most = self._door.settings.sink_directories
        files: list[FileInfo] = []
        level, listed, words = [""], 0, ""
        try:
            while level:
                if listed + len(level) > at_most:
                    words = say("file_sink_log.directories_only", listed=at_most)
                    level = level[: at_most - listed]
                listings = self._door.list(level)
                listed += len(level)
                files += [
                    info
                    for listing in listings.values()
                    for info in listing.files.values()
                    if not _is_hidden(info.name)
                ]
                level = (
                    []
                    if words
                    else [
                        d
                        for listing in listings.values()
                        for d in listing.directories
                        if not _is_hidden(d.rsplit("/", 1)[-1])
                    ]
                )
        except StorageError as error:
            return None, str(error)
        return files, words

    def _load(self, files: Sequence[FileInfo]) -> None:
        wanted = [info for info in files if info.path not in self._entries]
        if not wanted:
            return
        try:
            contents = read_within(self._door, wanted, self._door.settings.source_log_bytes)
        except StorageError as error:
            for info in wanted:
                self._entries[info.path] = None
                self._problems[info.path] = str(error)
            return
        for path, data in contents.items():
            if isinstance(data, bytes):
                self._entries[path], trouble = parse_sink_log(data, path)
                if trouble is not None:
                    self._damaged[path] = trouble
            else:
                self._entries[path], trouble = None, data or problem(path, "unreadable", say("logs.removed"))
            if trouble is not None:
                self._problems[path] = f"{self.url}/{trouble.reason}"


def parse_sink_log(data: bytes, path: str) -> tuple[_Entries | None, Problem | None]:
    """Path -> size of the files that a log file names; None with the problem when a part of it cannot be
    read."""
    entries, problems = parse_entries(data, path, _entry, ("path",))
    return (None, problems[0]) if problems else (dict(entries), None)


def _entry(fields: dict[str, object]) -> tuple[str, int | None] | None:
    path, size = fields.get("path"), fields.get("size")
    if not isinstance(path, str):
        return None
    return unquote(path), size if isinstance(size, int) and not isinstance(size, bool) else None


def _without_partitions(path: str) -> str:
    """The directory of a data file, without the directories of its partition."""
    parts = path.split("/")[:-1]
    while parts and "=" in parts[-1]:
        parts.pop()
    return "/".join(parts)


def _total(sizes: Iterable[int | None]) -> int | None:
    """The sum, None when one of them is not known."""
    known = list(sizes)
    return None if None in known else sum(size for size in known if size is not None)


def _is_hidden(name: str) -> bool:
    # Spark's readers pass over these, except partition directories such as "_day=1".
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


__all__ = ["FileSinkLog", "FileSinkLogError", "SinkBatches", "SinkLogBatch", "UnknownFiles"]
