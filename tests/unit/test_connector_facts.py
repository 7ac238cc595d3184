"""Every observed fact of Kafka and Delta has a test with the real engine, or is listed as not judged; once."""

from __future__ import annotations

import re

import pytest

from tests.support.connector_facts import PROJECT, ROWS, not_judged


@pytest.mark.parametrize("label", ROWS)
def test_a_fact_is_tried_or_listed_as_not_judged(label: str) -> None:
    what, test = ROWS[label]
    if test is None:
        assert label in not_judged(), f"{label} ({what}) is neither tried nor listed in docs/forecast.md"
        return
    assert label not in not_judged(), f"{label} ({what}) has a test and is listed as not judged"
    place, name = test.split("::")
    text = (PROJECT / place).read_text(encoding="utf-8")
    assert re.search(rf"def {name}\(|Case\(\s*\"{name}\"", text), f"{test} is not there"


def test_the_page_lists_known_labels_once() -> None:
    listed = not_judged()
    assert len(listed) == len(set(listed))
    assert set(listed) <= set(ROWS)
