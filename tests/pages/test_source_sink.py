"""The page Source & sink, and what the other pages make of the ends that were given there."""

from __future__ import annotations

import json
import logging
import re
import shutil
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.connectors.answers import BrokerAnswer, BrokerPartition, BrokerTopic
from core.connectors.connect import ask_connectors
from core.connectors.model import ConnectorAnswers, ConnectorSettings
from core.recovery import impact_of_deleting
from core.settings import PREFIX, get_settings
from core.storage import parse_location
from tests.pages.conftest import PAGES, OpenPage, assert_no_error, charts_of, elements, words_of
from tests.pages.test_hostile import MARK, assert_only_plain
from tests.pages.test_large import MOST_BYTES, size_of
from tests.support.build import (
    SAMPLES,
    commit_text,
    copy_sample,
    kafka_checkpoint,
    kafka_offset,
    offset_text,
    write,
)
from tests.support.kafka import Broker, free_ports

DELTA = "samples/delta-batch-already-in-table/checkpoint"
KAFKA = "samples/kafka-pipeline-died-mid-batch/checkpoint"
BESIDE = {
    "sink": "samples/delta-batch-already-in-table/sink",
    "at_0": "samples/delta-batch-already-in-table/source",
}
PASSWORD = "correct-horse-battery-staple"
ON_PAGES = ("ends", "overview", "integrity", "recovery")


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Settings of this test alone: set variables, then open a page."""
    get_settings.cache_clear()
    yield monkeypatch
    get_settings.cache_clear()


@pytest.fixture
def closed_broker(settings: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The properties file of a broker named "down" that is not there, with a user and a password in it."""
    place = tmp_path / "down.properties"
    lines = [
        f"bootstrap.servers=127.0.0.1:{free_ports(1)[0]}",
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=PLAIN",
        "sasl.username=someone-in-particular",
        f"sasl.password={PASSWORD}",
    ]
    place.write_text("\n".join(lines))
    settings.setenv(f"{PREFIX}KAFKA", json.dumps({"down": str(place)}))
    return place


def beside() -> ConnectorAnswers:
    """What both tables beside the Delta sample say."""
    ck = Checkpoint.open(str(SAMPLES / "delta-batch-already-in-table" / "checkpoint"))
    places = {
        name: parse_location(str(SAMPLES / "delta-batch-already-in-table" / name))
        for name in ("sink", "source")
    }
    return ask_connectors(ck, ConnectorSettings(sink=places["sink"], sources={"0": places["source"]}))


def everything(at: AppTest) -> str:
    """All that is sent to the browser, and the address."""
    sent = [str(proto) for _, proto in elements(at) if proto is not None]
    return "\n".join([*sent, *(item.spec for item in charts_of(at)), str(at.query_params)])


# ------------------------------------------------------------------ nothing given


def test_a_directory_in_which_no_input_was_looked_for_is_said_to_be_so(open_page: OpenPage) -> None:
    """The log of the sample names its files below /data; the directory is where they lie now."""
    name = "samples/files-died-mid-batch"
    at = open_page("ends", f"{name}/checkpoint", at_0=f"{name}/source")
    assert_no_error(at)
    shown = words_of(at)
    assert "Not looked for here: 1 input file of batch 7 (file:///data/files-died-mid-batch/" in shown
    assert "The forecast above looks there" not in shown


def test_without_ends_the_page_says_what_to_give_and_how(open_page: OpenPage) -> None:
    shown = words_of(open_page("ends", KAFKA))
    for text in (
        "Source and sink are not connected yet",
        f"export {PREFIX}KAFKA=",
        "bootstrap.servers=",
        "has no _spark_metadata",
    ):
        assert text in shown


def test_a_source_without_an_end_to_ask_says_so(open_page: OpenPage, tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {"metadata": json.dumps({"id": "x"}), "offsets/0": offset_text(["17"]), "commits/0": commit_text()},
    )
    at = open_page("ends", root)
    assert_no_error(at)
    assert "There is no check for this kind of source" in words_of(at)


def test_without_ends_the_price_of_deleting_says_what_to_give(open_page: OpenPage) -> None:
    for page in ("overview", "recovery"):
        shown = words_of(open_page(page, DELTA))
        assert "Impact of deleting this checkpoint" in shown
        assert "repeats: not known" in shown and "needs your input" in shown


def test_a_table_beside_the_checkpoint_is_offered_and_taken_with_one_click(open_page: OpenPage) -> None:
    at = open_page("ends", DELTA)
    assert "Found beside the checkpoint: samples/delta-batch-already-in-table/sink" in words_of(at)
    at.button(key="offer-sink").click().run()
    assert_no_error(at)
    assert "Pending batch 5 is already in the table and will be skipped" in words_of(at)
    assert at.text_input(key="give_sink").value == BESIDE["sink"]


def test_a_table_that_holds_the_checkpoint_is_offered(open_page: OpenPage, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "delta-batch-already-in-table" / "sink", tmp_path / "table")
    root = copy_sample("delta-batch-already-in-table", tmp_path / "table")
    at = open_page("ends", root)
    assert f"The checkpoint lies inside a table: {tmp_path / 'table'}" in words_of(at)


def test_nothing_outside_the_root_is_offered(
    open_page: OpenPage, settings: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(SAMPLES / "delta-batch-already-in-table", tmp_path / "q", dirs_exist_ok=True)
    settings.setenv(f"{PREFIX}ROOTS", json.dumps({"here": str(tmp_path / "q" / "checkpoint")}))
    at = open_page("ends", "here")
    assert_no_error(at)
    assert "Found beside" not in words_of(at)


# ------------------------------------------------------------------ Delta, given by a link


def test_a_link_with_both_ends_shows_table_and_batches(open_page: OpenPage) -> None:
    at = open_page("ends", DELTA, batch="3", **BESIDE)
    assert_no_error(at)
    shown = words_of(at)
    assert "Pending batch 5 is already in the table and will be skipped" in shown
    assert "The query is 3 versions behind" in shown
    assert "Batch 3, version 3, written by this query" in shown
    assert len(charts_of(at)) == 2 and all(len(chart.alt) > 20 for chart in charts_of(at))


def test_the_given_ends_are_used_on_every_page_and_stay(open_page: OpenPage) -> None:
    ck = Checkpoint.open(str(SAMPLES / "delta-batch-already-in-table" / "checkpoint"))
    expected = forecast(ck, connectors=beside()).sentence
    assert expected != forecast(ck).sentence, "the ends change nothing, so this test would prove nothing"
    at = open_page("ends", DELTA, **BESIDE)
    for page in ("overview", "timeline", "integrity", "recovery", "ends"):
        at = at.switch_page(f"pages/{page}.py").run()
        assert_no_error(at)
        assert expected in words_of(at), page


def test_the_price_in_rows_stands_above_the_code_that_resets(open_page: OpenPage) -> None:
    at = open_page("recovery", DELTA, **BESIDE)
    shown = [*(text.value for text in at.text)]
    (line,) = (text for text in shown if text.startswith("Impact of deleting this checkpoint: "))
    assert shown.index(line) < shown.index("The code") < shown.index("Impact of deleting this checkpoint")
    impacts = impact_of_deleting(
        Checkpoint.open(str(SAMPLES / "delta-batch-already-in-table" / "checkpoint")), beside()
    )
    assert impacts[0].repeats_rows and impacts[2].loses_rows, (
        "nothing repeats and nothing is lost, so this test would prove nothing"
    )
    for repeats in (f"repeats {impacts[0].repeats_rows} rows", f"loses {impacts[2].loses_rows} rows"):
        assert repeats in line and sum(repeats in text for text in shown) > 1
    assert "needs your input" not in shown[: shown.index("Recovery options")]


def test_the_ends_go_when_another_checkpoint_is_opened(open_page: OpenPage) -> None:
    at = open_page("ends", DELTA, **BESIDE)
    assert "already in the table" in words_of(at)
    at.selectbox(key="ck").set_value("samples/delta-stopped-in-first-snapshot/checkpoint").run()
    assert_no_error(at)
    assert at.text_input(key="give_sink").value == "" and "Source and sink are not connected yet" in words_of(
        at
    )


def test_an_end_can_be_taken_back(open_page: OpenPage) -> None:
    at = open_page("ends", DELTA, sink=BESIDE["sink"])
    at.text_input(key="give_sink").set_value("").run()
    assert "already in the table" not in words_of(at)
    at = at.switch_page("pages/overview.py").run().switch_page("pages/ends.py").run()
    assert at.text_input(key="give_sink").value == ""


def test_a_file_sink_shows_its_log_against_the_batches(open_page: OpenPage) -> None:
    at = open_page(
        "ends", "samples/files-died-mid-batch/checkpoint", sink="samples/files-died-mid-batch/sink"
    )
    assert_no_error(at)
    assert "newest batch ID in the sink's log" in words_of(at)
    assert "Batches against the log of the sink" in charts_of(at)[-1].alt


# ------------------------------------------------------------------ what cannot be used


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"sink": "samples/nothing-there"}, "Nothing found"),
        ({"sink": "samples/../../etc"}, "leads out of the root"),
        ({"sink": "nonsense://x"}, "is not a store that can be read"),
        ({"sink": f"s3://key:{PASSWORD}@bucket/x"}, "contains a password"),
        ({"at_7": "samples/x"}, "This link gives a place for source '7'"),
        ({"kafka": "nobody"}, "No Kafka broker is called 'nobody' here"),
        ({"at_0": "samples/delta-batch-already-in-table"}, "_delta_log"),
    ],
)
def test_an_end_that_cannot_be_used_is_one_sentence_and_the_rest_stands(
    open_page: OpenPage, given: dict[str, str], told: str
) -> None:
    ck = KAFKA if "kafka" in given else DELTA
    for page in ON_PAGES:
        at = open_page(page, ck, **given)
        assert_no_error(at)
        assert "Spark will re-run batch" in words_of(at)
        assert told in words_of(at), page


def test_a_location_outside_the_roots_is_refused_on_a_server(
    open_page: OpenPage, settings: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.setenv(f"{PREFIX}ADDRESS", "192.0.2.1")
    settings.setenv(f"{PREFIX}ROOTS", json.dumps({"samples": str(SAMPLES)}))
    at = open_page("ends", DELTA, sink=str(tmp_path))
    assert_no_error(at)
    assert "lies outside the configured roots" in words_of(at)


def test_a_path_of_a_properties_file_is_refused_on_a_server(
    open_page: OpenPage, settings: pytest.MonkeyPatch, closed_broker: Path
) -> None:
    settings.setenv(f"{PREFIX}ADDRESS", "192.0.2.1")
    settings.setenv(f"{PREFIX}ROOTS", json.dumps({"samples": str(SAMPLES)}))
    at = open_page("ends", KAFKA, kafka=str(closed_broker))
    assert_no_error(at)
    assert "A path can be given only where the app listens on this machine alone" in words_of(at)
    assert not [field for field in at.text_input if field.key == "give_path"]


def test_a_properties_file_that_cannot_be_used_is_one_sentence(open_page: OpenPage, tmp_path: Path) -> None:
    place = tmp_path / "broken.properties"
    place.write_text(f"bootstrap.servers=127.0.0.1:1\nno.such.setting={PASSWORD}\n")
    at = open_page("ends", KAFKA, kafka=str(place))
    assert_no_error(at)
    assert "no.such.setting" in words_of(at) and PASSWORD not in everything(at)


def test_a_broker_that_is_down_gives_its_reason_and_no_secret(
    open_page: OpenPage,
    closed_broker: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    for page in ON_PAGES:
        at = open_page(page, KAFKA, kafka="down", sink="samples/delta-batch-already-in-table/sink")
        assert_no_error(at)
        shown = words_of(at)
        assert "Connection refused" in shown, page
        assert "Spark will re-run batch 8" in shown, page
        sent = everything(at)
        assert (
            PASSWORD not in sent and "someone-in-particular" not in sent and closed_broker.name not in sent
        ), page
    assert PASSWORD not in caplog.text
    assert PASSWORD not in "".join(capfd.readouterr())


def test_a_broker_that_does_not_answer_leaves_the_other_parts_alone(
    open_page: OpenPage, settings: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        place = tmp_path / "silent.properties"
        place.write_text(f"bootstrap.servers=127.0.0.1:{silent.getsockname()[1]}\n")
        at = open_page("ends", KAFKA, kafka=str(place), sink=BESIDE["sink"])
    assert_no_error(at)
    assert "did not answer in time" in words_of(at) and "Contains this query up to" in words_of(at)


# ------------------------------------------------------------------ Kafka


def test_a_real_topic_of_200_partitions_shortened_beyond_the_position(
    open_page: OpenPage, settings: pytest.MonkeyPatch, kafka: Broker, tmp_path: Path
) -> None:
    kafka.create_topic("page-200", 200, {"retention.ms": "604800000"})
    kafka.produce("page-200", [str(n) for n in range(20)], 117)
    kafka.produce("page-200", [str(n) for n in range(30)], 3)
    kafka.delete_records("page-200", {117: 9})
    position = {str(p): {117: 5, 3: 30}.get(p, 0) for p in range(200)}
    files: dict[str, str | bytes] = {
        "metadata": json.dumps({"id": "730aa211-41ff-4ee3-b1b9-9e62ed047c5f"}),
        "sources/0/0": b"\0v1\n" + kafka_offset(0, 200, "page-200").encode(),
        "offsets/0": offset_text([json.dumps({"page-200": position})], timestamp_ms=int(time.time() * 1000)),
        "commits/0": commit_text(),
    }
    place = tmp_path / "real.properties"
    place.write_text(f"bootstrap.servers={kafka.bootstrap}\n")
    settings.setenv(f"{PREFIX}KAFKA", json.dumps({"real": str(place)}))
    at = open_page("ends", write(tmp_path / "ck", files), kafka="real")
    assert_no_error(at)
    shown = words_of(at)
    assert "1 of 200 partitions lost 4 offsets that were not read" in shown
    assert "1 to 25 of 200 partitions, highest risk first" in shown
    bars = charts_of(at)[1].spec
    assert "page-200-117" in bars and "4 offsets lost" in bars
    asked = re.search(r"(\d+) requests in", shown)
    assert asked is not None and int(asked[1]) <= 10


def answer(partitions: int, topic: str = "orders", **changed: BrokerPartition) -> BrokerAnswer:
    """An answer as a broker gives it: every partition keeps 0 to 100, but for ``p7=BrokerPartition(...)``."""
    there = {(topic, p): BrokerPartition(0, 100, record_ms=1_795_176_000_000) for p in range(partitions)}
    there |= {(topic, int(name[1:])): value for name, value in changed.items()}
    known = BrokerTopic(
        topic, "id-of-the-topic", tuple(range(partitions)), 604_800_000, -1, cleanup_policy="delete"
    )
    return BrokerAnswer(
        "broker:9092", int(time.time() * 1000), 0.1, 5, "read_uncommitted", {topic: known}, there
    )


@pytest.fixture
def answered(settings: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, BrokerAnswer]:
    """A broker "b" whose answer the test puts under "answer": what a page makes of it does not need a broker
    that runs."""
    place = tmp_path / "b.properties"
    place.write_text("bootstrap.servers=broker.invalid:9092\n")
    settings.setenv(f"{PREFIX}KAFKA", json.dumps({"b": str(place)}))
    given: dict[str, BrokerAnswer] = {}
    settings.setattr(
        "core.connectors.connect.ask",
        lambda *_, **__: replace(given["answer"], asked_at_ms=int(time.time() * 1000)),
    )
    return given


def test_1000_partitions_are_one_map_and_a_page_of_rows_and_stay_small(
    open_page: OpenPage, answered: dict[str, BrokerAnswer], tmp_path: Path
) -> None:
    answered["answer"] = answer(1_000, p417=BrokerPartition(60, 100), p998=BrokerPartition(0, 30))
    files = {
        "metadata": json.dumps({"id": "x"}),
        "offsets/0": offset_text([kafka_offset(50, 1_000)]),
        "commits/0": commit_text(),
    }
    at = open_page("ends", write(tmp_path / "ck", files), kafka="b")
    assert_no_error(at)
    assert "1 of 1,000 partitions lost 10 offsets that were not read" in words_of(at)
    partitions, rows = charts_of(at)
    assert "records lost" in partitions.spec and "orders-417" in rows.spec and "orders-998" in rows.spec
    assert size_of(at) < MOST_BYTES


def test_the_chosen_partition_of_a_link_is_shown_on_its_page_of_rows(
    open_page: OpenPage, answered: dict[str, BrokerAnswer], tmp_path: Path
) -> None:
    answered["answer"] = answer(60)
    root = tmp_path / "ck"
    files = {f"offsets/{n}": offset_text([kafka_offset(10 * n + 10, 60)]) for n in range(2)} | {
        "commits/0": commit_text()
    }
    write(root, {"metadata": json.dumps({"id": "x"}), **files})
    at = open_page("ends", root, kafka="b", tp="orders-55")
    assert_no_error(at)
    assert "Partition orders-55" in words_of(at) and "51 to 60 of 60 partitions" in words_of(at)
    at = open_page("ends", root, kafka="b", rows="26")
    assert "26 to 50 of 60 partitions" in words_of(at)
    at.button(key="better-0").click().run()
    assert "51 to 60 of 60 partitions" in words_of(at)
    at = open_page("ends", root, kafka="b", tp="orders-77", rows="x")
    assert_no_error(at)
    assert "This link asks for topic partition 'orders-77'" in words_of(
        at
    ) and "This link asks for partitions from row 'x'" in words_of(at)


def test_the_broker_is_asked_once_for_all_pages_and_again_on_request(
    open_page: OpenPage, settings: pytest.MonkeyPatch, answered: dict[str, BrokerAnswer], tmp_path: Path
) -> None:
    questions: list[object] = []

    def counted(*asked: object, **_: object) -> BrokerAnswer:
        questions.append(asked)
        return answer(2)

    settings.setattr("core.connectors.connect.ask", counted)
    at = open_page("ends", kafka_checkpoint(tmp_path / "ck", range(3), commits=range(2)), kafka="b")
    for page in PAGES:
        at = at.switch_page(f"pages/{page}.py").run()
        assert_no_error(at)
    assert len(questions) == 1
    at = at.switch_page("pages/ends.py").run()
    at.button(key="ask-kafka-0").click().run()
    assert len(questions) == 2


def test_expired_records_fail_the_next_start_and_integrity_tells_what_failondataloss_false_would_do(
    open_page: OpenPage, answered: dict[str, BrokerAnswer], tmp_path: Path
) -> None:
    answered["answer"] = answer(2, p1=BrokerPartition(50, 100))
    root = kafka_checkpoint(tmp_path / "ck", range(3))
    for page in ("overview", "ends", "recovery"):
        at = open_page(page, root, kafka="b")
        assert_no_error(at)
        assert "KAFKA_DATA_LOSS" in words_of(at) and "orders-1" in words_of(at), page
    at = open_page("integrity", root, kafka="b", loss="false")
    assert_no_error(at)
    supposed = next(text.value for text in at.text if "With these choices:" in text.value)
    assert not supposed.startswith("▲")
    assert "Impact of deleting this checkpoint" in words_of(at), "a finding leads to the recovery options"
    at = open_page("integrity", root, loss="perhaps")
    assert "This link asks for failOnDataLoss 'perhaps'" in words_of(at)


def test_topics_that_the_query_reads_today_change_the_forecast_and_are_asked_about(
    open_page: OpenPage, settings: pytest.MonkeyPatch, answered: dict[str, BrokerAnswer], tmp_path: Path
) -> None:
    questions: list[dict[str, object]] = []

    def counted(_: object, positions: dict[str, object], **__: object) -> BrokerAnswer:
        questions.append(positions)
        return answer(2)

    settings.setattr("core.connectors.connect.ask", counted)
    root = kafka_checkpoint(tmp_path / "ck", range(3))
    at = open_page("ends", root, kafka="b")
    before = next(text.value for text in at.text if "Spark will" in text.value)
    at.text_input(key="give_topics_0").set_value("parcels, refunds").run()
    assert_no_error(at)
    assert set(questions[0]) == {"orders"} and set(questions[-1]) == {"orders", "parcels", "refunds"}
    after = next(text.value for text in at.text if "Spark will" in text.value)
    assert before != after and after.startswith("▲"), "orders is no longer read"
    at = open_page("ends", DELTA, topics_0="orders")
    assert "This link gives topics of source '0'. Kafka sources in this checkpoint: none." in words_of(at)


def test_hostile_names_from_the_broker_and_the_address_are_plain_text(
    open_page: OpenPage, answered: dict[str, BrokerAnswer], tmp_path: Path
) -> None:
    topic = f"![x](http:{MARK}) <img src=http:{MARK}> <b>b</b> **bold**"
    answered["answer"] = answer(3, topic, p1=BrokerPartition(50, 100))
    files = {
        "metadata": json.dumps({"id": "x"}),
        "offsets/0": offset_text([kafka_offset(10, 3, topic)]),
        "commits/0": commit_text(),
    }
    at = open_page(
        "ends", write(tmp_path / "ck", files), kafka="b", sink=f"samples/{topic}", at_0=topic, tp=topic
    )
    assert_no_error(at)
    assert_only_plain(at, "ends")
    assert MARK in everything(at)
    for page in ("overview", "integrity", "recovery"):
        at = at.switch_page(f"pages/{page}.py").run()
        assert_no_error(at)
        assert_only_plain(at, page)


def test_a_file_sink_without_its_log_is_a_risk_in_the_verdict(open_page: OpenPage, tmp_path: Path) -> None:
    shown = words_of(
        open_page("overview", "samples/files-stopped-cleanly/checkpoint", sink=str(tmp_path), a_sink="file")
    )
    assert "◐ Spark will resume with batch 14" in shown and "has no _spark_metadata" in shown
    assert "Any other sink keeps no log" not in shown
