"""The watermark per batch, its lag, where it stood still, and what that may be."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from core.analysis.watermark import WatermarkHistory, held_back_by, watermark_history
from core.checkpoint import Checkpoint
from tests.support.build import CONF_4_3, commit_text, copy_sample, write
from tests.support.watermarks import CLOCK_MS, MINUTE, behind, checkpoint
from ui.watermark_texts import headline, lag


def history(ck: Checkpoint) -> WatermarkHistory:
    return watermark_history(ck)


def test_each_batch_has_its_watermark_the_next_one_and_its_lag(tmp_path: Path) -> None:
    found = history(checkpoint(tmp_path, [0, *behind(10, 9, 8)]))
    assert found.in_force_ms.tolist() == [0, *behind(10, 9, 8)]
    assert found.next_ms.tolist() == [*behind(10, 9, 8), behind(8)[0]]
    assert math.isnan(found.lag_ms[0])
    assert found.lag_ms[1:].tolist() == [11 * MINUTE, 11 * MINUTE, 11 * MINUTE]
    assert found.has_watermark and not found.stalls and found.jump is None and found.went_back == ()


def test_a_query_without_watermark_says_so(tmp_path: Path) -> None:
    found = history(checkpoint(tmp_path, [0] * 8))
    assert not found.has_watermark and not found.stalls and found.restart_ms is None


def test_a_watermark_that_stands_still_while_data_comes_is_a_stall(tmp_path: Path) -> None:
    found = history(checkpoint(tmp_path, behind(10, 9, 8, 8, 8, 8, 8, 7, 6)))
    (stall,) = found.stalls
    assert (stall.first, stall.last, stall.batches, stall.data_batches) == (2, 5, 4, 4)
    assert stall.watermark_ms == behind(8)[0]
    assert stall.length_ms == 4 * MINUTE  # from the start of batch 2 to that of batch 6, which moved it
    assert not stall.reaches_end


def test_a_stall_that_lasts_until_today_reaches_the_end(tmp_path: Path) -> None:
    (stall,) = history(checkpoint(tmp_path, behind(10, 9, 8, 8, 8, 8))).stalls
    assert (stall.first, stall.last) == (2, 5) and stall.reaches_end


def test_a_pending_batch_at_the_end_of_a_stall_does_not_end_it(tmp_path: Path) -> None:
    (stall,) = history(checkpoint(tmp_path, behind(10, 9, 8, 8, 8, 8, 8), commits=range(6))).stalls
    assert stall.last == 5 and stall.reaches_end


def test_two_batches_at_one_watermark_are_everyday_life(tmp_path: Path) -> None:
    assert history(checkpoint(tmp_path, behind(10, 9, 9, 9, 8, 7))).stalls == ()


def test_batches_without_data_make_no_stall(tmp_path: Path) -> None:
    watermarks = behind(10, 9, 8, 8, 8, 8, 8, 7)
    positions = [[10, 20, 30, 30, 30, 30, 30, 40]]
    assert history(checkpoint(tmp_path, watermarks, positions=positions)).stalls == ()


def test_a_watermark_that_usually_rests_long_needs_a_longer_rest_for_a_stall(tmp_path: Path) -> None:
    usual = [minute for minute in (50, 40, 30, 20) for _ in range(6)]
    assert history(checkpoint(tmp_path, behind(*usual, 10))).stalls == ()


def test_the_source_that_brought_nothing_is_named(tmp_path: Path) -> None:
    watermarks = behind(10, 9, 8, 8, 8, 8, 8)
    moving, idle = [10, 20, 30, 40, 50, 60, 70], [10, 20, 20, 20, 20, 20, 20]
    (stall,) = history(checkpoint(tmp_path, watermarks, positions=[moving, idle])).stalls
    assert stall.idle_sources == ("1",)


def test_no_source_is_blamed_when_all_moved(tmp_path: Path) -> None:
    moving = [10, 20, 30, 40, 50, 60, 70]
    (stall,) = history(checkpoint(tmp_path, behind(10, 9, 8, 8, 8, 8, 8), positions=[moving, moving])).stalls
    assert stall.idle_sources == ()


def test_a_join_that_never_got_a_watermark_is_a_stall_once_another_value_is_known(tmp_path: Path) -> None:
    (stall,) = history(checkpoint(tmp_path, [0, 0, 0, 0, *behind(10, 9, 8)])).stalls
    assert stall.watermark_ms == 0 and (stall.first, stall.last) == (0, 2)


def test_before_spark_2_4_the_next_watermark_comes_from_the_next_entry(tmp_path: Path) -> None:
    found = history(checkpoint(tmp_path, behind(10, 9, 8), with_next=False))
    assert found.next_ms[:2].tolist() == behind(9, 8)


def test_a_watermark_ahead_of_the_clock_is_flagged_as_inferred(tmp_path: Path) -> None:
    found = history(checkpoint(tmp_path, [*behind(10, 9), CLOCK_MS + 86_400_000, CLOCK_MS + 86_400_000]))
    assert found.jump is not None
    assert (found.jump.batch_id, found.jump.certainty, str(found.jump.evidence)) == (
        1,
        "inferred",
        "commits/1",
    )
    assert found.jump.ahead_ms == 86_400_000 - MINUTE


def test_a_watermark_that_is_ahead_is_not_said_to_be_stuck_by_old_event_times(tmp_path: Path) -> None:
    future = CLOCK_MS + 30 * 86_400_000
    ck = checkpoint(tmp_path, [*behind(10, 9, 8), *[future] * 5])
    found = history(ck)
    (stall,) = found.stalls
    assert stall.reaches_end and held_back_by(ck, found, stall).key == "watermark.held_back_by_future"
    assert found.ahead_ms == future - CLOCK_MS - 7 * MINUTE
    assert headline(ck, found).startswith("The watermark is 29 d 23 h ahead of the clock of batch 7: ")
    assert lag(found)[:2] == ("Newest lag", "29 d 23 h ahead"), "a median would be a lag that no batch had"
    assert "From Spark 3.4 on late rows are judged by the watermark of the batch before" in found.rule


def test_the_median_lag_is_one_that_a_batch_had(tmp_path: Path) -> None:
    assert lag(history(checkpoint(tmp_path, behind(10, 1))))[:2] == ("Median lag", "2 min")


def test_a_watermark_a_second_ahead_is_no_jump(tmp_path: Path) -> None:
    assert history(checkpoint(tmp_path, [0, CLOCK_MS + 1_000])).jump is None


def test_a_watermark_that_went_back_is_told(tmp_path: Path) -> None:
    assert history(checkpoint(tmp_path, behind(10, 9, 12, 8))).went_back == (2,)


@pytest.mark.parametrize(("policy", "word"), [("min", "smallest"), ("max", "largest")])
def test_the_rule_names_the_policy_of_the_log(tmp_path: Path, policy: str, word: str) -> None:
    conf = CONF_4_3 | {"spark.sql.streaming.multipleWatermarkPolicy": policy}
    moving = [10, 20, 30]
    found = history(checkpoint(tmp_path, behind(10, 9, 8), positions=[moving, moving], conf=conf))
    assert found.policy == policy and word in found.rule


def test_without_a_policy_in_the_log_the_rule_says_that_min_applies(tmp_path: Path) -> None:
    moving = [10, 20, 30]
    found = history(
        checkpoint(
            tmp_path, behind(10, 9, 8), positions=[moving, moving], conf={"spark.sql.shuffle.partitions": "2"}
        )
    )
    assert found.policy is None and "so min" in found.rule


def test_the_next_start_takes_the_larger_of_offset_and_commit(tmp_path: Path) -> None:
    root = tmp_path
    ck = checkpoint(root, behind(10, 9, 8))
    assert history(ck).restart_ms == behind(8)[0]
    write(root, {"commits/2": commit_text(CLOCK_MS)})
    assert history(Checkpoint.open(str(root))).restart_ms == CLOCK_MS


def test_only_the_asked_batches_are_read_and_told(tmp_path: Path) -> None:
    checkpoint(tmp_path, behind(*range(30, 10, -1)))
    ck = Checkpoint.open(str(tmp_path), newest=2)
    found = watermark_history(ck, [3, 4, 5, 400])
    assert found.batch_ids.tolist() == [3, 4, 5] and found.total_batches == 20


def test_an_unreadable_entry_is_left_out_and_the_rest_still_told(tmp_path: Path) -> None:
    checkpoint(tmp_path, behind(10, 9, 8, 7))
    write(tmp_path, {"offsets/1": "v1\n{broken"})
    assert history(Checkpoint.open(str(tmp_path))).batch_ids.tolist() == [0, 2, 3]


def test_a_real_join_whose_watermark_is_held_back_by_an_idle_source(tmp_path: Path) -> None:
    found = history(Checkpoint.open(str(copy_sample("join-watermark-held-back", tmp_path))))
    (stall,) = found.stalls
    assert stall.reaches_end and len(stall.idle_sources) == 1 and found.policy == "min"


def test_a_real_query_without_watermark(tmp_path: Path) -> None:
    assert not history(Checkpoint.open(str(copy_sample("files-stopped-cleanly", tmp_path)))).has_watermark


def test_the_headline_says_how_often_the_watermark_moved(tmp_path: Path) -> None:
    moved = history(checkpoint(tmp_path / "moved", behind(10, 9, 9, 9, 8, 7)))
    assert moved.stalls == () and moved.headline.endswith("; it moved 3 times in 6 batches.")
    stalled = history(checkpoint(tmp_path / "stalled", behind(10, 9, 8, 8, 8, 8, 8, 7, 6)))
    assert stalled.headline.endswith("; it did not move for 4 batches (2 to 5).")
    still = history(checkpoint(tmp_path / "still", behind(9, 9)))
    assert still.headline.endswith("; it did not move in 2 batches.")
