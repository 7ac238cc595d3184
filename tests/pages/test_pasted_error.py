"""A pasted error on a page: only ways that the connected sink allows lead on, the others have their reason."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.pages.conftest import OpenPage, assert_no_error, words_of
from tests.support.build import SAMPLES

SAMPLE = SAMPLES / "files-stopped-cleanly"


@pytest.mark.parametrize("page", ["integrity", "overview"])
@pytest.mark.parametrize("with_sink", [True, False], ids=["sink", "no sink"])
def test_ways_that_the_sink_rules_out_are_said_to_be_so(
    open_page: OpenPage, tmp_path: Path, page: str, with_sink: bool
) -> None:
    target = tmp_path / "pipeline" / "checkpoint"
    shutil.copytree(SAMPLE / "checkpoint", target)
    (target / "sources/0/13").unlink()
    (target / "sources/0/.13.crc").unlink()
    at = open_page(page, target, **({"sink": str(SAMPLE / "sink")} if with_sink else {}))
    at.text_area[0].set_value("java.lang.IllegalStateException: batch 13 doesn't exist").run()
    assert_no_error(at)
    assert ("Rewind to an earlier batch: not possible here. The file sink" in words_of(at)) is with_sink
