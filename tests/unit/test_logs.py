"""The formats of metadata, offset log and commit log, and each kind of damage to them."""

from __future__ import annotations

import json

import pytest

from core.checkpoint.conf import ConfPool, conf_changes
from core.checkpoint.logs import UuidTrouble, java_uuid_trouble, parse_commit, parse_metadata, parse_offset
from core.checkpoint.model import CommitEntry, OffsetEntry
from core.messages import say
from core.sparklogs.evidence import RAW_LIMIT_BYTES, Problem
from tests.support.build import CONF_4_3, QUERY_ID, commit_text, offset_text


def offset(text: str | bytes) -> OffsetEntry:
    parsed = parse_offset(text.encode() if isinstance(text, str) else text, 5, "offsets/5", ConfPool())
    assert parsed.entry is not None, parsed.problems
    assert parsed.problems == ()
    return parsed.entry


def offset_problem(text: str | bytes) -> Problem:
    """The problem of a file that gives no entry."""
    parsed = parse_offset(text.encode() if isinstance(text, str) else text, 5, "offsets/5", ConfPool())
    assert parsed.entry is None
    (problem,) = parsed.problems
    assert problem.evidence.path == "offsets/5"
    assert problem.reason.startswith("offsets/5")
    assert problem.reason.endswith(".")
    return problem


def line_problems(text: str) -> tuple[OffsetEntry, list[Problem]]:
    """The entry and the problems of a file that can be read in part."""
    parsed = parse_offset(text.encode(), 5, "offsets/5", ConfPool())
    assert parsed.entry is not None
    return parsed.entry, list(parsed.problems)


def commit(text: str | bytes) -> CommitEntry:
    entry = parse_commit(text.encode() if isinstance(text, str) else text, 5, "commits/5")
    assert isinstance(entry, CommitEntry), entry
    return entry


def commit_problem(text: str | bytes) -> Problem:
    entry = parse_commit(text.encode() if isinstance(text, str) else text, 5, "commits/5")
    assert isinstance(entry, Problem)
    assert entry.reason.startswith("commits/5")
    return entry


# metadata


def test_metadata_holds_the_query_id() -> None:
    assert parse_metadata(f'{{"id":"{QUERY_ID}"}}'.encode()) == (QUERY_ID, None)


def test_metadata_may_end_with_a_line_break() -> None:
    assert parse_metadata(f'{{"id":"{QUERY_ID}"}}\r\n'.encode()) == (QUERY_ID, None)


@pytest.mark.parametrize(
    ("data", "condition"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b'{"id":"730aa211-41ff', "truncated"),
        (b'{"id" "x"}', "bad_json"),
        (b'["x"]', "bad_json"),
        (b'{"name":"x"}', "bad_json"),
        (b'{"id":true}', "bad_json"),
        (b"null", "bad_json"),
        (b"\xff\xfe\x00{", "not_text"),
    ],
)
def test_damaged_metadata_gives_a_problem_and_no_query_id(data: bytes, condition: str) -> None:
    query_id, problem = parse_metadata(data)
    assert query_id is None
    assert problem is not None
    assert (problem.condition, problem.evidence.path, problem.raw) == (condition, "metadata", data)


def test_a_query_id_that_is_no_uuid_is_shown_with_a_problem() -> None:
    query_id, problem = parse_metadata(b'{"id":"my-query"}')
    assert query_id == "my-query"
    assert problem is not None
    assert problem.clause == say("logs.query_id_no_uuid")


def test_what_follows_the_object_in_metadata_is_not_looked_at() -> None:
    for junk in ("junk", "}", '{"id":"other"}', "\n# by hand\n"):
        assert parse_metadata(f'{{"id":"{QUERY_ID}"}}{junk}'.encode()) == (QUERY_ID, None)


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        (QUERY_ID, None),
        ("1-2-3-4-5", None),
        ("7", UuidTrouble("no_groups")),
        (QUERY_ID.replace("-", ""), UuidTrouble("no_groups")),
        (QUERY_ID + "0", UuidTrouble("too_long")),
        (QUERY_ID[:-1] + "y", UuidTrouble("no_number", QUERY_ID[-12:-1] + "y", 11)),
        ("1--3-4-5", UuidTrouble("no_number")),
    ],
)
def test_a_uuid_is_what_java_takes_for_one(text: str, trouble: UuidTrouble | None) -> None:
    assert java_uuid_trouble(text) == trouble


# offsets, version 1


def test_version_1_names_sources_by_position() -> None:
    entry = offset(offset_text(['{"orders":{"0":5}}', "14"], watermark_ms=9000, timestamp_ms=1719290985871))
    assert (entry.format_version, entry.watermark_ms, entry.timestamp_ms) == (1, 9000, 1719290985871)
    assert [(s.key, s.raw, str(s.evidence)) for s in entry.sources] == [
        ("0", '{"orders":{"0":5}}', "offsets/5:3"),
        ("1", "14", "offsets/5:4"),
    ]
    assert dict(entry.conf) == CONF_4_3
    assert dict(entry.extra) == {}


def test_a_dash_is_a_source_without_an_offset() -> None:
    assert [s.raw for s in offset(offset_text(['{"logOffset":3}', "-"])).sources] == ['{"logOffset":3}', None]


def test_spark_2_1_entry_has_no_conf() -> None:
    entry = offset('v1\n{"batchWatermarkMs":0,"batchTimestampMs":1489180207737}\n0')
    assert (entry.watermark_ms, entry.timestamp_ms, dict(entry.conf)) == (0, 1489180207737, {})


def test_an_empty_metadata_line_is_legal_in_version_1() -> None:
    entry = offset('v1\n\n{"0":{"value":18,"runTimeMs":1795177509955}}')
    assert (entry.timestamp_ms, entry.watermark_ms, dict(entry.conf), len(entry.sources)) == (
        None,
        None,
        {},
        1,
    )


def test_unknown_metadata_fields_are_kept() -> None:
    entry = offset('v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{},"fancy":{"a":1}}\n0')
    assert dict(entry.extra) == {"fancy": {"a": 1}}


def test_metadata_values_of_a_wrong_type_are_kept_and_count_as_unknown() -> None:
    entry = offset('v1\n{"batchWatermarkMs":9.5,"batchTimestampMs":null,"conf":{"a":1}}\n0')
    assert (entry.watermark_ms, entry.timestamp_ms) == (None, None)
    assert dict(entry.extra) == {"batchWatermarkMs": 9.5, "batchTimestampMs": None}
    assert dict(entry.conf) == {"a": "1"}


@pytest.mark.parametrize("value", ['"9"', "true", "[]", "{}"])
def test_a_time_that_is_no_number_makes_the_file_unreadable_as_in_spark(value: str) -> None:
    problem = offset_problem(f'v1\n{{"batchWatermarkMs":{value},"conf":{{}}}}\n0')
    assert (problem.condition, problem.evidence.line) == ("bad_shape", 2)
    assert problem.clause == "has batchWatermarkMs that is not a number"
    assert commit_problem(f'v1\n{{"nextBatchWatermarkMs":{value}}}').condition == "bad_shape"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_last_line_may_have_an_end(end: str) -> None:
    assert [s.raw for s in offset(offset_text(["7"]) + end).sources] == ["7"]


@pytest.mark.parametrize(
    ("end", "count"), [("\n\n", 1), ("\n\n\n", 2), ("\n  ", 1), ("\n  \n", 1), ("\r\n\r\n", 1)]
)
def test_empty_lines_at_the_end_are_sources_without_an_offset_to_spark(end: str, count: int) -> None:
    entry, problems = line_problems(offset_text(["7"]) + end)
    assert [s.raw for s in entry.sources] == ["7"] + [""] * count
    assert [str(p.evidence) for p in problems] == [f"offsets/5:{4 + i}" for i in range(count)]


@pytest.mark.parametrize("line", ['{"logOffset":3}', '{"t":{"0":5}}', '{ "logOffset" : 3 }'])
def test_what_follows_an_offset_of_files_or_kafka_is_not_looked_at(line: str) -> None:
    for rest in ("}", " # by hand", ",{}"):
        assert offset(offset_text([line + rest])).sources[0].raw == line


def test_other_sources_have_readers_of_their_own() -> None:
    _, problems = line_problems(offset_text(['{"offset": 4}}']))
    assert [str(p.evidence) for p in problems] == ["offsets/5:3"]


def test_what_follows_the_object_in_the_metadata_line_or_a_commit_is_not_looked_at() -> None:
    assert offset('v1\n{"batchWatermarkMs":7,"conf":{"a":"1"}}}\n0').watermark_ms == 7
    assert commit('v1\n{"nextBatchWatermarkMs":7}}').next_watermark_ms == 7


def test_a_dash_with_a_space_behind_it_is_no_dash_to_spark() -> None:
    assert offset(offset_text(["- "])).sources[0].raw == "-"


def test_a_carriage_return_alone_ends_a_line() -> None:
    entry = offset(offset_text(['{"logOffset":3}']).replace("\n", "\r"))
    assert [s.raw for s in entry.sources] == ['{"logOffset":3}']


def test_windows_line_ends_are_read_like_any() -> None:
    entry = offset(offset_text(['{"logOffset":3}', "-"]).replace("\n", "\r\n"))
    assert [s.raw for s in entry.sources] == ['{"logOffset":3}', None]
    assert dict(entry.conf) == CONF_4_3


def test_line_separators_inside_a_text_do_not_split_it() -> None:
    assert [s.raw for s in offset(offset_text(['{"a\u2028b":1}'])).sources] == ['{"a\u2028b":1}']


def test_numbers_beyond_64_bits_keep_their_digits_in_the_text() -> None:
    text = '{"shard":"49590338271490256608559692538361571095921575989136588898"}'
    assert offset(offset_text([text])).sources[0].raw == text


def test_the_whole_file_is_kept_as_raw_text() -> None:
    text = offset_text(["1"]) + "\n"
    assert offset(text).raw == text


# offsets, version 2


def test_version_2_names_sources_and_keeps_their_order() -> None:
    entry = offset(offset_text({"refunds": '{"logOffset":1}', "orders": "-"}))
    assert entry.format_version == 2
    assert [(s.key, s.raw) for s in entry.sources] == [("refunds", '{"logOffset":1}'), ("orders", None)]
    assert dict(entry.extra) == {"sourceMetadataInfo": {}}


def test_version_2_splits_at_the_first_colon() -> None:
    assert [(s.key, s.raw) for s in offset(offset_text({"0": '{"t":{"0":5}}'})).sources] == [
        ("0", '{"t":{"0":5}}')
    ]


def test_version_2_line_without_a_name_is_a_problem_and_the_others_are_read() -> None:
    entry, problems = line_problems(offset_text({"a": "1", "b b": "2", "c": "3"}))
    assert [s.key for s in entry.sources] == ["a", "c"]
    assert [(p.condition, str(p.evidence)) for p in problems] == [("bad_json", "offsets/5:4")]


def test_version_2_source_named_twice_is_a_problem() -> None:
    entry, problems = line_problems(offset_text({"a": "1"}) + "\na:2")
    assert [s.raw for s in entry.sources] == ["1"]
    assert "second time" in problems[0].reason


def test_version_2_without_metadata_is_a_problem() -> None:
    entry, problems = line_problems("v2\n\n0:5")
    assert [s.raw for s in entry.sources] == ["5"]
    assert [(p.condition, p.evidence.line) for p in problems] == [("truncated", 2)]


# offsets, damage


def test_an_empty_offset_file_says_so() -> None:
    problem = offset_problem(b"")
    assert problem.condition == "empty"
    assert "0 bytes" in problem.reason


def test_an_unknown_version_is_not_interpreted() -> None:
    problem = offset_problem("v3\n{}\n0")
    assert (problem.condition, problem.evidence.line, problem.raw) == ("unknown_version", 1, b"v3\n{}\n0")
    assert "version 3" in problem.reason


@pytest.mark.parametrize("first", ["1", "v", "v0", "v-1", "v1x", "V1", "\ufeffv1", "{}", "v00"])
def test_a_file_without_a_version_line_is_a_problem(first: str) -> None:
    assert offset_problem(first + "\n{}\n0").condition == "no_version"


@pytest.mark.parametrize("first", ["v01", "v+1", "v+001"])
def test_a_version_is_what_java_reads_as_a_number(first: str) -> None:
    assert offset(first + "\n{}\n0").format_version == 1


@pytest.mark.parametrize("end", ["\n\n", "\n  ", "\nrefunds"])
def test_version_2_with_a_line_without_a_colon_is_refused_as_a_whole(end: str) -> None:
    problem = offset_problem(offset_text({"a": "1"}) + end)
    assert (problem.condition, problem.evidence.line) == ("bad_shape", 4)


def test_an_offset_file_with_only_a_version_is_truncated() -> None:
    assert offset_problem("v1").condition == "truncated"
    assert offset_problem("v1\n").condition == "truncated"


def test_an_offset_file_cut_in_its_metadata_is_truncated() -> None:
    problem = offset_problem(offset_text(["1"])[:100])
    assert (problem.condition, problem.evidence.line) == ("truncated", 2)


def test_broken_metadata_json_is_a_problem() -> None:
    problem = offset_problem('v1\n{"batchWatermarkMs":0,,}\n0')
    assert (problem.condition, problem.evidence.line) == ("bad_json", 2)


@pytest.mark.parametrize("line", ["[1]", "7", '"x"', '{"conf":[1]}', '{"conf":"x"}'])
def test_metadata_that_is_no_object_is_a_problem(line: str) -> None:
    assert offset_problem(f"v1\n{line}\n0").condition == "bad_json"


def test_an_offset_file_without_source_lines_keeps_its_metadata() -> None:
    entry, problems = line_problems(offset_text([], watermark_ms=7))
    assert (entry.watermark_ms, entry.sources) == (7, ())
    assert [p.condition for p in problems] == ["truncated"]


def test_a_cut_source_line_is_a_problem_and_the_rest_is_read() -> None:
    entry, problems = line_problems(offset_text(['{"orders":{"0":5}}', '{"orders":{"0":']))
    assert [s.raw for s in entry.sources] == ['{"orders":{"0":5}}', '{"orders":{"0":']
    assert entry.timestamp_ms is not None
    assert [(p.condition, str(p.evidence)) for p in problems] == [("truncated", "offsets/5:4")]


def test_an_empty_line_between_sources_keeps_the_positions_of_the_others() -> None:
    entry, problems = line_problems(offset_text(["1", "", "3"]))
    assert [(s.key, s.raw) for s in entry.sources] == [("0", "1"), ("1", ""), ("2", "3")]
    assert [p.evidence.line for p in problems] == [4]


def test_binary_garbage_keeps_its_bytes_up_to_a_bound() -> None:
    garbage = bytes(range(256)) * 1000
    problem = offset_problem(garbage)
    assert problem.condition == "not_text"
    assert problem.raw == garbage[:RAW_LIMIT_BYTES]


def test_json_nested_without_end_is_a_problem_not_a_crash() -> None:
    deep = '{"a":' * 100_000
    assert offset_problem(f"v1\n{deep}\n0").condition in ("truncated", "bad_json")
    entry, problems = line_problems(offset_text([deep]))
    assert len(problems) == 1
    assert entry.sources[0].raw == deep


# conf


def test_entries_with_the_same_conf_share_one_mapping() -> None:
    pool = ConfPool()
    one = parse_offset(offset_text(["1"], timestamp_ms=1).encode(), 1, "offsets/1", pool).entry
    two = parse_offset(offset_text(["2"], timestamp_ms=2).encode(), 2, "offsets/2", pool).entry
    other = parse_offset(offset_text(["2"], conf={"a": "b"}).encode(), 3, "offsets/3", pool).entry
    assert one is not None
    assert two is not None
    assert other is not None
    assert one.conf is two.conf
    assert dict(other.conf) == {"a": "b"}


@pytest.mark.parametrize(
    "line",
    [
        '{"conf":{"a":"x}y","b":"2"},"batchTimestampMs":1}',
        '{"batchTimestampMs":1,"conf":{"a":"1"},"conf":{"a":"2"}}',
        '{"x":{"conf":{"a":"1"}},"batchTimestampMs":1}',
        '{"x":{"conf":{"a":"1"}},"conf":{"b":"2"}}',
        '{ "conf" : { "a" : "1" } , "batchTimestampMs" : 1 }',
        '{"conf":{},"batchTimestampMs":1}',
        '{"batchTimestampMs":1}',
        '{"conf":null}',
        '{"conf":{"a":"\\"conf\\":{\\"z\\":1}"}}',
        '{"note":"\\"conf\\":{","conf":{"q":"1"}}',
    ],
)
def test_cutting_the_conf_out_gives_the_same_as_parsing_the_line(line: str) -> None:
    expected = json.loads(line)
    conf = expected.pop("conf", None) or {}
    pool = ConfPool()
    for _ in range(2):  # the second time from the pool
        fields, found = pool.parse(line)
        assert fields == expected
        assert dict(found) == conf


def test_conf_changes_name_the_batch_and_both_values() -> None:
    pool = ConfPool()
    confs = [{"a": "1", "b": "1"}, {"a": "1", "b": "1"}, {"a": "2", "c": "3"}]
    entries = [
        parse_offset(offset_text(["1"], conf=c).encode(), i, f"offsets/{i}", pool).entry
        for i, c in enumerate(confs)
    ]
    changes = conf_changes([entry for entry in entries if entry is not None])
    assert [(c.batch_id, c.key, c.before, c.after) for c in changes] == [
        (2, "a", "1", "2"),
        (2, "b", "1", None),
        (2, "c", None, "3"),
    ]


# commits


def test_version_1_commit_carries_the_next_watermark() -> None:
    entry = commit(commit_text(5000))
    assert (entry.format_version, entry.next_watermark_ms, dict(entry.state_unique_ids)) == (1, 5000, {})


def test_a_commit_before_spark_2_4_has_no_watermark() -> None:
    assert commit("v1\n{}").next_watermark_ms is None


@pytest.mark.parametrize("text", ["v1", "v1\n", "v1\n\n", "v1\r\n"])
def test_a_commit_without_a_second_line_is_read_as_empty(text: str) -> None:
    assert commit(text).next_watermark_ms is None


def test_version_2_commit_names_the_state_of_each_partition() -> None:
    entry = commit('v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":[["a","b"],["c","d"]],"1":[["e"]]}}')
    assert entry.format_version == 2
    assert dict(entry.state_unique_ids) == {"0": (("a", "b"), ("c", "d")), "1": (("e",),)}


def test_version_2_commit_of_a_stateless_query_has_no_ids() -> None:
    assert dict(commit('v2\n{"nextBatchWatermarkMs":0}').state_unique_ids) == {}


def test_pre_release_4_0_commit_is_version_1_with_ids() -> None:
    entry = commit('v1\n{"nextBatchWatermarkMs":7,"stateUniqueIds":{}}')
    assert (entry.format_version, entry.next_watermark_ms, dict(entry.extra)) == (1, 7, {})


def test_version_3_commit_names_its_sinks() -> None:
    sinks = {
        "my_sink": {
            "sinkName": "my_sink",
            "commitOffset": "-",
            "providerName": "x.NoopTable$",
            "apiVersion": "DSv2",
            "isActive": True,
        }
    }
    entry = commit("v3\n" + json.dumps({"nextBatchWatermarkMs": 0, "sinkMetadataMap": sinks}))
    assert (entry.format_version, dict(entry.sink_metadata)) == (3, sinks)


def test_unknown_commit_fields_are_kept() -> None:
    assert dict(commit('v1\n{"nextBatchWatermarkMs":7,"later":1}').extra) == {"later": 1}


@pytest.mark.parametrize(
    ("data", "condition"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"v4\n{}", "unknown_version"),
        (b"{}", "no_version"),
        (b'v1\n{"nextBatch', "truncated"),
        (b"v1\n{nope}", "bad_json"),
        (b"v1\n[]", "bad_json"),
        (b'v2\n{"stateUniqueIds":{"0":["a"]}}', "bad_json"),
        (b'v2\n{"stateUniqueIds":[1]}', "bad_json"),
        (b"\x00\x01\xff", "not_text"),
    ],
)
def test_a_damaged_commit_is_a_problem(data: bytes, condition: str) -> None:
    assert commit_problem(data).condition == condition


@pytest.mark.parametrize("content", [b"\x0b", b"\x0c\n", "\u2028".encode()])
def test_white_space_that_only_text_knows_counts_as_an_empty_file(content: bytes) -> None:
    parsed = parse_offset(content, 0, "offsets/0", ConfPool())
    assert parsed.entry is None
    assert [item.condition for item in parsed.problems] == ["empty"]
