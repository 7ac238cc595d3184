"""The page Checkpoints: what happens at the next start of each, filters in the address, errors as rows."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from core.settings import DEFAULTS, get_settings
from core.survey import monthly_cost, survey_row
from tests.pages.conftest import OpenPage, assert_no_error, words_of
from tests.support.build import SAMPLES, kafka_checkpoint, sample_names
from ui import root_listings, survey_charts, survey_job, survey_table


def table_of(at: Any) -> Any:
    """The table of the checkpoints."""
    return at.dataframe[0].value


def line(name: str) -> survey_table.Line:
    """A sample as a line of the table."""
    link = f"samples/{name}/checkpoint"
    return survey_table.Line(link, survey_row(str(SAMPLES / name / "checkpoint")))


def test_what_fails_comes_first_and_says_in_which_batch(open_page: OpenPage) -> None:
    at = open_page("checkpoints")
    assert_no_error(at)
    table = table_of(at)
    assert list(table.columns[:4]) == ["checkpoint", "next start", "newest", "worst finding"]
    rows = list(zip(table.index, table["next start"], table["checkpoint"], strict=True))
    assert rows[0] == ("▲", "fails in batch 10", "missing-delta-file")
    starts = [row[:2] for row in rows]
    assert starts.index(("◐", "re-runs batch 8")) < starts.index(("●", "resumes"))
    assert set(table["checkpoint"]) == set(sample_names())
    whole = table.set_index("checkpoint").loc["files-stopped-cleanly"]
    assert whole["worst finding"].startswith("none in the newest "), "a survey reads the newest batches only"
    row = table.set_index("checkpoint").loc["windowed-aggregation-hot-partition"]
    assert row["worst finding"] == "one state partition is much larger than the others"
    assert row["skew"].endswith(" x") and row["lag"] != "-"
    assert "Read 16 of 16 checkpoints" in words_of(at)


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ({"start": "fails"}, ["missing-delta-file"]),
        ({"start": "risk"}, ["hand-made-rewind"]),
        ({"start": "resumes", "find": "kafka"}, ["kafka-topic-gained-partitions"]),
        ({"search": "state_not_restorable"}, ["missing-delta-file"]),
    ],
)
def test_filters_are_in_the_address(open_page: OpenPage, link: dict[str, str], shown: list[str]) -> None:
    at = open_page("checkpoints", **link)
    assert_no_error(at)
    assert list(table_of(at)["checkpoint"]) == shown


def test_the_order_is_in_the_address(open_page: OpenPage) -> None:
    names = list(table_of(open_page("checkpoints", sort="name"))["checkpoint"])
    assert names == sorted(sample_names())
    by_skew = table_of(open_page("checkpoints", sort="skew"))["checkpoint"]
    assert by_skew.iloc[0] == "windowed-aggregation-hot-partition"


@pytest.mark.parametrize("name", ["search", "find"])
def test_a_checkpoint_opens_while_the_list_is_searched(open_page: OpenPage, name: str) -> None:
    """Streamlit lets no callback remove from the address what a widget is bound to."""
    at = open_page("checkpoints", **{name: "state_not_restorable"})
    assert list(table_of(at)["checkpoint"]) == ["missing-delta-file"]
    at.text_input(key="pasted").input(str(SAMPLES / "missing-delta-file" / "checkpoint"))
    next(button for button in at.button if button.label == "Open").click().run()
    assert_no_error(at)
    assert at.session_state["ck"] == "samples/missing-delta-file/checkpoint"


def test_a_link_with_a_filter_that_does_not_exist_says_so(open_page: OpenPage) -> None:
    at = open_page("checkpoints", start="burns")
    assert "asks for the next start 'burns'" in words_of(at)
    assert len(table_of(at)) == len(sample_names())
    by_words = open_page("checkpoints", search="much larger than the others")
    assert list(table_of(by_words)["checkpoint"]) == ["windowed-aggregation-hot-partition"]
    nothing = open_page("checkpoints", search="no such thing")
    assert "None of 16 checkpoints matches these filters." in words_of(nothing) and not nothing.dataframe


def test_a_checkpoint_that_cannot_be_read_is_a_row(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(SAMPLES / "files-stopped-cleanly" / "checkpoint", tmp_path / "fine")
    (tmp_path / "broken" / "commits").mkdir(parents=True)
    (tmp_path / "broken" / "offsets").symlink_to(tmp_path / "broken" / "offsets")
    monkeypatch.setenv("CHECKPOINT_EXPLORER_ROOTS", json.dumps({"own": str(tmp_path)}))
    get_settings.cache_clear()
    try:
        at = open_page("checkpoints")
    finally:
        monkeypatch.undo()
        get_settings.cache_clear()
    assert_no_error(at)
    table = table_of(at).set_index("checkpoint")
    assert table.loc["fine"]["next start"] == "resumes"
    assert table.loc["broken"]["next start"] == "not read"
    assert "cannot be listed" in table.loc["broken"]["worst finding"]


def test_what_was_not_read_yet_is_shown_last_and_can_be_stopped() -> None:
    settings = DEFAULTS.model_copy(update={"survey_at_once": 1, "checkpoint_rows": 3})
    listings = [root_listings.RootListing("samples", settings)]
    job = survey_job.SurveyJob(listings, settings)
    assert job.wait(60) and len(job.rows) == 3 == len(job.asked)
    assert listings[0].wait(60) and len(job.names) == len(sample_names())
    stopped = survey_job.SurveyJob(listings, DEFAULTS.model_copy(update={"survey_at_once": 1}))
    stopped.stop()
    assert stopped.wait(60) and len(stopped.rows) < len(stopped.names) == len(sample_names())
    lines = [survey_table.Line("samples/a/checkpoint", note="not read yet"), line("missing-delta-file")]
    shown = survey_table.shown(lines, None, "", None)
    assert [each.name for each in shown] == [lines[1].name, lines[0].name]
    cells = survey_table.columns(shown)
    assert cells["next start"] == ["fails in batch 10", "not read yet"]
    assert survey_table.marks(shown) == ["▲", "?"]


def run_until(at: Any, committed: str) -> None:
    """Draws the page until the table shows this as the last commit; a busy machine may need a while."""
    until = time.monotonic() + 60
    while table_of(at)["last committed"].iloc[0] != committed:
        assert time.monotonic() < until
        time.sleep(1)
        at.run()


def test_rows_of_before_stay_until_they_are_read_again(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Followed, the page shows what was committed meanwhile."""
    place = kafka_checkpoint(tmp_path / "own" / "ck", range(3))
    monkeypatch.setenv("CHECKPOINT_EXPLORER_ROOTS", json.dumps({"own": str(tmp_path / "own")}))
    monkeypatch.setattr(survey_job, "FOLLOW_SECONDS", 3)  # longer than it takes to draw the page
    get_settings.cache_clear()
    try:
        at = open_page("checkpoints", follow="true")
        assert at.sidebar.toggle(key="follow").value
        run_until(at, "batch 2")
        for log in ("offsets", "commits"):
            shutil.copy(place / log / "2", place / log / "3")
        run_until(at, "batch 3")
        assert_no_error(at)
        listings = [root_listings.RootListing("own", get_settings())]
        first = survey_job.SurveyJob(listings, get_settings())
        assert first.wait(60)
        second = survey_job.SurveyJob(listings, get_settings(), first.rows)  # stopped at any moment
        second.stop_now()
        assert second.must_go and second.is_older_than(1e9) and second.rows.keys() >= first.rows.keys()
    finally:
        monkeypatch.undo()
        get_settings.cache_clear()


def test_checkpoints_of_one_name_are_told_apart() -> None:
    names = ["dev/orders/checkpoint", "prod/orders/checkpoint", "prod/clicks", "x/checkpoint"]
    assert list(survey_table.titles(names).values()) == ["dev/orders", "prod/orders", "clicks", "x"]
    assert survey_table.titles(["checkpoint", "a/checkpoints"])["checkpoint"] == "checkpoint"


def test_the_download_has_the_rows_of_the_command_line() -> None:
    columns = survey_table.download_columns([line("missing-delta-file"), survey_table.Line("samples/x")])
    assert columns["status"] == ["fails"] and columns["worst_finding"] == ["STATE_NOT_RESTORABLE"]
    assert columns["findings"] == [{"blocks_restart": 1, "data_risk": 0, "attention": 0}]


def chart_of(at: Any) -> Any:
    """What the one chart of the page draws: its traces."""
    (chart,) = at.get("plotly_chart")
    return json.loads(chart.proto.spec)["data"]


@pytest.mark.parametrize(
    ("link", "kind"), [({}, "treemap"), ({"chart": "age"}, "scatter"), ({"chart": "cost"}, "bar")]
)
def test_the_chart_is_in_the_address_and_draws_the_rows_that_pass_the_filters(
    open_page: OpenPage, link: dict[str, str], kind: str
) -> None:
    at = open_page("checkpoints", start="reruns", **link)
    assert_no_error(at)
    traces = chart_of(at)
    assert {trace["type"] for trace in traces} == {kind}
    names = str(traces)
    shown = set(table_of(at)["checkpoint"])
    assert len(shown) == 4 and all(name[:24] in names for name in shown)
    assert "missing-delta-file" not in names
    assert "All of them in a chart" in words_of(at)


def test_a_link_with_a_chart_that_does_not_exist_says_so(open_page: OpenPage) -> None:
    at = open_page("checkpoints", chart="cake")
    assert "asks for the chart 'cake'" in words_of(at)
    assert chart_of(at)[0]["type"] == "treemap"


def test_the_treemap_has_the_bytes_of_the_rows_and_one_cell_for_many_small_ones() -> None:
    lines = [line("missing-delta-file"), line("files-stopped-cleanly")]
    known = [(each.name, each.row) for each in lines if each.row is not None]
    (cells,) = survey_charts.treemap(known).data
    sizes = dict(zip(cells.ids, cells.values, strict=True))
    assert (
        sizes["0"]
        == known[0][1].total_bytes
        == sum(sizes[f"0-{part}"] for part in ("state", "logs", "sources"))
    )
    (many,) = survey_charts.treemap(known * survey_charts.MOST_CELLS).data
    total = sum(value for value, parent in zip(many.values, many.parents, strict=True) if not parent)
    assert total == survey_charts.MOST_CELLS * sum(row.total_bytes or 0 for _, row in known)
    assert "40 others" in many.labels


def test_the_cost_is_that_of_what_a_batch_writes_and_of_what_is_kept() -> None:
    row = survey_row(str(SAMPLES / "missing-delta-file" / "checkpoint"))
    state = list((SAMPLES / "missing-delta-file" / "checkpoint" / "state").glob("0/*/[0-9]*.*"))
    written = 2 + len(state) / len({file.stem for file in state})
    assert (
        row.files_per_batch == pytest.approx(written, abs=0.01) and row.batches_per_hour and row.total_bytes
    )
    prices = DEFAULTS.model_copy(update={"price_of_writes": 5.0, "price_of_storage": 1024.0**3})
    cost = monthly_cost(row, prices)
    assert cost is not None and cost.storage == row.total_bytes
    assert cost.writes == pytest.approx(row.files_per_batch * row.batches_per_hour * 730 / 1000 * 5)
    stateless = survey_row(str(SAMPLES / "files-stopped-cleanly" / "checkpoint"))
    assert stateless.files_per_batch == 2
    assert monthly_cost(survey_row(str(SAMPLES / "nothing-there")), prices) is None


def test_the_line_of_the_throughput_counts_every_batch_that_was_planned() -> None:
    row = survey_row(str(SAMPLES / "files-stopped-cleanly" / "checkpoint"))
    counts = survey_table.pace(row)
    assert sum(counts) == len(row.batches) and 2 < len(counts) <= survey_table.PACE_POINTS
    assert survey_table.pace(survey_row(str(SAMPLES / "nothing-there"))) == []
