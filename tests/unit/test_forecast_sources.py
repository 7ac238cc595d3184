"""The source steps of the start: logs of file sources, offsets without a value, Kafka's plans."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from core.analysis.forecast.model import SINK_KINDS
from core.errors import StorageError
from core.storage import Door
from core.storage.listing import Listing
from tests.support.build import commit_text, kafka_checkpoint, kafka_offset, offset_text, remove, write
from tests.support.forecasting import METADATA, files_checkpoint, files_entry, said, stateful_conf, with_state


def ended_without_data(root: Path) -> None:
    """A stateful query whose last batch, 5, read nothing: it only moved the watermark."""
    files_checkpoint(root, conf=stateful_conf())
    write(
        root,
        {"offsets/5": offset_text(['{"logOffset":4}'], conf=stateful_conf()), "commits/5": commit_text()},
    )
    with_state(root, range(1, 7))


# The log of a file source


def test_a_gap_in_the_source_log_blocks_restart(tmp_path: Path) -> None:
    remove(files_checkpoint(tmp_path), "sources/0/2")
    answer = said(tmp_path)
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "start", "SOURCE_LOG_GAP")
    assert answer.error is not None
    assert answer.error.error_class == "FileNotFoundException"
    assert answer.error.message.endswith("/sources/0/2 doesn't exist (latestId: 4, compactInterval: 10)")


def test_a_gap_in_the_source_log_blocks_restart_also_without_offsets(tmp_path: Path) -> None:
    remove(
        files_checkpoint(tmp_path),
        "sources/0/2",
        *(f"offsets/{i}" for i in range(5)),
        *(f"commits/{i}" for i in range(5)),
    )
    assert said(tmp_path).reason == "SOURCE_LOG_GAP"


def test_entries_before_the_newest_compact_file_do_not_matter(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"sources/0/2.compact": files_entry(2)})
    remove(tmp_path, "sources/0/0", "sources/0/1", "sources/0/2")
    assert said(tmp_path).outcome == "resume"


def test_a_lost_compact_file_blocks_restart(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, batches=15)
    remove(tmp_path, *(f"sources/0/{i}" for i in range(10)))
    answer = said(tmp_path)
    assert answer.reason == "SOURCE_LOG_GAP"
    assert (
        answer.error is not None
        and "sources/0/9.compact doesn't exist (latestId: 14, compactInterval: 10)" in answer.error.message
    )


@pytest.mark.parametrize(("commits", "fails_at"), [(range(5), "start"), (range(4), "batch")])
def test_a_missing_last_entry_fails_at_start_when_committed_and_in_the_batch_otherwise(
    tmp_path: Path, commits: range, fails_at: str
) -> None:
    remove(files_checkpoint(tmp_path, commits=commits), "sources/0/4")
    answer = said(tmp_path)
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", fails_at, "SOURCE_LOG_END_MISSING")
    assert answer.error is not None and answer.error.message == "batch 4 doesn't exist"


def test_an_offset_far_beyond_the_source_log_names_the_whole_range(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"offsets/4": offset_text(['{"logOffset":7}'])})
    answer = said(tmp_path)
    assert answer.error is not None
    assert answer.error.message == "batches (4, 5, 6, 7) don't  exist (startId: Some(4), endId: Some(7))"


def test_a_missing_last_entry_after_a_batch_without_data_is_not_noticed_by_spark(tmp_path: Path) -> None:
    ended_without_data(tmp_path)
    remove(tmp_path, "sources/0/4")
    answer = said(tmp_path)
    assert answer.outcome == "resume", answer.sentence
    assert [risk.id for risk in answer.risks] == ["SOURCE_LOG_BEHIND"]
    assert answer.certainty == "certain" and answer.risks[0].certainty == "needs_input"


def test_two_missing_last_entries_after_a_batch_without_data_fail_in_the_next_batch(tmp_path: Path) -> None:
    ended_without_data(tmp_path)
    remove(tmp_path, "sources/0/4", "sources/0/3")
    answer = said(tmp_path)
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "batch", "SOURCE_LOG_BEHIND")


def test_a_source_log_two_ahead_means_that_offsets_were_set_back(tmp_path: Path) -> None:
    remove(files_checkpoint(tmp_path), "offsets/4", "commits/4", "offsets/3", "commits/3")
    answer = said(tmp_path)
    assert (answer.outcome, answer.batch_id) == ("resume", 3)
    assert (answer.data.append, answer.data.overwrite, answer.data.skip) == (
        "duplicates",
        "duplicates",
        "loss",
    )
    assert [risk.id for risk in answer.risks] == ["SOURCE_LOG_AHEAD"] and answer.is_data_risk
    assert "2 entries ahead" in answer.sentence


def test_files_in_a_source_log_that_is_ahead_count_as_new_data(tmp_path: Path) -> None:
    remove(files_checkpoint(tmp_path), "offsets/4", "commits/4", "offsets/3", "commits/3")
    answer = said(tmp_path, new_data="no")
    assert (answer.batch_id, answer.data.append, answer.data.skip) == (3, "duplicates", "exact")


def test_state_of_later_batches_shows_that_offsets_were_set_back_although_the_source_log_was_too(
    tmp_path: Path,
) -> None:
    files_checkpoint(tmp_path, conf=stateful_conf())
    with_state(tmp_path, range(1, 6))
    remove(tmp_path, "offsets/4", "commits/4", "sources/0/4")
    answer = said(tmp_path)
    assert [risk.id for risk in answer.risks] == ["SET_BACK"]
    # without a limit per trigger the batches that were rolled back come as one, with the new rows in it
    assert (answer.data.append, answer.data.overwrite, answer.data.skip) == (
        "duplicates",
        "duplicates",
        "loss",
    )
    assert not any(answer.data.is_sure(kind) for kind in SINK_KINDS)


def test_a_source_log_one_ahead_may_be_a_crash_and_is_only_a_note(tmp_path: Path) -> None:
    remove(files_checkpoint(tmp_path), "offsets/4", "commits/4")
    answer = said(tmp_path)
    # its input file is not on this machine, so that it may be gone
    assert (answer.data.append, answer.data.overwrite, answer.data.skip) == ("unknown", "unknown", "unknown")
    assert [(risk.id, risk.weight) for risk in answer.risks] == [("SOURCE_LOG_ONE_AHEAD", "note")]
    assert not answer.is_data_risk


def test_later_state_proves_that_offsets_were_set_back_by_one(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=stateful_conf())
    with_state(tmp_path, range(1, 6))
    remove(tmp_path, "offsets/4", "commits/4")
    assert [risk.id for risk in said(tmp_path).risks] == ["SOURCE_LOG_AHEAD"]


@pytest.mark.parametrize(
    ("name", "newest", "is_later"),
    [
        ("commits_old", 9, True),
        ("offsets.bak", 5, True),
        ("old-offsets", 9, True),
        ("commits_old", 4, False),
        ("mycommits", 9, False),
        ("offsetting", 9, False),
    ],
)
def test_a_log_put_away_with_later_batches_shows_that_offsets_were_set_back(
    tmp_path: Path, name: str, newest: int, is_later: bool
) -> None:
    write(files_checkpoint(tmp_path), {f"{name}/{newest}": "v1\n{}", f"{name}/.{newest + 1}.crc": "crc"})
    answer = said(tmp_path)
    if not is_later:
        assert answer.risks == ()
        return
    assert [(risk.id, str(risk.evidence[0])) for risk in answer.risks] == [("SET_BACK", f"{name}/{newest}")]
    assert (answer.data.append, answer.data.overwrite, answer.data.skip) == (
        "duplicates",
        "duplicates",
        "loss",
    )


def test_a_log_put_away_that_cannot_be_listed_is_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(files_checkpoint(tmp_path), {"commits_old/9": "v1\n{}"})
    listed = Door.list

    def refuse(self: Door, prefixes: Iterable[str], *given: Any, **options: Any) -> dict[str, Listing]:
        if "commits_old" in prefixes:
            raise StorageError("commits_old/ cannot be listed: permission denied.")
        return listed(self, prefixes, *given, **options)

    monkeypatch.setattr(Door, "list", refuse)
    answer = said(tmp_path)
    assert answer.risks == ()
    assert any("commits_old, put away" in item and "denied" in item for item in answer.not_checked)


@pytest.mark.parametrize(("entries", "known"), [(2, None), (3, 5), (7, 9)])
def test_a_batch_with_many_entries_of_the_source_log_may_follow_a_rollback(
    tmp_path: Path, entries: int, known: int | None
) -> None:
    root = files_checkpoint(tmp_path)
    end = 3 + entries
    write(root, {"offsets/4": offset_text([f'{{"logOffset":{end}}}'])})
    write(root, {f"sources/0/{log_id}": files_entry(log_id) for log_id in range(5, end + 1)})
    answer = said(root)
    if known is None:  # the second try of a batch
        assert answer.risks == ()
        return
    (risk,) = answer.risks
    assert (risk.id, risk.certainty, risk.weight) == ("SET_BACK", "inferred", "data_risk")
    assert f"Batches up to {known} may have run" in risk.sentence
    assert (answer.data.append, answer.data.overwrite, answer.data.skip) == ("exact", "duplicates", "loss")
    assert answer.data.possible == {"overwrite", "skip"}


def test_an_offset_that_goes_back_blocks_restart(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"offsets/4": offset_text(['{"logOffset":1}'])})
    answer = said(tmp_path)
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "start", "SOURCE_OFFSET_BACKWARDS")


@pytest.mark.parametrize(("commits", "fails_at"), [(range(5), "start"), (range(4), "batch")])
def test_a_broken_source_line_is_met_when_it_is_used(tmp_path: Path, commits: range, fails_at: str) -> None:
    write(files_checkpoint(tmp_path, commits=commits), {"offsets/4": offset_text(['{"logOffset":'])})
    answer = said(tmp_path)
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", fails_at, "SOURCE_OFFSET_UNREADABLE")
    assert [str(item) for item in answer.evidence] == ["offsets/4:3"]


# No offset for a source


def test_a_committed_batch_without_offset_is_delivered_twice(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"offsets/4": offset_text(["-"])})
    answer = said(tmp_path)
    assert answer.outcome == "resume"
    assert [risk.id for risk in answer.risks] == ["SOURCE_WITHOUT_OFFSET"]
    assert (answer.data.append, answer.data.overwrite, answer.data.skip) == (
        "duplicates",
        "duplicates",
        "duplicates",
    )


@pytest.mark.parametrize(
    ("spark", "words"),
    [("3.5", "the next batch resumes from offsets/3"), ("4.3", "starts this source from scratch")],
)
def test_a_pending_batch_without_offset_starts_from_scratch_only_from_4_0_on(
    tmp_path: Path, spark: str, words: str
) -> None:
    write(files_checkpoint(tmp_path, commits=range(4)), {"offsets/4": offset_text(["-"])})
    answer = said(tmp_path, spark)
    assert answer.outcome == "rerun"
    assert words in answer.risks[0].sentence


def test_a_source_that_never_had_an_offset_repeats_nothing(tmp_path: Path) -> None:
    tree = {"metadata": METADATA, "offsets/0": offset_text(["-"]), "commits/0": commit_text()}
    answer = said(write(tmp_path, tree))
    assert answer.data.is_exact


# Kafka


def test_a_broken_kafka_line_is_met_while_the_next_batch_is_planned(tmp_path: Path) -> None:
    write(kafka_checkpoint(tmp_path, range(4)), {"offsets/3": offset_text(['{"orders":{"0":'])})
    answer = said(tmp_path)
    assert (answer.outcome, answer.fails_at, answer.batch_id) == ("fail", "batch", 4)
    assert answer.error is not None and answer.error.message.endswith('got {"orders":{"0":')


def test_a_broken_kafka_line_before_a_committed_batch_does_not_matter(tmp_path: Path) -> None:
    write(kafka_checkpoint(tmp_path, range(4)), {"offsets/2": offset_text(['{"orders":{"0":'])})
    assert said(tmp_path).outcome == "resume"


def test_the_sentence_counts_kafka_offsets_per_topic(tmp_path: Path) -> None:
    answer = said(kafka_checkpoint(tmp_path, range(6), commits=range(5)))
    assert "with the same end offsets (orders: 10 offsets on 2 partitions)" in answer.sentence
    assert any("Kafka broker" in item for item in answer.not_checked)


def test_a_topic_that_is_read_no_more_fails_the_next_batch(tmp_path: Path) -> None:
    answer = said(kafka_checkpoint(tmp_path, range(6)), topics={"0": ("refunds",)})
    assert (answer.outcome, answer.fails_at, answer.batch_id, answer.reason) == (
        "fail",
        "batch",
        6,
        "KAFKA_TOPIC_REMOVED",
    )
    assert (
        answer.error is not None
        and "Partitions Set(orders-0, orders-1) have been deleted." in answer.error.message
    )


def test_a_pending_batch_is_delivered_in_full_before_a_removed_topic_stops_the_query(tmp_path: Path) -> None:
    answer = said(kafka_checkpoint(tmp_path, range(6), commits=range(5)), topics={"0": ("refunds",)})
    assert (answer.outcome, answer.batch_id) == ("rerun", 5)
    assert answer.then is not None and answer.then.startswith("The batch after it fails")


def test_a_removed_topic_passes_without_fail_on_data_loss(tmp_path: Path) -> None:
    answer = said(kafka_checkpoint(tmp_path, range(6)), topics={"0": ("refunds",)}, fail_on_data_loss=False)
    assert answer.outcome == "resume"


def test_a_plan_below_its_start_was_left_by_a_failed_start(tmp_path: Path) -> None:
    write(
        kafka_checkpoint(tmp_path, range(3), commits=range(2)), {"offsets/2": offset_text([kafka_offset(4)])}
    )
    answer = said(tmp_path)
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "batch", "FAILED_PLAN_LEFT")
    assert (
        answer.error is not None
        and answer.error.message == "Partition orders-0 offset was changed from 10 to 4."
    )
    assert [risk.id for risk in said(tmp_path, fail_on_data_loss=False).risks] == ["FAILED_PLAN_LEFT"]


def test_a_plan_without_a_topic_was_left_by_a_failed_start(tmp_path: Path) -> None:
    both = json.dumps({"orders": {"0": 5}, "refunds": {"0": 3}})
    tree = {
        "metadata": METADATA,
        "sources/0/0": b"\0v1\n" + both.encode(),
        "offsets/0": offset_text([both]),
        "commits/0": commit_text(),
        "offsets/1": offset_text([json.dumps({"orders": {"0": 9}})]),
    }
    answer = said(write(tmp_path, tree))
    assert answer.reason == "FAILED_PLAN_LEFT"
    assert answer.error is not None and "Partitions Set(refunds-0) have been deleted." in answer.error.message


def test_a_missing_start_of_a_pending_batch_0_depends_on_todays_starting_offsets(tmp_path: Path) -> None:
    remove(kafka_checkpoint(tmp_path, [0], commits=[]), "sources")
    answer = said(tmp_path)
    assert (answer.outcome, answer.batch_id) == ("rerun", 0)
    assert [(risk.id, risk.certainty) for risk in answer.risks] == [("KAFKA_START_LOST", "needs_input")]


def test_a_missing_start_does_not_matter_once_batch_0_is_committed(tmp_path: Path) -> None:
    remove(kafka_checkpoint(tmp_path, range(3)), "sources")
    assert said(tmp_path).risks == ()


def test_new_files_that_the_offsets_count_as_done_are_an_answer(tmp_path: Path) -> None:
    root = files_checkpoint(tmp_path)
    (root / "sources/0/4").unlink()
    for new_data in ("yes", "no", "unknown"):
        assert said(root, new_data=new_data).sentence
