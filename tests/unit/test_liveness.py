"""Is somebody writing? Two looks at real checkpoints; the wait between them is where a writer writes."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from core.analysis.findings.liveness import just_planned, second_look
from core.checkpoint import Checkpoint
from core.cli import main
from core.incident import report, take, to_chat
from core.judgement import judge
from core.recovery import Answers
from core.storage import Door
from tests.support.build import (
    commit_text,
    copy_sample,
    kafka_checkpoint,
    kafka_offset,
    offset_text,
    remove,
    write,
)


def aged(root: Path, times_s: dict[str, float]) -> Path:
    """The times of files, in seconds before the newest look."""
    now = Checkpoint.open(str(root)).read_at_ms / 1000
    for path, age in times_s.items():
        os.utime(root / path, (now - age, now - age))
    return root


def rhythm(root: Path, every_s: float, silence_s: float, batches: int = 6) -> Path:
    """Batches that were planned and committed regularly, the last of them some time ago."""
    kafka_checkpoint(root, range(batches))
    ages = {
        f"{log}/{i}": silence_s + (batches - 1 - i) * every_s
        for i in range(batches)
        for log in ("offsets", "commits")
    }
    return aged(root, ages)


def test_a_file_that_comes_between_the_looks_is_a_writer(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(4))

    def next_batch(seconds: float) -> None:
        write(root, {"offsets/4": offset_text([kafka_offset(25)])})

    seen = second_look(Checkpoint.open(str(root)), 3, next_batch)
    assert (seen.writer, seen.certainty) == ("active", "certain")
    assert [str(item) for item in seen.evidence] == ["offsets/4"]
    assert seen.sentence == "A query is writing: within 3.0 s 1 file was written (offsets/4)."


def test_a_file_that_is_purged_between_the_looks_is_a_writer(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(4))
    seen = second_look(Checkpoint.open(str(root)), 3, lambda seconds: remove(root, "offsets/0", "commits/0"))
    assert seen.writer == "active" and "2 files were removed" in seen.sentence


def test_state_of_a_pending_batch_shows_that_its_tasks_run(tmp_path: Path) -> None:
    root = copy_sample("dropduplicates-removed", tmp_path)

    def task(seconds: float) -> None:
        (root / "state/0/0/13.delta").write_bytes(b"x")

    seen = second_look(Checkpoint.open(str(root)), 3, task)
    assert seen.writer == "active" and str(seen.evidence[0]) == "state/0/0/13.delta"


def test_the_time_that_was_asked_for_is_waited(tmp_path: Path) -> None:
    waited: list[float] = []
    seen = second_look(Checkpoint.open(str(kafka_checkpoint(tmp_path, range(2)))), 7.5, waited.append)
    assert waited == [7.5] and seen.seconds == 7.5


def test_a_silence_far_longer_than_any_before_looks_stopped(tmp_path: Path) -> None:
    root = rhythm(tmp_path, every_s=10, silence_s=7200)
    seen = second_look(Checkpoint.open(str(root)), 5, lambda seconds: None)
    assert (seen.writer, seen.certainty) == ("stopped", "inferred")
    assert "the newest log file is 2 h old" in seen.sentence and "planned every 10 s" in seen.sentence
    assert "A query without new data would look the same" in seen.sentence


@pytest.mark.parametrize(
    ("every_s", "silence_s", "batches"),
    [(10, 100, 6), (3600, 7200, 6), (1, 30, 6), (10, 86_400, 3)],
    ids=["not long enough", "hourly batches", "less than a minute", "too few batches"],
)
def test_a_silence_that_happens_is_unclear(
    every_s: float, silence_s: float, batches: int, tmp_path: Path
) -> None:
    seen = second_look(
        Checkpoint.open(str(rhythm(tmp_path, every_s, silence_s, batches))), 5, lambda seconds: None
    )
    assert seen.writer == "unclear" and "a query may be idle" in seen.sentence


def test_one_long_pause_between_batches_makes_the_next_one_unclear(tmp_path: Path) -> None:
    root = rhythm(tmp_path, every_s=10, silence_s=7200)
    aged(root, {f"{log}/{i}": 7200 + 3600 + 50 for i in range(3) for log in ("offsets", "commits")})
    assert second_look(Checkpoint.open(str(root)), 5, lambda seconds: None).writer == "unclear"


def test_a_checkpoint_without_a_batch_is_unclear(tmp_path: Path) -> None:
    write(tmp_path, {"metadata": '{"id":"730aa211-41ff-4ee3-b1b9-9e62ed047c5f"}'})
    assert second_look(Checkpoint.open(str(tmp_path)), 5, lambda seconds: None).writer == "unclear"


def test_the_command_line_watches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = kafka_checkpoint(tmp_path, range(4))
    monkeypatch.setattr(
        "time.sleep",
        lambda seconds: write(
            root, {"commits/4": commit_text(), "offsets/4": offset_text([kafka_offset(25)])}
        ),
    )
    main(["check", str(root), "--watch", "2", "--json"])
    seen = json.loads(capsys.readouterr().out)["liveness"]
    assert set(seen) == {"writer", "certainty", "sentence", "evidence", "seconds"}
    assert (seen["writer"], seen["seconds"]) == ("active", 2)
    main(["check", str(root)])
    assert "writer" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("every_s", "age_s", "is_recent"),
    [
        (10, 1, True),
        (10, 100, True),
        (10, 200, False),
        (600, 1_500, True),
        (600, 3_000, False),
        (10, -5, True),
    ],
)
def test_a_batch_that_was_planned_moments_ago_may_be_running(
    tmp_path: Path, every_s: int, age_s: int, is_recent: bool
) -> None:
    """By the times in the offset files; those of the files are of a copy, as often as not."""
    newest_ms = int(time.time() * 1000) - age_s * 1000
    files = {
        f"offsets/{batch}": offset_text(
            [kafka_offset((batch + 1) * 5)], timestamp_ms=newest_ms - (7 - batch) * every_s * 1000
        )
        for batch in range(8)
    }
    write(kafka_checkpoint(tmp_path / "ck", range(8), commits=range(7)), files)
    ck = Checkpoint.open(str(tmp_path / "ck"))
    found = just_planned(ck)
    assert (found is not None) is is_recent
    assert found is None or (found.batch_id == 7 and abs(found.age_ms - max(0, age_s) * 1000) < 30_000)
    advice = judge(ck).advice(Answers())
    assert bool(advice.running) is is_recent
    assert ("Stop it before another one is started on this checkpoint." in advice.sentence) is is_recent
    shown = to_chat(report(judge(ck)))
    assert ("What to do: A query may be running" in shown) is is_recent
    sent = take(Door.open(str(tmp_path / "ck")), tmp_path / "sent.zip").path
    kept = Checkpoint.open(str(sent))
    assert just_planned(kept) is None
    then = judge(kept).advice(Answers())
    assert ("A query may have been running: batch 7 was planned" in then.sentence) is is_recent
    assert "Nothing has to be done" not in then.sentence or not is_recent


def test_nothing_planned_runs_as_far_as_anybody_knows(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    assert just_planned(Checkpoint.open(str(tmp_path))) is None
