"""The one door to the files: list these prefixes, read these files. It has no verb that writes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol, runtime_checkable

from core.errors import NotAllowed, StorageError
from core.messages import say
from core.settings import DEFAULTS, Settings
from core.storage import incident_store
from core.storage.cache import ContentCache
from core.storage.changed import ChangedStore, Changes
from core.storage.evidence import ENDING, EvidenceStore
from core.storage.evidence_manifest import Manifest
from core.storage.filesystems import filesystem
from core.storage.flat_listing import FlatStore
from core.storage.listing import Content, FileInfo, Gone, Listing, Look, ReadFailure, Requests
from core.storage.local import NOT_LISTED, LocalStore
from core.storage.location import Location, parse_location
from core.storage.nothing import NothingStore
from core.storage.remote import RemoteStore
from core.storage.s3 import S3Store
from core.storage.store import Folder, ListingFailed, Store, Tally, failure_reason, storage_error

# A file that was changed this short a time before it was read could change again within the same tick of the
# store's clock, so that path, size and time would not show it. Contents of such files are not kept, unless
# the store marks contents (etag).
SETTLED_MS = 2_000


@runtime_checkable
class ListsAfter(Protocol):
    """A store that can begin a listing behind a name."""

    def list_after(self, after: Mapping[str, str], first_page: bool, tally: Tally) -> dict[str, Folder]: ...


class Door:
    """Reads one location. Safe to use from many threads; what was read is kept in one cache for the whole
    process."""

    def __init__(
        self, location: Location, store: Store, settings: Settings, evidence: EvidenceStore | None = None
    ) -> None:
        self.location = location
        self.settings = settings
        self._store = store
        self._evidence = evidence
        self._cache = _cache(settings.content_cache_bytes)
        self._identity = (location.protocol, location.path, location.options_token)
        self._tally = Tally()
        self._not_read: dict[str, str] = {}

    @classmethod
    def open(
        cls, location: Location | str, settings: Settings = DEFAULTS, *, is_thrifty: bool = False
    ) -> Door:
        """A door to ``location``. No request is sent. ``is_thrifty``: on S3 as few requests as can be, also
        where more of them side by side would be faster. A text may also name an evidence file in the incident
        store (``evidence:...``). Raises :class:`UnsupportedLocation` for a text that is no location,
        :class:`NotAllowed` for evidence where there is no incident store."""
        if isinstance(location, str):
            named = incident_store.is_name(location)
            place = (
                incident_store.evidence_location(location, settings) if named else parse_location(location)
            )
        else:
            place = location
        store = _store(place, place.path, settings, is_thrifty)
        above, slash, name = place.path.rpartition("/")
        if not slash or not name.endswith(ENDING):
            return cls(place, store, settings)
        beside = _store(place, above or ("/" if place.is_local else ""), settings, is_thrifty=False)
        evidence = EvidenceStore(place, store, beside, settings.evidence_bytes)
        return cls(place, evidence, settings, evidence)

    @classmethod
    def nothing(cls, location: Location, settings: Settings = DEFAULTS) -> Door:
        """A door behind which nothing lies, for a checkpoint that is gone; no request is ever sent."""
        return cls(location, NothingStore(), settings)

    @property
    def is_nothing(self) -> bool:
        """Whether this door stands for a checkpoint that is gone."""
        return isinstance(self._store, NothingStore)

    def changed(self, changes: Changes) -> Door:
        """A door to the same place as it would be after these changes; nothing is written. What was not
        changed is read as through this door."""
        return Door(self.location, ChangedStore(self._store, changes), self.settings, self._evidence)

    @property
    def is_changed(self) -> bool:
        """Whether this door shows the place as it would be after changes (:meth:`changed`)."""
        return isinstance(self._store, ChangedStore)

    @property
    def evidence(self) -> Manifest | None:
        """The record of the evidence file that is behind this door; None for a directory. Known after the
        first listing."""
        return None if self._evidence is None else self._evidence.manifest

    def recorded_answer(self, verb: str) -> bytes | None:
        """The JSON that a verb answered when the evidence behind this door was taken; None for a directory,
        and where it was not recorded."""
        return None if self._evidence is None else self._evidence.answer(verb)

    @property
    def evidence_sha256(self) -> str | None:
        """The SHA-256 of that evidence file, in hexadecimal digits; None for a directory."""
        return None if self._evidence is None else self._evidence.sha256

    @property
    def origin(self) -> Location:
        """Where the files lay when they were listed: the location, or the one that an evidence file recorded.
        For sentences and judgement; it is never opened."""
        return self.location if self.evidence is None else self.evidence.origin

    @property
    def requests(self) -> Requests:
        """How many requests this door has sent so far."""
        return self._tally.snapshot()

    @property
    def not_read(self) -> dict[str, str]:
        """What could not be read or listed at its last try: path (of a directory with ``/`` at its end) ->
        the reason."""
        return dict(self._not_read)

    def note_not_read(self, path: str, reason: str) -> None:
        """Remembers a file that a caller left out because of its size."""
        self._not_read[path] = reason

    def list(
        self,
        prefixes: Iterable[str],
        recursive: bool = False,
        first_page: bool = False,
        known_there: bool = False,
        reads_next: int = 0,
    ) -> dict[str, Listing]:
        """One listing for each prefix ("" is the root): one level, or with ``recursive`` the whole tree below
        it.

        All prefixes are listed side by side. Paths in a listing are relative to the root of the location.
        Directory markers of object stores never appear as files. Hidden files do (``.5.crc`` of Hadoop's
        local file system without size and time: neither was asked for). A prefix below the root that
        does not exist, or is a file, gives ``exists=False``.

        ``first_page``: enough to see what a directory is; S3 then gives at most 1,000 names of each level and
        the listing says whether that was all. Other stores give everything.

        ``known_there``: another listing shows these directories. What a listing shows and the next one does
        not find is listed once more; still so is a directory that could not be listed, not an empty one.

        ``reads_next``: about so many files will be read next; a store that is far away can get ready.

        Raises :class:`LocationNotFound` or :class:`NotADirectory` when the root itself was asked for and is
        not a directory, :class:`AccessDenied` or another :class:`StorageError` when anything cannot be
        listed.
        """
        wanted = list(dict.fromkeys(prefix.strip("/") for prefix in prefixes))
        self._check(wanted)
        read_at_ms = time.time_ns() // 1_000_000
        if isinstance(self._store, S3Store):
            self._store.expect(wanted if known_there else ())
            self._store.expect_reads(reads_next)
        try:
            folders = self._store.list(wanted, recursive, first_page, self._tally)
            if any(_lost(folder, prefix, known_there) for prefix, folder in folders.items()):
                folders = self._store.list(wanted, recursive, first_page, self._tally)
            for prefix, folder in folders.items():
                if lost := _lost(folder, prefix, known_there):
                    raise ListingFailed(min(lost), OSError(say("storage.listed_by_its_parent")))
        except StorageError:
            raise
        except Exception as error:
            sentence = self._sentence(error)
            if isinstance(error, ListingFailed):
                self._not_read[f"{error.prefix}/"] = str(sentence)
            raise sentence from error
        for prefix in wanted:
            self._not_read.pop(f"{prefix}/", None)
        if "" in folders and not folders[""].exists:
            missing: Exception = NotADirectoryError() if folders[""].is_file else FileNotFoundError()
            raise storage_error(missing, self.location)
        if self.evidence is not None:
            read_at_ms = self.evidence.moment_ms
        return {prefix: _listing(prefix, folders[prefix], read_at_ms) for prefix in wanted}

    @property
    def begins_behind_names(self) -> bool:
        """Whether :meth:`list_after` lists less than the whole directory (S3)."""
        return isinstance(self._store, ListsAfter)

    def list_after(self, after: Mapping[str, str], first_page: bool = False) -> dict[str, Listing]:
        """One level of each directory, only the names that sort behind the one given for it, in the order of
        their bytes: ``9999`` is behind ``10000``. A directory with no such name is an empty listing.

        ``first_page``: at most 1,000 names where the store can begin behind a name (S3); the listing says
        whether that was all. Elsewhere the directory is listed in full. Raises as :meth:`list` does.
        """
        self._check(after)
        if not isinstance(self._store, ListsAfter):
            return {
                prefix: replace(
                    listing,
                    files={path: info for path, info in listing.files.items() if info.name > after[prefix]},
                    directories=tuple(
                        path for path in listing.directories if path.rpartition("/")[2] > after[prefix]
                    ),
                )
                for prefix, listing in self.list(after).items()
            }
        read_at_ms = time.time_ns() // 1_000_000
        try:
            folders = self._store.list_after(after, first_page, self._tally)
        except Exception as error:
            raise self._sentence(error) from error
        return {prefix: _listing(prefix, folders[prefix], read_at_ms) for prefix in after}

    def read(self, files: Iterable[FileInfo]) -> dict[str, Content]:
        """The contents by path: bytes, :class:`Gone` (listed, and away now) or :class:`ReadFailure`. Never
        raises for a single file.

        What was read before is not read again as long as path, size, time and etag of the listing are the
        same. The bytes are what the store gave now; when a running query rewrote the file since it was
        listed, they differ in length from the listing. A file that is away or shorter than it was listed is
        read again, and its directory is listed again: still listed and not there, or not whole, is a failure.
        """
        wanted = {info.path: info for info in files}
        self._check(wanted)
        contents: dict[str, Content] = {}
        for path, info in wanted.items() if self._cache.limit_bytes else ():
            if info.modified_ms is not None and (kept := self._cache.get((self._identity, info))) is not None:
                contents[path] = kept
        missing = [path for path in wanted if path not in contents]
        if missing:
            now_ms = time.time_ns() // 1_000_000
            fresh = self._confirmed(wanted, self._fetch(missing, wanted))
            self._remember(fresh)
            for path, content in fresh.items() if self._cache.limit_bytes else ():
                if isinstance(content, bytes) and _may_keep(wanted[path], content, now_ms):
                    self._cache.put((self._identity, wanted[path]), content)
            contents.update(fresh)
        return {path: contents[path] for path in wanted}

    def look(self, paths: Iterable[str]) -> dict[str, Look]:
        """Size and time of single files by path, without a listing: one request each. :class:`Gone` when
        nothing is there, :class:`ReadFailure` when nobody may know. Never raises for a single file."""
        wanted = list(dict.fromkeys(paths))
        self._check(wanted)
        try:
            found = self._store.look(wanted, self._tally) if wanted else {}
        except StorageError:
            raise
        except Exception as error:
            raise self._sentence(error) from error
        for path, seen in found.items():
            if isinstance(seen, ReadFailure):
                self._not_read[path] = seen.reason
            else:
                self._not_read.pop(path, None)
        return found

    def _fetch(self, paths: Sequence[str], listed: Mapping[str, FileInfo] = NOT_LISTED) -> dict[str, Content]:
        try:
            if isinstance(self._store, LocalStore):
                return self._store.read(paths, self._tally, listed)
            return self._store.read(paths, self._tally)
        except StorageError as error:
            self._not_read.update(dict.fromkeys(paths, str(error)))
            raise
        except Exception as error:
            sentence = self._sentence(error)
            self._not_read.update(dict.fromkeys(paths, str(sentence)))
            raise sentence from error

    def _sentence(self, error: Exception) -> StorageError:
        return storage_error(error, self.location, turned_away=self._tally.turned_away)

    def _confirmed(self, wanted: Mapping[str, FileInfo], fresh: dict[str, Content]) -> dict[str, Content]:
        """The contents, where those that do not fit the listing were read a second time, and judged by a
        second listing."""
        doubted = [path for path, content in fresh.items() if _is_doubtful(wanted[path], content)]
        if not doubted:
            return fresh
        fresh = {**fresh, **self._fetch(doubted)}
        doubted = [path for path in doubted if _is_doubtful(wanted[path], fresh[path])]
        folders = sorted({path.rpartition("/")[0] for path in doubted})
        try:
            listed = self._store.list(folders, False, False, self._tally) if folders else {}
        except Exception as error:
            reason = failure_reason(error.cause if isinstance(error, ListingFailed) else error)
            return {**fresh, **{path: ReadFailure(reason) for path in doubted}}
        now = {info.path: info for folder in listed.values() for info in folder.files}
        return {**fresh, **{path: _judged(fresh[path], now.get(path)) for path in doubted}}

    def _remember(self, contents: Mapping[str, Content]) -> None:
        for path, content in contents.items():
            if isinstance(content, ReadFailure):
                self._not_read[path] = content.reason
            else:
                self._not_read.pop(path, None)

    def _check(self, paths: Iterable[str]) -> None:
        # Names can come from the text of a hostile checkpoint; they must not lead out of the location.
        for path in paths:
            if path.startswith("/") or "\0" in path or (".." in path and ".." in path.split("/")):
                raise NotAllowed(
                    say("storage.path_leads_out", path=path, location=self.location.url), self.location.url
                )


def _store(place: Location, path: str, settings: Settings, is_thrifty: bool) -> Store:
    """The store of the directory ``path`` in the file system of ``place``."""
    at_once, seconds = settings.concurrent_requests, settings.store_seconds
    if place.is_local:
        return LocalStore(path, is_confined=not settings.is_private)
    if place.protocol == "s3":
        is_direct = settings.s3_client == "auto"
        s3 = S3Store(path, lambda: filesystem(place, at_once, seconds), at_once, seconds, is_direct)
        return FlatStore(s3) if is_thrifty else s3
    return RemoteStore(place.protocol, path, lambda: filesystem(place, at_once, seconds), at_once, seconds)


def _lost(folder: Folder, prefix: str, known_there: bool) -> set[str]:
    if known_there and not folder.exists and not folder.is_file:
        return {prefix}
    return folder.lost


def _is_doubtful(info: FileInfo, content: Content) -> bool:
    if isinstance(content, bytes):
        return info.size_bytes is not None and len(content) < info.size_bytes
    return isinstance(content, Gone)


def _judged(content: Content, now: FileInfo | None) -> Content:
    """What a content that does not fit its listing means, by the listing of ``now``; None: it is away."""
    if now is None:
        return Gone()
    if isinstance(content, Gone):
        return ReadFailure(say("storage.listed_and_not_there"))
    if isinstance(content, bytes) and now.size_bytes is not None and len(content) < now.size_bytes:
        return ReadFailure(say("storage.came_back_short", got=len(content), size_bytes=now.size_bytes))
    return content


def _may_keep(info: FileInfo, content: bytes, now_ms: int) -> bool:
    if info.modified_ms is None or len(content) != info.size_bytes:
        return False
    return info.etag is not None or now_ms - info.modified_ms > SETTLED_MS


def _listing(prefix: str, folder: Folder, read_at_ms: int) -> Listing:
    files = {info.path: info for info in folder.files} if folder.by_path is None else folder.by_path
    return Listing(
        prefix, files, tuple(sorted(folder.directories)), read_at_ms, folder.exists, folder.is_complete
    )


@lru_cache(maxsize=4)
def _cache(limit_bytes: int) -> ContentCache:
    return ContentCache(limit_bytes)


__all__: Sequence[str] = ["Door"]
