"""Checkpoints: what happens at the next start of each below the configured roots; or paste a location, or
return to a recent one."""

from __future__ import annotations

import streamlit as st

from core.messages import say, words
from core.settings import get_settings
from core.storage.roots import FoundCheckpoints
from core.survey import left_out
from ui import (
    cards,
    error_translator,
    open_checkpoints,
    root_listings,
    shell,
    survey_charts,
    survey_job,
    survey_table,
    tables,
    uploads,
)

PINNED = {"checkpoint": 190}
"""Columns that stay in view, in pixels: on a phone there is room for another one beside them."""
WIDTHS = {
    "mark": 42,
    "next start": 120,
    "newest": 76,
    "lag": 90,
    "state": 84,
    "throughput": 78,
    "worst finding": 320,
}
"""Columns whose longest texts would be cut, and what a line needs."""

MOST_ROWS = 2_000
"""Rows of the table; a search or a filter leads to the others."""


def main() -> None:
    shell.enter()
    if st.session_state.pop("_go", False):
        st.switch_page("pages/overview.py", query_params={})
    paste()
    uploads.field(_open)
    error_translator.folded(None, _open)
    survey()
    recent()


def paste() -> None:
    """A location that is not in the tables."""
    cards.text(say("screen_overview.open"), "section")
    with (
        st.form("paste", border=False, enter_to_submit=True),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        st.text_input(
            say("screen_overview.location"),
            key="pasted",
            placeholder=say("screen_overview.location_placeholder"),
            help=say("screen_overview.location_help"),
        )
        st.form_submit_button("Open", type="primary", on_click=_open_pasted)


def _open_pasted() -> None:
    pasted = (st.session_state.get("pasted") or "").strip()
    if pasted:
        _open(open_checkpoints.canonical(pasted))


def _open(name: str) -> None:
    shell.open_checkpoint(name)
    st.session_state["_go"] = True


def recent() -> None:
    """What this session opened, newest first."""
    names = open_checkpoints.recent()
    if not names:
        return
    cards.text(say("screen_overview.recent"), "section")
    shown: dict[str, list[object]] = {"checkpoint": [words.one_line(name, 200) for name in names]}
    _table(names, "recent", shown, [cards.MARKS["note"]] * len(names))


def survey() -> None:
    """The checkpoints below all roots, what needs attention first."""
    with st.container(horizontal=True, vertical_alignment="center"):
        cards.text(say("screen_survey.title"), "section", "content")
        st.button("Read again", type="tertiary", on_click=_read_again)
    listings = [root_listings.listing(root) for root in root_listings.names()]
    with st.spinner(say("screen_survey.looking")):
        job = survey_job.job(listings)
        job.wait(survey_job.FIRST_SECONDS)
    for listing in job.listings:
        if listing.found is not None:
            _about_root(listing.root, listing.found)
    if job.is_done and job.names:
        rows_of(job)
        if st.session_state.get("follow"):
            st.fragment(_follow, run_every=get_settings().look_for_new_seconds)(job)
    elif job.is_done:
        return
    else:
        st.fragment(_rows_so_far, run_every="2s")(job)


def _about_root(root: str, found: FoundCheckpoints | str) -> None:
    if isinstance(found, str):
        cards.message("blocked", found)
    elif not found.links:
        levels = get_settings().checkpoint_levels
        cards.message(
            "plain",
            say("screen_overview.none_below", root=root, levels=levels),
            say("screen_overview.none_below_more"),
        )
    elif not found.is_complete:
        cards.text(say("survey.stopped", root=root, listed=found.listed), "small")
    if not isinstance(found, str):
        for sentence in left_out(found, get_settings().checkpoint_levels):
            cards.text(sentence, "small")


def _read_again() -> None:
    root_listings.list_again()
    survey_job.read_again()


def _follow(job: survey_job.SurveyJob) -> None:
    """Followed, the rows are read again when they are some time old; those of before stay until then."""
    if job.is_older_than(survey_job.FOLLOW_SECONDS):
        _read_again()
        st.rerun()


def _rows_so_far(job: survey_job.SurveyJob) -> None:
    """The table while rows are being read; the page is drawn once more when all are there."""
    if job.is_done:
        st.rerun()
    done, total = job.done, len(job.asked)
    if job.is_searching:
        text = say("screen_survey.searching", done=done, total=total)
    else:
        text = say("screen_survey.progress", done=done, total=total)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(done / max(1, total), text, width=420)
        st.button("Stop", on_click=job.stop, type="tertiary")
    if total:
        rows_of(job)


def rows_of(job: survey_job.SurveyJob) -> None:
    """The table of what was read so far."""
    read = job.rows
    note = say("screen_survey.stopped") if job.is_done else say("screen_survey.reading")
    lines = [
        survey_table.Line(name, read.get(name), job.story(name), note, job.past(name)) for name in job.asked
    ]
    lines += [
        survey_table.Line(name, note=say("screen_survey.named_only")) for name in job.names[len(job.asked) :]
    ]
    shown = survey_table.shown(lines, *survey_table.filters(lines))
    if not shown:
        cards.message("plain", say("screen_survey.none_match", total=len(lines)))
        return
    cards.text(_summary(job, len(shown)), "small")
    for sentence in dict.fromkeys(text for line in shown if line.past for text in line.past.trouble):
        cards.text(sentence, "small")
    names = [line.name for line in shown]
    _table(names, "survey", survey_table.columns(shown), survey_table.marks(shown))
    if job.is_done:
        tables.downloads(survey_table.download_columns(shown), "checkpoints", key="survey-down")
        survey_charts.panel(shown)


def _summary(job: survey_job.SurveyJob, shown: int) -> str:
    done, total = job.done, len(job.asked)
    parts: list[str] = [say("screen_survey.click")]
    if job.is_done:
        seconds = f"{job.seconds:.1f}"
        parts.append(say("screen_survey.read_all", done=done, total=total, seconds=seconds))
    if len(job.names) > total:
        parts.append(say("screen_survey.limited", n=len(job.names) - total))
    if shown > MOST_ROWS:
        parts.append(say("screen_survey.shown", shown=MOST_ROWS, total=shown))
    return " ".join(parts)


def _table(names: list[str], key: str, columns: dict[str, list[object]], marks: list[str]) -> None:
    def clicked() -> None:
        state = st.session_state.get(key)
        cells = state.selection.cells if state is not None else []
        if cells and 0 <= cells[0][0] < len(names):
            _open(names[cells[0][0]])

    tables.clickable(
        columns,
        marks,
        key=key,
        alt=say("screen_overview.list", n=len(names)),
        on_select=clicked,
        pinned=PINNED,
        widths=WIDTHS,
        lines=frozenset({survey_table.COURSE, survey_table.PACE}),
        most=MOST_ROWS,
    )


main()
