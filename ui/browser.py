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


_HEADINGS = """<script>
if (!window.headingsAreNamed) {
  window.headingsAreNamed = true;
  let isAsked = false;
  const mark = () => {
    isAsked = false;
    for (const text of document.querySelectorAll('[data-testid="stText"][role="heading"]'))
      if (!text.closest('[class*="st-key-name-"], [class*="st-key-section-"]')) text.removeAttribute("role");
    for (const [look, level] of [["name", "1"], ["section", "2"]]) {
      const texts = `[class*="st-key-${look}-"] [data-testid="stText"]:not([role])`;
      for (const text of document.querySelectorAll(texts)) {
        text.setAttribute("role", "heading");
        text.setAttribute("aria-level", level);
      }
    }
  };
  const ask = () => {
    if (isAsked) return;
    isAsked = true;
    setTimeout(mark, 200);
  };
  new MutationObserver(ask).observe(document.body, {"childList": true, "subtree": true});
  ask();
}
</script>"""
"""Fixed text, no value in it. Names and titles are drawn as plain text, because of what may be in them, and
plain text is no heading to a screen reader: it is told here which texts are."""


_INTO_POPOVERS = """<script>
if (!window.popoversTakeFocus) {
  window.popoversTakeFocus = true;
  const find = () => document.querySelector('[data-testid="stPopoverBody"]');
  const enter = (tries) => {
    const box = find();
    if (!box) { if (tries) setTimeout(enter, 50, tries - 1); return; }
    box.tabIndex = -1;
    box.focus({"preventScroll": true});
  };
  addEventListener("keydown", (event) => {
    const button = event.target.closest('[data-testid="stPopoverButton"]');
    if (button && (event.key === "Enter" || event.key === " ")) {
      if (button.getAttribute("aria-expanded") === "true") return;
      window.popoverOf = button;
      setTimeout(enter, 50, 20);
    } else if (event.key === "Escape" && window.popoverOf && find()?.contains(event.target))
      setTimeout(() => { if (!find()) window.popoverOf.focus(); }, 200);
  }, true);
}
</script>"""
"""Fixed text, no value in it. Streamlit draws an open box at the end of the page and leaves the focus on its
button: Tab went through the whole page before it came to what was opened."""


ROWS = "rows-of-state"
"""The part of the page State that a link with something to find leads to."""

_TO_ROWS = f"""<script>
if (!window.linksLeadToRows) {{
  window.linksLeadToRows = true;
  let until = 0;
  const stop = () => {{ until = 0; }};
  for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(kind, stop, true);
  const follow = () => {{
    if (Date.now() > until) return;
    const rows = document.querySelector(".st-key-{ROWS}");
    const header = document.querySelector(".st-key-header");
    if (rows && header) {{
      rows.style.scrollMarginTop = `${{header.getBoundingClientRect().height + 20}}px`;
      rows.scrollIntoView();
    }}
    setTimeout(follow, 250);
  }};
  addEventListener("click", (event) => {{
    const link = event.target.closest('[data-testid="stPageLink-NavLink"]');
    if (!link || !/[?&]find=/.test(link.getAttribute("href"))) return;
    until = Date.now() + 6000;
    setTimeout(follow, 250);
  }}, true);
}}
</script>"""
"""Fixed text, no value in it. The rows stand below charts that are drawn one after the other: the view
follows them for some seconds, until somebody scrolls, clicks or types. A link that changed only what stands
three screens further down looked as if it did nothing."""


def manners() -> None:
    """Back and Forward step through what a person did; a screen reader can go from heading to heading; who
    opens a box by keyboard is in it, and Escape leads back; a link to the rows of a partition leads to where
    they stand. Once per run, the page keeps the first; one element, because each takes room of its own."""
    scripts = (_ONE_ENTRY_PER_ACTION, _HEADINGS, _INTO_POPOVERS, _TO_ROWS)
    st.html("".join(scripts), unsafe_allow_javascript=True)


def tab_title(page: str, checkpoint: str | None = None, tone: cards.Tone | None = None) -> None:
    """``▲ orders · Timeline``: the shape of the verdict first, so that tabs side by side show it."""
    name = "" if checkpoint is None else words.one_line(checkpoint, 60)
    mark = "" if tone is None else f"{cards.MARKS[tone]} "
    st.set_page_config(page_title=f"{mark}{name} · {page}" if name else f"{page} · {TITLE}")
