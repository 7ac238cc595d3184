"""Incidents: the evidence in the incident store, newest first; a click opens one as it was then."""

from __future__ import annotations

import streamlit as st

from core.incident import KeptList
from core.messages import say, words
from ui import cards, kept_incidents, shell, tables

PINNED = {"checkpoint": 130}
"""The column that stays in view, in pixels: on a phone there is room for another one beside it."""
WIDTHS = {"next start": 150, "as of": 180, "location": 260, "opens as": 320}
MOST_PROBLEMS = 10


def main() -> None:
    shell.enter()
    if st.session_state.pop("_go", False):
        st.switch_page("pages/overview.py", query_params={})
    with st.container(horizontal=True, vertical_alignment="center"):
        cards.text(say("incident_store.title"), "section", "content")
        st.button("Read again", type="tertiary", on_click=kept_incidents.list_again)
    if not kept_incidents.are_listed():
        cards.message("plain", say("incident_store.no_list"))
        return
    with st.spinner(say("incident_store.listing")):
        found = kept_incidents.found()
    if isinstance(found, str):
        cards.message("blocked", found)
    elif not found.entries:
        cards.message("plain", say("incident_store.empty"), say("incident_store.empty_what"))
    else:
        listed(found)


def listed(found: KeptList) -> None:
    """The table; a click on a cell opens the evidence."""
    names = [each.name for each in found.entries]

    def clicked() -> None:
        state = st.session_state.get("incidents")
        cells = state.selection.cells if state is not None else []
        if cells and 0 <= cells[0][0] < len(names):
            shell.open_checkpoint(names[cells[0][0]])
            st.session_state["_go"] = True

    cards.text(kept_incidents.count_sentence(found), "small")
    tables.clickable(
        kept_incidents.columns(found.entries),
        kept_incidents.marks(found.entries),
        key="incidents",
        alt=say("incident_store.list_alt", n=len(names)),
        on_select=clicked,
        pinned=PINNED,
        widths=WIDTHS,
    )
    for each in [each for each in found.entries if each.problem is not None][:MOST_PROBLEMS]:
        cards.text(
            say("incident_store.problem", name=each.name, why=words.one_line(each.problem or "", 400)),
            "small",
        )
    tables.downloads(kept_incidents.download_columns(found.entries), "incidents", key="incidents-down")


main()
