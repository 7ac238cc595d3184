"""The log of a Delta table, read without a JVM: one listing, then as few files as the question needs.

Budget on an object store: 1 LIST for up to 1,000 names (two names per version), of a longer log 3 LIST and 1
GET of ``_last_checkpoint``; 1 GET for table id, properties and transactions when the newest version has its
``.crc``, else the newest log checkpoint and the commits after it. Each version that is looked into costs 1
GET. A question about the whole log (how far it reaches back, what is missing in it) lists it all, once: 1
LIST per 1,000 names.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import orjson

from core.connectors.answers import TableCommit, TableTransaction
from core.connectors.delta.actions import (
    CommitFile,
    TableFile,
    TableMetadata,
    parse_commit,
    table_file,
    table_metadata,
    total_rows,
    transaction,
)
from core.connectors.delta.log_checkpoint import CheckpointContent, read_part, together
from core.connectors.delta.log_listing import LogListing, list_all, list_end
from core.connectors.delta.log_names import LOG, LogNames
from core.connectors.delta.properties import TRANSACTION_RETENTION, interval_ms
from core.errors import DeltaLogError, StorageError
from core.messages import say
from core.settings import DEFAULTS, Settings
from core.sparklogs.budget import read_within, within
from core.sparklogs.evidence import NotRead, Problem
from core.storage import Door, FileInfo, Location, Look, Requests, parse_location
from core.storage.lazy import lazy


@dataclass(frozen=True, slots=True)
class CommitRange:
    """Commits, newest first. ``limit_words`` says what was left out and why; empty when nothing was."""

    commits: tuple[TableCommit, ...]
    limit_words: str = ""


@dataclass(frozen=True, slots=True)
class Amount:
    """Files, bytes and rows. ``rows`` None: a file keeps no number, or a version could not be read (``words``
    says which). ``is_counted`` False: the files were not counted at all, so every number means nothing."""

    files: int
    size_bytes: int
    rows: int | None
    words: str = ""
    is_counted: bool = True


@dataclass(frozen=True, slots=True)
class _Head:
    """What the newest version says about the whole table."""

    metadata: TableMetadata | None
    transactions: Mapping[str, TableTransaction]
    transactions_known: bool


class DeltaLog:
    """One look at one table's log. Files that are asked for are read once; a file that cannot be read is a
    sentence in ``problems``."""

    def __init__(self, location: Location, door: Door, listing: LogListing) -> None:
        self.location = location
        self.read_at_ms = listing.read_at_ms
        self._listing = listing
        self._door = door
        self._commits: dict[int, CommitFile | None] = {}
        self._problems: dict[str, str] = {}
        self._looks: dict[str, Look] = {}

    @classmethod
    def open(cls, location: Location | str, settings: Settings = DEFAULTS) -> DeltaLog:
        """Lists the log of the table at ``location`` (the table's directory, or its ``_delta_log``) and reads
        what its newest version says.

        Raises :class:`DeltaLogError` when there is no Delta log, another :class:`~core.storage.StorageError`
        when it cannot be listed.
        """
        place = parse_location(location) if isinstance(location, str) else location
        if place.url.rstrip("/").rsplit("/", 1)[-1] == LOG:
            place = parse_location(place.url.rstrip("/").rsplit("/", 1)[0], place.storage_options)
        door = Door.open(place, settings)
        listing = list_end(door)
        if listing.end.newest is None:
            why = (
                say("delta.no_commit", url=place.url)
                if listing.exists
                else say("delta.no_log", url=place.url)
            )
            raise DeltaLogError(why, place.url)
        log = cls(place, door, listing)
        log._head  # noqa: B018  (read now, so that a store that refuses says so at once)
        return log

    # What the listing alone tells.

    @property
    def url(self) -> str:
        """The table's location as people write it."""
        return self.location.url

    @lazy
    def names(self) -> LogNames:
        """Every file of the log by what it is. The first use lists what was left out of a long one."""
        return self._listing.end if self._listing.since == 0 else self._all()

    def _all(self) -> LogNames:
        listed = list_all(self._door)
        newest = self.newest  # what was committed since is no part of this look
        return LogNames(
            {v: info for v, info in listed.commits.items() if v <= newest},
            {v: info for v, info in listed.checksums.items() if v <= newest},
            tuple(point for point in listed.checkpoints if point.version <= newest),
        )

    def names_from(self, version: int) -> LogNames:
        """The files of the log; those of versions before ``version`` may be left out."""
        return self._listing.end if version >= self._listing.since else self.names

    def _names_to_rebuild(self, version: int) -> LogNames:
        """The files from which the table as of ``version`` is worked out."""
        end = self._listing.end
        is_enough = any(point.version <= version for point in end.checkpoints)
        return end if is_enough else self.names

    @lazy
    def newest(self) -> int:
        """The newest version."""
        return self._listing.end.newest or 0

    @property
    def oldest(self) -> int | None:
        """The oldest version whose commit is there, in the unbroken run up to the newest. None: the newest
        commit itself is not there."""
        return self.names.oldest

    @property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """First and last version of each hole between two commits."""
        return self.names.gaps

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
        """One sentence for each file that could not be read or used, in the order in which they were met."""
        return tuple(self._problems.values())

    def can_rebuild(self, version: int) -> bool:
        """Whether the table as of this version can be worked out from what is in the log."""
        return self._names_to_rebuild(version).can_rebuild(version)

    # What the newest version says.

    @property
    def metadata(self) -> TableMetadata | None:
        """The table's description now; None when no readable file has it."""
        return self._head.metadata

    @property
    def table_id(self) -> str | None:
        """``metaData.id``: what a Delta source writes into its offsets."""
        return self.metadata.table_id if self.metadata is not None else None

    @property
    def configuration(self) -> Mapping[str, str] | None:
        """The table's properties; None when they are not known."""
        return self.metadata.configuration if self.metadata is not None else None

    @property
    def transactions(self) -> Mapping[str, TableTransaction]:
        """The newest transaction of each application id, also those that have expired."""
        return self._head.transactions

    @property
    def transactions_known(self) -> bool:
        """Whether ``transactions`` are all there are: False when a file that may hold more could not be
        read."""
        return self._head.transactions_known

    @property
    def transaction_retention_ms(self) -> int | None:
        """After how long a transaction is forgotten; None: never, which is Delta's default."""
        text = (self.configuration or {}).get(TRANSACTION_RETENTION)
        return interval_ms(text) if text else None

    def is_expired(self, found: TableTransaction, now_ms: int | None = None) -> bool:
        """Whether Delta ignores this transaction (delta.setTransactionRetentionDuration has passed since it
        was written)."""
        retention = self.transaction_retention_ms
        if retention is None or found.last_updated_ms is None:
            return False
        now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        return found.last_updated_ms <= now - retention

    @lazy
    def _head(self) -> _Head:
        known, metadata = self._from_checksum()
        if known is not None and metadata is not None:
            return _Head(metadata, known, True)
        after, base = self._replayed()
        complete = all(item is not None for item in after) and base is not None
        found: dict[str, TableTransaction] = {}
        for item in [
            *(base.transactions if base is not None else ()),
            *(t for file in after if file is not None for t in file.transactions),
        ]:
            if item.app_id not in found or item.version >= found[item.app_id].version:
                found[item.app_id] = item
        newer = next(
            (file.metadata for file in reversed(after) if file is not None and file.metadata is not None),
            None,
        )
        metadata = metadata or newer or (base.metadata if base is not None else None)
        return _Head(metadata, known if known is not None else found, known is not None or complete)

    def _from_checksum(self) -> tuple[dict[str, TableTransaction] | None, TableMetadata | None]:
        """Transactions and metadata of ``<newest>.crc``. It leaves the transactions out when they can expire
        or are more than 100."""
        info = self._listing.end.checksums.get(self.newest)
        data = self._read([info])[info.path] if info is not None else None
        if info is None or data is None:
            return None, None
        try:
            fields = orjson.loads(data)
        except ValueError:
            fields = None
        if not isinstance(fields, dict):
            self._note(info.path, say("delta.checksum_not_json"))
            return None, None
        given, described = fields.get("setTransactions"), fields.get("metadata")
        metadata = table_metadata(described) if isinstance(described, dict) else None
        if not isinstance(given, list):
            return None, metadata
        found = [item for body in given if isinstance(body, dict) and (item := transaction(body)) is not None]
        return ({item.app_id: item for item in found} if len(found) == len(given) else None), metadata

    def _replayed(self) -> tuple[list[CommitFile | None], CheckpointContent | None]:
        """The commits after the newest log checkpoint that can be used, and that checkpoint; an empty one
        when the log begins at 0."""
        limit = self._door.settings.table_versions
        point = self._names_to_rebuild(self.newest).base_of(self.newest)
        content: CheckpointContent | None = None
        if point is not None:
            content = self._checkpoint(point.version, with_files=False)
            first = point.version + 1
        else:
            first = self.oldest if self.oldest is not None else self.newest + 1
            content = CheckpointContent((), None) if first == 0 else None
        if self.newest - first + 1 > limit:
            self._problems["limit"] = say(
                "delta.transactions_of_newest_only", limit=limit, total=self.newest - first + 1, url=self.url
            )
            first, content = self.newest - limit + 1, None
        files = self.files_of(range(first, self.newest + 1))
        return [files.get(version) for version in range(first, self.newest + 1)], content

    def _checkpoint(self, version: int, with_files: bool) -> CheckpointContent | None:
        point = next(p for p in self._names_to_rebuild(version).checkpoints if p.version == version)
        if point.size_bytes > self._door.settings.log_checkpoint_bytes:
            self._note(point.parts[0].path, say("delta.checkpoint_too_large", size_bytes=point.size_bytes))
            return None
        contents = self._read(point.parts)
        parts = []
        for info in point.parts:
            data = contents[info.path]
            if data is None:
                return None
            try:
                parts.append(read_part(info.name, data, with_files))
            except ValueError as error:
                self._note(info.path, str(error))
                return None
        return together(parts)

    # Single versions.

    def commits(self, versions: Iterable[int] | None = None, limit: int | None = None) -> CommitRange:
        """The commits of these versions (default: all), newest first, at most ``limit`` (default: the setting
        ``table_versions``).

        One GET each, once. Versions that are not there or cannot be read are left out; ``problems`` names the
        latter. ``limit_words`` counts the versions from the oldest to the newest where the names between them
        were not listed.
        """
        at_most = self._door.settings.table_versions if limit is None else limit
        end = self._listing
        if versions is None and end.since and len(end.end.commits) >= at_most:
            wanted, total = list(end.end.commits)[::-1], self.newest - (end.first or 0) + 1
        else:
            wanted = self._there(self.names.commits if versions is None else versions)[::-1]
            total = len(wanted)
        taken = wanted[:at_most]
        read = self.files_of(taken)
        commits = tuple(read[v].commit for v in taken if v in read)
        if total <= at_most:
            return CommitRange(commits)
        return CommitRange(commits, say("delta.newest_versions_only", limit=at_most, total=total))

    def files_of(self, versions: Iterable[int]) -> dict[int, CommitFile]:
        """The content of these commits by version, read in one wave; those that are not there or cannot be
        read are left out."""
        wanted = self._there(versions)
        commits = self.names_from(min(wanted, default=self.newest)).commits
        missing = {commits[v].path: v for v in wanted if v not in self._commits}
        contents = self._read([commits[v] for v in missing.values()]) if missing else {}
        for path, version in missing.items():
            data = contents[path]
            found = parse_commit(data, version, path) if data is not None else None
            if found is not None and found.problem is not None:
                self._note(path, found.problem)
            self._commits[version] = found
        return {v: found for v in wanted if (found := self._commits[v]) is not None}

    @property
    def table_versions(self) -> int:
        """How many versions are read at most for one question."""
        return self._door.settings.table_versions

    def look(self, paths: Iterable[str]) -> dict[str, Look]:
        """Whether data files, by their paths below the table, are there: one request each, once. Raises
        StorageError when the store does not answer."""
        wanted = list(paths)
        missing = [path for path in wanted if path not in self._looks]
        self._looks.update(self._door.look(missing) if missing else {})
        return {path: self._looks[path] for path in wanted}

    def _there(self, versions: Iterable[int]) -> list[int]:
        """Those of ``versions`` that have a commit, ascending. An offset can claim a range of any length."""
        if isinstance(versions, range):
            commits = self.names_from(versions.start).commits
            return within(commits, versions.start, versions.stop - 1)
        asked = set(versions)
        commits = self.names_from(min(asked, default=self.newest)).commits
        return sorted(v for v in asked if v in commits)

    def _read(self, files: Sequence[FileInfo]) -> dict[str, bytes | None]:
        """Contents by path; None with a sentence in ``problems`` where a file cannot be read."""
        found: dict[str, bytes | None] = {}
        limit_bytes = self._door.settings.log_checkpoint_bytes
        try:
            contents = read_within(self._door, files, limit_bytes)
        except StorageError as error:
            for info in files:
                found[info.path] = None
                self._problems[info.path] = str(error)
            return found
        for path, content in contents.items():
            found[path] = content if isinstance(content, bytes) else None
            if content is None:
                self._note(path, say("delta.removed_while_read"))
            elif isinstance(content, Problem):
                self._note(path, content.clause)
        return found

    def _note(self, path: str, clause: str) -> None:
        self._problems.setdefault(path, say("delta.file_problem", url=self.url, path=path, clause=clause))

    # Amounts.

    def rows_between(self, from_version: int, to_version: int, after_index: int = -1) -> Amount:
        """What the commits from ``from_version`` to ``to_version`` (both included) added with dataChange:
        files, bytes, rows.

        ``after_index``: of ``from_version`` only the files after this index count (the position of a source
        inside a commit).
        """
        versions = range(from_version, to_version + 1)
        limit = self._door.settings.table_versions
        if to_version - from_version + 1 > limit:
            return Amount(0, 0, None, say("delta.files_not_counted", limit=limit), is_counted=False)
        read = self.files_of(versions)
        files: list[TableFile] = []
        for version, found in read.items():
            files += found.files[after_index + 1 :] if version == from_version else found.files
        size = sum(file.size_bytes for file in files)
        unread = [v for v in versions if v not in read or read[v].problem is not None]
        if unread:
            words = say("delta.version_not_read", version=unread[0])
            return Amount(len(files), size, None, words, is_counted=not self._door.not_read)
        rows = total_rows(tuple(files))
        return Amount(len(files), size, rows, "" if rows is not None else say("delta.no_row_numbers"))

    def snapshot_files(self, version: int) -> tuple[TableFile, ...] | None:
        """The files of the table as of ``version`` in the order in which a stream reads its first snapshot:
        by time, then path.

        None when the snapshot cannot be worked out: the log does not reach back, or its checkpoint keeps the
        files in sidecars.
        """
        point = self._names_to_rebuild(version).base_of(version)
        first = 0
        files: dict[str, TableFile] = {}
        if point is not None:
            content = self._checkpoint(point.version, with_files=True)
            if content is None or content.files is None:
                return None
            files = {file.path: file for file in content.files}
            first = point.version + 1
        if version - first + 1 > self._door.settings.table_versions or not all(
            v in self.names_from(first).commits for v in range(first, version + 1)
        ):
            return None
        read = self.files_of(range(first, version + 1))
        for v in range(first, version + 1):
            found = read.get(v)
            if found is None or found.problem is not None:
                return None
            for path in found.all_removed:
                files.pop(path, None)
            files.update({file.path: file for file in found.all_added})
        return tuple(sorted(files.values(), key=lambda file: (file.modified_ms or 0, file.path)))

    def rows_now(self) -> Amount:
        """What the table holds now: files, bytes and rows of its newest version."""
        files = self._files_of_checksum() or self.snapshot_files(self.newest)
        if files is None:
            return Amount(0, 0, None, say("delta.newest_files_not_known"), is_counted=False)
        rows = total_rows(files)
        words = "" if rows is not None else say("delta.no_row_numbers")
        return Amount(len(files), sum(file.size_bytes for file in files), rows, words)

    def _files_of_checksum(self) -> tuple[TableFile, ...] | None:
        """The files of the newest version where its ``.crc`` lists them all (small tables)."""
        info = self._listing.end.checksums.get(self.newest)
        data = self._read([info])[info.path] if info is not None else None
        try:
            fields = orjson.loads(data) if data is not None else None
        except ValueError:
            return None
        listed = fields.get("allFiles") if isinstance(fields, dict) else None
        if (
            not isinstance(fields, dict)
            or not isinstance(listed, list)
            or fields.get("numFiles") != len(listed)
        ):
            return None
        files = [file for body in listed if isinstance(body, dict) and (file := table_file(body)) is not None]
        return tuple(files) if len(files) == len(listed) else None


__all__ = ["Amount", "CommitRange", "DeltaLog", "DeltaLogError", "TableFile", "TableMetadata"]
