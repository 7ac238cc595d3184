"""Who goes through a page by Tab sees at each step where they are."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Visiting

MOST_STEPS = 120
OTHER = "with=samples/windowed-aggregation-hot-partition/checkpoint"
FOCUSED = """() => {
  const active = document.activeElement;
  if (!active || active === document.body) return null;
  const focused = active.closest('canvas') ?? active;  // a grid draws the cell that has the focus
  const chain = [];
  for (let each = focused; each; each = each.parentElement) chain.push(getComputedStyle(each));
  const [r, g, b] = getComputedStyle(document.querySelector('[data-testid="stApp"]'))
    .backgroundColor.match(/[0-9.]+/g).map(Number);
  const light = parts => parts.map(Number).map(
    part => part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4
  ).reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const contrast = colour => {
    const parts = colour.match(/[0-9.]+/g);
    if (parts.length === 4 && Number(parts[3]) < 1) return 0;
    const both = [light(parts.slice(0, 3)), light([r, g, b])];
    return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
  };
  const box = focused.getBoundingClientRect();
  return {
    name: (focused.closest('[data-testid]')?.dataset.testid ?? focused.tagName) + ': '
      + (focused.getAttribute('aria-label') || focused.innerText || '').slice(0, 50),
    isRinged: chain.slice(0, 8).some(style => style.outlineStyle === 'solid'
      && parseFloat(style.outlineWidth) >= 2 && contrast(style.outlineColor) >= 3),
    isSeen: chain[0].visibility === 'visible' && chain.every(style => parseFloat(style.opacity) > 0.9)
      && box.width > 0 && box.bottom > 0 && box.top < innerHeight,
  };
}"""


@pytest.mark.parametrize(
    ("theme", "page", "among"),
    [
        ("light", "overview", "stPageLink-NavLink: Recovery options"),
        ("dark", "recovery", "stBaseButton-elementToolbar: Copy to clipboard"),
        ("dark", f"compare&{OTHER}", "stBaseButton-elementToolbar: Fullscreen"),
        ("light", "state", "stNumberInputField: Partition"),
        ("dark", "timeline", "stPlotlyChart: Zoom in"),
    ],
)
def test_each_step_of_tab_shows_where_it_leads(visit: Visiting, theme: str, page: str, among: str) -> None:
    """A ring of 3:1 or more around what has the focus, which is itself in view: links, fields, the switch in
    the sidebar, tools that otherwise appear under the pointer."""
    name, _, more = page.partition("&")
    one = visit(theme=theme)
    drawn = one.open(f"/{name}?ck=samples/missing-delta-file/checkpoint&{more}")
    drawn.locator(
        '[data-testid="stMain"] :is([data-testid="stExpander"], [data-testid="stCode"]):visible'
    ).first.wait_for()
    one.settle()
    drawn.add_style_tag(content="*, *::before, *::after {transition: none !important;}")
    steps = []
    for _ in range(MOST_STEPS):
        drawn.keyboard.press("Tab")
        step = drawn.evaluate(FOCUSED)
        if step is None:
            break
        steps.append(step)
    names = [step["name"] for step in steps]
    assert "stSidebarNavLink: Overview" in names and len(names) < MOST_STEPS
    assert any(name.startswith(among) for name in names), names
    assert [step["name"] for step in steps if not step["isRinged"]] == []
    assert [step["name"] for step in steps if not step["isSeen"]] == []


def test_tab_opens_no_row_of_the_table_and_the_arrows_choose_one(visit: Visiting) -> None:
    one = visit()
    page = one.open("/")
    page.get_by_text("Read 16 of 16 checkpoints").wait_for()
    one.settle()
    for _ in range(MOST_STEPS):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.testid") == "data-grid-canvas":
            break
    else:
        raise AssertionError("Tab does not reach the table")
    for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
        page.wait_for_timeout(700)  # longer than Streamlit waits before it tells of a choice
        assert page.get_by_text("Read 16 of 16 checkpoints").is_visible(), "a row opened by itself"
        page.keyboard.press(key)
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/overview?ck=*")
    one.wait_for_text("hand-made-rewind")


def test_who_opens_copy_link_by_keyboard_is_in_it_and_escape_leads_back(visit: Visiting) -> None:
    """The copy button is seen without a pointer, and is the second step of Tab, after the address itself."""
    one = visit()
    page = one.open("/overview?ck=samples/files-stopped-cleanly/checkpoint")
    button = page.get_by_role("button", name="Copy link")
    button.focus()
    page.keyboard.press("Enter")
    box = page.get_by_test_id("stPopoverBody")
    box.get_by_text("This address opens exactly this view").wait_for()
    page.wait_for_function("document.activeElement?.closest('[data-testid=stPopoverBody]')")
    for _ in range(2):
        page.keyboard.press("Tab")
    inside = "document.activeElement.closest('[data-testid=stPopoverBody]') && document.activeElement.tagName"
    assert page.evaluate(inside) == "BUTTON"
    assert page.evaluate(FOCUSED)["isSeen"]
    page.keyboard.press("Escape")
    box.wait_for(state="detached")
    page.wait_for_function("document.activeElement?.innerText?.includes('Copy link')")
