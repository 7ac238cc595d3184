"""A secret planted wherever one can stand (a setting that Spark pins, Kafka properties, a JAAS text, URLs of
input files, storage options, rows of the state, files beside the logs) is in no byte of evidence, report or
link, and the answers from the evidence are those of the checkpoint."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.checkpoint import Checkpoint
from core.cli import main
from core.documents.recorded import recorded_answers, said_then
from core.incident import Beside, keep, report, take, to_chat, to_html, to_markdown
from core.incident.masking import masked, secret_values
from core.judgement import judge
from core.settings import RootSettings, Settings
from core.storage import Door, parse_location
from tests.support.build import SAMPLES, copy_sample, sample_names

PLANTED = "PLANTED"
CONF = {
    "spark.sql.streaming.stateStore.password": "PLANTED-conf",
    "spark.kafka.clusters.prod.sasl.jaas.config": 'Plain required username="u" password="PLANTED\\"jaas";',
    "spark.hadoop.fs.s3a.secret.key": "PLANTED-s3a",
    "spark.hadoop.fs.azure.account.key.acc.dfs.core.windows.net": "PLANTED-azure==",
    "kafka.ssl.keystore.password": "PLANTED-keystore",
    "spark.sql.extra": "a=1;password=PLANTED-equals;b=2 https://u:PLANTED-url@host/x?sv=1&sig=PLANTED-sig",
    "nested": json.dumps(
        {"options": {"kafka.sasl.password": "PLANTED\\nested", "sessionToken": "PLANTED-t"}}
    ),
}
OPTIONS = {
    "key": "PLANTED-ACCESS-KEY",
    "secret": "PLANTED-SECRET",
    "client_kwargs": {"aws_session_token": "PLANTED-SESSION", "endpoint_url": "https://u:PLANTED-e@host"},
}


@pytest.fixture
def planted(tmp_path: Path) -> Iterator[Path]:
    """A stateful checkpoint with secrets in what Spark wrote; hidden checksums do not fit any more."""
    root = copy_sample("windowed-aggregation-hot-partition", tmp_path / "place")
    for log in (root / "offsets").glob("[0-9]*"):
        lines = log.read_text().splitlines()
        fields = json.loads(lines[1])
        fields["conf"] |= CONF
        log.write_text("\n".join([lines[0], json.dumps(fields), *lines[2:]]))
    (root / "metadata").write_text(
        json.dumps({**json.loads((root / "metadata").read_text()), "kafka.ssl.key.password": "PLANTED-meta"})
    )
    for delta in (root / "state").rglob("*.delta"):
        delta.write_bytes(b"PLANTED-row" + delta.read_bytes())  # rows of the state
    log = root / "sources" / "0" / "77"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text('v1\n{"path":"s3a://AKIA:PLANTED-in@bucket/a?X-Amz-Signature=PLANTED-x","batchId":77}')
    (root / "client.properties").write_text("sasl.password=PLANTED-properties")
    yield root
    assert PLANTED in (root / "metadata").read_text()


def recorded_of(place: Path, settings: Settings) -> dict[str, bytes]:
    """The answers that go into the evidence of a checkpoint."""
    return recorded_answers(judge(Checkpoint.open(str(place), settings)))


def everything(data: bytes) -> bytes:
    """The bytes of a zip and those of all its members, unpacked."""
    with zipfile.ZipFile(io.BytesIO(data)) as unzipped:
        return data + b"\n".join(each.encode() + unzipped.read(each) for each in unzipped.namelist())


def test_no_planted_secret_is_in_evidence_or_reports(planted: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    settings = Settings(incident_store=RootSettings(url=str(store)))
    place = parse_location(str(planted), OPTIONS)
    door = Door.open(place, settings)
    with_secrets = (planted / "offsets" / "0").read_bytes() + json.dumps(OPTIONS).encode()
    assert with_secrets.count(b"PLANTED") >= 12  # they are there to be found
    judgement = judge(Checkpoint.open(place, settings))
    answers = recorded_answers(judgement)
    made = take(door, tmp_path / "taken.zip", answers=answers)
    kept = keep(Door.open(place, settings), answers=answers)
    for file in (made.path, *store.iterdir()):
        found = everything(file.read_bytes())
        assert b"manifest.json" in found and b"spark.sql" in found and b"answers/inspect.json" in found
        assert b"PLANTED" not in found
    assert PLANTED not in kept.name and {file.is_masked for file in made.contents} == {True, False}
    for name in (place, str(made.path)):
        said = report(
            judge(Checkpoint.open(name, settings)), Beside(link="https://h/overview?ck=prod/orders")
        )
        for text in (to_markdown(said), to_html(said), to_chat(said)):
            assert "Batch" in text or "batch" in text
            assert PLANTED not in text


def answers(capsys: pytest.CaptureFixture[str], place: Path, *verb: str) -> tuple[int, dict[str, Any]]:
    status = main([verb[0], str(place), *verb[1:], "--json"])
    found = json.loads(capsys.readouterr().out)
    return status, {key: found[key] for key in found if key not in ("location", "name", "requests", "read")}


def test_masking_changes_no_answer_but_the_secrets(
    planted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.storage.door.time.time_ns", lambda: 1_795_176_000_000_000_000)
    file = take(Door.open(str(planted)), tmp_path / "taken.zip").path
    for verb in (("resume",), ("forecast", "--level", "quick")):
        assert answers(capsys, planted, *verb) == answers(capsys, file, *verb), verb
    _, before = answers(capsys, planted, "inspect")
    _, after = answers(capsys, file, "inspect")
    changed = {key for key in before if before[key] != after[key]}
    assert PLANTED in json.dumps(before) and PLANTED not in json.dumps(after)
    assert changed == {"conf"}
    plain = {key: value for key, value in before["conf"].items() if key not in CONF}
    assert plain and plain.items() <= after["conf"].items()
    assert all(set(after["conf"][key]) == {"*"} for key in list(CONF)[:5])


@pytest.mark.parametrize("name", sample_names())
def test_nothing_that_spark_writes_is_taken_for_a_secret(name: str) -> None:
    for file in (SAMPLES / name / "checkpoint").rglob("*"):
        if file.is_file() and "state" not in file.relative_to(SAMPLES / name).parts[1:2]:
            assert masked(file.read_bytes()) == file.read_bytes(), file


@pytest.mark.parametrize(
    "text",
    [
        '{"nextToken":"a-position","token":{"0":5},"secrets":{"0":1},"passwords":7}',  # topics and positions
        '{"path":"abfss://container@account.dfs.core.windows.net/a"}',
        '{"name":"password","type":"string"}',  # a column of that name
        '"password',
        '"password":"',
        '{"password":"","x":"y"}',
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text.encode()) == text.encode()


@pytest.mark.parametrize(
    "value", ['a"b', "a\\", 'a\\"', '\\\\""', "ü€", "a\nb", '{"x":"\\"y\\""}', "x" * 9_000]
)
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_value_is_hidden_whole_at_any_depth_and_the_json_stays(value: str, depth: int) -> None:
    inner: object = {"my.password": value, "other": "stays"}
    for _ in range(depth):
        inner = {"in": json.dumps(inner), "beside": "stays"}
    before = json.dumps(inner, ensure_ascii=False).encode()
    after = masked(before)
    assert len(after) == len(before)
    found = json.loads(after)
    for _ in range(depth):
        assert found.pop("beside") == "stays"
        found = json.loads(found["in"])
    assert found["other"] == "stays" and set(found["my.password"]) == {"*"}


def test_values_of_storage_options_are_hidden_wherever_they_stand() -> None:
    known = secret_values({**OPTIONS, "profile": "production", "anon": False, "token": "abc"})
    assert known == {"PLANTED-ACCESS-KEY", "PLANTED-SECRET", "PLANTED-SESSION"}
    assert masked(b"s3://b/production/PLANTED-SECRET/x", known) == b"s3://b/production/**************/x"


def test_the_answers_are_those_of_the_verbs_and_the_same_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.storage.door.time.time_ns", lambda: 1_795_176_000_000_000_000)
    root = copy_sample("kafka-pipeline-died-mid-batch", tmp_path)
    files = [tmp_path / "a.zip", tmp_path / "b.zip"]
    for file in files:
        assert main(["evidence", str(root), "--to", str(file)]) == 0
    capsys.readouterr()
    assert files[0].read_bytes() == files[1].read_bytes()
    door = Door.open(str(files[0]))
    door.list([""])
    for verb in ("check", "forecast", "inspect", "recover", "resume"):
        recorded = json.loads(door.recorded_answer(verb) or b"")
        _, answer = answers(capsys, root, verb)
        same = {key for key in answer if recorded.get(key) == answer[key]}
        assert {"version", *answer} - same <= {"location", "name", "requests", "read"}, verb
    assert said_then(door) == (), "nobody was asked"


@pytest.mark.parametrize(
    "answer",
    [
        b"{",
        b"[]",
        b"1",
        b"[" * 100_000,
        b'{"sources": 1, "sink": [], "x": 2}',
        b'{"sources": [1, {"topics": 3}]}',
    ],
)
def test_an_answer_that_somebody_made_up_says_nothing(answer: bytes, tmp_path: Path) -> None:
    source = Door.open(str(SAMPLES / "files-stopped-cleanly" / "checkpoint"))
    door = Door.open(str(take(source, tmp_path / "a.zip", answers={"forecast": answer}).path))
    door.list([""])
    assert door.recorded_answer("forecast") == answer
    assert said_then(door) == ()
