"""The incident report of the open checkpoint: to download, or to paste into a chat."""

from __future__ import annotations

import streamlit as st

from core.checkpoint import Checkpoint
from core.incident import Beside, Report, is_address, report, to_chat, to_html, to_markdown
from core.messages import say, words
from ui import cached_answers, cards, links, recovery_answers
from ui.open_checkpoints import Opened


def folded(opened: Opened, ck: Checkpoint) -> None:
    """The report behind its title; it is made when somebody opens it."""
    with st.expander(say("report.panel"), key="report", on_change="rerun") as place:
        if not place.open:
            return
        cards.text(say("report.panel_what"), "small")
        made = _made(opened, ck)
        name = f"{words.file_name(opened.title)}-report"
        with st.container(horizontal=True, gap="small"):
            st.download_button(
                say("report.button_html"),
                lambda: to_html(made).encode("utf-8", "backslashreplace"),
                f"{name}.html",
                "text/html",
                key="report-html",
                on_click="ignore",
            )
            st.download_button(
                say("report.button_markdown"),
                lambda: to_markdown(made).encode("utf-8", "backslashreplace"),
                f"{name}.md",
                "text/markdown",
                key="report-markdown",
                on_click="ignore",
            )
        cards.text(say("report.panel_chat"), "small")
        st.code(to_chat(made), language=None, wrap_lines=True)


def _made(opened: Opened, ck: Checkpoint) -> Report:
    """The report of the judgement that the page shows, with the address of the view."""
    link = links.address()
    judgement = cached_answers.judgement(opened, ck)
    return report(
        judgement, Beside(link=link if is_address(link) else "", answers=recovery_answers.choices())
    )
