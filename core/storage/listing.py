"""What the door gives back: listings, files, contents, counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple


class FileInfo(NamedTuple):
    """A file as the listing showed it. ``path`` is relative to the checkpoint root and uses ``/``.

    ``size_bytes`` is None when the listing does not give it: unknown, never 0. ``modified_ms`` is epoch
    milliseconds (UTC), None when the store does not say; S3 gives whole seconds.
    ``etag`` is the store's own mark of this content, None when it has none. A tuple, because a state
    directory can hold 440,000 of them.
    """

    path: str
    size_bytes: int | None
    modified_ms: int | None = None
    etag: str | None = None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]


# What FileInfo(*columns) makes, without the work of calling it: a directory can hold many thousands.
file_info: Callable[[tuple[str, int | None, int | None, str | None]], FileInfo] = partial(
    tuple.__new__, FileInfo
)


@dataclass(frozen=True)
class Listing:
    """The files and directories below ``prefix`` ("" is the root), read at ``read_at_ms`` (epoch
    milliseconds).

    The keys of ``files`` and the entries of ``directories`` are paths relative to the CHECKPOINT ROOT, like
    ``FileInfo.path`` (``offsets/5``, not ``5``). Directories are in text order, files in the order of the
    store. ``exists`` is False when nothing is there under this name. ``is_complete`` is False when only the
    first page was asked for and there are more.
    """

    prefix: str
    files: Mapping[str, FileInfo]
    directories: tuple[str, ...]
    read_at_ms: int
    exists: bool = True
    is_complete: bool = True

    def names(self) -> Mapping[str, FileInfo]:
        """The files by the last part of their path; for a listing of one level."""
        return self._names

    @cached_property
    def _names(self) -> Mapping[str, FileInfo]:
        return {info.name: info for info in self.files.values()}

    def directory_names(self) -> tuple[str, ...]:
        """The last parts of ``directories``; for a listing of one level."""
        return tuple(path.rsplit("/", 1)[-1] for path in self.directories)


@dataclass(frozen=True, slots=True)
class Gone:
    """The file was listed and is away now: removed by retention or by a running query, not damaged."""


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """The file is there and cannot be read. ``reason`` is one sentence without the path."""

    reason: str


Content = bytes | Gone | ReadFailure
Look = FileInfo | Gone | ReadFailure


@dataclass(frozen=True, slots=True)
class Requests:
    """How many requests were sent to the store, and how many bytes of content came back.

    On S3 these are HTTP requests (one LIST per page, retries included). Elsewhere: one ``list`` per
    directory, one ``get`` per file.
    """

    list: int = 0
    get: int = 0
    head: int = 0
    bytes: int = 0
