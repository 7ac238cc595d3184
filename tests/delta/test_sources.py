"""A Delta source that changed under the query: the forecast with its log at hand, and then Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

import pytest

from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from tests.support.delta import DeltaError
from tests.support.delta_proof import Case

pytestmark = pytest.mark.delta
Make = Callable[..., Case]


def test_an_untouched_pipeline_goes_on_and_copies_what_waits(case: Make) -> None:
    said, fact = case().prove()
    assert (said.outcome, said.batch_id, said.data.is_exact) == ("resume", 5, True)
    assert fact.ids == tuple(range(70))
    assert not any("Delta log of source" in line for line in said.not_checked)


ALL_COLUMNS = """
stream = session.readStream.format('delta').load(args['source'])
writer = stream.writeStream.format('delta').option('checkpointLocation', args['checkpoint'])
writer.trigger(availableNow=True).start(args['sink']).awaitTermination()
"""


def test_a_column_that_is_new_at_the_source_and_not_at_the_sink_leaves_the_start_open(case: Make) -> None:
    """Only the code of the query knows whether it hands the column on."""
    made = case()
    made.sql("ALTER TABLE {sink} ADD COLUMNS (seq LONG)")
    made.sql("ALTER TABLE {source} SET TBLPROPERTIES ('team' = 'night')")
    assert made.forecast().certainty == "certain"
    made.sql("ALTER TABLE {source} ADD COLUMNS (remark STRING)")
    made.sql("INSERT INTO {source} VALUES (999, 999, 'x')")
    said = made.forecast()
    assert (said.outcome, said.certainty) == ("resume", "needs_input")
    assert any("mergeSchema" in line and "(remark)" in line for line in said.not_checked)
    with pytest.raises(DeltaError, match="DELTA_METADATA_MISMATCH"):
        made.script(ALL_COLUMNS)
    assert made.restart().causes == (), "this query selects the columns of the sink"


def test_a_pending_batch_runs_again_with_its_own_range(case: Make) -> None:
    said, fact = case(pending=True).prove()
    assert (said.outcome, said.batch_id) == ("rerun", 5)
    assert said.sink is not None and said.sink.pending == "written"
    assert fact.ids == tuple(range(70))


def test_inside_the_first_snapshot_it_goes_on(case: Make) -> None:
    said, fact = case("snapshot").prove()
    assert said.outcome == "resume" and fact.ids == tuple(range(50))


def test_inside_a_commit_it_goes_on(case: Make) -> None:
    said, fact = case("inside").prove()
    assert said.outcome == "resume" and fact.ids == tuple(range(50))


@pytest.mark.parametrize("pending", [False, True])
def test_a_log_cleaned_below_the_position_before_the_newest_batch_stops_it(case: Make, pending: bool) -> None:
    """The version of offset N-1 counts, also when batch N is committed: phase start then, else the batch."""
    made = case(pending=pending)
    made.clean(before=6 if pending else 5)
    said, fact = made.prove()
    assert said.reason == "DELTA_LOG_CLEANED" and said.certainty == "certain"
    assert fact.condition == "DELTA_MISSING_FILES_UNEXPECTED_VERSION"


@pytest.mark.parametrize("pending", [False, True])
def test_without_fail_on_data_loss_the_end_of_that_range_is_still_missed(case: Make, pending: bool) -> None:
    """Also the version of the position itself is gone: then nothing shows that the range was ever whole."""
    made = case(pending=pending, failOnDataLoss="false")
    made.put(70, 80)
    made.clean(before=7 if pending else 6)
    said, _ = made.prove()
    assert said.error is not None and said.error.condition == "DELTA_STREAMING_TRAILING_COMMIT_MISSING"


def test_without_fail_on_data_loss_the_version_of_the_position_is_enough_to_go_on(case: Make) -> None:
    made = case(failOnDataLoss="false")
    made.clean(before=5)
    said, fact = made.prove()
    assert said.outcome == "resume" and fact.ids == tuple(range(70))


def test_without_fail_on_data_loss_a_pending_batch_is_run_without_its_rows(case: Make) -> None:
    made = case(pending=True, failOnDataLoss="false")
    made.clean(before=6)
    said, fact = made.prove()
    assert [risk.id for risk in said.risks] == ["DELTA_ROWS_SKIPPED"] and fact.rows[5] == 0
    assert fact.against(made.expected) == (10, 0)


def test_a_log_cleaned_only_below_that_position_harms_nothing(case: Make) -> None:
    made = case()
    made.clean(before=4)
    said, fact = made.prove()
    assert said.outcome == "resume" and fact.ids == tuple(range(70))


def equal_offsets(made: Case) -> None:
    made.offset(3, **made.offset_line(4))


def test_with_two_equal_offsets_only_the_newest_position_counts(case: Make) -> None:
    """The repair of the facts: nothing is asked for at the start."""
    made = case()
    equal_offsets(made)
    made.clean(before=5)
    said, fact = made.prove()
    assert said.outcome == "resume" and fact.ids == tuple(range(70))


def test_versions_that_wait_and_are_gone_stop_the_next_batch(case: Make) -> None:
    made = case()
    equal_offsets(made)
    made.clean(before=6)
    said, _ = made.prove()
    assert (said.reason, said.fails_at) == ("DELTA_LOG_CLEANED", "batch")


def test_versions_that_wait_and_are_gone_are_lost_without_fail_on_data_loss(case: Make) -> None:
    made = case(failOnDataLoss="false")
    equal_offsets(made)
    made.clean(before=6)
    said, fact = made.prove()
    assert [risk.id for risk in said.risks] == ["DELTA_ROWS_SKIPPED"]
    assert fact.against(made.expected) == (10, 0)


def test_a_pending_batch_of_several_versions_loses_the_first_ones_without_fail_on_data_loss(
    case: Make,
) -> None:
    made = case(pending=True, failOnDataLoss="false")
    made.offset(5, reservoirVersion=7)
    made.clean(before=6)
    said, fact = made.prove()
    assert [risk.id for risk in said.risks] == ["DELTA_ROWS_SKIPPED"]
    assert fact.against(made.expected) == (10, 0)


def test_batch_0_with_a_start_version_that_is_gone_stops_it(case: Make) -> None:
    made = case()
    made.rewind(0)
    made.clean(before=1)
    said, fact = made.prove()
    assert said.error is not None and said.error.condition == "DELTA_VERSION_NOT_FOUND" == fact.condition


def test_batch_0_without_a_start_option_needs_its_snapshot(case: Make) -> None:
    made = case("first")
    made.clean(before=2)
    said, fact = made.prove()
    assert (
        said.reason == "DELTA_SNAPSHOT_GONE"
        and fact.condition == "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE"
    )


def test_batch_0_without_a_start_option_goes_on_while_its_snapshot_can_be_rebuilt(case: Make) -> None:
    said, fact = case("first").prove()
    assert said.outcome == "resume" and fact.ids == tuple(range(30))


@pytest.mark.parametrize("loss", ["true", "false"])
def test_a_first_snapshot_that_cannot_be_rebuilt_stops_it_whatever_fail_on_data_loss_says(
    case: Make, loss: str
) -> None:
    made = case("snapshot", failOnDataLoss=loss)
    made.clean(before=3)
    said, fact = made.prove()
    assert (
        said.reason == "DELTA_SNAPSHOT_GONE"
        and fact.condition == "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE"
    )


@pytest.mark.parametrize("pending", [False, True])
def test_a_table_that_was_made_anew_is_another_table(case: Make, pending: bool) -> None:
    made = case(pending=pending)
    shutil.rmtree(made.source)
    made.script("for i in range(7): put(i * 10, i * 10 + 10)\n")
    said, fact = made.prove()
    assert (
        said.reason == "DELTA_TABLE_DIFFERS"
        and fact.condition == "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE"
    )


def test_create_or_replace_gives_the_source_a_new_id(case: Make) -> None:
    made = case()
    made.sql("CREATE OR REPLACE TABLE {source} USING delta AS SELECT id, id AS seq FROM range(5)")
    said, _ = made.prove()
    assert said.reason == "DELTA_TABLE_DIFFERS"


def test_another_table_is_noticed_at_the_start_behind_two_equal_offsets_too(case: Make) -> None:
    made = case()
    made.offset(3, **{**made.offset_line(4), "reservoirId": "00000000-0000-0000-0000-000000000000"})
    made.offset(4, reservoirId="00000000-0000-0000-0000-000000000000")
    said, _ = made.prove()
    assert (said.reason, said.fails_at) == ("DELTA_TABLE_DIFFERS", "start")


def test_an_older_copy_of_the_table_stops_it(case: Make) -> None:
    made = case()
    made.cut(after=2)
    said, fact = made.prove()
    assert said.reason == "DELTA_TABLE_OLDER" and fact.condition == "DELTA_STREAMING_TRAILING_COMMIT_MISSING"


@pytest.mark.parametrize("later_ms", [30_000, 3_600_000])
def test_an_older_copy_that_was_filled_up_again_loses_rows_and_is_recognised_by_its_times(
    case: Make, later_ms: int
) -> None:
    """Within a minute, which clocks that differ explain as well, the answer is inferred and no more."""
    made = case()
    lines = (made.checkpoint / "offsets/4").read_text(encoding="utf-8").split("\n")
    planned_ms = json.loads(lines[1])["batchTimestampMs"]
    made.cut(after=2)
    made.put(130, 140)
    made.put(140, 150)
    made.put(150, 160)
    for version in (3, 4):
        path = made.log(version)
        lines = path.read_text(encoding="utf-8").split("\n")
        info = json.loads(lines[0])
        info["commitInfo"]["timestamp"] = planned_ms + later_ms
        path.write_text("\n".join([json.dumps(info), *lines[1:]]), encoding="utf-8")
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    made.expected = range(130, 160)
    if later_ms > 60_000:
        said, fact = made.prove()
        assert [risk.id for risk in said.risks] == ["DELTA_TABLE_REFILLED"]
        assert said.certainty == said.risks[0].certainty == "inferred"
    else:
        said, fact = made.forecast(), made.restart()
        assert (said.outcome, said.certainty, said.risks) == ("resume", "inferred", ())
        assert any(
            "its versions taken again: version 4 was written 30 s after" in x for x in said.not_checked
        )
    assert not {*range(130, 150)} & {*fact.ids} and {*range(150, 160)} <= {*fact.ids}


def test_an_older_copy_behind_two_equal_offsets_loses_what_comes_next(case: Make) -> None:
    made = case()
    equal_offsets(made)
    made.cut(after=2)
    said = made.forecast()
    assert [risk.id for risk in said.risks] == ["DELTA_TABLE_OLDER"] and said.outcome == "resume"
    first = made.restart()
    assert not first.causes and not any(first.rows.values())
    made.put(130, 140)
    made.put(140, 150)
    made.put(150, 160)
    second = made.restart()
    assert (
        not second.causes and {*range(150, 160)} <= {*second.ids} and not {*range(130, 150)} & {*second.ids}
    )


def test_a_hole_in_the_log_without_a_log_checkpoint_stops_even_the_load(case: Make) -> None:
    made = case()
    made.drop_checkpoints()
    for end in ("json", "crc"):
        made.log(3, end=end).unlink()
    said, fact = made.prove()
    assert said.reason == "DELTA_LOG_GAP" and fact.condition == "DELTA_VERSIONS_NOT_CONTIGUOUS"


def test_a_log_without_its_beginning_and_without_a_log_checkpoint_stops_even_the_load(case: Make) -> None:
    made = case()
    made.clean(before=3, with_checkpoints=True)
    said, fact = made.prove()
    assert said.reason == "DELTA_LOG_GAP" and fact.condition == "DELTA_TRUNCATED_TRANSACTION_LOG"


def test_a_hole_before_the_position_with_a_log_checkpoint_harms_nothing(case: Make) -> None:
    made = case()
    made.log(2).unlink()
    said, fact = made.prove()
    assert said.outcome == "resume" and fact.ids == tuple(range(70))


def test_a_hole_at_the_position_is_noticed_at_the_start(case: Make) -> None:
    """Delta looks one version beyond the range that it reads again."""
    made = case()
    made.log(5).unlink()
    said, _ = made.prove()
    assert (said.reason, said.fails_at) == ("DELTA_LOG_CLEANED", "start")


def test_a_hole_behind_the_position_stops_the_next_batch(case: Make) -> None:
    made = case()
    made.put(70, 80)
    made.script("mark()\n")
    made.log(6).unlink()
    said, _ = made.prove()
    assert (said.reason, said.fails_at) == ("DELTA_LOG_CLEANED", "batch")


def test_deleted_rows_stop_the_next_batch(case: Make) -> None:
    made = case()
    made.sql("DELETE FROM {source} WHERE id < 10")
    said, fact = (
        made.forecast(),
        made.restart(),
    )  # the two commits before it are copied first, by the limit of one file a batch
    assert said.certainty == "inferred" and "if a batch is limited" in said.sentence
    assert said.reason == "DELTA_CHANGES_WAIT" and said.error is not None
    assert said.error.condition == "DELTA_SOURCE_IGNORE_DELETE" == fact.condition
    assert fact.fails_at == "batch" == said.fails_at


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        ("DELETE FROM {source} WHERE id < 10", "DELTA_SOURCE_IGNORE_DELETE"),
        ("UPDATE {source} SET seq = -1 WHERE id = 5", "DELTA_SOURCE_TABLE_IGNORE_CHANGES"),
        ("DELETE FROM {source} WHERE id = 5", "DELTA_SOURCE_TABLE_IGNORE_CHANGES"),
        ("RESTORE TABLE {source} TO VERSION AS OF 3", "DELTA_SOURCE_IGNORE_DELETE"),
        ("INSERT OVERWRITE {source} SELECT id, id AS seq FROM range(5)", "DELTA_SOURCE_TABLE_IGNORE_CHANGES"),
        (
            (
                "MERGE INTO {source} t USING (SELECT id FROM range(5)) u ON t.id = u.id WHEN MATCHED THEN"
                " UPDATE SET seq = -1"
            ),
            "DELTA_SOURCE_TABLE_IGNORE_CHANGES",
        ),
    ],
)
def test_a_commit_that_takes_rows_away_stops_a_caught_up_query(
    case: Make, statement: str, condition: str
) -> None:
    made = case("done")
    made.sql(statement)
    said, _ = made.prove()
    assert said.error is not None and said.error.condition == condition and said.certainty == "certain"


@pytest.mark.parametrize(
    ("statement", "option"),
    [
        ("DELETE FROM {source} WHERE id < 10", "ignoreDeletes"),
        ("DELETE FROM {source} WHERE id < 10", "skipChangeCommits"),
        ("UPDATE {source} SET seq = -1 WHERE id = 5", "skipChangeCommits"),
    ],
)
def test_an_option_lets_such_a_commit_pass(case: Make, statement: str, option: str) -> None:
    made = case("done", **{option: "true"})
    made.sql(statement)
    said, fact = made.prove()
    assert said.outcome == "resume" and fact.ids == tuple(range(70))


def test_a_query_that_has_let_such_a_commit_pass_before_is_not_said_to_fail(case: Make) -> None:
    """Nobody told the options; what the query has read past tells that one is set."""
    made = case("done", skipChangeCommits="true")
    made.sql("UPDATE {source} SET seq = -1 WHERE id = 5")
    made.put(70, 80)
    assert not made.restart().causes
    made.sql("UPDATE {source} SET seq = -1 WHERE id = 15")
    made.put(80, 90)
    untold = forecast(Checkpoint.open(str(made.checkpoint)), spark="4.2", connectors=made.connectors())
    assert untold.outcome == "resume" and any("lets version" in text for text in untold.not_checked)
    made.expected = range(90)
    said, _ = made.prove()
    assert said.outcome == "resume"


def test_ignore_deletes_does_not_let_an_update_pass(case: Make) -> None:
    made = case("done", ignoreDeletes="true")
    made.sql("UPDATE {source} SET seq = -1 WHERE id = 5")
    said, _ = made.prove()
    assert said.error is not None and said.error.condition == "DELTA_SOURCE_TABLE_IGNORE_CHANGES"


def test_after_a_pending_batch_the_next_one_fails_at_such_a_commit(case: Make) -> None:
    made = case(pending=True)
    made.offset(5, reservoirVersion=7)
    made.sql("UPDATE {source} SET seq = -1 WHERE id = 5")
    said, _ = made.prove()
    assert said.outcome == "rerun" and said.then is not None and "changes rows" in said.then


def test_compaction_of_the_source_is_passed_over(case: Make) -> None:
    made = case("done")
    made.sql("OPTIMIZE {source}")
    said, fact = made.prove()
    assert said.outcome == "resume" and fact.ids == tuple(range(70))


def test_a_renamed_column_stops_every_start(case: Make) -> None:
    made = case("mapped")
    made.sql("ALTER TABLE {source} RENAME COLUMN seq TO number")
    said, fact = made.prove()
    assert (
        said.reason == "DELTA_SCHEMA_WAITS"
        and fact.condition == "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"
    )


def test_a_dropped_column_stops_every_start(case: Make) -> None:
    made = case("mapped")
    made.sql("ALTER TABLE {source} DROP COLUMN seq")
    said, _ = made.prove()
    assert said.reason == "DELTA_SCHEMA_WAITS"


def test_an_added_column_is_accepted(case: Make) -> None:
    made = case("mapped")
    made.sql("ALTER TABLE {source} ADD COLUMN more LONG")
    said, fact = made.prove()
    assert said.outcome == "resume" and fact.ids == tuple(range(20))


def test_an_index_beyond_the_commit_skips_the_rest_of_it(case: Make) -> None:
    made = case("inside")
    newest = max(int(p.name) for p in (made.checkpoint / "offsets").iterdir() if p.name.isdigit())
    made.offset(newest, index=99)
    said, fact = made.prove()
    assert [risk.id for risk in said.risks] == ["DELTA_INDEX_BEYOND"]
    assert fact.against(made.expected) == (10, 0)


def test_a_position_set_back_into_the_snapshot_reads_it_again(case: Make) -> None:
    made = case()
    made.offset(4, isStartingVersion=True)
    said, fact = made.prove()
    assert [risk.id for risk in said.risks] == ["DELTA_BACK_IN_SNAPSHOT"]
    assert fact.against(made.expected)[1] >= 50


def test_a_source_version_that_no_delta_wrote_stops_it(case: Make) -> None:
    made = case()
    made.offset(4, sourceVersion=4)
    said, fact = made.prove()
    assert (
        fact.condition == "DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION"
        and said.reason == "SOURCE_OFFSET_UNREADABLE"
    )


def test_a_position_far_beyond_the_table_stops_it(case: Make) -> None:
    made = case()
    made.offset(4, reservoirVersion=99)
    said, _ = made.prove()
    assert said.reason == "DELTA_TABLE_OLDER"


@pytest.mark.parametrize("start", ["latest", 2])
def test_a_start_version_of_today_moves_no_position(case: Make, start: object) -> None:
    made = case(startingVersion=start)
    said, fact = made.prove()
    assert said.outcome == "resume" and fact.ids == tuple(range(70))


def test_fields_that_delta_fills_in_itself_change_nothing(case: Make) -> None:
    made = case()
    path = made.checkpoint / "offsets" / "4"
    line = made.offset_line(4)
    del line["isStartingVersion"]
    line["index"] = -100
    lines = path.read_text(encoding="utf-8").split("\n")
    path.with_name(".4.crc").unlink(missing_ok=True)
    path.write_text("\n".join([*lines[:2], json.dumps(line, separators=(",", ":"))]), encoding="utf-8")
    said, fact = made.prove()
    assert said.outcome == "resume" and fact.ids == tuple(range(70))


def test_a_sources_folder_means_nothing_to_delta(case: Make) -> None:
    made = case()
    (made.checkpoint / "sources" / "0").mkdir(parents=True)
    (made.checkpoint / "sources" / "0" / "0").write_bytes(b"junk")
    said, fact = made.prove()
    assert said.outcome == "resume" and fact.ids == tuple(range(70))
