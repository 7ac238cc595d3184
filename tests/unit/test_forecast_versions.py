"""Which version's rules apply, and the traps of an upgrade or of a way back (seen between 3.3, 3.5, 4.0, 4.2
and 4.3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.analysis.forecast import SUPPORTED_SPARK
from core.analysis.forecast.errors import ERRORS, spark_error
from core.analysis.forecast.start import steps_of
from core.analysis.forecast.versions import SUPPORTED, V40, V41, choose_spark, parse_version
from core.checkpoint.model import WrittenBy
from core.errors import UnsupportedSparkError
from tests.support.build import CONF_4_3, offset_text, remove, write
from tests.support.forecasting import (
    CONF_3_5,
    files_checkpoint,
    files_entry,
    said,
    stateful_conf,
    struct_schema,
    with_state,
)

ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}


PARTITIONS_2 = {"spark.sql.shuffle.partitions": "2"}


class Written:
    """A checkpoint of which only the writer is known."""

    def __init__(self, at_least: str | None, at_most: str | None) -> None:
        self.written_by = WrittenBy(at_least, at_most, "a mark")


@pytest.mark.parametrize(
    ("at_least", "at_most", "version"),
    [
        ("3.5", "3.5", "3.5"),
        ("3.3", "3.4", "3.4"),  # the newer of two that look alike
        ("4.0", "4.1", "4.1"),
        ("4.3", None, "4.3"),
        (None, None, "4.3"),
        ("2.4", "2.4", "3.3"),  # the oldest whose restarts are known
        ("4.4", None, "4.3"),
    ],
)
def test_the_version_that_wrote_the_newest_files_is_the_default(
    at_least: str | None, at_most: str | None, version: str
) -> None:
    assert str(choose_spark(Written(at_least, at_most), None).version) == version


@pytest.mark.parametrize("text", ["2.4", "5.0", "nonsense", ""])
def test_a_version_whose_restarts_are_not_known_is_refused_with_the_list(text: str) -> None:
    with pytest.raises(
        UnsupportedSparkError, match=r"choose one of 3\.3, 3\.4, 3\.5, 4\.0, 4\.1, 4\.2 and 4\.3"
    ):
        choose_spark(Written("4.3", None), text)


def test_a_patch_release_counts_as_its_feature_version() -> None:
    assert parse_version("3.5.9") == parse_version("3.5") and SUPPORTED_SPARK[0] == "3.3"


@pytest.mark.parametrize("version", SUPPORTED)
def test_every_error_has_a_wording_in_every_version(version: object) -> None:
    for key, forms in ERRORS.items():
        assert [form.since for form in forms] == sorted(form.since for form in forms), key
        assert "{" not in spark_error(key, version, {}).message.replace('{"', "").replace("{topic", ""), key  # type: ignore[arg-type]


def test_the_steps_are_the_same_in_all_versions_and_only_their_order_differs() -> None:
    before, after = [s.id for s in steps_of(V40)], [s.id for s in steps_of(V41)]
    assert sorted(before) == sorted(after) and before != after
    assert before.index("newest_commit") > before.index("previous_offset")
    assert after.index("newest_commit") < after.index("source_count")
    without = [s.id for s in steps_of(V41, has_offsets=False)]
    assert sorted(without) == sorted(after)
    assert without.index("source_logs") < without.index("newest_offset") < after.index("newest_commit")


def test_without_offsets_a_damaged_source_log_is_met_first(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    for batch in range(5):
        (tmp_path / "offsets" / str(batch)).unlink()
    write(tmp_path, {"sources/0/2": ""})
    for spark in ("3.5", "4.3"):
        assert said(tmp_path, spark).reason == "SOURCE_LOG_UNREADABLE"


# Traps


# As a query gives them, and as Spark 3.5 and 4.0 order them.
GIVEN = ("k3", "price", "country", "session", "f")
IN_3_5, IN_4_0 = ("f", "price", "country", "session", "k3"), ("country", "session", "k3", "f", "price")


def dedup_schema(types: list[str], names: Sequence[str]) -> bytes:
    """A state schema of a dropDuplicates over these columns."""
    columns = [(name, kind, True) for name, kind in zip(names, types, strict=False)]
    return struct_schema(columns, [("__dummy__", "void", True)])


def dedup(
    root: Path, types: list[str], conf: dict[str, str] | None = None, names: Sequence[str] = GIVEN
) -> Path:
    files_checkpoint(root, conf=conf or stateful_conf())
    with_state(root, range(1, 6), operator="dedupe")
    return write(root, {"state/0/0/_metadata/schema": dedup_schema(types, names)})


def test_going_back_from_4_3_reorders_a_dedup_key_of_five_columns(tmp_path: Path) -> None:
    dedup(tmp_path, ["string"] * 5)
    assert said(tmp_path).risks == ()
    answer = said(tmp_path, "4.2")
    assert [(risk.id, risk.certainty) for risk in answer.risks] == [("VERSION_TRAP", "certain")]
    assert (answer.data.append, answer.data.is_sure("append")) == ("duplicates", False)


def test_so_does_a_dedup_within_a_watermark(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=stateful_conf())
    with_state(tmp_path, range(1, 6), operator="dedupeWithinWatermark")
    columns = [(name, "string", True) for name in GIVEN]
    schema = struct_schema(columns, [("expiresAtMicros", "long", False)])
    write(tmp_path, {"state/0/0/_metadata/schema": schema})
    assert said(tmp_path).risks == ()
    answer = said(tmp_path, "4.0")
    assert [(risk.id, risk.certainty) for risk in answer.risks] == [("VERSION_TRAP", "certain")]
    assert (answer.data.append, answer.data.is_sure("append")) == ("duplicates", False)


def test_a_dedup_key_that_the_older_spark_orders_the_same_is_safe(tmp_path: Path) -> None:
    assert said(dedup(tmp_path, ["string"] * 5, names=IN_4_0), "4.2").risks == ()


def test_going_back_from_4_3_with_columns_of_several_types_fails(tmp_path: Path) -> None:
    answer = said(dedup(tmp_path, ["string", "long", "string", "long", "string"]), "4.0")
    assert answer.error is not None and answer.error.condition == "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"
    assert answer.then is not None and "offsets/5 without spark.sql.dropDuplicates" in answer.then


IN_3_5_CONF = {**CONF_3_5, "spark.sql.shuffle.partitions": "2"}


def test_an_upgrade_to_4_reorders_a_dedup_key(tmp_path: Path) -> None:
    dedup(tmp_path, ["string"] * 5, IN_3_5_CONF, IN_3_5)
    (risk,) = said(tmp_path, "4.3").risks
    assert (risk.id, risk.certainty, risk.data.is_sure("append")) == ("VERSION_TRAP", "certain", False)


def test_an_upgrade_to_4_fails_when_the_types_of_the_key_change_places(tmp_path: Path) -> None:
    dedup(tmp_path, ["string", "long", "string", "string", "string"], IN_3_5_CONF, IN_3_5)
    answer = said(tmp_path, "4.3")
    assert (answer.outcome, answer.reason, answer.certainty) == ("fail", "VERSION_TRAP", "certain")


def test_an_upgrade_to_4_that_keeps_the_order_is_safe(tmp_path: Path) -> None:
    names = ("e", "a", "b", "c", "d")  # both orders are this one
    assert said(dedup(tmp_path, ["string"] * 5, IN_3_5_CONF, names), "4.3").risks == ()


def test_columns_that_the_query_spells_otherwise_may_be_reordered(tmp_path: Path) -> None:
    (risk,) = said(dedup(tmp_path, ["string"] * 5, IN_3_5_CONF, GIVEN), "4.3").risks
    assert (risk.id, risk.certainty) == ("VERSION_TRAP", "needs_input")


def failed_start(root: Path, conf: dict[str, str], batch: int = 5) -> Path:
    """What a failed start of another version leaves: the next offset entry, with the settings that it
    knows."""
    line = f'{{"logOffset":{batch}}}'
    return write(
        root, {f"offsets/{batch}": offset_text([line], conf=conf), f"sources/0/{batch}": files_entry(batch)}
    )


MIXED = ["string", "long", "string", "string", "string"]
CONF_4_0 = {**IN_3_5_CONF, "spark.sql.streaming.stateStore.encodingFormat": "unsaferow"}


@pytest.mark.parametrize(("spark", "outcome"), [("4.0", "fail"), ("4.3", "fail"), ("3.5", "rerun")])
def test_a_failed_start_of_4_0_does_not_hide_that_3_5_wrote_the_state(
    tmp_path: Path, spark: str, outcome: str
) -> None:
    failed_start(dedup(tmp_path, MIXED, IN_3_5_CONF, IN_3_5), CONF_4_0)
    answer = said(tmp_path, spark)
    assert (answer.outcome, answer.reason) == (outcome, "VERSION_TRAP" if outcome == "fail" else None)


@pytest.mark.parametrize("spark", ["4.3", "4.0"])
def test_after_a_failed_start_of_4_0_the_key_of_4_3_is_reordered_by_4_3_too(
    tmp_path: Path, spark: str
) -> None:
    failed_start(dedup(tmp_path, MIXED), CONF_4_0)
    answer = said(tmp_path, spark)
    assert (answer.outcome, answer.reason) == ("fail", "VERSION_TRAP")


def test_a_dedup_key_of_four_columns_is_safe(tmp_path: Path) -> None:
    assert said(dedup(tmp_path, ["string"] * 4), "3.5").risks == ()


@pytest.mark.parametrize(("provider", "outcome"), [({}, "resume"), (ROCKSDB, "fail")])
def test_row_checksums_are_not_known_before_4_2(
    tmp_path: Path, provider: dict[str, str], outcome: str
) -> None:
    conf = stateful_conf(**{"spark.sql.streaming.stateStore.rowChecksum.enabled": "true"}, **provider)
    files_checkpoint(tmp_path, conf=conf)
    with_state(tmp_path, range(1, 6), kind="zip" if provider else "delta")
    answer = said(tmp_path, "4.0")
    assert answer.outcome == outcome
    assert answer.reason == "VERSION_TRAP" or [risk.id for risk in answer.risks] == ["VERSION_TRAP"]
    assert said(tmp_path, "4.2").outcome == "resume" and said(tmp_path, "4.2").risks == ()


@pytest.mark.parametrize(("watermark_ms", "outcome"), [(0, "resume"), (1_700_000_000_000, "fail")])
def test_row_checksums_in_rocksdb_hide_the_state_from_3_5(
    tmp_path: Path, watermark_ms: int, outcome: str
) -> None:
    """Seen with totals written by 4.3 and started by 3.5.9: they began again, without an error."""
    conf = stateful_conf(**{"spark.sql.streaming.stateStore.rowChecksum.enabled": "true"}, **ROCKSDB)
    files_checkpoint(tmp_path, conf=conf)
    for path in (tmp_path / "offsets").iterdir():
        text = path.read_text(encoding="utf-8")
        text = re.sub(r'"batchWatermarkMs":\d+', f'"batchWatermarkMs":{watermark_ms}', text)
        path.write_text(text, encoding="utf-8")
    with_state(tmp_path, range(1, 6), kind="zip")
    answer = said(tmp_path, "3.5")
    assert answer.outcome == outcome
    if outcome == "resume":
        assert [risk.id for risk in answer.risks] == ["VERSION_TRAP"]
        assert "computes as if the state were empty" in answer.sentence and answer.data.append == "unknown"


MIXED = ["long", "string", "double", "string", "integer"]


def test_a_failed_start_that_leaves_out_settings_of_the_state_asks_for_a_rewind(tmp_path: Path) -> None:
    """Seen with a dropDuplicates of five columns, and with row checksums: written by 4.3, a start of 3.5.9
    failed, and then 4.3 failed on them too."""
    answer = said(dedup(tmp_path, MIXED, names=GIVEN), "3.5")
    assert (answer.outcome, answer.fails_at) == ("fail", "batch") and answer.then is not None
    assert "without spark.sql.dropDuplicates.deterministicKeyOrder.enabled, which Spark 3.5" in answer.then


def test_so_does_one_without_the_row_checksums_of_the_state(tmp_path: Path) -> None:
    conf = stateful_conf(**{"spark.sql.streaming.stateStore.rowChecksum.enabled": "true"}, **ROCKSDB)
    files_checkpoint(tmp_path, conf=conf)
    with_state(tmp_path, range(1, 6), kind="zip")
    answer = said(tmp_path, "4.0")
    assert answer.then is not None and "without spark.sql.streaming.stateStore.rowChecksum" in answer.then


def test_after_a_failed_start_of_a_newer_version_the_writer_goes_on(tmp_path: Path) -> None:
    """Seen with 3.5.9, 4.3 and 3.5.9: the failed start pins the old values, and each row came once."""
    answer = said(dedup(tmp_path, MIXED, conf={**CONF_3_5, **PARTITIONS_2}, names=IN_3_5), "4.0")
    assert (answer.outcome, answer.fails_at, answer.then) == ("fail", "batch", None)


@pytest.mark.parametrize(("layout", "outcome"), [("2", "resume"), ("3", "fail"), ("4", "fail")])
def test_a_newer_layout_of_join_state_cannot_be_set_before_4_0(
    tmp_path: Path, layout: str, outcome: str
) -> None:
    """Seen with 3.5.9: the start fails before any batch, "exact" was said."""
    conf = {**stateful_conf(), "spark.sql.streaming.join.stateFormatVersion": layout}
    files_checkpoint(tmp_path, conf=conf)
    answer = said(tmp_path, "3.5")
    assert answer.outcome == outcome
    if outcome == "fail":
        assert answer.error is not None and answer.fails_at == "start"
        message = f"'{layout}' in spark.sql.streaming.join.stateFormatVersion is invalid."
        assert answer.error.message == message
    assert said(tmp_path, "4.3").reason != "SETTINGS_CHANGED"


def test_changelogs_are_not_known_before_3_5(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf={**CONF_3_5, "spark.sql.shuffle.partitions": "2", **ROCKSDB})
    with_state(tmp_path, range(1, 6), kind="changelog")
    assert said(tmp_path).outcome == "resume"
    answer = said(tmp_path, "3.4")
    assert answer.error is not None and answer.error.error_class == "FileNotFoundException"
    assert answer.error.message.endswith("/state/0/0/5.zip does not exist")


def test_rocksdb_files_of_4_cannot_be_read_by_3_3(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=stateful_conf(**ROCKSDB))
    with_state(tmp_path, range(1, 6), kind="zip")
    write(tmp_path, {"state/0/0/SSTs/000008-bf350243-5615-4777-9f57-42487191334d.sst": b"x"})
    answer = said(tmp_path, "3.3")
    assert answer.error is not None and answer.error.error_class == "RocksDBException"
    assert said(tmp_path, "3.4").outcome == "resume"


def test_names_for_sources_of_4_2_are_refused_by_4_3(tmp_path: Path) -> None:
    kept = {
        key: value
        for key, value in CONF_4_3.items()
        if "alwaysNullable" not in key and "deterministicKeyOrder" not in key
    }
    conf = {**kept, "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}
    files_checkpoint(tmp_path, conf=conf)
    assert said(tmp_path).spark == "4.2" and said(tmp_path).outcome == "resume"
    answer = said(tmp_path, "4.3")
    assert (
        answer.error is not None
        and answer.error.condition == "STREAMING_QUERY_EVOLUTION_ERROR.CANNOT_ENABLE_ON_EXISTING_CHECKPOINT"
    )


def test_an_upgrade_to_4_says_that_ansi_mode_was_not_checked(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=CONF_3_5)
    assert any("spark.sql.ansi.enabled" in item for item in said(tmp_path, "4.3").not_checked)
    assert not any("spark.sql.ansi.enabled" in item for item in said(tmp_path).not_checked)


def test_transform_with_state_needs_its_metadata(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=stateful_conf(**ROCKSDB))
    with_state(tmp_path, range(1, 6), kind="zip")
    remove(tmp_path, "state/0/_metadata", "state/0/0/_metadata")
    write(
        tmp_path, {"state/0/_stateSchema/default/0_92dab0d5-29d7-4da8-b896-9e675904252d": b"\0\2v3\0\0\0\0"}
    )
    answer = said(tmp_path)
    assert answer.error is not None and answer.error.condition == "STDS_FAILED_TO_READ_OPERATOR_METADATA"


def test_the_newest_offset_alone_decides_the_version(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=CONF_3_5)
    write(tmp_path, {"offsets/4": offset_text(['{"logOffset":4}'])})
    assert said(tmp_path).spark == "4.3"


# Rules that the oracle found under 3.5 and 4.0


def error_of(root: Path, spark: str, **query: object) -> tuple[str | None, str | None, str]:
    """Condition, class and text of the failure that is said."""
    error = said(root, spark, **query).error
    assert error is not None
    return error.condition, error.error_class, error.message


def old_state(root: Path, kind: str = "delta", operator: str | None = None, **conf: str) -> Path:
    """A checkpoint with state that 3.5 wrote: no operator metadata."""
    files_checkpoint(root, conf={**CONF_3_5, "spark.sql.shuffle.partitions": "2", **conf})
    with_state(root, range(1, 6), kind=kind)
    remove(root, "state/0/_metadata")
    if operator == "dedupe":
        write(root, {"state/0/0/_metadata/schema": DEDUP_SCHEMA})
    return root


DEDUP_SCHEMA = struct_schema([("id", "long", True)], [("__dummy__", "null", True)])
JOIN_SCHEMA = struct_schema(
    [("field0", "long", True), ("index", "long", True)], [("id", "long", False), ("matched", "boolean", True)]
)


@pytest.mark.parametrize(
    ("spark", "effect"),
    [("3.5", ("duplicates", "exact", "duplicates")), ("4.0", ("duplicates", "duplicates", "duplicates"))],
)
def test_a_pending_source_without_offset_goes_on_from_the_entry_before_to_3_5(
    tmp_path: Path, spark: str, effect: tuple[str, ...]
) -> None:
    files_checkpoint(tmp_path, commits=range(4), conf=CONF_3_5)
    write(tmp_path, {"offsets/4": offset_text(["-"], conf=CONF_3_5)})
    data = said(tmp_path, spark).data
    assert (data.append, data.overwrite, data.skip) == effect


@pytest.mark.parametrize(
    ("provider", "spark", "condition", "words"),
    [
        ({}, "3.5", None, "Error reading delta file "),
        ({}, "4.1", "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS", "Error reading delta file "),
        ({}, "4.2", "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY", "Cannot restart streaming query"),
        (ROCKSDB, "3.4", None, "File "),
        (ROCKSDB, "3.5", None, "Error reading streaming state file of "),
        (
            ROCKSDB,
            "4.0",
            "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE",
            "Error reading streaming state file of ",
        ),
    ],
)
def test_before_4_2_a_missing_state_folder_is_a_missing_file_of_the_store(
    tmp_path: Path, provider: dict[str, str], spark: str, condition: str | None, words: str
) -> None:
    old_state(tmp_path, kind="zip" if provider else "delta", **provider)
    remove(tmp_path, "state")
    said_condition, _, message = error_of(tmp_path, spark, operators=("stateStoreSave",))
    assert said_condition == condition and words in message


@pytest.mark.parametrize(
    ("kind", "spark", "error"),
    [
        ("delta", "3.5", (None, "EOFException", "")),
        ("changelog", "3.5", (None, "EOFException", "")),
        ("zip", "3.5", (None, "NoSuchFileException", "")),
        (
            "zip",
            "4.0",
            (
                "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED",
                "SparkException",
                "An error occurred during loading state.",
            ),
        ),
    ],
)
def test_to_3_5_an_empty_state_file_is_a_plain_java_error(
    tmp_path: Path, kind: str, spark: str, error: tuple[str | None, ...]
) -> None:
    old_state(tmp_path, kind=kind, **({} if kind == "delta" else ROCKSDB))
    write(tmp_path, {f"state/0/1/5.{kind}": b""})
    assert error_of(tmp_path, spark) == error


@pytest.mark.parametrize(("operator", "effect"), [(None, "loss"), ("dedupe", "duplicates")])
def test_to_3_5_a_removed_operator_is_not_missed_and_what_its_state_held_is_lost(
    tmp_path: Path, operator: str | None, effect: str
) -> None:
    answer = said(old_state(tmp_path, operator=operator), "3.5", operators=())
    assert (answer.outcome, [risk.id for risk in answer.risks]) == ("resume", ["STATE_DROPPED"])
    assert (answer.data.append, answer.data.overwrite, answer.data.skip) == (effect, effect, effect)


def test_to_3_5_another_operator_does_not_fit_the_schema_of_the_state(tmp_path: Path) -> None:
    old_state(tmp_path, operator="dedupe")
    assert said(tmp_path, "3.5", operators=("dedupe",)).outcome == "resume"
    answer = said(tmp_path, "3.5", operators=("stateStoreSave",))
    assert (answer.outcome, answer.fails_at, answer.reason, answer.certainty) == (
        "fail",
        "batch",
        "OPERATORS_DIFFER",
        "inferred",
    )
    assert answer.error is not None and answer.error.error_class == "StateSchemaNotCompatible"


def join_checkpoint(root: Path, rows: tuple[int, int], conf: dict[str, str]) -> Path:
    """A join of two file sources whose batch 4 is not committed and has this many new entries of each."""
    files_checkpoint(root, commits=range(4), conf=conf)
    for batch in range(5):
        connectors = [3 + new if batch == 4 else batch for new in rows]
        write(
            root,
            {f"offsets/{batch}": offset_text([f'{{"logOffset":{end}}}' for end in connectors], conf=conf)},
        )
        write(root, {f"sources/1/{batch}": (root / "sources" / "0" / str(batch)).read_text()})
    for side in ("left", "right"):
        for part in range(2):
            for store in (f"{side}-keyToNumValues", f"{side}-keyWithIndexToValue"):
                write(root, {f"state/0/{part}/{store}/{version}.delta": b"x" * 64 for version in range(1, 5)})
        write(root, {f"state/0/0/{side}-keyWithIndexToValue/_metadata/schema": JOIN_SCHEMA})
    return root


@pytest.mark.parametrize("rows", [(0, 0), (0, 1), (1, 0)])
def test_to_3_5_a_join_cannot_start_with_a_batch_without_rows_of_a_side(
    tmp_path: Path, rows: tuple[int, int]
) -> None:
    conf = {**CONF_3_5, "spark.sql.shuffle.partitions": "2"}
    answer = said(join_checkpoint(tmp_path, rows, conf))
    assert (answer.spark, answer.outcome, answer.fails_at) == ("3.5", "fail", "batch")
    assert (answer.reason, answer.certainty) == ("JOIN_BATCH_WITHOUT_ROWS", "inferred")


@pytest.mark.parametrize(
    ("spark", "reason"), [("4.0", "VERSION_TRAP"), ("4.3", "VERSION_TRAP"), ("3.5", None)]
)
def test_a_join_of_3_5_whose_key_is_not_null_does_not_fit_the_plan_of_4_0_and_newer(
    tmp_path: Path, spark: str, reason: str | None
) -> None:
    join_checkpoint(tmp_path, (1, 1), {**CONF_3_5, "spark.sql.shuffle.partitions": "2"})
    answer = said(tmp_path, spark)
    assert answer.reason == (reason or answer.reason)
    assert (answer.outcome, answer.certainty) == (("fail", "inferred") if reason else ("rerun", "certain"))


@pytest.mark.parametrize("spark", ["4.0", "4.3"])
def test_a_join_of_3_5_fails_again_after_a_failed_start_of_4_0(tmp_path: Path, spark: str) -> None:
    join_checkpoint(tmp_path, (1, 1), IN_3_5_CONF)
    ends = offset_text(['{"logOffset":4}'] * 2, conf=CONF_4_0)
    write(tmp_path, {"offsets/4": ends})
    answer = said(tmp_path, spark)
    assert (answer.outcome, answer.reason, answer.certainty) == ("fail", "VERSION_TRAP", "inferred")


def test_a_join_starts_with_a_batch_that_has_rows_of_both_sides(tmp_path: Path) -> None:
    answer = said(join_checkpoint(tmp_path, (1, 1), {**CONF_3_5, "spark.sql.shuffle.partitions": "2"}))
    assert answer.outcome == "rerun"


@pytest.mark.parametrize("spark", ["4.0", "4.1"])
def test_4_0_and_4_1_read_only_commits_of_the_version_that_fits_the_state_files(
    tmp_path: Path, spark: str
) -> None:
    files_checkpoint(tmp_path, conf=stateful_conf())
    with_state(tmp_path, range(1, 6))
    assert said(tmp_path, spark).outcome == "resume"
    write(tmp_path, {"commits/4": 'v2\n{"nextBatchWatermarkMs":0}'})
    answer = said(tmp_path, spark)
    assert (answer.outcome, answer.fails_at, answer.certainty) == ("fail", "start", "inferred")
    assert error_of(tmp_path, spark)[0] == "INVALID_LOG_VERSION.EXACT_MATCH_VERSION"
    assert said(tmp_path, "4.2").outcome == "resume"


def test_a_commit_without_ids_is_the_wrong_version_for_state_files_with_ids_on_4_0(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=stateful_conf(**ROCKSDB))
    with_state(tmp_path, ())
    for partition in range(2):
        write(
            tmp_path,
            {
                f"state/0/{partition}/{n}_2e7ad5b7-7a3a-4ee0-9b5f-5e1b1f2f3f4{n}.changelog": b"x"
                for n in range(1, 6)
            },
        )
    _, _, message = error_of(tmp_path, "4.0")
    assert message.endswith("The only supported log version is v2, but encountered v1.")


def test_without_state_the_commit_before_tells_which_version_4_0_reads(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=CONF_4_3)
    write(tmp_path, {"commits/4": 'v2\n{"nextBatchWatermarkMs":0}'})
    assert said(tmp_path, "4.0").outcome == "fail"
    write(tmp_path, {"commits/3": 'v2\n{"nextBatchWatermarkMs":0}'})
    answer = said(tmp_path, "4.0")
    assert answer.outcome == "resume" and any(
        "checkpointFormatVersion to 2" in item for item in answer.not_checked
    )
