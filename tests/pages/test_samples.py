"""Every sample opens on every page."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.analysis.balance import balance
from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.checkpoint.state import state_inventory
from tests.pages.conftest import PAGES, OpenPage, assert_no_error, charts_of, words_of
from tests.support.build import SAMPLES, copy_sample, sample_names


@pytest.mark.parametrize("sample", sample_names())
def test_a_sample_opens_on_every_page_with_its_sentence(open_page: OpenPage, sample: str) -> None:
    sentence = forecast(Checkpoint.open(str(SAMPLES / sample / "checkpoint"))).sentence
    at = open_page("overview", f"samples/{sample}/checkpoint")
    for page in PAGES:
        at = at.switch_page(f"pages/{page}.py").run()
        assert_no_error(at)
        assert sentence in words_of(at), page
        assert sample in words_of(at), page
        for chart in charts_of(at):
            assert len(chart.alt) > 20, (page, "a chart has no words")


def test_the_first_page_lists_the_samples_with_their_stories(open_page: OpenPage) -> None:
    at = open_page("checkpoints")
    assert_no_error(at)
    table = at.dataframe[0].value
    table["checkpoint"] = table["checkpoint"].str.removesuffix(" (temporary)")  # a clone may lie in /tmp
    assert set(sample_names()) == set(table["checkpoint"])
    row = table.set_index("checkpoint").loc["files-died-mid-batch"]
    assert row["last committed"] == "batch 6" and row["not committed"] == "batch 7"
    first_line = (SAMPLES / "files-died-mid-batch" / "story.md").read_text().splitlines()[0].lstrip("# ")
    assert row["what happened"] == first_line


def test_without_a_checkpoint_a_page_says_what_to_do(open_page: OpenPage) -> None:
    for page in PAGES:
        at = open_page(page)
        assert_no_error(at)
        assert "No checkpoint is open." in words_of(at), page


def test_overview_shows_what_is_committed_and_what_is_not(open_page: OpenPage) -> None:
    shown = words_of(open_page("overview", "samples/files-died-mid-batch/checkpoint"))
    for text in (
        "Last committed\nbatch 6",
        "batch 7 is planned and not committed",
        "certain · offsets/7 has no commits/7",
    ):
        assert text in shown


def test_overview_says_how_the_query_gets_on_and_leads_on(open_page: OpenPage) -> None:
    at = open_page("overview", "samples/windowed-aggregation-hot-partition/checkpoint")
    shown = words_of(at)
    for text in (
        "Batches\n18 batches/min\n",
        "Batch duration\n",
        "State\n391.1 KiB\n",
        "partition 1 of operator 0 holds 81%",
        "Watermark\n32 min 18 s\n",
    ):
        assert text in shown
    stateless = words_of(open_page("overview", "samples/kafka-pipeline-died-mid-batch/checkpoint"))
    assert "State\nnone\nno state/: stateless, or deleted" in stateless and "12 offsets/s" in stateless


def test_overview_has_the_start_position_to_copy(open_page: OpenPage) -> None:
    at = open_page("overview", "samples/kafka-pipeline-died-mid-batch/checkpoint")
    ck = Checkpoint.open(str(SAMPLES / "kafka-pipeline-died-mid-batch" / "checkpoint"))
    committed = ck.source_texts(ck.last_committed_batch or 0, "0")[1]
    assert f".option('startingOffsets', '{committed}')" in [code.value for code in at.code]


def test_timeline_of_a_pending_batch_says_not_committed(open_page: OpenPage) -> None:
    at = open_page("timeline", "samples/files-died-mid-batch/checkpoint")
    assert "Batch 7 is not committed" in words_of(at)
    assert "not committed" in charts_of(at)[0].spec


def test_timeline_shows_offsets_before_and_after_of_the_chosen_batch(open_page: OpenPage) -> None:
    at = open_page("timeline", "samples/kafka-pipeline-died-mid-batch/checkpoint", batch="3")
    assert "Batch 3" in words_of(at)
    ck = Checkpoint.open(str(SAMPLES / "kafka-pipeline-died-mid-batch" / "checkpoint"))
    found = ck.progress("0", [3])
    table = next(item.value for item in at.dataframe if "before" in item.value.columns)
    assert table["partition"].tolist() == list(found.partitions)
    assert table["after"].tolist() == found.positions[0].tolist()
    assert (table["after"] - table["before"]).tolist() == found.advance[0].tolist()


def test_timeline_shows_the_raw_files_of_the_batch(open_page: OpenPage) -> None:
    at = open_page("timeline", "samples/files-died-mid-batch/checkpoint", batch="6")
    raw = (SAMPLES / "files-died-mid-batch" / "checkpoint" / "offsets" / "6").read_text()
    assert raw in [code.value for code in at.code]


def test_timeline_by_time_has_a_time_axis(open_page: OpenPage) -> None:
    at = open_page("timeline", "samples/files-stopped-cleanly/checkpoint", x="time")
    assert '"type":"date"' in charts_of(at)[0].spec


def test_state_names_the_hot_partition_in_its_title(open_page: OpenPage) -> None:
    at = open_page("state", "samples/windowed-aggregation-hot-partition/checkpoint")
    ck = Checkpoint.open(str(SAMPLES / "windowed-aggregation-hot-partition" / "checkpoint"))
    title = balance(state_inventory(ck).operators[0]).title
    assert "times the median" in title
    assert title in words_of(at) and title == charts_of(at)[0].alt


def test_state_says_which_partition_cannot_be_rebuilt(open_page: OpenPage) -> None:
    at = open_page("state", "samples/missing-delta-file/checkpoint")
    told = (
        state_inventory(Checkpoint.open(str(SAMPLES / "missing-delta-file" / "checkpoint")))
        .operators[0]
        .restorable
    )
    assert f"cannot rebuild version {told.needed_version}" in words_of(at)
    table = next(item.value for item in at.dataframe if "first missing file" in item.value.columns)
    assert table["first missing file"].tolist() == [file for _, file in told.broken_partitions] != []


def test_state_of_a_stateless_query_does_not_apply(open_page: OpenPage) -> None:
    assert "keeps no state" in words_of(open_page("state", "samples/files-stopped-cleanly/checkpoint"))


def test_watermark_names_the_stall_and_the_idle_source(open_page: OpenPage) -> None:
    shown = words_of(open_page("watermark", "samples/join-watermark-held-back/checkpoint"))
    assert "The watermark has not moved since batch 4" in shown and "WATERMARK_STALLED" in shown
    assert shown.count("holds the watermark back") == 1
    assert "No new data came from source 1 (file source) in these batches" in shown and "inferred" in shown


def test_watermark_of_a_query_without_one_says_so(open_page: OpenPage) -> None:
    assert "There is no watermark" in words_of(
        open_page("watermark", "samples/files-stopped-cleanly/checkpoint")
    )


def test_recovery_shows_all_options_with_the_recommended_first_and_its_code(open_page: OpenPage) -> None:
    at = open_page(
        "recovery", "samples/kafka-pipeline-died-mid-batch/checkpoint", a_sink="file", a_source_complete="yes"
    )
    assert_no_error(at)
    shown = words_of(at)
    for title in (
        "Full table refresh",
        "Full refresh with backup and backfill",
        "Reset the checkpoint and continue incrementally",
    ):
        assert title in shown
    assert "Fix the cause, if any, and restart the query" in shown
    assert at.code[1].value.startswith("# Fix the cause, if any, and restart the query\n")
    assert shown.index("● recommended") < shown.index("○ possible")
    at = open_page(
        "recovery",
        "samples/kafka-pipeline-died-mid-batch/checkpoint",
        a_sink="foreach_append",
        a_source_complete="yes",
        option="reset",
    )
    assert at.code[1].value.count("\n") <= 25 and "START = {" in at.code[1].value
    scripts = [code.value for code in at.code if "LAST_COMMITTED_BATCH = 7" in code.value]
    assert scripts and "--execute" in scripts[0]


def test_the_question_that_decides_is_named_and_what_each_answer_leads_to_is_folded_below_it(
    open_page: OpenPage,
) -> None:
    place = "samples/missing-delta-file/checkpoint"
    at = open_page("recovery", place)
    label = 'The recommendation depends on "Where does the query write?"'
    folded = {box.label: box for box in at.expander}[label]
    assert not folded.proto.expanded
    lines = [text.value for text in folded.text]
    assert any(line.startswith("Rewind to an earlier batch: ") for line in lines) and len(lines) > 1
    answered = open_page("recovery", place, a_sink="foreach_append")
    assert label not in [box.label for box in answered.expander]


def test_an_answer_in_the_link_rules_options_out(open_page: OpenPage) -> None:
    before = words_of(open_page("recovery", "samples/files-stopped-cleanly/checkpoint"))
    after = words_of(
        open_page("recovery", "samples/files-stopped-cleanly/checkpoint", a_source_complete="no")
    )
    assert after.count("▲ not possible") == before.count("▲ not possible") + 1
    assert "Rules out: Full table refresh" in after


def test_what_an_answer_rules_out_names_the_page_and_not_an_option_of_the_command_line(
    open_page: OpenPage, tmp_path: Path
) -> None:
    place = copy_sample("files-stopped-cleanly", tmp_path)
    (place / "offsets" / "14").write_text("")
    shown = words_of(open_page("recovery", str(place), a_sink="file"))
    assert (
        "Rules out: Rewind to an earlier batch." in shown
        and "give its location (page Source & sink)" in shown
    )
    assert "--sink" not in shown and "(answer sink" not in shown


def test_a_lost_state_file_leads_to_a_rewind_to_the_batch_that_the_finding_names(open_page: OpenPage) -> None:
    place = "samples/missing-delta-file/checkpoint"
    assert '"Rewind to an earlier batch", batch 2' in words_of(open_page("integrity", place))
    at = open_page("recovery", place, option="rewind", a_to_batch="1", a_sink="foreach_merge")
    assert "Rewind to an earlier batch: what repeats and what is lost" in words_of(at)
    assert any("\nTO_BATCH = 1 " in code.value for code in at.code)
    at.number_input(key="a_to_batch").set_value(2).run()
    assert any("\nTO_BATCH = 2 " in code.value for code in at.code)
    at = open_page("recovery", place, option="rewind", a_to_batch="7", a_sink="foreach_merge")
    assert "complete only for batches" in words_of(at)
    assert_no_error(at)


def test_choosing_another_option_shows_its_code(open_page: OpenPage) -> None:
    at = open_page("recovery", "samples/files-stopped-cleanly/checkpoint", option="full_refresh")
    assert "Full table refresh: what repeats and what is lost" in words_of(at)


def test_a_text_answer_reaches_the_code_as_a_quoted_value(open_page: OpenPage) -> None:
    at = open_page(
        "recovery",
        "samples/files-stopped-cleanly/checkpoint",
        a_sink="file",
        a_platform="pyspark",
        option="reset",
    )
    at.text_input(key="t_sink_path").set_value('/data/it\'s "here"').run()
    assert_no_error(at)
    script = next(code.value for code in at.code if "SINK_PATH" in code.value)
    line = next(line for line in script.splitlines() if line.startswith("SINK_PATH ="))
    scope: dict[str, object] = {}
    exec(line, scope)  # one assignment of a literal
    assert scope["SINK_PATH"] == '/data/it\'s "here"'


def test_the_next_and_previous_buttons_walk_through_the_batches(open_page: OpenPage) -> None:
    at = open_page("timeline", "samples/files-stopped-cleanly/checkpoint", batch="5")
    at.button(key="next").click().run()
    assert at.number_input(key="batch").value == 6
    at.button(key="previous").click().run()
    at.button(key="previous").click().run()
    assert at.number_input(key="batch").value == 4
    assert_no_error(at)
