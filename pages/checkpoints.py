"""Checkpoints: choose one below the configured roots, paste a location, or go back to a recent one."""

from __future__ import annotations

import streamlit as st

from core.messages import say, words
from core.settings import get_settings
from ui import cards, checkpoint_rows, open_checkpoints, shell, tables


def main() -> None:
    shell.enter()
    if st.session_state.pop("_go", False):
        st.switch_page("pages/overview.py", query_params={})
    paste()
    recent()
    for root in open_checkpoints.root_names():
        below(root)


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
    _table(
        names,
        [checkpoint_rows.Row(name) for name in names],
        "recent",
        {"checkpoint": [words.one_line(name, 200) for name in names]},
    )


def below(root: str) -> None:
    """The checkpoints of one root."""
    with st.container(horizontal=True, vertical_alignment="center"):
        cards.text(say("screen_overview.below", root=root), "section", "content")
        st.button("List again", key=f"again-{root}", type="tertiary", on_click=open_checkpoints.list_again)
    found = open_checkpoints.below(root)
    if isinstance(found, str):
        cards.message("blocked", found)
        return
    if not found.links:
        cards.message(
            "plain",
            say("screen_overview.none_below", root=root, levels=get_settings().checkpoint_levels),
            say("screen_overview.none_below_more"),
        )
        return
    rows = list(checkpoint_rows.rows(found.links))
    text: str = say("screen_overview.found_below", n=len(rows))
    if not found.is_complete:
        text = f"{text} {say('screen_overview.search_stopped', listed=found.listed)}"
    cards.text(text, "small")
    columns = as_columns(rows)
    _table([row.name for row in rows], rows, f"root-{root}", columns)
    tables.downloads(columns, f"checkpoints-{root}", key=f"root-{root}")


def as_columns(rows: list[checkpoint_rows.Row]) -> dict[str, list[object]]:
    """The table of a root."""
    return {
        "checkpoint": [open_checkpoints.title_of(row.name) for row in rows],
        "what happened": [row.problem or row.story or "" for row in rows],
        "last committed": [_batch(row, row.last_committed) for row in rows],
        "not committed": [_batch(row, row.pending) for row in rows],
        "sources": [row.sources for row in rows],
        "state": [{True: "stateful", False: "stateless", None: ""}[row.is_stateful] for row in rows],
        "newest log file": [
            words.moment(row.newest_ms, seconds=False) if row.newest_ms else "" for row in rows
        ],
        "location": [row.name for row in rows],
    }


def _batch(row: checkpoint_rows.Row, batch_id: int | None) -> str:
    """A batch in the table; nothing was looked at where the row has no number of batches."""
    if row.batches is None:
        return "not looked at" if not row.problem else ""
    return "none" if batch_id is None else f"batch {batch_id}"


def _table(
    names: list[str], rows: list[checkpoint_rows.Row], key: str, columns: dict[str, list[object]]
) -> None:
    def clicked() -> None:
        state = st.session_state.get(key)
        cells = state.selection.cells if state is not None else []
        if cells and 0 <= cells[0][0] < len(names):
            _open(names[cells[0][0]])

    tables.clickable(columns, key=key, alt=say("screen_overview.list", n=len(rows)), on_select=clicked)


main()
