"""What the logs tell of the places that a script reads and writes, so that nobody has to fill it in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.connectors.file_sink_log import FileSinkLog
from core.recovery import Answers, read_recovery_context
from core.storage import parse_location
from tests.support.build import CONF_4_3, QUERY_ID, commit_text, offset_text, write
from tests.unit.test_file_sink_log import output


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
