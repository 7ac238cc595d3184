"""A store that does not answer costs its own viewer a sentence, and nobody else anything."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import fsspec
import pytest
from fsspec.spec import AbstractFileSystem

from core.errors import InvalidSettingError, StorageError, UnsupportedLocation
from core.settings import PREFIX, Settings, load_settings
from core.storage import Door, FileInfo, ReadFailure, parse_location
from core.storage.filesystems import forget
from core.storage.patience import NoAnswer, awaited_in_time
from core.storage.remote import gather_bounded
from core.storage.store import storage_error

release = threading.Event()


class Silent(AbstractFileSystem):  # type: ignore[misc]
    """A host that accepts and never answers: while connecting, or afterwards."""

    protocol = "silent"

    def __init__(self, connects: bool = False, **options: Any) -> None:
        super().__init__(**options)
        if not connects:
            release.wait(60)

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        release.wait(60)
        return []

    def cat_file(self, path: str, **_: Any) -> bytes:
        release.wait(60)
        return b""


@pytest.fixture(autouse=True)
def silent_store() -> Any:
    fsspec.register_implementation("silent", Silent, clobber=True)
    forget()
    release.clear()
    yield
    release.set()
    forget()


def door(connects: bool, seconds: float) -> Door:
    place = parse_location("silent://host/ck", {"connects": connects})
    return Door.open(place, Settings(store_seconds=seconds))


@pytest.mark.parametrize("connects", [False, True])
def test_a_listing_ends_in_time(connects: bool) -> None:
    began = time.monotonic()
    with pytest.raises(StorageError, match=r"cannot be reached \(no answer within 0.3 seconds"):
        door(connects, 0.3).list([""])
    assert time.monotonic() - began < 5


def test_many_reads_of_a_silent_store_cost_one_wait() -> None:
    began = time.monotonic()
    found = door(True, 0.3).read([FileInfo(str(i), 1) for i in range(50)])
    assert time.monotonic() - began < 5
    assert all(isinstance(each, ReadFailure) and "no answer" in each.reason for each in found.values())


def test_another_store_is_opened_while_one_connects() -> None:
    waiting = threading.Thread(target=door(False, 20).list, args=([""],))
    waiting.start()
    time.sleep(0.2)
    began = time.monotonic()
    fsspec.filesystem("memory").pipe("/patience/metadata", b"x")
    assert Door.open("memory://patience").list([""])[""].files
    assert time.monotonic() - began < 5
    release.set()
    waiting.join()


def test_requests_that_wait_side_by_side_cost_one_wait() -> None:
    async def never() -> None:
        await asyncio.sleep(60)

    began = time.monotonic()
    answers = asyncio.run(gather_bounded([never] * 20, 2, 0.2))
    assert all(isinstance(answer, NoAnswer) for answer in answers)
    assert time.monotonic() - began < 5
    with pytest.raises(NoAnswer):
        asyncio.run(awaited_in_time(never(), 0.1))


@pytest.mark.parametrize("text", ["github://x/y", "jlab://x/y"])
def test_a_store_that_needs_options_says_so(text: str) -> None:
    with pytest.raises(UnsupportedLocation, match="configure a root with storage_options"):
        Door.open(text).list([""])


@pytest.mark.parametrize(
    "url",
    ["http://u:HIDDEN@host/x", "ftp://u:HI/DDEN@host", "x::sftp://:HIDDEN@host", "s3://key:HIDDEN@bucket"],
)
def test_a_root_with_a_password_is_refused_without_showing_it(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PREFIX + "ROOTS", f'{{"x": "{url}"}}')
    with pytest.raises(InvalidSettingError, match="password in its URL") as caught:
        load_settings()
    assert "HI" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["abfss://box@account.dfs.core.windows.net/x", "hdfs://host:8020/a@b", "/data/a:b@c", "s3://b/a:b@c"],
)
def test_other_roots_are_not_taken_for_one(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PREFIX + "ROOTS", f'{{"x": "{url}"}}')
    assert load_settings().roots["x"].url == url


def test_values_of_storage_options_are_in_no_sentence() -> None:
    place = parse_location(
        "memory://x", {"profile": "HIDDEN-1", "client_kwargs": {"endpoint_url": "HIDDEN-2"}}
    )
    error = storage_error(ValueError("no profile HIDDEN-1 at HIDDEN-2"), place)
    assert "HIDDEN" not in str(error)
    assert "no profile *** at ***" in str(error)
