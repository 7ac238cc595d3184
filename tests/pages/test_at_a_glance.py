"""What a page answers without a click: input, the largest partition, why the watermark is stuck, which step
fails."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from core.analysis.pace import batch_input, rate_in_words
from core.analysis.timeline import build_timeline
from core.checkpoint import Checkpoint
from core.incident import report, to_chat
from core.judgement import judge
from core.messages import say
from tests.pages.conftest import OpenPage, assert_no_error, charts_of, words_of
from tests.support.build import SAMPLES, commit_text, copy_sample, kafka_checkpoint, write
from tests.support.forecasting import files_checkpoint
from ui import timeline_charts

HOT = "samples/windowed-aggregation-hot-partition/checkpoint"


def test_the_input_of_each_batch_is_what_its_offsets_say() -> None:
    ck = Checkpoint.open(str(SAMPLES / "kafka-pipeline-died-mid-batch" / "checkpoint"))
    timeline = build_timeline(ck)
    found = batch_input(ck, timeline, ck.offset_ids)
    assert found is not None and found.unit == "offsets"
    assert found.amounts.sum() == 704 + 88  # committed, and planned in the batch that is not
    gaps = timeline.gap_ms[:-1] / 1000
    assert np.allclose(found.per_second[:-1], found.amounts[:-1] / gaps)
    assert np.isnan(found.per_second[-1])  # no batch after it
    assert rate_in_words(31.4, "offsets") == "31 offsets/s"
    assert rate_in_words(0.04, "files") == "2.4 files/min"


def test_a_batch_that_is_not_committed_is_hatched() -> None:
    ck = Checkpoint.open(str(SAMPLES / "kafka-pipeline-died-mid-batch" / "checkpoint"))
    timeline = build_timeline(ck)
    found = batch_input(ck, timeline, ck.offset_ids)
    for by in ("id", "time"):
        figure = timeline_charts.window(timeline, slice(0, len(timeline)), by, None, found)  # type: ignore[arg-type]
        bars = [trace for trace in figure.data if trace.type == "bar"]
        assert [len(bar.x) for bar in bars] == [8, 1]
        assert [bar.marker.pattern.shape for bar in bars] == [None, "/"]
        assert list(bars[1].customdata) == [8]


def test_the_timeline_says_the_median_input_and_shows_the_batch_before_the_sources(
    open_page: OpenPage,
) -> None:
    at = open_page("timeline", "samples/kafka-pipeline-died-mid-batch/checkpoint", batch="3")
    assert_no_error(at)
    shown = words_of(at)
    assert "Median input 31 offsets/s." in shown
    assert shown.index("Batch 3") < shown.index("Source progress")


def test_the_time_of_the_last_commit_is_not_that_of_the_batch_planned_since(open_page: OpenPage) -> None:
    """A start that failed left offsets/12 two seconds after commits/11; it may as well have been a day."""
    shown = words_of(open_page("overview", "samples/dropduplicates-removed/checkpoint"))
    assert "Last committed\nbatch 11\n" in shown
    assert "2026-11-21 11:26:14 UTC\nbatch 12 is planned and not committed" in shown


def test_a_source_that_reads_nothing_has_no_bars(open_page: OpenPage) -> None:
    at = open_page("timeline", "samples/files-stopped-cleanly/checkpoint")
    assert_no_error(at)
    assert "Median input" in words_of(at) and charts_of(at)


def test_the_largest_partition_is_shown_and_not_in_the_address(open_page: OpenPage) -> None:
    at = open_page("state", HOT)
    assert_no_error(at)
    assert "Partition 1, store default" in words_of(at)
    assert at.number_input(key="partition").value is None
    assert "partition" not in at.query_params
    at = open_page("state", HOT, partition="2")
    assert "Partition 2, store default" in words_of(at) and "Partition 1, store default" not in words_of(at)


def test_the_watermark_says_which_source_brings_nothing(open_page: OpenPage) -> None:
    at = open_page("watermark", "samples/join-watermark-held-back/checkpoint")
    assert_no_error(at)
    assert "Stuck since batch 4: no new data from source 1 (file source)." in words_of(at)
    assert "How the watermark moves" in [one.label for one in at.expander]


def test_no_watermark_no_controls(open_page: OpenPage) -> None:
    at = open_page("watermark", "samples/files-stopped-cleanly/checkpoint")
    assert_no_error(at)
    assert not at.number_input and "◀ Previous" not in [button.label for button in at.button]


def test_the_step_that_fails_stands_before_those_that_pass(open_page: OpenPage) -> None:
    at = open_page("integrity", "samples/missing-delta-file/checkpoint")
    assert_no_error(at)
    shown, folded = words_of(at), [one.label for one in at.expander]
    assert "12 steps pass, 1 does not apply, 1 is not reached" in folded
    assert shown.index("▲ fails: load state version 10") < shown.index("● passes: read metadata")
    assert folded[0] == "What does this error mean here?"  # somebody has one to paste
    at = open_page("integrity", "samples/files-stopped-cleanly/checkpoint")
    assert "What does this error mean here?" not in [one.label for one in at.expander]
    assert [one.label for one in at.text_area] == [say("screen_errors.error_field")]


def test_overview_names_what_was_not_checked_only_behind_its_number(
    open_page: OpenPage, tmp_path: Path
) -> None:
    at = open_page("overview", HOT)
    assert_no_error(at)
    labels = [one.label for one in at.expander]
    assert "Not checked: 6 things" in labels and "What the query is" in labels


@pytest.mark.parametrize("name", ["windowed-aggregation-hot-partition", "kafka-pipeline-died-mid-batch"])
def test_overview_report_and_chat_count_the_same_things_that_were_not_checked(
    open_page: OpenPage, name: str
) -> None:
    """A source whose broker is named is not another thing."""
    place = SAMPLES / name / "checkpoint"
    made = report(judge(Checkpoint.open(str(place))))
    (label,) = [
        one.label
        for one in open_page("overview", f"samples/{name}/checkpoint").expander
        if one.label.startswith("Not checked: ")
    ]
    assert label == f"Not checked: {made.not_checked} things"
    assert f"Not checked: {made.not_checked} things, named in the report." in to_chat(made)
    texts = [block.text for section in made.rest for block in section.blocks]  # type: ignore[union-attr]
    assert ("The sources themselves" in texts) is ("kafka" not in name)


def test_a_source_that_has_not_begun_read_nothing(open_page: OpenPage) -> None:
    """Source 1 of the union has no position before batch 4, and the input of these batches is known."""
    ck = Checkpoint.open(str(SAMPLES / "union-of-two-sources" / "checkpoint"))
    found = batch_input(ck, build_timeline(ck), range(9))
    assert found is not None and found.amounts.tolist() == [1, 1, 1, 1, 2, 2, 2, 2, 2]


def test_a_window_of_what_retention_left_does_not_count_what_is_gone(open_page: OpenPage) -> None:
    said = words_of(open_page("timeline", "samples/purged-to-newest-10/checkpoint"))
    assert "Batches 15 to 25: 11 of 11 batches in the logs." in said


def test_the_card_says_what_to_do_and_no_finding_says_it_again(open_page: OpenPage) -> None:
    shown = words_of(open_page("overview", "samples/missing-delta-file/checkpoint"))
    taken = "Delta, Kafka, foreachBatch that appends, foreachBatch by key, another sink"
    to_do = f"What to do: It depends on the sink. {taken}: Rewind to an earlier batch."
    assert shown.count(to_do) == 1 and shown.count("What to do: ") == 1
    assert (
        shown.index("Spark will start and fail in batch 10") < shown.index(to_do) < shown.index("certain · ")
    )
    shown = words_of(open_page("overview", "samples/kafka-pipeline-died-mid-batch/checkpoint"))
    to_do = "What to do: Fix the cause, if any, and restart the query."
    assert shown.count(to_do) == 1
    assert shown.index("Spark will re-run batch 8") < shown.index(to_do) < shown.index("certain · ")


def test_state_begins_with_its_conclusion_and_says_what_a_batch_adds(open_page: OpenPage) -> None:
    shown = words_of(open_page("state", HOT))
    conclusion = "Partition 1 holds 81 % of operator 0; 19.7 times the median"
    assert shown.count(conclusion) == 1
    assert shown.index(conclusion) < shown.index("1 stateful operator, 391.1 KiB in 86 files")
    assert "each batch adds 27.1 KiB of changes (median), version 10 wrote 48.1 KiB" in shown


def test_a_start_that_depends_on_what_only_the_user_knows_is_in_doubt(
    open_page: OpenPage, tmp_path: Path
) -> None:
    """There is no state/, and a watermark: somebody may have deleted the state."""
    files_checkpoint(tmp_path / "ck")
    write(tmp_path / "ck", {"commits/4": commit_text(1_795_176_000_000)})
    at = open_page("overview", str(tmp_path / "ck"))
    assert_no_error(at)
    assert "◐ Spark will resume" in words_of(at) and "it fails instead: there is no state/." in words_of(at)


def test_what_was_answered_on_recovery_counts_on_every_page_and_for_a_teammate(open_page: OpenPage) -> None:
    at = open_page("recovery", "samples/missing-delta-file/checkpoint")
    at.selectbox(key="pick_a_sink").set_value("kafka").run()
    at.selectbox(key="pick_a_stateful").set_value("unchanged").run()
    link = ""
    for page in ("overview", "integrity", "timeline", "overview"):
        at.switch_page(f"pages/{page}.py").run()
        assert_no_error(at)
        link = next(code.value for code in at.code if "ck=" in code.value)
        assert "a_sink=kafka" in link and "a_stateful=unchanged" in link, page
    advised = "What to do: It depends on whether the source still has every record."
    given = "By the answers given on Recovery (sink: Kafka and stateful part: unchanged)."
    shown = words_of(at)
    assert advised in shown and given in shown and "It depends on the sink" not in shown
    other = open_page(
        "overview", "samples/missing-delta-file/checkpoint", a_sink="kafka", a_stateful="unchanged"
    )
    assert advised in words_of(other)
    other = open_page("overview", "samples/files-stopped-cleanly/checkpoint")
    assert "By the answers given" not in words_of(other)


def test_the_impact_follows_the_sink_that_was_answered(open_page: OpenPage) -> None:
    """With the answer "file sink" the next tab said that new rows are skipped, this card that none is lost."""
    place = "samples/files-stopped-cleanly/checkpoint"
    open_, file_, delta = (
        words_of(open_page("overview", place, **given))
        for given in ({}, {"a_sink": "file"}, {"a_sink": "delta"})
    )
    assert "unless the sink is a file sink: that skips batches 0 to 13" in open_
    assert "A file sink skips new batches instead." in open_ and "A file sink skips" not in delta
    assert "◐ A file sink skips new batches instead." in open_
    assert "loses rows of new batches, not counted" in file_ and "loses: not known" not in file_
    assert "A new checkpoint starts where this one ends" in open_
    assert "batches 0 to 13 are skipped" in file_ and "repeats nothing, loses nothing" not in file_
    assert "unless the sink" not in delta and "repeats nothing, loses nothing" in delta


def test_a_page_says_when_the_next_start_is_of_a_later_reading(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What looks wrong is looked at twice, and a query that runs writes in between."""
    root = kafka_checkpoint(tmp_path / "ck", range(8))
    (root / "metadata").unlink()
    refresh = Checkpoint.refresh

    def written_meanwhile(ck: Checkpoint) -> Checkpoint:
        kafka_checkpoint(root, range(9))
        (root / "metadata").unlink()
        return refresh(ck)

    monkeypatch.setattr(Checkpoint, "refresh", written_meanwhile)
    shown = words_of(open_page("timeline", root))
    assert "Batches 0 to 7 of 8 batches." in shown
    assert shown.count("when batch 8 was there; the rest of this page is older.") == 1
    assert "of this page is older" not in words_of(open_page("timeline", HOT))


def test_a_query_that_may_be_running_is_to_be_stopped_first(open_page: OpenPage, tmp_path: Path) -> None:
    started_ms = int(time.time() * 1000) - 41_000  # the newest batch one second ago
    files_checkpoint(tmp_path / "ck", commits=range(4), started_ms=started_ms)
    for page in ("overview", "recovery"):
        shown = words_of(open_page(page, tmp_path / "ck"))
        assert shown.count("A query may be running: batch 4 was planned") == 1, page
        assert shown.index("A query may be running") < shown.index("Fix the cause, if any"), page
    for page in ("overview", "recovery"):
        assert "may be running" not in words_of(open_page(page, HOT)), page


def test_how_the_name_of_an_operator_is_known_stands_beside_it_only_where_it_is_not_certain(
    open_page: OpenPage, tmp_path: Path
) -> None:
    shown = words_of(open_page("state", HOT))
    assert "name certainty" not in shown and "Operator 0: stateStoreSave · stores" in shown
    place = copy_sample("windowed-aggregation-hot-partition", tmp_path)
    shutil.rmtree(place / "state" / "0" / "_metadata")
    assert "Operator 0: stateStoreSave (inferred) · stores" in words_of(open_page("state", place))


def test_of_a_checkpoint_without_a_fault_no_cause_is_to_be_fixed(open_page: OpenPage) -> None:
    for name in (HOT, "samples/files-stopped-cleanly/checkpoint"):  # the first has a finding, about its speed
        shown = words_of(open_page("overview", name))
        assert "What to do: Nothing has to be done before a start." in shown, name
        assert "Fix the cause" not in shown, name
    assert "No problems found in all 14 batches in the logs and the logs of the sources." in shown


def test_a_batch_without_offsets_has_none_and_not_at_most_none(open_page: OpenPage) -> None:
    name = "samples/kafka-topic-gained-partitions/checkpoint"
    ck = Checkpoint.open(str(SAMPLES / "kafka-topic-gained-partitions" / "checkpoint"))
    amounts = {i: advance.amount for i in ck.offset_ids if (advance := ck.advance(i, "0")) is not None}
    empty = next(i for i, amount in amounts.items() if amount == 0)
    full = next(i for i, amount in amounts.items() if amount)
    shown = words_of(open_page("timeline", name, batch=str(empty)))
    assert "Kafka, 0 offsets" in shown and "at most as many records" not in shown
    assert "(at most as many records)" in words_of(open_page("timeline", name, batch=str(full)))
