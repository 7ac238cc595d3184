"""A pending batch that the sink has: what is read of it, and what the batch behind it meets. What Spark does is
held against in ``tests/spark/test_oracle_skipped.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.analysis.findings import findings, with_way
from core.analysis.forecast import Forecast, Query, forecast
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.connectors.file_sink_log import FileSinkLog
from core.storage import parse_location
from tests.support.build import commit_text, write
from tests.support.forecasting import files_checkpoint, stateful_conf, with_state
from tests.unit.test_file_sink_log import output

PENDING = 4


def killed(root: Path, versions: range) -> Path:
    """A stateful query with batch 4 planned and not committed, and these state versions."""
    ck = files_checkpoint(root / "ck", commits=range(PENDING), conf=stateful_conf())
    return with_state(ck, versions)


def sink(root: Path, newest: int) -> ConnectorAnswers:
    place = output(root / "out", {str(batch): [f"part-{batch}"] for batch in range(newest + 1)})
    return ConnectorAnswers(sink=FileSinkLog.open(parse_location(str(place))))


def said(ck: Path, connectors: ConnectorAnswers, query: Query | None = None) -> Forecast:
    return forecast(Checkpoint.open(str(ck)), query=query, connectors=connectors)


def test_the_state_that_only_the_batch_itself_would_load_is_not_missed(tmp_path: Path) -> None:
    ck = killed(tmp_path, range(1, 6))
    for partition in (0, 1):
        (ck / f"state/0/{partition}/4.delta").rename(ck / f"state/0/{partition}/5.snapshot")
    assert said(ck, sink(tmp_path, PENDING - 1)).reason == "STATE_NOT_RESTORABLE"
    assert said(ck, ConnectorAnswers()).reason == "STATE_NOT_RESTORABLE"
    (tmp_path / "out" / "_spark_metadata" / str(PENDING)).write_text("v1")
    answer = said(ck, ConnectorAnswers(sink=FileSinkLog.open(parse_location(str(tmp_path / "out")))))
    assert (answer.outcome, answer.batch_id, answer.reason) == ("rerun", PENDING, None), answer.sentence


def test_what_the_batch_behind_it_lacks_is_the_outcome(tmp_path: Path) -> None:
    ck = killed(tmp_path, range(1, 5))
    without = said(ck, ConnectorAnswers())
    assert (without.outcome, without.reason) == ("rerun", None)
    asked = sink(tmp_path, PENDING)
    answer = said(ck, asked)
    assert (answer.outcome, answer.batch_id, answer.fails_at) == ("fail", PENDING + 1, "batch")
    assert answer.reason == "STATE_NOT_RESTORABLE" and answer.data.is_exact
    assert "will re-run batch 4, which is already in the output and will be skipped, and fail in batch 5" in (
        answer.sentence
    )
    assert (
        "state/0/0/5.delta is missing" in answer.sentence
        and "as soon as there is new data" in answer.sentence
    )
    assert [step.what for step in answer.steps if step.id == "state_files"] == [
        "load state version 5 in every partition of every store"
    ]
    assert "new data" not in said(ck, asked, Query(new_data="yes")).sentence


def test_where_no_batch_follows_it_is_said_for_later(tmp_path: Path) -> None:
    ck = killed(tmp_path, range(1, 5))
    answer = said(ck, sink(tmp_path, PENDING), Query(new_data="no"))
    assert (answer.outcome, answer.batch_id) == ("rerun", PENDING)
    assert answer.then is not None and answer.then.startswith(
        "The first batch that the output does not skip, 5, fails:"
    )


def test_a_sink_that_is_further_ahead_keeps_its_own_trouble(tmp_path: Path) -> None:
    answer = said(killed(tmp_path, range(1, 5)), sink(tmp_path, PENDING + 2))
    assert answer.outcome == "rerun" and [risk.id for risk in answer.risks] == ["SINK_AHEAD"]
    assert answer.then is not None and ", 7, fails: state version 7" in answer.then


@pytest.mark.parametrize(("held", "is_offered"), [(PENDING, False), (None, True)])
def test_a_rollback_that_the_output_would_skip_is_not_offered(
    tmp_path: Path, held: int | None, is_offered: bool
) -> None:
    ck = killed(tmp_path, range(1, 4 if held is None else 5))
    connectors = ConnectorAnswers() if held is None else sink(tmp_path, held)
    report = findings(Checkpoint.open(str(ck)), connectors=connectors)
    found = next(item for item in report.findings if item.id == "STATE_NOT_RESTORABLE")
    assert ("can be rolled back to batch" in found.sentence) == is_offered
    assert ("would skip the batches after batch 3" in found.sentence) == (not is_offered)
    assert (found.rewind_to is not None) == is_offered
    assert with_way(found).recipe == ("rewind" if is_offered else "restore_backup")
    assert ("(rewind)" in found.action) == is_offered


def test_neither_is_one_before_the_committed_batch_at_which_the_output_ends(tmp_path: Path) -> None:
    """The check named a script for the rollback, and Recovery refused it for this sink."""
    ck = killed(tmp_path, range(1, 5))
    write(ck, {f"commits/{PENDING}": commit_text()})
    report = findings(Checkpoint.open(str(ck)), connectors=sink(tmp_path, PENDING))
    found = next(item for item in report.findings if item.id == "STATE_NOT_RESTORABLE")
    assert "would skip the batches after batch" in found.sentence and found.rewind_to is None
