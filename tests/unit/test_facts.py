"""Every observed fact is a case of the oracle, a test of its own, or listed as not judged; once."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.spark.cases import CASES, UPGRADES, each_damage_once
from tests.spark.facts import ELSEWHERE, PAGE, ROWS, not_judged

TRIED = {label for case in (*CASES, *UPGRADES) for label in case.rows}


@pytest.mark.parametrize("label", ROWS)
def test_a_fact_is_tried_or_listed_as_not_judged(label: str) -> None:
    places = [label in TRIED, label in ELSEWHERE, label in not_judged()]
    assert sum(places) == 1, (
        f"{label} ({ROWS[label]}): case {places[0]}, test {places[1]}, not judged {places[2]}"
    )


def test_the_labels_of_cases_and_of_the_page_are_known() -> None:
    assert TRIED | set(ELSEWHERE) | set(not_judged()) == set(ROWS)
    assert len(not_judged()) == len(set(not_judged()))


@pytest.mark.parametrize("label", ELSEWHERE)
def test_a_test_of_its_own_is_there(label: str) -> None:
    place, name = ELSEWHERE[label].split("::")
    assert f"def {name}(" in (PAGE.parents[1] / place).read_text(encoding="utf-8")


def test_no_case_has_the_name_of_another() -> None:
    names = Counter(case.id for case in (*CASES, *UPGRADES))
    assert [name for name, times in names.items() if times > 1] == []


def test_a_plain_run_of_the_oracle_takes_each_damage_each_fact_and_each_base() -> None:
    taken = each_damage_once(CASES)
    assert {case.name for case in taken} == {case.name for case in CASES}
    assert {row for case in taken for row in case.rows} == {row for case in CASES for row in case.rows}
    assert {case.base for case in taken} == {case.base for case in CASES}
    assert len(taken) == len({case.id for case in taken}) < len(CASES)
