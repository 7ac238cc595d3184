"""Every other kind of source: the example line of the format reference, its partitions, its advance and its
start position."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from core.checkpoint import Checkpoint
from core.checkpoint.model import FileLogEntry
from core.checkpoint.sources.base import SourceContext
from core.checkpoint.sources.counters import COUNTER, MEMORY, RATE, RATE_CONTINUOUS, RATE_MICRO_BATCH, SOCKET
from core.checkpoint.sources.documents import COSMOS, MONGODB
from core.checkpoint.sources.files import AUTO_LOADER, FILES
from core.checkpoint.sources.kinesis import KINESIS, KINESIS_AWSLABS, KINESIS_DATABRICKS
from core.checkpoint.sources.messaging import PUBSUB, PUBSUB_LITE, PULSAR, REDIS
from core.checkpoint.sources.other import PYTHON, SEQUENTIAL_UNION, UNKNOWN
from core.checkpoint.sources.registry import KIND_NAMES, KINDS, kind_named, kind_of, parse
from core.checkpoint.sources.tables import HUDI, ICEBERG, PAIMON
from tests.support.build import corpus_entry

NOTHING = SourceContext("0")
SEQUENCE = "49590338271490256608559692538361571095921575989136588898"
QUBOLE = f'{{"iteratorType":"AFTER_SEQUENCE_NUMBER","iteratorPosition":"{SEQUENCE}"}}'
AWSLABS = QUBOLE[:-1] + ',"subSequenceNumber":"-1","isLast":"true"}'

# One line per row of the table in the format reference (Kafka and Delta have their own tests), with the
# partitions a user sees.
LINES = [
    ('{"logOffset":5}', "file", {"log id": 5}),
    ('{"offset":10,"timestamp":2000}', "rate_micro_batch", {"row": 10}),
    ('{"offset": 4}', "python", {"offset": 4}),
    ('{"p0": 10, "p1": 20}', "python", {"p0": 10, "p1": 20}),
    (
        '{"seqNum":5,"sourceVersion":3,"lastBackfillStartTimeMs":1778863978314,"lastBackfillFinishTimeMs":1778863980578,'
        '"lastInputPath":"abfss://in/x"}',
        "auto_loader",
        {"sequence number": 5},
    ),
    (
        '{"version":1,"snapshot_id":6394,"position":4,"scan_all_files":false}',
        "iceberg",
        {"files in snapshot": 4},
    ),
    ('{"snapshotId":3,"index":1,"scanSnapshot":false}', "paimon", {"snapshot": 3}),
    ('{"snapshotId":3,"index":1,"scanSnapshot":false,"totalSplits":2}', "paimon", {"snapshot": 3}),
    ('{"commitTime":"20240102030405678"}', "hudi", {"instant": 20240102030405678}),
    (f'{{"metadata":{{"batchId":"3","streamName":"s"}},"shardId-000000000000":{QUBOLE}}}', "kinesis", {}),
    (
        f'{{"metadata":{{"batchId":"3","streamName":"s"}},"shardId-000000000000":{AWSLABS}}}',
        "kinesis_awslabs",
        {},
    ),
    (
        f'[{{"shard":{{"stream":"s","shardId":"shardId-000000000000"}},"firstSeqNum":{SEQUENCE},"lastSeqNum":{SEQUENCE},'
        '"closed":false,"msBehindLatest":"231","lastRecordSeqNum":null}]',
        "kinesis_databricks",
        {},
    ),
    ('{"sourceVersion":1,"seqNum":9,"fetchEpoch":2}', "pubsub", {"fetch": 9}),
    ('{"0":100,"1":57}', "pubsub_lite", {"0": 100, "1": 57}),
    (
        '{"persistent://public/default/t-partition-0":[8,11,16,101,24,1,32,1]}',
        "pulsar",
        {"persistent://public/default/t-partition-0": 101},
    ),
    ('{"version": 1, "offset": {"$timestamp": {"t": 5000, "i": 0}}}', "mongodb", {"cluster time (s)": 5000}),
    ('{"version": 1, "offset": {"_data": "8263"}}', "mongodb", {}),
    ('{"_data":"8263"}', "mongodb", {}),
    ('{"id":"spark.cosmos.changeFeed.offset.v1","state":"eyJWIjoxfQ=="}', "cosmos", {}),
    (
        '{"id":"azure_cosmos_spark.com.azure.cosmos.spark.changeFeed.offset.v1","state":"eyJWIjoxfQ=="}',
        "cosmos",
        {},
    ),
    (
        '{"offsets":{"my-stream":{"groupName":"redis-source","offset":"1543674099961-0"}}}',
        "redis",
        {"my-stream": 1543674099961},
    ),
    (
        '{"0":{"value":18,"runTimeMs":1795177509955},"1":{"value":19,"runTimeMs":1795177509955}}',
        "rate_continuous",
        {"0": 18, "1": 19},
    ),
    (
        '{"activeSourceName":"live","allSourceNames":["history","live"],"completedSourceNames":["history"]}',
        "sequential_union",
        {"sources completed": 1},
    ),
    ("14", "counter", {"position": 14}),
    ("-1", "counter", {"position": -1}),
    ("1700000000000", "counter", {"position": 1700000000000}),
    ('{"a":{"b":[1,2]},"c":"x"}', "unknown", {"a.b.0": 1, "a.b.1": 2}),
    ("not json at all", "unknown", {}),
    ("", "unknown", {}),
    ("null", "unknown", {}),
    ("true", "unknown", {}),
    ("1.5", "unknown", {}),
    ("99999999999999999999999", "unknown", {}),
]


@pytest.mark.parametrize(
    ("text", "name", "positions"), LINES, ids=[f"{name}-{i}" for i, (_, name, _) in enumerate(LINES)]
)
def test_the_line_is_recognised_and_its_partitions_are_named(
    text: str, name: str, positions: dict[str, int]
) -> None:
    kind = kind_of([text])
    assert kind.name == name
    assert dict(kind.positions(parse(text))) == positions
    assert set(kind.positions(parse(text))) <= set(kind.partitions(parse(text)))


@pytest.mark.parametrize(("text", "name"), [(text, name) for text, name, _ in LINES if name != "unknown"])
def test_every_recognised_line_has_a_description_that_is_not_the_refusal(text: str, name: str) -> None:
    words = kind_of([text]).describe(parse(text))
    assert words
    assert not words.startswith("Not a")
    assert "\n" not in words


def test_names_are_unique_and_lead_back_to_their_kind() -> None:
    assert len(set(KIND_NAMES)) == len(KINDS)
    for kind in KINDS:
        assert kind_named(kind.name) is kind
        assert kind.label
    assert kind_named("no such kind") is None


# Which text decides


def test_the_newest_text_decides_when_kinds_are_mixed() -> None:
    assert kind_of(['{"logOffset":5}', '{"orders":{"0":5}}']).name == "file"
    assert kind_of([None, '{"orders":{"0":5}}', '{"logOffset":5}']).name == "kafka"


@pytest.mark.parametrize("edited", ["5", "[]", "true", '{"logOffset":5}', "null", "{", "{}"])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_one_edited_text_does_not_hide_what_the_source_is(edited: str, at: int) -> None:
    texts = ['{"orders":{"0":7}}', '{"orders":{"0":6}}']
    assert kind_of([*texts[:at], edited, *texts[at:]]).name == "kafka"


def test_the_newest_text_of_a_checkpoint_is_the_last_one(tmp_path: Path) -> None:
    offsets = tmp_path / "offsets"
    offsets.mkdir()
    for batch_id, text in enumerate(['{"orders":{"0":5}}', '{"logOffset":5}']):
        (offsets / str(batch_id)).write_text(f"v1\n{{}}\n{text}")
    assert Checkpoint.open(str(tmp_path)).sources[0].kind is FILES


def test_without_any_text_the_files_beside_the_log_decide() -> None:
    assert kind_of([None, None]).name == "unknown"
    assert kind_of([], SourceContext("0", initial='{"orders":{"0":0}}')).name == "kafka"
    assert kind_of([], SourceContext("0", initial="1795177501878")) is RATE
    assert kind_of([], SourceContext("0", file_log=(FileLogEntry("file:///a", 1, 0),))) is FILES


def test_a_bare_number_is_a_rate_source_only_with_its_start_time_beside_it() -> None:
    assert kind_of(["14"]) is COUNTER
    assert kind_of(["14"], SourceContext("0", initial="1795177501878")) is RATE
    assert kind_of(["14"], SourceContext("0", initial='{"orders":{"0":0}}')) is COUNTER


def test_a_bare_number_beside_a_file_source_log_is_an_old_file_source() -> None:
    log = (FileLogEntry("file:///a", 1, 0),)
    assert kind_of(["345"], SourceContext("0", file_log=log)) is FILES
    assert (
        kind_of(["345"], SourceContext("0", initial='{"path":"file:///a","timestamp":1,"batchId":0}'))
        is FILES
    )
    assert FILES.positions(345) == {"log id": 345}


def test_spaces_of_json_dumps_tell_a_python_source_from_spark_own_forms() -> None:
    assert kind_of(['{"0": 100}']) is PYTHON
    assert kind_of(['{"offset": 10, "timestamp": 2000}']) is PYTHON
    assert kind_of(['{"logOffset": 0}']) is FILES  # a seeded checkpoint written by hand
    assert kind_of(['{"anything":1}']) is UNKNOWN


# Files


def _log(*counts: int) -> tuple[FileLogEntry, ...]:
    return tuple(
        FileLogEntry(f"file:///in/{i}-{n}", 1, i) for i, count in enumerate(counts) for n in range(count)
    )


def test_files_are_counted_from_a_complete_source_log() -> None:
    context = SourceContext("0", file_log=_log(2, 3, 1), file_log_complete=True)
    advance = FILES.advance({"logOffset": 0}, {"logOffset": 2}, context)
    assert (advance.amount, advance.unit, advance.bound) == (4, "files", "exact")
    assert FILES.advance({"logOffset": -1}, {"logOffset": 0}, context).amount == 2
    assert FILES.advance({"logOffset": 1}, {"logOffset": 1}, context).amount == 0


def test_log_ids_are_counted_when_the_source_log_is_not_complete() -> None:
    advance = FILES.advance({"logOffset": 0}, {"logOffset": 2}, SourceContext("0", file_log=_log(0, 3)))
    assert (advance.amount, advance.unit, advance.bound) == (2, "log ids", "estimate")


def test_a_file_source_starts_before_its_first_log_entry() -> None:
    assert FILES.first_start(NOTHING) == {"logOffset": -1}


def test_a_file_source_has_no_start_option_but_can_be_seeded() -> None:
    context = SourceContext("0", file_log=_log(2, 3, 1), file_log_complete=True)
    point = FILES.resume({"logOffset": 1}, context)
    assert not point.exact
    assert point.options is None
    assert point.seed == "file_source_log"
    assert "of 5 files already read" in point.repeats


def test_a_file_source_that_read_nothing_needs_no_start_option() -> None:
    point = FILES.resume({"logOffset": -1}, NOTHING)
    assert point.exact
    assert point.options == {}


def test_auto_loader_needs_a_time_from_its_own_file_list() -> None:
    assert (
        AUTO_LOADER.advance(
            {"seqNum": 5, "sourceVersion": 3}, {"seqNum": 9, "sourceVersion": 3}, NOTHING
        ).amount
        == 4
    )
    point = AUTO_LOADER.resume({"seqNum": 5, "sourceVersion": 3}, NOTHING)
    assert point.options is None
    assert point.certainty == "needs_input"
    assert "cloud_files_state" in point.note
    assert "modifiedAfter" in point.note


# Spark's test sources


@pytest.mark.parametrize(
    ("kind", "unit", "bound"),
    [(RATE, "seconds", "estimate"), (SOCKET, "lines", "exact"), (MEMORY, "blocks", "estimate")],
)
def test_a_number_moves_in_the_unit_of_its_source(kind: Any, unit: str, bound: str) -> None:
    advance = kind.advance(4, 14, NOTHING)
    assert (advance.amount, advance.unit, advance.bound) == (10, unit, bound)


@pytest.mark.parametrize("kind", [RATE, SOCKET, MEMORY])
def test_test_sources_are_refused_with_the_reason(kind: Any) -> None:
    point = kind.resume(14, NOTHING)
    assert not point.exact
    assert point.options is None
    assert "start option" in point.note


def test_a_rate_source_can_be_transplanted_with_its_start_time() -> None:
    point = RATE.resume(14, NOTHING)
    assert point.seed == "transplant"
    assert "sources/<n>/0" in point.note


def test_an_unexplained_number_says_that_it_could_be_several_sources() -> None:
    point = COUNTER.resume(14, NOTHING)
    assert point.options is None
    assert point.certainty == "needs_input"
    for word in ("rate", "socket", "memory", "Neo4j"):
        assert word in point.note


def test_a_number_that_goes_down_has_no_amount_and_a_note() -> None:
    advance = COUNTER.advance(14, 4, NOTHING)
    assert advance.amount is None
    assert "from 14 to 4" in advance.note


def test_rate_micro_batch_counts_rows_and_can_be_transplanted() -> None:
    advance = RATE_MICRO_BATCH.advance(
        {"offset": 10, "timestamp": 2000}, {"offset": 30, "timestamp": 4000}, NOTHING
    )
    assert (advance.amount, advance.unit, advance.bound) == (20, "rows", "exact")
    point = RATE_MICRO_BATCH.resume({"offset": 10, "timestamp": 2000}, NOTHING)
    assert point.options is None
    assert point.seed == "transplant"


def test_continuous_rate_divides_the_values_by_the_partitions() -> None:
    start = {"0": {"value": 8, "runTimeMs": 1}, "1": {"value": 9, "runTimeMs": 1}}
    end = {"0": {"value": 18, "runTimeMs": 2}, "1": {"value": 19, "runTimeMs": 2}}
    advance = RATE_CONTINUOUS.advance(start, end, NOTHING)
    assert (advance.amount, dict(advance.by_partition)) == (10, {"0": 5, "1": 5})


# Tables


def test_iceberg_counts_files_inside_one_snapshot_only() -> None:
    one, two = (
        '{"version":1,"snapshot_id":7,"position":1,"scan_all_files":false}',
        '{"snapshot_id":7,"position":4,"scan_all_files":false}',
    )
    assert ICEBERG.advance(parse(one), parse(two), NOTHING).amount == 3
    other = '{"version":1,"snapshot_id":3511854070499474754,"position":0,"scan_all_files":false}'
    advance = ICEBERG.advance(parse(one), parse(other), NOTHING)
    assert advance.amount is None
    assert "3511854070499474754" in advance.note


def test_iceberg_has_no_exact_option_without_the_commit_times() -> None:
    taken = ICEBERG.resume(
        parse('{"version":1,"snapshot_id":96825684900093069,"position":1,"scan_all_files":false}'), NOTHING
    )
    assert taken.options is None
    assert "stream-from-timestamp" in taken.note
    assert "+ 1 ms" in taken.note
    untouched = ICEBERG.resume(
        parse('{"version":1,"snapshot_id":7,"position":0,"scan_all_files":false}'), NOTHING
    )
    assert "+ 1 ms" not in untouched.note
    assert "commit time of snapshot 7" in untouched.note
    empty = ICEBERG.resume(
        parse('{"version":1,"snapshot_id":-1,"position":-1,"scan_all_files":false}'), NOTHING
    )
    assert "Nothing was read" in empty.note


def test_paimon_counts_splits_inside_a_snapshot_and_snapshots_else() -> None:
    def at(snapshot: int, index: int) -> dict[str, object]:
        return {"snapshotId": snapshot, "index": index, "scanSnapshot": False}

    inside, across = PAIMON.advance(at(3, -1), at(3, 1), NOTHING), PAIMON.advance(at(3, 1), at(5, 0), NOTHING)
    assert (inside.amount, inside.unit) == (2, "splits")
    assert (across.amount, across.unit) == (2, "snapshots")
    assert PAIMON.resume(at(3, 1), NOTHING).options is None


def test_hudi_starts_after_an_instant() -> None:
    assert HUDI.resume({"commitTime": "20240102030405678"}, NOTHING).options == {
        "hoodie.datasource.streaming.startOffset": "20240102030405678"
    }
    assert HUDI.describe({"commitTime": "00000000000000"}) == "Before the first commit"
    assert HUDI.advance({"commitTime": "1"}, {"commitTime": "2"}, NOTHING).amount is None


# Message systems


def test_kinesis_sequence_numbers_keep_all_their_digits() -> None:
    text = LINES[[name for _, name, _ in LINES].index("kinesis_databricks")][0]
    assert SEQUENCE in KINESIS_DATABRICKS.describe(parse(text))
    assert KINESIS_DATABRICKS.partitions(parse(text)) == ("shardId-000000000000",)


def test_kinesis_tells_how_many_shards_moved_and_counts_nothing() -> None:
    def at(*numbers: str) -> dict[str, object]:
        shards: dict[str, object] = {
            f"shardId-{i}": {"iteratorType": "T", "iteratorPosition": n} for i, n in enumerate(numbers)
        }
        return {"metadata": {"batchId": "3", "streamName": "s"}, **shards}

    advance = KINESIS.advance(at("1", "2"), at("1", "3"), NOTHING)
    assert advance.amount is None
    assert advance.note.startswith("1 of 2 shards moved")
    assert dict(advance.by_partition) == {"shardId-0": None, "shardId-1": None}


@pytest.mark.parametrize("kind", [KINESIS, KINESIS_AWSLABS, KINESIS_DATABRICKS])
def test_kinesis_has_no_start_per_shard(kind: Any) -> None:
    text = next(text for text, name, _ in LINES if name == kind.name)
    point = kind.resume(parse(text), NOTHING)
    assert point.options is None
    assert "no start per shard" in point.note


def test_pubsub_counts_fetches_and_has_no_position() -> None:
    assert (
        PUBSUB.advance({"seqNum": 4, "fetchEpoch": 2}, {"seqNum": 9, "fetchEpoch": 2}, NOTHING).unit
        == "fetches"
    )
    assert "it is not a position" in PUBSUB.resume({"seqNum": 9, "fetchEpoch": 2}, NOTHING).note


def test_pubsub_lite_counts_messages_and_names_the_next_ones() -> None:
    advance = PUBSUB_LITE.advance({"0": 90, "1": 57}, {"0": 100, "1": 57}, NOTHING)
    assert (advance.amount, advance.unit) == (10, "messages")
    assert PUBSUB_LITE.advance({"0": 90}, {"0": 100, "1": 57}, NOTHING).amount is None
    assert "0: 101 and 1: 0" in PUBSUB_LITE.resume({"0": 100, "1": -1}, NOTHING).note


def test_pulsar_entries_are_counted_inside_one_ledger() -> None:
    def at(ledger: int, entry: int) -> dict[str, list[int]]:
        return {"persistent://p/d/t": [8, ledger, 16, entry, 24, 1, 32, 1]}

    same, other = (
        PULSAR.advance(at(11, 90), at(11, 101), NOTHING),
        PULSAR.advance(at(11, 90), at(12, 3), NOTHING),
    )
    assert (same.amount, same.unit) == (11, "entries")
    assert other.amount is None
    assert "ledger" in other.note


def test_pulsar_message_ids_with_long_and_negative_numbers_are_decoded() -> None:
    earliest = [8, *[-1] * 9, 1, 16, *[-1] * 9, 1]
    assert dict(PULSAR.positions({"t": earliest})) == {"t": -1}
    assert dict(PULSAR.positions({"t": [8, 11, 16, -27, 1]})) == {"t": 229}  # 0xE5 0x01
    assert dict(PULSAR.positions({"t": [8, 11, 16]})) == {}
    assert dict(PULSAR.positions({"t": [-1] * 30})) == {}


def test_pulsar_start_repeats_the_last_message_and_says_so() -> None:
    point = PULSAR.resume({"t": [8, 11, 16, 101]}, NOTHING)
    assert not point.exact
    assert point.options == {"startingOffsets": '{"t":[8,11,16,101]}'}
    assert "last message" in point.repeats


def test_redis_streams_start_from_the_same_json() -> None:
    offset = parse('{"offsets":{"my-stream":{"groupName":"redis-source","offset":"1543674099961-0"}}}')
    later = parse('{"offsets":{"my-stream":{"groupName":"redis-source","offset":"1543674100000-3"}}}')
    assert REDIS.advance(offset, later, NOTHING).amount == 39
    point = REDIS.resume(offset, NOTHING)
    assert point.options == {
        "stream.offsets": '{"offsets":{"my-stream":{"groupName":"redis-source","offset":"1543674099961-0"}}}'
    }
    assert point.certainty == "inferred"


# Document stores


def test_mongodb_starts_at_a_cluster_time_and_not_at_a_token() -> None:
    point = MONGODB.resume(parse('{"version": 1, "offset": {"$timestamp": {"t": 5000, "i": 0}}}'), NOTHING)
    assert point.options is not None
    assert json.loads(point.options["change.stream.startup.mode.timestamp.start.at.operation.time"]) == {
        "$timestamp": {"t": 5000, "i": 0}
    }
    assert point.options["change.stream.startup.mode"] == "timestamp"
    assert MONGODB.resume(parse('{"_data":"8263"}'), NOTHING).options is None


def test_cosmos_ranges_are_decoded_from_the_state() -> None:
    def at(first: int, second: int) -> dict[str, str]:
        ranges = [
            {"token": f'"{first}"', "range": {"min": "", "max": "7F"}},
            {"token": f'"{second}"', "range": {"min": "7F", "max": "FF"}},
        ]
        state = json.dumps({"V": 1, "Mode": "INCREMENTAL", "Continuation": {"V": 1, "Continuation": ranges}})
        return {"id": "spark.cosmos.changeFeed.offset.v1", "state": base64.b64encode(state.encode()).decode()}

    assert dict(COSMOS.positions(at(10, 20))) == {"0..7F": 10, "7F..FF": 20}
    assert COSMOS.advance(at(10, 20), at(15, 21), NOTHING).amount == 6
    assert COSMOS.resume(at(10, 20), NOTHING).options is None


# Anything else


def test_a_sequential_union_names_the_active_and_the_completed_sources() -> None:
    def at(active: str, done: list[str]) -> dict[str, object]:
        return {"activeSourceName": active, "allSourceNames": ["a", "b", "c"], "completedSourceNames": done}

    advance = SEQUENTIAL_UNION.advance(at("a", []), at("c", ["a", "b"]), NOTHING)
    assert (advance.amount, advance.unit) == (2, "sources")
    assert "a and b" in advance.note
    assert SEQUENTIAL_UNION.describe(at("c", ["a", "b"])) == "Reading c; done: a and b"
    assert SEQUENTIAL_UNION.resume(at("c", ["a", "b"]), NOTHING).options is None


def test_numbers_of_an_unknown_source_are_followed_by_their_path() -> None:
    start, end = parse('{"a":{"b":[1,2]},"a.b.0":9}'), parse('{"a":{"b":[4,1]},"a.b.0":9}')
    advance = UNKNOWN.advance(start, end, NOTHING)
    assert advance.amount is None
    assert dict(advance.by_partition) == {"a.b.0": 3, "a.b.1": None, '["a.b.0"]': 0}
    assert "a.b.1 (from 2 to 1)" in advance.note


def test_a_python_source_with_one_number_has_a_total_and_with_several_has_none() -> None:
    assert PYTHON.advance({"offset": 4}, {"offset": 9}, NOTHING).amount == 5
    several = PYTHON.advance({"p0": 10, "p1": 20}, {"p0": 11, "p1": 25}, NOTHING)
    assert several.amount is None
    assert dict(several.by_partition) == {"p0": 1, "p1": 5}


def test_an_unknown_source_is_shown_and_refused() -> None:
    point = UNKNOWN.resume(parse('{"lsn":"0/16B3748"}'), NOTHING)
    assert point.options is None
    assert "0/16B3748" in point.note


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("kafka-two-topics", "kafka"),
        ("kafka-aggregation-watermark", "kafka"),
        ("kafka-async-progress", "kafka"),
        ("kafka-3.x-lucenerdd", "kafka"),
        ("kafka-named-source-offset-log-v2", "kafka"),
        ("delta-to-delta", "delta"),
        ("delta-initial-snapshot-midway", "delta"),
        ("delta-schema-tracking", "delta"),
        ("iceberg-to-iceberg", "iceberg"),
        ("s3-rocksdb-changelog-killed", "rate_micro_batch"),
        ("spark-2.2-stateful-inflight", "counter"),
        ("spark-4.0.0-hdfs-snapshots", "counter"),
    ],
)
def test_every_offset_line_of_a_real_checkpoint_is_recognised(entry: str, name: str) -> None:
    files = corpus_entry(entry)["files"]
    entries = sorted(
        (key for key in files if key.startswith("offsets/") and key[8:].isdecimal()),
        key=lambda key: int(key[8:]),
    )
    kind = kind_named(name)
    assert kind is not None
    before: dict[int, object] = {}
    for key in entries:
        version, _, *lines = files[key]["text"].splitlines()
        for at, line in enumerate(lines):
            text = line.partition(":")[2] if version == "v2" else line
            assert kind_of([text]) is kind
            offset = parse(text)
            assert kind.positions(offset)
            advance = kind.advance(before.get(at), offset, NOTHING)
            if at in before and name != "iceberg":
                assert advance.amount is not None
                assert advance.amount >= 0
            before[at] = offset
