"""Two checkpoints side by side: each kind of single difference is found and nothing else, equal copies have none,
and what could not be read is no difference."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from core.analysis.comparison import AREAS, READ_AT_ONCE, compare
from core.checkpoint import Checkpoint
from core.cli import main
from core.messages.comparison import AREAS as NAMES
from core.settings import Settings
from tests.support.build import PROJECT, kafka_checkpoint, sample_names

SAMPLES = PROJECT / "sample_checkpoints"
KAFKA, FILES, STATE = "kafka-topic-gained-partitions", "files-stopped-cleanly", "join-watermark-held-back"
Change = Callable[[Path], object]


def copied(name: str, place: Path) -> Path:
    return Path(shutil.copytree(SAMPLES / name / "checkpoint", place))


def in_header(batch: int, change: Callable[[dict[str, object]], object]) -> Change:
    """Changes the second line of an entry of the offset log."""

    def edit(root: Path) -> None:
        path = root / "offsets" / str(batch)
        lines = path.read_text().splitlines()
        header = json.loads(lines[1])
        change(header)
        path.write_text("\n".join([lines[0], json.dumps(header, separators=(",", ":")), *lines[2:]]))

    return edit


def replaced(path: str, pattern: str, by: str) -> Change:
    def edit(root: Path) -> None:
        text = (root / path).read_text()
        changed = re.sub(pattern, by, text, count=1)
        assert changed != text
        (root / path).write_text(changed)

    return edit


def without(path: str) -> Change:
    return lambda root: (root / path).unlink()


def one_of(root: Path, pattern: str) -> Path:
    return sorted(path for path in root.glob(pattern) if not path.name.startswith("."))[-1]


def longer(pattern: str) -> Change:
    return lambda root: one_of(root, pattern).write_bytes(one_of(root, pattern).read_bytes() + b"x")


def flipped(pattern: str) -> Change:
    def edit(root: Path) -> None:
        path = one_of(root, pattern)
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)

    return edit


def set_conf(header: dict[str, object]) -> None:
    header["conf"] = {**dict(header["conf"]), "spark.sql.shuffle.partitions": "7"}  # type: ignore[call-overload]


ONE: dict[str, tuple[str, Change, str, str]] = {
    "another query id": (
        KAFKA,
        replaced("metadata", r'"id":"[0-9a-f]{8}', '"id":"00000000'),
        "metadata",
        "query ID",
    ),
    "no metadata": (KAFKA, without("metadata"), "metadata", "query ID"),
    "an entry of the offset log away": (KAFKA, without("offsets/9"), "offsets", "batch 9"),
    "a position": (
        KAFKA,
        replaced("offsets/9", r'"0":(\d+)', '"0":1'),
        "offsets",
        r"batch 9, source 0, .+-0",
    ),
    "a partition more": (
        KAFKA,
        replaced("offsets/9", r'"0":(\d+)', r'"0":\1,"77":5'),
        "offsets",
        r"batch 9, source 0, .+-77",
    ),
    "a source more": (
        FILES,
        lambda root: (root / "offsets/9").write_text((root / "offsets/9").read_text() + '\n{"logOffset":1}'),
        "offsets",
        "batch 9, source 1",
    ),
    "an offset without partitions": (
        FILES,
        replaced("offsets/9", r'"logOffset":\d+', '"logOffset":77'),
        "offsets",
        "batch 9, source 0",
    ),
    "a watermark": (
        STATE,
        in_header(7, lambda header: header.update(batchWatermarkMs=5)),
        "offsets",
        r"batch 7, watermark \(ms\)",
    ),
    "a time": (
        KAFKA,
        in_header(7, lambda header: header.update(batchTimestampMs=5)),
        "offsets",
        r"batch 7, time \(ms\)",
    ),
    "an unknown field": (
        KAFKA,
        in_header(7, lambda header: header.update(new=5)),
        "offsets",
        "batch 7, other fields",
    ),
    "white space": (KAFKA, replaced("offsets/7", r'",', '", '), "offsets", "batch 7, the text"),
    "a format version": (KAFKA, replaced("offsets/7", "^v1", "v2"), "offsets", "batch 7, format version"),
    "a damaged entry": (
        KAFKA,
        lambda root: (root / "offsets/7").write_text(""),
        "offsets",
        "batch 7",
    ),
    "a setting": (KAFKA, in_header(7, set_conf), "conf", "spark.sql.shuffle.partitions in batch 7"),
    "a commit away": (KAFKA, without("commits/5"), "commits", "batch 5"),
    "the next watermark of a commit": (
        STATE,
        replaced("commits/5", r'"nextBatchWatermarkMs":\d+', '"nextBatchWatermarkMs":3'),
        "commits",
        r"batch 5, next watermark \(ms\)",
    ),
    "an entry of a source log": (FILES, flipped("sources/0/7"), "sources", r"sources/0/7, from byte \d+ on"),
    "a source log entry away": (FILES, without("sources/0/7"), "sources", "sources/0/7"),
    "a state file away": (
        STATE,
        lambda root: one_of(root, "state/0/1/**/*.delta").unlink(),
        "state",
        r"state/0/1/.*\.delta",
    ),
    "a state file of another size": (STATE, longer("state/0/1/**/*.delta"), "state", r"state/0/1/.*\.delta"),
    "an operator more": (
        STATE,
        lambda root: shutil.copytree(
            root / "state/0/_metadata", root / "state/1/_metadata", ignore=shutil.ignore_patterns(".*")
        ),
        "state",
        "state/1/_metadata/metadata",
    ),
    "a foreign file": (KAFKA, lambda root: (root / "notes.txt").write_text("x"), "files", "notes.txt"),
}


@pytest.mark.parametrize("kind", ONE)
def test_a_single_difference_is_found_and_nothing_else(kind: str, tmp_path: Path) -> None:
    name, change, area, what = ONE[kind]
    a, b = copied(name, tmp_path / "a"), copied(name, tmp_path / "b")
    change(b)
    for root, other in ((a, b), (b, a)):
        found = compare(Checkpoint.open(str(root)), Checkpoint.open(str(other)), 100).differences
        assert {one.area for one in found} == {area}, found
        assert len(found) == 1, found
        assert re.fullmatch(what, found[0].what_with_unit), found
        assert "(ms)" not in found[0].what and (found[0].unit == "ms") == what.endswith(r"\(ms\)")
        assert found[0].a != found[0].b or "from byte" in found[0].what


def test_a_flipped_bit_in_a_state_file_is_found_when_the_bytes_are_read(tmp_path: Path) -> None:
    a, b = copied(STATE, tmp_path / "a"), copied(STATE, tmp_path / "b")
    flipped("state/0/1/**/*.delta")(b)
    one, other = Checkpoint.open(str(a)), Checkpoint.open(str(b))
    quick = compare(one, other, 100)
    assert quick.is_equal and "state file" in quick.not_compared[0] and "level deep" in quick.not_compared[0]
    deep = compare(one, other, 100, with_state_bytes=True)
    assert [difference.area for difference in deep.differences] == ["state"]
    assert "from byte" in deep.differences[0].what and deep.not_compared == ()
    files = [path for path in (a / "state").rglob("*") if path.is_file() and path.name[0] != "."]
    assert (quick.unread_files, deep.unread_files, deep.unread_bytes) == (len(files), 0, 0)
    assert quick.unread_bytes == sum(path.stat().st_size for path in files)


def test_state_files_for_which_no_time_is_left_are_named_and_not_called_equal_or_different(
    tmp_path: Path,
) -> None:
    a, b = copied(STATE, tmp_path / "a"), copied(STATE, tmp_path / "b")
    for path in (b / "state").rglob("*.delta"):
        path.write_bytes(bytes(path.stat().st_size))
    looked: list[bool] = []

    def is_over() -> bool:
        looked.append(True)
        return len(looked) > 1

    one, other = Checkpoint.open(str(a)), Checkpoint.open(str(b))
    whole = compare(one, other, 100, with_state_bytes=True)
    found = compare(one, other, 100, with_state_bytes=True, is_over=is_over)
    assert 0 < len(found.differences) <= READ_AT_ONCE < len(whole.differences)
    assert found.unread_files == compare(one, other, 100).unread_files - READ_AT_ONCE
    assert len(found.not_compared) == 1 and f"{found.unread_files} state files" in found.not_compared[0]


@pytest.mark.parametrize("name", sample_names())
def test_equal_copies_have_no_difference(name: str, tmp_path: Path) -> None:
    a, b = copied(name, tmp_path / "a"), copied(name, tmp_path / "b")
    for path in b.rglob("*"):
        os.utime(path)
    found = compare(Checkpoint.open(str(a)), Checkpoint.open(str(b)), 100, with_state_bytes=True)
    assert found.is_equal and found.not_compared == ()


def test_hadoop_checksum_files_are_one_difference(tmp_path: Path) -> None:
    a, b = copied(KAFKA, tmp_path / "a"), copied(KAFKA, tmp_path / "b")
    for batch in range(5):
        (b / "state/0/0" / f".{batch}.delta.crc").write_text("x")
    found = compare(Checkpoint.open(str(a)), Checkpoint.open(str(b)), 100).differences
    assert [one.area for one in found] in (["files"], [])
    assert all("checksum files" in one.what for one in found)


def test_batches_of_one_side_only_are_spans_and_older_ones_are_compared_by_name(tmp_path: Path) -> None:
    a = kafka_checkpoint(tmp_path / "a", range(60), commits=range(60))
    b = kafka_checkpoint(tmp_path / "b", range(20, 55), commits=range(20, 55))
    found = compare(Checkpoint.open(str(a)), Checkpoint.open(str(b)), 10)
    spans = [one.what for one in found.differences if one.area == "offsets"]
    assert spans == ["batches 0 to 19", "batches 55 to 59"]
    assert [text for text in found.not_compared if "25 batches of offsets before batch 45" in text]


@pytest.mark.parametrize("path", ["offsets/9", "commits/9", "metadata"])
def test_what_one_side_may_not_read_is_no_difference(path: str, tmp_path: Path) -> None:
    a, b = copied(KAFKA, tmp_path / "a"), copied(KAFKA, tmp_path / "b")
    (b / path).rename(tmp_path / "elsewhere")
    (b / path).symlink_to(tmp_path / "elsewhere")  # a server does not follow it
    served = Settings(address="10.0.0.1", roots={})
    found = compare(Checkpoint.open(str(a)), Checkpoint.open(str(b), served), 100)
    assert found.is_equal and any(path in text for text in found.not_compared)


def test_what_retention_took_away_meanwhile_is_no_difference(tmp_path: Path) -> None:
    a, b = copied(KAFKA, tmp_path / "a"), copied(KAFKA, tmp_path / "b")
    one, other = Checkpoint.open(str(a)), Checkpoint.open(str(b), newest=1)
    (b / "offsets/3").unlink()
    found = compare(one, other, 100)
    assert found.is_equal and any("offsets/3" in text for text in found.not_compared)


def test_the_verb_says_what_differs_and_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = copied(KAFKA, tmp_path / "a"), copied(KAFKA, tmp_path / "b")
    assert main(["compare", str(a), str(b)]) == 0
    assert "No difference" in capsys.readouterr().out
    (b / "commits/5").unlink()
    assert main(["compare", str(a), str(b)]) == 1
    text = capsys.readouterr().out
    assert "Commit log\n  batch 5: A has it, B does not have it" in text and "Not compared" in text
    assert main(["compare", str(a), str(b), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["equal"] is False
    assert answer["differences"] == [{"area": "commits", "what": "batch 5", "a": "has it", "b": None}]
    assert main(["compare", str(a), str(tmp_path / "gone")]) == 10
    assert main(["compare", str(a), str(b), "--last", "0"]) == 2


def test_every_area_has_a_name() -> None:
    assert list(NAMES) == list(AREAS)
