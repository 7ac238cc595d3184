"""File source logs, initial offsets, and which directory belongs to which source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.checkpoint.model import OffsetEntry, SourceOffset
from core.checkpoint.source import SOURCE_EVOLUTION, directories_of
from core.checkpoint.source_log import parse_file_log, parse_initial
from core.sparklogs.compactible import CompactibleLog, compactible_log
from core.sparklogs.evidence import Evidence
from core.storage import FileInfo, Listing
from tests.support.build import (
    QUERY_ID,
    commit_text,
    corpus_entry,
    kafka_offset,
    offset_text,
    remove,
    write,
)


def entry_line(name: str, log_id: int) -> str:
    return json.dumps(
        {"path": f"file:///in/{name}", "timestamp": 1000 + log_id, "batchId": log_id}, separators=(",", ":")
    )


def log_of(*names: str) -> CompactibleLog:
    files = {f"sources/0/{name}": FileInfo(f"sources/0/{name}", 1, 1) for name in names}
    return compactible_log(Listing("sources/0", files, (), 0))


# The chain of a file source log


def test_without_a_compact_file_all_plain_files_are_read() -> None:
    chain = log_of("0", "1", "2", ".2.crc")
    assert (list(chain.files), chain.missing, chain.newest_id) == ([0, 1, 2], (), 2)


def test_the_newest_compact_file_replaces_everything_before_it() -> None:
    chain = log_of("5", "9.compact", "19.compact", "18", "20", "21")
    assert ([info.name for info in chain.files.values()], chain.missing) == (["19.compact", "20", "21"], ())


def test_a_missing_file_after_the_compact_file_is_named() -> None:
    assert log_of("9.compact", "11").missing == (10,)


def test_a_lost_compact_file_is_a_gap() -> None:
    assert log_of("0", "1", "2", "3", "4", "5", "6", "7", "8", "10").missing == (9,)


def test_an_empty_directory_has_no_chain() -> None:
    assert log_of().is_empty


def test_a_stray_huge_id_does_not_make_a_huge_list() -> None:
    assert len(log_of("0", str(10**15)).missing) == 1000


# The lines


def test_entries_keep_path_time_and_log_id() -> None:
    entries, problems = parse_file_log(
        f"v1\n{entry_line('a', 0)}\n{entry_line('b', 1)}\n".encode(), 1, "sources/0/1.compact"
    )
    assert [(e.path, e.timestamp_ms, e.log_id) for e in entries] == [
        ("file:///in/a", 1000, 0),
        ("file:///in/b", 1001, 1),
    ]
    assert problems == []


def test_a_broken_line_is_a_problem_and_the_others_are_kept() -> None:
    entries, problems = parse_file_log(
        f'v1\n{entry_line("a", 0)}\n{{"path":\n[]\n{{"path":1}}\n{entry_line("b", 1)}'.encode(),
        1,
        "sources/0/1",
    )
    assert [e.log_id for e in entries] == [0, 1]
    assert [(p.condition, p.evidence.line) for p in problems] == [
        ("truncated", 3),
        ("bad_json", 4),
        ("bad_json", 5),
    ]


@pytest.mark.parametrize(
    ("data", "condition"),
    [(b"", "empty"), (b"v2\n{}", "unknown_version"), (b"{}", "no_version"), (b"\xff\xff", "not_text")],
)
def test_a_damaged_source_log_file_is_a_problem(data: bytes, condition: str) -> None:
    entries, problems = parse_file_log(data, 0, "sources/0/0")
    assert entries == []
    assert [p.condition for p in problems] == [condition]


def test_a_published_2_1_source_log_is_read() -> None:
    text = corpus_entry("spark-single-files")["files"]["file-source-log/2.compact"]["text"]
    entries, problems = parse_file_log(text.encode(), 2, "sources/0/2.compact")
    assert problems == []
    assert [(e.path, e.log_id) for e in entries] == [
        (json.loads(line)["path"], json.loads(line)["batchId"]) for line in text.split("\n")[1:] if line
    ]


# Initial offsets

LONG = '{"' + "q" * 297 + '":1}'


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'\0v1\n{"query":{"0":0}}', '{"query":{"0":0}}'),  # Kafka, Event Hubs
        (bytes([17]) + b'{"query":{"0":0}}', '{"query":{"0":0}}'),  # Kafka with Spark 2.1.0: the length
        (bytes([len(LONG) % 256]) + LONG.encode(), LONG),  # ... its low 8 bits
        (b"v1\n1795177501878", "1795177501878"),  # rate
        (b'v1\n{"p":[8,1]}\n', '{"p":[8,1]}'),  # Pulsar, Hudi
        (b'{"version":1,"snapshot_id":9,"position":0,"scan_all_files":false}', None),  # Iceberg
        (b'v1\r\n{"a":1}\r\n', '{"a":1}'),
    ],
)
def test_the_bytes_before_an_initial_offset_are_left_out(data: bytes, text: str | None) -> None:
    assert parse_initial(data, "sources/0/0") == (text if text is not None else data.decode(), None)


@pytest.mark.parametrize(
    ("data", "condition"),
    [
        (b"", "empty"),
        (b"\0", "empty"),
        (b"\0v1\n", "truncated"),
        (b'\0v1\n{"query":{"0"', "truncated"),
        (b"\0v2\n{}", "unknown_version"),
        (b"\xff\xfe\xfd", "not_text"),
    ],
)
def test_a_damaged_initial_offset_is_a_problem(data: bytes, condition: str) -> None:
    text, problem = parse_initial(data, "sources/0/0")
    assert text is None
    assert problem is not None
    assert problem.condition == condition


# Which directory belongs to which line


def entries_of(
    *batches: list[str], version: int = 1, keys: list[str] | None = None, is_named: bool = False
) -> list[OffsetEntry]:
    conf = {SOURCE_EVOLUTION: "true" if is_named else "false"}
    found = []
    for batch_id, lines in enumerate(batches):
        path = f"offsets/{batch_id}"
        sources = tuple(
            SourceOffset(keys[i] if keys else str(i), text, Evidence(path, i + 3))
            for i, text in enumerate(lines)
        )
        found.append(OffsetEntry(batch_id, version, 0, 0, conf, sources, Evidence(path), ""))
    return found


def test_lines_and_directories_have_the_same_numbers() -> None:
    assert directories_of(entries_of(["1", "2"]), ("0", "1"), {}) == {"0": "sources/0", "1": "sources/1"}


def test_a_source_that_keeps_nothing_has_no_directory() -> None:
    assert directories_of(entries_of(["1", "2"]), ("1",), {}) == {"1": "sources/1"}
    assert directories_of(entries_of(["1", "2"]), (), {}) == {}


def test_a_self_join_has_two_lines_and_one_directory() -> None:
    assert directories_of(entries_of(["1", "1"], ["4", "4"]), ("0",), {}) == {
        "0": "sources/0",
        "1": "sources/0",
    }


def test_behind_a_self_join_directories_are_counted_by_distinct_source() -> None:
    found = directories_of(entries_of(["1", "1", "1"], ["4", "4", "7"]), ("0", "1"), {})
    assert found == {"0": "sources/0", "1": "sources/0", "2": "sources/1"}


def test_directories_are_numbered_by_first_use_as_spark_4_3_does() -> None:
    a_b_a = entries_of(["0", "0", "0"], ["1", "2", "1"])
    b_a_a = entries_of(["0", "0", "0"], ["2", "1", "1"])
    assert directories_of(a_b_a, ("0", "1"), {}) == {"0": "sources/0", "1": "sources/1", "2": "sources/0"}
    assert directories_of(b_a_a, ("0", "1"), {}) == {"0": "sources/0", "1": "sources/1", "2": "sources/1"}


def test_of_lines_that_cannot_be_told_apart_only_the_first_has_a_certain_directory() -> None:
    assert directories_of(entries_of(["0", "0", "0"]), ("0", "1"), {}) == {"0": "sources/0"}


def test_equal_lines_with_a_directory_each_are_two_sources() -> None:
    assert directories_of(entries_of(["1", "1"]), ("0", "1"), {}) == {"0": "sources/0", "1": "sources/1"}


def test_lines_that_differed_once_are_two_sources() -> None:
    assert directories_of(entries_of(["1", "2"], ["4", "4"]), ("0",), {}) == {"0": "sources/0"}


def test_named_sources_have_directories_of_their_name() -> None:
    entries = entries_of(["1", "2"], version=2, keys=["refunds", "orders"])
    assert directories_of(entries, ("orders", "other"), {}) == {"orders": "sources/orders"}


def test_spark_4_2_with_one_named_source_has_one_line_and_one_directory() -> None:
    one, two = entries_of(["1"], is_named=True), entries_of(["1", "2"], is_named=True)
    assert directories_of(one, ("orders",), {}) == {"0": "sources/orders"}
    assert directories_of(two, ("orders", "refunds"), {}) == {}


@pytest.mark.parametrize("name", ["orders", "0.bak", "0_old", "backup", "7"])
def test_a_directory_that_was_renamed_is_no_source_s(name: str) -> None:
    assert directories_of(entries_of(["1"]), (name,), {}) == {}


def test_lines_share_no_directory_beside_one_that_was_put_away() -> None:
    entries = entries_of(["1", "1"], ["4", "4"])
    assert directories_of(entries, ("0",), {}) == {"0": "sources/0", "1": "sources/0"}
    assert directories_of(entries, ("0", "1.bak"), {}) == {"0": "sources/0"}


# Read through a checkpoint


def file_checkpoint(root: Path) -> Path:
    """Three batches of a file source with two files each; the log has one compact file."""
    files: dict[str, str | bytes] = {"metadata": f'{{"id":"{QUERY_ID}"}}'}
    for batch in range(3):
        files[f"offsets/{batch}"] = offset_text([f'{{"logOffset":{batch}}}'])
        files[f"commits/{batch}"] = commit_text()
    lines = [entry_line(f"{log_id}-{part}", log_id) for log_id in range(3) for part in "ab"]
    files["sources/0/0"] = "\n".join(["v1", *lines[:2]])
    files["sources/0/1.compact"] = "\n".join(["v1", *lines[:4]])
    files["sources/0/2"] = "\n".join(["v1", *lines[4:]])
    return write(root, files)


def test_a_file_source_advances_by_the_files_of_its_own_log(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(file_checkpoint(tmp_path)))
    (source,) = ck.sources
    assert (source.kind.name, source.directory, source.partitions) == ("file", "sources/0", None)
    assert [ck.advance(i, "0").amount for i in range(3)] == [2, 2, 2]  # type: ignore[union-attr]
    assert (source.context.file_log_complete, len(source.context.file_log)) == (True, 6)
    assert ck.progress("0").total.tolist() == [2, 2, 2]
    assert ck.progress("0").unit == "files"


def test_a_file_source_log_with_a_gap_is_incomplete(tmp_path: Path) -> None:
    root = file_checkpoint(tmp_path)
    remove(root, "sources/0/1.compact")
    source = Checkpoint.open(str(root)).sources[0]
    assert source.context.file_log_complete is False


def test_a_file_source_log_with_a_broken_line_is_incomplete_and_counted(tmp_path: Path) -> None:
    root = write(file_checkpoint(tmp_path), {"sources/0/2": "v1\n{"})
    ck = Checkpoint.open(str(root))
    assert ck.problems == ()
    assert ck.sources[0].context.file_log_complete is False
    assert [(p.evidence.path, p.condition) for p in ck.problems] == [("sources/0/2", "truncated")]


def test_icebergs_initial_offset_lies_one_directory_deeper(tmp_path: Path) -> None:
    start = '{"version":1,"snapshot_id":11,"position":0,"scan_all_files":false}'
    end = '{"version":1,"snapshot_id":12,"position":1,"scan_all_files":false}'
    ck = Checkpoint.open(
        str(
            write(
                tmp_path,
                {"offsets/0": offset_text([end]), "commits/0": commit_text(), "sources/0/offsets/0": start},
            )
        )
    )
    assert ck.sources[0].context.initial == start
    assert ck.source_texts(0, "0") == (start, end)


def test_mongodb_keeps_its_first_offset_in_a_file_called_like_the_directory(tmp_path: Path) -> None:
    start = '{"version": 1, "offset": {"$timestamp": {"t": 10, "i": 0}}}'
    end = '{"version": 1, "offset": {"$timestamp": {"t": 20, "i": 0}}}'
    ck = Checkpoint.open(
        str(
            write(tmp_path, {"offsets/0": offset_text([end]), "commits/0": commit_text(), "sources/0": start})
        )
    )
    assert (ck.sources[0].kind.name, ck.sources[0].directory, ck.sources[0].context.initial) == (
        "mongodb",
        "sources/0",
        start,
    )
    assert ck.leftovers == ()


def test_a_bare_number_beside_a_start_time_is_the_rate_source(tmp_path: Path) -> None:
    ck = Checkpoint.open(
        str(write(tmp_path, {"offsets/0": offset_text(["14"]), "sources/0/0": "v1\n1795177501878"}))
    )
    assert ck.sources[0].kind.name == "rate"


def test_a_bare_number_beside_a_file_log_is_the_file_source_of_spark_2(tmp_path: Path) -> None:
    files = {"offsets/0": offset_text(["0"]), "offsets/1": offset_text(["1"])}
    files |= {f"sources/0/{i}": f"v1\n{entry_line(str(i), i)}" for i in range(2)}
    ck = Checkpoint.open(str(write(tmp_path, files)))
    assert ck.sources[0].kind.name == "file"
    assert ck.progress("0", [0, 1]).total.tolist() == [1, 1]


def test_a_missing_initial_offset_leaves_the_start_of_batch_0_unknown(tmp_path: Path) -> None:
    ck = Checkpoint.open(
        str(write(tmp_path, {"offsets/0": offset_text([kafka_offset(5)]), "commits/0": commit_text()}))
    )
    assert ck.source_texts(0, "0") == (None, kafka_offset(5))
    assert ck.advance(0, "0").amount is None  # type: ignore[union-attr]
