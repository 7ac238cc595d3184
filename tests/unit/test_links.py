"""Links, words and tables of the screens: pure parts, and the address as the browser would hold it."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from core.messages import words
from core.storage.location import title_of
from ui import cards, charts, tables, timeline_charts
from ui.links import LARGEST_NUMBER


def run(script: Any, parameters: Mapping[str, str] | None = None) -> AppTest:
    at = AppTest.from_function(script)
    for name, value in (parameters or {}).items():
        at.query_params[name] = value
    at.run()
    assert not at.exception
    return at


def address_script() -> None:
    import streamlit as st

    from ui import links

    st.text(links.address())


@pytest.mark.parametrize(
    "ck", ["samples/a/checkpoint", "/data/with space/ck", "s3://bucket/ck?x=1&y=2#z", "ü/日本", "a+b%20c"]
)
def test_the_address_carries_any_name_of_a_checkpoint_unharmed(ck: str) -> None:
    shown = run(address_script, {"ck": ck, "batch": "7"}).text[0].value
    assert parse_qs(urlsplit(shown).query) == {"ck": [ck], "batch": ["7"]}


def test_the_address_without_parameters_has_no_question_mark() -> None:
    assert "?" not in run(address_script).text[0].value


def refusal_script() -> None:
    import streamlit as st

    from ui import links

    st.text(str(links.refusal("source", ["0", "orders"])))
    st.text(str(links.number_refusal("batch")))


@pytest.mark.parametrize("good", ["0", "orders"])
def test_a_known_choice_is_not_refused(good: str) -> None:
    assert [text.value for text in run(refusal_script, {"source": good, "batch": "12"}).text] == [
        "None",
        "None",
    ]


def test_an_unknown_choice_is_refused_with_what_there_is() -> None:
    at = run(refusal_script, {"source": "7"})
    assert at.text[0].value == "This link asks for source '7'. Available: 0 and orders."


@pytest.mark.parametrize("bad", ["-1", "1.0", "x", "", " 3", "٣", str(LARGEST_NUMBER + 1)])
def test_what_is_no_whole_number_is_refused(bad: str) -> None:
    told = run(refusal_script, {"batch": bad}).text[1].value
    assert "which is not a number" in told


def chosen_script() -> None:
    import streamlit as st

    from ui import links

    links.entered(st.session_state.get("page", "recovery"))
    st.text(str(links.chosen("option", ["reset", "full_refresh"])))
    st.button("pick", key="pick", on_click=links.pick, args=("option", "reset"))
    st.button("forget", key="forget", on_click=links.forget_view)


def test_a_picked_choice_stays_and_is_forgotten_with_the_view() -> None:
    at = run(chosen_script)
    assert at.text[0].value == "None"
    at.button(key="pick").click().run()
    assert at.text[0].value == "reset"
    at.query_params.clear()  # as a click in the menu does, which opens another page and later this one again
    at.session_state["page"] = "again"
    at.run()
    assert at.text[0].value == "reset"
    at.button(key="forget").click().run()
    assert at.text[0].value == "None"


def test_a_choice_that_the_address_loses_while_the_page_stays_is_gone() -> None:
    at = run(chosen_script)
    at.button(key="pick").click().run()
    assert at.text[0].value == "reset"
    at.query_params.clear()  # as Back in the browser does
    at.run()
    assert at.text[0].value == "None"
    assert "option" not in at.query_params


def test_the_address_beats_what_was_picked_before() -> None:
    at = run(chosen_script)
    at.button(key="pick").click().run()
    at.query_params["option"] = "full_refresh"
    at.run()
    assert at.text[0].value == "full_refresh"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("samples/orders/checkpoint", "orders"),
        ("/data/ck/orders_to_gold", "orders_to_gold"),
        ("s3://bucket/pipelines/orders/_checkpoints/", "orders"),
        ("checkpoint", "checkpoint"),
        ("lake/_checkpoints/cat/db/orders/by_day/0", "by_day/0"),
        ("/data/orders/7/checkpoint/", "orders/7"),
        ("/data/checkpoint/7", "checkpoint/7"),
        ("data//7", "7"),
        ("https://host/box/orders?sv=1&sig=secret/x", "orders"),
        ("/data/orders/ckpt", "orders"),
        ("views/agg_meta/ck", "agg_meta"),
        ("7", "7"),
    ],
)
def test_a_title_is_the_telling_part_of_a_name(name: str, title: str) -> None:
    assert title_of(name) == title


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_500, "1.5 s"),
        (59_000, "59 s"),
        (185_000, "3 min 5 s"),
        (7_200_000, "2 h"),
        (187_200_000, "2 d 4 h"),
        (-1_500, "-1.5 s"),
        (None, "not known"),
    ],
)
def test_durations_read_as_people_say_them(ms: int | None, text: str) -> None:
    assert words.duration(ms) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1_023, "1,023 bytes"),
        (1_024, "1.0 KiB"),
        (5 * 1024**3, "5.0 GiB"),
        (None, "not known"),
    ],
)
def test_sizes_are_in_binary_units(size: int | None, text: str) -> None:
    assert words.size(size) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "just now"),
        (4_999, "just now"),
        (6_000, "6 s ago"),
        (660_000, "11 min ago"),
        (90_000_000, "1 d ago"),
    ],
)
def test_ages_are_in_one_unit(ms: int, text: str) -> None:
    assert words.age(ms) == text


@pytest.mark.parametrize("ms", [None, -1, 10**18, -(10**18)])
def test_a_number_that_is_no_time_is_not_known(ms: int | None) -> None:
    assert words.moment(ms) == "not known" and words.exact_moment(ms) == ""


@pytest.mark.parametrize(
    ("amount", "noun", "text"),
    [
        (1, "batch", "1 batch"),
        (2, "batch", "2 batches"),
        (3, "partition", "3 partitions"),
        (2_000, "byte", "2,000 bytes"),
        (2, "category", "2 categories"),
    ],
)
def test_counts_have_their_plural(amount: int, noun: str, text: str) -> None:
    assert words.counted(amount, noun) == text


@given(st.text())
def test_a_text_in_a_chart_holds_no_markup_and_no_line_break(text: str) -> None:
    shown = words.for_chart(text)
    assert "<" not in shown and ">" not in shown and "\n" not in shown and len(shown) <= 60


@given(st.text())
def test_the_name_of_a_download_is_a_plain_file_name(text: str) -> None:
    name = words.file_name(text)
    assert name and "/" not in name and not name.startswith(".") and len(name) <= 80


def test_a_download_holds_all_rows_and_runs_nothing_in_a_spreadsheet() -> None:
    columns = {"name": ["=cmd()", "+1", "plain", "@x", "-5"], "size": [1, np.int64(2), None, float("nan"), 5]}
    rows = list(csv.reader(io.StringIO(tables.to_csv(columns))))
    assert [row[0] for row in rows] == ["name", "'=cmd()", "'+1", "plain", "'@x", "'-5"]
    assert json.loads(tables.to_json(columns))[3] == {"name": "@x", "size": None}


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "colour",
    [charts.COMMITTED, charts.PENDING, charts.CHOSEN, charts.STALL, charts.MISSING, *cards.EDGES.values()],
)
def test_the_palette_stands_out_from_the_ground_of_both_themes(theme: str, colour: str) -> None:
    """3:1 is what WCAG asks of graphics; each also has a word and a shape."""
    config = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text())
    ground, mark = luminance(config["theme"][theme]["backgroundColor"]), luminance(colour)
    assert (max(ground, mark) + 0.05) / (min(ground, mark) + 0.05) >= 3


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_faded_text_can_be_read(theme: str) -> None:
    """Streamlit draws pinned columns and placeholders in the text colour at 60 %: 4.5:1 is what WCAG asks."""
    config = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text())
    text, ground = (config["theme"][theme][name] for name in ("textColor", "backgroundColor"))
    parts = [(int(text[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5)]
    faded = luminance("#" + "".join(f"{round(0.6 * a + 0.4 * b):02x}" for a, b in parts))
    assert (max(faded, luminance(ground)) + 0.05) / (min(faded, luminance(ground)) + 0.05) >= 4.5


def test_no_style_rule_hangs_on_what_is_anywhere_in_the_app() -> None:
    """Chromium would judge the style of every element again for each mark that a chart draws: two thirds of the
    time of a page with charts. A rule may ask for a child (`:has(> ...)`), or inside a box of figures."""
    asking = re.findall(r"(\S+):has\((?!>)", cards._STYLE.partition("@media print")[0])
    assert (
        asking == [":last-child"]
        and '.st-key-figures [class*="st-key-box-"] > :last-child:has(' in cards._STYLE
    )


def test_few_marks_are_elements_of_the_page_and_many_are_drawn_by_webgl() -> None:
    assert [charts.marks(n)().type for n in (0, 1_000, 1_001)] == ["scatter", "scatter", "scattergl"]


def test_a_log_axis_has_ticks_that_people_say() -> None:
    axis = charts.time_length_axis(np.array([5.0, 80_000.0, np.nan]), log=True)
    assert axis["type"] == "log" and "1 min" in axis["ticktext"]


@pytest.mark.parametrize("top", [3, 900, 4_000, 55_000, 3_000_000, 10**9, 10**12])
def test_a_linear_axis_of_lengths_has_few_ticks_and_holds_its_values(top: int) -> None:
    axis = charts.time_length_axis(np.array([0.0, float(top)]), log=False)
    assert 2 <= len(axis["tickvals"]) <= 9
    assert axis["range"][0] <= 0 and axis["range"][1] >= top


def test_batch_ids_are_never_abbreviated() -> None:
    assert charts.batch_axis(0, 19_994)["tickformat"] == "d"


@pytest.mark.parametrize(
    ("values", "kind"),
    [([1, 2], np.int32), ([-1, 2**31 - 1], np.int32), ([2**31], np.float64), ([], np.int32)],
)
def test_whole_numbers_travel_in_the_smallest_type_that_keeps_them(values: list[int], kind: type) -> None:
    found = charts.ints(values)
    assert found.dtype == kind and found.tolist() == values


@pytest.mark.parametrize(("batches", "partitions"), [(100, 4), (100, 100), (1_000, 64), (3, 300)])
def test_the_progress_picture_keeps_to_its_cells_and_loses_no_record(batches: int, partitions: int) -> None:
    ids = np.arange(50, 50 + batches)
    advance = np.arange(batches * partitions).reshape(batches, partitions)
    first, cells, per_column = timeline_charts.added_up(ids, advance)
    assert cells.size <= timeline_charts.MOST_CELLS or per_column == batches
    assert cells.sum() == advance.sum() and first[0] == 50 and len(first) == len(cells)


def test_cells_of_which_nothing_is_known_stay_unknown() -> None:
    advance = np.full((200, 100), -1)
    advance[0, 0] = 5
    _, cells, per_column = timeline_charts.added_up(np.arange(200), advance)
    assert per_column > 1 and cells[0, 0] == 5 and cells[0, 1] == -1


def test_a_click_carries_the_batch_of_its_mark() -> None:
    assert charts.point_value({"x": 3, "customdata": 17}) == 17
    assert charts.point_value({"x": 3, "customdata": [17]}) == 17
    assert charts.point_value({"x": 3, "customdata": {"0": 17}}) == 17
    assert charts.point_value({"x": 3}) == 3
