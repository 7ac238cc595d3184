"""The timeline: one row per batch, its status, its times, and when file times say nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from core.analysis.timeline import STATUSES, Timeline, bins, build_timeline, moves
from core.checkpoint import Checkpoint
from tests.support.build import commit_text, copy_sample, kafka_checkpoint, kafka_offset, offset_text, write

START_MS = 1_795_176_000_000  # of the batches that tests/support/build.py writes, 10 s apart


def times_of_batches(root: Path, took_ms: int = 2_000, delay_ms: int = 50) -> Path:
    """File times as a running query leaves them: the offset file at the start of each batch, the commit file
    ``took_ms`` later."""
    for log, after in (("offsets", delay_ms), ("commits", delay_ms + took_ms)):
        for path in (root / log).iterdir():
            ms = START_MS + int(path.name) * 10_000 + after
            os.utime(path, ns=(ms * 1_000_000, ms * 1_000_000))
    return root


def times_of_a_copy(root: Path) -> Path:
    """File times as a copy leaves them: all within a second, years later."""
    for at, path in enumerate(sorted(root.rglob("*"))):
        ms = START_MS + 86_400_000 + at
        os.utime(path, ns=(ms * 1_000_000, ms * 1_000_000))
    return root


def timeline_of(root: Path, newest: int = 100) -> Timeline:
    return build_timeline(Checkpoint.open(str(root), newest=newest))


def statuses(timeline: Timeline) -> list[str]:
    return [STATUSES[int(code)] for code in timeline.status]


def test_each_batch_has_its_start_duration_and_the_gap_to_the_next(tmp_path: Path) -> None:
    timeline = timeline_of(times_of_batches(kafka_checkpoint(tmp_path, range(4))))
    assert timeline.batch_ids.tolist() == [0, 1, 2, 3]
    assert statuses(timeline) == ["committed"] * 4
    assert timeline.planned_ms.tolist() == [START_MS + i * 10_000 for i in range(4)]
    assert timeline.duration_ms.tolist() == [2_000] * 4
    assert timeline.gap_ms.tolist() == [10_000, 10_000, 10_000, -1]
    assert timeline.has_durations and not timeline.is_copy and timeline.removed_before is None


def test_a_copied_checkpoint_keeps_the_starts_of_the_log_and_has_no_durations(tmp_path: Path) -> None:
    timeline = timeline_of(times_of_a_copy(kafka_checkpoint(tmp_path, range(6))))
    assert timeline.is_copy and timeline.times == "log"
    assert timeline.planned_ms.tolist() == [START_MS + i * 10_000 for i in range(6)]
    assert timeline.gap_ms.tolist() == [10_000] * 5 + [-1]
    assert not timeline.has_durations
    assert "were copied" in timeline.times_note and "cannot be known" in timeline.times_note


@pytest.mark.parametrize(("log", "gaps"), [("offsets", 4), ("commits", 5)])
def test_the_time_of_a_damaged_file_is_not_that_of_its_batch(tmp_path: Path, log: str, gaps: int) -> None:
    root = times_of_batches(kafka_checkpoint(tmp_path, range(6)))
    assert timeline_of(root).duration_ms[5] > 0
    (root / log / "5").write_text("v1\n{")  # now, long after the batch
    timeline = timeline_of(root)
    assert timeline.duration_ms[5] == -1
    assert timeline.gap_ms.tolist() == [10_000] * gaps + [-1] * (6 - gaps)


def test_a_copy_made_right_after_a_short_run_is_seen_by_how_close_its_files_lie(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(6))
    for path in root.rglob("*"):
        os.utime(path, ns=((START_MS + 60_000) * 1_000_000,) * 2)
    assert timeline_of(root).is_copy


def short_run(root: Path, gap_ms: int) -> Path:
    """Eight batches, ``gap_ms`` from one to the next."""
    kafka_checkpoint(root, range(8))
    for batch in range(8):
        text = offset_text([kafka_offset(batch)], timestamp_ms=START_MS + gap_ms * batch)
        write(root, {f"offsets/{batch}": text})
    return root


def set_times(root: Path, times: dict[str, int]) -> Path:
    for name, ms in times.items():
        os.utime(root / name, ns=(ms * 1_000_000,) * 2)
    return root


NAMES = [f"{log}/{batch}" for log in ("commits", "offsets") for batch in range(8)]


@pytest.mark.parametrize("gap_ms", [60, 1_000])
def test_a_copy_of_a_short_run_is_seen(tmp_path: Path, gap_ms: int) -> None:
    """All within two milliseconds, which no query reaches whose log says otherwise."""
    root = set_times(
        short_run(tmp_path, gap_ms), {name: START_MS + 22_000 + at // 8 for at, name in enumerate(NAMES)}
    )
    timeline = timeline_of(root)
    assert timeline.is_copy and not timeline.has_durations


def test_an_upload_that_takes_as_long_as_the_batches_is_seen_by_the_order(tmp_path: Path) -> None:
    """Directory by directory, whole seconds, as an object store keeps them."""
    root = set_times(
        short_run(tmp_path, 1_000), {name: START_MS + 60_000 + at * 1_000 for at, name in enumerate(NAMES)}
    )
    timeline = timeline_of(root)
    assert timeline.is_copy and not timeline.has_durations


@pytest.mark.parametrize("whole", [1, 1_000])
@pytest.mark.parametrize("skew_ms", [-90_000, 0, 90_000])
@pytest.mark.parametrize("gap_ms", [10, 60, 400, 3_000])
def test_a_fast_query_is_no_copy_whatever_its_clocks_say(
    tmp_path: Path, gap_ms: int, skew_ms: int, whole: int
) -> None:
    """The clock of the store differs from that of the driver, and may keep whole seconds."""
    times = {}
    for batch in range(8):
        planned = START_MS + gap_ms * batch + skew_ms
        times[f"offsets/{batch}"] = (planned + gap_ms // 5) // whole * whole
        times[f"commits/{batch}"] = (planned + gap_ms * 4 // 5) // whole * whole
    assert not timeline_of(set_times(short_run(tmp_path, gap_ms), times)).is_copy


def test_a_file_that_was_put_back_makes_no_copy(tmp_path: Path) -> None:
    root = times_of_batches(kafka_checkpoint(tmp_path, range(6)))
    set_times(root, {"offsets/2": START_MS + 300_000, "commits/3": START_MS + 300_000})
    assert not timeline_of(root).is_copy


def test_batches_that_were_written_after_a_copy_keep_their_file_times(tmp_path: Path) -> None:
    root = times_of_batches(kafka_checkpoint(tmp_path, range(6)))
    restored_ms = START_MS + 86_400_000
    for log in ("offsets", "commits"):
        for batch in range(3):
            os.utime(root / log / str(batch), ns=(restored_ms * 1_000_000,) * 2)
    later = {batch: restored_ms + 60_000 * batch for batch in (3, 4, 5)}
    for batch, ms in later.items():
        write(root, {f"offsets/{batch}": offset_text([kafka_offset(batch)], timestamp_ms=ms)})
        os.utime(root / "offsets" / str(batch), ns=((ms + 40) * 1_000_000,) * 2)
        os.utime(root / "commits" / str(batch), ns=((ms + 5_040) * 1_000_000,) * 2)
    timeline = timeline_of(root)
    assert timeline.is_copy
    assert timeline.duration_ms.tolist() == [-1, -1, -1, 5_000, 5_000, 5_000]


def test_times_of_batches_that_were_not_read_come_from_their_files(tmp_path: Path) -> None:
    timeline = timeline_of(times_of_batches(kafka_checkpoint(tmp_path, range(8))), newest=3)
    assert timeline.planned_from_log.tolist() == [False] * 5 + [True] * 3
    assert timeline.planned_ms[0] == START_MS + 50
    assert timeline.duration_ms.tolist() == [2_000] * 8
    assert "3 batches that were read" in timeline.times_note


def test_unread_batches_of_a_copy_have_no_times(tmp_path: Path) -> None:
    timeline = timeline_of(times_of_a_copy(kafka_checkpoint(tmp_path, range(8))), newest=3)
    assert timeline.planned_ms[:5].tolist() == [-1] * 5
    assert timeline.gap_ms.tolist() == [-1] * 5 + [10_000, 10_000, -1]


def test_the_newest_batch_without_commit_is_pending(tmp_path: Path) -> None:
    timeline = timeline_of(kafka_checkpoint(tmp_path, range(4), commits=range(3)))
    assert statuses(timeline) == ["committed", "committed", "committed", "pending"]
    assert timeline.pending_batch == 3
    assert timeline.duration_ms[3] == -1


def test_an_older_batch_without_commit_is_not_called_pending(tmp_path: Path) -> None:
    timeline = timeline_of(kafka_checkpoint(tmp_path, range(5), commits=[0, 1, 3, 4]))
    assert statuses(timeline) == ["committed", "committed", "missing_commit", "committed", "committed"]


def test_a_commit_without_offset_is_told(tmp_path: Path) -> None:
    timeline = timeline_of(kafka_checkpoint(tmp_path, [0, 1, 3], commits=range(4)))
    assert statuses(timeline) == ["committed", "committed", "missing_offset", "committed"]


def test_a_log_without_any_commits_is_no_row_of_missing_commits(tmp_path: Path) -> None:
    timeline = timeline_of(kafka_checkpoint(tmp_path, range(3), commits=[]))
    assert statuses(timeline) == ["superseded", "superseded", "pending"]


def test_half_of_the_oldest_batch_may_be_removed_already(tmp_path: Path) -> None:
    timeline = timeline_of(kafka_checkpoint(tmp_path, range(30, 35), commits=range(29, 35)))
    assert statuses(timeline)[0] == "retention_edge"
    assert timeline.removed_before == 29


def test_a_lost_first_offset_of_a_log_that_begins_at_zero_is_no_retention(tmp_path: Path) -> None:
    timeline = timeline_of(kafka_checkpoint(tmp_path, range(1, 5), commits=range(5)))
    assert statuses(timeline)[0] == "missing_offset"
    assert timeline.removed_before is None


def test_an_unreadable_file_marks_its_batch(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(4))
    write(root, {"offsets/1": "v1\n{broken", "commits/2": "v1\n{broken"})
    assert statuses(timeline_of(root)) == ["committed", "unreadable", "unreadable", "committed"]


def test_ids_without_any_file_are_gaps(tmp_path: Path) -> None:
    timeline = timeline_of(kafka_checkpoint(tmp_path, [0, 1, 2, 3, 4, 5, 6, 7, 10, 11]))
    assert [(gap.first, gap.last, gap.is_legal) for gap in timeline.gaps] == [(8, 9, False)]
    assert timeline.row(8) is None


def test_gaps_of_asynchronous_progress_are_legal(tmp_path: Path) -> None:
    timeline = timeline_of(kafka_checkpoint(tmp_path, [0, 3, 7, 12, 16, 21]))
    assert timeline.gaps and all(gap.is_legal for gap in timeline.gaps)
    assert set(statuses(timeline)) == {"committed"}


def test_a_stray_file_with_a_huge_number_makes_one_gap_and_no_long_list(tmp_path: Path) -> None:
    timeline = timeline_of(kafka_checkpoint(tmp_path, [0, 1, 2, 999_999_999_999]))
    assert len(timeline) == 4
    assert timeline.gaps[0].size == 999_999_999_996


def test_an_empty_checkpoint_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "commits").mkdir()
    timeline = timeline_of(tmp_path)
    assert len(timeline) == 0 and timeline.gaps == () and timeline.times == "none"


def test_a_commit_file_older_than_its_offset_file_gives_no_duration(tmp_path: Path) -> None:
    root = times_of_batches(kafka_checkpoint(tmp_path, range(3)))
    os.utime(root / "commits" / "1", ns=(START_MS * 1_000_000,) * 2)
    assert timeline_of(root).duration_ms.tolist() == [2_000, -1, 2_000]


@pytest.mark.parametrize(
    ("last", "size", "expected"),
    [
        (None, 3, [7, 8, 9]),
        (4, 3, [2, 3, 4]),
        (0, 3, [0, 1, 2]),
        (99, 4, [6, 7, 8, 9]),
        (5, 50, list(range(10))),
    ],
)
def test_a_window_ends_where_it_was_asked_to_and_is_always_full(
    tmp_path: Path, last: int | None, size: int, expected: Sequence[int]
) -> None:
    timeline = timeline_of(kafka_checkpoint(tmp_path, range(10)))
    assert timeline.batch_ids[timeline.window(last, size)].tolist() == expected


@pytest.mark.parametrize(
    ("batch", "expected"), [(0, (None, 1)), (1, (0, 2)), (4, (2, 6)), (7, (6, None)), (99, (7, None))]
)
def test_the_neighbours_of_a_batch_are_the_logged_ones(
    tmp_path: Path, batch: int, expected: tuple[int | None, int | None]
) -> None:
    assert timeline_of(kafka_checkpoint(tmp_path, [0, 1, 2, 6, 7])).neighbours(batch) == expected


def test_bins_keep_a_single_slow_batch_visible(tmp_path: Path) -> None:
    root = times_of_batches(kafka_checkpoint(tmp_path, range(60)))
    ms = START_MS + 31 * 10_000 + 90_000
    os.utime(root / "commits" / "31", ns=(ms * 1_000_000,) * 2)
    found = bins(timeline_of(root), "duration_ms", most=6)
    assert found.size == 10 and len(found.first) == 6
    assert (int(found.first[3]), int(found.last[3])) == (30, 39)
    assert found.maximum[3] == pytest.approx(89_950)
    assert found.median.tolist() == [2_000.0] * 6


def test_bins_without_a_known_value_are_empty_not_zero(tmp_path: Path) -> None:
    found = bins(timeline_of(times_of_a_copy(kafka_checkpoint(tmp_path, range(8)))), "duration_ms", most=2)
    assert np.isnan(found.maximum).all()


def test_columns_cannot_be_changed(tmp_path: Path) -> None:
    timeline = timeline_of(kafka_checkpoint(tmp_path, range(3)))
    with pytest.raises(ValueError, match="read-only"):
        timeline.planned_ms[0] = 0


def test_moves_tell_before_after_and_difference_of_each_partition(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(3))
    found = moves(Checkpoint.open(str(root)), 2, "0")
    assert [(m.partition, m.before, m.after, m.difference) for m in found] == [
        ("orders-0", 10, 15, 5),
        ("orders-1", 10, 15, 5),
    ]


def test_moves_of_a_new_partition_do_not_invent_a_start(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(3))
    write(root, {"offsets/2": offset_text([kafka_offset(15, partitions=3)]), "commits/2": commit_text()})
    found = {m.partition: m for m in moves(Checkpoint.open(str(root)), 2, "0")}
    assert found["orders-2"].before is None and found["orders-2"].after == 15


def test_moves_of_an_unknown_source_are_empty(tmp_path: Path) -> None:
    assert moves(Checkpoint.open(str(kafka_checkpoint(tmp_path, range(2)))), 1, "7") == ()


def test_a_real_query_that_died_in_a_batch(tmp_path: Path) -> None:
    timeline = timeline_of(copy_sample("files-died-mid-batch", tmp_path))
    assert statuses(timeline) == ["committed"] * 7 + ["pending"]
    assert timeline.planned_from_log.all()


def test_a_real_query_that_was_purged(tmp_path: Path) -> None:
    timeline = timeline_of(copy_sample("purged-to-newest-10", tmp_path))
    assert timeline.removed_before == int(timeline.batch_ids[0]) > 0
    assert "missing_offset" not in statuses(timeline) and "missing_commit" not in statuses(timeline)
