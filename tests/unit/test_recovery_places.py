"""What the logs tell of the places that a script reads and writes, so that nobody has to fill it in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers, ConnectorSettings
from core.connectors.connect import ask_connectors
from core.connectors.file_sink_log import FileSinkLog
from core.recovery import Answers, RecoveryContext, generate, options, read_recovery_context
from core.storage import parse_location
from tests.support.build import CONF_4_3, QUERY_ID, commit_text, offset_text, write
from tests.unit.test_file_sink_log import output
from tests.unit.test_recovery_judgement import file_checkpoint


def path_of(root: Path, paths: Sequence[str]) -> str | None:
    """The path of a source whose log names these files, one for each batch."""
    tree: dict[str, str | bytes] = {"metadata": json.dumps({"id": QUERY_ID})}
    for number, path in enumerate(paths):
        entry = {"path": f"file://{path}", "timestamp": 1_795_176_000_000 + number, "batchId": number}
        tree[f"sources/0/{number}"] = f"v1\n{json.dumps(entry)}"
        tree[f"offsets/{number}"] = offset_text([f'{{"logOffset":{number}}}'], conf=CONF_4_3)
        tree[f"commits/{number}"] = commit_text()
    ck = Checkpoint.open(str(write(root / "ck", tree)))
    return read_recovery_context(ck, Answers({})).sources[0].path_guess


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["/in/a.json", "/in/b.json"], "/in"),
        (["/in%20put/a.json"], "/in put"),
        (["/in/day=1/a.json", "/in/day=2/b.json"], "/in"),
        (["/in/day=1/h=1/a.json", "/in/day=1/h=2/b.json", "/in/day=2/h=1/c.json"], "/in"),
        # the query may read just this partition
        (["/in/day=1/a.json", "/in/day=1/b.json"], None),
        # a glob, files above the partitions, partitions of two tables
        (["/in/a/x/1.json", "/in/b/x/2.json"], None),
        (["/in/a.json", "/in/day=1/b.json"], None),
        (["/in/day=1/a.json", "/other/day=2/b.json"], None),
        (["/in/day=1/a.json", "/in/day=1/h=2/b.json"], None),
    ],
)
def test_the_path_of_a_source_is_what_all_its_files_have_above_their_partitions(
    tmp_path: Path, paths: list[str], expected: str | None
) -> None:
    assert path_of(tmp_path, paths) == expected


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        ({"0": ["part-0.c000.snappy.parquet"], "1": []}, "parquet"),  # the newest batch has written nothing
        ({"0": ["day=1/part-0.c000.json.gz"]}, "json"),
        ({"0": ["part-0.parquet", "part-1.csv"]}, None),
        ({"0": ["part-0"]}, None),
        ({"0": []}, None),
    ],
)
def test_the_format_of_a_file_sink_is_that_of_its_files(
    tmp_path: Path, batches: dict[str, list[str]], expected: str | None
) -> None:
    sink = FileSinkLog.open(parse_location(str(output(tmp_path / "out", batches))))
    tree: dict[str, str | bytes] = {"metadata": json.dumps({"id": QUERY_ID}), "commits/0": commit_text()}
    tree["offsets/0"] = offset_text(['{"logOffset":0}'], conf=CONF_4_3)
    ck = Checkpoint.open(str(write(tmp_path / "ck", tree)))
    connectors = ConnectorAnswers(sink=sink)
    assert read_recovery_context(ck, Answers({}), connectors).answers.get("sink_format") == expected
    given = Answers({"sink_format": "orc"})
    assert read_recovery_context(ck, given, connectors).answers.get("sink_format") == "orc"
    assert read_recovery_context(ck, Answers({})).answers.get("sink_format") is None


def recommended(ck: Checkpoint, place: Path, sink: str = "file") -> tuple[str | None, str, RecoveryContext]:
    """The recommended option and its reason, with this place of the sink."""
    answers = Answers({"sink": sink, "source_complete": "yes"})
    connectors = ask_connectors(ck, ConnectorSettings(sink=parse_location(str(place))))
    context = read_recovery_context(ck, answers, connectors)
    best = next((each for each in options(context) if each.recommended), None)
    return None if best is None else best.id, "" if best is None else best.reason, context


@pytest.mark.parametrize("is_there", [True, False])
def test_a_file_sink_without_its_log_is_no_place_to_resume_into(tmp_path: Path, is_there: bool) -> None:
    """Spark 4.3 resumes, writes its next batch, and nobody can read the output: _spark_metadata/0 is gone."""
    ck = file_checkpoint(tmp_path)
    if is_there:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "part-0.parquet").write_bytes(b"x")
    best, reason, context = recommended(ck, tmp_path / "out")
    assert best == "full_refresh" and "the sink does not fit" in reason
    offered = {each.id: each for each in options(context)}
    assert not offered["reset"].possible and str(tmp_path / "out") in offered["reset"].why
    yours = next(each for each in offered["restart"].consequences if each.is_yours)
    assert str(tmp_path / "out") in yours.loses
    # foreachBatch writes no log
    assert recommended(ck, tmp_path / "out", "foreach_append")[0] == "restart"


def test_a_file_sink_that_lacks_the_newest_batches_is_rewound_to_its_end(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path)  # committed up to 2
    out = output(tmp_path / "out", {"0": ["a.json"], "1": ["b.json"]})
    best, _, context = recommended(ck, out)
    assert best == "rewind"
    assert "\nTO_BATCH = 1  # " in generate(context, "rewind")[0].text
