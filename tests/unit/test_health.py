"""Findings about a query that could be started and does not do well: each kind, and the legal checkpoint next to
it that must not give it."""

from __future__ import annotations

import io
import json
import os
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.analysis.checkpoint_size import checkpoint_size
from core.analysis.findings import Finding, findings
from core.analysis.findings.practice_checks import is_temporary_place
from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.cli import main
from core.connectors.answers import BrokerAnswer, BrokerPartition, BrokerTopic
from core.connectors.model import ConnectorAnswers
from core.judgement import judge
from core.recovery import Answers, options
from core.settings import Settings
from core.storage import parse_location
from tests.support.build import SAMPLES, commit_text, copy_sample, kafka_offset, offset_text, remove, write
from tests.support.forecasting import METADATA, stateful_conf, with_state
from tests.support.watermarks import CLOCK_MS, MINUTE, behind, checkpoint

HOUR = 3_600_000


def found(ck: Checkpoint) -> dict[str, Finding]:
    return {item.id: item for item in findings(ck).findings}


def stateful(root: Path, watermarks: list[int], positions: list[list[int]] | None = None) -> Checkpoint:
    """A query with state and these watermarks; the state is whole."""
    checkpoint(root, watermarks, positions=positions, conf=stateful_conf())
    with_state(root, range(1, len(watermarks) + 1))
    return Checkpoint.open(str(root))


# The watermark in the future


def test_a_watermark_in_the_future_is_a_data_risk_of_check_and_forecast(tmp_path: Path) -> None:
    ck = stateful(tmp_path, [*behind(10, 9, 8), CLOCK_MS + 9 * HOUR])
    item = found(ck)["WATERMARK_AHEAD"]
    assert (item.severity, item.certainty, str(item.evidence[0])) == ("data_risk", "inferred", "offsets/3")
    answer = forecast(ck)
    assert [risk.id for risk in answer.risks] == ["WATERMARK_AHEAD"]
    assert answer.data.append == answer.data.overwrite == answer.data.skip == "loss"
    assert item.sentence in answer.sentence and " may be dropped " in item.sentence
    assert item.rewind_to == 1 and "--set to_batch=1" in item.action, "commits/2 has the jump"
    rewind = next(each for each in options(judge(ck).recovery(Answers({}))) if each.id == "rewind")
    assert rewind.possible and "complete for batch 1" in rewind.why


def test_a_watermark_in_the_future_that_no_batch_has_used_closes_what_is_open(tmp_path: Path) -> None:
    stateful(tmp_path, behind(10, 9, 8))
    write(tmp_path, {"commits/2": commit_text(CLOCK_MS + 9 * HOUR)})
    answer = forecast(Checkpoint.open(str(tmp_path)))
    assert [risk.id for risk in answer.risks] == ["WATERMARK_AHEAD"]
    assert answer.data.append == "unknown" and "hand out every open window" in answer.sentence


def test_the_clock_of_a_producer_may_run_a_little_ahead(tmp_path: Path) -> None:
    ck = stateful(tmp_path, [*behind(10, 9, 8), CLOCK_MS + 3 * MINUTE + 30_000])
    assert "WATERMARK_AHEAD" not in found(ck)


def test_a_query_without_state_drops_no_late_rows(tmp_path: Path) -> None:
    ck = checkpoint(tmp_path, [*behind(10, 9, 8), CLOCK_MS + 9 * HOUR])
    assert found(ck) == {} and forecast(ck).data.is_exact


def test_how_far_ahead_is_a_setting(tmp_path: Path) -> None:
    stateful(tmp_path, [*behind(10, 9, 8), CLOCK_MS + 2 * HOUR])
    local_times = Settings(watermark_ahead_ms=14 * HOUR)
    assert "WATERMARK_AHEAD" not in found(Checkpoint.open(str(tmp_path), local_times))


# The watermark that stands still


def test_a_watermark_without_newer_event_times_is_stalled(tmp_path: Path) -> None:
    """As Spark 4.3 wrote it for three batches whose event times are all null."""
    item = found(stateful(tmp_path, behind(10, 9, 8, 7, 7, 7, 7)))["WATERMARK_STALLED"]
    assert (item.severity, item.certainty, item.batch_id) == ("attention", "inferred", 3)
    assert "null" in item.sentence and [str(e) for e in item.evidence] == ["offsets/3:2", "offsets/6:2"]


def test_the_source_that_holds_the_watermark_back_is_named(tmp_path: Path) -> None:
    moving, idle = [10, 20, 30, 40, 50, 60, 70], [5, 10, 15, 15, 15, 15, 15]
    item = found(stateful(tmp_path, behind(10, 9, 8, 7, 7, 7, 7), [moving, idle]))["WATERMARK_STALLED"]
    assert "No new data came from source 1 (Kafka) in these batches" in item.sentence


def test_a_stall_that_is_over_is_none(tmp_path: Path) -> None:
    assert "WATERMARK_STALLED" not in found(stateful(tmp_path, behind(10, 9, 8, 8, 8, 8, 8, 7, 6, 5)))


def test_a_pause_without_data_is_none(tmp_path: Path) -> None:
    positions = [[10, 20, 30, 40, 40, 40, 40]]
    assert "WATERMARK_STALLED" not in found(stateful(tmp_path, behind(10, 9, 8, 7, 7, 7, 7), positions))


def test_event_times_of_whole_days_rest_for_a_day(tmp_path: Path) -> None:
    """Nothing that was read shows how long the watermark usually rests: batch 0 only gave the first value."""
    assert "WATERMARK_STALLED" not in found(stateful(tmp_path, [0, *behind(*[600] * 30)]))


def test_a_watermark_that_rests_for_more_than_a_day_is_stalled_whatever_was_read(tmp_path: Path) -> None:
    stateful(tmp_path, [0, *behind(*[600] * 30)])
    impatient = Checkpoint.open(str(tmp_path), Settings(watermark_stall_ms=20 * MINUTE))
    assert "WATERMARK_STALLED" in found(impatient)


def test_a_query_without_state_has_no_use_for_its_watermark(tmp_path: Path) -> None:
    assert found(checkpoint(tmp_path, behind(10, 9, 8, 7, 7, 7, 7))) == {}


def test_a_watermark_in_the_future_is_one_finding(tmp_path: Path) -> None:
    ahead = CLOCK_MS + 9 * HOUR
    ck = stateful(tmp_path, [*behind(10, 9, 8), ahead, ahead, ahead, ahead, ahead])
    assert "WATERMARK_AHEAD" in found(ck) and "WATERMARK_STALLED" not in found(ck)


# Skew


def sized(root: Path, sizes: list[int]) -> Checkpoint:
    """A store with so many bytes per partition, in one version."""
    conf = stateful_conf() | {"spark.sql.shuffle.partitions": str(len(sizes))}
    checkpoint(root, behind(10, 9), conf=conf)
    with_state(root, [1, 2], partitions=len(sizes))
    write(root, {f"state/0/{number}/1.delta": b"x" * 46 for number in range(len(sizes))})  # without a record
    write(root, {f"state/0/{number}/2.delta": b"x" * size for number, size in enumerate(sizes)})
    return Checkpoint.open(str(root))


def test_a_partition_of_many_times_the_median_is_named(tmp_path: Path) -> None:
    item = found(sized(tmp_path, [9_000, 200_000, 9_500, 10_000]))["STATE_SKEWED"]
    assert (item.severity, item.place) == ("attention", "0/1/default")
    assert str(item.evidence[0]) == "state/0/1/2.delta"


@pytest.mark.parametrize(
    "sizes", [[9_000, 80_000, 9_500, 10_000], [500, 60_000, 520, 510], [46, 46, 46, 90_000]]
)
def test_a_lower_ratio_a_small_state_and_few_keys_are_no_skew(tmp_path: Path, sizes: list[int]) -> None:
    assert "STATE_SKEWED" not in found(sized(tmp_path, sizes))


# Growth


def zipped(rows: int | None) -> bytes:
    """A RocksDB snapshot that records so many rows."""
    body = {"sstFiles": [], "numKeys": -1 if rows is None else rows}
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("metadata", "v1\n" + json.dumps(body))
    return data.getvalue()


def rocksdb(root: Path, rows: Sequence[int | None], watermarks: Sequence[int] = (0,) * 25) -> set[str]:
    """25 batches of a RocksDB store whose kept snapshots have so many rows."""
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    conf = stateful_conf() | {"spark.sql.streaming.stateStore.providerClass": provider}
    checkpoint(root, watermarks, conf=conf)
    with_state(root, range(1, 26), kind="changelog")
    versions = (1, 13, 25)
    for partition in (0, 1):
        write(
            root,
            {f"state/0/{partition}/{v}.zip": zipped(n) for v, n in zip(versions, rows, strict=True)},
        )
    return set(found(Checkpoint.open(str(root))))


def test_a_rocksdb_state_that_grows_without_a_watermark_is_noted(tmp_path: Path) -> None:
    assert "STATE_GROWS" in rocksdb(tmp_path, (100, 150, 200))


def test_large_state_that_grows_needs_attention(tmp_path: Path) -> None:
    rocksdb(tmp_path, (100, 150, 200))
    assert found(Checkpoint.open(str(tmp_path)))["STATE_GROWS"].severity == "note"
    large = Settings(growth_attention_bytes=1_000)
    assert found(Checkpoint.open(str(tmp_path), large))["STATE_GROWS"].severity == "attention"


@pytest.mark.parametrize("rows", [(100, 110, 120), (100, 300, 200), (0, 10, 20), (100, None, 200)])
def test_a_rocksdb_state_without_a_trend_is_not(tmp_path: Path, rows: Sequence[int | None]) -> None:
    assert "STATE_GROWS" not in rocksdb(tmp_path, rows)


def test_a_rocksdb_state_with_a_moving_watermark_is_not_read(tmp_path: Path) -> None:
    assert "STATE_GROWS" not in rocksdb(tmp_path, (100, 150, 200), behind(*range(60, 35, -1)))


# The newest batch


def planned(root: Path, minutes_ago: float, state_minutes_ago: float | None = None) -> Checkpoint:
    """Batches of ten seconds; the newest was planned so long ago and has no commit."""
    now = time.time()
    for batch in range(6):
        at = now - minutes_ago * 60 - (5 - batch) * 60
        text = offset_text([kafka_offset(10 * batch)], timestamp_ms=int(at * 1000), conf=stateful_conf())
        write(root, {f"offsets/{batch}": text} | ({f"commits/{batch}": commit_text()} if batch < 5 else {}))
        os.utime(root / f"offsets/{batch}", (at, at))
        if batch < 5:
            os.utime(root / f"commits/{batch}", (at + 10, at + 10))
    write(root, {"metadata": METADATA, "sources/0/0": b"\0v1\n" + kafka_offset(0).encode()})
    if state_minutes_ago is not None:
        with_state(root, range(1, 7))
        for file in root.glob("state/0/*/6.delta"):
            os.utime(file, (now - state_minutes_ago * 60,) * 2)
    return Checkpoint.open(str(root))


def test_a_batch_that_may_just_be_running_is_a_note(tmp_path: Path) -> None:
    item = found(planned(tmp_path, 2))["BATCH_NOT_COMMITTED"]
    assert item.severity == "note" and "2 min" in item.sentence
    assert "Nothing" not in item.action


def test_a_batch_that_is_planned_for_many_times_its_usual_time_needs_attention(tmp_path: Path) -> None:
    item = found(planned(tmp_path, 180))["BATCH_PENDING_LONG"]
    assert (item.severity, item.certainty, item.batch_id) == ("attention", "needs_input", 5)
    assert "3 h" in item.sentence and "10 s" in item.sentence and "do not show which" in item.sentence


def test_a_query_without_any_commit_is_a_note_however_old(tmp_path: Path) -> None:
    """Spark 2.1 keeps no commit log, and a copy may lack it."""
    planned(tmp_path, 180)
    remove(tmp_path, "commits")
    assert "BATCH_PENDING_LONG" not in found(Checkpoint.open(str(tmp_path)))


def test_state_files_that_were_written_again_show_another_attempt(tmp_path: Path) -> None:
    """Each attempt that reaches the state writes the files of the batch again (observed with 4.3)."""
    item = found(planned(tmp_path, 180, state_minutes_ago=5))["BATCH_PENDING_LONG"]
    assert "may fail at each attempt" in item.sentence
    assert str(item.evidence[1]).startswith("state/0/") and str(item.evidence[1]).endswith("/6.delta")


def test_state_files_of_the_first_attempt_show_no_other(tmp_path: Path) -> None:
    item = found(planned(tmp_path, 180, state_minutes_ago=180))["BATCH_PENDING_LONG"]
    assert len(item.evidence) == 1 and "do not show which" in item.sentence


def test_a_copy_says_nothing_of_attempts(tmp_path: Path) -> None:
    planned(tmp_path, 180, state_minutes_ago=5)
    for file in tmp_path.rglob("*"):
        os.utime(file)
    item = found(Checkpoint.open(str(tmp_path)))["BATCH_PENDING_LONG"]
    assert len(item.evidence) == 1


# Batches that become slower, sources that are not kept up with


def timed(
    root: Path, seconds: Sequence[float], *, amount: int = 10, gap: float = 60, grow: float = 0
) -> Checkpoint:
    """One Kafka query: batch N takes ``seconds[N]``, begins ``gap`` seconds after the one before and reads
    ``amount`` offsets (``grow`` more each time)."""
    begin, position, at = time.time() - 10 * 86_400, 0, 0.0
    write(root, {"metadata": METADATA, "sources/0/0": b"\0v1\n" + kafka_offset(0).encode()})
    for batch, length in enumerate(seconds):
        position += amount + int(grow * batch)
        started = begin + at
        text = offset_text([kafka_offset(position)], timestamp_ms=int(started * 1000))
        write(root, {f"offsets/{batch}": text, f"commits/{batch}": commit_text()})
        os.utime(root / f"offsets/{batch}", (started, started))
        os.utime(root / f"commits/{batch}", (started + length, started + length))
        at += max(gap, length)
    return Checkpoint.open(str(root))


def test_batches_that_take_longer_and_longer_are_named(tmp_path: Path) -> None:
    item = found(timed(tmp_path, [3 + 0.5 * n for n in range(40)]))["BATCHES_SLOWER"]
    assert (item.severity, item.certainty, item.batch_id) == ("attention", "inferred", 39)
    assert "has not grown in proportion" in item.sentence


def test_input_that_grew_as_well_is_said(tmp_path: Path) -> None:
    item = found(timed(tmp_path, [3 + 0.5 * n for n in range(40)], grow=5))["BATCHES_SLOWER"]
    assert "The input per batch has grown" in item.sentence


@pytest.mark.parametrize(
    "seconds",
    [
        [3 + 0.5 * n for n in range(20)],  # too few
        [0.1 + 0.02 * n for n in range(40)],  # nobody's trouble
        [10, 30, 12, 29] * 10,  # noise
        [3] * 15 + [40] * 5 + [3] * 20,  # a busy hour
        [40] * 20 + [5] * 20,  # faster
    ],
)
def test_few_short_noisy_or_passing_durations_are_no_trend(tmp_path: Path, seconds: list[float]) -> None:
    assert "BATCHES_SLOWER" not in found(timed(tmp_path, seconds))


def test_batches_at_the_rate_limit_without_a_pause_may_be_falling_behind(tmp_path: Path) -> None:
    item = found(timed(tmp_path, [30] * 60, gap=31))["SOURCE_LAG"]
    assert "20 offsets" in item.sentence and "may be falling behind" in item.sentence


@pytest.mark.parametrize(("gap", "grow", "count"), [(120, 0, 60), (31, 0.4, 60), (31, 0, 30)])
def test_pauses_changing_amounts_and_few_batches_are_no_lag(
    tmp_path: Path, gap: float, grow: float, count: int
) -> None:
    assert "SOURCE_LAG" not in found(timed(tmp_path, [30] * count, gap=gap, grow=grow))


def asked(latest: int) -> ConnectorAnswers:
    broker = BrokerAnswer(
        servers="b:9092",
        asked_at_ms=0,
        seconds=0.1,
        requests=1,
        isolation="read_uncommitted",
        topics={"orders": BrokerTopic("orders", "id", (0, 1))},
        partitions={("orders", 0): BrokerPartition(0, latest), ("orders", 1): BrokerPartition(0, latest)},
    )
    return ConnectorAnswers(brokers={"0": broker})


@pytest.mark.parametrize(("waiting", "is_behind"), [(600, True), (100, False)])
def test_the_broker_says_how_far_a_source_is_behind(tmp_path: Path, waiting: int, is_behind: bool) -> None:
    ck = timed(tmp_path, [3] * 10)
    report = findings(ck, connectors=asked(100 + waiting))
    assert ("SOURCE_LAG" in {item.id for item in report.findings}) == is_behind


# Size and place


def test_the_size_by_kind_and_what_is_removed_next(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(copy_sample("purged-to-newest-10", tmp_path)))
    size = checkpoint_size(ck, with_state=True)
    assert size.logs.files == 22 and size.state is not None and size.sources is not None
    assert size.state.size_bytes and size.sources.size_bytes
    assert (size.first_batch, size.last_batch, size.removed_next) == (15, 25, 15)
    assert "When batch 26 is committed, Spark removes offsets/15 and commits/15" in size.retention


def test_the_size_of_the_quick_level_costs_no_request(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(copy_sample("purged-to-newest-10", tmp_path)))
    before = ck.door.requests
    size = checkpoint_size(ck, with_state=False)
    assert size.state is None and size.sources is None and ck.door.requests == before


def test_nothing_is_removed_before_the_logs_are_full(tmp_path: Path) -> None:
    size = checkpoint_size(checkpoint(tmp_path, behind(10, 9, 8)), with_state=True)
    assert size.removed_next is None and "removes" not in size.retention


def test_very_many_batches_are_a_note(tmp_path: Path) -> None:
    checkpoint(tmp_path, behind(*range(30, 10, -1)))
    ck = Checkpoint.open(str(tmp_path), Settings(long_retention_batches=19))
    assert found(ck)["LONG_RETENTION"].severity == "note"
    assert "LONG_RETENTION" not in found(Checkpoint.open(str(tmp_path)))


@pytest.mark.parametrize(
    ("url", "is_temporary"),
    [
        ("/tmp/checkpoints/orders", True),
        ("dbfs:/tmp/orders", True),
        ("/dbfs/tmp/orders", True),
        ("hdfs://namenode:8020/tmp/orders", True),
        ("/local_disk0/orders", True),
        ("/data/temporary-0f8fad5b-d9cb-469f-a165-70867728950e", True),
        ("/data/tmp/orders", False),
        ("/var/tmp/orders", False),
        ("s3://bucket/tmp/orders", False),
        ("/tmporary/orders", False),
    ],
)
def test_places_for_temporary_files(url: str, is_temporary: bool) -> None:
    assert is_temporary_place(url) == is_temporary


def test_a_checkpoint_inside_the_data_of_its_sink_is_named(tmp_path: Path) -> None:
    checkpoint(tmp_path / "out" / "ck", behind(10, 9, 8))
    inside = Checkpoint.open(str(tmp_path / "out" / "ck"))
    place = ConnectorAnswers(sink=parse_location(str(tmp_path / "out")))
    ids = {item.id for item in findings(inside, connectors=place).findings}
    assert "CHECKPOINT_INSIDE_DATA" in ids
    checkpoint(tmp_path / "out" / "_checkpoints" / "ck", behind(10, 9, 8))
    beside = Checkpoint.open(str(tmp_path / "out" / "_checkpoints" / "ck"))
    ids = {item.id for item in findings(beside, connectors=place).findings}
    assert "CHECKPOINT_INSIDE_DATA" not in ids


# Real checkpoints and the exit status


def test_samples_that_do_not_do_well_say_so(tmp_path: Path) -> None:
    held = found(Checkpoint.open(str(copy_sample("join-watermark-held-back", tmp_path / "held"))))
    assert set(held) == {"WATERMARK_STALLED"} and "source 1 (file" in held["WATERMARK_STALLED"].sentence
    name = "windowed-aggregation-hot-partition"
    hot = found(Checkpoint.open(str(copy_sample(name, tmp_path / "hot"))))
    assert set(hot) == {"STATE_SKEWED"} and "20 times the median" in hot["STATE_SKEWED"].sentence


@pytest.mark.parametrize(
    ("severity", "status"), [("attention", 1), ("data_risk", 0), ("blocks_restart", 0), (None, 0)]
)
def test_the_exit_status_follows_the_chosen_severity(severity: str | None, status: int) -> None:
    root = str(SAMPLES / "join-watermark-held-back" / "checkpoint")
    assert main(["check", root, *(["--fail-on", severity] if severity else [])]) == status


def test_an_unknown_severity_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    root = str(SAMPLES / "join-watermark-held-back" / "checkpoint")
    assert main(["check", root, "--fail-on", "note"]) == 2
    assert "--fail-on takes one of attention, data_risk, blocks_restart, not note." in capsys.readouterr().err
