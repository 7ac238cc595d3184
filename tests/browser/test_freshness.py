"""A page that stays open says what was written since, and follows a query that runs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import Visiting
from tests.support.app import RunningApp, running_app
from tests.support.build import copy_sample


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningApp, Path]]:
    """An app that looks every second, on a place of its own."""
    place = tmp_path_factory.mktemp("growing")
    with running_app({"here": str(place)}, {"CHECKPOINT_EXPLORER_LOOK_FOR_NEW_SECONDS": "1"}) as app:
        yield app, place


def without_its_last_batch(place: Path, name: str) -> tuple[Path, list[tuple[Path, Path]]]:
    """A copy of files-stopped-cleanly that stands at batch 12, and what batch 13 wrote."""
    root = copy_sample("files-stopped-cleanly", Path(tempfile.mkdtemp(prefix=name, dir=place)))
    moved = []
    for path in ("offsets/13", "commits/13"):
        kept = root.with_name(path.replace("/", "-"))
        shutil.move(root / path, kept)
        moved.append((kept, root / path))
    return root, moved


def test_a_page_says_what_was_written_since_and_shows_it_when_asked(
    visit: Visiting, quick: tuple[RunningApp, Path]
) -> None:
    app, place = quick
    root, moved = without_its_last_batch(place, "asked")
    one = visit(server=app)
    page = one.open(f"/timeline?ck={root}")
    one.wait_for_text("Batches 0 to 12 of 13 batches")
    for kept, name in moved:
        shutil.move(kept, name)
    one.wait_for_text("batch 13 was planned since")
    assert page.get_by_text("Batches 0 to 12 of 13 batches").count() == 1  # nothing changed by itself
    page.get_by_role("button", name="Show", exact=True).click()
    one.wait_for_text("Batches 0 to 13 of 14 batches")


def test_a_followed_page_shows_what_is_written_and_the_link_keeps_it(
    visit: Visiting, quick: tuple[RunningApp, Path]
) -> None:
    app, place = quick
    root, moved = without_its_last_batch(place, "followed")
    one = visit(server=app)
    page = one.open(f"/timeline?ck={root}")
    one.wait_for_text("Batches 0 to 12 of 13 batches")
    page.get_by_text("Follow", exact=True).click()
    page.wait_for_url("**follow=true**")
    one.settle()
    for kept, name in moved:
        shutil.move(kept, name)
    one.wait_for_text("Batches 0 to 13 of 14 batches")
    page.locator('[data-testid="stSidebarNav"]').get_by_text("Watermark").click()
    page.wait_for_url("**/watermark?**follow=true**")
