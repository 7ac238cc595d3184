"""The one judgement that verbs and pages carry: its parts are those of the rooms below, made when they are
asked for, once, and the same for every reader. What was asked for beside the checkpoint is read in one
place."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

import core.judgement
from core.analysis.findings import findings
from core.analysis.forecast import Query, forecast
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers, ConnectorSettings
from core.connectors.connect import ask_connectors
from core.connectors.requested import (
    identity,
    joined,
    of_broker,
    of_files,
    place_refused,
    read_topics,
    sources_with_broker,
    sources_with_place,
    topics_refused,
)
from core.errors import AccessDenied, ResumeError, StorageError, UnsupportedSparkError
from core.judgement import FailedSource, KafkaSourceState, judge
from core.recovery import Answers, impact_of_deleting, read_recovery_context, resume_points
from core.recovery.repair_actions import with_repairs
from core.storage import parse_location
from tests.support.brokers import answered, at, checkpoint_at, connectors_of
from tests.support.build import SAMPLES, kafka_checkpoint, sample_names


def settings_of(name: str, ck: Checkpoint) -> ConnectorSettings:
    """The sink and the source that lie beside a sample."""
    sink, source = SAMPLES / name / "sink", SAMPLES / name / "source"
    place = parse_location(str(source)) if source.is_dir() else None
    return ConnectorSettings(
        sink=parse_location(str(sink)) if sink.is_dir() else None,
        sources={} if place is None else {found.key: place for found in sources_with_place(ck)},
    )


@pytest.mark.parametrize("name", sample_names())
def test_the_parts_of_a_judgement_are_what_the_rooms_below_say(name: str) -> None:
    place = str(SAMPLES / name / "checkpoint")
    ck, other = Checkpoint.open(place), Checkpoint.open(place)
    said, again = ask_connectors(ck, settings_of(name, ck)), ask_connectors(other, settings_of(name, other))
    judgement = judge(ck, said)
    assert judgement.forecast == forecast(other, connectors=again)
    found = findings(other, connectors=again)
    assert judgement.findings == with_repairs(found, other, judgement.forecast, again)
    rolled_back = judgement.forecast.rolled_back
    assert judgement.impacts == impact_of_deleting(other, again, rolled_back=rolled_back)
    assert judgement.sink == judgement.forecast.sink
    assert {source.key for source in judgement.sources} == set(said.tables)
    try:
        expected = resume_points(other, None, again)
    except ResumeError:
        with pytest.raises(ResumeError):
            judgement.resume()
    else:
        assert judgement.resume() == expected
    answers = Answers({"platform": "pyspark"})
    assert judgement.recovery(answers) == read_recovery_context(other, answers, again)


def test_nothing_is_read_before_it_is_asked_for_and_then_once(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(30))), newest=1)
    before = ck.door.requests
    judgement = judge(ck)
    assert ck.door.requests == before
    assert judgement.forecast is judgement.forecast and judgement.findings is judgement.findings
    asked = ck.door.requests
    assert asked.get > before.get
    assert judgement.findings.findings == () and judgement.forecast.outcome == "resume"
    assert ck.door.requests == asked


def test_readers_that_ask_at_the_same_time_get_one_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(3))))
    made, gate = [], threading.Barrier(4)

    def counting(*args: object, **options: object) -> object:
        made.append(1)
        return SimpleNamespace(forecast=object())

    monkeypatch.setattr(core.judgement, "read_forecast", counting)
    judgement = judge(ck)

    def ask(_: int) -> object:
        gate.wait(5)
        return judgement.forecast

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(4)))
    assert len(made) == 1 and all(each is found[0] for each in found)


def test_what_could_not_be_read_is_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refuse(*args: object, **options: object) -> object:
        asked.append(1)
        raise AccessDenied("The store refused.", "s3://bucket/ck")

    monkeypatch.setattr(core.judgement, "impact_of_deleting", refuse)
    judgement = judge(Checkpoint.open(str(kafka_checkpoint(tmp_path, range(3)))))
    for _ in range(3):
        with pytest.raises(StorageError, match=r"The store refused\."):
            _ = judgement.impacts
    assert len(asked) == 1


def test_spark_and_query_are_part_of_the_question(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(3))))
    assert judge(ck, spark="3.5").forecast.spark == "3.5"
    assert judge(ck, query=Query(sources=2)).forecast.outcome == "fail"
    with pytest.raises(UnsupportedSparkError):
        _ = judge(ck, spark="1.6").findings


def test_a_kafka_source_is_judged_against_its_broker_and_one_that_failed_says_why(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(checkpoint_at(tmp_path, {"orders": {0: 10}})))
    (source,) = judge(ck, connectors_of(answered({("orders", 0): at(12, 30, 10)}))).sources
    assert isinstance(source, KafkaSourceState)
    assert [(row.name, row.lost) for row in source.partitions] == [("orders-0", 2)]
    assert [topic.name for topic in source.topics] == ["orders"]
    failed = judge(ck, ConnectorAnswers(troubles={"source 0": "It is not there."})).source("0")
    assert failed == FailedSource("0", "kafka", "It is not there.")
    assert judge(ck).sources == () and judge(ck).source("0") is None and judge(ck).sink is None


# What was asked for


def test_a_place_and_topics_are_refused_for_a_source_that_has_none() -> None:
    files = Checkpoint.open(str(SAMPLES / "files-stopped-cleanly" / "checkpoint"))
    kafka = Checkpoint.open(str(SAMPLES / "kafka-pipeline-died-mid-batch" / "checkpoint"))
    assert place_refused(files, "0") is None and topics_refused(files, "0") == "no_broker"
    assert place_refused(kafka, "0") == "no_place" and topics_refused(kafka, "0") is None
    assert place_refused(kafka, "7") == topics_refused(kafka, "7") == "unknown_source"
    assert [source.key for source in sources_with_place(files)] == ["0"] and not sources_with_place(kafka)
    assert [source.key for source in sources_with_broker(kafka)] == ["0"] and not sources_with_broker(files)
    assert read_topics(" orders, refunds,,orders ") == ("orders", "refunds")


def test_answers_that_were_asked_for_apart_are_the_same_as_asked_together() -> None:
    name = "delta-batch-already-in-table"
    ck = Checkpoint.open(str(SAMPLES / name / "checkpoint"))
    wanted = settings_of(name, ck)
    parts = [ask_connectors(ck, part) for part in (of_files(wanted), of_broker(wanted)) if not part.is_empty]
    whole, together = ask_connectors(ck, wanted), joined(wanted, parts)
    assert len(parts) == 1 and together.given == wanted
    assert (set(together.tables), together.troubles, together.brokers) == (set(whole.tables), {}, {})
    assert judge(ck, together).forecast == judge(ck, whole).forecast


def test_two_requests_are_told_apart_without_a_secret() -> None:
    plain = ConnectorSettings(sink=parse_location("s3://bucket/sink"))
    secret = ConnectorSettings(sink=parse_location("s3://bucket/sink", storage_options={"secret": "hunter2"}))
    assert identity(plain) != identity(secret) != identity(ConnectorSettings())
    assert "hunter2" not in repr(identity(secret))
