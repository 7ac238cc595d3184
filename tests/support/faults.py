"""Faults of a store, injected below the storage door: a file or a directory that is denied, throttled, slow,
broken, gone, cut short, or a link that is not followed.

    store = FaultyStores()
    with store.installed():
        healthy = store.run(["forecast", place, "--json"])
        for target in store.targets:               # what that verb reads and lists
            with store.fault("denied", target):
                faulty = store.run(["forecast", place, "--json"])

The rule that is proven with it: what could not be read is not damage. :mod:`tests.support.fault_rules`
compares the answers.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import core.cli as command_line
from core.errors import NotAllowed
from core.messages import say
from core.settings import DEFAULTS, Settings
from core.storage import Content, Door, FileInfo, Gone, Location, ReadFailure
from core.storage import door as door_module
from core.storage.listing import Look
from core.storage.remote import content_of
from core.storage.store import Folder, ListingFailed, Store, Tally, join

Kind = Literal["denied", "throttled", "timeout", "io_error", "vanish", "short", "link"]
KINDS: tuple[Kind, ...] = ("denied", "throttled", "timeout", "io_error", "vanish", "short", "link")
LISTING_KINDS: tuple[Kind, ...] = ("denied", "throttled", "timeout", "io_error", "vanish", "link")

_ERRORS: Mapping[Kind, Callable[[], Exception]] = {
    "denied": lambda: PermissionError("Forbidden"),
    "throttled": lambda: OSError("503 Slow Down: please reduce your request rate"),
    "timeout": lambda: TimeoutError("no answer after 30 s"),
    "io_error": lambda: OSError(errno.EIO, "Input/output error"),
}


@dataclass(frozen=True, slots=True)
class Target:
    """What a fault hits: the full path of a file, or of a directory that is listed."""

    path: str
    is_listing: bool = False

    def below(self, root: Path) -> str:
        """The path below ``root``, for a message."""
        return self.path.removeprefix(f"{root}/") + ("/" if self.is_listing else "")


@dataclass(frozen=True, slots=True)
class Run:
    """What one verb answered."""

    status: int
    document: Any
    error: str
    trace: str = ""


@dataclass
class FaultyStores:
    """Every store of this process, with one fault at most. ``files`` and ``listings`` are what was read and
    listed since :meth:`forget`, in order."""

    kind: Kind | None = None
    target: Target | None = None
    hits: int = 0
    files: dict[str, None] = field(default_factory=dict)
    listings: dict[str, None] = field(default_factory=dict)

    @contextlib.contextmanager
    def installed(self) -> Iterator[FaultyStores]:
        """Every door that is opened in this block reads through these stores."""
        real = Door.open.__func__  # type: ignore[attr-defined]

        def opened(
            cls: type[Door], location: Location | str, /, settings: Settings = DEFAULTS, **how: bool
        ) -> Door:
            door: Door = real(cls, location, settings, **how)
            door._store = FaultyStore(door._store, door.location.path, self)
            return door

        with mock.patch.object(Door, "open", classmethod(opened)):
            yield self

    @contextlib.contextmanager
    def fault(self, kind: Kind, target: Target) -> Iterator[None]:
        """One fault for this block."""
        self.kind, self.target, self.hits = kind, target, 0
        try:
            yield
        finally:
            self.kind = self.target = None

    def forget(self) -> None:
        """Begins a new list of what is read."""
        self.files.clear()
        self.listings.clear()

    def targets(self) -> list[Target]:
        """What was read and listed."""
        return [*(Target(path) for path in self.files), *(Target(path, True) for path in self.listings)]

    def run(self, command: Sequence[str]) -> Run:
        """One verb in this process, without what earlier runs have kept."""
        door_module._cache.cache_clear()
        out, error = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
        traces: list[str] = []

        def unknown(trouble: Exception, _: bool) -> int:
            traces.append(repr(trouble))
            raise trouble

        with (
            mock.patch.object(command_line, "_unknown", unknown),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(error),
        ):
            try:
                status = command_line.main(list(command))
            except SystemExit as stop:
                status = int(stop.code or 0)
        text = out.buffer.getvalue().decode()
        return Run(status, json.loads(text) if text else None, error.getvalue(), "".join(traces))

    def hit(self, path: str, *, listing: bool) -> Kind | None:
        """The fault of this path; None when it has none."""
        if self.target != Target(path, listing):
            return None
        self.hits += 1
        return self.kind


class FaultyStore:
    """A store that reads through another one and fails where it is told to."""

    def __init__(self, inner: Store, root: str, faults: FaultyStores) -> None:
        self._inner, self._root, self._faults = inner, root.rstrip("/"), faults
        self._without_size: set[str] = set()

    def list(
        self, prefixes: Sequence[str], recursive: bool, first_page: bool, tally: Tally
    ) -> dict[str, Folder]:
        return {prefix: self._list(prefix, recursive, first_page, tally) for prefix in prefixes}

    def _list(self, prefix: str, recursive: bool, first_page: bool, tally: Tally) -> Folder:
        kind = self._listing_fault(prefix)
        if kind == "vanish":
            return Folder(exists=False)
        folder = self._inner.list([prefix], recursive, first_page, tally)[prefix]
        if folder.exists:
            self._faults.listings[join(self._root, prefix)] = None
        if recursive:
            for path in sorted(folder.directories):
                self._faults.listings[join(self._root, path)] = None
                if self._listing_fault(path) == "vanish":
                    folder.files = [info for info in folder.files if not info.path.startswith(f"{path}/")]
                    folder.directories = {
                        name for name in folder.directories if not name.startswith(f"{path}/")
                    }
                    folder.lost.add(path)
        folder.files = [self._info(info) for info in folder.files]
        target = self._faults.target
        if self._faults.kind == "link" and target is not None and target.is_listing:
            linked = target.path.removeprefix(f"{self._root}/")
            if linked in folder.directories:
                folder.directories.discard(linked)
                folder.files.append(FileInfo(linked, None, None))
        return folder

    def _listing_fault(self, prefix: str) -> Kind | None:
        kind = self._faults.hit(join(self._root, prefix), listing=True)
        if kind == "link":
            raise ListingFailed(prefix, NotAllowed(say("storage.directory_leads_out", path=prefix)))
        if kind is not None and kind != "vanish":
            raise ListingFailed(prefix, _ERRORS[kind]())
        return kind

    def _info(self, info: FileInfo) -> FileInfo:
        target = self._faults.target
        if self._faults.kind == "link" and target == Target(join(self._root, info.path)):
            return FileInfo(info.path, None, None)
        if info.size_bytes is None:
            self._without_size.add(info.path)
        return info

    def read(self, paths: Sequence[str], tally: Tally) -> dict[str, Content]:
        contents = self._inner.read(paths, tally)
        for path, content in contents.items():
            full = join(self._root, path)
            self._faults.files[full] = None
            if self._faults.kind == "short" and path in self._without_size:
                continue  # nobody can tell: the local listing leaves out the size of hidden checksum files
            kind = self._faults.hit(full, listing=False)
            if kind is not None:
                contents[path] = _faulty(kind, content)
        return contents

    def look(self, paths: Sequence[str], tally: Tally) -> dict[str, Look]:
        """Without faults: input files are looked at one by one, each answer stands for itself."""
        return self._inner.look(paths, tally)


def _faulty(kind: Kind, content: Content) -> Content:
    if kind == "vanish":
        return Gone()
    if kind == "link":
        return ReadFailure(say("storage.file_leads_out"))
    if kind == "short":
        return content[: len(content) // 2] if isinstance(content, bytes) else content
    return content_of(_ERRORS[kind]())
