"""The incident store: evidence is kept whole under the checksum of its bytes, in this one place, and nothing
else opens under its name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import fsspec
import pytest

from core.checkpoint import Checkpoint
from core.cli import main
from core.errors import (
    CheckpointExplorerError,
    EvidenceRefused,
    InvalidSettingError,
    NotAllowed,
    StorageError,
    UsageError,
)
from core.incident import keep
from core.settings import PREFIX, RootSettings, Settings, load_settings
from core.storage import Door
from core.storage.incident_store import evidence_location
from core.storage.roots import link_for, locate
from tests.support.build import SAMPLES, copy_sample
from tests.support.s3 import S3Server
from tests.support.spy import no_writes

SAMPLE = SAMPLES / "files-died-mid-batch" / "checkpoint"


def settings_of(url: str | Path, options: dict[str, Any] | None = None, **more: Any) -> Settings:
    return Settings(incident_store=RootSettings(url=str(url), storage_options=options or {}), **more)


@contextmanager
def denied_store(server: S3Server) -> Iterator[Settings]:
    """A store on S3 that denies every request; the secret of its options is "not-the-secret"."""
    bucket = f"incidents-{uuid4().hex}"
    server.bucket(bucket)
    options = {**server.storage_options, "secret": "not-the-secret"}
    server.fail({"match": bucket, "status": 403, "code": "AccessDenied", "times": 50})
    try:
        yield settings_of(f"s3://{bucket}/kept", options)
    finally:
        server.fail()


@pytest.fixture(params=["local", "memory", "s3"])
def settings(request: pytest.FixtureRequest, tmp_path: Path, s3_server: S3Server) -> Settings:
    """A store of each kind, empty."""
    if request.param == "local":
        (tmp_path / "store").mkdir()
        return settings_of(tmp_path / "store")
    if request.param == "memory":
        return settings_of(f"memory://incidents-{uuid4().hex}/kept")
    bucket = f"incidents-{uuid4().hex}"
    s3_server.bucket(bucket)
    return settings_of(f"s3://{bucket}/kept", s3_server.storage_options)


def names_in(settings: Settings) -> list[str]:
    assert settings.incident_store is not None
    url, options = settings.incident_store.url, settings.incident_store.storage_options.get_secret_value()
    fs, path = fsspec.url_to_fs(url, **options, use_listings_cache=False)
    return sorted(each.rpartition("/")[2] for each in fs.ls(path, detail=False))


def test_what_is_kept_opens_by_its_name_when_the_checkpoint_is_gone(
    settings: Settings, tmp_path: Path
) -> None:
    copy = copy_sample("files-died-mid-batch", tmp_path)
    before = Checkpoint.open(str(copy), settings)
    with no_writes(copy):
        kept = keep(before.door)
    assert kept.name == f"evidence:{kept.taken.sha256[:32]}"
    assert names_in(settings) == [f"{kept.taken.sha256[:32]}.zip"]
    shutil.rmtree(copy)
    after = Checkpoint.open(kept.name, settings)
    assert (
        (after.pending_batch, after.offset_ids)
        == (before.pending_batch, before.offset_ids)
        == (
            7,
            tuple(range(8)),
        )
    )
    assert after.door.evidence_sha256 == kept.taken.sha256
    location = locate(kept.name, settings)
    assert link_for(location, settings) == kept.name
    assert Checkpoint.open(location, settings).pending_batch == 7


def test_the_same_evidence_is_one_file_and_damage_is_repaired_by_keeping_it_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.storage.door.time.time_ns", lambda: 1_795_176_000_000_000_000)
    door = Door.open(str(SAMPLE), settings)
    name = keep(door).name
    assert keep(door).name == name and len(names_in(settings)) == 1
    location = evidence_location(name, settings)
    fs, path = fsspec.url_to_fs(location.url, **location.storage_options)
    other = keep(Door.open(str(SAMPLES / "missing-delta-file" / "checkpoint"), settings))
    content = fs.cat_file(evidence_location(other.name, settings).path)
    fs.pipe_file(path, content)  # an evidence file, and another one
    with pytest.raises(EvidenceRefused, match="is not the one that was kept: its checksum differs"):
        Checkpoint.open(name, settings)
    fs.pipe_file(path, content[:400])
    with pytest.raises(EvidenceRefused, match=f"{name} cannot be opened as an evidence file: its end is mis"):
        Checkpoint.open(name, settings)
    keep(door)
    assert Checkpoint.open(name, settings).pending_batch == 7


def test_what_is_not_there_is_one_sentence(settings: Settings) -> None:
    name = "evidence:" + "0" * 32
    with pytest.raises(EvidenceRefused) as caught:
        Checkpoint.open(name, settings)
    assert str(caught.value) == (
        f"The incident store has no {name}: it was removed, or it was kept in another store."
    )


@pytest.mark.parametrize(
    "name",
    [
        "evidence:",
        "evidence:" + "0" * 31,
        "evidence:" + "0" * 33,
        "evidence:" + "A" * 32,
        "evidence:../../../../etc/passwd",
        "evidence:..%2f..%2fetc%2fpasswd%00aaaaaaaaa",
        "evidence:" + "0" * 30 + "/.",
        "evidence:" + "0" * 32 + "\n",
        "evidence://" + "0" * 32,
        "evidence:" + "٣" * 32,
    ],
)
def test_no_name_leads_out_of_the_store(name: str, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"not the name of an evidence file|has no evidence:0{32}:"):
        Checkpoint.open(name, settings_of(tmp_path))


def test_a_link_in_the_store_does_not_lead_out_on_a_server(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    settings = settings_of(tmp_path / "store", address="192.0.2.1")
    kept = keep(Door.open(str(SAMPLE), settings))
    file = Path(kept.location.path)
    file.rename(tmp_path / "outside.zip")
    file.symlink_to(tmp_path / "outside.zip")
    with pytest.raises(CheckpointExplorerError):
        Checkpoint.open(kept.name, settings)


def test_without_a_store_nothing_is_kept_and_nothing_opens(tmp_path: Path) -> None:
    for call in (
        lambda: keep(Door.open(str(SAMPLE), Settings())),
        lambda: Checkpoint.open("evidence:" + "0" * 32, Settings()),
    ):
        with pytest.raises(NotAllowed, match=f"No incident store is configured here.*{PREFIX}INCIDENT_STORE"):
            call()


@pytest.mark.parametrize("inside", ["", "state", "state/0/new", "offsets"])
def test_the_store_is_never_inside_a_checkpoint(inside: str, tmp_path: Path) -> None:
    copy = copy_sample("windowed-aggregation-hot-partition", tmp_path)
    (tmp_path / "alias").symlink_to(copy)
    for place in (copy / inside, tmp_path / "alias" / inside):
        with (
            no_writes(copy),
            pytest.raises(UsageError, match=r"incident store lies inside .*, where nothing is ever written"),
        ):
            keep(Door.open(str(SAMPLE), settings_of(place)))


def test_a_checkpoint_on_s3_is_not_written_into_either(s3_server: S3Server) -> None:
    bucket = f"incidents-{uuid4().hex}"
    s3_server.bucket(bucket)
    s3_server.upload(bucket, "prod/orders", SAMPLE)
    before = s3_server.keys(bucket)
    for place in (f"s3://{bucket}/prod/orders", f"s3://{bucket}/prod/orders/sources/kept"):
        with pytest.raises(UsageError, match=r"incident store lies inside s3://.*/prod/orders,"):
            keep(Door.open(str(SAMPLE), settings_of(place, s3_server.storage_options)))
    assert s3_server.keys(bucket) == before


def test_a_full_store_a_missing_one_and_one_that_cannot_be_written_are_named(
    tmp_path: Path, s3_server: S3Server
) -> None:
    door = Door.open(str(SAMPLE), settings_of(tmp_path, incident_store_bytes=20_000))
    keep(door)
    (tmp_path / "other.zip").write_bytes(bytes(15_000))
    (copy := next(tmp_path.glob("[0-9a-f]*.zip"))).rename(tmp_path / "first.zip")
    with pytest.raises(UsageError, match=r"holds .* and may hold 19\.5 KiB .*INCIDENT_STORE_BYTES"):
        keep(Door.open(str(SAMPLES / "missing-delta-file" / "checkpoint"), door.settings))
    assert not copy.exists() and len(list(tmp_path.iterdir())) == 2
    with pytest.raises(UsageError, match="The folder of the incident store does not exist"):
        keep(Door.open(str(SAMPLE), settings_of(tmp_path / "typo")))
    assert not (tmp_path / "typo").exists()
    with denied_store(s3_server) as settings, pytest.raises(StorageError) as caught:
        keep(Door.open(str(SAMPLE), settings))
    assert "not-the-secret" not in str(caught.value)


def test_a_write_that_breaks_off_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(source: Any, copy: Any) -> None:
        copy.write(source.read(100))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("core.storage.incident_store.copyfileobj", broken)
    with pytest.raises(StorageError, match=r"could not be written to the incident store: .*No space left"):
        keep(Door.open(str(SAMPLE), settings_of(tmp_path)))
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_keeps_opens_and_compares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(f"{PREFIX}INCIDENT_STORE", str(tmp_path))
    assert main(["evidence", str(SAMPLE), "--to-store", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["opens_as"] == f"evidence:{answer['sha256'][:32]}"
    assert answer["file"] == str(tmp_path / f"{answer['sha256'][:32]}.zip")
    assert main(["inspect", answer["opens_as"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["query_id"]
    assert main(["compare", answer["opens_as"], str(SAMPLE), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["differences"] == []
    assert main(["evidence", answer["opens_as"], "--to-store"]) == 2
    assert "is an evidence file already" in capsys.readouterr().err
    assert main(["evidence", str(SAMPLE), "--to-store", "--to", "x.zip"]) == 2
    assert main(["evidence", str(SAMPLE)]) == 2
    assert main(["evidence", str(tmp_path), "--to-store"]) == 10


@pytest.mark.parametrize(
    ("text", "url", "options"),
    [
        ("/srv/incidents", "/srv/incidents", {}),
        (' {"url": "s3://b/x", "storage_options": {"key": "HIDDEN"}}', "s3://b/x", {"key": "HIDDEN"}),
    ],
)
def test_the_setting_is_a_url_or_json(
    monkeypatch: pytest.MonkeyPatch, text: str, url: str, options: dict[str, str]
) -> None:
    monkeypatch.setenv(f"{PREFIX}INCIDENT_STORE", text)
    store = load_settings().incident_store
    assert store is not None and store.url == url
    assert store.storage_options.get_secret_value() == options and "HIDDEN" not in repr(store)
    monkeypatch.setenv(f"{PREFIX}INCIDENT_STORE", "")
    assert load_settings().incident_store is None
    monkeypatch.setenv(f"{PREFIX}INCIDENT_STORE", '{"url": HIDDEN')
    with pytest.raises(InvalidSettingError, match="write a URL, or JSON") as caught:
        load_settings()
    assert "HIDDEN" not in str(caught.value)


def test_a_store_with_a_password_in_its_url_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(f"{PREFIX}INCIDENT_STORE", "ftp://user:HIDDEN@host/x")
    assert main(["inspect", str(SAMPLE)]) == 2
    told = capsys.readouterr().err
    assert "the URL has a password in it" in told and "HIDDEN" not in told
