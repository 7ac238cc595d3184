"""The one door to the files: list these prefixes, read these files. It has no verb that writes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import lru_cache

from core.errors import NotAllowed, StorageError
from core.messages import say
from core.settings import DEFAULTS, Settings
from core.storage.cache import ContentCache
from core.storage.filesystems import filesystem
from core.storage.listing import Content, FileInfo, Listing, Requests
from core.storage.local import LocalStore
from core.storage.location import Location, parse_location
from core.storage.remote import RemoteStore
from core.storage.s3 import S3Store
from core.storage.store import Folder, Store, Tally, storage_error

# A file that was changed this short a time before it was read could change again within the same tick of the
# store's clock, so that path, size and time would not show it. Contents of such files are not kept, unless
# the store marks contents (etag).
SETTLED_MS = 2_000


class Door:
    """Reads one location. Safe to use from many threads; what was read is kept in one cache for the whole
    process."""

    def __init__(self, location: Location, store: Store, settings: Settings) -> None:
        self.location = location
        self.settings = settings
        self._store = store
        self._cache = _cache(settings.content_cache_bytes)
        self._identity = (location.protocol, location.path, location.options_token)
        self._tally = Tally()

    @classmethod
    def open(cls, location: Location | str, settings: Settings = DEFAULTS) -> Door:
        """A door to ``location``. No request is sent. Raises :class:`UnsupportedLocation` for a text that is
        no location."""
        place = parse_location(location) if isinstance(location, str) else location
        at_once, seconds = settings.concurrent_requests, settings.store_seconds
        store: Store
        if place.is_local:
            store = LocalStore(place.path, is_confined=not settings.is_private)
        elif place.protocol == "s3":
            store = S3Store(place.path, lambda: filesystem(place, at_once, seconds), at_once, seconds)
        else:
            store = RemoteStore(
                place.protocol, place.path, lambda: filesystem(place, at_once, seconds), at_once, seconds
            )
        return cls(place, store, settings)

    @property
    def requests(self) -> Requests:
        """How many requests this door has sent so far."""
        return self._tally.snapshot()

    def list(
        self, prefixes: Iterable[str], recursive: bool = False, first_page: bool = False
    ) -> dict[str, Listing]:
        """One listing for each prefix ("" is the root): one level, or with ``recursive`` the whole tree below
        it.

        All prefixes are listed side by side. Paths in a listing are relative to the root of the location.
        Directory markers of object stores never appear as files. Hidden files do (``.5.crc`` of Hadoop's
        local file system without size and time: neither was asked for). A prefix below the root that
        does not exist, or is a file, gives ``exists=False``.

        ``first_page``: enough to see what a directory is; S3 then gives at most 1,000 names of each level and
        the listing says whether that was all. Other stores give everything.

        Raises :class:`LocationNotFound` or :class:`NotADirectory` when the root itself was asked for and is
        not a directory, :class:`AccessDenied` or another :class:`StorageError` when anything cannot be
        listed.
        """
        wanted = list(dict.fromkeys(prefix.strip("/") for prefix in prefixes))
        self._check(wanted)
        read_at_ms = time.time_ns() // 1_000_000
        try:
            folders = self._store.list(wanted, recursive, first_page, self._tally)
        except StorageError:
            raise
        except Exception as error:
            raise storage_error(error, self.location) from error
        if "" in folders and not folders[""].exists:
            missing: Exception = NotADirectoryError() if folders[""].is_file else FileNotFoundError()
            raise storage_error(missing, self.location)
        return {prefix: _listing(prefix, folders[prefix], read_at_ms) for prefix in wanted}

    def read(self, files: Iterable[FileInfo]) -> dict[str, Content]:
        """The contents by path: bytes, :class:`Gone` (listed, and away now) or :class:`ReadFailure`. Never
        raises for a single file.

        What was read before is not read again as long as path, size, time and etag of the listing are the
        same. The bytes are what the store gave now; when a running query rewrote the file since it was
        listed, they differ in length from the listing.
        """
        wanted = {info.path: info for info in files}
        self._check(wanted)
        contents: dict[str, Content] = {}
        for path, info in wanted.items():
            if info.modified_ms is not None and (kept := self._cache.get((self._identity, info))) is not None:
                contents[path] = kept
        missing = [path for path in wanted if path not in contents]
        if missing:
            now_ms = time.time_ns() // 1_000_000
            try:
                fresh = self._store.read(missing, self._tally)
            except StorageError:
                raise
            except Exception as error:
                raise storage_error(error, self.location) from error
            for path, content in fresh.items():
                if isinstance(content, bytes) and _may_keep(wanted[path], content, now_ms):
                    self._cache.put((self._identity, wanted[path]), content)
            contents.update(fresh)
        return {path: contents[path] for path in wanted}

    def _check(self, paths: Iterable[str]) -> None:
        # Names can come from the text of a hostile checkpoint; they must not lead out of the location.
        for path in paths:
            if path.startswith("/") or "\0" in path or (".." in path and ".." in path.split("/")):
                raise NotAllowed(
                    say("storage.path_leads_out", path=path, location=self.location.url), self.location.url
                )


def _may_keep(info: FileInfo, content: bytes, now_ms: int) -> bool:
    if info.modified_ms is None or len(content) != info.size_bytes:
        return False
    return info.etag is not None or now_ms - info.modified_ms > SETTLED_MS


def _listing(prefix: str, folder: Folder, read_at_ms: int) -> Listing:
    files = {info.path: info for info in folder.files}
    return Listing(
        prefix, files, tuple(sorted(folder.directories)), read_at_ms, folder.exists, folder.is_complete
    )


@lru_cache(maxsize=4)
def _cache(limit_bytes: int) -> ContentCache:
    return ContentCache(limit_bytes)


__all__: Sequence[str] = ["Door"]
