"""One number or one large file costs neither memory nor time: what files claim is used within bounds."""

from __future__ import annotations

import json
import os
import re
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.analysis.findings import findings
from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.checkpoint.model import OffsetEntry, SourceOffset
from core.checkpoint.restore_chain import expected_partition_ids
from core.checkpoint.state import read_schemas, state_inventory
from core.checkpoint.state_content.rocksdb_zip import tail_trouble
from core.cli import main
from core.connectors.delta.log import DeltaLog
from core.connectors.delta.log_names import log_names
from core.connectors.file_sink_log import FileSinkLog
from core.settings import Settings
from core.sparklogs.budget import expected_ids, first_ids, has_all, ids_written, read_within, within
from core.sparklogs.evidence import Evidence, Problem
from core.storage import Door, FileInfo
from tests.support.build import SAMPLES, copy_sample
from tests.support.damage import newest, rewrite

FILES, HOT, KAFKA = (
    "files-died-mid-batch",
    "windowed-aggregation-hot-partition",
    "kafka-pipeline-died-mid-batch",
)
# Counting to two billion takes hours. Time of this process: a busy machine fails nothing.
MOST_SECONDS, MOST_BYTES = 60, 200 * 1024 * 1024


@contextmanager
def in_bounds() -> Iterator[None]:
    """Fails when more memory or time is used than any honest checkpoint of this size needs."""
    tracemalloc.start()
    began = time.process_time()
    try:
        yield
        assert time.process_time() - began < MOST_SECONDS
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


def changed(ck: Path, pattern: str, by: str) -> None:
    path = ck / "offsets" / str(newest(ck))
    text = path.read_text()
    other = re.sub(pattern, by, text)
    assert other != text
    rewrite(path, other)


# The helper


def test_a_long_range_is_written_with_its_first_ids() -> None:
    assert list(first_ids(3, 5)) == [3, 4, 5]
    assert len(first_ids(0, 2**63)) == 1_000
    assert ids_written(3, 5) == "3, 4, 5"
    assert ids_written(0, 2**63, most=3) == "0, 1, 2, ..."


def test_a_claimed_range_is_compared_with_what_is_there() -> None:
    assert has_all({0, 1, 2}, 0, 2)
    assert not has_all({0, 1, 3}, 0, 2)
    assert not has_all({0, 1, 2}, 0, 2**63)
    assert within([7, 2, 9], 2, 2**63) == [2, 7, 9]
    assert expected_ids(200, {0, 1}) == range(200)
    assert expected_ids(2**31 - 1, {0, 1}) == range(20_002)


def test_a_file_above_the_limit_is_a_problem_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "metadata").write_bytes(b"12345")
    door = Door.open(str(tmp_path))
    info = door.list([""])[""].files["metadata"]
    assert read_within(door, [info], 5) == {"metadata": b"12345"}
    found = read_within(door, [info], 4)["metadata"]
    assert isinstance(found, Problem)
    assert found.is_read_failure
    assert "has 5 bytes, more than the 4 bytes that are read" in found.reason
    assert door.requests.bytes == 5


# Numbers


def test_a_file_source_that_claims_two_billion_entries(tmp_path: Path) -> None:
    ck = copy_sample(FILES, tmp_path)
    changed(ck, r'"logOffset":\d+', '"logOffset":2147483648')
    with in_bounds():
        answer = forecast(Checkpoint.open(str(ck)))
    assert answer.reason == "SOURCE_LOG_END_MISSING"


def test_two_billion_partitions(tmp_path: Path) -> None:
    ck = copy_sample(HOT, tmp_path)
    changed(ck, r'shuffle\.partitions":"\d+"', 'shuffle.partitions":"2147483647"')
    opened = Checkpoint.open(str(ck))
    with in_bounds():
        found = findings(opened)
    assert any(each.id == "STATE_NOT_RESTORABLE" for each in found.findings)
    (operator,) = state_inventory(opened).operators
    assert operator.expected_partitions == 2**31 - 1
    assert len(expected_partition_ids(operator)) < 21_000


def test_a_partition_directory_with_a_huge_number(tmp_path: Path) -> None:
    ck = copy_sample(HOT, tmp_path)
    (ck / "state/0/2147483646").mkdir()
    (ck / "state/0/2147483646/1.delta").write_bytes(b"x")
    for path in (ck / "offsets").glob("[0-9]*"):
        rewrite(path, re.sub(r'"spark.sql.shuffle.partitions":"\d+",?', "", path.read_text()))
    with in_bounds():
        findings(Checkpoint.open(str(ck)))


def test_eight_thousand_source_lines(tmp_path: Path) -> None:
    ck = copy_sample(FILES, tmp_path)
    path = ck / "offsets" / str(newest(ck))
    rewrite(path, "\n".join([*path.read_text().split("\n")[:2], *["{}"] * 8_000]))
    opened = Checkpoint.open(str(ck))
    began = time.process_time()
    forecast(opened)
    assert len(opened.sources) == 8_000
    assert all(opened.source(source.key) is source for source in opened.sources)
    assert time.process_time() - began < MOST_SECONDS


def test_sources_of_one_directory_read_it_once(tmp_path: Path) -> None:
    ck = copy_sample(FILES, tmp_path)
    for path in (ck / "offsets").glob("[0-9]*"):
        lines = path.read_text().split("\n")
        rewrite(path, "\n".join([*lines, lines[2]]))
    opened = Checkpoint.open(str(ck))
    assert [source.directory for source in opened.sources] == ["sources/0", "sources/0"]
    before = opened.door.requests.list
    contexts = [source.context for source in opened.sources]
    assert opened.door.requests.list == before + 1
    assert [context.key for context in contexts] == ["0", "1"]
    assert contexts[0].file_log == contexts[1].file_log != ()


def test_the_first_line_of_a_source_counts() -> None:
    lines = tuple(SourceOffset("a", text, Evidence("offsets/0")) for text in ("1", "2"))
    entry = OffsetEntry(0, 2, None, None, {}, lines, Evidence("offsets/0"), "")
    found = entry.source("a")
    assert found is lines[0]
    assert entry.source("b") is None


@pytest.mark.parametrize("number", [-(2**63), 2**63, 10**30])
def test_a_kafka_offset_that_no_broker_has(number: int, tmp_path: Path) -> None:
    ck = copy_sample(KAFKA, tmp_path)
    changed(ck, r'("[^"]+":\{"\d+":)-?\d+', rf"\g<1>{number}")
    opened = Checkpoint.open(str(ck))
    for source in opened.sources:
        progress = opened.progress(source.key, opened.offset_ids)
        assert progress.positions.shape[0] == len(opened.offset_ids)


def test_a_delta_version_beyond_64_bits_is_passed_over() -> None:
    names = log_names(FileInfo(f"_delta_log/{number:020}.json", 1) for number in (0, 2**63 - 1, 10**20 - 1))
    assert list(names.commits) == [0, 2**63 - 1]


def test_a_delta_log_that_claims_all_versions(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    for version in (0, 2**63 - 1):
        (tmp_path / f"_delta_log/{version:020}.json").write_text(json.dumps({"commitInfo": {}}))
    log = DeltaLog.open(str(tmp_path))
    with in_bounds():
        assert len(log.commits(range(2**63)).commits) == 2
        assert "more than 200 versions" in log.rows_between(0, 2**63 - 1).words
        assert "more than 200 versions" in log.rows_between(0, 10**30).words


# Reads


def large(path: Path, size_bytes: int = 1_500_000_000) -> None:
    os.truncate(path, size_bytes)  # sparse: it takes no space


@pytest.mark.parametrize(
    ("name", "look"),
    [
        ("metadata", lambda ck: ck.metadata_problem),
        ("sources/0/0", lambda ck: [source.context for source in ck.sources] and ck.problems[0]),
    ],
)
def test_large_files_of_the_checkpoint_are_not_read(
    name: str, look: Callable[[Checkpoint], Problem], tmp_path: Path
) -> None:
    ck = copy_sample(KAFKA, tmp_path)
    large(ck / name)
    with in_bounds():
        found = look(Checkpoint.open(str(ck)))
    assert found.evidence.path == name
    assert found.is_read_failure
    assert "has 1,500,000,000 bytes, more than the 33,554,432 bytes" in found.reason


def test_large_metadata_and_schemas_of_operators_are_not_read(tmp_path: Path) -> None:
    ck = copy_sample(HOT, tmp_path)
    schema = next(ck.glob("state/0/0/_metadata/schema"), None) or next(
        ck.glob("state/0/**/_stateSchema/**/0_*")
    )
    large(schema)
    large(ck / "state/0/_metadata/metadata")
    opened = Checkpoint.open(str(ck))
    with in_bounds():
        problems = [*state_inventory(opened).operators[0].problems, *read_schemas(opened, 0)]
        findings(opened, "deep")
    named = {problem.evidence.path for problem in problems if isinstance(problem, Problem)}
    assert {"state/0/_metadata/metadata", schema.relative_to(ck).as_posix()} <= named


def test_a_large_state_file_is_named_as_not_looked_at(tmp_path: Path) -> None:
    ck = copy_sample(HOT, tmp_path)
    state = max(path for path in ck.glob("state/0/0/*.*") if path.suffix in (".zip", ".delta", ".changelog"))
    large(state)
    with in_bounds():
        found = findings(Checkpoint.open(str(ck)), "deep")
    assert any(state.name in text and "state_file_bytes" in text for text in found.not_checked)


def test_a_large_entry_of_a_sink_log_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "_spark_metadata").mkdir()
    (tmp_path / "_spark_metadata/0").write_text("v1\n")
    large(tmp_path / "_spark_metadata/0")
    log = FileSinkLog.open(str(tmp_path))
    with in_bounds():
        log.batches()
    assert "more than the 67,108,864 bytes" in " ".join(log.problems)


def test_a_large_commit_of_a_delta_table_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log/00000000000000000000.json").write_text(json.dumps({"commitInfo": {}}))
    log = DeltaLog.open(str(tmp_path), Settings(log_checkpoint_bytes=3))
    assert log.commits().commits == ()
    assert "more than the 3 bytes" in " ".join(log.problems)


def test_a_zip_of_a_version_that_is_not_known(tmp_path: Path) -> None:
    path = next(SAMPLES.glob("*/checkpoint/state/**/*.zip"))
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 6] = 128
    assert "zip file version" in (tail_trouble(bytes(data)) or "")


@pytest.mark.parametrize("number", [-(2**63), 2**63, 10**30, 2**63 - 1])
def test_a_time_that_no_clock_shows(number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ck = copy_sample(KAFKA, tmp_path)
    changed(ck, r'("batch(?:Timestamp|Watermark)Ms":)-?\d+', rf"\g<1>{number}")
    for verb in ("check", "forecast", "inspect"):
        assert main([verb, str(ck), "--json"]) in (0, 1)
        assert "unexpected" not in capsys.readouterr().err
