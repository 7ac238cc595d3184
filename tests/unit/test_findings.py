"""The integrity check: each kind of damage gives its finding, and clean checkpoints give none."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from core.analysis.findings import Finding, FindingsReport, Level, findings
from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.settings import Settings
from tests.support.build import (
    SAMPLES,
    commit_text,
    copy_sample,
    corpus_entry,
    corpus_names,
    kafka_offset,
    offset_text,
    remove,
    unpack_corpus,
    write,
)
from tests.support.forecasting import files_checkpoint, stateful_conf, with_state

CLEAN = (
    "delta-stopped-in-first-snapshot",
    "files-stopped-cleanly",
    "kafka-topic-gained-partitions",
    "named-sources",
    "purged-to-newest-10",
    "state-format-2",
    "union-of-two-sources",
)
DAMAGED = {
    "transform-with-state-timers": {"STATE_SCHEMA_ELSEWHERE": "attention"},
    "files-died-mid-batch": {"BATCH_PENDING_LONG": "attention"},
    "kafka-pipeline-died-mid-batch": {"BATCH_PENDING_LONG": "attention"},
    "delta-batch-already-in-table": {"BATCH_PENDING_LONG": "attention"},
    "dropduplicates-removed": {"BATCH_PENDING_LONG": "attention"},
    "join-watermark-held-back": {"WATERMARK_STALLED": "attention"},
    "windowed-aggregation-hot-partition": {"STATE_SKEWED": "attention"},
    "missing-delta-file": {"STATE_NOT_RESTORABLE": "blocks_restart"},
    "hand-made-rewind": {
        "SOURCE_LOG_AHEAD": "data_risk",
        "STALE_SNAPSHOT": "data_risk",
        "STATE_OF_LATER_BATCHES": "note",
    },
}

LEVELS: tuple[Level, ...] = ("quick", "normal", "deep")
IN_STATE = (
    "STATE_SCHEMA_ELSEWHERE",
    "STATE_SKEWED",
    "STATE_NOT_RESTORABLE",
    "STALE_SNAPSHOT",
    "STATE_OF_LATER_BATCHES",
)  # the quick level does not list state/


def check(root: Path, level: Level = "normal", spark: str | None = None) -> FindingsReport:
    return findings(Checkpoint.open(str(root)), level, spark)


def found(root: Path, level: Level = "normal", spark: str | None = None) -> dict[str, Finding]:
    return {finding.id: finding for finding in check(root, level, spark).findings}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_sample_gives_no_finding(name: str, level: Level) -> None:
    report = check(SAMPLES / name / "checkpoint", level)
    assert report.findings == ()
    assert report.sentence.startswith("No problems found in ") and "; not checked: " in report.sentence


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", list(DAMAGED))
def test_a_damaged_sample_gives_the_findings_of_its_story(name: str, level: Level) -> None:
    report = check(SAMPLES / name / "checkpoint", level)
    expected = {
        key: severity for key, severity in DAMAGED[name].items() if level != "quick" or key not in IN_STATE
    }
    assert {finding.id: finding.severity for finding in report.findings} == expected
    if expected != DAMAGED[name]:
        assert "state/" in report.not_checked


@pytest.mark.parametrize("name", [name for name in corpus_names() if corpus_entry(name).get("complete")])
def test_a_complete_checkpoint_of_others_gives_nothing_worse_than_a_note(name: str, tmp_path: Path) -> None:
    report = check(unpack_corpus(name, tmp_path), "quick")
    assert [
        finding for finding in report.findings if finding.severity in ("blocks_restart", "data_risk")
    ] == []


def test_every_sample_has_its_expectation() -> None:
    others = {path.parent.name for path in SAMPLES.glob("*/checkpoint")} - set(CLEAN) - set(DAMAGED)
    assert others == set()


# The next start


def test_what_stops_the_next_start_blocks_it(tmp_path: Path) -> None:
    remove(files_checkpoint(tmp_path), "offsets/3")
    report = check(tmp_path)
    assert [(f.id, f.severity, f.certainty) for f in report.findings] == [
        ("OFFSET_GAP", "blocks_restart", "certain")
    ]
    assert report.has_problems
    assert "the recovery option repair_files makes that copy" in report.findings[0].action


def test_a_missing_metadata_file_weighs_less_before_4_2(tmp_path: Path) -> None:
    remove(files_checkpoint(tmp_path), "metadata")
    assert found(tmp_path)["METADATA_MISSING"].severity == "blocks_restart"
    assert found(tmp_path, spark="3.5")["METADATA_MISSING"].severity == "attention"  # no batch runs again
    remove(tmp_path, "commits/4")
    assert found(tmp_path, spark="3.5")["METADATA_MISSING"].severity == "data_risk"


def test_worst_comes_first(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path, commits=range(4)), {"offsets/1": ""})
    remove(tmp_path, "metadata")
    assert [f.severity for f in check(tmp_path).findings] == ["blocks_restart", "attention", "attention"]


def test_the_quick_level_does_not_look_into_state(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=stateful_conf())
    remove(with_state(tmp_path, range(1, 6)), "state/0/1/3.delta")
    assert check(tmp_path, "quick").findings == ()
    assert "state/" in check(tmp_path, "quick").not_checked
    assert set(found(tmp_path)) == {"STATE_NOT_RESTORABLE"}


# The logs as a whole


def test_one_missing_last_commit_is_normal(tmp_path: Path) -> None:
    started_ms = time.time_ns() // 1_000_000 - 60_000
    report = check(files_checkpoint(tmp_path, commits=range(4), started_ms=started_ms))
    assert [(f.id, f.severity, f.batch_id) for f in report.findings] == [("BATCH_NOT_COMMITTED", "note", 4)]


def test_several_missing_commits_are_something_to_look_at(tmp_path: Path) -> None:
    finding = found(files_checkpoint(tmp_path, commits=[0, 1]))["COMMITS_MISSING"]
    assert (finding.severity, finding.certainty) == ("attention", "needs_input")
    assert finding.sentence.startswith(
        "Batches 2 and 3 are planned and not committed, and the next start re-runs only batch 4."
    )
    assert [str(item) for item in finding.evidence] == ["commits/2", "commits/3"]


def test_older_gaps_only_need_attention(tmp_path: Path) -> None:
    remove(files_checkpoint(tmp_path, batches=8), "offsets/2", "commits/3")
    assert {f.id: f.severity for f in check(tmp_path).findings} == {
        "OFFSETS_MISSING": "attention",
        "COMMIT_GAP": "attention",
    }


def test_gaps_of_asynchronous_progress_are_no_finding(tmp_path: Path) -> None:
    for batch in (0, 6, 11, 16, 21, 26):
        write(
            tmp_path,
            {f"offsets/{batch}": offset_text([kafka_offset(batch, 1)]), f"commits/{batch}": commit_text()},
        )
    write(
        tmp_path,
        {
            "metadata": '{"id":"730aa211-41ff-4ee3-b1b9-9e62ed047c5f"}',
            "sources/0/0": b'\0v1\n{"orders":{"0":0}}',
        },
    )
    assert check(tmp_path).findings == ()


def test_an_older_log_file_that_cannot_be_read_needs_attention(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"offsets/1": ""})
    finding = found(tmp_path)["OLD_LOG_FILE_UNREADABLE"]
    assert finding.severity == "attention" and [str(item) for item in finding.evidence] == ["offsets/1"]


def test_an_older_log_file_of_an_unknown_version_is_reported_and_not_guessed(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"commits/1": "v7\n{}"})
    assert found(tmp_path)["UNKNOWN_FORMAT"].severity == "attention"


def test_a_watermark_that_went_back_in_an_older_batch_is_something_to_look_at(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    marks = [0, 1_000, 2_000, 500, 3_000]
    for batch, mark in enumerate(marks):
        write(tmp_path, {f"offsets/{batch}": offset_text([f'{{"logOffset":{batch}}}'], watermark_ms=mark)})
    finding = found(tmp_path)["WATERMARK_WENT_BACK"]
    assert (finding.severity, finding.batch_id) == ("attention", 3)
    assert [str(item) for item in finding.evidence] == ["offsets/3:2", "offsets/2"]
    assert not forecast(Checkpoint.open(str(tmp_path))).risks


def test_a_watermark_that_goes_back_in_the_newest_batch_risks_the_data_of_a_stateful_query(
    tmp_path: Path,
) -> None:
    target = copy_sample("windowed-aggregation-hot-partition", tmp_path)
    ck = Checkpoint.open(str(target))
    newest = ck.offset_ids[-1]
    path = target / "offsets" / str(newest)
    text = re.sub(r'"batchWatermarkMs":\d+', '"batchWatermarkMs":1', path.read_text())
    write(target, {f"offsets/{newest}": text})
    finding = found(target)["WATERMARK_WENT_BACK"]
    assert finding.severity == "attention", "a start takes the one that the commit of the batch names"
    assert not forecast(Checkpoint.open(str(target))).risks
    (target / "commits" / str(newest)).unlink()
    finding = found(target)["WATERMARK_WENT_BACK"]
    assert (finding.severity, str(finding.evidence[0])) == ("data_risk", f"offsets/{newest}:2")
    said = forecast(Checkpoint.open(str(target)))
    assert [risk.id for risk in said.risks] == ["WATERMARK_WENT_BACK"]
    assert (said.data.append, said.data.is_sure("append")) == ("duplicates", False)


def test_a_kafka_position_that_goes_back_in_the_newest_batch_risks_data(tmp_path: Path) -> None:
    write(tmp_path, {"metadata": '{"id":"730aa211-41ff-4ee3-b1b9-9e62ed047c5f"}'})
    for batch, position in enumerate((10, 20, 5)):
        write(
            tmp_path,
            {f"offsets/{batch}": offset_text([kafka_offset(position, 1)]), f"commits/{batch}": commit_text()},
        )
    assert found(tmp_path)["OFFSET_WENT_BACK"].severity == "data_risk"
    said = forecast(Checkpoint.open(str(tmp_path)))
    assert [risk.id for risk in said.risks] == ["OFFSET_WENT_BACK"]
    assert (said.data.skip, said.data.is_sure("skip")) == ("duplicates", False)


def test_a_kafka_position_that_went_back_in_an_older_batch_is_something_to_look_at(tmp_path: Path) -> None:
    write(tmp_path, {"metadata": '{"id":"730aa211-41ff-4ee3-b1b9-9e62ed047c5f"}'})
    for batch, position in enumerate((10, 20, 5, 8)):
        write(
            tmp_path,
            {f"offsets/{batch}": offset_text([kafka_offset(position, 1)]), f"commits/{batch}": commit_text()},
        )
    finding = found(tmp_path)["OFFSET_WENT_BACK"]
    assert finding.severity == "attention"
    assert finding.batch_id == 2 and "orders-0 from 20 to 5" in finding.sentence


def test_batch_times_that_go_back_are_a_sign_of_two_writers(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    write(tmp_path, {"offsets/3": offset_text(['{"logOffset":3}'], timestamp_ms=1_795_175_000_000)})
    finding = found(tmp_path)["TWO_WRITERS"]
    assert (finding.severity, finding.certainty) == ("attention", "inferred")


def test_clocks_of_two_hosts_may_differ_a_little(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    write(tmp_path, {"offsets/3": offset_text(['{"logOffset":3}'], timestamp_ms=1_795_176_000_000)})
    assert check(tmp_path).findings == ()
    strict = findings(Checkpoint.open(str(tmp_path), Settings(clock_slack_ms=0)))
    assert [finding.id for finding in strict.findings] == ["TWO_WRITERS"]


def test_a_changing_number_of_sources_is_a_sign_of_two_writers(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    write(tmp_path, {"offsets/1": offset_text(['{"logOffset":1}', '{"logOffset":1}'])})
    assert found(tmp_path)["TWO_WRITERS"].batch_id == 1


# State


def test_a_snapshot_of_an_abandoned_time_line_is_a_trap(tmp_path: Path) -> None:
    target = copy_sample("hand-made-rewind", tmp_path)
    finding = found(target)["STALE_SNAPSHOT"]
    assert ".snapshot was written by a batch that the logs no longer have" in finding.sentence
    remove(target, *(str(path.relative_to(target)) for path in target.glob("state/0/*/*.snapshot")))
    assert "STALE_SNAPSHOT" not in found(target)


def test_what_cannot_be_rebuilt_says_which_batch_to_go_back_to(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=stateful_conf())
    remove(with_state(tmp_path, range(1, 6)), "state/0/1/4.delta")
    assert (
        "Version 3 is the newest that every partition of every store can rebuild: the checkpoint can be"
        " rolled back to batch 2." in found(tmp_path)["STATE_NOT_RESTORABLE"].sentence
    )
    remove(tmp_path, "state/0/0")
    assert "so the checkpoint cannot be rolled back" in found(tmp_path)["STATE_NOT_RESTORABLE"].sentence


def grows(root: Path, sizes: tuple[int, ...], watermarks: tuple[int, ...] = (0,)) -> dict[str, Finding]:
    files_checkpoint(root, batches=30, conf=stateful_conf())
    for batch in range(30):
        mark = watermarks[batch % len(watermarks)] * batch
        write(
            root,
            {
                f"offsets/{batch}": offset_text(
                    [f'{{"logOffset":{batch}}}'], conf=stateful_conf(), watermark_ms=mark
                ),
                f"commits/{batch}": commit_text(watermarks[(batch + 1) % len(watermarks)] * (batch + 1)),
            },
        )
    with_state(root, range(1, 31))
    write(
        root,
        {f"state/0/{p}/{10 * (i + 1)}.snapshot": b"x" * size for i, size in enumerate(sizes) for p in (0, 1)},
    )
    return found(root)


def test_state_that_grows_without_a_watermark_is_a_note(tmp_path: Path) -> None:
    finding = grows(tmp_path, (100, 150, 200))["STATE_GROWS"]
    assert (
        finding.severity == "note"
        and "from 200 bytes to 400 bytes over 3 snapshots, and there is no watermark" in finding.sentence
    )


def test_state_that_stays_the_same_or_has_a_moving_watermark_is_no_finding(tmp_path: Path) -> None:
    assert grows(tmp_path / "same", (100, 110, 105)) == {}
    assert grows(tmp_path / "moving", (100, 150, 200), watermarks=(1_000,)) == {}


def test_few_kept_batches_are_a_note(tmp_path: Path) -> None:
    remove(
        files_checkpoint(tmp_path, batches=8),
        *(f"{log}/{i}" for log in ("offsets", "commits") for i in range(5)),
    )
    finding = found(tmp_path)["SHORT_RETENTION"]
    assert (
        finding.severity == "note"
        and "the oldest batch that the checkpoint can be rolled back to is batch 6" in finding.sentence
    )


def test_missing_operator_metadata_needs_attention_from_4_0_on(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=stateful_conf())
    remove(with_state(tmp_path, range(1, 6)), "state/0/_metadata")
    assert found(tmp_path)["OPERATOR_METADATA_MISSING"].severity == "attention"
    assert "OPERATOR_METADATA_MISSING" not in found(tmp_path, spark="3.5")


def test_a_missing_state_schema_needs_attention(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=stateful_conf())
    remove(with_state(tmp_path, range(1, 6)), "state/0/0/_metadata")
    assert found(tmp_path)["STATE_SCHEMA_MISSING"].severity == "attention"


def test_partitions_beyond_the_pinned_number_need_attention(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=stateful_conf())
    with_state(tmp_path, range(1, 6))
    write(tmp_path, {"state/0/2/3.delta": b"x" * 64})
    finding = found(tmp_path)["EXTRA_PARTITIONS"]
    assert (finding.severity, finding.place) == ("attention", "0/2")


# What lies around


def test_leftovers_are_a_note(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"offsets/.5.1234.tmp": "x", "notes.txt": "x"})
    finding = found(tmp_path)["LEFTOVERS"]
    assert finding.severity == "note" and finding.sentence.startswith(
        "2 files are not part of the checkpoint: 1 left by interrupted writes and 1 not Spark's"
    )


def test_the_place_of_a_query_without_a_location_is_a_note(tmp_path: Path) -> None:
    root = tmp_path / "temporary-0b2a1f6c-3b1f-4d9b-9a51-0d1b8c7b2f10"
    assert found(files_checkpoint(root))["TEMPORARY_LOCATION"].severity == "note"


# A query that runs meanwhile


def test_what_a_running_query_changed_between_two_looks_is_not_told(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    remove(tmp_path, "offsets/3")
    checkpoint = Checkpoint.open(str(tmp_path))
    write(tmp_path, {"offsets/3": offset_text(['{"logOffset":3}'])})  # it was only late
    assert findings(checkpoint).findings == ()


def test_an_unknown_level_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="There is no level full"):
        findings(Checkpoint.open(str(files_checkpoint(tmp_path))), "full")  # type: ignore[arg-type]


def test_a_checksum_whose_file_is_gone_is_named_among_the_leftovers(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path, conf=stateful_conf()), {"state/0/0/.2.delta.crc": b"crc\0\0\0\2\0"})
    with_state(tmp_path, (1,))
    sentence = found(tmp_path)["LEFTOVERS"].sentence
    assert "1 checksum file belongs to a file that is not there (state/0/0/.2.delta.crc)" in sentence
