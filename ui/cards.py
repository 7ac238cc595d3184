"""Boxes, figures and messages. Text from a checkpoint goes through ``st.text``, ``st.code`` or a table, never
through Markdown or HTML."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from core.messages import say
from core.messages.controls import on_page

Look = Literal["plain", "small", "strong", "lead", "section", "large", "name", "verdict"]
Tone = Literal["done", "doubt", "blocked", "plain", "note"]

MARKS: dict[Tone, str] = {"done": "●", "doubt": "◐", "blocked": "▲", "plain": "○", "note": "·"}
"""Status is a word, a shape and a colour; the shapes."""

EDGES: dict[Tone, str] = {
    "done": "#0072B2",
    "doubt": "#D55E00",
    "blocked": "#CC3311",
    "plain": "#7a756e",
    "note": "#7a756e",
}

# Fixed text of this program, no value in it: sizes, the coloured edge of boxes, and less empty space above
# the first line. A rule that asks what is anywhere in the app (`.stApp:has(...)`) makes Chromium judge the
# style of every element again for each mark that a chart draws.
_STYLE = """<style>
[data-testid="stMainBlockContainer"] {padding: 0 2.2rem 3rem 2.2rem; max-width: 1500px;}
[data-testid="stHeader"] {
  background: transparent;
  pointer-events: none;
}
[data-testid="stHeader"] * {pointer-events: none;}
[data-testid="stHeader"] button, [data-testid="stHeader"] button * {pointer-events: auto;}
[data-testid="stLayoutWrapper"]:has(> .st-key-header) {
  position: sticky; top: 0; z-index: 999; margin: -1rem -0.4rem 0; padding: 0 2.2rem 0 0.4rem;
  width: calc(100% + 0.8rem); max-width: none;
  background: light-dark(#ffffff, #10151a); border-bottom: 1px solid rgba(128, 128, 128, 0.25);
}
.st-key-header {min-height: 3.4rem; flex-wrap: nowrap; column-gap: 0.9rem;}
[data-testid="stSidebar"][data-collapsed="true"] ~ * .st-key-header > :first-child {margin-left: 2rem;}
.st-key-header > :has(> [class*="st-key-name-"]) {flex: 0 1 auto; min-width: 0;}
.st-key-header > [data-testid="stLayoutWrapper"]:has(> .st-key-verdict) {flex: 1 1 0; min-width: 12rem;}
[class*="st-key-name-"] [data-testid="stText"], [class*="st-key-name-"] [data-testid="stText"] * {
  white-space: nowrap !important;
  overflow: hidden;
  text-overflow: ellipsis;
}
.st-key-verdict [data-testid="stText"] {
  display: -webkit-box;
  -webkit-box-orient: vertical;
  -webkit-line-clamp: 2;
  overflow: hidden; line-height: 1.3;
}
.st-key-verdict [data-testid="stText"] * {display: inline; white-space: normal !important;}
.st-key-verdict:hover [data-testid="stText"] {-webkit-line-clamp: none;}
[class*="st-key-box-"] [data-testid="stPageLink"] {margin-top: 0.45rem;}
[class*="st-key-box-"] [data-testid="stExpander"] {margin-top: 0.3rem;}
[class*="st-key-box-"] [data-testid="stPageLink"] [data-testid="stPageLink"] {margin-top: 0;}
.st-key-header button {
  white-space: nowrap;
}
.st-key-header .stTooltipIcon {display: flex;}
[data-testid="stSidebarHeader"] {height: 2.6rem; margin-bottom: 0;}
[data-testid="stPageLink"] a {
  border: 1px solid rgba(128, 128, 128, 0.35); border-radius: 6px; padding: 0.35rem 0.7rem;
}
[data-testid="stPageLink"] a:not(:hover, :active, :focus-visible) {background: transparent;}
[data-testid="stPageLink"] a p {font-weight: 400 !important;}
.st-key-figures [data-testid="stPageLink"] a {padding: 0.1rem 0.55rem;}
.st-key-figures [class*="st-key-box-"] > :last-child:has([data-testid="stPageLink"]) {margin-top: auto;}
.st-key-questions [data-testid="stWidgetLabel"] {align-items: flex-end; min-height: 2.9rem;}
.st-key-questions [data-testid="stGridCell"] {justify-content: flex-end;}
.st-key-questions [data-testid="stGridCell"] [data-testid="stLayoutWrapper"] {flex: none;}
.st-key-figures {container: figures / inline-size;}
.st-key-batch-figures {container: batch-figures / inline-size;}
@container figures (max-width: 525px) {
  [data-testid="stGrid"] > :last-child:nth-child(odd) {grid-column: 1 / -1;}
}
@container figures (min-width: 526px) and (max-width: 704px) {
  [data-testid="stGrid"] > :last-child:nth-child(3n + 2) {grid-column: span 2;}
}
@container batch-figures (max-width: 485px) {
  [data-testid="stGrid"] > :last-child:nth-child(odd) {grid-column: 1 / -1;}
}
@container batch-figures (min-width: 486px) and (max-width: 704px) {
  [data-testid="stGrid"] > :last-child:nth-child(3n + 2) {grid-column: span 2;}
}
.st-key-read-at [data-testid="stText"] {white-space: nowrap;}
[data-testid="stMain"] [data-testid="stText"] {overflow-wrap: anywhere;}
[class*="st-key-name-"] [data-testid="stText"] {font-size: 1.25rem; font-weight: 650; line-height: 1.25;}
[class*="st-key-verdict-"] [data-testid="stText"] {font-size: 0.95rem; font-weight: 600;}
[class*="st-key-large-"] [data-testid="stText"] {font-size: 1.45rem; font-weight: 650; line-height: 1.25;}
[class*="st-key-section-"] [data-testid="stText"] {
  font-size: 1.22rem; font-weight: 650; line-height: 1.3; margin-top: 0.6rem;
}
[class*="st-key-strong-"] [data-testid="stText"] {font-weight: 600;}
[class*="st-key-lead-"] [data-testid="stText"] {font-size: 1.12rem; font-weight: 600; line-height: 1.4;}
[class*="st-key-small-"] [data-testid="stText"] {font-size: 0.87rem; opacity: 0.78; line-height: 1.35;}
button[data-selected="true"] p {color: CanvasText;}
[data-testid="stTab"][aria-selected="true"] p {color: light-dark(#00629b, #7cc5ee);}
[data-testid="stCode"] .token.string {color: light-dark(#0b6b34, #5fc98b);}
[data-testid="stCode"] .token.comment, [data-testid="stCode"] .token.punctuation {
  color: light-dark(#59636e, #a3adb7);
}
body :focus-visible {
  outline: 2px solid light-dark(#00629b, #7cc5ee) !important; outline-offset: 1px !important;
  box-shadow: none !important;
}
body > :not(#root) :focus-visible {outline-color: #2a8bcc !important;}
body :is(
  [data-testid="stSidebarNavLink"], summary, main, [data-testid="stCode"], [role="tab"], [role="group"] button
):focus-visible {outline-offset: -2px !important;}
body :is([role="group"], [data-testid$="RootElement"], [data-testid="stNumberInputContainer"])
:is(input, textarea):focus-visible {outline: none !important;}
[role="group"][data-focus-visible="true"],
:is([data-testid$="RootElement"], [data-testid="stNumberInputContainer"]):focus-within,
[data-testid="stDataFrameResizable"]:focus-within {
  outline: 2px solid light-dark(#00629b, #7cc5ee); outline-offset: -1px;
}
:is([data-testid="stCheckbox"], [data-testid="stRadio"]) label[data-focus-visible="true"] {
  outline: 2px solid light-dark(#00629b, #7cc5ee); outline-offset: 2px; border-radius: 3px;
}
[data-testid="stElementToolbar"]:focus-within {opacity: 1; top: -2.85rem; z-index: 1;}
.js-plotly-plot .modebar:focus-within, .js-plotly-plot .modebar:focus-within * {opacity: 1;}
[data-testid="stCode"] > pre + div {visibility: visible;}
[data-testid="stPopoverBody"] [data-testid="stCode"] > pre + div,
[data-testid="stCode"]:focus-within > pre + div {opacity: 1; transition-delay: 0s;}
.stApp button:is([kind="tertiary"], [data-testid="stPopoverButton"]):is(
  :hover, :active, :focus-visible, [aria-expanded="true"]
) {color: light-dark(#00629b, #7cc5ee);}
[data-testid="stLayoutWrapper"]:has(> [class*="st-key-in-lines-"]) {display: none;}
div.course {height: 26px; background: light-dark(#0072B2, #56B4E9); opacity: 0.75;}
EDGES_HERE
@media (hover: none) {
  [data-testid="stElementToolbar"], .modebar-container {display: none !important;}
}
@media (prefers-reduced-motion: reduce) {
  *, *::before, *::after {
    animation-duration: 0.01ms !important; animation-iteration-count: 1 !important;
    transition-duration: 0.01ms !important; scroll-behavior: auto !important;
  }
}
@media print {
  [data-testid="stSidebar"], [data-testid="stHeader"], [data-testid="stToolbar"],
  [data-testid="stElementToolbar"],
  [data-testid="stButton"], [data-testid="stDownloadButton"], [data-testid="stPopover"],
  [data-testid="stPageLink"],
  .modebar-container, [data-testid="stExpander"]:has(details:not([open])) {display: none !important;}
  html, body, #root, .stApp, [data-testid="stAppViewContainer"], [data-testid="stMain"] {
    position: static !important; height: auto !important; overflow: visible !important;
  }
  [data-testid="stMainBlockContainer"] {padding: 0;}
  [data-testid="stLayoutWrapper"]:has(> .st-key-header) {position: static; margin: 0; padding: 0;}
  .st-key-verdict [data-testid="stText"] {-webkit-line-clamp: none;}
  [class*="st-key-box-"], [data-testid="stPlotlyChart"], [data-testid="stDataFrame"], [data-testid="stCode"] {
    break-inside: avoid;
  }
  [role="tablist"], [data-testid="stLayoutWrapper"]:has(> [class*="st-key-section-"]),
  [data-testid="stLayoutWrapper"]:has(> [class*="st-key-section-"]) + :has(> [class*="st-key-small-"]) {
    break-after: avoid;
  }
  [data-testid="stTooltipIcon"]:has(> * > button[aria-label^="Help for"]) {display: none;}
  .js-plotly-plot, [data-testid="stDataFrame"], [data-testid="stDataFrameGlideDataEditor"] {
    overflow: visible !important;
  }
}
@media screen and (max-width: 640px) {
  [data-testid="stLayoutWrapper"]:has(> [class*="st-key-in-columns-"]) {display: none;}
  [data-testid="stLayoutWrapper"]:has(> [class*="st-key-in-lines-"]) {display: flex;}
}
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"] {padding: 0 0.8rem 3rem 0.8rem;}
  [data-testid="stLayoutWrapper"]:has(> .st-key-header) {padding-right: 2.6rem;}
  .st-key-header {flex-wrap: wrap; row-gap: 0; padding: 0.55rem 0 0.35rem; align-content: center;}
  .st-key-header > :has(> [class*="st-key-name-"]) {flex: 1 1 0; min-width: 0;}
  [class*="st-key-name-"] [data-testid="stText"] {font-size: 1.08rem;}
  .st-key-header > [data-testid="stLayoutWrapper"]:has(> .st-key-verdict) {order: 9; flex: 1 0 100%;}
  .st-key-header button p {
    position: absolute; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%);
  }
  [class*="st-key-large-"] [data-testid="stText"] {font-size: 1.2rem;}
  [data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"],
  [data-testid="stMainBlockContainer"] [data-testid="stVerticalBlock"]:not([class*="st-key-"]) {
    row-gap: 0.7rem;
  }
  [class*="st-key-section-"] [data-testid="stText"] {margin-top: 0.35rem;}
  [class*="st-key-box-"] {padding: 0.55rem 0.75rem;}
  .st-key-figures > * {gap: 0.6rem !important;}
  .st-key-position-and-costs {flex-direction: column-reverse;}
  .st-key-about {flex-direction: column; row-gap: 0;}
  .st-key-about > * {flex: none; width: 100%;}
  [class*="st-key-box-"]:has(> :last-child [data-testid="stPageLink"]) {padding-bottom: 0.9rem;}
  .st-key-questions [data-testid="stWidgetLabel"] {min-height: 0;}
  .st-key-x [data-testid="stWidgetLabel"] {position: absolute; clip-path: inset(50%);}
}
</style>""".replace(
    "EDGES_HERE",
    "\n".join(
        f'[class*="st-key-box-{tone}-"] {{border-left: 4px solid {colour} !important;}}'
        for tone, colour in EDGES.items()
    ),
)


def style() -> None:
    """Sends the style sheet; once per run."""
    st.html(_STYLE)


def _key(kind: str) -> str:
    """A fresh key for one styled container: Streamlit wants each key once per run, and here it only carries
    the style."""
    number = st.session_state.get("_style_keys", 0) + 1
    st.session_state["_style_keys"] = number
    return f"{kind}-{number}"


def restart_keys() -> None:
    """Call at the beginning of each run, so that keys stay the same from run to run."""
    st.session_state["_style_keys"] = 0


def text(
    body: str,
    look: Look = "plain",
    width: Literal["stretch", "content"] = "stretch",
) -> None:
    """A text exactly as it is, whatever is in it. ``width`` "content" for texts that stand side by side."""
    if look == "plain":
        st.text(body)
        return
    with st.container(key=_key(look), gap=None, width=width):
        st.text(body)


def said(body: str, look: Look = "plain", width: Literal["stretch", "content"] = "stretch") -> None:
    """A sentence of the catalogue, which names the controls of the pages in place of options of the command
    line."""
    text(on_page(body), look, width)


def box(
    tone: Tone,
    height: Literal["content", "stretch"] = "content",
    gap: Literal["xxsmall", "small"] = "xxsmall",
) -> st.delta_generator.DeltaGenerator:
    """A bordered box with an edge in the colour of ``tone``."""
    return st.container(border=True, key=_key(f"box-{tone}"), gap=gap, height=height)


def message(tone: Tone, body: str, more: str = "") -> None:
    """One sentence in a box, with its shape; ``more`` is smaller and below."""
    with box(tone):
        text(f"{MARKS[tone]} {body}", "strong")
        if more:
            text(more, "small")


def figure(label: str, value: str, note: str = "", tone: Tone = "plain") -> None:
    """One figure with its label above and what it means below."""
    with box(tone, height="stretch"):
        text(label, "small")
        text(value, "large")
        if note:
            text(note, "small")


def raw(body: str, language: str | None = None, most: int = 20_000) -> None:
    """The content of a file as it is; a very long one is cut, and that is said."""
    shown = body[:most]
    st.code(shown, language=language, wrap_lines=True)
    if len(body) > most:
        text(say("screens.shown_characters", shown=most, total=len(body)), "small")
