"""The evidence file: what is in it, that answers from it are those of the checkpoint, and that nothing else is
opened as one."""

from __future__ import annotations

import hashlib
import io
import json
import random
import shutil
import stat
import struct
import time
import warnings
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import fsspec
import pytest

from core.checkpoint import Checkpoint
from core.cli import main
from core.errors import EvidenceRefused, StorageError
from core.incident import take
from core.settings import Settings
from core.storage import Door, ReadFailure, evidence_manifest, parse_location
from core.storage.evidence import read_archive
from core.storage.evidence_manifest import read_manifest
from core.storage.evidence_zip import ZipWriter
from tests.support.build import SAMPLES, copy_sample, sample_names

MOST = 512 * 1024 * 1024
VERBS = ("inspect", "resume", "forecast", "check", "state")
STATEFUL = "windowed-aggregation-hot-partition"


def evidence_of(checkpoint: Path, target: Path, **more: Any) -> Path:
    take(Door.open(str(checkpoint)), target, **more)
    return target


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = main([*arguments, "--json"])
    output = capsys.readouterr()
    assert output.err == ""
    return status, json.loads(output.out)


def without(value: Any, names: Iterable[str]) -> Any:
    if isinstance(value, dict):
        return {key: without(item, names) for key, item in value.items() if key not in names}
    return [without(item, names) for item in value] if isinstance(value, list) else value


@pytest.fixture
def same_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns()
    monkeypatch.setattr("core.storage.door.time.time_ns", lambda: now)


@pytest.mark.slow
@pytest.mark.parametrize("name", sample_names())
@pytest.mark.usefixtures("same_clock")
def test_answers_are_those_of_the_checkpoint(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = SAMPLES / name / "checkpoint"
    full = evidence_of(place, tmp_path / "full.zip", with_state_contents=True)
    plain = evidence_of(place, tmp_path / "plain.zip")
    left_out = ("location", "name", "requests", "read")
    for verb in VERBS:
        status, wanted = answer(capsys, verb, str(place))
        assert (status, without(wanted, left_out)) == (lambda found: (found[0], without(found[1], left_out)))(
            answer(capsys, verb, str(full))
        ), verb
        _, found = answer(capsys, verb, str(plain))
        missing = {part["path"] for part in found["not_read"]}
        if not missing:
            assert without(found, left_out) == without(wanted, left_out), verb
        else:  # only where contents of state are needed, and then nothing else is said to be wrong
            assert verb in ("state", "check", "forecast")
            assert all(path.startswith("state/") for path in missing)
            if verb == "check":
                serious = {f["id"] for f in wanted["findings"]} | {"FILE_NOT_READ"}
                assert {f["id"] for f in found["findings"]} <= serious
    for file in (full, plain):
        status, found = answer(capsys, "compare", str(place), str(file))
        assert (status, found["differences"]) == (0, [])
    status, found = answer(capsys, "compare", str(place), str(full), "--level", "deep")
    assert (status, found["differences"]) == (0, [])


@pytest.mark.usefixtures("same_clock")
def test_a_purge_afterwards_changes_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = copy_sample(STATEFUL, tmp_path)
    file = evidence_of(checkpoint, tmp_path / "kept.zip")
    before = [answer(capsys, verb, str(file)) for verb in VERBS]
    ids = sorted(int(path.name) for path in (checkpoint / "offsets").iterdir() if path.name.isdecimal())
    for batch_id in ids[: len(ids) // 2]:
        for log in ("offsets", "commits"):
            (checkpoint / log / str(batch_id)).unlink(missing_ok=True)
            (checkpoint / log / f".{batch_id}.crc").unlink(missing_ok=True)
    assert [answer(capsys, verb, str(file)) for verb in VERBS] == before
    status, found = answer(capsys, "compare", str(file), str(checkpoint))
    assert status == 1
    assert found["differences"]


def test_the_same_moment_gives_the_same_bytes(tmp_path: Path) -> None:
    place = SAMPLES / STATEFUL / "checkpoint"
    files = [evidence_of(place, tmp_path / f"{i}.zip", moment_ms=1_795_176_000_000) for i in range(2)]
    assert files[0].read_bytes() == files[1].read_bytes()
    with zipfile.ZipFile(files[0]) as unzipped:
        assert unzipped.testzip() is None
        for info in unzipped.infolist():
            if info.filename != "manifest.json":
                path = place / info.filename.removeprefix("files/")
                assert unzipped.read(info) == path.read_bytes()


def test_contents_of_state_are_taken_when_asked_for_and_else_could_not_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = SAMPLES / STATEFUL / "checkpoint"
    plain = evidence_of(place, tmp_path / "plain.zip")
    full = evidence_of(place, tmp_path / "full.zip", with_state_contents=True)
    deltas = [path.relative_to(place).as_posix() for path in place.glob("state/0/0/[0-9]*")]
    assert deltas
    door = Door.open(str(plain))
    infos = door.list(["state/0/0"])["state/0/0"].files
    contents = door.read(infos[path] for path in deltas)
    for content in contents.values():
        assert isinstance(content, ReadFailure)
        assert content.reason.key == "evidence.NOT_TAKEN.state_contents"  # type: ignore[attr-defined]
    assert infos[deltas[0]].size_bytes == (place / deltas[0]).stat().st_size
    rows, deep = ("rows", "--limit", "5", "--reveal"), ("check", "--level", "deep")
    for verb, *more in (rows, deep):
        status, wanted = answer(capsys, verb, str(place), *more)
        assert status in (0, 1)
        got = answer(capsys, verb, str(full), *more)
        names = ("location", "name", "requests", "read", "sentence", "read_at")
        assert (got[0], without(got[1], names)) == (status, without(wanted, names))
    status, found = answer(capsys, "check", str(plain), "--level", "deep")
    assert status == 10
    assert {f["severity"] for f in found["findings"]} & {"blocks_restart", "data_risk"} == set()


def test_no_secret_goes_in(tmp_path: Path) -> None:
    checkpoint = copy_sample("kafka-pipeline-died-mid-batch", tmp_path)
    secrets = {"key": "PLANTED-KEY", "secret": "PLANTED-SECRET", "client_kwargs": {"token": "PLANTED-TOKEN"}}
    location = parse_location(str(checkpoint), secrets)
    target = tmp_path / "taken.zip"

    class Refusing(Door):
        def read(self, files: Any) -> Any:
            wanted = list(files)
            words = "denied for PLANTED-SECRET with PLANTED-TOKEN"
            first = {wanted[0].path: ReadFailure(words)}
            return {**super().read(wanted), **first}

    door = Refusing(location, Door.open(location)._store, Settings())
    take(door, target)
    data = read_archive(target.read_bytes(), MOST)
    everything = data.manifest.to_bytes() + b"".join(
        content for path in data.files if isinstance(content := data.read(path), bytes)
    )
    assert b"PLANTED" not in everything
    assert b"denied for ***" in everything
    url = "https://person:PLANTED@host/PLANTED-KEY/ck?X-Signature=PLANTED"
    place = parse_location("/x", secrets)
    object.__setattr__(place, "url", url)
    object.__setattr__(place, "protocol", "https")
    assert place.without_credentials() == "https://host/***/ck"


def test_where_it_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = copy_sample("files-stopped-cleanly", tmp_path)
    inside, beside, other = checkpoint / "a.zip", tmp_path / "a.zip", tmp_path / "a.tar"
    link = tmp_path / "link"
    link.symlink_to(checkpoint)

    def refused(target: Path) -> str:
        assert main(["evidence", str(checkpoint), "--to", str(target)]) == 2
        return capsys.readouterr().err

    assert "inside the checkpoint" in refused(inside)
    assert "inside the checkpoint" in refused(link / "a.zip")
    assert "ends in .zip" in refused(other)
    assert "cannot be written" in refused(tmp_path / "nowhere" / "a.zip")
    assert main(["evidence", str(checkpoint), "--to", str(beside)]) == 0
    said = capsys.readouterr().out
    assert hashlib.sha256(beside.read_bytes()).hexdigest() in said
    first = beside.read_bytes()
    assert "--overwrite" in refused(beside)
    assert beside.read_bytes() == first
    assert main(["evidence", str(checkpoint), "--to", str(beside), "--overwrite"]) == 0
    assert main(["evidence", str(beside), "--to", str(tmp_path / "b.zip")]) == 2
    assert main(["evidence", str(SAMPLES), "--to", str(tmp_path / "b.zip")]) == 10
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "checkpoint", "link"]


def test_a_directory_that_ends_in_zip_is_still_a_checkpoint(tmp_path: Path) -> None:
    place = shutil.copytree(SAMPLES / "files-stopped-cleanly" / "checkpoint", tmp_path / "ck.zip")
    assert Checkpoint.open(str(place)).offset_ids
    assert Checkpoint.open(str(place)).door.evidence is None
    with pytest.raises(StorageError, match="Nothing found"):
        Checkpoint.open(str(tmp_path / "none.zip"))


def test_it_opens_from_another_store_and_is_looked_at_again(tmp_path: Path) -> None:
    file = evidence_of(SAMPLES / "files-stopped-cleanly" / "checkpoint", tmp_path / "a.zip")
    other = evidence_of(SAMPLES / STATEFUL / "checkpoint", tmp_path / "b.zip")
    memory = fsspec.filesystem("memory")
    try:
        memory.pipe_file("/evidence/a.zip", file.read_bytes())
        ck = Checkpoint.open("memory://evidence/a.zip")
        assert ck.door.evidence is not None
        assert ck.offset_ids == Checkpoint.open(str(file)).offset_ids
        memory.pipe_file("/evidence/a.zip", other.read_bytes())
        assert ck.refresh().query_id == Checkpoint.open(str(other)).query_id
    finally:
        memory.rm("/evidence", recursive=True)


def test_a_full_file_keeps_the_newest_logs_and_names_the_rest(tmp_path: Path) -> None:
    settings = Settings(evidence_bytes=4096)
    door = Door.open(str(SAMPLES / STATEFUL / "checkpoint"), settings)
    taken = take(door, tmp_path / "a.zip")
    full = {file.info.path for file in taken.manifest.files if file.not_taken == "full"}
    assert full
    newest = max(int(path.name) for path in (SAMPLES / STATEFUL / "checkpoint/offsets").glob("[0-9]*"))
    assert f"offsets/{newest}" not in full
    assert sum(file.taken_bytes or 0 for file in taken.contents) <= 4096
    assert Door.open(str(tmp_path / "a.zip"), settings).list([""])[""].exists
    whole = evidence_of(SAMPLES / STATEFUL / "checkpoint", tmp_path / "b.zip")
    with pytest.raises(EvidenceRefused):
        read_archive(whole.read_bytes(), 16 - 128 * 1024 * 1024)


# Hostile files


def rebuilt(data: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    """The evidence file with another manifest."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as unzipped, ZipWriter(out) as writer:
        for name in unzipped.namelist():
            content = unzipped.read(name)
            if name == "manifest.json":
                manifest = json.loads(content)
                changed = change(manifest)
                content = changed if isinstance(changed, bytes) else json.dumps(manifest).encode()
            writer.add(name, content)
    return out.getvalue()


def with_members(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with ZipWriter(out) as writer, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name that stands twice
        for name, content in members:
            writer.add(name, content)
    return out.getvalue()


def foreign_zip(name: str, content: bytes, mode: int = 0o100644) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        made.writestr(info, content)
    return out.getvalue()


def patched(data: bytes, signature: bytes, at: int, value: bytes) -> bytes:
    start = data.rindex(signature) + at
    return data[:start] + value + data[start + len(value) :]


def path_is(path: str) -> Callable[[dict[str, Any]], None]:
    def change(manifest: dict[str, Any]) -> None:
        manifest["files"][0]["path"] = path

    return change


def crafted(data: bytes) -> dict[str, bytes]:
    entry, end = b"PK\1\2", b"PK\5\6"

    def put(name: str, value: object) -> Callable[[dict[str, Any]], None]:
        return lambda manifest: manifest.update({name: value})

    return {
        "empty": b"",
        "no zip": b"hello",
        "an empty zip": with_members(),
        "cut": data[:-30],
        "cut in the middle": data[: len(data) // 2],
        "something behind": data + b"x",
        "something before": b"#!/bin/sh\n" + data,
        "another program's": foreign_zip("manifest.json", b"{}"),
        "encrypted": patched(data, entry, 8, b"\1\0"),
        "a link": patched(data, entry, 38, struct.pack("<I", (stat.S_IFLNK | 0o777) << 16)),
        "lying size": patched(data, entry, 24, struct.pack("<I", 2**32 - 1)),
        "lying smaller size": patched(data, entry, 24, struct.pack("<I", 1)),
        "lying stored size": patched(data, entry, 20, struct.pack("<I", 2**31)),
        "lying checksum": patched(data, entry, 16, b"\0\0\0\0"),
        "lying offset": patched(data, entry, 42, struct.pack("<I", 0)),
        "a comment": patched(data, end, 20, b"\5\0") + b"hello",
        "no manifest": with_members(("files/metadata", b"x")),
        "a member more": with_members(("manifest.json", b"{}"), ("files/metadata", b"x")),
        "leads out": with_members(("files/../../x", b"x")),
        "absolute": with_members(("/etc/passwd", b"x")),
        "backslash": with_members(("files\\..\\x", b"x")),
        "twice": with_members(("files/a", b"x"), ("files/a", b"x")),
        "not JSON": rebuilt(data, lambda _: b"\xff{"),
        "deep JSON": rebuilt(data, lambda _: b"[" * 50_000),
        "a list": rebuilt(data, lambda _: b"[]"),
        "huge manifest": rebuilt(data, lambda _: b" " * (129 * 1024 * 1024)),
        "NaN": rebuilt(data, put("moment_ms", float("nan"))),
        "large number": rebuilt(data, put("moment_ms", 10**30)),
        "unknown version": rebuilt(data, put("format_version", 2)),
        "true as version": rebuilt(data, put("format_version", True)),
        "another format": rebuilt(data, put("format", "other")),
        "no files": rebuilt(data, put("files", None)),
        "empty files": rebuilt(data, put("files", [])),
        "files of numbers": rebuilt(data, put("files", [1])),
        "no location": rebuilt(data, put("location", "")),
        "location with control characters": rebuilt(data, put("location", "/a\n/b")),
        "long location": rebuilt(data, put("location", "a" * 5000)),
        "directories that lead out": rebuilt(data, put("directories", [".."])),
        "very deep directories": rebuilt(data, put("directories", ["a/" * 500 + "a"])),
        "path leads out": rebuilt(data, path_is("../x")),
        "path absolute": rebuilt(data, path_is("/etc/passwd")),
        "path of another": rebuilt(data, path_is("offsets/77")),
        "other checksum": rebuilt(data, lambda m: m["files"][0].update(sha256="0" * 64)),
        "other size": rebuilt(data, lambda m: m["files"][0].update(taken_bytes=1)),
        "listed twice": rebuilt(data, lambda m: m["files"].append(m["files"][0])),
        "an answer that is not there": rebuilt(
            data, put("answers", {"forecast": {"sha256": "0" * 64, "size_bytes": 1}})
        ),
        "an answer that leads out": rebuilt(
            data, put("answers", {"../x": {"sha256": "0" * 64, "size_bytes": 1}})
        ),
        "answers of numbers": rebuilt(data, put("answers", {"forecast": 1})),
        "unknown reason": rebuilt(data, lambda m: m["files"].append({"path": "a", "not_taken": "x"})),
    }


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    target = tmp_path_factory.mktemp("real") / "real.zip"
    return evidence_of(SAMPLES / "kafka-pipeline-died-mid-batch" / "checkpoint", target).read_bytes()


def test_every_crafted_file_is_refused_with_one_sentence(
    real: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "hostile.zip"
    for name, data in crafted(real).items():
        place.write_bytes(data)
        try:
            Checkpoint.open(str(place))
        except EvidenceRefused as error:
            refused = str(error)
        else:
            pytest.fail(f"opened: {name}")
        assert refused.startswith(f"{place} cannot be opened as an evidence file: "), name
        assert main(["forecast", str(place)]) == 10
        assert capsys.readouterr().err.count("\n") == 1
        place.unlink()


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = with_members(("manifest.json", b"{}"), ("files/a", b"\0" * 10_000_000))
    assert len(bomb) < 20_000
    with pytest.raises(EvidenceRefused, match="more than"):
        read_archive(bomb, 9_000_000 - evidence_manifest.MOST_BYTES)


def any_other(value: Any, choice: random.Random) -> Any:
    """The manifest with one value replaced, at any depth."""
    strange = (None, True, -1, 2**70, 1.5, "", "../x", "\0", [], {}, [[]], "offsets/0", "x" * 5_000)
    if isinstance(value, dict) and value and choice.random() < 0.9:
        name = choice.choice(list(value))
        return {**value, name: any_other(value[name], choice)}
    if isinstance(value, list) and value and choice.random() < 0.9:
        at = choice.randrange(len(value))
        return [*value[:at], any_other(value[at], choice), *value[at + 1 :]]
    return choice.choice(strange)


def test_a_thousand_hostile_files_are_refused_with_one_sentence_or_say_the_same(real: bytes) -> None:
    wanted = read_archive(real, MOST)
    contents = {path: wanted.read(path) for path in wanted.files}
    choice = random.Random(20261123)
    refused, opened = 0, 0
    while refused < 1_000:
        assert opened < 300  # what opens has the right contents: a time of day in the zip, a name in the list
        if choice.random() < 0.3:
            data = bytearray(rebuilt(real, lambda found: json.dumps(any_other(found, choice)).encode()))
        else:
            data = byte_by_byte(real, choice)
        try:
            found = read_archive(bytes(data), MOST)
        except EvidenceRefused as error:
            refused += 1
            assert str(error).isprintable() and 10 < len(str(error)) < 1_000
        else:
            opened += 1
            assert all(found.read(path) == contents[path] for path in contents.keys() & found.files.keys())


def byte_by_byte(real: bytes, choice: random.Random) -> bytearray:
    """The file with bits, bytes or stretches changed."""
    data = bytearray(real)
    for _ in range(choice.choice((1, 1, 2, 8))):
        at = choice.randrange(len(data))
        kind = choice.random()
        if kind < 0.6:
            data[at] ^= 1 << choice.randrange(8)
        elif kind < 0.8:
            del data[at : at + choice.randrange(1, 40)]
        else:
            data[at:at] = choice.randbytes(choice.randrange(1, 40))
    return data


def test_the_manifest_is_read_as_it_was_written(real: bytes) -> None:
    manifest = read_archive(real, MOST).manifest
    assert read_manifest(manifest.to_bytes()) == manifest
    assert manifest.origin.url.endswith("kafka-pipeline-died-mid-batch/checkpoint")
    assert manifest.origin.is_local


def test_more_members_than_a_small_end_record_can_count() -> None:
    out = io.BytesIO()
    with ZipWriter(out) as writer:
        for i in range(65_536):
            writer.add(f"files/{i}", b"")
    with zipfile.ZipFile(io.BytesIO(out.getvalue())) as unzipped:
        assert len(unzipped.namelist()) == 65_536
    with pytest.raises(EvidenceRefused, match="did not write"):
        read_archive(out.getvalue(), MOST)
