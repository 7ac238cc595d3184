"""The list of what the incident store holds: newest first, bounded, out of files whose bytes fit their names."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pytest
from jsonschema import Draft202012Validator

from core.cli import main
from core.errors import NotAllowed, StorageError, UsageError
from core.incident import keep, kept_list
from core.settings import PREFIX, Settings
from core.storage import Door
from scripts.make_schemas import TARGET
from tests.storage.test_incident_store import denied_store, settings_of
from tests.support.build import SAMPLES
from tests.support.s3 import S3Server
from tests.unit.test_evidence import crafted, rebuilt
from tests.unit.test_planted_secrets import recorded_of

DIED, FAILS, CLEAN = "files-died-mid-batch", "missing-delta-file", "files-stopped-cleanly"


def put_in(settings: Settings, name: str, at_seconds: int | None = None) -> str:
    """Keeps the evidence of a sample as the command does; ``at_seconds``: when, by the file's own time."""
    place = SAMPLES / name / "checkpoint"
    kept = keep(Door.open(str(place), settings), answers=recorded_of(place, settings))
    if at_seconds is not None:
        os.utime(kept.location.path, (at_seconds, at_seconds))
    return kept.name


@pytest.fixture
def store(tmp_path: Path) -> Settings:
    return settings_of(tmp_path)


def test_the_newest_comes_first_with_moment_checkpoint_and_verdict(store: Settings) -> None:
    names = [put_in(store, name, 1_000_000 + at) for at, name in enumerate((FAILS, CLEAN, DIED))]
    found = kept_list(store)
    assert [each.name for each in found.entries] == names[::-1] and found.total == 3
    assert [each.title for each in found.entries] == [DIED, CLEAN, FAILS]
    assert [(each.outcome, each.batch_id) for each in found.entries] == [
        ("rerun", 7),
        ("resume", 14),
        ("fail", 10),
    ]
    last = found.entries[-1]
    assert last.kept_ms == 1_000_000_000 and last.problem is None
    assert last.sentence is not None and "state/0/2/4.delta is missing" in last.sentence
    assert last.record is not None and last.record.location == str(SAMPLES / FAILS / "checkpoint")
    only = kept_list(store, str(SAMPLES / CLEAN / "checkpoint"))
    assert [each.title for each in only.entries] == [CLEAN] and only.total == 3


@pytest.mark.parametrize("kind", ["memory", "s3"])
def test_other_stores_are_listed_with_few_requests(
    kind: str, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = f"incidents-{uuid4().hex}"
    s3_server.bucket(bucket)
    url = f"memory://{bucket}/kept" if kind == "memory" else f"s3://{bucket}/kept"
    settings = settings_of(url, s3_server.storage_options if kind == "s3" else {})
    assert kept_list(settings).total == 0, "a prefix that nobody wrote to"
    names = {put_in(settings, name) for name in (DIED, FAILS)}
    opened: list[Door] = []
    plain = Door.open

    def watched(*given: object, **more: object) -> Door:
        opened.append(plain(*given, **more))  # type: ignore[arg-type]
        return opened[-1]

    monkeypatch.setattr("core.incident.kept_evidence.Door.open", watched)
    found = kept_list(settings)
    assert {each.name for each in found.entries} == names and not any(e.problem for e in found.entries)
    (door,) = opened
    assert (door.requests.list, door.requests.get) == (1, 2)


def test_what_is_no_evidence_is_one_sentence_and_what_has_no_name_is_left_out(
    store: Settings, tmp_path: Path
) -> None:
    good = put_in(store, DIED)
    data = (tmp_path / f"{good.partition(':')[2]}.zip").read_bytes()
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "other.zip").write_bytes(data)
    (tmp_path / ("f" * 32 + ".zip")).write_bytes(data)  # another one's bytes
    bad = 1
    for hostile in crafted(data).values():
        (tmp_path / f"{sha256(hostile).hexdigest()[:32]}.zip").write_bytes(hostile)
        bad += 1
    found = kept_list(store)
    assert found.total == len(found.entries) >= bad
    troubles = [each for each in found.entries if each.problem is not None]
    assert all(each.record is None and "\n" not in (each.problem or "") for each in troubles)
    assert [each.problem for each in found.entries if each.name == "evidence:" + "f" * 32] == [
        "its bytes are not those that were kept: the checksum differs"
    ]
    assert [each.title for each in found.entries if each.name == good] == [DIED]


@pytest.mark.parametrize(
    "answer",
    [
        b"{",
        b"[]",
        b"[" * 100_000,
        b'{"outcome": "explode", "batch_id": true, "sentence": ["a"]}',
        b'"x"',
        None,
    ],
)
def test_a_forecast_that_somebody_made_up_says_nothing(answer: bytes | None, store: Settings) -> None:
    answers = {} if answer is None else {"forecast": answer}
    keep(Door.open(str(SAMPLES / DIED / "checkpoint"), store), answers=answers)
    (entry,) = kept_list(store).entries
    assert entry.problem is None and entry.title == DIED
    assert (entry.outcome, entry.batch_id, entry.sentence) == (None, None, None)


def test_the_list_is_bounded(store: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for at, name in enumerate((FAILS, CLEAN, DIED)):
        put_in(store, name, 1_000_000 + at)
    few = store.model_copy(update={"incident_store_listed": 2})
    assert ([e.title for e in kept_list(few).entries], kept_list(few).total) == ([DIED, CLEAN], 3)
    monkeypatch.setattr(
        "core.incident.kept_evidence.LOOKED_BYTES", kept_list(store).entries[0].size_bytes + 1
    )
    assert [e.title for e in kept_list(store).entries] == [DIED, None, None]
    assert "too large to be looked into" in (kept_list(store).entries[1].problem or "")
    monkeypatch.undo()
    monkeypatch.setattr("core.incident.kept_evidence.RECORD_BYTES", 100)
    assert all("manifest has more than" in (e.problem or "") for e in kept_list(store).entries)


def test_where_nothing_is_listed_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotAllowed, match="No incident store is configured"):
        kept_list(Settings())
    with pytest.raises(UsageError, match=f"not listed here .setting {PREFIX}INCIDENT_STORE_LISTED"):
        kept_list(settings_of(tmp_path, incident_store_listed=0))
    with pytest.raises(UsageError, match="The folder of the incident store does not exist"):
        kept_list(settings_of(tmp_path / "typo"))


def test_a_store_that_denies_is_one_sentence_without_its_secret(s3_server: S3Server) -> None:
    with denied_store(s3_server) as settings, pytest.raises(StorageError) as caught:
        kept_list(settings)
    assert "not-the-secret" not in str(caught.value) and "\n" not in str(caught.value)


def test_the_command_lists_as_its_schema_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(f"{PREFIX}INCIDENT_STORE", str(tmp_path))
    assert main(["incidents"]) == 0
    assert capsys.readouterr().out == f"No evidence file in {tmp_path}.\n"
    name = put_in(settings_of(tmp_path), FAILS)
    (tmp_path / ("0" * 32 + ".zip")).write_bytes(b"x")
    validator = Draft202012Validator(json.loads((TARGET / "incidents.json").read_text()))
    for arguments, count in (([], 2), ([str(SAMPLES / FAILS / "checkpoint")], 1), ([str(SAMPLES)], 0)):
        assert main(["incidents", *arguments, "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert list(validator.iter_errors(answer)) == []
        assert (len(answer["incidents"]), answer["total"]) == (count, 2)
    assert main(["incidents"]) == 0
    said = capsys.readouterr().out
    assert "fails in batch 10" in said and name in said and "the checksum differs" in said
    assert main(["incidents", str(SAMPLES)]) == 0
    assert f"None of 2 evidence files in {tmp_path} is of {SAMPLES}." in capsys.readouterr().out


def test_texts_in_a_record_stay_on_one_line_of_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(f"{PREFIX}INCIDENT_STORE", str(tmp_path))
    data = Path(keep(Door.open(str(SAMPLES / DIED / "checkpoint"), settings_of(tmp_path))).location.path)

    def elsewhere(manifest: dict[str, object]) -> None:
        manifest["location"] = "/data/<b>![x](http://evil)" + "x" * 3_000

    crafted_bytes = rebuilt(data.read_bytes(), elsewhere)
    data.unlink()
    (tmp_path / f"{sha256(crafted_bytes).hexdigest()[:32]}.zip").write_bytes(crafted_bytes)
    assert main(["incidents"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) < 300
