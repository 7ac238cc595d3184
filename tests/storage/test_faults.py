"""Faults at the seam to fsspec, and file systems that other people write: blocking ones, asynchronous ones,
ones that fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.asyn import AsyncFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry

from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.errors import AccessDenied, NotADirectory, StorageError
from core.settings import Settings
from core.storage import Door, Gone, Location, ReadFailure, parse_location
from core.storage import filesystems as filesystems_module
from core.storage import remote as remote_module
from tests.support.build import commit_text, offset_text


class FaultyFileSystem(MemoryFileSystem):
    """A memory file system that fails as it is told."""

    protocol = "faulty"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    faults: ClassVar[dict[str, list[Exception]]] = {}
    always: ClassVar[dict[str, Exception]] = {}

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(MemoryFileSystem._strip_protocol(path.replace("faulty://", "memory://", 1)))

    def _maybe_fail(self, path: str) -> None:
        if path in self.always:
            raise self.always[path]
        if self.faults.get(path):
            raise self.faults[path].pop(0)

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        self._maybe_fail(path)
        return super().ls(path, detail, **options)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        self._maybe_fail(path)
        return bytes(super().cat_file(path, start, end, **options))


class WaitingFileSystem(AsyncFileSystem):
    """An asynchronous file system as gcsfs and adlfs are: entries for the directory itself, time under
    another name."""

    protocol = "waiting"
    cachable = False
    now: ClassVar[int] = 0
    most: ClassVar[int] = 0
    tree: ClassVar[dict[str, bytes]] = {}

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.removeprefix("waiting://").strip("/")

    async def _wait(self) -> None:
        WaitingFileSystem.now += 1
        WaitingFileSystem.most = max(self.most, self.now)
        for _ in range(5):
            await asyncio.sleep(0)
        WaitingFileSystem.now -= 1

    async def _ls(self, path: str, detail: bool = True, **_: Any) -> list[dict[str, Any]]:
        await self._wait()
        if path not in self.dircache:
            self.dircache[path] = self._entries(path)
            return self._entries(path)
        return list(self.dircache[path])

    def _entries(self, path: str) -> list[dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for name, content in self.tree.items():
            if name == path:
                return [{"name": name, "size": len(content), "type": "file"}]
            if name.startswith(path + "/"):
                child, _, deeper = name[len(path) + 1 :].partition("/")
                full = f"{path}/{child}"
                kind = "directory" if deeper else "file"
                found[full] = {
                    "name": full,
                    "size": len(content),
                    "type": kind,
                    "updated": "2026-11-20T03:12:11.250Z",
                    "etag": "e",
                }
        if not found:
            raise FileNotFoundError(path)
        return [{"name": path + "/", "size": 0, "type": "file"}, *found.values()]

    async def _cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        await self._wait()
        if path not in self.tree:
            raise FileNotFoundError(path)
        return self.tree[path]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    FaultyFileSystem.store.clear()
    FaultyFileSystem.faults.clear()
    FaultyFileSystem.always.clear()
    WaitingFileSystem.most = 0
    fsspec.register_implementation("faulty", FaultyFileSystem, clobber=True)
    fsspec.register_implementation("waiting", WaitingFileSystem, clobber=True)
    filesystems_module.forget()
    yield
    filesystems_module.forget()
    for protocol in ("faulty", "waiting"):
        _registry.pop(protocol)


@pytest.fixture
def location() -> Location:
    fs = FaultyFileSystem(skip_instance_cache=True)
    fs.pipe({"/ck/metadata": b"{}", "/ck/offsets/0": b"v1", "/ck/offsets/1": b"v1", "/ck/commits/0": b"v1"})
    return parse_location("faulty://ck")


def test_a_read_that_fails_once_is_a_failure_then_and_no_longer_the_next_time(location: Location) -> None:
    door = Door.open(location)
    files = door.list(["offsets"])["offsets"].files
    FaultyFileSystem.faults["/ck/offsets/1"] = [OSError("the connection broke")]
    first = door.read(files.values())
    assert first["offsets/1"] == ReadFailure("This file could not be read (OSError: the connection broke).")
    assert first["offsets/0"] == b"v1"
    assert door.read(files.values())["offsets/1"] == b"v1"


def test_a_file_that_is_denied_leaves_the_others_readable(location: Location) -> None:
    door = Door.open(location)
    files = door.list(["offsets"])["offsets"].files
    FaultyFileSystem.always["/ck/offsets/0"] = PermissionError("Forbidden")
    contents = door.read(files.values())
    assert contents == {
        "offsets/0": ReadFailure("No permission to read this file (Forbidden)."),
        "offsets/1": b"v1",
    }


def test_a_file_that_vanishes_between_listing_and_reading_is_gone(location: Location) -> None:
    door = Door.open(location)
    files = door.list(["offsets"])["offsets"].files
    FaultyFileSystem(skip_instance_cache=True).rm("/ck/offsets/0")
    assert door.read(files.values())["offsets/0"] == Gone()
    assert door.not_read == {}


def test_a_file_that_is_not_found_once_is_read_again(location: Location) -> None:
    door = Door.open(location)
    files = door.list(["offsets"])["offsets"].files
    FaultyFileSystem.faults["/ck/offsets/0"] = [FileNotFoundError("/ck/offsets/0")]
    assert door.read(files.values())["offsets/0"] == b"v1"


def test_a_file_that_is_listed_and_never_found_could_not_be_read(location: Location) -> None:
    door = Door.open(location)
    files = door.list(["offsets"])["offsets"].files
    FaultyFileSystem.always["/ck/offsets/0"] = FileNotFoundError("/ck/offsets/0")
    failure = ReadFailure("It is in the listing and was not found when it was read, twice.")
    assert door.read(files.values())["offsets/0"] == failure
    assert door.not_read == {"offsets/0": failure.reason}


def test_a_file_that_comes_back_shorter_than_it_was_listed_is_read_again(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, short = FaultyFileSystem.cat_file, ["/ck/offsets/0"]

    def cat_file(self: FaultyFileSystem, path: str, *arguments: Any, **options: Any) -> bytes:
        data = real(self, path, *arguments, **options)
        if path in short:
            short.remove(path)
            return data[:1]
        return data

    monkeypatch.setattr(FaultyFileSystem, "cat_file", cat_file)
    door = Door.open(location)
    files = door.list(["offsets"])["offsets"].files
    assert door.read(files.values())["offsets/0"] == b"v1"
    short += ["/ck/offsets/1"] * 2
    assert door.read(files.values())["offsets/1"] == ReadFailure("Only 1 of its 2 bytes came back, twice.")
    assert door.read(files.values())["offsets/1"] == b"v1"
    assert door.not_read == {}


def test_a_file_that_was_rewritten_and_is_shorter_now_is_what_it_is_now(location: Location) -> None:
    door = Door.open(location)
    files = door.list(["offsets"])["offsets"].files
    FaultyFileSystem(skip_instance_cache=True).pipe("/ck/offsets/0", b"v")
    assert door.read(files.values())["offsets/0"] == b"v"


def test_a_directory_that_another_listing_shows_and_that_is_not_found_could_not_be_listed(
    location: Location,
) -> None:
    door = Door.open(location)
    FaultyFileSystem.faults["/ck/offsets"] = [FileNotFoundError("/ck/offsets")]
    assert set(door.list(["offsets"], known_there=True)["offsets"].names()) == {"0", "1"}
    FaultyFileSystem.always["/ck/offsets"] = FileNotFoundError("/ck/offsets")
    with pytest.raises(StorageError, match="its parent lists it, and it was not found"):
        door.list(["offsets"], known_there=True)
    assert set(door.not_read) == {"offsets/"}


def test_a_listing_that_fails_says_which_directory_and_why(location: Location) -> None:
    door = Door.open(location)
    FaultyFileSystem.always["/ck/commits"] = PermissionError("Forbidden")
    with pytest.raises(AccessDenied, match=r"No permission to list faulty://ck/commits \(Forbidden\)"):
        door.list(["", "offsets", "commits"])
    FaultyFileSystem.always["/ck/commits"] = TimeoutError("no answer")
    with pytest.raises(StorageError, match=r"faulty://ck/commits cannot be reached \(no answer\)"):
        door.list(["commits"])
    FaultyFileSystem.always["/ck/commits"] = RuntimeError("quota")
    with pytest.raises(StorageError, match=r"faulty://ck/commits cannot be listed \(RuntimeError: quota\)"):
        door.list(["commits"])


def test_a_listing_that_fails_once_works_the_next_time(location: Location) -> None:
    door = Door.open(location)
    FaultyFileSystem.faults["/ck/offsets"] = [OSError("the connection broke")]
    with pytest.raises(StorageError):
        door.list(["offsets"])
    assert set(door.list(["offsets"])["offsets"].names()) == {"0", "1"}


def test_a_directory_that_vanishes_during_a_recursive_listing_is_listed_again(location: Location) -> None:
    FaultyFileSystem.faults["/ck/commits"] = [FileNotFoundError("/ck/commits")]
    tree = Door.open(location).list([""], recursive=True)[""]
    assert set(tree.files) == {"metadata", "offsets/0", "offsets/1", "commits/0"}
    FaultyFileSystem.always["/ck/commits"] = FileNotFoundError("/ck/commits")
    with pytest.raises(StorageError, match="faulty://ck/commits cannot be listed"):
        Door.open(location).list([""], recursive=True)


def test_a_file_system_that_cannot_be_made_is_one_clear_sentence(location: Location) -> None:
    broken = parse_location(
        "waiting://host/ck",
        {"no_such_option_of_any_file_system": object(), "loop": "wrong", "asynchronous": True},
    )
    with pytest.raises(StorageError, match="waiting://host/ck cannot be"):
        Door.open(broken).list([""])


def test_a_blocking_file_system_that_allows_threads_is_asked_many_things_at_once(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_module, "THREADED", {"faulty"})
    together = threading.Barrier(2)
    real = FaultyFileSystem.cat_file

    def cat_file(self: FaultyFileSystem, path: str, *arguments: Any, **options: Any) -> bytes:
        together.wait(timeout=20)  # nobody gets past this alone
        return real(self, path, *arguments, **options)

    monkeypatch.setattr(FaultyFileSystem, "cat_file", cat_file)
    door = Door.open(location)
    files = door.list(["offsets"])["offsets"].files
    assert door.read(files.values()) == {"offsets/0": b"v1", "offsets/1": b"v1"}


def test_an_asynchronous_file_system_is_asked_many_things_at_once_and_not_too_many() -> None:
    WaitingFileSystem.tree = {f"box/ck/offsets/{i}": str(i).encode() for i in range(40)}
    door = Door.open(parse_location("waiting://box/ck"), Settings(concurrent_requests=7))
    listing = door.list(["offsets"])["offsets"]
    assert set(listing.names()) == {str(i) for i in range(40)}
    assert listing.files["offsets/3"].modified_ms == 1_795_144_331_250
    assert door.read(listing.files.values()) == {f"offsets/{i}": str(i).encode() for i in range(40)}
    assert WaitingFileSystem.most == 7


def test_a_listing_that_the_file_system_would_cache_is_asked_for_again() -> None:
    WaitingFileSystem.tree = {"box/ck/commits/0": b"x"}
    door = Door.open(parse_location("waiting://box/ck"))
    assert set(door.list(["commits"])["commits"].names()) == {"0"}
    WaitingFileSystem.tree = {"box/ck/commits/0": b"x", "box/ck/commits/1": b"x"}
    assert set(door.list(["commits"])["commits"].names()) == {"0", "1"}


def test_an_asynchronous_file_system_is_listed_as_a_tree_without_its_markers() -> None:
    WaitingFileSystem.tree = {
        f"box/ck/{path}": b"x" for path in ("metadata", "state/0/0/1.delta", "state/0/1/1.delta", "offsets/0")
    }
    tree = Door.open(parse_location("waiting://box/ck")).list([""], recursive=True)[""]
    assert set(tree.files) == {"metadata", "state/0/0/1.delta", "state/0/1/1.delta", "offsets/0"}
    assert tree.directories == ("offsets", "state", "state/0", "state/0/0", "state/0/1")
    with pytest.raises(NotADirectory):
        Door.open(parse_location("waiting://box/ck/metadata")).list([""])
    assert not Door.open(parse_location("waiting://box/ck")).list(["sources"])["sources"].exists


def test_only_so_many_file_systems_are_kept(location: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesystems_module, "MOST_OPEN", 3)
    places = [parse_location("faulty://ck", {"token": str(number)}) for number in range(5)]
    first = filesystems_module.filesystem(places[0], 4)
    assert filesystems_module.filesystem(places[0], 4) is first
    for place in places[1:3]:
        filesystems_module.filesystem(place, 4)
    assert filesystems_module.filesystem(places[0], 4) is first  # used just now: the others go before it
    for place in places[3:]:
        filesystems_module.filesystem(place, 4)
    assert filesystems_module.filesystem(places[0], 4) is first
    assert len(filesystems_module._open) == 3


def test_a_batch_that_is_planned_and_committed_between_two_listings_is_no_damage(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listing of offsets/ from before the batch, one of commits/ from after it."""
    fs = FaultyFileSystem(skip_instance_cache=True)
    fs.pipe(
        {
            "/ck/metadata": b'{"id":"730aa211-41ff-4ee3-b1b9-9e62ed047c5f"}',
            **{f"/ck/offsets/{i}": offset_text(["{}"]).encode() for i in (0, 1)},
            **{f"/ck/commits/{i}": commit_text().encode() for i in (0, 1)},
        }
    )
    real, late = FaultyFileSystem.ls, ["/ck/offsets"]

    def ls(self: FaultyFileSystem, path: str, detail: bool = True, **options: Any) -> Any:
        found = real(self, path, detail, **options)
        if path in late:
            late.remove(path)
            return [entry for entry in found if not entry["name"].endswith("/1")]
        return found

    monkeypatch.setattr(FaultyFileSystem, "ls", ls)
    ck = Checkpoint.open(location)
    assert not late
    assert ck.offset_ids == ck.commit_ids == (0, 1)
    assert forecast(ck).outcome == "resume"
