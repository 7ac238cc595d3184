"""The batch that runs next: one rule, and every answer that names the batch names the same."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.analysis.forecast import forecast
from core.analysis.timeline import build_timeline
from core.checkpoint import Checkpoint
from core.checkpoint.next_batch import NextBatch, next_batch
from core.connectors.connect import ask_connectors
from core.connectors.model import ConnectorSettings
from core.documents.inspect import inspect_document
from core.errors import ResumeError
from core.recovery import resume_points
from core.storage import parse_location
from tests.support.build import SAMPLES


@dataclass(frozen=True)
class Ids:
    offset_ids: tuple[int, ...]
    commit_ids: tuple[int, ...]


@pytest.mark.parametrize(
    ("offsets", "commits", "expected"),
    [
        ((), (), NextBatch(0, False, False, None, None)),
        ((), (0, 1), NextBatch(0, False, True, None, 1)),
        ((0,), (), NextBatch(0, True, False, 0, None)),
        ((0, 1), (0, 1), NextBatch(2, False, False, 1, 1)),
        ((0, 1, 2), (0, 1), NextBatch(2, True, False, 2, 1)),
        ((0, 1, 2, 3), (0, 1), NextBatch(3, True, False, 3, 1)),
        ((0, 1, 2), (0, 1, 2, 3), NextBatch(2, True, True, 2, 3)),
        ((0, 1, 2), (0, 1, 3), NextBatch(2, True, False, 2, 3)),
        ((5, 11), (5, 11), NextBatch(12, False, False, 11, 11)),
    ],
)
def test_the_highest_ids_of_the_two_logs_decide(
    offsets: tuple[int, ...], commits: tuple[int, ...], expected: NextBatch
) -> None:
    assert next_batch(Ids(offsets, commits)) == expected


@pytest.mark.parametrize("sample", sorted(path.parent.name for path in SAMPLES.glob("*/story.md")))
def test_forecast_and_inspect_name_the_same_batch_for_every_sample(sample: str) -> None:
    ck = Checkpoint.open(str(SAMPLES / sample / "checkpoint"))
    answer = forecast(ck)
    following = ck.next_batch
    assert answer.batch_id in (None, following.batch_id)
    assert (answer.outcome == "rerun") <= following.is_rerun
    assert inspect_document(ck).pending_batch == (following.batch_id if following.is_rerun else None)


def test_a_lost_newest_offset_is_the_same_batch_for_forecast_sink_inspect_and_resume(tmp_path: Path) -> None:
    """offsets/13 is gone, commits/13 is there: batch 12 is re-run although commits/12 is there (observed)."""
    shutil.copytree(SAMPLES / "files-stopped-cleanly", tmp_path / "pipeline")
    for name in ("13", ".13.crc"):
        (tmp_path / "pipeline/checkpoint/offsets" / name).unlink()
    ck = Checkpoint.open(str(tmp_path / "pipeline/checkpoint"))
    assert ck.next_batch == NextBatch(12, True, True, 12, 13)
    assert (ck.pending_batch, ck.uncommitted_batch, ck.last_committed_batch) == (12, None, 13)

    alone = forecast(ck)
    assert (alone.outcome, alone.fails_at, alone.batch_id, alone.reason) == (
        "fail",
        "batch",
        12,
        "COMMIT_AHEAD",
    )
    assert "a sink that appends" in alone.sentence and alone.then is not None and "once more" in alone.then

    ends = ask_connectors(ck, ConnectorSettings(sink=parse_location(str(tmp_path / "pipeline/sink"))))
    asked = forecast(ck, connectors=ends)
    assert asked.sink is not None and (asked.sink.pending, asked.sink.skips_up_to) == ("skipped", 13)
    assert (asked.batch_id, asked.reason) == (12, "COMMIT_AHEAD")
    # What the given sink does is said, and nothing beside it that it denies.
    assert asked.sink.sentence in asked.sentence and "a sink that appends" not in asked.sentence
    assert asked.then is not None and "skips the batch" in asked.then and "once more" not in asked.then

    assert inspect_document(ck).pending_batch == 12
    with pytest.raises(ResumeError, match="use batch 12"):
        resume_points(ck, None, ends)
    # The batch has a commit file, so nothing calls it uncommitted.
    timeline = build_timeline(ck)
    assert (timeline.pending_batch, timeline.count("pending")) == (None, 0)
