"""The impact of deleting a checkpoint whose pending batch is in the table: what is said, and what each way of
starting again then costs."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from core.checkpoint import Checkpoint
from core.checkpoint.sources.registry import parse
from core.connectors.delta.log import DeltaLog
from core.recovery import DeletionImpact, impact_of_deleting, resume_points
from core.recovery.resume_delta import with_table
from tests.support.delta_proof import Case

pytestmark = pytest.mark.delta
Make = Callable[..., Case]


def impacts(made: Case) -> dict[str, DeletionImpact]:
    found = impact_of_deleting(Checkpoint.open(str(made.checkpoint)), made.connectors())
    return {price.start: price for price in found}


def pending_in_the_table(case: Make) -> Case:
    made = case()
    made.forget_commit(4)
    assert "already in the table and will be skipped" in made.forecast().sentence
    return made


def exact_start(made: Case) -> str:
    """After the pending batch, which the table holds."""
    (source,) = resume_points(Checkpoint.open(str(made.checkpoint)), 4).sources
    point = with_table(source.point, parse(source.offset), DeltaLog.open(str(made.source)))
    assert point.exact and point.options is not None
    return point.options["startingVersion"]


@pytest.mark.parametrize(
    "start",
    ["from the beginning", "from the beginning, without an option", "exact position", "old query id kept"],
)
def test_the_stated_price_is_what_is_counted_afterwards(case: Make, start: str) -> None:
    made = pending_in_the_table(case)
    said = impacts(made)[start.partition(",")[0]]
    version = exact_start(made)
    if start == "old query id kept":
        made.rewind(-1)
    else:
        shutil.rmtree(made.checkpoint)
    made.options = {"maxFilesPerTrigger": 1}
    if start != "from the beginning, without an option":
        made.options["startingVersion"] = "0" if start == "from the beginning" else version
    fact = made.restart()
    assert not fact.causes
    assert fact.against(made.expected) == (said.loses_rows, said.repeats_rows), said
    assert said.certainty == "certain"


def test_the_numbers_are_those_of_the_worked_example(case: Make) -> None:
    found = impacts(pending_in_the_table(case))
    assert {start: (price.repeats_rows, price.loses_rows) for start, price in found.items()} == {
        "from the beginning": (50, 0),
        "exact position": (0, 0),
        "old query id kept": (0, 20),
    }
