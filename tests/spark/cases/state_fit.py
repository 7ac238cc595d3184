"""Cases of state that does not fit what the checkpoint says of it: pinned settings, operator metadata, foreign
files, a folder that is gone under a query that only its description shows to be stateful."""

from __future__ import annotations

from core.analysis.forecast import Query
from tests.spark.cases.model import COMMIT_MISSING, FORMATS, Case, family
from tests.support import damage as d
from tests.support.oracle import OPERATOR_METADATA

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
CODEC = "spark.sql.streaming.stateStore.compression.codec"
JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"
PARTITIONS = "spark.sql.shuffle.partitions"
PACKAGE = "org.apache.spark.sql.execution.streaming.state."
HDFS, ROCKSDB = PACKAGE + "HDFSBackedStateStoreProvider", PACKAGE + "RocksDBStateStoreProvider"
METADATA, SCHEMA = "state/0/_metadata/metadata", "state/0/0/_metadata/schema"
MAIN = ("windows",)

AGGREGATION = Query(operators=("stateStoreSave",), new_data="yes")
DEDUPLICATION = Query(operators=("dedupe",), new_data="yes")
FOLDER_GONE = d.without("state")
PENDING_AND_GONE = d.both(COMMIT_MISSING, FOLDER_GONE)

folders = family("state folders")
settings = family("recorded settings")
schemas = family("schemas and operator metadata")
foreign = family("foreign files in state")

FOLDERS: list[Case] = [
    *folders("RF 4.1", ("windows_changelog", "join"), "state_folder_missing_pending", PENDING_AND_GONE),
    *folders("RF 4.1", ("one_batch",), "state_folder_missing_under_batch_0", PENDING_AND_GONE),
    *folders(
        "RF 4.1",
        ("windows_with_data",),
        "state_folder_missing_of_a_known_query",
        FOLDER_GONE,
        query=AGGREGATION,
    ),
    *folders(
        "RF 4.1",
        ("windows_with_data",),
        "state_folder_missing_pending_of_a_known_query",
        PENDING_AND_GONE,
        query=AGGREGATION,
    ),
    *folders(
        "RF 4.1",
        ("dedup",),
        "state_folder_missing_pending_of_a_known_query",
        PENDING_AND_GONE,
        query=DEDUPLICATION,
    ),
    *folders("RF 4.3", ("windows", "windows_changelog"), "operator_folder_missing", d.without("state/0")),
    *folders("RF 4.3", MAIN, "first_partition_missing", d.without("state/0/0")),
]
SETTINGS: list[Case] = [
    *settings("RF 5.4", ("join",), "other_provider", d.pinned(PROVIDER, ROCKSDB)),
    *settings(
        "RF 5.4", ("windows_changelog", "windows_format_2"), "other_provider", d.pinned(PROVIDER, HDFS)
    ),
    *settings("RF 5.4", MAIN, "other_provider_everywhere", d.pinned_everywhere(PROVIDER, ROCKSDB)),
    *settings("RF 5.4", MAIN, "provider_of_nobody", d.pinned(PROVIDER, "org.example.Nope")),
    *settings(
        "RF 5.13",
        ("windows", "windows_changelog", "windows_format_2", "windows_rocksdb"),
        "other_codec",
        d.pinned(CODEC, "zstd"),
    ),
    *settings("RF 5.13", ("windows_zstd",), "other_codec", d.pinned(CODEC, "lz4")),
    *settings("RF 5.13", ("join",), "other_join_format", d.pinned(JOIN_FORMAT, "1")),
    *settings("RF 4.19", FORMATS, "fewer_partitions_recorded", d.pinned(PARTITIONS, "1")),
    *settings("RF 4.19", MAIN, "fewer_partitions_everywhere", d.pinned_everywhere(PARTITIONS, "1")),
    *settings("RF 5.2", MAIN, "more_partitions_everywhere", d.pinned_everywhere(PARTITIONS, "3")),
    *settings(
        "RF 4.13",
        ("snapshots_format_2",),
        "commit_without_ids",
        d.holding("commits/{c}", 'v2\n{"nextBatchWatermarkMs":0}'),
    ),
    *settings("RF 5.2", ("windows_format_2",), "more_partitions", d.pinned(PARTITIONS, "4")),
]
SCHEMAS: list[Case] = [
    *schemas(
        "RF 4.22",
        ("dedup",),
        "operator_metadata_names_another",
        d.changed(METADATA, lambda text: text.replace("dedupe", "stateStoreSave")),
        needs=OPERATOR_METADATA,
    ),
    *schemas(
        "RF 4.22",
        ("join",),
        "operator_metadata_names_another",
        d.changed(METADATA, lambda text: text.replace("symmetricHashJoin", "dedupe")),
        needs=OPERATOR_METADATA,
    ),
    *schemas(
        "RF 4.22",
        MAIN,
        "operator_metadata_of_another_directory",
        d.changed(METADATA, lambda text: text.replace('"operatorId":0', '"operatorId":1')),
        needs=OPERATOR_METADATA,
    ),
    *schemas("RF 4.32", MAIN, "schema_of_an_unknown_version", d.holding(SCHEMA, b"\0\2v9\0\0")),
    *schemas("RF 4.25", MAIN, "schema_garbage", d.holding(SCHEMA, b"\0\2v2garbage")),
]
FOREIGN: list[Case] = [
    *foreign("RF 4.31", MAIN, "foreign_file_in_state", d.holding("state/notes.txt", "x")),
    *foreign(
        "RF 4.31",
        MAIN,
        "only_a_foreign_file_in_state",
        d.both(FOLDER_GONE, d.holding("state/notes.txt", "x")),
    ),
    *foreign("RF 4.31", ("join",), "file_of_another_store", d.holding("state/0/0/9.zip", "x")),
]
CASES: list[Case] = [*FOLDERS, *SETTINGS, *SCHEMAS, *FOREIGN]
