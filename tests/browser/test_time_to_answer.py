"""How far the answers to nine questions are away: clicks after a checkpoint was opened, and pixels to scroll
until the whole answer is seen. ``pytest -s`` prints what was measured.

At 1280 pixels the first five need no click and at most one screen of scrolling; code of the recommended option
and the rows of a batch are seen within a screen and a half after one click. At 390 pixels nothing needs more than half of the
scrolling that was measured before the pages were redrawn (``before``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page

from tests.browser.conftest import Visit, Visiting
from tests.spark.cases import EVERY_CASE

HEIGHTS = {1280: 900, 390: 844}
KAFKA, HOT, HELD, FAILS = (
    "kafka-pipeline-died-mid-batch",
    "windowed-aggregation-hot-partition",
    "join-watermark-held-back",
    "missing-delta-file",
)


@dataclass(frozen=True)
class Question:
    """A question about a sample. ``look``: clicks and types what it takes, from Overview, and gives what
    answers it. ``clicks``: how many at 1280 pixels; on a phone the menu takes one more to open. ``before``:
    the lower edge of the answer on a phone before the pages were redrawn, in pixels."""

    sample: str
    look: Callable[[Visit], Locator]
    clicks: int
    before: int
    screens: float = 1.0


def text(pattern: str) -> Callable[[Visit], Locator]:
    """What matches on the page that is open."""
    return lambda one: one.page.get_by_text(re.compile(pattern)).locator("visible=true").last


def menu(one: Visit, page: str) -> None:
    """Opens another page; on a phone the menu first."""
    opens = one.page.get_by_test_id("stExpandSidebarButton")
    if opens.is_visible():
        opens.click()
    one.page.get_by_test_id("stSidebarNavLink").filter(has_text=page).click()
    one.page.wait_for_url(f"**/{page.lower()}?**")
    one.settle()


def of_batch(one: Visit) -> Locator:
    menu(one, "Timeline")
    field = one.page.get_by_role("spinbutton", name="Batch")
    field.fill("3")
    field.press("Enter")
    one.page.get_by_text("Batch 3", exact=True).first.wait_for()
    one.settle()
    return one.page.locator('[data-testid="stMain"] [data-testid="stDataFrame"]').first


def code(one: Visit) -> Locator:
    one.page.get_by_role("link", name="Recovery options").first.click()
    one.page.wait_for_url("**/recovery?**")
    one.settle()
    found = one.page.locator('[data-testid="stMain"] [data-testid="stCode"]').first
    found.wait_for()
    return found


def error(one: Visit) -> Locator:
    title = one.page.get_by_text("What does this error mean here?")
    title.click()
    field = one.page.get_by_role("textbox", name=re.compile("[Ee]rror"))
    field.wait_for()
    return field


QUESTIONS = {
    "is it safe to restart?": Question(KAFKA, text("Spark will re-run batch 8"), 0, 312),
    "where would it start: the batch": Question(KAFKA, text("Spark will re-run batch 8"), 0, 703),
    "where would it start: the offsets": Question(KAFKA, text("startingOffsets"), 0, 2306),
    "which partition is hot?": Question(HOT, text("partition 1 of operator 0 holds 81%"), 0, 612),
    "why is the watermark stuck?": Question(HELD, text("No new data came from source 1"), 0, 1550),
    "what did batch 3 read?": Question(KAFKA, of_batch, 1, 1846, 1.5),
    "what do I lose if I delete it?": Question(KAFKA, text("Old query id kept"), 0, 2050),
    "code of the recommended option": Question(KAFKA, code, 1, 5636, 1.5),
    "what does this error mean?": Question(FAILS, error, 1, 3065),
}


def lower_edge(page: Page, answer: Locator) -> float:
    """Of the answer, from the top of the page that scrolls."""
    answer.wait_for()
    page.wait_for_timeout(300)  # what is drawn last may still push it down
    box = answer.bounding_box()
    assert box is not None
    scrolled = page.evaluate("document.querySelector('[data-testid=\"stMain\"]').scrollTop")
    return float(box["y"] + box["height"] + scrolled)


def shared_visits() -> dict[str, list[str]]:
    """The questions by what is opened for them: those without a click need one visit for each sample."""
    found: dict[str, list[str]] = {}
    for name, question in QUESTIONS.items():
        found.setdefault(name if question.clicks else f"at once: {question.sample}", []).append(name)
    return found


VISITS = shared_visits()


# In a plain run the widths take turns.
VISITED = [
    (asked, width)
    for at, asked in enumerate(VISITS)
    for turn, width in enumerate(HEIGHTS)
    if os.environ.get(EVERY_CASE) or (at + turn) % 2
]


@pytest.mark.parametrize(("asked", "width"), VISITED)
def test_the_answer_is_near(visit: Visiting, asked: str, width: int) -> None:
    one = visit(width=width, height=HEIGHTS[width])
    sample = QUESTIONS[VISITS[asked][0]].sample
    one.open(f"/overview?ck=samples/{sample}/checkpoint")
    one.wait_for_text("What the query is")
    one.settle()
    far = [trouble for name in VISITS[asked] if (trouble := too_far(one, name, width))]
    assert not far


def too_far(one: Visit, asked: str, width: int) -> str | None:
    """How far the answer is, where that is further than it may be."""
    question, height = QUESTIONS[asked], HEIGHTS[width]
    found = lower_edge(one.page, question.look(one))
    scrolled = max(0.0, found - height)
    before = max(0, question.before - height)
    said = f"{width:>5} {asked:<36} lower edge {found:>5.0f}, scrolled {scrolled:>5.0f}, clicks {question.clicks}"
    print(said)
    if width == 1280:
        is_near = found <= height * (1 + question.screens if question.clicks == 0 else question.screens)
    else:
        is_near = scrolled <= before / 2
    return None if is_near else f"{said}; scrolled before {before}"
