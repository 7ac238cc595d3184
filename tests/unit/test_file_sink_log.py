"""The log of the file sink: its newest batch, what each batch wrote, holes, and files that nobody names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from core.connectors.file_sink_log import FileSinkLog
from core.errors import FileSinkLogError
from core.settings import Settings


def entry(name: str, size: int = 10) -> str:
    return json.dumps(
        {"path": f"file:///elsewhere/out/{name}", "size": size, "isDir": False, "action": "add"}
    )


def output(root: Path, batches: dict[str, list[str]]) -> Path:
    """An output directory with these log files; every file that an entry names is there."""
    log = root / "_spark_metadata"
    log.mkdir(parents=True)
    for name, files in batches.items():
        (log / name).write_text("\n".join(["v1", *(entry(file) for file in files)]), encoding="utf-8")
        for file in files:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_bytes(b"x")
    return root


def test_the_newest_batch_and_the_files_of_each(tmp_path: Path) -> None:
    log = FileSinkLog.open(str(output(tmp_path, {"0": ["a", "b"], "1": [], "2": ["c"]})))
    assert (log.newest, log.batch_ids, log.missing) == (2, (0, 1, 2), ())
    assert [(b.batch_id, b.files, b.size_bytes) for b in log.batches().batches] == [
        (2, 1, 10),
        (1, 0, 0),
        (0, 2, 20),
    ]


def test_opening_costs_one_listing_and_no_read(tmp_path: Path) -> None:
    log = FileSinkLog.open(str(output(tmp_path, {"0": ["a"]})))
    assert (log.requests.list, log.requests.get) == (1, 0)


def test_a_compact_file_holds_all_before_it_and_its_own_files_are_told_apart(tmp_path: Path) -> None:
    log = FileSinkLog.open(
        str(output(tmp_path, {"0": ["a"], "1": ["b"], "2.compact": ["a", "b", "c", "d"], "3": ["e"]}))
    )
    assert [(b.batch_id, b.files) for b in log.batches().batches] == [(3, 1), (2, 2), (1, 1), (0, 1)]
    assert log.named_files == {"a", "b", "c", "d", "e"}


def test_entries_before_a_compact_file_may_be_gone_and_then_its_own_files_are_not_known(
    tmp_path: Path,
) -> None:
    log = FileSinkLog.open(str(output(tmp_path, {"9.compact": ["a", "b"], "10": ["c"]})))
    assert log.missing == () and log.newest == 10
    assert [(b.batch_id, b.files) for b in log.batches().batches] == [(10, 1), (9, None)]


def test_a_hole_after_the_newest_compact_file_is_named(tmp_path: Path) -> None:
    log = FileSinkLog.open(str(output(tmp_path, {"9.compact": ["a"], "10": ["b"], "12": ["c"]})))
    assert log.missing == (11,)
    assert not log.unknown_files.known


def test_a_log_that_begins_in_the_middle_without_a_compact_file_has_a_hole(tmp_path: Path) -> None:
    assert FileSinkLog.open(str(output(tmp_path, {"5": ["a"]}))).missing == (0, 1, 2, 3, 4)


def test_files_that_no_entry_names_are_found_also_below_partition_directories(tmp_path: Path) -> None:
    root = output(tmp_path, {"0": ["day=1/a", "day=2/b"]})
    for name in ("day=1/left-over", "day=1/_hidden", ".a.crc", "_temporary/x"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(b"y")
    found = FileSinkLog.open(str(root)).unknown_files
    assert found.known and [info.path for info in found.files] == ["day=1/left-over"]


def test_many_directories_are_not_all_listed_and_it_is_said(tmp_path: Path) -> None:
    root = output(tmp_path, {"0": [f"day={i}/a{i}" for i in range(20)]})
    found = FileSinkLog.open(str(root), Settings(sink_directories=5)).unknown_files
    assert (
        found.known
        and found.words == "only 5 directories of the output were listed (setting sink_directories)"
    )


def test_a_limit_on_batches_is_said(tmp_path: Path) -> None:
    log = FileSinkLog.open(str(output(tmp_path, {str(i): [f"f{i}"] for i in range(6)})))
    found = log.batches(limit=2)
    assert [b.batch_id for b in found.batches] == [5, 4] and "newest 2 of 6" in found.limit_words


def test_a_directory_without_a_log_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        FileSinkLogError,
        match=r"No file sink log at .*: _spark_metadata is not there; give the output directory",
    ):
        FileSinkLog.open(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", " is empty (0 bytes): the write was interrupted"),
        ("v2\n", ":1 has format version 2; only version 1 is known (Spark 4.3), so it is not interpreted"),
        ("v1\n{", ":2 ends in the middle (after 1 character)"),
        ('v1\n{"size":1}', ":2 is not a file entry (path expected)"),
    ],
)
def test_a_broken_log_file_is_named_and_its_files_are_not_guessed(
    tmp_path: Path, text: str, sentence: str
) -> None:
    root = output(tmp_path, {"0": ["a"]})
    (root / "_spark_metadata" / "1").write_text(text, encoding="utf-8")
    log = FileSinkLog.open(str(root))
    assert [(b.batch_id, b.files) for b in log.batches().batches] == [(1, None), (0, 1)]
    assert log.problems == (f"{root}/_spark_metadata/1{sentence}.",)
    assert not log.unknown_files.known


def test_the_samples_are_read_as_spark_wrote_them(samples: Path) -> None:
    clean = FileSinkLog.open(str(samples / "files-stopped-cleanly/sink"))
    assert (
        clean.newest == 13
        and clean.unknown_files.files == ()
        and all(b.files == 1 for b in clean.batches().batches)
    )
    died = FileSinkLog.open(str(samples / "files-died-mid-batch/sink"))
    assert died.newest == 6 and len(died.unknown_files.files) == 1


def test_the_log_of_a_copied_output_still_names_its_files(samples: Path, tmp_path: Path) -> None:
    shutil.copytree(samples / "files-stopped-cleanly/sink", tmp_path / "copy")
    assert FileSinkLog.open(str(tmp_path / "copy")).unknown_files.files == ()
