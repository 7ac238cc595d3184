"""Links that nobody made, with a fixed seed; `scripts/fuzz --pages` runs as many as there is time for."""

from __future__ import annotations

import pytest

from scripts.fuzzing import run_cases
from scripts.fuzzing_pages import run_page_case
from tests.support.build import PROJECT

pytestmark = pytest.mark.slow

SEED, CASES = 20261122, 60


def test_no_link_stops_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    number, failures = run_cases(SEED, iter(range(CASES)), run=run_page_case)
    assert number == CASES
    assert not failures, "\n".join(map(str, failures))
