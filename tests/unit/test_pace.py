"""How a query gets on: the figures against numbers worked out from the files by hand."""

from __future__ import annotations

import json
import os
from pathlib import Path
from statistics import median

import pytest

from core.analysis.pace import duration_pace, input_pace, state_pace, watermark_pace
from core.analysis.timeline import build_timeline
from core.analysis.watermark import watermark_history
from core.checkpoint import Checkpoint
from core.checkpoint.state import state_inventory
from core.messages import words
from tests.support.build import PROJECT, kafka_checkpoint
from ui.live_figures import course

SAMPLES = PROJECT / "sample_checkpoints"


def opened(name: str) -> Checkpoint:
    return Checkpoint.open(str(SAMPLES / name / "checkpoint"))


def entry(name: str, batch: int) -> tuple[int, dict[str, dict[str, int]]]:
    """The time and the Kafka offsets of a batch, from the file."""
    lines = (SAMPLES / name / "checkpoint/offsets" / str(batch)).read_text().splitlines()
    return json.loads(lines[1])["batchTimestampMs"], json.loads(lines[2])


def test_the_input_of_kafka_is_the_offsets_over_the_time_from_start_to_start() -> None:
    name = "kafka-pipeline-died-mid-batch"
    ck = opened(name)
    first, last = ck.offset_ids[0], ck.offset_ids[-1]
    (began, _), (ended, _) = entry(name, first), entry(name, last)
    read = 0
    for batch in range(first, last):  # the last batch has no next one
        before = entry(name, batch - 1)[1] if batch > first else {}
        now = entry(name, batch)[1]
        read += sum(
            offset - before.get(topic, {}).get(partition, 0)
            for topic, partitions in now.items()
            for partition, offset in partitions.items()
        )
    found = input_pace(ck, build_timeline(ck))
    assert found is not None and found.value == f"{round(read * 1000 / (ended - began))} offsets/s"
    assert found.note == f"on average; newest {last - first} batches" and len(found.series) == last - first


def test_the_input_of_files_is_counted_in_batches() -> None:
    ck = opened("files-stopped-cleanly")
    found = input_pace(ck, build_timeline(ck))
    assert found is not None and "batches/min" in found.value
    assert found.is_of_batches and found.note.endswith("what they read: Timeline")


@pytest.mark.parametrize(
    ("gap_ms", "said"),
    [
        (100, "100 offsets/s"),
        (20_000, "30 offsets/min"),
        (3_000_000, "12 offsets/h"),
        (36_000_000, "1 offset/h"),
        (72_000_000, "12 offsets/d"),
        (6_000_000, "6 offsets/h"),
        (7_000_000, "5.1 offsets/h"),
    ],
)
def test_a_rate_is_given_in_a_period_in_which_there_is_one(tmp_path: Path, gap_ms: int, said: str) -> None:
    root = kafka_checkpoint(tmp_path / "ck", range(12), commits=range(12))
    for batch in range(12):
        path = root / "offsets" / str(batch)
        lines = path.read_text().splitlines()
        header = json.loads(lines[1]) | {"batchTimestampMs": 1_795_176_000_000 + batch * gap_ms}
        path.write_text("\n".join([lines[0], json.dumps(header), *lines[2:]]))
    ck = Checkpoint.open(str(root))
    found = input_pace(ck, build_timeline(ck))
    assert found is not None and found.value == said


def test_one_batch_is_a_batch() -> None:
    assert [words.amount(1, unit) for unit in ("batches", "files", "log ids")] == [
        "1 batch",
        "1 file",
        "1 log id",
    ]
    assert words.amount(2, "batches") == "2 batches"


def test_the_duration_is_the_median_of_the_file_times_and_unknown_in_a_copy(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path / "ck", range(9), commits=range(9))
    took = [1000 * (batch + 1) for batch in range(9)]
    for batch, ms in enumerate(took):
        start = json.loads((root / "offsets" / str(batch)).read_text().splitlines()[1])["batchTimestampMs"]
        for log, after in (("offsets", 0), ("commits", ms)):
            os.utime(root / log / str(batch), ns=((start + after) * 1_000_000,) * 2)
    found = duration_pace(build_timeline(Checkpoint.open(str(root))))
    assert found is not None and found.value == f"{median(took) / 1000:.1f} s"
    assert list(found.series) == took
    assert found.note == "longest 9.0 s; newest 9 batches", "of few batches 95 % are all"
    for log in ("offsets", "commits"):
        for path in (root / log).iterdir():
            os.utime(path)
    copied = duration_pace(build_timeline(Checkpoint.open(str(root))))
    assert copied is not None and (copied.value, copied.series) == ("not known", ())
    assert "copy" in copied.note


def test_the_state_names_the_partition_that_holds_most() -> None:
    found = state_pace(state_inventory(opened("windowed-aggregation-hot-partition")))
    assert found is not None and found.note == "partition 1 of operator 0 holds 81%"
    even = state_pace(state_inventory(opened("missing-delta-file")))
    assert even is not None and even.note == "balanced over 4 partitions"


def test_the_watermark_says_how_far_behind_and_since_when_it_stands_still() -> None:
    ck = opened("join-watermark-held-back")
    history = watermark_history(ck)
    found = watermark_pace(history)
    assert found is not None and found.value == "2 h 5 min"
    assert "stands still since batch 4 (6 batches)" in found.note
    assert found.series[-1] == history.lag_ms[-1]
    none = watermark_pace(watermark_history(opened("files-stopped-cleanly")))
    assert none is None


def test_an_empty_checkpoint_has_no_figures(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path / "ck", range(1))
    (root / "offsets" / "0").unlink()
    (root / "commits" / "0").unlink(missing_ok=True)
    ck = Checkpoint.open(str(root))
    timeline = build_timeline(ck)
    assert (input_pace(ck, timeline), duration_pace(timeline)) == (None, None)
    assert watermark_pace(watermark_history(ck)) is None


def test_a_course_holds_numbers_only_and_fits_its_place() -> None:
    drawn = course((1.0, -2.0, 5.0))
    inside = drawn.split("polygon(")[1].split(")")[0]
    corners = [tuple(float(part.rstrip("%")) for part in corner.split()) for corner in inside.split(", ")]
    assert corners[0] == (0, 100) and corners[-1] == (100, 100) and len(corners) == 5
    assert all(0 <= x <= 100 and 0 <= y <= 100 for x, y in corners)
    assert min(corners[1:-1], key=lambda corner: corner[1]) == corners[3], "the largest is the highest"


@pytest.mark.parametrize(("batches", "note"), [(20, "longest 20 s"), (21, "95 % within 20 s")])
def test_of_many_batches_most_are_within_less_than_the_longest(
    tmp_path: Path, batches: int, note: str
) -> None:
    root = kafka_checkpoint(tmp_path, range(batches))
    for batch in range(batches):
        start = json.loads((root / "offsets" / str(batch)).read_text().splitlines()[1])["batchTimestampMs"]
        for log, after in (("offsets", 0), ("commits", 1000 * (batch + 1))):
            os.utime(root / log / str(batch), ns=((start + after) * 1_000_000,) * 2)
    found = duration_pace(build_timeline(Checkpoint.open(str(root))))
    assert found is not None and found.note == f"{note}; newest {batches} batches"
