"""The start positions after a batch: which batch counts, what is refused, the JSON of the command line, the
code to paste."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.checkpoint import Checkpoint
from core.checkpoint.sources.base import ResumePoint, SourceContext
from core.checkpoint.sources.registry import KINDS, kind_named
from core.documents.base import to_json
from core.documents.resume import resume_document
from core.errors import ResumeError
from core.recovery import as_pyspark, resume_points
from tests.support.build import unpack_corpus

HEADER = '{"batchWatermarkMs":0,"batchTimestampMs":1795177497259,"conf":{}}'
Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes a checkpoint as Spark does: ``offsets`` maps batch ids to offset lines, ``files`` more paths to
    bytes."""

    def write(
        offsets: dict[int, list[str]], commits: list[int], files: dict[str, bytes] | None = None
    ) -> Path:
        root = tmp_path / "ck"
        every = {"metadata": b'{"id":"dddc5e7f-1e71-454c-8362-de184444fb5a"}', **(files or {})}
        every |= {f"offsets/{i}": "\n".join(["v1", HEADER, *lines]).encode() for i, lines in offsets.items()}
        every |= {f"commits/{i}": b'v1\n{"nextBatchWatermarkMs":0}' for i in commits}
        for path, content in every.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        return root

    return write


def kafka(*positions: int) -> str:
    return json.dumps({"orders": {str(i): p for i, p in enumerate(positions)}}, separators=(",", ":"))


def options(root: Path, batch_id: int | None = None) -> list[dict[str, str] | None]:
    return [
        None if s.point.options is None else dict(s.point.options)
        for s in resume_points(Checkpoint.open(str(root)), batch_id).sources
    ]


# Which batch


def test_the_last_committed_batch_is_the_start_and_not_the_pending_one(make: Make) -> None:
    root = make({3: [kafka(30)], 4: [kafka(40)], 5: [kafka(50)]}, [3, 4])
    answer = resume_points(Checkpoint.open(str(root)))
    assert answer.batch == 4
    assert answer.is_committed
    assert options(root) == [{"startingOffsets": '{"orders":{"0":40}}'}]
    assert str(answer.sources[0].evidence) == "offsets/4:3"


def test_batch_ids_are_compared_as_numbers(make: Make) -> None:
    root = make({i: [kafka(i)] for i in range(8, 12)}, list(range(8, 11)))
    assert resume_points(Checkpoint.open(str(root))).batch == 10


def test_an_older_batch_can_be_chosen(make: Make) -> None:
    root = make({3: [kafka(30)], 4: [kafka(40)]}, [3, 4])
    assert options(root, 3) == [{"startingOffsets": '{"orders":{"0":30}}'}]


def test_a_batch_that_is_not_committed_is_answered_with_a_warning(make: Make) -> None:
    root = make({3: [kafka(30)], 4: [kafka(40)]}, [3])
    answer = resume_points(Checkpoint.open(str(root)), 4)
    assert not answer.is_committed
    assert "not committed" in answer.note
    assert "skipped" in answer.note
    assert "last committed batch is 3" in answer.note


def test_a_batch_removed_by_retention_is_refused_with_the_range(make: Make) -> None:
    root = make({101: [kafka(1)], 102: [kafka(2)]}, [101, 102])
    with pytest.raises(
        ResumeError,
        match=r"offsets/7 is not there \(Spark removes old entries\); choose a batch from 101 to 102\.",
    ):
        resume_points(Checkpoint.open(str(root)), 7)


def test_a_batch_of_the_future_is_refused(make: Make) -> None:
    with pytest.raises(ResumeError, match="not planned yet"):
        resume_points(Checkpoint.open(str(make({0: [kafka(1)]}, [0]))), 9)


def test_a_batch_inside_a_gap_is_refused(make: Make) -> None:
    with pytest.raises(ResumeError, match="its file is missing"):
        resume_points(Checkpoint.open(str(make({0: [kafka(1)], 2: [kafka(2)]}, [0, 2]))), 1)


def test_an_unreadable_offset_of_the_last_committed_batch_is_refused_with_a_way_out(make: Make) -> None:
    root = make({3: [kafka(30)], 4: [kafka(40)]}, [3, 4], {})
    (root / "offsets/4").write_bytes(b"")
    with pytest.raises(ResumeError, match=r"offsets/4 .*empty.*batch 3.*reprocessed"):
        resume_points(Checkpoint.open(str(root)))


def test_a_committed_batch_without_its_offset_is_refused_with_a_way_out(make: Make) -> None:
    root = make({3: [kafka(30)]}, [3, 4])
    with pytest.raises(
        ResumeError, match=r"Batch 4 is the last committed one, but offsets/4 is not there.*batch 3"
    ):
        resume_points(Checkpoint.open(str(root)))


def test_an_unreadable_commit_is_said(make: Make) -> None:
    root = make({3: [kafka(30)]}, [3])
    (root / "commits/3").write_bytes(b"")
    answer = resume_points(Checkpoint.open(str(root)))
    assert answer.batch == 3
    assert "commits/3 is there but cannot be read" in answer.note


# Nothing committed


def test_with_nothing_committed_kafka_starts_at_its_initial_offset(make: Make) -> None:
    root = make({0: [kafka(50)]}, [], {"sources/0/0": b'\x00v1\n{"orders":{"0":7}}'})
    answer = resume_points(Checkpoint.open(str(root)))
    assert answer.batch is None
    assert not answer.is_committed
    assert options(root) == [{"startingOffsets": '{"orders":{"0":7}}'}]
    assert "Nothing is committed" in answer.note
    assert "Batch 0 was planned" in answer.note


def test_with_nothing_committed_and_no_initial_offset_the_query_decides(make: Make) -> None:
    root = make(
        {
            0: [
                '{"sourceVersion":1,"reservoirId":"x","reservoirVersion":2,'
                '"index":-1,"isStartingVersion":false}'
            ]
        },
        [],
    )
    source = resume_points(Checkpoint.open(str(root))).sources[0]
    assert source.point.options is None
    assert source.point.certainty == "needs_input"
    assert "own start option" in source.point.note


def test_with_nothing_committed_a_file_source_needs_no_option(make: Make) -> None:
    assert options(make({0: ['{"logOffset":0}']}, [])) == [{}]


def test_offsets_without_any_commit_log_point_to_the_batch_before_the_newest(make: Make) -> None:
    answer = resume_points(Checkpoint.open(str(make({0: ["0"], 1: ["2"]}, []))))
    assert (answer.batch, answer.is_committed) == (0, False)
    assert "batches up to 0 most likely finished, because offsets/1 exists" in answer.note
    assert all(source.point.certainty != "certain" for source in answer.sources)
    root = make({0: ["0"], 1: ["2"], 2: ["3"]}, [])
    (root / "offsets" / "1").unlink()
    lost = resume_points(Checkpoint.open(str(root)))
    assert lost.batch is None and "offsets/1, with the position after them, is missing too" in lost.note


def test_a_checkpoint_without_batches_has_an_empty_answer(make: Make) -> None:
    answer = resume_points(Checkpoint.open(str(make({}, []))))
    assert answer.sources == ()
    assert "no batch" in answer.note


# Several sources and what lies beside them


def test_every_source_has_its_own_start_in_the_order_of_the_lines(make: Make) -> None:
    root = make({0: [kafka(5), '{"logOffset":3}']}, [0])
    answer = resume_points(Checkpoint.open(str(root)))
    assert [(s.key, s.kind.name) for s in answer.sources] == [("0", "kafka"), ("1", "file")]
    assert "each needs its own" in answer.note


def test_a_source_without_an_offset_yet_starts_where_it_began(make: Make) -> None:
    files = {"sources/0/0": b'\x00v1\n{"orders":{"0":7}}'}
    root = make({0: ["-"], 1: [kafka(9)]}, [0], files)
    source = resume_points(Checkpoint.open(str(root)), 0).sources[0]
    assert source.kind.name == "kafka"
    assert source.point.options == {"startingOffsets": '{"orders":{"0":7}}'}
    assert "no offset yet" in source.point.note


def test_a_bare_number_with_a_start_time_beside_it_is_a_rate_source(make: Make) -> None:
    root = make({0: ["3"], 1: ["5"]}, [0, 1], {"sources/0/0": b"v1\n1795177501878"})
    assert resume_points(Checkpoint.open(str(root))).sources[0].kind.name == "rate"


def test_the_files_read_so_far_are_counted_for_a_file_source(make: Make) -> None:
    log = (
        b'v1\n{"path":"file:///in/0.json","timestamp":1,"batchId":0}'
        b'\n{"path":"file:///in/1.json","timestamp":1,"batchId":0}'
    )
    root = make({0: ['{"logOffset":0}']}, [0], {"sources/0/0": log})
    assert "of 2 files already read" in resume_points(Checkpoint.open(str(root))).sources[0].point.repeats


def test_state_is_not_carried_over_and_that_is_said(make: Make) -> None:
    root = make({0: [kafka(1)]}, [0], {"state/0/0/1.delta": b"x"})
    assert "empty state" in resume_points(Checkpoint.open(str(root))).note


# The JSON


def resumed(root: Path) -> dict[str, Any]:
    """The JSON of ``python -m core resume``."""
    ck = Checkpoint.open(str(root))
    return to_json(resume_document(ck, resume_points(ck)))


def test_the_json_has_the_fields_of_the_command_line_contract(make: Make) -> None:
    answer = resumed(make({4: [kafka(1002)]}, [4]))
    assert json.loads(json.dumps(answer)) == answer
    assert (answer["schema_version"], answer["batch"]) == (1, 4)
    (source,) = answer["sources"]
    assert {key: source[key] for key in ("key", "kind", "exact", "options", "repeats", "skips")} == {
        "key": "0",
        "kind": "kafka",
        "exact": True,
        "options": {"startingOffsets": '{"orders":{"0":1002}}'},
        "repeats": "nothing",
        "skips": "nothing",
    }
    assert source["note"]


def test_a_source_without_a_start_option_has_null_options_and_a_reason(make: Make) -> None:
    (source,) = resumed(make({4: ['{"logOffset":4}']}, [4]))["sources"]
    assert source["exact"] is False
    assert source["options"] is None
    assert source["seed"] == "file_source_log"
    assert "no working start option" in source["note"]


# The code


def evaluated(fragment: str) -> list[tuple[str, str]]:
    """The option calls of a fragment, read by Python's parser; fails when there is anything else in it."""
    calls: list[tuple[str, str]] = []
    node = ast.parse(f"(reader\n{fragment}\n)", mode="eval").body
    while isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Attribute)
        assert node.func.attr == "option"
        key, value = (ast.literal_eval(argument) for argument in node.args)
        calls.insert(0, (key, value))
        node = node.func.value
    assert isinstance(node, ast.Name)
    return calls


def test_the_position_is_pasted_as_option_calls() -> None:
    kind = kind_named("kafka")
    assert kind is not None
    point = kind.resume({"orders": {"0": 1002}}, SourceContext("0"))
    assert as_pyspark(point, kind) == """.option('startingOffsets', '{"orders":{"0":1002}}')"""


def test_where_no_option_exists_the_code_is_a_comment() -> None:
    kind = kind_named("file")
    assert kind is not None
    fragment = as_pyspark(kind.resume({"logOffset": 4}, SourceContext("0")), kind)
    assert all(line.startswith("# ") for line in fragment.splitlines())
    assert evaluated(fragment) == []
    assert "no start option is needed" in as_pyspark(kind.resume({"logOffset": -1}, SourceContext("0")), kind)


NASTY = ['")\nimport os #', "'''", '"""', "\\", "\r\n", "\u2028__import__(1)", "{{ x }}", "\udc80", "\x0c"]
HOSTILE = st.text() | st.sampled_from(NASTY)


@given(key=HOSTILE, value=HOSTILE, note=HOSTILE)
def test_no_text_from_a_checkpoint_can_become_code(key: str, value: str, note: str) -> None:
    for kind in KINDS:
        given_options = ResumePoint(True, {key: value}, "nothing", "nothing", note)
        assert evaluated(as_pyspark(given_options, kind)) == [(key, value)]
        refused = ResumePoint(False, None, "", "", note)
        fragment = as_pyspark(refused, kind)
        assert evaluated(fragment) == []
        assert fragment.isascii()


# Real checkpoints


@pytest.mark.parametrize(
    ("entry", "batch", "expected"),
    [
        (
            "kafka-two-topics",
            4,
            {"0": {"startingOffsets": '{"orders":{"0":13,"1":13,"2":12,"3":12},"refunds":{"0":25,"1":25}}'}},
        ),
        ("kafka-aggregation-watermark", 9, {"0": {"startingOffsets": '{"clicks":{"0":25,"1":25}}'}}),
        ("kafka-async-progress", 26, {"0": {"startingOffsets": '{"astream":{"0":57,"1":57}}'}}),
        (
            "kafka-named-source-offset-log-v2",
            2,
            {
                "refunds": {"startingOffsets": '{"refunds2":{"0":6,"1":6}}'},
                "orders": {"startingOffsets": '{"orders2":{"0":6,"1":6,"2":6}}'},
            },
        ),
        ("kafka-3.x-lucenerdd", 3, {"0": {"startingOffsets": '{"query":{"0":3}}'}}),
        ("delta-to-delta", 2, {"0": {"startingVersion": "5"}}),
        ("delta-pending-batch-already-in-table", 1, {"0": {"startingVersion": "3"}}),
        ("delta-initial-snapshot-midway", 2, {"0": None}),
        ("delta-schema-tracking", 1, {"0": {"startingVersion": "2"}}),
        ("iceberg-to-iceberg", 2, {"0": None}),
        ("s3-rocksdb-changelog-killed", 5, {"0": None}),
        ("spark-2.2-stateful-inflight", 1, {"0": None}),
        ("spark-2.1.0-aggregation", 0, {"0": None}),
    ],
)
def test_real_checkpoints_are_answered(
    tmp_path: Path, entry: str, batch: int | None, expected: dict[str, dict[str, str] | None]
) -> None:
    answer = resumed(unpack_corpus(entry, tmp_path))
    assert answer["batch"] == batch
    assert {source["key"]: source["options"] for source in answer["sources"]} == expected
    for source in answer["sources"]:
        assert source["note"]
        assert source["exact"] is (source["options"] is not None)


# An older batch


def test_an_older_batch_names_what_is_read_again(samples: Path) -> None:
    ck = Checkpoint.open(str(samples / "kafka-pipeline-died-mid-batch/checkpoint"))
    answer = resume_points(ck, 3)
    point = answer.sources[0].point
    again = "batches 4 to 7, committed in this checkpoint (at most 352 offsets)"
    assert (point.exact, point.repeats, point.again, point.skips) == (True, again, again, "nothing")
    assert as_pyspark(point, answer.sources[0].kind).splitlines()[0] == f"# repeats {again}"
    assert to_json(resume_document(ck, answer))["sources"][0]["repeats"] == again


def test_the_last_committed_batch_repeats_nothing_but_the_pending_one_perhaps(samples: Path) -> None:
    ck = Checkpoint.open(str(samples / "kafka-pipeline-died-mid-batch/checkpoint"))
    answer = resume_points(ck)
    assert (answer.batch, answer.sources[0].point.repeats, answer.sources[0].point.again) == (
        7,
        "nothing",
        "",
    )
    assert "Batch 8 is planned and not committed: it may have written rows already" in answer.note


def test_an_older_batch_of_a_source_without_a_start_option(samples: Path) -> None:
    ck = Checkpoint.open(str(samples / "files-died-mid-batch/checkpoint"))
    point = resume_points(ck, 1).sources[0].point
    assert point.repeats.startswith("batches 2 to 6, committed in this checkpoint (5 files); besides that: ")
    assert not point.exact
