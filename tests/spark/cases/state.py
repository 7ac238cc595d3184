"""Cases of the state: folders, files, contents, snapshots, schemas, operator metadata, format 2."""

from __future__ import annotations

from pathlib import Path

from core.analysis.forecast import Query
from tests.spark.cases.model import COMMIT_MISSING, FORMATS, NO_NEW, Case, family
from tests.support import damage as d
from tests.support.oracle import CHANGELOGS, FORMAT_OF_THE_LOG, OPERATOR_METADATA, VISIBLE_CHECKSUMS

STORE = '{"storeName":"default","numColsPrefixKey":0,"numPartitions":2}'
OPERATOR = f'{{"operatorInfo":{{"operatorId":0,"operatorName":"dedupe"}},"stateStoreInfo":[{STORE}]}}'
REPARTITION = d.derived(
    "offsets/{n+1}",
    "offsets/{n}",
    lambda text: text.replace('"spark.sql.shuffle.partitions":"2"', '"spark.sql.shuffle.partitions":"3"'),
)
FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
PROVIDERS = "org.apache.spark.sql.execution.streaming.state."
TRANSFORM = Query(operators=("transformWithStateInPySparkExec",), new_data="yes")
CHANGELOG_BASES = ("windows_changelog", "windows_format_2")
DELTA = d.state_file("{n+1}", "delta")
MAIN = ("windows",)
TWO = ("two_operators", "two_operators_changelog", "two_operators_format_2")


def without_its_files(ck: Path) -> None:
    """Of ``state/`` only the hidden checksum files are there, as after a copy that stopped early."""
    for path in sorted((ck / "state").rglob("*")):
        if path.is_file() and not path.name.endswith(".crc"):
            path.unlink()


folders = family("state folders")
files = family("state files")
contents = family("state contents")
snapshots = family("snapshots")
abandoned = family("abandoned snapshots")
later = family("later state")
format_2 = family("state format 2")
OTHER_FIELDS = d.bytes_changed("state/0/0/_metadata/schema", b'{"name":', b'{"na}e":')
schemas = family("schemas and operator metadata")
settings = family("recorded settings")

FOLDERS: list[Case] = [
    *folders(("RF 4.1", "VF 1.4"), (*FORMATS, "join"), "state_folder_missing", d.without("state")),
    *folders(
        "RF 4.1",
        ("windows", "windows_format_2"),
        "state_folder_missing_pending",
        d.both(COMMIT_MISSING, d.without("state")),
    ),
    *folders("RF 4.1", MAIN, "state_folder_missing_no_new_data", d.without("state"), query=NO_NEW),
    *folders("RF 4.1", ("windows", "windows_rocksdb"), "state_folder_empty", d.log_gone("state")),
    *folders(
        "RF 1.25",
        ("windows", "windows_rocksdb"),
        "state_folder_missing_second_start",
        d.without("state"),
        started_before=True,
    ),
    *folders("RF 4.3", FORMATS, "partition_missing", d.without("state/0/1")),
    *folders("RF 4.3", ("windows", "dedup"), "only_hidden_checksums_left", without_its_files),
    *schemas(
        "RF 1.28",
        ("windows", "windows_rocksdb", "dedup"),
        "schema_gone_and_its_checksum_left",
        d.without_its_file("state/0/0/_metadata/schema"),
    ),
    *schemas(
        "RF 1.28",
        ("windows", "dedup"),
        "operator_metadata_gone_and_its_checksum_left",
        d.without_its_file("state/0/_metadata/metadata"),
        needs=OPERATOR_METADATA,
    ),
    *folders("RF 4.3", ("windows", "dedup"), "operator_folder_empty", d.log_gone("state/0")),
    *folders(
        "RF 4.3",
        ("windows", "windows_changelog", "dedup", "join"),
        "operator_folder_renamed",
        d.rename("state/0", "state/0_old"),
    ),
    *folders(
        "RF 4.3",
        ("dedup", "windows_rocksdb"),
        "operator_folder_renamed_pending",
        d.both(COMMIT_MISSING, d.rename("state/0", "state/old")),
    ),
    *folders(
        "RF 4.3", ("dedup", "windows"), "partition_folder_renamed", d.rename("state/0/1", "state/0/1_old")
    ),
    *folders("RF 4.3", TWO, "first_of_two_operators_gone", d.without("state/0")),
    *folders("RF 4.3", TWO, "second_of_two_operators_gone", d.without("state/1")),
    *folders("RF 4.3", TWO, "first_of_two_operators_renamed", d.rename("state/0", "state/0_old")),
    *folders("RF 4.3", TWO, "second_of_two_operators_renamed", d.rename("state/1", "state/1.bak")),
    *folders(
        "RF 4.3",
        TWO,
        "second_of_two_operators_gone_pending",
        d.both(COMMIT_MISSING, d.without("state/1")),
    ),
    *folders("RF 4.3", TWO, "partition_of_the_second_operator_gone", d.without("state/1/1")),
    *folders("RF 4.3", ("dedup", *TWO), "operator_folder_copied_beside", d.copied("state/0", "state/0_old")),
    *folders("RF 4.3", TWO, "operators_renamed", d.rename("state", "state_old")),
    *folders(
        "RF 4.3",
        ("two_operators",),
        "newest_delta_of_the_second_operator_gone",
        d.without("state/1/0/{n+1}.delta"),
    ),
    *folders(
        "RF 4.3",
        TWO,
        "metadata_of_the_second_operator_gone",
        d.without("state/1/_metadata"),
        needs=OPERATOR_METADATA,
    ),
    *folders(
        "RF 4.3",
        TWO,
        "metadata_of_both_operators_gone",
        d.without("state/0/_metadata", "state/1/_metadata"),
        needs=OPERATOR_METADATA,
    ),
    *folders(
        "RF 4.3",
        TWO,
        "first_operator_and_all_metadata_gone",
        d.without("state/0", "state/1/_metadata"),
        needs=OPERATOR_METADATA,
    ),
    *folders("RF 4.17", TWO, "operators_swapped", d.swapped("state/0", "state/1")),
    *folders(
        "RF 4.3",
        ("join",),
        "one_of_four_stores_lost_a_partition",
        d.without("state/0/1/left-keyWithIndexToValue"),
    ),
    *folders(
        "RF 4.17",
        ("windows_with_data", "windows_rocksdb", "dedup"),
        "partitions_swapped",
        d.swapped("state/0/0", "state/0/1"),
        level="deep",
    ),
    *folders(
        "RF 4.17",
        ("join",),
        "stores_of_a_side_swapped",
        d.swapped("state/0/0/left-keyToNumValues", "state/0/0/left-keyWithIndexToValue"),
    ),
    *folders(
        "RF 4.17",
        ("join",),
        "stores_of_a_side_swapped_in_another_partition",
        d.swapped("state/0/1/left-keyToNumValues", "state/0/1/left-keyWithIndexToValue"),
        level="deep",
    ),
]
FILES: list[Case] = [
    *files(
        ("RF 4.4", "VF 2.8"), ("windows", "dedup"), "newest_delta_missing", d.state_missing("{n+1}", "delta")
    ),
    *files(
        "RF 4.4",
        MAIN,
        "newest_delta_missing_pending",
        d.both(COMMIT_MISSING, d.state_missing("{n+1}", "delta")),
    ),
    *files(
        "RF 4.4",
        MAIN,
        "loaded_delta_missing_pending",
        d.both(COMMIT_MISSING, d.state_missing("{n}", "delta")),
    ),
    *files("RF 4.4", MAIN, "first_delta_missing", d.state_missing("1", "delta")),
    *files(
        "RF 1.25",
        MAIN,
        "first_delta_missing_second_start",
        d.state_missing("1", "delta"),
        started_before=True,
    ),
    *files(("RF 4.5", "VF 2.9"), ("windows_rocksdb",), "newest_zip_missing", d.state_missing("{n+1}", "zip")),
    *files("RF 4.5", ("windows_rocksdb",), "older_zip_missing", d.state_missing("{n}", "zip")),
    *files(
        "RF 4.5",
        ("windows_rocksdb",),
        "older_zip_missing_pending",
        d.both(COMMIT_MISSING, d.state_missing("{n}", "zip")),
    ),
    *files(
        ("RF 4.6", "VF 2.9"),
        CHANGELOG_BASES,
        "newest_changelog_missing",
        d.state_missing("{n+1}", "changelog"),
    ),
    *files("RF 4.6", CHANGELOG_BASES, "first_changelog_missing", d.state_missing("1", "changelog")),
    *files(
        "RF 4.6",
        CHANGELOG_BASES,
        "newest_changelog_missing_pending",
        d.both(COMMIT_MISSING, d.state_missing("{n+1}", "changelog")),
    ),
    *files(
        "RF 4.4",
        ("join",),
        "one_of_four_stores_lost_a_delta",
        d.state_missing("2", "delta", store="right-keyToNumValues"),
    ),
    *files("RF 4.9", ("windows_rocksdb",), "sst_missing", d.newest_sst(d.remove), level="deep"),
]
CONTENTS: list[Case] = [
    *contents(("RF 4.7", "VF 2.10"), MAIN, "newest_delta_empty", d.state_empty("{n+1}", "delta")),
    *contents("RF 4.7", MAIN, "first_delta_empty", d.state_empty("1", "delta")),
    *contents(("RF 4.7", "VF 2.10"), ("windows_rocksdb",), "newest_zip_empty", d.state_empty("{n+1}", "zip")),
    *contents("RF 4.7", CHANGELOG_BASES, "newest_changelog_empty", d.state_empty("{n+1}", "changelog")),
    *contents("RF 4.7", MAIN, "newest_delta_cut", lambda ck: d.halve(DELTA(ck)), level="deep"),
    *contents(
        "RF 4.7",
        ("windows", "dedup"),
        "newest_delta_flipped",
        d.flipped(d.state_file("2", "delta")),
        level="deep",
    ),
    *contents(
        "RF 4.7",
        ("windows_rocksdb",),
        "newest_zip_cut",
        lambda ck: d.halve(d.state_file("{n+1}", "zip")(ck)),
        level="deep",
    ),
    *contents(
        "RF 4.7",
        CHANGELOG_BASES,
        "newest_changelog_cut",
        lambda ck: d.halve(d.state_file("{n+1}", "changelog")(ck)),
        level="deep",
    ),
    *contents(
        "RF 4.7",
        CHANGELOG_BASES,
        "changelog_flipped",
        d.flipped(d.state_file("2", "changelog")),
        level="deep",
    ),
    *contents(("RF 4.9", "VF 2.11"), ("windows_rocksdb",), "sst_cut", d.newest_sst(d.halve), level="deep"),
    *contents(
        "RF A.6",
        ("windows_zstd",),
        "zstd_delta_flipped_checksum_left",
        d.flipped(d.state_file("2", "delta"), 0.8, with_checksum=True),
        level="deep",
    ),
    *contents(
        ("RF 4.18", "VF 1.17"),
        ("windows_with_data", "windows_changelog"),
        "older_file_in_its_place",
        d.older_state_file("4", "2"),
        level="deep",
    ),
    *contents(
        ("RF 4.20", "VF 2.14"),
        ("join",),
        "join_store_older_than_its_partner",
        d.older_state_file("4", "2", store="left-keyWithIndexToValue"),
        level="deep",
    ),
]
SNAPSHOTS: list[Case] = [
    *snapshots("RF 2.1", ("snapshots", "snapshots_changelog"), "clean", d.nothing),
    *snapshots("RF 4.10", ("snapshots",), "newest_snapshot_missing", d.newest_snapshot("snapshot", d.remove)),
    *snapshots(
        ("RF 4.10", "VF 1.5"), ("snapshots",), "newest_snapshot_empty", d.newest_snapshot("snapshot", d.empty)
    ),
    *snapshots(
        ("RF 4.10", "VF 1.5"),
        ("snapshots",),
        "newest_snapshot_cut",
        d.newest_snapshot("snapshot", d.halve),
        level="deep",
    ),
    *snapshots("RF 4.10", ("snapshots",), "all_snapshots_missing", d.all_of("state/0/*/*.snapshot")),
    *snapshots("RF 4.4", ("snapshots",), "delta_before_the_snapshots_missing", d.state_missing("1", "delta")),
    *snapshots(
        "RF 4.4",
        ("snapshots",),
        "newest_delta_missing",
        d.both(d.newest_snapshot("snapshot", d.untouched), d.state_missing("{n+1}", "delta")),
    ),
    *snapshots(
        "RF 4.10",
        ("snapshots",),
        "newest_snapshot_empty_and_first_delta_and_other_snapshots_missing",
        d.both(
            d.all_of("state/0/*/3.snapshot"),
            d.newest_snapshot("snapshot", d.empty),
            d.state_missing("1", "delta"),
        ),
    ),
    *snapshots("RF 4.9", ("snapshots_changelog",), "sst_files_gone_with_old_changelogs", d.without_sst_files),
    *snapshots("RF 4.10", ("snapshots_changelog",), "newest_zip_missing", d.newest_snapshot("zip", d.remove)),
    *snapshots(
        ("RF 4.10", "VF 1.5"), ("snapshots_changelog",), "newest_zip_empty", d.newest_snapshot("zip", d.empty)
    ),
    *snapshots(
        ("RF 4.10", "VF 1.5"),
        ("snapshots_changelog",),
        "newest_zip_cut",
        d.newest_snapshot("zip", d.halve),
        level="deep",
    ),
    *snapshots(
        "RF 4.5",
        ("windows_rocksdb",),
        "two_newest_zips_missing",
        d.both(d.state_missing("{n}", "zip"), d.state_missing("{n+1}", "zip")),
    ),
    *snapshots("RF 4.10", ("snapshots_changelog",), "all_zips_missing", d.all_of("state/0/*/*.zip")),
    *snapshots(
        "RF 4.6", ("snapshots_changelog",), "first_changelog_missing", d.state_missing("1", "changelog")
    ),
    *snapshots(
        "RF 4.6",
        ("snapshots_changelog",),
        "newest_changelog_missing",
        d.both(d.newest_snapshot("zip", d.untouched), d.state_missing("{n+1}", "changelog")),
    ),
    *abandoned(
        "RF 4.15",
        ("snapshots", "snapshots_changelog"),
        "rewound_by_5_and_ran",
        d.rewound(5),
        started_before=True,
    ),
    *abandoned("RF 4.15", ("snapshots",), "rewound_by_4_and_ran", d.rewound(4), started_before=True),
]
LATER: list[Case] = [
    *later(
        "RF 4.14",
        ("windows", "windows_changelog"),
        "junk_of_later_versions",
        d.both(d.holding("state/0/0/99.delta", "x"), d.holding("state/0/1/99.changelog", "x")),
    ),
]
FORMAT_2: list[Case] = [
    *format_2(
        "RF 4.13",
        ("windows_format_2",),
        "commit_without_ids",
        d.holding("commits/{c}", 'v2\n{"nextBatchWatermarkMs":0}'),
    ),
    *format_2(
        ("RF 4.13", "RF A.2"),
        ("windows_format_2",),
        "commit_rewritten_as_version_1",
        d.holding("commits/{c}", 'v1\n{"nextBatchWatermarkMs":0}'),
    ),
    *format_2(
        "RF 4.13",
        ("windows_format_2",),
        "commit_names_other_ids",
        d.changed("commits/{c}", lambda text: text.replace("-4", "-5")),
    ),
    *format_2(
        "RF 4.8",
        ("windows_format_2",),
        "checksum_files_missing",
        d.all_of("state/0/*/*.changelog.crc"),
        needs=VISIBLE_CHECKSUMS,
    ),
    *format_2(
        "RF 4.8",
        ("windows_format_2",),
        "checksum_file_wrong",
        d.wrong_checksum_file,
        level="deep",
        needs=VISIBLE_CHECKSUMS,
    ),
    *format_2("RF 4.12", ("snapshots_format_2",), "all_zips_missing", d.all_of("state/0/*/*.zip")),
    *format_2("RF 2.1", ("snapshots_format_2",), "clean", d.nothing),
]
SCHEMAS: list[Case] = [
    *schemas(
        "RF 4.24", ("windows", "windows_format_2"), "schema_missing", d.without("state/0/0/_metadata/schema")
    ),
    *schemas(
        "RF 4.25",
        ("windows", "windows_changelog"),
        "schema_empty",
        d.holding("state/0/0/_metadata/schema", ""),
    ),
    *schemas(
        "RF 4.25", MAIN, "schema_empty_no_new_data", d.holding("state/0/0/_metadata/schema", ""), query=NO_NEW
    ),
    *schemas("RF 4.25", MAIN, "schema_of_other_fields", OTHER_FIELDS),
    *schemas("RF 4.25", MAIN, "schema_cut", d.cut("state/0/0/_metadata/schema")),
    *schemas(
        "RF 4.21",
        ("windows", "windows_format_2"),
        "operator_metadata_missing",
        d.without("state/0/_metadata"),
        needs=OPERATOR_METADATA,
    ),
    *schemas(
        "RF 4.21",
        MAIN,
        "operator_metadata_empty",
        d.holding("state/0/_metadata/metadata", ""),
        needs=OPERATOR_METADATA,
    ),
    *schemas(
        "RF 4.21",
        MAIN,
        "operator_metadata_unknown_version",
        d.changed("state/0/_metadata/metadata", d.line(1, "v9")),
        needs=OPERATOR_METADATA,
    ),
    *schemas(
        "RF 4.22",
        MAIN,
        "operator_metadata_of_another_operator",
        d.changed("state/0/_metadata/metadata", d.line(2, OPERATOR)),
        query=Query(operators=("stateStoreSave",), new_data="yes"),
        needs=OPERATOR_METADATA,
    ),
    *schemas(
        "RF 4.22",
        MAIN,
        "operator_metadata_of_another_operator_and_nothing_told",
        d.changed("state/0/_metadata/metadata", d.line(2, OPERATOR)),
        needs=OPERATOR_METADATA,
    ),
    *schemas("RF 2.1", ("transform",), "clean", d.nothing),
    *schemas("RF 2.2", ("transform",), "commit_missing", COMMIT_MISSING),
    *schemas("RF 4.23", ("transform",), "operator_metadata_missing", d.without("state/0/_metadata")),
    *schemas(
        "RF 4.23",
        ("transform",),
        "state_schemas_missing",
        d.both(d.at_home, d.without("state/0/_stateSchema")),
    ),
    *schemas(
        ("RF 4.23", "RF 8.2"),
        ("transform",),
        "state_schemas_missing_in_a_copy",
        d.without("state/0/_stateSchema"),
    ),  # the original's are read
    *schemas("VF 1.4b", ("transform",), "state_folder_missing", d.without("state"), query=TRANSFORM),
    *schemas("RF 4.5", ("transform",), "newest_zip_missing", d.state_missing("{n+1}", "zip")),
]
SETTINGS: list[Case] = [
    *settings("RF 5.2", ("windows", "windows_rocksdb"), "unfinished_repartition", REPARTITION),
    *settings(
        "RF 5.2",
        ("windows", "windows_rocksdb", "join"),
        "more_partitions",
        d.pinned("spark.sql.shuffle.partitions", "4"),
    ),
    *settings(
        "RF 5.2",
        MAIN,
        "more_partitions_pending",
        d.both(COMMIT_MISSING, d.pinned("spark.sql.shuffle.partitions", "4")),
    ),
    *settings(
        "RF 4.19",
        ("windows_with_data", "windows_rocksdb", "dedup"),
        "fewer_partitions",
        d.pinned("spark.sql.shuffle.partitions", "1"),
    ),
    *settings("RF 5.2", ("stateless",), "more_partitions", d.pinned("spark.sql.shuffle.partitions", "4")),
    *settings(
        "RF 5.3",
        ("windows", "windows_changelog"),
        "no_pinned_settings",
        d.changed("offsets/{n}", d.line(2, '{"batchWatermarkMs":0,"batchTimestampMs":1795250000000}')),
    ),
    *settings(
        "RF 5.3",
        ("windows_with_data", "windows"),
        "no_pinned_settings_in_both_pending",
        d.both(
            COMMIT_MISSING,
            *(
                d.changed(
                    f"offsets/{name}", d.line(2, '{"batchWatermarkMs":0,"batchTimestampMs":1795250000000}')
                )
                for name in ("{n}", "{n-1}")
            ),
        ),
    ),
    *settings("RF 5.4", MAIN, "other_provider", d.pinned(PROVIDER, f"{PROVIDERS}RocksDBStateStoreProvider")),
    *settings(
        "RF 5.4",
        ("windows_rocksdb",),
        "other_provider",
        d.pinned(PROVIDER, f"{PROVIDERS}HDFSBackedStateStoreProvider"),
    ),
    *settings(
        "RF 5.8",
        ("windows_with_data", "windows"),
        "watermark_of_the_commit_zero",
        d.field("nextBatchWatermarkMs", 0, "commits/{c}"),
    ),
    *settings(
        "RF 5.9",
        ("windows_with_data", "windows"),
        "watermark_of_the_offset_zero",
        d.field("batchWatermarkMs", 0),
    ),
    *settings(
        "RF 5.1",
        ("windows", "stateless"),
        "session_partitions",
        d.nothing,
        session={"spark.sql.shuffle.partitions": "5"},
    ),
    *settings(
        "RF 5.1",
        MAIN,
        "session_provider",
        d.nothing,
        session={PROVIDER: f"{PROVIDERS}RocksDBStateStoreProvider"},
    ),
    *settings(
        "RF 5.6",
        ("windows_changelog",),
        "changelogs_switched_off",
        d.nothing,
        session={"spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false"},
    ),
    *settings(
        "RF 5.6",
        ("windows_rocksdb",),
        "changelogs_switched_on",
        d.nothing,
        session={"spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true"},
        needs=CHANGELOGS,
    ),
]
SESSION_FORMAT: list[Case] = [
    *settings(
        "RF 5.5",
        ("windows_changelog", "windows_rocksdb"),
        "session_asks_for_format_2",
        d.nothing,
        session={FORMAT: "2"},
        needs=FORMAT_OF_THE_LOG,
    ),
    *settings(
        "RF 5.5",
        ("windows_format_2",),
        "session_asks_for_format_1",
        d.nothing,
        session={FORMAT: "1"},
        needs=FORMAT_OF_THE_LOG,
    ),
]
CASES = [*SESSION_FORMAT, *FOLDERS, *FILES, *CONTENTS, *SNAPSHOTS, *LATER, *FORMAT_2, *SCHEMAS, *SETTINGS]
