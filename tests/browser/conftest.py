"""The app in a real Chromium. Every request to another host ends at a name that nobody has, and is remembered; a
test that made one fails."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    Locator,
    Page,
    Playwright,
    Request,
    WebSocket,
    expect,
    sync_playwright,
)
from playwright.sync_api import TimeoutError as NotInTime

from tests.support.app import RunningApp, running_app

CHROMIUM = os.environ.get("CHROMIUM") or "/usr/bin/chromium"
LOCAL = {"127.0.0.1", "localhost"}

# No other host can be reached. (Playwright can refuse requests too, but asks for every one of them, and then
# Chromium keeps no file of the app: a third of the processor time of a page.)
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"

TIMEOUT_MS = 90_000  # a limit for broken pages, generous because other work may run on the machine
expect.set_options(timeout=TIMEOUT_MS)

CONNECTED = '[data-testid="stApp"][data-test-connection-state="CONNECTED"]'
AT_REST = '[data-testid="stApp"][data-test-script-state="notRunning"]'
EXCEPTION = '[data-testid="stException"]'


@dataclass
class Visit:
    """One browser page with what it asked for and what it was sent."""

    page: Page
    app: RunningApp
    foreign: list[str] = field(default_factory=list)
    received_bytes: int = 0
    console: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """Opens a link of the app and waits until it is drawn."""
        self.page.goto(self.app.address + path)
        self.settle()
        return self.page

    def settle(self) -> None:
        """Waits until the app has begun to draw, is at rest and has drawn its charts."""
        self.page.wait_for_selector(CONNECTED)
        self.page.locator(".st-key-header").wait_for()
        self.page.wait_for_selector(AT_REST)
        self.page.locator('[data-testid="stSkeleton"]').first.wait_for(state="detached")

    def text(self) -> str:
        """What stands on the page."""
        return self.page.locator('[data-testid="stMain"]').inner_text()

    def wait_for_text(self, text: str) -> None:
        """Waits until the main part says this."""
        self.page.get_by_text(text).first.wait_for()


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """The system's Chromium. Missing, it fails the tests: only `--without browser` leaves them out."""
    if not Path(CHROMIUM).exists():
        pytest.fail(
            f"No Chromium at {CHROMIUM}: install it, set CHROMIUM, or leave these tests out with --without"
            " browser."
        )
    running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", ALONE])
    yield running
    running.close()


@pytest.fixture(scope="package")
def app() -> Iterator[RunningApp]:
    """One server on the samples, for all tests that do not need a fresh one."""
    with running_app() as running:
        yield running


Visiting = Callable[..., Visit]


@pytest.fixture
def visit(browser: Browser, app: RunningApp) -> Iterator[Visiting]:
    """``visit(width=390, theme="dark")``: a new browser page on the app. At the end: no exception box, no
    request to another host. As with a person who wants no animations: drawing theirs takes more processor time
    here than all the rest of a page."""
    visits: list[Visit] = []

    def new(
        width: int = 1280, height: int = 900, theme: str = "light", server: RunningApp | None = None
    ) -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if theme == "dark" else "light",
            reduced_motion="reduce",
        )
        context.set_default_timeout(TIMEOUT_MS)
        made = Visit(context.new_page(), server or app)

        def asked(request: Request) -> None:
            parts = urlsplit(request.url)
            if parts.scheme in ("http", "https") and parts.hostname not in LOCAL:
                made.foreign.append(request.url)

        def socket(opened: WebSocket) -> None:
            def count(payload: str | bytes) -> None:
                made.received_bytes += len(payload)

            opened.on("framereceived", count)

        context.on("request", asked)
        made.page.on("websocket", socket)
        made.page.on(
            "console", lambda message: made.console.append(message.text) if message.type == "error" else None
        )
        visits.append(made)
        return made

    yield new
    for made in visits:
        try:
            assert made.foreign == [], "the page asked another host"
            assert made.page.locator(EXCEPTION).count() == 0, (
                f"an exception box is on the page: {made.app.said()}"
            )
        finally:
            made.page.context.close()


def choose(one: Visit, field: Locator, option: str, typed: str = "") -> None:
    """Chooses an option of a select box, as a hand does: when a late drawing closed the list, it is opened again.

    ``typed``: what is written into the field first, to narrow the options.
    """
    found = one.page.get_by_role("option", name=option).first
    for again in range(10):
        one.settle()
        field.scroll_into_view_if_needed()
        if typed:
            field.click()
            field.fill(typed)
        else:
            field.press("ArrowDown")
        try:
            found.click(timeout=TIMEOUT_MS / 10)
            return
        except NotInTime:
            if again == 9:
                raise
            field.press("Escape")


CHART_POINT = """([key, wanted]) => {
  const box = document.querySelector('.st-key-' + key + ' .js-plotly-plot');
  if (!box || !box._fullData) return null;
  const layout = box._fullLayout;
  for (let at = 0; at < box._fullData.length; at++) {
    const trace = box._fullData[at];
    for (let i = 0; i < trace.x.length; i++) {
      const is = trace.customdata ? trace.customdata[i] : trace.x[i];
      if (is == wanted) {
        const xaxis = layout['xaxis' + trace.xaxis.slice(1)], yaxis = layout['yaxis' + trace.yaxis.slice(1)];
        const place = box.getBoundingClientRect();
        const inside = trace.type == 'bar' ? 4 : 0;
        return [place.left + xaxis._offset + xaxis.d2p(trace.x[i]), place.top + yaxis._offset + yaxis.d2p(trace.y[i]) + inside];
      }
    }
  }
  return null;
}"""


STEADY_POINT = f"""args => {{
  if (!document.querySelector('{AT_REST}')) return false;
  const boxes = document.querySelectorAll('.st-key-' + args[0]);
  if (boxes.length !== 1 || boxes[0].dataset.stale === 'true') return false;
  const box = boxes[0].getBoundingClientRect();
  if (box.top < 0 || box.bottom > innerHeight) boxes[0].scrollIntoView({{block: 'center', behavior: 'instant'}});
  const place = ({CHART_POINT})(args), before = window.steadyPoint;
  window.steadyPoint = place;
  return place && before && place[0] === before[0] && place[1] === before[1] ? place : false;
}}"""


def click_mark(page: Page, key: str, wanted: int) -> None:
    """Clicks the mark of a chart that stands for ``wanted``; moves there first, as a hand does.

    A chart that is drawn anew replaces the old one: the mark has to stand in the same place twice, with the
    app at rest.
    """
    page.evaluate("window.steadyPoint = null")
    place = page.wait_for_function(STEADY_POINT, arg=[key, wanted], polling=100).json_value()
    page.mouse.move(place[0] - 3, place[1] - 3)
    page.mouse.move(place[0], place[1])
    page.wait_for_function(
        "key => document.querySelector('.st-key-' + key + ' .hoverlayer')?.childElementCount > 0", arg=key
    )
    page.mouse.click(place[0], place[1])
