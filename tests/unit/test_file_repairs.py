"""Which single files are repaired, without Spark: the plan, the forecast of the copy, what findings and options
say."""

from __future__ import annotations

import os
import shutil
import tracemalloc
from pathlib import Path

import pytest

from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.judgement import Judgement, judge
from core.recovery import Answers, Option, options, plan
from core.recovery.file_repair_plan import MOST_BYTES, FileRepairs
from core.recovery.file_repairs import file_repairs
from core.storage import Door, FileInfo, Gone
from tests.support import damage
from tests.support.build import SAMPLES
from tests.unit.test_stale_snapshots import PLANNED_MS
from tests.unit.test_stale_snapshots import checkpoint as checkpoint_with


def copy_of(sample: str, place: Path, *damages: damage.Damage) -> Path:
    target = place / "ck"
    shutil.copytree(SAMPLES / sample / "checkpoint", target)
    damage.both(*damages)(target)
    return target


def repairs_of(place: Path) -> FileRepairs:
    ck = Checkpoint.open(str(place))
    return file_repairs(ck, forecast(ck), ConnectorAnswers())


def option_of(judgement: Judgement, sink: str) -> Option:
    found = options(judgement.recovery(Answers({"sink": sink})))
    return next(each for each in found if each.id == "repair_files")


def test_a_door_to_a_place_as_it_would_be_reads_the_changes_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1").write_text("one", encoding="utf-8")
    (tmp_path / "a" / "2").write_text("two", encoding="utf-8")
    door = Door.open(str(tmp_path)).changed({"a/1": None, "a/3": b"three", "b/c/1": b"", "d/1": None})
    listings = door.list(["", "a", "b", "d"])
    assert sorted(listings["a"].files) == ["a/2", "a/3"]
    assert listings[""].directories == ("a", "b") and listings["b"].directories == ("b/c",)
    assert not listings["d"].exists
    assert sorted(door.list([""], recursive=True)[""].files) == ["a/2", "a/3", "b/c/1"]
    found = door.read([FileInfo("a/1", 3), FileInfo("a/2", 3), FileInfo("a/3", 5)])
    assert found == {"a/1": Gone(), "a/2": b"two", "a/3": b"three"}
    looks = door.look(["a/1", "a/3"])
    assert looks == {"a/1": Gone(), "a/3": FileInfo("a/3", 5)}
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["1", "2", "a"]


@pytest.mark.parametrize("sample", ["files-stopped-cleanly", "state-format-2", "named-sources"])
def test_a_checkpoint_without_damage_has_nothing_to_repair(sample: str, tmp_path: Path) -> None:
    found = repairs_of(copy_of(sample, tmp_path))
    assert not found.repairs and not found.is_possible


def test_two_faults_are_repaired_one_after_the_other_and_the_copy_resumes(tmp_path: Path) -> None:
    found = repairs_of(
        copy_of(
            "windowed-aggregation-hot-partition",
            tmp_path,
            damage.without("metadata"),
            damage.without("offsets/{n-1}"),
        )
    )
    assert [(each.file, each.does) for each in found.repairs] == [
        ("metadata", "write"),
        ("offsets/8", "copy"),
    ]
    assert found.is_possible and found.forecast is not None and found.forecast.outcome == "resume"


def test_a_watermark_that_is_not_known_is_not_made_up(tmp_path: Path) -> None:
    found = repairs_of(
        copy_of("windowed-aggregation-hot-partition", tmp_path, damage.holding("commits/{n}", ""))
    )
    assert [(each.file, each.does) for each in found.repairs] == [("commits/9", "leave_out")]
    assert (found.again_from, found.again_is_same) == (9, True)


def test_the_watermark_comes_from_what_is_left_of_the_commit_or_from_the_batch_planned_next(
    tmp_path: Path,
) -> None:
    left = copy_of(
        "windowed-aggregation-hot-partition",
        tmp_path / "a",
        damage.holding("commits/{n}", '{"nextBatchWatermarkMs":1234}'),
    )
    assert repairs_of(left).repairs[0].text == 'v1\n{"nextBatchWatermarkMs":1234}'

    place = copy_of("windowed-aggregation-hot-partition", tmp_path / "b")
    text = (place / "offsets" / "9").read_text(encoding="utf-8")
    watermark = Checkpoint.open(str(place)).offset(9).watermark_ms  # type: ignore[union-attr]
    (place / "offsets" / "10").write_text(
        text.replace(str(watermark), str((watermark or 0) + 5000)), encoding="utf-8"
    )
    damage.holding("commits/9", "")(place)
    assert repairs_of(place).repairs[0].text == f'v1\n{{"nextBatchWatermarkMs":{(watermark or 0) + 5000}}}'


def test_a_file_of_gigabytes_is_neither_read_nor_replaced(tmp_path: Path) -> None:
    ck = copy_of("files-stopped-cleanly", tmp_path)
    ahead = ck / "commits" / "90"
    ahead.touch()
    os.truncate(ahead, MOST_BYTES + 1)
    tracemalloc.start()
    found = repairs_of(ck)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not found.is_possible and "commits/90 has 256.0 MiB" in found.refused
    assert peak_bytes < MOST_BYTES // 4


def test_the_old_query_id_is_taken_from_what_is_left_of_metadata(tmp_path: Path) -> None:
    place = copy_of("files-stopped-cleanly", tmp_path)
    before = Checkpoint.open(str(place)).query_id
    damage.cut("metadata", 0.99)(place)
    assert repairs_of(place).repairs[0].text == f'{{"id":"{before}"}}'


def test_the_option_comes_first_and_the_finding_names_it(tmp_path: Path) -> None:
    judgement = judge(
        Checkpoint.open(str(copy_of("files-stopped-cleanly", tmp_path, damage.without("metadata"))))
    )
    first = options(judgement.recovery(Answers({"sink": "file"})))[0]
    assert first.id == "repair_files" and first.recommended
    found = next(item for item in judgement.findings.findings if item.id == "METADATA_MISSING")
    assert found.option == "repair_files" and "repair_files" in found.action


def test_a_complete_batch_that_would_come_again_is_not_recommended_for_a_sink_that_appends(
    tmp_path: Path,
) -> None:
    place = copy_of("windowed-aggregation-hot-partition", tmp_path, damage.holding("commits/{n}", ""))
    for sink, expected in (("foreach_append", False), ("foreach_merge", True), ("file", True)):
        found = options(judge(Checkpoint.open(str(place))).recovery(Answers({"sink": sink})))
        option = next(each for each in found if each.id == "repair_files")
        assert (option.possible, option.recommended) == (True, expected), sink


HOUR_MS = 3_600_000


def test_snapshots_of_an_abandoned_time_line_are_left_out_and_what_stays_is_said() -> None:
    judgement = judge(Checkpoint.open(str(SAMPLES / "hand-made-rewind" / "checkpoint")))
    option = option_of(judgement, "foreach_append")
    assert option.possible and not option.recommended
    assert "forecast says" in option.repeats and "sources/0 is 8 entries ahead" in option.repeats
    caution = plan(judgement.recovery(Answers({"sink": "foreach_append"})), option.recipe).caution
    assert any("Not repaired by it" in each and "SOURCE_LOG_AHEAD" in each for each in caution)
    found = next(item for item in judgement.findings.findings if item.id == "STALE_SNAPSHOT")
    assert found.option == "repair_files" and "Leave state/0/1/11.snapshot out." in found.action


def test_a_stale_snapshot_that_the_next_start_loads_is_left_out_before_a_plain_restart(
    tmp_path: Path,
) -> None:
    stale = checkpoint_with(tmp_path, "5.snapshot", PLANNED_MS - HOUR_MS)
    (stale / "state/0/0/5.snapshot.crc").write_text("{}", encoding="utf-8")
    found = repairs_of(stale)
    assert found.is_possible, found.refused
    assert [each.file for each in found.repairs] == [
        "state/0/0/5.snapshot",
        "state/0/0/5.snapshot.crc",
        "state/0/1/5.snapshot",
    ]
    first = options(judge(Checkpoint.open(str(stale))).recovery(Answers({"sink": "foreach_merge"})))[0]
    assert (first.id, first.recommended) == ("repair_files", True)
    assert "A plain restart works, but" in first.reason


def older_delta(place: Path) -> None:
    os.utime(place / "state/0/1/3.delta", (PLANNED_MS / 1000 - 7200,) * 2)


def batch_after(place: Path) -> None:
    (place / "offsets/5").write_bytes((place / "offsets/4").read_bytes())
    (place / "commits/5").write_bytes((place / "commits/4").read_bytes())
    for partition in (0, 1):
        shutil.copy(place / f"state/0/{partition}/5.delta", place / f"state/0/{partition}/6.delta")


def purged_before(place: Path) -> None:
    """A snapshot before it, whose batch and changes are purged."""
    for partition in (0, 1):
        (place / f"state/0/{partition}/2.snapshot").write_bytes(b"x" * 64)
        for version in (1, 2):
            (place / f"state/0/{partition}/{version}.delta").unlink()
    for batch in (0, 1):
        (place / f"offsets/{batch}").unlink()
        (place / f"commits/{batch}").unlink()


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (damage.without("state/0/0/2.delta"), "state/0/0/2.delta is missing"),
        (older_delta, "state/0/1/3.delta is older than the plan of batch 2"),
        (batch_after, "batch 5 has run since"),
        (purged_before, "Nothing tells whether state/0/0/2.snapshot"),
    ],
)
def test_a_stale_snapshot_is_not_left_out_where_the_rest_is_not_known_to_be_right(
    harm: damage.Damage, words: str, tmp_path: Path
) -> None:
    place = checkpoint_with(tmp_path, "5.snapshot", PLANNED_MS - HOUR_MS)
    harm(place)
    found = repairs_of(place)
    assert not found.is_possible and words in found.refused, found.refused


def test_the_snapshot_before_is_right_when_it_is_newer_than_its_changes(tmp_path: Path) -> None:
    place = checkpoint_with(tmp_path, "5.snapshot", PLANNED_MS - HOUR_MS)
    purged_before(place)
    for partition in (0, 1):
        (place / f"state/0/{partition}/2.delta").write_bytes(b"x" * 64)
    assert repairs_of(place).is_possible


def test_a_repair_that_the_sink_decides_is_recommended_with_that_condition(tmp_path: Path) -> None:
    """It was recommended without one, and its script refused: the sink had the batch."""
    place = copy_of("files-stopped-cleanly", tmp_path, damage.holding("offsets/{n+1}", ""))
    judgement = judge(Checkpoint.open(str(place)))
    for sink in ("file", "delta"):
        option = option_of(judgement, sink)
        assert option.recommended and "as long as the sink does not have batch 14 yet" in option.reason
        said = judgement.advice(Answers({"sink": sink})).sentence
        assert said.startswith("Repair single files of the checkpoint. Connect the sink first: ")
        assert "already has batch 14" in said
    for sink in ("foreach_append", "foreach_merge", "kafka"):
        assert "as long as" not in option_of(judgement, sink).reason
        said = judgement.advice(Answers({"sink": sink})).sentence
        assert said == "Repair single files of the checkpoint."
    assert "Connect the sink first" in judgement.advice(Answers()).sentence


def test_a_repair_that_plans_no_batch_again_has_no_condition(tmp_path: Path) -> None:
    place = copy_of("files-stopped-cleanly", tmp_path, damage.without("metadata"))
    judgement = judge(Checkpoint.open(str(place)))
    assert "as long as" not in option_of(judgement, "file").reason
    assert "Connect the sink" not in judgement.advice(Answers({"sink": "file"})).sentence
