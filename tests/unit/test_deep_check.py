"""The deep level: each kind of damage inside state files gives its finding with the right weight, and clean
checkpoints give none."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.analysis.findings import Finding, FindingsReport, findings
from core.analysis.forecast.contents import loaded_version
from core.checkpoint import Checkpoint
from core.checkpoint.state_content.records import Record
from core.cli import main
from core.judgement import judge
from tests.support.build import (
    SAMPLES,
    copy_sample,
    corpus_entry,
    corpus_names,
    remove,
    sample_names,
    unpack_corpus,
)
from tests.support.sst import Part, flip_part
from tests.support.state_files import (
    cut,
    flip,
    newest,
    pack_lz4,
    records_of,
    rewrite_records,
    unpacked,
    version,
)

DELTAS = "missing-delta-file"  # HDFS-backed, deltas only; partition 2 is broken, the others are whole
SNAPSHOTS = "purged-to-newest-10"  # HDFS-backed, with snapshots
CHANGELOGS = "kafka-topic-gained-partitions"  # RocksDB with changelogs and zips
FORMAT_2 = "state-format-2"
FAMILIES = "transform-with-state-timers"

Damage = Callable[[Path], object]


def report_of(root: Path | str, spark: str | None = None, **options: Any) -> FindingsReport:
    return findings(Checkpoint.open(str(root)), "deep", spark, **options)


def found(root: Path, spark: str | None = None) -> dict[str, Finding]:
    return {finding.id: finding for finding in report_of(root, spark).findings}


def unplaced(root: Path) -> list[str]:
    """What is said of rows whose partition could not be judged."""
    return [text for text in report_of(root).not_checked if "partition of their key" in text]


def damaged(tmp_path: Path, name: str, damage: Damage, spark: str | None = None) -> dict[str, Finding]:
    """The findings of a damaged copy that the normal level does not give."""
    root = copy_sample(name, tmp_path)
    before = {finding.id for finding in findings(Checkpoint.open(str(root)), "normal", spark).findings}
    damage(root)
    return {
        finding_id: finding for finding_id, finding in found(root, spark).items() if finding_id not in before
    }


def store(root: Path, partition: int = 0) -> Path:
    return root / "state" / "0" / str(partition)


def whole_dedup(root: Path) -> Path:
    """The sample with the missing delta as it was before: partition 2 as empty as a delta can be."""
    path = store(root, 2) / "4.delta"
    path.write_bytes(pack_lz4(b"\xff\xff\xff\xff"))
    return root


@pytest.mark.parametrize("name", sample_names())
def test_a_sample_gives_the_same_findings_at_the_deep_level_as_at_the_normal_one(name: str) -> None:
    root = SAMPLES / name / "checkpoint"
    normal = findings(Checkpoint.open(str(root)), "normal")
    deep = report_of(root)
    assert deep.findings == normal.findings
    if (root / "state").is_dir():
        assert any(
            text.startswith("the contents of ") and text.endswith(" state files") for text in deep.checked
        )


@pytest.mark.parametrize("name", [name for name in corpus_names() if name.startswith("s3-")])
def test_a_corpus_entry_with_contents_gives_the_same_findings_at_both_levels(
    name: str, tmp_path: Path
) -> None:
    root = unpack_corpus(name, tmp_path)
    assert corpus_entry(name)["complete"]
    assert report_of(root).findings == findings(Checkpoint.open(str(root)), "normal").findings


# Files that the next start needs


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: flip(path, 60),
        lambda path: cut(path, 60),
        lambda path: cut(path, -22),
        lambda path: path.write_bytes(b"not a state file"),
    ],
    ids=["bit flip", "half", "cut before the end mark", "other content"],
)
def test_a_damaged_delta_in_the_chain_blocks_the_restart(damage: Damage, tmp_path: Path) -> None:
    root = whole_dedup(copy_sample(DELTAS, tmp_path))
    damage(store(root) / "7.delta")
    finding = found(root)["STATE_FILE_DAMAGED"]
    assert (finding.severity, finding.certainty, finding.place) == (
        "blocks_restart",
        "certain",
        "0/0/default",
    )
    assert str(finding.evidence[0]) == "state/0/0/7.delta"
    assert "state version 10, and fails" in finding.sentence
    assert "can rebuild from intact files is 6, the state after batch 5" in finding.sentence


def test_an_empty_file_is_told_once(tmp_path: Path) -> None:
    root = whole_dedup(copy_sample(DELTAS, tmp_path))
    (store(root) / "7.delta").write_bytes(b"")
    report = report_of(root)
    assert [finding.id for finding in report.findings if finding.severity == "blocks_restart"] == [
        "STATE_NOT_RESTORABLE"
    ]
    assert not any(finding.id == "STATE_FILE_DAMAGED" for finding in report.findings)


@pytest.mark.parametrize("name", [DELTAS, CHANGELOGS])
def test_damage_behind_the_last_record_is_a_note(name: str, tmp_path: Path) -> None:
    def damage(root: Path) -> None:
        path = newest(store(root), "delta" if name == DELTAS else "changelog")
        path.write_bytes(path.read_bytes()[:-21])

    finding = damaged(tmp_path, name, damage)["STATE_FILE_DAMAGED"]
    assert finding.severity == "note" and "reads the rest without an error" in finding.sentence


def test_a_damaged_file_of_a_partition_that_is_broken_anyhow_is_for_attention(tmp_path: Path) -> None:
    new = damaged(tmp_path, DELTAS, lambda root: flip(store(root, 2) / "7.delta", 60))
    assert new["STATE_FILE_DAMAGED"].severity == "attention"


def test_a_damaged_delta_before_the_snapshot_cuts_off_the_way_back_only(tmp_path: Path) -> None:
    def damage(root: Path) -> None:
        before = int(newest(store(root), "snapshot").stem) - 1
        flip(version(store(root), before, "delta"), 60)

    finding = damaged(tmp_path, SNAPSHOTS, damage)["STATE_FILE_DAMAGED"]
    assert finding.severity == "attention" and "does not need it" in finding.sentence


@pytest.mark.parametrize(
    ("spark", "severity"),
    [("4.3", "attention"), ("4.2", "attention"), ("4.1", "blocks_restart"), ("3.5", "blocks_restart")],
)
@pytest.mark.parametrize(("name", "kind"), [(SNAPSHOTS, "snapshot"), (CHANGELOGS, "zip")])
def test_spark_4_2_and_newer_do_without_a_damaged_snapshot(
    name: str, kind: str, spark: str, severity: str, tmp_path: Path
) -> None:
    finding = damaged(
        tmp_path, name, lambda root: flip(newest(store(root), kind), 300 if kind == "zip" else 60), spark
    )["STATE_FILE_DAMAGED"]
    assert finding.severity == severity


def test_a_damaged_snapshot_blocks_when_the_deltas_before_it_are_gone(tmp_path: Path) -> None:
    def damage(root: Path) -> None:
        last = newest(store(root), "snapshot")
        flip(last, 60)
        for path in [*store(root).glob("*.snapshot"), *store(root).glob("*.delta")]:
            if int(path.stem) < int(last.stem):
                path.unlink()

    assert damaged(tmp_path, SNAPSHOTS, damage, "4.3")["STATE_FILE_DAMAGED"].severity == "blocks_restart"


def test_files_with_ids_that_no_commit_names_are_not_decoded(tmp_path: Path) -> None:
    root = copy_sample(FORMAT_2, tmp_path)
    (store(root) / "7_00000000-0000-0000-0000-000000000000.changelog").write_bytes(
        b"left by a killed attempt"
    )
    (store(root) / "7_00000000-0000-0000-0000-000000000000.zip").write_bytes(b"left by a killed attempt")
    assert report_of(root).findings == ()


def test_a_pending_batch_loads_the_version_before_its_own(tmp_path: Path) -> None:
    root = copy_sample(FORMAT_2, tmp_path)
    assert loaded_version(Checkpoint.open(str(root))) == 8
    remove(root, "commits/7")
    assert loaded_version(Checkpoint.open(str(root))) == 7


# Zips and the files they name


def of_newest_zip(root: Path) -> list[Path]:
    """The .sst files that are in no other zip than the newest."""
    return sorted((store(root) / "SSTs").glob("*.sst"))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (
            lambda root: [cut(path, -10, keep_checksum=False) for path in of_newest_zip(root)],
            "bytes, and the file has",
        ),
        (lambda root: [path.unlink() for path in of_newest_zip(root)], "which is missing"),
        (lambda root: [flip(path, 100) for path in of_newest_zip(root)], "its hidden checksum"),
        (lambda root: flip(newest(store(root), "zip"), 300, keep_checksum=False), "its member"),
        (
            lambda root: cut(newest(store(root), "zip"), 1000, keep_checksum=False),
            "it ends in the middle of its member",
        ),
        (lambda root: newest(store(root), "zip").write_bytes(b"no zip"), 'it has no member "metadata"'),
        (
            lambda root: flip(
                newest(store(root), "zip").with_name(f".{newest(store(root), 'zip').name}.crc"), 10
            ),
            "its hidden checksum",
        ),
    ],
    ids=[
        "sst cut",
        "sst missing",
        "sst flipped",
        "member broken",
        "zip cut",
        "other content",
        "stale checksum",
    ],
)
def test_a_zip_that_spark_cannot_load_is_damaged(damage: Damage, reason: str, tmp_path: Path) -> None:
    def only_zips(root: Path) -> None:
        for path in root.glob("state/0/*/*.changelog"):  # so that the zip alone gives the version
            path.unlink()
        for batch in (16, 17):
            remove(
                root, f"offsets/{batch}", f"commits/{batch}", f"offsets/.{batch}.crc", f"commits/.{batch}.crc"
            )

    root = copy_sample(CHANGELOGS, tmp_path)
    only_zips(root)
    assert "STATE_FILE_DAMAGED" not in found(root)
    damage(root)
    # An SST file that is gone is seen in the listing already, and said once.
    ids = ("STATE_FILE_DAMAGED", "STATE_NOT_RESTORABLE")
    blocked = [f for f in report_of(root).findings if f.id in ids and f.severity == "blocks_restart"]
    assert len(blocked) == 1
    if blocked[0].id == "STATE_FILE_DAMAGED":
        assert reason in blocked[0].sentence
    assert "state/0/0/16.zip" in [str(item) for item in blocked[0].evidence]
    for spark in ("3.5", "4.3"):  # up to 3.5 the bare error of whatever met the damage
        answer = judge(Checkpoint.open(str(root)), level="deep", spark=spark).forecast
        assert answer.outcome == "fail" and answer.because


@pytest.mark.parametrize(
    ("part", "severity"), [("index", "blocks_restart"), ("rows", "data_risk"), ("filter", "note")]
)
def test_a_bit_that_flipped_in_an_sst_file_is_found_without_a_checksum_file(
    part: Part, severity: str, tmp_path: Path
) -> None:
    def only_zips(root: Path) -> None:
        for path in root.glob("state/0/*/*.changelog"):
            path.unlink()
        for batch in (16, 17):
            remove(
                root, f"offsets/{batch}", f"commits/{batch}", f"offsets/.{batch}.crc", f"commits/.{batch}.crc"
            )

    root = copy_sample(CHANGELOGS, tmp_path)
    only_zips(root)
    assert "STATE_FILE_DAMAGED" not in found(root)
    flip_part(of_newest_zip(root)[-1], part)
    shown = [f for f in report_of(root).findings if f.id == "STATE_FILE_DAMAGED"]
    assert [f.severity for f in shown] == [severity]
    assert "does not match its checksum" in shown[0].sentence
    assert [str(item) for item in shown[0].evidence] == [
        "state/0/0/16.zip",
        str(of_newest_zip(root)[-1].relative_to(root)),
    ]


@pytest.mark.parametrize(("number", "severity"), [(1, "note"), (5, "note"), (17, "attention")])
def test_an_older_zip_without_its_sst_files_may_be_one_that_spark_removes(
    number: int, severity: str, tmp_path: Path
) -> None:
    """Spark removes the .sst files of old versions before their zips (seen under a query that ran)."""
    root = copy_sample(CHANGELOGS, tmp_path)
    assert sorted(int(path.stem) for path in store(root).glob("*.zip")) == [4, 8, 12, 16]
    with zipfile.ZipFile(store(root) / "16.zip") as newest_zip:
        members = {name: newest_zip.read(name) for name in newest_zip.namelist()}
    name = re.search(rb"[0-9]{6}-[0-9a-f-]{36}\.sst", members["metadata"])
    assert name is not None
    members["metadata"] = members["metadata"].replace(name[0], b"999999" + name[0][6:])
    with zipfile.ZipFile(store(root) / f"{number}.zip", "w") as made:
        for member, content in members.items():
            made.writestr(member, content)
    finding = found(root)["STATE_FILE_DAMAGED"]
    assert finding.severity == severity and "999999" in finding.sentence
    assert ("before their zips" in finding.sentence) == (severity == "note")


def test_a_zip_without_its_table_of_contents_is_a_note_where_no_checksum_is_verified(tmp_path: Path) -> None:
    new = damaged(
        tmp_path, CHANGELOGS, lambda root: cut(newest(store(root), "zip"), -60, keep_checksum=False)
    )
    assert (
        new["STATE_FILE_DAMAGED"].severity == "note"
        and "table of contents" in new["STATE_FILE_DAMAGED"].sentence
    )


def test_an_sst_file_that_no_kept_zip_names_does_not_matter(tmp_path: Path) -> None:
    def damage(root: Path) -> None:
        (store(root) / "SSTs/000099-00000000-0000-0000-0000-000000000000.sst").write_bytes(b"left behind")

    assert damaged(tmp_path, CHANGELOGS, damage) == {}


# Checksums


@pytest.mark.parametrize(
    "path", ["offsets/3", "commits/3", "metadata", "state/0/0/3.changelog", "sources/0/0"]
)
def test_a_hidden_checksum_that_spark_does_not_look_at_is_a_note(path: str, tmp_path: Path) -> None:
    def damage(root: Path) -> None:
        name = root / path
        flip(name.with_name(f".{name.name}.crc"), -1)

    new = damaged(tmp_path, CHANGELOGS, damage)
    assert set(new) == {"HADOOP_CHECKSUM_MISMATCH"}
    assert new["HADOOP_CHECKSUM_MISMATCH"].severity == "note"
    assert str(new["HADOOP_CHECKSUM_MISMATCH"].evidence[0]) == path


def test_hidden_checksums_of_an_object_store_stop_nobody(tmp_path: Path) -> None:
    root = copy_sample(CHANGELOGS, tmp_path)
    for path in store(root).glob(".*.zip.crc"):
        flip(path, -1)
    files = fsspec.filesystem("memory")
    files.put(str(root), f"/{tmp_path.name}", recursive=True)
    try:
        report = report_of(
            f"memory://{tmp_path.name}/checkpoint"
            if files.exists(f"/{tmp_path.name}/checkpoint")
            else f"memory://{tmp_path.name}"
        )
    finally:
        files.rm(f"/{tmp_path.name}", recursive=True)
    assert {finding.id for finding in report.findings} == {"HADOOP_CHECKSUM_MISMATCH", "TEMPORARY_LOCATION"}


def wrong_checksum(root: Path) -> None:
    """Spark's own checksum of the changelog that version 7 needs says another value."""
    remove(root, "offsets/7", "commits/7")
    path = Path(f"{version(store(root), 7, 'changelog')}.crc")
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "value": content["value"] ^ 1}), encoding="utf-8")


@pytest.mark.parametrize(
    ("spark", "severity"), [("4.3", "blocks_restart"), ("4.1", "blocks_restart"), ("4.0", "note")]
)
def test_sparks_own_checksum_blocks_where_spark_verifies_it(
    spark: str, severity: str, tmp_path: Path
) -> None:
    finding = damaged(tmp_path, FORMAT_2, wrong_checksum, spark)["STATE_CHECKSUM_MISMATCH"]
    assert finding.severity == severity


def test_an_older_changelog_in_the_place_of_the_right_one_is_seen_by_the_checksum(tmp_path: Path) -> None:
    def damage(root: Path) -> None:
        remove(root, "offsets/7", "commits/7")
        shutil.copy(version(store(root), 6, "changelog"), version(store(root), 7, "changelog"))

    finding = damaged(tmp_path, FORMAT_2, damage)["STATE_CHECKSUM_MISMATCH"]
    assert finding.severity == "blocks_restart" and "was written for" in finding.sentence


@pytest.mark.parametrize(
    ("spark", "severity"), [("4.3", "note"), ("4.2", "note"), ("4.1", "blocks_restart"), ("4.0", "note")]
)
def test_format_1_has_such_checksums_from_spark_4_1_and_no_other_version_looks_at_them(
    spark: str, severity: str, tmp_path: Path
) -> None:
    def damage(root: Path) -> None:
        content = {"algorithm": "CRC32C", "value": 1, "mainFileSize": 2, "timestampMs": 3}
        Path(f"{newest(store(root), 'delta')}.crc").write_text(json.dumps(content), encoding="utf-8")

    assert damaged(tmp_path, SNAPSHOTS, damage, spark)["STATE_CHECKSUM_MISMATCH"].severity == severity


# Lineage, metadata, schemas


def test_a_version_that_only_the_lineage_names_must_be_there(tmp_path: Path) -> None:
    root = copy_sample(FORMAT_2, tmp_path)
    remove(
        root, "offsets/7", "commits/7", "commits/4"
    )  # version 5 is named by commits/4 and by the lineage of version 7
    assert not {"STATE_NOT_RESTORABLE", "STATE_FILE_DAMAGED"} & found(root).keys()
    path = version(store(root), 5, "changelog")
    path.rename(path.with_name("5_00000000-0000-0000-0000-000000000000.changelog"))
    finding = found(root)["STATE_NOT_RESTORABLE"]
    assert str(finding.evidence[0]) == f"state/0/0/{path.name}"


@pytest.mark.parametrize("content", [b"", b"v9\n{}", b"v1\n{", b"\xff\xfe"])
def test_unreadable_operator_metadata_is_for_attention(content: bytes, tmp_path: Path) -> None:
    new = damaged(
        tmp_path, SNAPSHOTS, lambda root: (root / "state/0/_metadata/metadata").write_bytes(content)
    )
    assert new["OPERATOR_METADATA_UNREADABLE"].severity == "attention"


def test_a_cut_schema_blocks_the_restart(tmp_path: Path) -> None:
    root = copy_sample(SNAPSHOTS, tmp_path)
    cut(root / "state/0/0/_metadata/schema", 50)
    assert found(root)["STATE_SCHEMA_UNREADABLE"].severity == "blocks_restart"


def schema_of(root: Path) -> Path:
    return next(
        path for path in (root / "state/0/_stateSchema/default").iterdir() if not path.name.startswith(".")
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda root: cut(root / "state/0/_metadata/v2/0", 100),
        lambda root: (root / "state/0/_metadata/v2/0").write_bytes(b""),
        lambda root: cut(schema_of(root), -30),
        lambda root: schema_of(root).write_bytes(b""),
    ],
    ids=["metadata cut", "metadata empty", "schema cut", "schema empty"],
)
def test_what_spark_knows_of_column_families_must_be_readable(damage: Damage, tmp_path: Path) -> None:
    root = copy_sample(FAMILIES, tmp_path)
    damage(root)
    assert found(root)["STATE_DEFINITION_UNREADABLE"].severity == "blocks_restart"


def test_bytes_behind_a_schema_are_a_note(tmp_path: Path) -> None:
    new = damaged(
        tmp_path, FAMILIES, lambda root: schema_of(root).write_bytes(schema_of(root).read_bytes() + b"abc")
    )
    assert new["STATE_FILE_DAMAGED"].severity == "note"


# Rows


def moved(root: Path, path: str, target: str) -> None:
    """One row leaves a delta and turns up in that of another partition."""
    source, other = root / path, root / target
    records, others = records_of(source).records, records_of(other).records
    row = next(record for record in records if record[0] == "put")
    rewrite_records(source, [record for record in records if record is not row])
    rewrite_records(other, [*others, row])


def test_a_row_in_another_partition_is_found(tmp_path: Path) -> None:
    root = whole_dedup(copy_sample(DELTAS, tmp_path))
    assert "ROWS_IN_WRONG_PARTITION" not in found(root)
    with_rows = next(path for path in sorted(store(root, 1).glob("*.delta")) if records_of(path).records)
    moved(root, f"state/0/1/{with_rows.name}", f"state/0/3/{with_rows.name}")
    finding = found(root)["ROWS_IN_WRONG_PARTITION"]
    assert (finding.severity, finding.certainty, finding.place) == ("data_risk", "inferred", "0/3/default")
    assert finding.sentence.startswith("1 of ") and "state/0/3 belong to partition 1" in finding.sentence


@pytest.mark.parametrize("name", ["dropduplicates-removed", "join-watermark-held-back"])
def test_exchanged_partition_directories_are_found(name: str, tmp_path: Path) -> None:
    root = copy_sample(name, tmp_path)
    first, second = root / "state/0/0", root / "state/0/1"
    first.rename(tmp_path / "first")
    second.rename(first)
    (tmp_path / "first").rename(second)
    for path in sorted(second.rglob("_metadata")):  # the schemas lie below partition 0 only
        path.rename(first / path.relative_to(second))
    assert "ROWS_IN_WRONG_PARTITION" in found(root)


@pytest.mark.parametrize(("kept", "certainty"), [(4, "inferred"), (2, "needs_input")])
def test_few_rows_in_exchanged_directories_are_asked_about_when_chance_explains_them_too(
    kept: int, certainty: str, tmp_path: Path
) -> None:
    """Seen on Spark 4.3: two directories of a state with nine keys were exchanged, and totals were wrong."""
    root = copy_sample("dropduplicates-removed", tmp_path)
    for partition in range(3):
        rows = records_of(newest(store(root, partition), "snapshot")).records[:kept]
        for path in store(root, partition).glob("*.snapshot"):
            path.unlink()
        for number, path in enumerate(sorted(store(root, partition).glob("*.delta"))):
            rewrite_records(path, [] if number else rows)
    assert "ROWS_IN_WRONG_PARTITION" not in found(root)
    first, second = root / "state/0/0", root / "state/0/1"
    first.rename(tmp_path / "first")
    second.rename(first)
    (tmp_path / "first").rename(second)
    for path in sorted(second.rglob("_metadata")):
        path.rename(first / path.relative_to(second))
    finding = found(root)["ROWS_IN_WRONG_PARTITION"]
    assert (finding.severity, finding.certainty) == ("data_risk", certainty)
    assert ("Were files or directories of partitions exchanged?" in finding.sentence) == (kept == 2)
    assert not unplaced(root)


def test_a_join_whose_stores_have_as_many_rows_of_other_keys(tmp_path: Path) -> None:
    """Seen on Spark 4.3, where a delta was replaced by that of another version: NULL_VALUE in the next batch."""
    root = copy_sample("join-watermark-held-back", tmp_path)
    path = root / "state/0/0/left-keyWithIndexToValue/10.delta"
    first, second, *others = records_of(path).records
    kind, key, value = second
    assert key[16:] == bytes(8), "the index is the last column"
    moved = (kind, first[1][:16] + (1).to_bytes(8, "little"), value)
    rewrite_records(path, [first, moved, *others])
    finding = found(root)["JOIN_STATE_INCONSISTENT"]
    assert (finding.severity, finding.certainty) == ("blocks_restart", "inferred")
    assert "of other keys than state/0/0/left-keyWithIndexToValue holds" in finding.sentence
    rewrite_records(path, [first, second, *others])
    assert "JOIN_STATE_INCONSISTENT" not in found(root)


def test_rows_that_are_spread_by_another_rule_are_no_damage(tmp_path: Path) -> None:
    root = copy_sample("dropduplicates-removed", tmp_path)
    everything: list[Record] = []
    for partition in range(3):
        everything += records_of(newest(store(root, partition), "snapshot")).records
        for path in store(root, partition).glob("*.snapshot"):
            path.unlink()
    for partition in range(3):
        for number, path in enumerate(sorted(store(root, partition).glob("*.delta"))):
            rewrite_records(path, [] if number else everything[partition::3])
    assert "ROWS_IN_WRONG_PARTITION" not in found(root)
    (said,) = unplaced(root)
    assert "lie in the partition of their key" in said and "another rule" in said


def test_a_snapshot_of_another_time_line_differs_from_its_deltas(tmp_path: Path) -> None:
    def damage(root: Path) -> None:
        last = newest(store(root), "snapshot")
        older = min(store(root).glob("*.snapshot"), key=lambda path: int(path.stem))
        rewrite_records(last, records_of(older).records)

    finding = damaged(tmp_path, SNAPSHOTS, damage)["SNAPSHOT_DIFFERS"]
    assert (finding.severity, finding.certainty) == ("data_risk", "inferred")


def test_rewritten_files_with_the_same_rows_are_no_damage(tmp_path: Path) -> None:
    def damage(root: Path) -> None:
        for path in store(root).glob("*.delta"):
            rewrite_records(path, records_of(path).records)
        for path in store(root).glob("*.snapshot"):
            path.write_bytes(pack_lz4(unpacked(path).content, block_bytes=1024))
            path.with_name(f".{path.name}.crc").unlink()

    assert damaged(tmp_path, SNAPSHOTS, damage) == {}


# Running queries, time, damage of any kind


def test_what_was_mended_before_the_second_look_is_not_told(tmp_path: Path) -> None:
    root = whole_dedup(copy_sample(DELTAS, tmp_path))
    path = store(root) / "7.delta"
    right = path.read_bytes()
    flip(path, 60)
    report = report_of(root, progress=lambda done, total: path.write_bytes(right))
    assert not any(finding.id == "STATE_FILE_DAMAGED" for finding in report.findings)


def test_files_that_vanish_while_they_are_read_are_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.checkpoint.state_content.stores.FILES_PER_WAVE", 1)
    root = whole_dedup(copy_sample(DELTAS, tmp_path))

    def purge(done: int, total: int) -> None:
        if done == 1:
            shutil.rmtree(root / "state/0/3")

    report = report_of(root, progress=purge)
    assert not any(finding.severity in ("blocks_restart", "data_risk") for finding in report.findings)
    assert "1 partition store that changed while being read" in report.not_checked


def test_when_the_time_is_over_what_was_not_reached_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.checkpoint.state_content.stores.FILES_PER_WAVE", 30)
    told: list[tuple[int, int]] = []
    root = SAMPLES / "join-watermark-held-back/checkpoint"
    whole = report_of(root, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (80, 80) and [done for done, _ in told] == [30, 60, 80]
    assert not any("no time left" in text for text in whole.not_checked)
    nothing = report_of(root, seconds=0.000001)
    assert "the state files of 8 of 8 partition stores (there was no time left)" in nothing.not_checked


def test_a_codec_that_is_not_unpacked_is_listed_as_not_checked(tmp_path: Path) -> None:
    root = copy_sample(SNAPSHOTS, tmp_path)
    for path in root.glob("offsets/[0-9]*"):
        path.write_text(path.read_text(encoding="utf-8").replace('"lz4"', '"lzf"'), encoding="utf-8")
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    for path in root.glob("state/0/*/[0-9]*.*"):
        path.write_bytes(b"ZV\x00\x00\x04\xff\xff\xff\xff")
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    report = report_of(root)
    assert not any(finding.id.startswith("STATE") for finding in report.findings)
    assert "state files: packed with lzf, which is not unpacked here" in report.not_checked


def test_the_command_line_checks_deeply(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    root = whole_dedup(copy_sample(DELTAS, tmp_path))
    flip(store(root) / "7.delta", 60)
    assert main(["check", str(root), "--level", "deep", "--seconds", "60", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["level"] == "deep"
    assert "STATE_FILE_DAMAGED" in {finding["id"] for finding in answer["findings"]}
    assert main(["check", str(root), "--seconds", "0"]) == 2
    assert "--seconds must be a number of seconds above 0" in capsys.readouterr().err


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any-damage")


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), name=st.sampled_from([SNAPSHOTS, CHANGELOGS, FORMAT_2, FAMILIES]))
def test_any_damage_gives_findings_and_never_an_error(
    data: st.DataObject, name: str, playground: Path
) -> None:
    root = playground / "checkpoint"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(SAMPLES / name / "checkpoint", root)
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    for path in data.draw(st.lists(st.sampled_from(paths), min_size=1, max_size=6, unique=True)):
        content = path.read_bytes()
        kind = data.draw(st.sampled_from(["gone", "cut", "flipped", "other"]))
        if kind == "gone":
            path.unlink()
        elif kind == "cut":
            path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
        elif kind == "flipped" and content:
            at = data.draw(st.integers(0, len(content) - 1))
            path.write_bytes(
                content[:at] + bytes([content[at] ^ 1 << data.draw(st.integers(0, 7))]) + content[at + 1 :]
            )
        else:
            path.write_bytes(data.draw(st.binary(max_size=40)))
    report = report_of(root)
    assert report.checked


def test_files_of_another_codec_than_every_offset_pins_block_the_start(tmp_path: Path) -> None:
    root = tmp_path / "ck"
    shutil.copytree(SAMPLES / "join-watermark-held-back" / "checkpoint", root)
    for path in (root / "offsets").iterdir():
        if path.name.isdecimal():
            text = path.read_text(encoding="utf-8")
            assert '"lz4"' in text
            path.write_text(text.replace('"lz4"', '"zstd"'), encoding="utf-8")
    found = [
        item for item in findings(Checkpoint.open(str(root)), "deep").findings if item.severity != "note"
    ]
    assert {(item.id, item.severity) for item in found} >= {("STATE_FILE_DAMAGED", "blocks_restart")}
    assert any("is packed with lz4, and the offset log names zstd" in item.sentence for item in found)


@pytest.mark.parametrize(("version", "is_known"), [("v2", True), ("v3", False)])
def test_a_zip_whose_metadata_has_another_version_is_no_damage(
    tmp_path: Path, version: str, is_known: bool
) -> None:
    """Spark 4.0 writes v2 with state checkpoint format 2."""

    def renumber(root: Path) -> None:
        for path in (root / "state").rglob("*.zip"):
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
            with zipfile.ZipFile(path) as packed:
                members = {name: packed.read(name) for name in packed.namelist()}
            members["metadata"] = members["metadata"].replace(b"v1\n", f"{version}\n".encode(), 1)
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
                for name, content in members.items():
                    packed.writestr(name, content)

    root = copy_sample(CHANGELOGS, tmp_path)
    renumber(root)
    report = report_of(root)
    assert "STATE_FILE_DAMAGED" not in [item.id for item in report.findings]
    assert any(f"version {version[1:]}" in text for text in report.not_checked) != is_known
