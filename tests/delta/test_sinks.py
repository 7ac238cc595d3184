"""A Delta sink that holds other batches than the checkpoint thinks: the forecast with the table's log at
hand, and then Spark."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from core.checkpoint import Checkpoint
from core.connectors.delta.log import DeltaLog
from core.connectors.sink import sink_state
from tests.support.delta_proof import Case, held

pytestmark = pytest.mark.delta
Make = Callable[..., Case]


def risks(said: object) -> list[str]:
    return [risk.id for risk in said.risks if risk.id.startswith("SINK")]  # type: ignore[attr-defined]


def test_a_pending_batch_that_is_in_the_table_is_skipped(case: Make) -> None:
    made = case()
    made.forget_commit(4)
    said, fact = made.prove()
    assert said.sink is not None and said.sink.pending == "skipped"
    assert "Pending batch 4 is already in the table and will be skipped" in said.sentence
    assert fact.ids == tuple(range(70)) and (made.checkpoint / "commits" / "4").exists()


def test_with_the_last_two_commits_missing_only_the_newest_batch_runs_again(case: Make) -> None:
    made = case()
    made.forget_commit(3, 4)
    said, fact = made.prove()
    assert said.sink is not None and said.sink.pending == "skipped" and said.batch_id == 4
    assert fact.ids == tuple(range(70)) and not (made.checkpoint / "commits" / "3").exists()


def emptied(made: Case) -> None:
    """The checkpoint is deleted, its metadata is put back."""
    made.rewind(-1)


def test_an_emptied_checkpoint_with_the_old_id_is_skipped_and_lucky_when_cut_as_before(case: Make) -> None:
    made = case()
    emptied(made)
    said, fact = made.prove()
    assert risks(said) == ["SINK_AHEAD"] and said.sink is not None and said.sink.skips_up_to == 4
    assert "Batches 0 to 4 will be skipped" in said.sentence
    assert fact.against(made.expected) == (0, 0)


def test_an_emptied_checkpoint_with_the_old_id_loses_new_rows_when_cut_otherwise(case: Make) -> None:
    made = case()
    emptied(made)
    del made.options["maxFilesPerTrigger"]
    said, fact = made.prove()
    assert risks(said) == ["SINK_AHEAD"]
    assert fact.against(made.expected) == (20, 0)


def test_an_emptied_checkpoint_with_the_old_id_loses_new_rows_at_the_exact_start_too(case: Make) -> None:
    made = case(startingVersion=5)
    emptied(made)
    said, fact = made.prove()
    assert risks(said) == ["SINK_AHEAD"] and fact.against(made.expected) == (20, 0)


def test_a_rewound_checkpoint_is_skipped_and_lucky_when_cut_as_before(case: Make) -> None:
    made = case()
    made.rewind(2)
    said, fact = made.prove()
    assert risks(said) == ["SINK_AHEAD"] and "batches 3 and 4 will be skipped" in said.sentence
    assert fact.against(made.expected) == (0, 0)


def test_a_rewound_checkpoint_loses_rows_when_cut_otherwise(case: Make) -> None:
    made = case()
    made.rewind(2)
    del made.options["maxFilesPerTrigger"]
    said, fact = made.prove()
    assert risks(said) == ["SINK_AHEAD"] and fact.against(made.expected) == (20, 0)


def test_a_rewound_checkpoint_with_a_new_id_repeats(case: Make) -> None:
    made = case()
    made.rewind(2)
    made.new_id()
    said, fact = made.prove()
    assert risks(said) == ["SINK_UNKNOWN"] and fact.against(made.expected) == (0, 20)


def test_a_restored_table_has_lost_rows_although_its_number_is_right(case: Make) -> None:
    made = case()
    made.sql("RESTORE TABLE {sink} TO VERSION AS OF 2")
    said, fact = made.prove()
    assert risks(said) == ["SINK_CHANGED"] and said.sink is not None and said.sink.holds_up_to_batch == 4
    assert fact.against(made.expected) == (20, 0)


def test_a_restored_table_and_a_rewound_checkpoint_with_the_old_id_lose_rows(case: Make) -> None:
    made = case()
    made.sql("RESTORE TABLE {sink} TO VERSION AS OF 2")
    made.rewind(2)
    said, fact = made.prove()
    assert "SINK_AHEAD" in risks(said) and fact.against(made.expected) == (20, 0)


def test_a_restored_table_and_a_rewound_checkpoint_with_a_new_id_are_exact(case: Make) -> None:
    made = case()
    made.sql("RESTORE TABLE {sink} TO VERSION AS OF 2")
    made.rewind(2)
    made.new_id()
    said, fact = made.prove()
    assert said.outcome == "resume" and fact.against(made.expected) == (0, 0)


def made_anew(made: Case) -> None:
    shutil.rmtree(made.sink)
    made.sql("CREATE TABLE {sink} (id LONG) USING delta")


def test_a_table_that_was_made_anew_holds_no_batch_and_the_rows_stay_missing(case: Make) -> None:
    made = case()
    made_anew(made)
    said, fact = made.prove()
    assert risks(said) == ["SINK_UNKNOWN"] and fact.against(made.expected) == (50, 0)


def test_after_that_the_missing_batches_are_named(case: Make) -> None:
    made = case()
    made.forget_commit(4)
    made_anew(made)
    said, fact = made.prove()
    assert said.sink is not None and said.sink.pending == "written" and fact.against(made.expected) == (40, 0)
    later = made.forecast()
    assert risks(later) == ["SINK_BEHIND"] and "batches 0 to 3" in later.sentence


def test_an_older_copy_of_the_table_misses_committed_batches(case: Make) -> None:
    made = case()
    made.cut(after=2, table="sink")
    said, fact = made.prove()
    assert (
        risks(said) == ["SINK_BEHIND"]
        and "Batches 3 and 4 are committed in the checkpoint but not in the table" in said.sentence
    )
    assert fact.against(made.expected) == (20, 0)


def test_with_an_older_copy_a_pending_batch_is_written(case: Make) -> None:
    made = case()
    made.forget_commit(4)
    made.cut(after=3, table="sink")
    said, fact = made.prove()
    assert said.sink is not None and said.sink.pending == "written" and risks(said) == []
    assert fact.against(made.expected) == (0, 0)


@pytest.mark.parametrize(
    ("statement", "left", "concern"),
    [
        ("INSERT OVERWRITE {sink} SELECT id FROM range(40)", range(40), ["SINK_CHANGED"]),
        (
            "CREATE OR REPLACE TABLE {sink} USING delta AS SELECT id FROM range(40)",
            range(40),
            ["SINK_CHANGED"],
        ),
        ("DELETE FROM {sink} WHERE id >= 0", range(0), []),
        ("OPTIMIZE {sink}", range(50), []),
    ],
)
def test_the_batch_number_survives_what_others_do_to_the_table(
    case: Make, statement: str, left: range, concern: list[str]
) -> None:
    made = case()
    made.forget_commit(4)
    made.sql(statement)
    if not concern:
        made.expected = range(0)
    said, fact = made.prove()
    assert said.sink is not None and said.sink.pending == "skipped" and risks(said) == concern
    assert set(fact.ids) == {*left, *range(50, 70)}


def test_an_expired_transaction_is_written_again(case: Make) -> None:
    made = case()
    made.forget_commit(4)
    made.sql(
        "ALTER TABLE {sink} SET TBLPROPERTIES ('delta.setTransactionRetentionDuration' = 'interval 1"
        " seconds')"
    )
    said, fact = made.prove()
    assert risks(said) == ["SINK_FORGOT_BATCH"] and said.sink is not None and said.sink.pending == "written"
    assert fact.against(made.expected) == (0, 10)


def test_a_retention_that_has_not_passed_still_skips(case: Make) -> None:
    made = case()
    made.forget_commit(4)
    made.sql(
        "ALTER TABLE {sink} SET TBLPROPERTIES ('delta.setTransactionRetentionDuration' = 'interval 1 days')"
    )
    said, fact = made.prove()
    assert (
        said.sink is not None
        and said.sink.pending == "skipped"
        and any("forgets" in text for text in said.sink.warnings)
    )
    assert fact.against(made.expected) == (0, 0)


@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE {copy} SHALLOW CLONE {sink}", "CREATE TABLE {copy} USING delta AS SELECT * FROM {sink}"],
)
def test_a_copy_by_sql_knows_no_batch_and_gets_the_pending_one_again(case: Make, statement: str) -> None:
    made = case()
    made.forget_commit(4)
    copy = made.place / "copy"
    made.sql(statement.replace("{copy}", f"delta.`{copy}`"))
    made.sink_name = copy.name
    said, fact = made.prove()
    assert said.sink is not None and said.sink.pending == "written" and risks(said) == ["SINK_UNKNOWN"]
    assert fact.against(made.expected) == (0, 10)


CHECKPOINTS = {
    "classic": "mark(args['sink'])\n",
    "multi-part": "mark(args['sink'], part_size=2)\n",
    "v2": "as_v2(args['sink'])\nmark(args['sink'])\n",
}


@pytest.mark.parametrize("form", list(CHECKPOINTS))
def test_the_batch_number_is_found_in_every_form_of_log_checkpoint(case: Make, form: str) -> None:
    made = case()
    made.forget_commit(4)
    made.script(CHECKPOINTS[form])
    log = made.sink / "_delta_log"
    newest = max(
        int(path.name[:20])
        for path in log.glob("*.json")
        if path.name[:20].isdigit() and "checkpoint" not in path.name
    )
    made.clean(before=newest, table="sink")
    made.drop_checksums()
    names = [
        path.name for path in log.iterdir() if "checkpoint." in path.name and not path.name.startswith(".")
    ]
    assert len(names) > 1 if form == "multi-part" else len(names) == 1, names
    said, fact = made.prove()
    assert said.sink is not None and said.sink.pending == "skipped" and fact.against(made.expected) == (0, 0)


FOREACH = """
def shape(frame):
    return frame.select("id")
app = args["app"]
def write(batch, batch_id):
    name = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId") if app == "query" else app
    batch.write.format("delta").option("txnAppId", name).option("txnVersion", batch_id).mode("append").save(args["sink"])
def go():
    reader = session.readStream.format("delta").option("startingVersion", 0).option("maxFilesPerTrigger", 1)
    writer = reader.load(args["source"]).select("id").writeStream.foreachBatch(write)
    query = writer.option("checkpointLocation", args["checkpoint"]).trigger(availableNow=True).start()
    query.awaitTermination()
"""


@pytest.mark.parametrize("app", ["query", "nightly-load"])
def test_a_foreach_batch_with_a_transaction_id_is_recognised_by_the_query_id_only(
    case: Make, app: str
) -> None:
    made = case()
    shutil.rmtree(made.sink)
    shutil.rmtree(made.checkpoint)
    made.script(FOREACH + "go()\n", app=app)
    made.forget_commit(6)
    end = sink_state(Checkpoint.open(str(made.checkpoint)), DeltaLog.open(str(made.sink)))
    if app == "query":
        assert (end.holds_up_to_batch, end.pending) == (6, "skipped")
        assert [row.fate for row in end.batches] == ["written"] * 7
    else:
        assert (end.holds_up_to_batch, end.pending) == (None, None), end.sentence
        assert "nightly-load" in end.sentence and end.certainty == "needs_input"
    made.script(FOREACH + "go()\n", app=app)
    assert held(made.sink) == tuple(range(70)) and DeltaLog.open(str(made.sink)).newest == 6


def test_two_queries_into_one_table_are_counted_apart(case: Make) -> None:
    made = case()
    made.forget_commit(4)
    made.script("run(checkpoint=args['checkpoint'] + '-2', startingVersion=0)")
    said, fact = (
        made.forecast(),
        made.restart(),
    )  # the other query has written all rows once more, so the counts are made here
    assert not fact.causes and fact.rows[4] == 0
    assert said.sink is not None and (said.sink.holds_up_to_batch, said.sink.pending) == (4, "skipped")
    assert [row.fate for row in said.sink.batches].count("foreign") == 1
    assert sorted(fact.ids) == sorted([*range(70), *range(70)])


COUNTS = """
def shape(frame):
    return frame.groupBy((frame.id % 2).alias("id")).count()
args["mode"] = "complete"
result = run(shape=shape, startingVersion=0, maxFilesPerTrigger=1)
if result["causes"]:
    raise AssertionError(result)
"""


def test_a_stateful_query_whose_backup_is_older_than_the_table_fails_after_the_skipped_batches(
    case: Make,
) -> None:
    made = case()
    shutil.rmtree(made.sink)
    shutil.rmtree(made.checkpoint)
    made.script(COUNTS)
    made.put(70, 80)
    shutil.copytree(made.checkpoint, made.place / "backup")
    for state in (made.checkpoint / "state").rglob("*.delta"):
        if int(state.stem) > 3:
            state.unlink()
            state.with_name(f".{state.name}.crc").unlink(missing_ok=True)
    made.rewind(2)
    said = made.forecast()
    assert risks(said) == ["SINK_AHEAD"] and said.sink is not None
    assert any("CANNOT_LOAD_STATE_STORE" in text for text in said.sink.warnings)
    answer = made.script(COUNTS.replace("if result", "if False and result"))
    assert any("CANNOT_LOAD_STATE_STORE" in (cause[1] or "") for cause in answer["causes"]), answer
    assert answer["failed_batch"] == said.sink.skips_up_to + 1  # type: ignore[operator]


def test_a_pending_batch_of_a_complete_mode_query_is_skipped(case: Make) -> None:
    made = case()
    shutil.rmtree(made.sink)
    shutil.rmtree(made.checkpoint)
    made.script(COUNTS)
    before = held(made.sink)
    newest = max(int(path.name) for path in (made.checkpoint / "commits").iterdir() if path.name.isdigit())
    made.forget_commit(newest)
    said = made.forecast()
    assert said.sink is not None and (said.batch_id, said.sink.pending) == (newest, "skipped")
    made.script(COUNTS)
    assert held(made.sink) == before
