"""Snapshots that batches left which were rolled back: of later versions, and loaded by the next start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.analysis.findings import findings
from core.analysis.forecast import Forecast
from core.checkpoint import Checkpoint
from core.recovery import Answers, Option, options, read_recovery_context
from tests.support.build import write
from tests.support.forecasting import files_checkpoint, said, stateful_conf, with_state

PLANNED_MS = 1_795_176_000_000 + 4 * 10_000  # of the newest batch, 4
HOUR_MS = 3_600_000
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def checkpoint(root: Path, name: str, moment_ms: int, kind: str = "delta") -> Path:
    """A stateful query with state versions 1 to 5 and one snapshot of this time in each partition."""
    conf = stateful_conf() if kind == "delta" else stateful_conf(**{PROVIDER: ROCKSDB})
    files_checkpoint(root, conf=conf)
    with_state(root, range(1, 6), kind)
    for partition in (0, 1):
        write(root, {f"state/0/{partition}/{name}": b"x" * 64})
        os.utime(root / f"state/0/{partition}/{name}", (moment_ms / 1000, moment_ms / 1000))
    return root


def snapshots(answer: Forecast) -> list[str]:
    return [str(at) for risk in answer.risks if risk.id == "STALE_SNAPSHOT" for at in risk.evidence]


@pytest.mark.parametrize(("name", "kind"), [("5.snapshot", "delta"), ("5.zip", "changelog")])
def test_a_snapshot_that_is_older_than_its_batch_gives_wrong_results(
    tmp_path: Path, name: str, kind: str
) -> None:
    answer = said(checkpoint(tmp_path, name, PLANNED_MS - HOUR_MS, kind), new_data="yes")
    assert snapshots(answer) == [f"state/0/0/{name}", f"state/0/1/{name}"]
    assert answer.outcome == "resume" and answer.data.append == "unknown"
    assert f"state/0/0/{name} is older than the plan of batch 4" in answer.sentence


@pytest.mark.parametrize("after_ms", [-30_000, 0, HOUR_MS])
def test_a_snapshot_that_its_batch_wrote_is_right(tmp_path: Path, after_ms: int) -> None:
    assert not snapshots(said(checkpoint(tmp_path, "5.snapshot", PLANNED_MS + after_ms)))


def test_an_older_snapshot_that_is_not_loaded_does_not_matter(tmp_path: Path) -> None:
    checkpoint(tmp_path, "5.snapshot", PLANNED_MS + HOUR_MS)
    checkpoint(tmp_path, "3.snapshot", PLANNED_MS - HOUR_MS)
    assert not snapshots(said(tmp_path))


def test_a_zip_without_changelogs_is_written_again_by_every_batch(tmp_path: Path) -> None:
    assert not snapshots(said(checkpoint(tmp_path, "5.zip", PLANNED_MS - HOUR_MS, "zip")))


def test_a_snapshot_of_a_later_version_is_a_risk_of_a_later_start(tmp_path: Path) -> None:
    answer = said(checkpoint(tmp_path, "9.snapshot", PLANNED_MS))
    assert snapshots(answer) == ["state/0/0/9.snapshot", "state/0/1/9.snapshot"]
    # The batches that were rolled back may come again (seen with 3.5).
    assert answer.is_data_risk and answer.data.append == "duplicates" and not answer.data.is_sure("append")


def test_a_rewind_does_not_land_on_a_snapshot_that_is_older_than_its_batch(tmp_path: Path) -> None:
    checkpoint(tmp_path, "4.snapshot", PLANNED_MS - HOUR_MS)
    for partition in (0, 1):  # what the newest batch needs is gone
        (tmp_path / f"state/0/{partition}/5.delta").unlink()

    def rewind(**answers: str) -> Option:
        given = Answers({"sink": "foreach_merge", "stateful": "unchanged", **answers})
        found = options(read_recovery_context(Checkpoint.open(str(tmp_path)), given))
        return next(option for option in found if option.id == "rewind")

    assert rewind().possible and "batch 2" in rewind().why  # not 3, whose state Spark would load from it
    found = findings(Checkpoint.open(str(tmp_path)), "normal").findings
    assert {finding.rewind_to for finding in found} - {None} == {2}  # findings lead to the same batch
    refused = rewind(to_batch="3")
    assert not refused.possible and "state/0/0/4.snapshot, which is older than the plan" in refused.why
