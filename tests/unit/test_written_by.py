"""Which Spark wrote the files."""

from __future__ import annotations

import pytest

from core.checkpoint.model import CommitEntry, OffsetEntry, WrittenBy
from core.checkpoint.written_by import version_key, written_by
from core.sparklogs.evidence import Evidence
from tests.support.build import CONF_4_3

NEW_IN_4_3 = {
    "spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled",
    "spark.sql.dropDuplicates.deterministicKeyOrder.enabled",
}
NEW_IN_4_2 = {
    "spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion",
    "spark.sql.streaming.stateStore.rowChecksum.enabled",
    "spark.sql.streaming.queryEvolution.enableSourceEvolution",
    "spark.sql.function.protobufExtensions.enabled",
}
NEW_IN_4_0 = {"spark.sql.streaming.stateStore.encodingFormat"}
NEW_IN_3_5 = {"spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan"}


def without(*groups: set[str]) -> dict[str, str]:
    gone = set().union(*groups)
    return {key: value for key, value in CONF_4_3.items() if key not in gone}


def offset(
    conf: dict[str, str], batch_id: int = 5, version: int = 1, timestamp_ms: int | None = 1
) -> OffsetEntry:
    return OffsetEntry(batch_id, version, timestamp_ms, 0, conf, (), Evidence(f"offsets/{batch_id}"), "")


def commit(version: int = 1, watermark_ms: int | None = 0) -> CommitEntry:
    return CommitEntry(5, version, watermark_ms, {}, Evidence("commits/5"), "")


def span(conf: dict[str, str]) -> tuple[str | None, str | None]:
    found = written_by([offset(conf)], [])
    return found.at_least, found.at_most


@pytest.mark.parametrize(
    ("conf", "size", "expected"),
    [
        (CONF_4_3, 17, ("4.3", None)),
        (without(NEW_IN_4_3), 15, ("4.2", "4.2")),
        (without(NEW_IN_4_3, NEW_IN_4_2), 11, ("4.0", "4.1")),
        (without(NEW_IN_4_3, NEW_IN_4_2, NEW_IN_4_0), 10, ("3.5", "3.5")),
        (without(NEW_IN_4_3, NEW_IN_4_2, NEW_IN_4_0, NEW_IN_3_5), 9, ("3.3", "3.4")),
    ],
)
def test_the_number_of_pinned_settings_tells_the_version(
    conf: dict[str, str], size: int, expected: tuple[str, str | None]
) -> None:
    assert len(conf) == size
    assert span(conf) == expected


def test_an_entry_without_settings_is_spark_2_1() -> None:
    assert span({}) == ("2.1", "2.1")


def test_an_empty_metadata_line_tells_nothing_but_the_commit_does() -> None:
    found = written_by([offset({}, timestamp_ms=None)], [commit()])
    assert (found.at_least, found.at_most) == ("2.4", None)


def test_the_newest_entry_decides() -> None:
    found = written_by([offset(CONF_4_3, 1), offset(without(NEW_IN_4_3, NEW_IN_4_2), 2)], [])
    assert (found.at_least, found.at_most) == ("4.0", "4.1")
    assert "offsets/2" in found.why


def test_version_3_commits_are_spark_4_3() -> None:
    assert written_by([], [commit(3)]).at_least == "4.3"


def test_version_2_commits_are_at_least_spark_4_0() -> None:
    assert written_by([offset({}, timestamp_ms=None)], [commit(2)]).at_least == "4.0"


def test_version_2_offsets_are_at_least_spark_4_2() -> None:
    found = written_by([offset(without(NEW_IN_4_3, NEW_IN_4_2), version=2)], [])
    assert (found.at_least, found.at_most) == ("4.2", None)
    assert "look like Spark 4.1" in found.why


def test_settings_nobody_knows_may_be_of_a_newer_spark() -> None:
    found = written_by([offset({**CONF_4_3, "spark.sql.streaming.brandNew": "1"})], [])
    assert (found.at_least, found.at_most) == ("4.3", None)
    assert "spark.sql.streaming.brandNew" in found.why


def test_databricks_store_provider_gives_no_upper_bound() -> None:
    conf = without(NEW_IN_4_3, NEW_IN_4_2, NEW_IN_4_0)
    conf["spark.sql.streaming.stateStore.providerClass"] = (
        "com.databricks.sql.streaming.state.RocksDBStateStoreProvider"
    )
    found = written_by([offset(conf)], [])
    assert (found.at_least, found.at_most) == ("3.5", None)
    assert "Databricks" in found.why


def test_without_any_file_nothing_is_known() -> None:
    assert written_by([], []) == WrittenBy(None, None, "no log file could be read")


def test_every_answer_is_inferred_and_gives_a_reason() -> None:
    for conf in ({}, CONF_4_3, {"x": "y"}):
        found = written_by([offset(conf)], [commit()])
        assert found.certainty == "inferred"
        assert found.why


def test_versions_compare_as_numbers() -> None:
    assert version_key("3.10") > version_key("3.5") > version_key("2.4")
