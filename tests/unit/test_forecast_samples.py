"""The forecast of every sample: what its story says about the next start."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.analysis.forecast import Query, forecast
from core.checkpoint import Checkpoint

SAMPLES = Path(__file__).resolve().parents[2] / "sample_checkpoints"
# sample -> outcome, first batch, the finding that stops it, the risks
NEXT_START: dict[str, tuple[str, int, str | None, tuple[str, ...]]] = {
    "delta-batch-already-in-table": ("rerun", 5, None, ()),
    "delta-stopped-in-first-snapshot": ("resume", 3, None, ()),
    "dropduplicates-removed": ("rerun", 12, None, ()),  # as long as the query has it
    "files-died-mid-batch": ("rerun", 7, None, ()),
    "files-stopped-cleanly": ("resume", 14, None, ()),
    "hand-made-rewind": ("resume", 6, None, ("SOURCE_LOG_AHEAD", "STALE_SNAPSHOT")),
    "join-watermark-held-back": ("resume", 10, None, ()),
    "kafka-pipeline-died-mid-batch": ("rerun", 8, None, ()),
    "kafka-topic-gained-partitions": ("resume", 18, None, ()),
    "missing-delta-file": ("fail", 10, "STATE_NOT_RESTORABLE", ()),
    "named-sources": ("resume", 7, None, ()),
    "purged-to-newest-10": ("resume", 26, None, ()),
    "state-format-2": ("resume", 8, None, ()),
    "transform-with-state-timers": ("resume", 18, None, ("STATE_SCHEMA_ELSEWHERE",)),
    "union-of-two-sources": ("resume", 9, None, ()),
    "windowed-aggregation-hot-partition": ("resume", 10, None, ()),
}


def opened(name: str) -> Checkpoint:
    return Checkpoint.open(str(SAMPLES / name / "checkpoint"), newest=2)


@pytest.mark.parametrize("name", sorted(NEXT_START))
def test_the_next_start_of_a_sample_is_the_one_of_its_story(name: str) -> None:
    answer = forecast(opened(name))
    assert (
        answer.outcome,
        answer.batch_id,
        answer.reason,
        tuple(risk.id for risk in answer.risks),
    ) == NEXT_START[name]


def test_every_sample_has_its_next_start() -> None:
    assert {path.parent.name for path in SAMPLES.glob("*/checkpoint")} == set(NEXT_START)


def test_the_query_without_its_drop_duplicates_cannot_start() -> None:
    answer = forecast(opened("dropduplicates-removed"), query=Query(operators=()))
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "batch", "OPERATORS_DIFFER")
    assert (
        answer.error is not None
        and answer.error.condition == "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
    )


@pytest.mark.parametrize(
    ("name", "spark", "reason"),
    [
        ("named-sources", "4.1", "LOG_VERSION_UNKNOWN"),
        ("state-format-2", "3.5", "LOG_VERSION_UNKNOWN"),
        ("transform-with-state-timers", "3.5", "VERSION_TRAP"),
        ("kafka-topic-gained-partitions", "3.3", "VERSION_TRAP"),
        ("files-stopped-cleanly", "3.3", None),
        ("join-watermark-held-back", "4.0", None),
    ],
)
def test_a_sample_is_started_by_an_older_spark(name: str, spark: str, reason: str | None) -> None:
    assert forecast(opened(name), spark=spark).reason == reason
