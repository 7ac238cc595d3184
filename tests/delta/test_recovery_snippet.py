"""The snippet of a reset of a Delta source, executed unmodified on Delta once its table was asked; the rows are counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.checkpoint import Checkpoint
from core.connectors import ConnectorSettings
from core.connectors.connect import ask_connectors
from core.recovery import Answers, forms, read_recovery_context
from core.storage import parse_location
from tests.support.delta_proof import Case, held

pytestmark = pytest.mark.delta
Make = Callable[..., Case]


def snippet(made: Case, sink: str, *, asks: bool) -> tuple[str, dict[str, Any]]:
    """The text of the snippet of a reset, and what it defines."""
    ck = Checkpoint.open(str(made.checkpoint))
    connectors = (
        ask_connectors(ck, ConnectorSettings(sources={"0": parse_location(str(made.source))}))
        if asks
        else None
    )
    context = read_recovery_context(ck, Answers({"platform": "pyspark", "sink": sink}), connectors)
    text = forms(context, "reset")[0].text
    scope: dict[str, Any] = {}
    exec(text, {"__builtins__": {}}, scope)
    return text, scope


def test_a_pasted_version_reads_every_row_once_and_the_query_then_runs_with_these_lines(case: Make) -> None:
    made = case("plain")
    text, scope = snippet(made, "delta", asks=True)
    assert "No file has to be run" in text and scope["START"] == {"startingVersion": "5"}
    new = Path(scope["WRITER"]["checkpointLocation"])
    assert not new.exists()
    lines = (
        "result = run(checkpoint=args['writer']['checkpointLocation'], maxFilesPerTrigger=1, **args['start'])"
    )
    for last in (0, 80, 90):
        if last:
            made.put(last - 10, last)
        answer = made.script(lines, start=scope["START"], writer=scope["WRITER"])
        assert not answer["causes"] and new.is_dir()
        expected = [*made.expected, *range(70, last)]
        assert held(made.sink) == tuple(expected)


@pytest.mark.parametrize(
    ("base", "sink", "asks", "is_cut"),
    [
        ("plain", "foreach_append", False, False),  # nobody knows whether the version exists
        ("plain", "delta", True, True),  # batch 4 is planned again, and is in the table
        ("plain", "foreach_txn", True, False),  # it skips batch IDs
        ("done", "foreach_append", True, False),  # version 7 does not exist yet
    ],
)
def test_where_a_version_is_not_exact_the_file_has_to_be_run_first(
    case: Make, base: str, sink: str, asks: bool, is_cut: bool
) -> None:
    made = case(base)
    if is_cut:
        made.forget_commit(4)
    text, scope = snippet(made, sink, asks=asks)
    assert "Run the file first" in text and "recover_reset.py --execute" in text and "START" not in scope
