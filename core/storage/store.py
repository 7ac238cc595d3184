"""What every kind of store does for the door, and how its errors become sentences."""

from __future__ import annotations

import errno
import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from core.errors import AccessDenied, LocationNotFound, NotADirectory, StorageError
from core.messages import say
from core.storage.listing import Content, FileInfo, Look, Requests
from core.storage.location import ARCHIVES, Location, texts_in

# Names of botocore's errors; botocore is not imported here, because a local path needs none of it.
NO_CREDENTIALS = {
    "NoCredentialsError",
    "PartialCredentialsError",
    "TokenRetrievalError",
    "UnauthorizedSSOTokenError",
    "ProfileNotFound",
    "SSOTokenLoadError",
    "CredentialRetrievalError",
    "RefreshWithMFAUnsupportedError",
    "InvalidConfigError",
}
HADOOP = {"hdfs", "arrow_hdfs", "viewfs"}
# Libraries of this machine, through which pyarrow reads HDFS.
HADOOP_LIBRARY = re.compile("libjvm|libhdfs")
# What S3 answers to credentials that it does not take, or no longer. A HEAD has no such word: only 400.
REFUSED = {
    "ExpiredToken",
    "InvalidToken",
    "TokenRefreshRequired",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "400",
}
UNREACHABLE = {
    "EndpointConnectionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ConnectionClosedError",
    "ProxyConnectionError",
    "SSLError",
    # Those of requests, which are none of Python's own.
    "ConnectionError",
    "ConnectTimeout",
    "ReadTimeout",
}


@dataclass(slots=True)
class Folder:
    """What a store found below one prefix. Paths are relative to the root of the location. ``is_file``: the
    prefix is a file itself. ``is_complete`` is False when there are more names than the one page that was
    asked for. ``lost``: directories that their parent lists and that were not found. ``by_path``: the files
    by their path, where the store has them so."""

    files: list[FileInfo] = field(default_factory=list)
    directories: set[str] = field(default_factory=set)
    exists: bool = True
    is_file: bool = False
    is_complete: bool = True
    lost: set[str] = field(default_factory=set)
    by_path: dict[str, FileInfo] | None = None


class Tally:
    """Counts requests; used by many threads at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._list = self._get = self._head = self._bytes = 0
        self.turned_away = ""
        """How the store turned the last request away (``503 SlowDown``). "": it did not."""

    def add(self, *, list: int = 0, get: int = 0, head: int = 0, bytes: int = 0) -> None:
        with self._lock:
            self._list += list
            self._get += get
            self._head += head
            self._bytes += bytes

    def snapshot(self) -> Requests:
        with self._lock:
            return Requests(self._list, self._get, self._head, self._bytes)


class ListingFailed(Exception):  # noqa: N818  (it never leaves this package; the door turns it into a StorageError)
    """A prefix could not be listed; ``cause`` says why in the store's words."""

    def __init__(self, prefix: str, cause: Exception) -> None:
        super().__init__(prefix)
        self.prefix = prefix
        self.cause = cause


class NotAsked(Exception):  # noqa: N818  (as above)
    """No request was sent: what this machine needs for it is missing or broken (a file or a program that
    gives credentials, a certificate); ``cause`` says what. A missing file of this machine must not look like
    a missing checkpoint."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class NoCloudCredentials(Exception):  # noqa: N818  (as above)
    """A driver of Google's or Azure's store found no credentials. ``protocol``: of which store."""

    def __init__(self, protocol: str) -> None:
        super().__init__(protocol)
        self.protocol = protocol


class Store(Protocol):
    """A place that can be listed and read; it has no verb that writes. A listing that fails raises
    :class:`ListingFailed`."""

    def list(
        self, prefixes: Sequence[str], recursive: bool, first_page: bool, tally: Tally
    ) -> dict[str, Folder]: ...

    def read(self, paths: Sequence[str], tally: Tally) -> dict[str, Content]: ...

    def look(self, paths: Sequence[str], tally: Tally) -> dict[str, Look]: ...


def join(root: str, relative: str) -> str:
    """The store's name of a path below the root."""
    return f"{root}/{relative}" if relative else root


def are_credentials_missing(error: Exception) -> bool:
    """Whether nothing was asked, because no credentials were found or they could not be read."""
    return isinstance(error, NotAsked | NoCloudCredentials) or type(_cause(error)).__name__ in NO_CREDENTIALS


def are_credentials_refused(error: Exception) -> bool:
    """Whether S3 did not take the credentials of a request (expired, unknown or with another secret). No
    permission is something else: other credentials of the same user would not help."""
    error = _cause(error)
    response = getattr(error, "response", None) or getattr(error.__cause__, "response", None)
    return isinstance(response, dict) and response.get("Error", {}).get("Code") in REFUSED


def _cause(error: Exception) -> Exception:
    return _cause(error.cause) if isinstance(error, ListingFailed | NotAsked) else error


def storage_error(
    error: Exception, location: Location, prefix: str = "", turned_away: str = ""
) -> StorageError:
    """The sentence for an error of a store. Knows the built-in errors; the cause's own words are added for
    all others. ``turned_away``: what the store answered while it was asked again and again."""
    if isinstance(error, ListingFailed):
        return storage_error(error.cause, location, error.prefix, turned_away)
    if isinstance(error, StorageError):
        return error
    is_asked = not isinstance(error, NotAsked)
    error = _cause(error)
    where = f"{location.url.rstrip('/')}/{prefix}" if prefix else location.url
    secrets = texts_in(location.storage_options)

    def _words(error: Exception) -> str:
        return hidden(_words_of(error), secrets)

    kind = type(error).__name__
    if location.protocol in HADOOP and HADOOP_LIBRARY.search(str(error)):
        cause = str(error).partition("\n")[0]
        return StorageError(say("storage.no_hadoop", where=where, cause=cause), location.url)
    if isinstance(error, NoCloudCredentials):
        sentence = (
            say("storage.no_credentials_gs", where=where)
            if error.protocol == "gs"
            else say("storage.no_credentials_abfs", where=where)
        )
        return AccessDenied(sentence, location.url)
    if kind in NO_CREDENTIALS:
        return AccessDenied(say("storage.no_credentials", where=where, cause=_words(error)), location.url)
    if not is_asked:
        words = str(error) if isinstance(error, OSError) and error.filename else f"{kind}: {_words_of(error)}"
        return StorageError(say("storage.not_asked", where=where, cause=hidden(words, secrets)), location.url)
    if isinstance(error, TimeoutError) and turned_away:
        return StorageError(say("storage.turned_away", where=where, cause=turned_away), location.url)
    if isinstance(error, OSError) and error.errno == errno.EBUSY:  # s3fs: it asked again often enough
        return StorageError(say("storage.turned_away", where=where, cause=_words(error)), location.url)
    if kind in UNREACHABLE or isinstance(error, ConnectionError | TimeoutError):
        words = (_reason_below(error) or _words(error)).split("?")[0]
        return StorageError(say("storage.not_reached", where=where, cause=words), location.url)
    if are_credentials_refused(error):
        return AccessDenied(
            say("storage.credentials_refused", where=where, cause=_words(error)), location.url
        )
    if isinstance(error, PermissionError):
        return AccessDenied(say("storage.no_permission", where=where, cause=_words(error)), location.url)
    if isinstance(error, NotADirectoryError):
        if where.lower().endswith(ARCHIVES):
            return NotADirectory(say("storage.is_an_archive", where=where), location.url)
        return NotADirectory(say("storage.is_a_file", where=where), location.url)
    if isinstance(error, FileNotFoundError):
        # S3 says when the bucket is missing; others only repeat the path.
        if error.__cause__ is None:
            return LocationNotFound(say("storage.not_found", where=where), location.url)
        if "bucket does not exist" in _words(error):  # which a query cannot make: its start fails
            bucket = location.url.partition("://")[2].partition("/")[0]
            return StorageError(say("storage.no_bucket", bucket=bucket, where=location.url), location.url)
        return LocationNotFound(
            say("storage.not_found_because", where=where, cause=_words(error)), location.url
        )
    return StorageError(say("storage.not_listed", where=where, kind=kind, cause=_words(error)), location.url)


def failure_reason(error: Exception) -> str:
    """Why one file could not be read, as a sentence without the path."""
    if isinstance(error, NotAsked):
        return say("storage.file_not_asked", kind=type(error.cause).__name__, cause=_words_of(error.cause))
    if isinstance(error, PermissionError):
        return say("storage.file_no_permission", cause=_words_of(error))
    if isinstance(error, IsADirectoryError):
        return say("storage.file_is_directory")
    return say("storage.file_not_read", kind=type(error).__name__, cause=_words_of(error))


def _reason_below(error: BaseException) -> str | None:
    """What the system said of a connection (refused, no such host), where a library wrapped it in words of
    its own, which hold the whole request."""
    reason, below = None, error.__cause__ or error.__context__
    while below is not None:
        if isinstance(below, OSError) and below.strerror:
            reason = below.strerror
        below = below.__cause__ or below.__context__
    return reason


def _words_of(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = " ".join(str(error).split()).rstrip(".")
    return (text[:200] if text else errno.errorcode.get(getattr(error, "errno", 0) or 0, "")) or type(
        error
    ).__name__


def hidden(text: str, secrets: Iterable[str]) -> str:
    """``text`` without values of storage options, which libraries repeat in their messages (names of
    profiles, keys, endpoints with a password)."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text
