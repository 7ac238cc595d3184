"""Recovery rests on the forecast of the query that the answers describe."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from core.analysis.forecast import Level, Query, forecast
from core.checkpoint import Checkpoint
from core.cli import main
from core.connectors import ConnectorAnswers, ConnectorSettings
from core.connectors.answers import BrokerAnswer
from core.connectors.delta.log import DeltaLog
from core.judgement import judge
from core.recovery import Answers, Option, options
from core.recovery.asked_query import asked_query
from tests.support.brokers import answered, at, checkpoint_at, connectors_of, topic
from tests.support.build import PROJECT, QUERY_ID, commit_text, copy_sample, offset_text, write
from tests.support.delta_tables import TABLE_ID, appends, commit, info, taken

KAFKA = PROJECT / "sample_checkpoints" / "kafka-pipeline-died-mid-batch" / "checkpoint"
LOSS = "source.0.option.failOnDataLoss"
TOPICS = "source.0.topics"


def restart_of(root: Path, **answers: str) -> Option:
    context = judge(Checkpoint.open(str(root))).recovery(Answers(answers))
    return next(each for each in options(context) if each.id == "restart")


def committed(tmp_path: Path) -> Path:
    """The sample whose newest batch was committed: the next start plans a new one."""
    root = tmp_path / "ck"
    shutil.copytree(KAFKA, root)
    shutil.copy(root / "commits/7", root / "commits/8")
    return root


def test_a_topic_that_is_no_longer_subscribed_stops_the_restart_that_was_recommended(tmp_path: Path) -> None:
    """Seen on Spark 4.3 with two topics and a query of one: the forecast with the same answer said that it
    fails, Recovery recommended the plain start."""
    root = committed(tmp_path)
    assert restart_of(root).recommended
    fewer = restart_of(root, **{TOPICS: "orders"})
    assert not fewer.possible and "which the query no longer reads" in fewer.why
    assert restart_of(root, **{TOPICS: "orders, refunds"}).recommended
    assert restart_of(root, **{TOPICS: "orders", LOSS: "false"}).recommended


def test_what_comes_after_the_planned_batch_is_said_beside_the_restart() -> None:
    plain, fewer = restart_of(KAFKA), restart_of(KAFKA, **{TOPICS: "orders"})
    assert "loses nothing, if the broker, which was not asked, still has the records" in plain.reason
    assert fewer.recommended and "loses nothing" not in fewer.reason
    assert "The batch after it fails" in fewer.reason and "refunds-0" in fewer.reason


@pytest.mark.parametrize("name", ["failOnDataLoss", "FAILONDATALOSS"])
def test_the_option_of_the_source_counts_as_the_one_of_the_forecast(tmp_path: Path, name: str) -> None:
    """The documented form of an option was taken and counted for nothing."""
    root = checkpoint_at(tmp_path, {"orders": {0: 4}}, {"orders": {0: 10}})
    ck, expired = Checkpoint.open(str(root)), connectors_of(answered({("orders", 0): at(15, 20, 10)}))
    by_option = forecast(ck, query=Query(options={"0": {name: "false"}}), connectors=expired)
    by_switch = forecast(ck, query=Query(fail_on_data_loss=False), connectors=expired)
    assert (by_option.outcome, by_option.sentence) == ("resume", by_switch.sentence)
    assert forecast(ck, query=Query(options={"0": {name: "true"}}), connectors=expired).outcome == "fail"
    again = forecast(
        ck, query=Query(fail_on_data_loss=False, options={"0": {name: "true"}}), connectors=expired
    )
    assert again.outcome == "fail"
    context = judge(ck, expired).recovery(Answers({LOSS: "false"}))
    assert context.forecast is not None and context.forecast.sentence == by_switch.sentence


def test_answers_that_say_nothing_of_the_query_leave_it_as_it_was() -> None:
    ck, query = Checkpoint.open(str(KAFKA)), Query(topics={"0": ("orders",)})
    for answers in (
        {},
        {"sink": "delta"},
        {"source.9.topics": "x"},
        {"source.9.option.failOnDataLoss": "false"},
    ):
        assert asked_query(ck, Answers(answers), query) is query
    assert asked_query(ck, Answers({"source.0.option.subscribe": "a,b"}), query).topics == {"0": ("a", "b")}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"skipChangeCommits": "true"},
        {"SKIPCHANGECOMMITS": "true"},
        {"ignoreChanges": "true"},
        {"ignoreDeletes": "true"},
        {"ignoreDeletes": "false"},
        {"readChangeFeed": "true"},
        {"maxFilesPerTrigger": "5"},
        {"failOnDataLoss": "false"},
    ],
)
@pytest.mark.parametrize("happened", [None, "damaged"])
def test_options_of_a_delta_source_make_one_forecast_for_both_verbs(
    tmp_path: Path, given: dict[str, str], happened: str | None
) -> None:
    """Of a source that was restored, and a query that skips such commits: the forecast said that it goes on,
    Recovery with the same options that every start fails, and recommended a backfill."""
    table = appends(tmp_path / "t", 3)
    commit(table, 3, [info("RESTORE", 3), taken("part-0.parquet")])
    line = {"sourceVersion": 1, "reservoirId": TABLE_ID, "index": -1, "isStartingVersion": False}
    tree: dict[str, str | bytes] = {"metadata": json.dumps({"id": QUERY_ID})}
    for batch in (0, 1):
        tree[f"offsets/{batch}"] = offset_text([json.dumps({**line, "reservoirVersion": 2 + batch})])
        tree[f"commits/{batch}"] = commit_text()
    tree["state/0/0/1.delta"] = b"x"
    ck = Checkpoint.open(str(write(tmp_path / "ck", tree)))
    ends = ConnectorAnswers(tables={"0": DeltaLog.open(str(table))})
    asked = Query(options={"0": given} if given else {})
    level: Level = "deep" if happened == "damaged" else "normal"
    expected = forecast(ck, query=asked, level=level, connectors=ends)
    answers = Answers({f"source.0.option.{name}": value for name, value in given.items()})
    answers = answers if happened is None else answers.having(what_happened=happened)
    context = judge(ck, ends).recovery(answers)
    assert context.forecast is not None
    assert (context.forecast.sentence, context.forecast.certainty) == (expected.sentence, expected.certainty)
    reset = next(each for each in options(context) if each.id == "reset")
    assert ("fails there, too" in reset.why) == (expected.reason == "DELTA_CHANGES_WAIT")


def test_what_has_expired_is_lost_in_any_case_and_a_start_that_goes_on_keeps_the_rest(tmp_path: Path) -> None:
    """Of an aggregation whose unread records had expired: a refresh with wrong totals was recommended, and
    nothing named the start that lost only them."""
    root = checkpoint_at(tmp_path, {"orders": {0: 4}}, {"orders": {0: 10}})
    expired = connectors_of(answered({("orders", 0): at(15, 20, 10)}))

    def restart(**answers: str) -> Option:
        context = judge(Checkpoint.open(str(root)), expired).recovery(Answers(answers))
        return next(each for each in options(context) if each.id == "restart")

    stopped, told = restart(), restart(**{LOSS: "false"})
    assert not stopped.possible and "Started once with failOnDataLoss=false" in stopped.why
    assert told.possible and told.recommended and "lost in any case" in told.reason
    assert "loses nothing" not in told.reason and "15" in told.loses


def test_a_reset_is_not_said_to_lose_nothing_while_no_broker_was_asked(tmp_path: Path) -> None:
    root = checkpoint_at(tmp_path, {"orders": {0: 4}}, {"orders": {0: 10}})
    context = judge(Checkpoint.open(str(root))).recovery(
        Answers({"what_happened": "source_changed", "sink": "foreach_append"})
    )
    best = options(context)[0]
    assert best.id == "reset" and "if the broker, which was not asked, still has the records" in best.reason


@pytest.mark.parametrize("sink", ["foreach_append", "kafka", "other"])
@pytest.mark.parametrize("behind", [True, False])
def test_a_planned_batch_whose_records_have_expired_is_no_batch_that_loses_nothing(
    tmp_path: Path, sink: str, behind: bool
) -> None:
    """Seen on Spark 4.3 with a batch that was planned and never written: 13 rows are lost (11 of it)."""
    first, planned = {"orders": {0: 5, 1: 5}}, {"orders": {0: 12, 1: 12}}
    root = checkpoint_at(tmp_path, first, planned, pending=True)
    starts = (9, 14) if behind else (9, 12)
    there = answered({("orders", p): at(start, 15, 12) for p, start in enumerate(starts)})
    context = judge(Checkpoint.open(str(root)), connectors_of(there)).recovery(
        Answers({"sink": sink, LOSS: "false"})
    )
    restart = next(each for each in options(context) if each.id == "restart")
    lost = 13 if behind else 11
    assert restart.recommended and f"is lost in any case ({lost} offsets" in restart.reason
    assert restart.loses.startswith("11 offsets of batch 1 that have expired, unless the sink has the batch")
    assert ("2 offsets after it" in restart.loses) == behind
    assert "written a second time" in restart.repeats
    forecasted = context.forecast
    assert forecasted is not None
    assert any("14 now" in risk.sentence and "2 offsets" in risk.sentence for risk in forecasted.risks) == (
        behind
    )


ONE_GONE = answered({("k3a", 0): at(0, 5, 4)}, absent=("k3b",), all_topics=("k3a", "other"))
ALL_GONE = answered({}, absent=("k3a", "k3b"), all_topics=("other",))


@pytest.mark.parametrize(
    ("options", "there", "loss", "outcome", "reason", "certainty"),
    [
        # as seen on Spark 4.3 (tests/kafka/test_forecast_proof.py has the restarts)
        ({"subscribePattern": "k3.*"}, ONE_GONE, "false", "resume", None, "inferred"),
        ({"SUBSCRIBEPATTERN": "k3.*"}, ONE_GONE, "true", "fail", "KAFKA_PARTITIONS_GONE", "certain"),
        ({"subscribePattern": "k3.*"}, ALL_GONE, "false", "resume", None, "certain"),
        ({"subscribePattern": "k3.*"}, ALL_GONE, "true", "resume", None, "certain"),
        ({"subscribe": "k3a,k3b"}, ONE_GONE, "false", "fail", "KAFKA_TOPIC_GONE", "certain"),
        ({"assign": '{"k3a":[0],"k3b":[0]}'}, ONE_GONE, "false", "fail", "KAFKA_TOPIC_GONE", "certain"),
        ({"assign": '{"k3a":[0],"k3b":[0]}'}, ONE_GONE, "true", "fail", "KAFKA_TOPIC_GONE", "certain"),
        ({}, ONE_GONE, "true", "fail", "KAFKA_TOPIC_GONE", "certain"),
        ({}, ONE_GONE, "false", "fail", "KAFKA_TOPIC_GONE", "inferred"),
        ({}, ALL_GONE, "true", "fail", "KAFKA_TOPIC_GONE", "inferred"),
    ],
)
def test_what_a_topic_that_is_gone_does_depends_on_how_the_query_names_its_topics(
    tmp_path: Path,
    options: dict[str, str],
    there: BrokerAnswer,
    loss: str,
    outcome: str,
    reason: str | None,
    certainty: str,
) -> None:
    root = checkpoint_at(tmp_path, {"k3a": {0: 2}, "k3b": {0: 2}}, {"k3a": {0: 4}, "k3b": {0: 4}})
    ck = Checkpoint.open(str(root))
    given = {f"source.0.option.{name}": value for name, value in options.items()}
    query = asked_query(ck, Answers({**given, LOSS: loss}), Query())
    found = forecast(ck, query=query, connectors=connectors_of(there))
    assert (found.outcome, found.reason, found.certainty) == (outcome, reason, certainty)
    risk = found.risk("KAFKA_PARTITIONS_GONE")
    assert (risk is not None) == (outcome == "resume")
    assert risk is None or ("k3b-0" in risk.sentence and risk.data.append == "unknown")
    is_open = "With subscribePattern Spark resumes" in (found.then or "")
    assert is_open == (certainty == "inferred" and outcome == "fail")


def test_what_was_unread_of_a_topic_that_is_gone_and_no_longer_read_is_named_as_lost(tmp_path: Path) -> None:
    root = checkpoint_at(tmp_path, {"k3a": {0: 2}, "k3b": {0: 2}}, {"k3a": {0: 4}, "k3b": {0: 4}})
    asked = replace(connectors_of(ONE_GONE), given=ConnectorSettings(topics={"0": ("k3a",)}))
    answers = Answers({"sink": "foreach_append", LOSS: "false", TOPICS: "k3a"})
    context = judge(Checkpoint.open(str(root)), asked).recovery(answers)
    reset = next(each for each in options(context) if each.id == "reset")
    assert reset.possible and "k3b-0, no longer on the broker" in reset.loses
    (source,) = context.sources
    assert source.point is not None and source.point.exact and "k3b-0" in source.point.skips
    assert "how much that was nobody can tell" in source.point.note
    there = replace(ONE_GONE, absent=(), topics={**ONE_GONE.topics, "k3b": topic("k3b")})
    kept = replace(connectors_of(there), given=asked.given)
    again = judge(Checkpoint.open(str(root)), kept).recovery(answers)
    assert "k3b" not in next(each for each in options(again) if each.id == "reset").loses


def test_the_spark_that_is_named_decides_what_a_plain_start_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = copy_sample("files-died-mid-batch", tmp_path)
    shutil.rmtree(root / "offsets")
    said = {}
    for spark in ("3.5", "4.3"):
        assert main(["recover", str(root), "--spark", spark]) in (0, 1)
        said[spark] = capsys.readouterr().out
    assert "Spark will start from scratch and fail" in said["3.5"]
    assert "Spark will not start" in said["4.3"]
