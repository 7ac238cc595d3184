"""What the browser is told beside the page: the title of its tab, and how many steps Back takes."""

from __future__ import annotations

import streamlit as st

from core.messages import words
from ui import cards

TITLE = "Checkpoint Explorer"

_ONE_ENTRY_PER_ACTION = """<script>
if (!window.oneEntryPerAction) {
  window.oneEntryPerAction = true;
  let isNewAction = false;
  const push = history.pushState.bind(history);
  for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, () => { isNewAction = true; }, true);
  addEventListener("popstate", () => { isNewAction = false; }, true);
  history.pushState = (state, unused, url) => {
    if (isNewAction) push(state, unused, url); else history.replaceState(state, unused, url);
    isNewAction = false;
  };
}
</script>"""
"""Fixed text, no value in it. A click in the menu makes Streamlit push two or three addresses: the old page
without its choices, the new page, the new page with the choices it had. Only one of them is a step of the
person: what one action pushes is one entry, and Back leads to the view before it."""


def one_entry_per_action() -> None:
    """Back and Forward step through what a person did. Once per run; the page keeps the first."""
    st.html(_ONE_ENTRY_PER_ACTION, unsafe_allow_javascript=True)


def tab_title(page: str, checkpoint: str | None = None, tone: cards.Tone | None = None) -> None:
    """``▲ orders · Timeline``: the shape of the verdict first, so that tabs side by side show it."""
    name = "" if checkpoint is None else words.one_line(checkpoint, 60)
    mark = "" if tone is None else f"{cards.MARKS[tone]} "
    st.set_page_config(page_title=f"{mark}{name} · {page}" if name else f"{page} · {TITLE}")
