"""What only a local file system has: links, permissions, special files, Hadoop's .crc files, files that
change under a scan."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from core.errors import AccessDenied, NotAllowed
from core.settings import RootSettings, Settings
from core.storage import Door, FileInfo, Gone, ReadFailure
from core.storage.local import MOST_AT_ONCE, MOST_OF_A_CHECKSUM, LocalStore
from core.storage.store import Tally
from tests.support.scratch import scratch_root

NOBODY = 65534


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(path.encode())


def test_a_link_to_a_file_or_directory_is_followed(tmp_path: Path) -> None:
    write(tmp_path, "elsewhere/0", "ck/metadata")
    (tmp_path / "ck/offsets").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "ck/copy").symlink_to(tmp_path / "ck/metadata")
    door = Door.open(str(tmp_path / "ck"))
    tree = door.list([""], recursive=True)[""]
    assert set(tree.files) == {"metadata", "copy", "offsets/0"}
    assert tree.files["copy"].size_bytes == len(b"ck/metadata")
    assert door.read(tree.files.values())["offsets/0"] == b"elsewhere/0"


def test_a_link_that_leads_back_is_not_followed_for_ever(tmp_path: Path) -> None:
    write(tmp_path, "ck/state/0/1.delta", "ck/other/file")
    (tmp_path / "ck/state/loop").symlink_to(tmp_path / "ck")
    (tmp_path / "ck/state/self").symlink_to(tmp_path / "ck/state")
    (tmp_path / "ck/other/back").symlink_to(tmp_path / "ck/state/0")
    (tmp_path / "ck/state/0/forth").symlink_to(tmp_path / "ck/other")
    tree = Door.open(str(tmp_path / "ck")).list([""], recursive=True)[""]
    assert {"state/0/1.delta", "other/file", "other/back/1.delta", "state/0/forth/file"} <= set(tree.files)
    assert all(path.count("/") < 5 for path in tree.files)


def test_a_server_follows_no_link_out_of_the_location(tmp_path: Path) -> None:
    write(tmp_path, "secret/0", "ck/metadata", "ck/state/0/1.delta")
    (tmp_path / "ck/commits").mkdir()
    (tmp_path / "ck/commits/0").symlink_to(tmp_path / "secret/0")
    (tmp_path / "ck/state/1").symlink_to(tmp_path / "ck/state/0")
    settings = Settings(address="0.0.0.0", roots={"ck": RootSettings(url=str(tmp_path / "ck"))})
    door = Door.open(str(tmp_path / "ck"), settings)
    tree = door.list([""], recursive=True)[""]
    assert set(tree.files) == {"metadata", "commits/0", "state/0/1.delta", "state/1/1.delta"}
    (tmp_path / "ck/offsets").symlink_to(tmp_path / "secret")
    assert "offsets" in door.list([""])[""].files
    # What lies below a link that is not followed is not known, which is not the same as nothing.
    with pytest.raises(NotAllowed, match="offsets is a symbolic link that leads out of the location"):
        door.list(["offsets"])
    with pytest.raises(NotAllowed, match="offsets is a symbolic link that leads out of the location"):
        door.list([""], recursive=True)
    contents = door.read([*tree.files.values(), FileInfo("offsets", None), FileInfo("offsets/0", 8, 1)])
    assert {path for path, content in contents.items() if isinstance(content, bytes)} == {
        "metadata",
        "state/0/1.delta",
        "state/1/1.delta",
    }
    for path in ("offsets", "offsets/0", "commits/0"):
        failure = contents[path]
        assert isinstance(failure, ReadFailure)
        assert "leads out of the location" in failure.reason


def test_a_link_that_leads_nowhere_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "ck/metadata")
    (tmp_path / "ck/dangling").symlink_to(tmp_path / "nothing")
    assert set(Door.open(str(tmp_path / "ck")).list([""])[""].files) == {"metadata"}


def test_a_named_pipe_does_not_stop_the_app(tmp_path: Path) -> None:
    write(tmp_path, "ck/metadata")
    os.mkfifo(tmp_path / "ck/offsets")
    door = Door.open(str(tmp_path / "ck"))
    assert set(door.list([""])[""].files) == {"metadata"}
    assert door.read([FileInfo("offsets", None)]) == {"offsets": b""}


def test_crc_files_are_listed_without_asking_for_their_size(tmp_path: Path) -> None:
    write(tmp_path, "offsets/5", "offsets/.5.crc", "offsets/.hidden", "offsets/visible.crc")
    files = Door.open(str(tmp_path)).list(["offsets"])["offsets"].names()
    assert files[".5.crc"] == FileInfo("offsets/.5.crc", None, None)
    assert files[".hidden"].size_bytes == len("offsets/.hidden")
    assert files["visible.crc"].size_bytes == len("offsets/visible.crc")


def test_contents_without_a_known_time_are_not_kept(tmp_path: Path) -> None:
    write(tmp_path, "offsets/.5.crc")
    door = Door.open(str(tmp_path))
    for _ in range(2):
        door.read(door.list(["offsets"])["offsets"].files.values())
    assert door.requests.get == 2


def test_contents_of_a_file_that_was_just_written_are_not_kept(tmp_path: Path) -> None:
    door = Door.open(str(tmp_path))
    write(tmp_path, "metadata")
    info = door.list([""])[""].files["metadata"]
    assert door.read([info]) == {"metadata": b"metadata"}
    (tmp_path / "metadata").write_bytes(b"METADATA")
    assert info.modified_ms is not None
    os.utime(tmp_path / "metadata", (info.modified_ms / 1000, info.modified_ms / 1000))
    assert door.read([info]) == {"metadata": b"METADATA"}


class VanishingEntries:
    """A scan in which one entry is removed between its name and its size."""

    def __init__(self, scan: Any, name: str) -> None:
        self._scan, self._name = scan, name

    def __enter__(self) -> Iterator[Any]:
        for entry in self._scan:
            if entry.name == self._name:
                Path(entry.path).unlink()
            yield entry

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scan.close()


def test_a_file_that_vanishes_during_the_scan_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "offsets/1", "offsets/2", "offsets/3")
    real = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: VanishingEntries(real(path), "2"))
    assert set(Door.open(str(tmp_path)).list(["offsets"])["offsets"].names()) == {"1", "3"}


def test_a_directory_that_vanishes_during_a_recursive_listing_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "state/0/1.delta", "state/1/1.delta")
    real = os.scandir

    def scandir(path: str) -> Any:
        if path.endswith("/1"):
            (Path(path) / "1.delta").unlink()
            Path(path).rmdir()
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert set(Door.open(str(tmp_path)).list(["state"], recursive=True)["state"].files) == {"state/0/1.delta"}


def test_an_injected_refusal_of_a_directory_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "metadata", "state/0/1.delta")
    real = os.scandir

    def scandir(path: str) -> Any:
        if path.endswith("/0"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(
        AccessDenied,
        match=r"No permission to list .*/state/0 \(Permission denied\); check the permissions of the user",
    ):
        Door.open(str(tmp_path)).list([""], recursive=True)


def test_an_injected_refusal_of_a_file_is_a_failure_of_that_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "offsets/1", "offsets/2")
    real = os.open

    def open_(path: str, *arguments: Any) -> int:
        if path.endswith("/1"):
            raise PermissionError(13, "Permission denied", path)
        return real(path, *arguments)

    door = Door.open(str(tmp_path))
    files = door.list(["offsets"])["offsets"].files
    monkeypatch.setattr(os, "open", open_)
    contents = door.read(files.values())
    assert contents["offsets/1"] == ReadFailure("No permission to read this file (Permission denied).")
    assert contents["offsets/2"] == b"offsets/2"


def test_a_read_that_comes_in_pieces_is_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "large").write_bytes(bytes(range(256)) * 100)
    real = os.read
    monkeypatch.setattr(os, "read", lambda handle, size: real(handle, min(size, 1000)))
    assert Door.open(str(tmp_path)).read([FileInfo("large", 25_600)])["large"] == bytes(range(256)) * 100


def test_a_disk_that_fails_is_a_failure_of_that_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "offsets/1")

    def read(handle: int, size: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "read", read)
    content = Door.open(str(tmp_path)).read([FileInfo("offsets/1", 1)])["offsets/1"]
    assert content == ReadFailure("This file could not be read (OSError: Input/output error).")


@contextmanager
def unprivileged() -> Iterator[None]:
    """This process without the rights of root, for as long as the block lasts."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that every user can reach; pytest's own, and that of this run, belong to one user."""
    directory = Path(tempfile.mkdtemp(dir=scratch_root()))
    directory.chmod(0o755)
    yield directory
    for path in directory.rglob("*"):
        path.chmod(0o755)
    shutil.rmtree(directory)


def test_real_permissions_are_reported(open_directory: Path) -> None:
    write(open_directory, "ck/metadata", "ck/offsets/1", "ck/commits/1")
    (open_directory / "ck/metadata").chmod(0)
    (open_directory / "ck/commits").chmod(0)
    door = Door.open(str(open_directory / "ck"))
    with unprivileged():
        listings = door.list(["", "offsets"])
        contents = door.read([*listings[""].files.values(), *listings["offsets"].files.values()])
        with pytest.raises(AccessDenied, match=r"No permission to list .*/ck/commits"):
            door.list(["commits"])
    assert contents == {
        "metadata": ReadFailure("No permission to read this file (Permission denied)."),
        "offsets/1": b"ck/offsets/1",
    }


def test_a_name_that_is_not_utf_8_is_shown_escaped_and_can_be_read(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/offsets/caf\xe9"
    os.makedirs(folder)  # noqa: PTH103
    for name in (b"/\xff.crc", b"/plain"):
        with open(folder + name, "wb") as file:  # noqa: PTH123  (a name of bytes)
            file.write(name)
    door = Door.open(str(tmp_path))
    tree = door.list(["offsets"], recursive=True)["offsets"]
    assert tree.directories == ("offsets/caf\\xe9",)
    assert set(tree.files) == {"offsets/caf\\xe9/\\xff.crc", "offsets/caf\\xe9/plain"}
    assert all(path.encode("utf-8") for path in tree.files)
    assert sorted(map(str, door.read(tree.files.values()).values())) == ["b'/\\xff.crc'", "b'/plain'"]
    assert set(door.list(["offsets/caf\\xe9"])["offsets/caf\\xe9"].files) == set(tree.files)


def test_of_a_checksum_file_only_so_much_is_read_as_one_can_have(tmp_path: Path) -> None:
    write(tmp_path, "state/.1.delta.crc")
    os.truncate(tmp_path / "state/.1.delta.crc", MOST_OF_A_CHECKSUM + 1)
    door = Door.open(str(tmp_path))
    files = door.list(["state"])["state"].files
    content = door.read(files.values())["state/.1.delta.crc"]
    assert isinstance(content, ReadFailure)
    assert "more than the 67,108,864 bytes that are read of a checksum file" in content.reason


def test_a_file_is_read_whole_whatever_its_listing_said_of_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listed size spares the question for it, and is not believed."""
    write(tmp_path, "ck/same", "ck/grew", "ck/shrank", "ck/emptied", "ck/large", "ck/gone")
    (tmp_path / "ck/large").write_bytes(bytes(MOST_AT_ONCE + 1))
    door = Door.open(str(tmp_path / "ck"))
    files = door.list([""])[""].files
    (tmp_path / "ck/grew").write_bytes(bytes(200_000))
    (tmp_path / "ck/shrank").write_bytes(b"s")
    (tmp_path / "ck/emptied").write_bytes(b"")
    (tmp_path / "ck/gone").unlink()
    asked: list[int] = []
    of_the_system = os.fstat

    def fstat(handle: int) -> os.stat_result:
        asked.append(handle)
        return of_the_system(handle)

    monkeypatch.setattr(os, "fstat", fstat)
    store = LocalStore(str(tmp_path / "ck"))
    with_sizes = store.read(list(files), Tally(), files)
    assert len(asked) == 1  # the large one
    assert with_sizes == store.read(list(files), Tally())
    assert (with_sizes["same"], with_sizes["grew"]) == (b"ck/same", bytes(200_000))
    assert (with_sizes["shrank"], with_sizes["emptied"], with_sizes["gone"]) == (b"s", b"", Gone())
    asked.clear()
    assert door.read([files["same"]]) == {"same": b"ck/same"}
    assert not asked
