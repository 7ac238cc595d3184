"""The places that the behaviour suite runs over. A new kind of store joins with one class."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

import fsspec
import pytest

from core.settings import Settings
from core.storage import Door, Location, parse_location
from core.storage import door as door_module
from core.storage.store import Store
from tests.support.s3 import S3Server

BUCKET = "checkpoints"
_numbers = itertools.count()


class Place(Protocol):
    """An empty directory of its own in one kind of store. Paths are relative to it."""

    kind: str
    location: Location

    def write(self, files: Mapping[str, bytes]) -> None:
        """Writes files, as if they had been there for an hour."""

    def make_directory(self, path: str) -> None: ...

    def remove(self, path: str) -> None: ...


class LocalPlace:
    kind = "local"

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "ck"
        self.location = parse_location(str(self.directory))

    def write(self, files: Mapping[str, bytes]) -> None:
        for path, content in files.items():
            file = self.directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            hour_ago = file.stat().st_mtime - 3600
            os.utime(file, (hour_ago, hour_ago))

    def make_directory(self, path: str) -> None:
        (self.directory / path).mkdir(parents=True, exist_ok=True)

    def remove(self, path: str) -> None:
        (self.directory / path).unlink()


class MemoryPlace:
    kind = "memory"

    def __init__(self) -> None:
        self.fs = fsspec.filesystem("memory")
        self.location = parse_location(f"memory://place-{next(_numbers)}/ck")

    def write(self, files: Mapping[str, bytes]) -> None:
        for path, content in files.items():
            self.fs.pipe_file(f"{self.location.path}/{path}", content)
            self.fs.store[f"{self.location.path}/{path}"].created = datetime.now(UTC) - timedelta(hours=1)

    def make_directory(self, path: str) -> None:
        self.fs.makedirs(f"{self.location.path}/{path}".rstrip("/"), exist_ok=True)

    def remove(self, path: str) -> None:
        self.fs.rm_file(f"{self.location.path}/{path}")


class S3Place:
    kind = "s3"

    def __init__(self, server: S3Server) -> None:
        self.server = server
        self.prefix = f"place-{next(_numbers)}/ck"
        self.location = server.location(f"s3://{BUCKET}/{self.prefix}")

    def write(self, files: Mapping[str, bytes]) -> None:
        self.server.put_many(BUCKET, {f"{self.prefix}/{path}": content for path, content in files.items()})

    def make_directory(self, path: str) -> None:
        self.server.put(BUCKET, f"{self.prefix}/{path}".rstrip("/") + "/")

    def remove(self, path: str) -> None:
        self.server.delete(BUCKET, f"{self.prefix}/{path}")


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """A real S3 server with an empty bucket."""
    with S3Server.start() as server:
        server.bucket(BUCKET)
        yield server


@pytest.fixture(scope="session")
def s3_small_pages() -> Iterator[S3Server]:
    """The same with ten keys on a page, so that a few hundred keys make a long listing."""
    with S3Server.start(page_size=10) as server:
        server.bucket(BUCKET)
        yield server


S3_CLIENTS = ("auto", "s3fs")


def set_s3_client(monkeypatch: pytest.MonkeyPatch, client: str) -> None:
    """Lets every door to S3 be opened with this value of the setting ``s3_client``."""
    real = door_module._store

    def store(place: Location, path: str, settings: Settings, is_thrifty: bool) -> Store:
        return real(place, path, settings.model_copy(update={"s3_client": client}), is_thrifty)

    monkeypatch.setattr(door_module, "_store", store)


@pytest.fixture(params=S3_CLIENTS)
def s3_client(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each client of S3 in turn, with nothing read before."""
    door_module._cache.cache_clear()
    set_s3_client(monkeypatch, request.param)
    return str(request.param)


@pytest.fixture(params=["local", "memory", "s3", "s3 by s3fs"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """An empty directory in each kind of store in turn."""
    if request.param == "s3 by s3fs":
        set_s3_client(monkeypatch, "s3fs")
    if request.param == "local":
        return LocalPlace(tmp_path)
    if request.param == "memory":
        return MemoryPlace()
    return S3Place(request.getfixturevalue("s3_server"))


@pytest.fixture
def door(place: Place) -> Door:
    return Door.open(place.location)
