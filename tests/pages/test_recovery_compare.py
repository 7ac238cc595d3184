"""The options side by side: what one would cost is said of those that can be taken, and of no other."""

from __future__ import annotations

from core.checkpoint import Checkpoint
from core.judgement import judge
from core.recovery import Answers, options
from tests.pages.conftest import OpenPage, assert_no_error, words_of
from tests.support.build import SAMPLES


def test_an_option_that_is_not_possible_has_its_reason_and_no_cost(open_page: OpenPage) -> None:
    place = SAMPLES / "missing-delta-file" / "checkpoint"
    found = options(judge(Checkpoint.open(str(place))).recovery(Answers({})))
    possible = sum(option.possible for option in found)
    assert 0 < possible < len(found)
    at = open_page("recovery", place, tab="all")
    assert_no_error(at)
    shown = words_of(at)
    assert shown.count("Potential data loss") == possible
    for option in found:
        assert option.title in shown
