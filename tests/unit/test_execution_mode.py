"""Real-time mode and continuous processing write rows before a batch is logged: by what they are recognised, and
what is said. What the checkpoints hold was written by Spark 4.3.0; restarts are in
``tests/kafka/test_rows_before_log.py``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from core.analysis.findings import findings
from core.analysis.timeline import build_timeline
from core.checkpoint import Checkpoint
from core.checkpoint.execution_mode import execution_of
from core.cli import main
from core.recovery import resume_points
from core.recovery.deletion_impact import impact_of_deleting
from tests.support.build import SAMPLES, corpus_names, sample_names, unpack_corpus
from tests.support.forecasting import said

EARLY = {
    "kafka-real-time": "real_time",
    "kafka-real-time-dedup": "real_time",
    "kafka-continuous": "continuous",
}
NEWEST = {"kafka-real-time": 2, "kafka-real-time-dedup": 1, "kafka-continuous": 5}
# When the offset files of the query with state were written, in ms.
WRITTEN_MS = {0: 1795678911498, 1: 1795678917070}
OF_MICRO_BATCHES = (
    'v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{}}'  # 4.0.5, 4.2.0 and 4.3.0, without state
)


def planned_ms(root: Path, batch_id: int) -> int:
    head = (root / "offsets" / str(batch_id)).read_text(encoding="utf-8").splitlines()[1]
    return int(json.loads(head)["batchTimestampMs"])


def with_times(root: Path, written_ms: dict[int, int]) -> Path:
    for batch_id, written in written_ms.items():
        os.utime(root / "offsets" / str(batch_id), (written / 1000, written / 1000))
    return root


@pytest.fixture
def early(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A checkpoint as the query has left it."""
    root = unpack_corpus(request.param, tmp_path)
    return with_times(root, WRITTEN_MS) if request.param == "kafka-real-time-dedup" else root


every = pytest.mark.parametrize("early", EARLY, indirect=True)


@every
def test_rows_since_the_newest_batch_come_again_although_nothing_is_pending(early: Path) -> None:
    answer = said(early)
    assert answer.outcome == "resume"
    assert execution_of(Checkpoint.open(str(early))).mode == EARLY[early.name]
    assert [(risk.id, risk.certainty, risk.weight) for risk in answer.risks] == [
        ("ROWS_BEFORE_LOG", "inferred", "note")
    ]
    data = answer.data
    assert (data.append, data.overwrite, data.skip) == ("duplicates", "exact", "unknown")
    assert not data.is_sure("append")
    assert f"those after batch {NEWEST[early.name]} are written again" in answer.sentence


@every
def test_a_price_and_a_position_say_it_too(early: Path) -> None:
    ck = Checkpoint.open(str(early))
    exact = next(each for each in impact_of_deleting(ck) if each.start == "exact position")
    assert "no log names are duplicated" in exact.sentence
    assert exact.repeats_rows is None
    assert "before their batch was logged" in resume_points(ck).note


@every
def test_it_is_a_note_and_no_alarm(early: Path) -> None:
    found = findings(Checkpoint.open(str(early))).findings
    assert {(item.id, item.severity) for item in found if item.id == "ROWS_BEFORE_LOG"} == {
        ("ROWS_BEFORE_LOG", "note")
    }


def test_version_2_with_an_empty_object_of_ids_is_a_micro_batch(tmp_path: Path) -> None:
    root = unpack_corpus("kafka-real-time", tmp_path)
    (root / "commits" / "2").write_text(OF_MICRO_BATCHES, encoding="utf-8")
    assert execution_of(Checkpoint.open(str(root))).mode == "micro_batch"
    assert said(root).data.is_exact


@pytest.mark.parametrize(("after_ms", "mode"), [(70, "micro_batch"), (5_040, "real_time")])
def test_asynchronous_progress_leaves_the_ids_out_too_and_plans_first(
    tmp_path: Path, after_ms: int, mode: str
) -> None:
    """Spark 4.3.0 with ``checkpointFormatVersion`` 2: the same commit; only the offset file is earlier."""
    root = unpack_corpus("kafka-real-time", tmp_path)
    with_times(root, {2: planned_ms(root, 2) + after_ms})
    assert execution_of(Checkpoint.open(str(root))).mode == mode


def test_without_the_mark_of_4_3_the_times_tell_too(tmp_path: Path) -> None:
    """Real-time mode of Spark 4.2.0 commits an empty object of ids, as micro-batches do."""
    root = unpack_corpus("kafka-real-time", tmp_path)
    (root / "commits" / "2").write_text(OF_MICRO_BATCHES, encoding="utf-8")
    with_times(root, {1: planned_ms(root, 2)})
    assert planned_ms(root, 2) - planned_ms(root, 1) > 2_000
    assert execution_of(Checkpoint.open(str(root))).mode == "real_time"


def test_version_3_is_written_by_micro_batches_without_ids(tmp_path: Path) -> None:
    root = unpack_corpus("kafka-real-time", tmp_path)
    (root / "commits" / "2").write_text('v3\n{"nextBatchWatermarkMs":0}', encoding="utf-8")
    assert execution_of(Checkpoint.open(str(root))).mode == "micro_batch"


@pytest.mark.parametrize("kind", ["copied at once", "written when planned", "one slow write", "no times"])
def test_with_state_only_the_times_tell(tmp_path: Path, kind: str) -> None:
    root = unpack_corpus("kafka-real-time-dedup", tmp_path)
    planned = {batch_id: planned_ms(root, batch_id) for batch_id in (0, 1)}
    if kind == "written when planned":
        with_times(root, {batch_id: at + 300 for batch_id, at in planned.items()})
    elif kind == "one slow write":  # and a batch after it that took its time
        with_times(root, {0: planned[0] + 3_000, 1: planned[1] + 300})
    ck = Checkpoint.open(str(root))
    if kind == "no times":
        files = {i: file._replace(modified_ms=None) for i, file in ck.offset_files.items()}
        ck.offset_files = files
    assert execution_of(ck).mode == "micro_batch"


@pytest.mark.parametrize("name", sorted({*corpus_names()} - {*EARLY}))
def test_no_other_checkpoint_counts_as_one(name: str, tmp_path: Path) -> None:
    assert execution_of(Checkpoint.open(str(unpack_corpus(name, tmp_path)))).mode == "micro_batch"


@pytest.mark.parametrize("name", sample_names())
def test_no_sample_counts_as_one(name: str) -> None:
    assert execution_of(Checkpoint.open(str(SAMPLES / name / "checkpoint"))).mode == "micro_batch"


def test_a_batch_lasts_from_its_plan_to_its_commit_and_not_from_its_offset_file(tmp_path: Path) -> None:
    root = with_times(unpack_corpus("kafka-real-time-dedup", tmp_path), WRITTEN_MS)
    os.utime(root / "commits" / "1", (WRITTEN_MS[1] / 1000 + 0.015, WRITTEN_MS[1] / 1000 + 0.015))
    timeline = build_timeline(Checkpoint.open(str(root)))
    took = int(timeline.duration_ms[timeline.row(1)])
    assert took == WRITTEN_MS[1] + 15 - planned_ms(root, 1) > 5_000


def test_of_continuous_mode_nothing_says_when_an_epoch_began(tmp_path: Path) -> None:
    assert not build_timeline(Checkpoint.open(str(unpack_corpus("kafka-continuous", tmp_path)))).has_durations


def test_continuous_mode_is_not_certain_and_does_without_the_previous_offset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen on Spark 4.3; by the rules of micro-batches it was said, as certain, not to start."""
    root = unpack_corpus("kafka-continuous", tmp_path)
    answer = said(root)
    assert (answer.outcome, answer.certainty) == ("resume", "inferred")
    assert "continuous processing" in answer.not_checked[0]
    assert "With any other trigger the query fails" in answer.sentence
    asked = ["sink=other", "source_complete=yes", "stateful=removed", "what_happened=query_changed"]
    asked += ["source.0.servers=localhost:9092"]
    main(["recover", str(root), *(part for each in asked for part in ("--set", each))])
    assert "as long as the changed query keeps the trigger continuous" in capsys.readouterr().out
    (root / f"offsets/{NEWEST['kafka-continuous'] - 1}").unlink()
    damaged = said(root)
    assert (damaged.outcome, damaged.batch_id) == (answer.outcome, answer.batch_id)
