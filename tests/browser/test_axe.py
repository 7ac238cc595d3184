"""axe-core finds no violation on any page and nothing scrolls sideways: light and dark, wide and narrow, a start
that fails, one that works, and source and sink given.

A run opens each page at both widths and in both themes, which two looks do; CHECKPOINT_EXPLORER_EVERY_CASE=1 takes
four."""

from __future__ import annotations

import os
from importlib import resources

import pytest

from tests.browser.conftest import Visiting
from tests.spark.cases import EVERY_CASE

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
PAGES = ("overview", "timeline", "state", "watermark", "ends", "integrity", "compare", "recovery")
BESIDE = "samples/delta-batch-already-in-table"
CHECKPOINTS = {
    "fails": "ck=samples/missing-delta-file/checkpoint&partition=2&level=normal&loss=false"
    "&with=samples/windowed-aggregation-hot-partition/checkpoint",
    "several sources and stores": "ck=samples/join-watermark-held-back/checkpoint&batch=3"
    "&with=samples/windowed-aggregation-hot-partition/checkpoint&depth=bytes",
    "source and sink given": (
        f"ck={BESIDE}/checkpoint&sink={BESIDE}/sink&at_0={BESIDE}/source&batch=3&a_sink=delta"
    ),
}
VIOLATIONS = """async () => {
  const found = await axe.run(document, {resultTypes: ["violations"]});
  return found.violations.map(one => one.id + ": " + one.nodes.slice(0, 4).map(
    node => node.target.join(" ") + " (" + node.failureSummary.split("\\n").slice(-1)[0].trim().slice(0, 160) + ")").join("; "));
}"""


def violations(page: object) -> list[str]:
    """What axe says about the page as it is drawn: one line per rule, with the first places."""
    page.evaluate(AXE)  # type: ignore[attr-defined]
    found: list[str] = page.evaluate(VIOLATIONS)  # type: ignore[attr-defined]
    return found


# The four looks shared out over three kinds of checkpoints; the first two are a pair, and so are the others.
LOOKS = [
    ("fails", 1280, "light"),
    ("fails", 390, "dark"),
    ("several sources and stores", 1280, "dark"),
    ("source and sink given", 390, "light"),
]
WIDER = """() => {
  const main = document.querySelector('[data-testid="stMain"]');
  return main.scrollWidth > main.clientWidth || document.documentElement.scrollWidth > innerWidth;
}"""
GROUND = "() => getComputedStyle(document.querySelector('[data-testid=\"stApp\"]')).backgroundColor"


@pytest.mark.parametrize(("kind", "width", "theme"), LOOKS)
def test_no_page_has_a_barrier_that_axe_knows_or_scrolls_sideways_and_the_theme_is_the_visitors(
    visit: Visiting, kind: str, width: int, theme: str
) -> None:
    one = visit(width=width, theme=theme)
    found, wide, grounds = {}, [], set()
    pair = LOOKS.index((kind, width, theme)) // 2
    for name in ("", *PAGES) if os.environ.get(EVERY_CASE) else ("", *PAGES)[pair::2]:
        page = one.open(f"/{name}?{CHECKPOINTS[kind]}" if name else "/")  # the list of checkpoints names none
        found[name or "checkpoints"] = violations(page)
        if page.evaluate(WIDER):
            wide.append(name)
        grounds.add(page.evaluate(GROUND))
    assert found == {name: [] for name in found}
    assert wide == []
    assert ("rgb(255, 255, 255)" in grounds) == (theme == "light") and len(grounds) == 1, grounds
