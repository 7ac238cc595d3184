"""Why are there duplicates? Real Delta writes them, the log of the table tells of them afterwards."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from core.analysis.findings import Finding, findings
from core.checkpoint import Checkpoint
from core.settings import Settings
from tests.support.delta_proof import Case

pytestmark = pytest.mark.delta


def past(made: Case) -> dict[str, Finding]:
    """The tests take seconds, so no difference between two clocks is allowed for."""
    ck = Checkpoint.open(str(made.checkpoint), Settings(clock_slack_ms=0))
    report = findings(ck, connectors=made.connectors())
    return {item.id: item for item in report.findings if item.id.startswith("SINK_")}


def test_a_deleted_checkpoint_started_again_leaves_its_mark_in_the_table(case: Callable[..., Case]) -> None:
    made = case()
    assert "SINK_OTHER_QUERY" not in past(made)
    shutil.rmtree(made.checkpoint)
    fact = made.restart()
    lost, repeated = fact.against(made.expected)
    assert lost == 0 and repeated > 0
    item = past(made)["SINK_OTHER_QUERY"]
    assert (item.severity, item.certainty) == ("attention", "inferred") and " twice" in item.sentence


def test_an_emptied_checkpoint_with_the_old_id_shows_what_the_table_skipped(
    case: Callable[..., Case],
) -> None:
    made = case()
    made.rewind(-1)
    fact = made.restart()
    assert not fact.causes
    found = past(made)
    assert "SINK_OTHER_QUERY" not in found and "SINK_BATCH_TWICE" not in found
    assert found["SINK_BATCHES_SKIPPED"].batch_id == 0
