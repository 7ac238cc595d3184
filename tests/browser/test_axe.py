"""axe-core finds no violation on any page: light and dark, wide and narrow, a start that fails, one that
works, and source and sink given."""

from __future__ import annotations

from importlib import resources

import pytest

from tests.browser.conftest import Visiting

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
PAGES = ("overview", "timeline", "state", "watermark", "ends", "integrity", "recovery")
BESIDE = "samples/delta-batch-already-in-table"
CHECKPOINTS = {
    "fails": "ck=samples/missing-delta-file/checkpoint&partition=2&level=normal&loss=false",
    "several sources and stores": "ck=samples/join-watermark-held-back/checkpoint&batch=3",
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


LOOKS = [
    *(("fails", width, theme) for width in (1280, 390) for theme in ("light", "dark")),
    *((kind, *look) for kind in list(CHECKPOINTS)[1:] for look in ((1280, "light"), (390, "dark"))),
]


@pytest.mark.parametrize(("kind", "width", "theme"), LOOKS)
def test_no_page_has_a_barrier_that_axe_knows(visit: Visiting, kind: str, width: int, theme: str) -> None:
    one = visit(width=width, theme=theme)
    found = {}
    for name in ("", *PAGES) if kind == "fails" else PAGES:  # the list of checkpoints names none
        page = one.open(f"/{name}?{CHECKPOINTS[kind]}" if name else "/")
        found[name or "checkpoints"] = violations(page)
    assert found == {name: [] for name in found}
