"""The impact of deleting a checkpoint: counted where the logs of the ends tell, and an honest "not counted"
where they do not."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.connectors.answers import BrokerAnswer, BrokerPartition, BrokerTopic
from core.connectors.delta.log import DeltaLog
from core.connectors.file_sink_log import FileSinkLog
from core.errors import ResumeError
from core.judgement import judge
from core.recovery import Answers, DeletionImpact, impact_of_deleting, options, resume_points
from core.storage import parse_location
from tests.support import damage as d
from tests.unit.test_forecast_source_logs import pending

IN_TABLE, IN_SNAPSHOT = "delta-batch-already-in-table", "delta-stopped-in-first-snapshot"


def delta_answers(place: Path) -> ConnectorAnswers:
    return ConnectorAnswers(
        sink=DeltaLog.open(str(place / "sink")), tables={"0": DeltaLog.open(str(place / "source"))}
    )


def by_start(impacts: tuple[DeletionImpact, ...]) -> dict[str, DeletionImpact]:
    return {price.start: price for price in impacts}


def rows_written(table: Path) -> int:
    """Rows of all batches in a table's log, added up line by line."""
    commits = [
        json.loads(line) for file in table.glob("_delta_log/*.json") for line in file.read_text().splitlines()
    ]
    infos = [
        c["commitInfo"] for c in commits if c.get("commitInfo", {}).get("operation") == "STREAMING UPDATE"
    ]
    return sum(int(info["operationMetrics"]["numOutputRows"]) for info in infos)


def test_all_three_starts_are_priced_in_rows_when_both_delta_logs_are_there(samples: Path) -> None:
    place = samples / IN_TABLE
    impacts = by_start(impact_of_deleting(Checkpoint.open(str(place / "checkpoint")), delta_answers(place)))
    beginning, exact, kept = (
        impacts["from the beginning"],
        impacts["exact position"],
        impacts["old query id kept"],
    )
    assert (beginning.repeats_rows, beginning.loses_rows) == (rows_written(place / "sink"), 0)
    assert (exact.repeats_rows, exact.loses_rows) == (0, 0) and "after batch 5" in exact.sentence
    assert "240 rows of the source are reprocessed" in beginning.sentence, (
        "two of them are filtered out by the query"
    )
    assert kept.loses_rows == (DeltaLog.open(str(place / "source")).rows_now().rows or 0) - 240
    assert {price.certainty for price in impacts.values()} == {"certain"}


@pytest.mark.parametrize("left", [None, b"", b'v1\n{"batchWatermarkMs":0,"batch'])
def test_without_the_offsets_of_the_last_committed_batch_no_start_is_exact(
    samples: Path, tmp_path: Path, left: bytes | None
) -> None:
    place = tmp_path / "checkpoint"
    shutil.copytree(samples / "files-stopped-cleanly" / "checkpoint", place)
    whole = by_start(impact_of_deleting(Checkpoint.open(str(place))))["exact position"]
    assert (whole.repeats_rows, whole.loses_rows) == (0, 0)
    newest = place / "offsets" / "13"
    newest.unlink() if left is None else newest.write_bytes(left)
    ck = Checkpoint.open(str(place))
    with pytest.raises(ResumeError):
        resume_points(ck)
    impact = by_start(impact_of_deleting(ck))["exact position"]
    assert (impact.repeats_rows, impact.loses_rows, impact.certainty) == (None, None, "needs_input")
    assert "offsets/13 is missing or could not be read" in impact.sentence


def test_a_table_ahead_of_the_checkpoint_repeats_what_it_holds_beyond_the_position(
    samples: Path, tmp_path: Path
) -> None:
    place = tmp_path / "pipeline"
    shutil.copytree(samples / IN_TABLE, place)
    for name in ("offsets/5", "offsets/4", "commits/4", "commits/3"):  # a backup from before batch 4
        (place / "checkpoint" / name).unlink()
    ck = Checkpoint.open(str(place / "checkpoint"))
    connectors = delta_answers(place)
    price = by_start(impact_of_deleting(ck, connectors))["exact position"]
    commits = [
        json.loads(line)
        for n in (3, 4, 5)
        for line in (place / f"sink/_delta_log/{n:020}.json").read_text().splitlines()
    ]
    written = sum(
        int(c["commitInfo"]["operationMetrics"]["numOutputRows"]) for c in commits if "commitInfo" in c
    )
    assert price.repeats_rows == written and "batches 3 to 5" in price.sentence
    assert "The table already has batches 3 to 5" in resume_points(ck, connectors=connectors).note


def test_a_position_inside_the_first_snapshot_counts_the_files_done(samples: Path) -> None:
    place = samples / IN_SNAPSHOT
    impacts = by_start(impact_of_deleting(Checkpoint.open(str(place / "checkpoint")), delta_answers(place)))
    assert impacts["from the beginning"].repeats_rows == rows_written(place / "sink")


def test_without_the_ends_no_number_is_said_and_the_sentence_names_what_was_not_given(samples: Path) -> None:
    impacts = by_start(impact_of_deleting(Checkpoint.open(str(samples / IN_TABLE / "checkpoint"))))
    assert (
        impacts["from the beginning"].repeats_rows is None
        and "source 0 was not connected" in impacts["from the beginning"].sentence
    )
    assert (
        impacts["exact position"].repeats_rows is None
        and "Batch 5 is reprocessed" in impacts["exact position"].sentence
    )
    assert impacts["old query id kept"].loses_rows is None
    assert {price.certainty for price in impacts.values()} == {"needs_input"}


def test_another_table_as_the_source_gives_no_number(samples: Path) -> None:
    connectors = ConnectorAnswers(tables={"0": DeltaLog.open(str(samples / IN_SNAPSHOT / "source"))})
    impacts = by_start(
        impact_of_deleting(Checkpoint.open(str(samples / IN_TABLE / "checkpoint")), connectors)
    )
    assert impacts["from the beginning"].repeats_rows is None


def test_a_file_sink_skips_by_number_whatever_the_query_id_is(samples: Path) -> None:
    place = samples / "files-died-mid-batch"
    impacts = impact_of_deleting(
        Checkpoint.open(str(place / "checkpoint")),
        ConnectorAnswers(sink=FileSinkLog.open(str(place / "sink"))),
    )
    assert all(
        "batches 0 to 6 are skipped because the sink has already committed these batch IDs" in price.sentence
        for price in impacts
    )
    assert all("new output directory" in price.sentence for price in impacts)
    note = resume_points(
        Checkpoint.open(str(place / "checkpoint")),
        connectors=ConnectorAnswers(sink=FileSinkLog.open(str(place / "sink"))),
    ).note
    assert "this output directory skips batches up to 6: write to a new one" in note


def test_a_sink_without_a_log_counts_as_one_that_appends(samples: Path, tmp_path: Path) -> None:
    connectors = ConnectorAnswers(sink=parse_location(str(tmp_path)))
    impacts = by_start(
        impact_of_deleting(Checkpoint.open(str(samples / "files-died-mid-batch" / "checkpoint")), connectors)
    )
    assert "Batch 7 is reprocessed" in impacts["exact position"].sentence
    assert impacts["old query id kept"].loses_rows is None


def test_state_that_is_left_behind_is_part_of_the_price_of_an_exact_start(samples: Path) -> None:
    impacts = by_start(
        impact_of_deleting(
            Checkpoint.open(str(samples / "windowed-aggregation-hot-partition" / "checkpoint"))
        )
    )
    assert "The state is left behind" in impacts["exact position"].sentence
    assert impacts["exact position"].loses_rows is None


@pytest.mark.parametrize(
    ("sample", "lost"), [("windowed-aggregation-hot-partition", None), ("files-stopped-cleanly", 0)]
)
def test_state_is_built_again_from_what_the_source_still_has_and_nobody_asked_it(
    samples: Path, sample: str, lost: int | None
) -> None:
    """A start from the beginning loses nothing only where there is no state, or every row is still there."""
    impact = by_start(impact_of_deleting(Checkpoint.open(str(samples / sample / "checkpoint"))))[
        "from the beginning"
    ]
    assert impact.loses_rows == lost
    assert ("not in the new results" in impact.sentence) == (lost is None)


def test_an_empty_checkpoint_has_no_price(tmp_path: Path, samples: Path) -> None:
    shutil.copytree(samples / IN_TABLE / "checkpoint", tmp_path / "ck")
    for log in ("offsets", "commits"):
        shutil.rmtree(tmp_path / "ck" / log)
    assert impact_of_deleting(Checkpoint.open(str(tmp_path / "ck"))) == ()


# ---------------------------------------------------------------- Kafka


def answer(partitions: dict[tuple[str, int], tuple[int, int]], trouble: str | None = None) -> BrokerAnswer:
    topics = {
        topic: BrokerTopic(topic, "id", tuple(p for t, p in partitions if t == topic))
        for topic in {t for t, _ in partitions}
    }
    found = {name: BrokerPartition(start, end) for name, (start, end) in partitions.items()}
    return BrokerAnswer("broker:9092", 0, 0.1, 5, "read_uncommitted", topics, found, trouble=trouble)


def kafka_prices(samples: Path, broker: BrokerAnswer) -> dict[str, DeletionImpact]:
    ck = Checkpoint.open(str(samples / "kafka-pipeline-died-mid-batch" / "checkpoint"))
    return by_start(impact_of_deleting(ck, ConnectorAnswers(brokers={"0": broker})))


def positions(samples: Path) -> dict[tuple[str, int], int]:
    ck = Checkpoint.open(str(samples / "kafka-pipeline-died-mid-batch" / "checkpoint"))
    assert ck.last_committed_batch is not None
    text = ck.source_texts(ck.last_committed_batch, "0")[1]
    assert text is not None
    return {(topic, int(p)): at for topic, ps in json.loads(text).items() for p, at in ps.items()}


def test_kafka_offsets_before_the_position_are_at_most_the_rows_that_repeat(samples: Path) -> None:
    at = positions(samples)
    price = kafka_prices(samples, answer({name: (3, position + 50) for name, position in at.items()}))[
        "from the beginning"
    ]
    assert price.repeats_rows == sum(at.values()) - 3 * len(at)
    assert price.is_at_most and "at most" in price.sentence and price.certainty == "inferred"


def test_expired_kafka_records_are_lost_by_every_start_and_said_so(samples: Path) -> None:
    at = positions(samples)
    impacts = kafka_prices(
        samples, answer({name: (position + 2, position + 50) for name, position in at.items()})
    )
    assert impacts["exact position"].loses_rows == 2 * len(at)
    assert "Kafka no longer has" in impacts["exact position"].sentence
    assert impacts["from the beginning"].repeats_rows == 0


@pytest.mark.parametrize("state", ["deleted", "made anew"])
def test_a_topic_that_is_gone_or_made_anew_has_no_exact_start(samples: Path, state: str) -> None:
    at = positions(samples)
    topic = sorted({name[0] for name in at})[0]
    found = {name: (0, position if name[0] != topic else position - 1) for name, position in at.items()}
    broker = answer(found)
    if state == "deleted":
        broker = answer({name: connectors for name, connectors in found.items() if name[0] != topic})
        broker = replace(broker, absent=(topic,))
    price = kafka_prices(samples, broker)["exact position"]
    assert "no longer available" in price.sentence and topic in price.sentence
    assert (price.repeats_rows, price.loses_rows) == (None, None)


def test_a_broker_that_does_not_tell_gives_no_number(samples: Path) -> None:
    at = positions(samples)
    broker = answer({name: (0, position) for name, position in list(at.items())[1:]})
    assert kafka_prices(samples, broker)["from the beginning"].repeats_rows is None


def test_without_a_broker_the_offsets_that_were_read_are_the_most_that_repeats(samples: Path) -> None:
    """Two very different prices stood in one card as "not known"."""
    silent = answer({}, "No answer from broker:9092 in 3 s.")
    for price in (kafka_prices(samples, silent), by_start(impact_of_deleting(kafka(samples)))):
        begin, exact = price["from the beginning"], price["exact position"]
        assert (begin.repeats_rows, begin.is_at_most, begin.certainty) == (704, True, "inferred")
        assert (exact.repeats_rows, exact.is_at_most) == (88, True)


def kafka(samples: Path, *harms: d.Damage, root: Path | None = None) -> Checkpoint:
    place = samples / "kafka-pipeline-died-mid-batch" / "checkpoint"
    if root is not None:
        place = Path(shutil.copytree(place, root / "kafka"))
    for harm in harms:
        harm(place)
    return Checkpoint.open(str(place))


def test_lost_commits_do_not_make_the_impact_nothing(samples: Path, tmp_path: Path) -> None:
    """It was "0 rows are written a second time (certain)", and the position to paste was offset 0."""
    ck = kafka(samples, d.without("commits"), root=tmp_path)
    price = by_start(impact_of_deleting(ck))
    assert (price["from the beginning"].repeats_rows, price["exact position"].repeats_rows) == (704, 88)
    assert "after batch 7" in price["exact position"].sentence
    answer = resume_points(ck)
    assert (answer.batch, answer.sources[0].point.certainty) == (7, "inferred")
    assert answer.sources[0].point.options == resume_points(kafka(samples)).sources[0].point.options
    reason = next(each for each in options(judge(ck).recovery(Answers())) if each.id == "restart").reason
    assert "Of batches 0 to 7 there is no commit either" in reason and "loses nothing" not in reason


def test_a_file_sink_that_was_answered_skips_what_a_new_checkpoint_writes(samples: Path) -> None:
    ck = Checkpoint.open(str(samples / "files-stopped-cleanly" / "checkpoint"))
    for kind in ("foreach_append", "delta"):
        assert all(each.caveat == "" for each in impact_of_deleting(ck, sink_kind=kind))
    for each in impact_of_deleting(ck, sink_kind="file"):
        assert "batches 0 to 13 are skipped" in each.sentence and each.certainty == "needs_input"
        assert each.loses_rows is None
    open_ = by_start(impact_of_deleting(ck))
    for start in ("from the beginning", "exact position"):
        assert "unless the sink is a file sink: that skips batches 0 to 13" in open_[start].caveat
    assert judge(ck).impacts_at("file") == impact_of_deleting(ck, sink_kind="file")


def test_an_exact_position_needs_the_log_of_the_file_source(samples: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(samples / "files-stopped-cleanly" / "checkpoint", tmp_path / "ck"))
    whole = by_start(impact_of_deleting(Checkpoint.open(str(place))))["exact position"]
    assert whole.repeats_rows == 0
    shutil.rmtree(place / "sources")
    gone = by_start(impact_of_deleting(Checkpoint.open(str(place))))["exact position"]
    assert gone.repeats_rows is None and "rests on the log of source 0, which is missing" in gone.sentence


def test_logs_that_were_set_back_leave_rows_in_the_sink(samples: Path) -> None:
    ck = Checkpoint.open(str(samples / "hand-made-rewind" / "checkpoint"))
    exact = by_start(judge(ck).impacts)["exact position"]
    assert exact.repeats_rows is None and "is in the sink already" in exact.sentence


@pytest.mark.parametrize("sample", ["state-format-2", "missing-delta-file"])
def test_a_new_checkpoint_for_a_query_whose_state_is_gone_is_not_exact(
    samples: Path, tmp_path: Path, sample: str
) -> None:
    """It was "repeats nothing, loses nothing": ten rows came that the lost state would have dropped."""
    place = Path(shutil.copytree(samples / sample / "checkpoint", tmp_path / "ck"))
    d.without("state")(place)
    ck = Checkpoint.open(str(place))
    judged = judge(ck)
    assert judged.forecast.reason == "STATE_FOLDER_MISSING"
    for price in by_start(judged.impacts).values():
        assert price.loses_rows is None and price.repeats_rows is None
    assert "The state is gone already" in by_start(judged.impacts)["exact position"].sentence
    assert "The state of this checkpoint is gone" in resume_points(ck).note
    reset = next(each for each in options(judged.recovery(Answers())) if each.id == "reset")
    assert reset.possible and "If the query deduplicates" in reset.repeats and "The state:" in reset.loses


def test_state_that_is_gone_is_seen_where_the_start_fails_before_it(samples: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(samples / "state-format-2" / "checkpoint", tmp_path / "ck"))
    d.both(d.without("state"), d.holding("offsets/{n+1}", ""))(place)
    judged = judge(Checkpoint.open(str(place)))
    assert judged.forecast.reason == "LOG_FILE_UNREADABLE"
    assert judged.recovery(Answers()).is_state_lost
    assert by_start(judged.impacts)["exact position"].loses_rows is None


def test_a_deduplication_that_starts_empty_repeats_rows_and_an_aggregation_none(samples: Path) -> None:
    kept = Checkpoint.open(str(samples / "windowed-aggregation-hot-partition" / "checkpoint"))
    exact = by_start(impact_of_deleting(kept))["exact position"]
    assert (exact.repeats_rows, exact.loses_rows) == (0, None)
    dropped = Checkpoint.open(str(samples / "dropduplicates-removed" / "checkpoint"))
    exact = by_start(impact_of_deleting(dropped))["exact position"]
    assert (exact.repeats_rows, exact.loses_rows) == (None, None)
    assert "Rows that the deduplication would have dropped are written." in exact.sentence


def test_a_planned_batch_whose_input_is_gone_leaves_no_start_that_loses_nothing(tmp_path: Path) -> None:
    """The forecast said that the file is gone, and below it stood "loses nothing" of two ways of starting."""
    root, files = pending(tmp_path / "ck", tmp_path / "in")
    whole = by_start(judge(Checkpoint.open(str(root))).impacts)
    files[4].unlink()
    judged = judge(Checkpoint.open(str(root)))
    impacts = by_start(judged.impacts)
    gone = next(each.sentence for each in judged.forecast.risks if each.id == "INPUT_GONE")
    for start in ("from the beginning", "exact position"):
        assert whole[start].loses_rows == 0 and impacts[start].loses_rows is None
        assert f"As the forecast says: {gone}" in impacts[start].sentence
    assert "no row is skipped" in whole["exact position"].sentence
    assert "no row is skipped" not in impacts["exact position"].sentence
    for sink in ("foreach_append", "foreach_merge", "delta"):
        found = {each.id: each for each in options(judged.recovery(Answers({"sink": sink})))}
        for option in ("reset", "backup_and_backfill"):
            assert f"As the forecast says: {gone}" in found[option].loses
            assert not found[option].loses.startswith("Nothing")


def test_what_a_broker_that_was_not_asked_has_lost_is_not_nothing(samples: Path) -> None:
    silent = answer({}, "No answer from broker:9092 in 3 s.")
    for price in (kafka_prices(samples, silent), by_start(impact_of_deleting(kafka(samples)))):
        for start in ("from the beginning", "exact position"):
            assert price[start].loses_rows is None
            assert "what has expired is lost with any start" in price[start].sentence


def test_a_sink_that_was_asked_takes_the_place_of_what_it_may_receive(samples: Path) -> None:
    """The sentence said both: that the batch may come twice, and that the table skips it."""
    place = samples / IN_TABLE
    ck = Checkpoint.open(str(place / "checkpoint"))
    assert "the sink may receive batch ID 5 a second time" in judge(ck).forecast.sentence
    told = judge(ck, delta_answers(place)).forecast.sentence
    assert "may receive" not in told and "is already in the table" in told
