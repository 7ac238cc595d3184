"""Watches that nothing is written. Two watchers, for two ways to the files:

``no_writes(directory)``: any attempt of this process to create, change, rename or delete something below the
directory raises :class:`WriteAttempted`, by whatever library (Python's audit events), and the directory must
look the same afterwards, which also catches other processes and native code.

    with no_writes(samples):
        main(["inspect", str(samples / "orders")])

``spy_file_system()``: makes ``spy:///path`` a location whose fsspec file system reads a local directory and
raises on every other verb; for code that goes through fsspec.

    with spy_file_system() as spy:
        Checkpoint.open(spy.url(samples / "orders"))
        assert spy.calls
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import fsspec
from fsspec.implementations.local import LocalFileSystem
from fsspec.registry import _registry
from fsspec.spec import AbstractFileSystem


class WriteAttempted(BaseException):
    """Something tried to write. Not an ``Exception``, so that no code under test can swallow it."""


WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

# Audit events of Python (see "Audit events table" in its documentation) that change files, and which of their
# arguments are paths.
CHANGES = {
    "os.remove": (0,),
    "os.rename": (0, 1),
    "os.mkdir": (0,),
    "os.rmdir": (0,),
    "os.link": (0, 1),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "os.utime": (0,),
    "os.chmod": (0,),
    "os.chown": (0,),
    "os.lchown": (0,),
    "os.chflags": (0,),
    "os.setxattr": (0,),
    "os.removexattr": (0,),
    "shutil.rmtree": (0,),
    "shutil.move": (0, 1),
    "shutil.copyfile": (1,),
    "shutil.copytree": (1,),
    "tempfile.mkstemp": (0,),
    "tempfile.mkdtemp": (0,),
}

_watched: set[str] = set()
_lock = threading.Lock()
_installed = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watched:
        return
    if event == "open":
        path, mode, flags = arguments
        writes = (
            bool(flags & WRITE_FLAGS)
            if isinstance(flags, int)
            else any(letter in str(mode) for letter in "wax+")
        )
        if writes and _is_watched(path):
            raise WriteAttempted(f"open for writing: {path}")
    elif event in CHANGES:
        for position in CHANGES[event]:
            if position < len(arguments) and _is_watched(arguments[position]):
                raise WriteAttempted(f"{event}: {arguments}")


def _is_watched(path: object) -> bool:
    if isinstance(path, int):  # a descriptor that is open already
        try:
            path = str(Path(f"/proc/self/fd/{path}").readlink())
        except OSError:
            return False
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    real = os.path.realpath(os.fsdecode(path))
    return any(real == top or real.startswith(top + os.sep) for top in _watched)


def fingerprint(directory: Path) -> dict[str, tuple[int, int, int, str]]:
    """Mode, size, time and content of everything below the directory."""
    found = {}
    for path in [directory, *sorted(directory.rglob("*"))]:
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(directory))] = (
            status.st_mode,
            status.st_size,
            status.st_mtime_ns,
            content,
        )
    return found


@contextmanager
def no_writes(directory: Path) -> Iterator[None]:
    """Raises :class:`WriteAttempted` when something below ``directory`` is written to in this block, or has
    changed after it."""
    global _installed
    top = os.path.realpath(directory)
    before = fingerprint(directory)
    with _lock:
        if not _installed:
            sys.addaudithook(
                _hook
            )  # cannot be taken away again; it does nothing while no directory is watched
            _installed = True
        _watched.add(top)
    try:
        yield
    finally:
        with _lock:
            _watched.discard(top)
    after = fingerprint(directory)
    if before != after:
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        raise WriteAttempted(f"changed below {directory}: {', '.join(changed[:5])}")


class SpyFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """Reads local files under ``spy://``; every public verb that is not for reading raises
    :class:`WriteAttempted`."""

    protocol = "spy"
    root_marker = "/"
    cachable = False

    # Verbs that only look. All other public methods of fsspec's base class are refused, also those a later
    # version adds.
    READING: ClassVar[frozenset[str]] = frozenset(
        [
            "ls",
            "find",
            "walk",
            "glob",
            "du",
            "disk_usage",
            "info",
            "exists",
            "lexists",
            "isdir",
            "isfile",
            "size",
            "sizes",
            "stat",
            "listdir",
            "tree",
            "created",
            "modified",
            "checksum",
            "ukey",
            "cat",
            "cat_file",
            "cat_ranges",
            "read_block",
            "read_bytes",
            "read_text",
            "head",
            "tail",
            "open",
            "get_mapper",
            "expand_path",
            "unstrip_protocol",
            "invalidate_cache",
            "clear_instance_cache",
            "current",
            "from_dict",
            "from_json",
            "to_dict",
            "to_json",
        ]
    )

    calls: ClassVar[list[str]] = []
    gives_sizes: ClassVar[bool] = True
    denied: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._files = LocalFileSystem()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.removeprefix("spy://").strip("/")

    def ls(self, path: str, detail: bool = True, **_: Any) -> Any:
        self.calls.append(f"ls {path}")
        self._maybe_deny(path)
        found = self._files.ls(self._strip_protocol(path), detail=detail)
        if detail and not self.gives_sizes:
            for entry in found:
                entry["size"] = None
        return found

    def _maybe_deny(self, path: str) -> None:
        if any(path.endswith(f"/{end}") for end in self.denied):
            raise PermissionError(13, "Permission denied")

    def info(self, path: str, **_: Any) -> Any:
        self.calls.append(f"info {path}")
        return self._files.info(self._strip_protocol(path))

    def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
        if mode != "rb":
            raise WriteAttempted(f"open {path} {mode}")
        self.calls.append(f"open {path}")
        self._maybe_deny(path)
        return self._files.open(self._strip_protocol(path), mode)

    def open(self, path: str, mode: str = "rb", *arguments: Any, **options: Any) -> Any:
        if any(letter in mode for letter in "wax+"):
            raise WriteAttempted(f"open {path} {mode}")
        return super().open(path, mode, *arguments, **options)


def _refuse(name: str) -> Any:
    def refused(self: SpyFileSystem, *arguments: Any, **_: Any) -> Any:
        raise WriteAttempted(f"{name} {arguments}")

    return refused


REFUSED_VERBS = tuple(
    name
    for name in dir(AbstractFileSystem)
    if callable(getattr(AbstractFileSystem, name))
    and name not in SpyFileSystem.READING
    and (not name.startswith("_") or name in ("_rm", "_mkdir", "_put_file", "_pipe_file"))
)
for _name in REFUSED_VERBS:
    setattr(SpyFileSystem, _name, _refuse(_name))


class Spy:
    """What the spy saw."""

    @property
    def calls(self) -> list[str]:
        """The calls that reached the file system, each "verb path"."""
        return list(SpyFileSystem.calls)

    @staticmethod
    def url(path: Path) -> str:
        """The spied location of a local directory."""
        return f"spy://{path.resolve()}"


@contextmanager
def spy_file_system(gives_sizes: bool = True, denied: Iterable[str] = ()) -> Iterator[Spy]:
    """Makes ``spy://`` a protocol that can be opened, for the time of the block.

    ``gives_sizes`` False: a store whose listings have no sizes. ``denied``: ends of paths (``offsets/3``,
    ``state``) that the store refuses to read or to list.
    """
    SpyFileSystem.calls.clear()
    SpyFileSystem.gives_sizes, SpyFileSystem.denied = gives_sizes, frozenset(denied)
    fsspec.register_implementation("spy", SpyFileSystem, clobber=True)
    try:
        yield Spy()
    finally:
        _registry.pop("spy", None)
