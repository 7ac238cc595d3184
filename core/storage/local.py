"""The local file system: plain calls, one after another. Threads make both listing and reading slower here
(measured)."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from core.errors import NotAllowed
from core.messages import say
from core.storage.listing import Content, FileInfo, Gone, Look, ReadFailure, file_info
from core.storage.store import Folder, ListingFailed, Tally, failure_reason, join

# Never a write flag. Non-blocking, so that a named pipe in place of a log file does not stop the app.
READ_FLAGS = (
    os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)


# Hadoop keeps 4 bytes for 512 of the file beside it, so this is enough for one of 8 GiB.
MOST_OF_A_CHECKSUM = 64 * 1024 * 1024

# A size that a listing showed is taken for the size of what is read at once, up to here.
MOST_AT_ONCE = 1 << 20
NOT_LISTED: Mapping[str, FileInfo] = MappingProxyType({})

# Gone since the scan began, or a link that leads nowhere.
_AWAY = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)

_Subfolders = list[tuple[str, str, bool]]
"""Where a directory lies, its path below the root, and whether a link leads to it."""


class LocalStore:
    """Files below the directory ``root`` of this machine.

    Symbolic links are followed, except into a directory that holds them. A store that ``is_confined`` (a
    server that others can reach) does not follow a link out of the root either: such a link is listed as a
    file, and reading it says why it was not read.

    A name that is not UTF-8 is shown with its bytes escaped (``caf\\xe9``) and can be read under that name.
    """

    def __init__(self, root: str, is_confined: bool = False) -> None:
        self._root = root
        self._boundary = os.path.realpath(root) if is_confined else None
        self._real: dict[str, str] = {}

    def list(
        self, prefixes: Sequence[str], recursive: bool, first_page: bool, tally: Tally
    ) -> dict[str, Folder]:
        return {prefix: self._list_one(prefix, recursive, tally) for prefix in prefixes}

    def _list_one(self, prefix: str, recursive: bool, tally: Tally) -> Folder:
        folder = Folder()
        top = self._place(prefix)
        if self._leads_out(top):
            raise _leads_out(prefix)
        try:
            subfolders = self._scan(top, prefix, folder, tally, recursive)
        except FileNotFoundError:
            return Folder(exists=False)
        except NotADirectoryError:
            return Folder(exists=False, is_file=True)
        except OSError as error:
            raise ListingFailed(prefix, error) from error
        if not recursive:
            return folder
        above: tuple[str, ...] = (top,)
        pending = [(path, relative, is_link, above) for path, relative, is_link in subfolders]
        while pending:
            path, relative, is_link, above = pending.pop()
            try:
                # Only a link can lead back into a directory that holds it.
                if is_link and _identity(path) in map(_identity, above):
                    continue
                deeper = self._scan(path, relative, folder, tally, recursive)
            except (FileNotFoundError, NotADirectoryError):
                folder.lost.add(relative)  # removed or replaced since its parent was listed
                continue
            except OSError as error:
                raise ListingFailed(relative, error) from error
            if deeper:
                chain = (*above, path)
                pending.extend((p, r, leads, chain) for p, r, leads in deeper)
        return folder

    def read(
        self, paths: Sequence[str], tally: Tally, listed: Mapping[str, FileInfo] = NOT_LISTED
    ) -> dict[str, Content]:
        """``listed``: what a listing showed of the same paths. A file whose size it knows is read without
        asking for the size, a quarter of what a small file costs."""
        contents: dict[str, Content] = {}
        total = 0
        is_plain = self._boundary is None and not self._real
        start = self._root + "/"
        for path in paths:
            info = listed.get(path)
            size = None if info is None else info.size_bytes
            full = start + path if is_plain and path else self._place(path)
            content: Content
            if not is_plain and self._leads_out(full):
                content = ReadFailure(say("storage.file_leads_out"))
            elif size is not None and 0 <= size <= MOST_AT_ONCE:
                content = _read_file(full, size)
            else:
                content = _read_file(full, None, _most(path))
            contents[path] = content
            if isinstance(content, bytes):
                total += len(content)
        tally.add(get=len(contents), bytes=total)
        return contents

    def look(self, paths: Sequence[str], tally: Tally) -> dict[str, Look]:
        tally.add(head=len(paths))
        return {path: self._look_at(path) for path in paths}

    def _look_at(self, path: str) -> Look:
        full = self._place(path)
        if self._leads_out(full):
            return ReadFailure(say("storage.file_leads_out"))
        try:
            status = os.stat(full)  # noqa: PTH116  (as the rest of this module: plain calls)
        except (FileNotFoundError, NotADirectoryError):
            return Gone()
        except OSError as error:
            return ReadFailure(failure_reason(error))
        return FileInfo(path, status.st_size, status.st_mtime_ns // 1_000_000)

    def _scan(self, path: str, relative: str, folder: Folder, tally: Tally, recursive: bool) -> _Subfolders:
        """Adds the entries of one directory to ``folder``; gives its sub-directories."""
        tally.add(list=1)
        start = relative + "/" if relative else ""
        files = folder.files
        subfolders: _Subfolders = []
        with os.scandir(path) as entries:
            for entry in entries:
                name = entry.name
                if not name.isascii() and not _is_utf8(name):
                    name = os.fsencode(name).decode("utf-8", "backslashreplace")
                    self._real[start + name] = entry.path
                if name[0] == "." and name.endswith(".crc"):
                    # Hadoop writes one beside every file; asking for their size would double the time of a
                    # large listing.
                    files.append(FileInfo(start + name, None, None))
                    continue
                try:
                    if self._boundary is not None and entry.is_symlink() and self._leads_out(entry.path):
                        files.append(FileInfo(start + name, None, None))
                        if recursive and entry.is_dir():
                            raise _leads_out(start + name)
                        continue
                    if entry.is_dir():
                        subfolders.append((entry.path, start + name, entry.is_symlink()))
                        continue
                    status = entry.stat()
                except OSError as error:
                    if error.errno not in _AWAY:  # it is there; reading it says why it cannot be read
                        files.append(FileInfo(start + name, None, None))
                    continue
                if stat.S_ISREG(status.st_mode):
                    modified_ms = status.st_mtime_ns // 1_000_000
                    files.append(file_info((start + name, status.st_size, modified_ms, None)))
        if subfolders:
            folder.directories.update([relative for _, relative, _ in subfolders])
        return subfolders

    def _place(self, path: str) -> str:
        """Where a path below the root lies."""
        for at in (
            [len(path), *(i for i in range(len(path) - 1, 0, -1) if path[i] == "/")] if self._real else ()
        ):
            if (real := self._real.get(path[:at])) is not None:
                return real + path[at:]
        return join(self._root, path)

    def _leads_out(self, path: str) -> bool:
        if self._boundary is None:
            return False
        real = os.path.realpath(path)
        return real != self._boundary and not real.startswith(self._boundary.rstrip("/") + "/")


def _leads_out(prefix: str) -> ListingFailed:
    return ListingFailed(prefix, NotAllowed(say("storage.directory_leads_out", path=prefix)))


def _is_utf8(name: str) -> bool:
    # Python stands in for the other bytes with lone surrogates, which nothing can write or show.
    return not any("\ud800" <= char <= "\udfff" for char in name)


def _identity(path: str) -> tuple[int, int]:
    status = os.stat(path)  # noqa: PTH116
    return (status.st_dev, status.st_ino)


def _most(path: str) -> int | None:
    """The most that is read of a file whose size the listing does not know."""
    name = path.rpartition("/")[2]
    return MOST_OF_A_CHECKSUM if name[:1] == "." and name.endswith(".crc") else None


def _read_file(path: str, expected: int | None, most: int | None = None) -> Content:
    """The content. ``expected``: its size, where that was seen before; it may be another one by now."""
    try:
        handle = os.open(path, READ_FLAGS)
    except FileNotFoundError:
        return Gone()
    except NotADirectoryError:
        return Gone()  # its directory was replaced by a file
    except OSError as error:
        return ReadFailure(failure_reason(error))
    try:
        size = os.fstat(handle).st_size if expected is None else expected
        if most is not None and size > most:
            return ReadFailure(say("storage.checksum_too_large", size_bytes=size, limit_bytes=most))
        first = os.read(handle, size + 1)
        if len(first) == size:
            return first
        parts = [first]  # it has another size by now: go on to its end
        while part := os.read(handle, 1 << 20):
            parts.append(part)
        return b"".join(parts)
    except OSError as error:
        return ReadFailure(failure_reason(error))
    finally:
        os.close(handle)
