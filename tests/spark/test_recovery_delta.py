"""The generated code for Delta sources and sinks, run on real Delta in the second environment; the tables are
counted row by row."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from core.checkpoint import Checkpoint
from core.connectors import ConnectorSettings
from core.recovery import Answers, OptionId, options, read_recovery_context
from core.storage import parse_location
from tests.support import damage
from tests.support.delta import RUN_SCRIPT, DeltaEngine
from tests.support.recovery import Outcome, fingerprint, script_for

pytestmark = pytest.mark.delta

COPY = "def transform(df):\n    return df.select('id')\n"

# A Delta table of three commits, copied to another one with one file a batch; then more commits wait in the
# source.
PIPELINE = """
import os, shutil
def put(first, last):
    spark.range(first, last).selectExpr("id", "id as seq").coalesce(1).write.format("delta").mode("append").save(args["source"])
def run():
    frame = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(args["source"]).select("id")
    writer = frame.writeStream.format("delta").option("checkpointLocation", args["checkpoint"]).trigger(availableNow=True)
    writer.start(args["sink"]).awaitTermination()
put(0, 10); run()
put(10, 20); run()
put(20, 30); run()
if args["forget"]:
    commits = os.path.join(args["checkpoint"], "commits")
    newest = max(int(name) for name in os.listdir(commits) if name.isdigit())
    os.remove(os.path.join(commits, str(newest)))
    crc = os.path.join(commits, f".{newest}.crc")
    if os.path.exists(crc):
        os.remove(crc)
if args["waiting"]:
    put(30, 40)
result = sorted(int(name) for name in os.listdir(os.path.join(args["checkpoint"], "offsets")) if name.isdigit())
"""
RESUME = """
frame = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(args["source"]).select("id")
writer = frame.writeStream.format("delta").option("checkpointLocation", args["checkpoint"]).trigger(availableNow=True)
writer.start(args["sink"]).awaitTermination()
result = None
"""
IDS = (
    "result = sorted(row[0] for row in spark.read.format('delta').load(args['table']).select('id').collect())"
)


class Pipeline:
    def __init__(self, engine: DeltaEngine, place: Path, *, forget: bool, waiting: bool = True) -> None:
        self.engine, self.place = engine, place
        self.source, self.sink, self.checkpoint, self.query = (
            place / "source",
            place / "sink",
            place / "checkpoint",
            place / "query.py",
        )
        place.mkdir(parents=True, exist_ok=True)
        self.query.write_text(COPY, encoding="utf-8")
        engine.run(PIPELINE, **self.places(), forget=forget, waiting=waiting)

    def places(self) -> dict[str, str]:
        return {"source": str(self.source), "sink": str(self.sink), "checkpoint": str(self.checkpoint)}

    def recover(
        self,
        option: OptionId,
        *,
        execute: bool = True,
        given: ConnectorSettings | None = None,
        set_in_script: Mapping[str, object] | None = None,
        **more: str,
    ) -> Outcome:
        answers = {
            "sink": "delta",
            "sink_path": str(self.sink),
            "query_file": str(self.query),
            "source.0.path": str(self.source),
            **more,
        }
        answers = {"source_complete": "yes", **{name: text for name, text in answers.items() if text}}
        script = script_for(self.checkpoint, option, answers, self.place, given)
        for name, value in (set_in_script or {}).items():
            text, times = re.subn(
                rf"(?m)^{name} = \w+", f"{name} = {value!r}", script.read_text("utf-8"), count=1
            )
            assert times == 1
            script.write_text(text, encoding="utf-8")
        status, output = self.engine.run(RUN_SCRIPT, path=str(script), execute=execute)
        return Outcome(status, output)

    def ids(self, table: Path | str | None = None) -> Any:
        return self.engine.run(IDS, table=str(table or self.sink))


def test_the_planned_batch_that_is_in_the_table_already_is_skipped_and_new_rows_come_once(
    delta: DeltaEngine, tmp_path: Path
) -> None:
    pipeline = Pipeline(delta, tmp_path, forget=True)
    ck = Checkpoint.open(str(pipeline.checkpoint))
    assert ck.pending_batch is not None and ck.sources[0].kind.name == "delta"
    done = pipeline.recover("reset")
    assert done.status == 5, done.output  # rows of a Delta source are not counted by the script
    assert pipeline.ids() == list(range(40))


def test_a_lost_query_id_is_found_in_the_table_so_that_the_planned_batch_is_skipped(
    delta: DeltaEngine, tmp_path: Path
) -> None:
    pipeline = Pipeline(delta, tmp_path, forget=True)
    metadata = pipeline.checkpoint / "metadata"
    before = metadata.read_text(encoding="utf-8")
    damage.remove(metadata)
    blind = read_recovery_context(Checkpoint.open(str(pipeline.checkpoint)), Answers({"sink": "delta"}))
    option = next(each for each in options(blind) if each.id == "repair_files")
    assert not option.possible and "--sink" in option.why

    given = ConnectorSettings(sink=parse_location(str(pipeline.sink)))
    done = pipeline.recover("repair_files", given=given)
    assert done.status == 0, done.output
    new = next(tmp_path.glob("checkpoint.repaired-after-batch-*[0-9]"))
    assert json.loads((new / "metadata").read_text(encoding="utf-8")) == json.loads(before)
    delta.run(RESUME, **{**pipeline.places(), "checkpoint": str(new)})
    assert pipeline.ids() == list(range(40))


def test_a_query_that_had_read_everything_goes_on_with_the_next_commit(
    delta: DeltaEngine, tmp_path: Path
) -> None:
    """No start option can say that: startingVersion would be a version that does not exist yet."""
    pipeline = Pipeline(delta, tmp_path, forget=False, waiting=False)
    first = pipeline.recover("reset")
    assert first.status == 0, first.output  # nothing was new, so no batch ran
    assert pipeline.ids() == list(range(30))
    delta.run(
        "spark.range(30, 40).selectExpr('id', 'id as"
        " seq').write.format('delta').mode('append').save(args['source'])",
        **pipeline.places(),
    )
    again = pipeline.recover("reset")
    assert again.status == 5, again.output
    assert pipeline.ids() == list(range(40))


def test_a_table_that_is_ahead_of_the_checkpoint_is_refused_by_a_reset_and_accepted_by_a_refresh(
    delta: DeltaEngine, tmp_path: Path
) -> None:
    pipeline = Pipeline(delta, tmp_path, forget=False)
    commits, offsets = pipeline.checkpoint / "commits", pipeline.checkpoint / "offsets"
    newest = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    for log in (commits, offsets):
        (log / str(newest)).unlink()
        (log / f".{newest}.crc").unlink(missing_ok=True)
    done = pipeline.recover("reset")
    assert done.status == 4
    assert (
        f"already has batch {newest} of this query, but the new checkpoint resumes after {newest - 1}"
        in done.output
    )
    done = pipeline.recover("full_refresh")
    assert done.status == 5, done.output  # rows of a Delta source are not counted by the script
    assert f"batches of this query up to {newest}, the checkpoint ends at {newest - 1}" in done.output
    assert pipeline.ids() == list(range(40))


def assert_refused(pipeline: Pipeline, words: str, **more: str) -> None:
    """Dry run and execution of reset and full refresh change nothing."""
    version = "result = spark.sql(f'DESCRIBE HISTORY delta.`{args[\"table\"]}` LIMIT 1').first()['version']"
    table = more.get("sink_path", str(pipeline.sink))
    is_table = Path(table).exists()
    before = pipeline.engine.run(version, table=table) if is_table else None
    options: tuple[OptionId, ...] = ("reset", "full_refresh")
    for option in options:
        for execute in (False, True):
            done = pipeline.recover(option, execute=execute, **more)
            assert (done.status, words in done.output) == (4, True), done.output
    assert Path(table).exists() == is_table
    assert before == (pipeline.engine.run(version, table=table) if is_table else None)


def test_a_mistyped_table_is_refused_and_not_made(delta: DeltaEngine, tmp_path: Path) -> None:
    pipeline = Pipeline(delta, tmp_path, forget=False)
    assert_refused(pipeline, "is not a Delta table", sink_path=str(tmp_path / "snik"))


def test_another_querys_table_is_refused(delta: DeltaEngine, tmp_path: Path) -> None:
    pipeline = Pipeline(delta, tmp_path / "mine", forget=False)
    other = Pipeline(delta, tmp_path / "other", forget=False)
    assert_refused(pipeline, "has no batch of this query", sink_path=str(other.sink))
    assert other.ids() == list(range(30))


def test_a_restored_table_is_refused(delta: DeltaEngine, tmp_path: Path) -> None:
    pipeline = Pipeline(delta, tmp_path, forget=False)
    restore = "spark.sql(f'RESTORE TABLE delta.`{args[\"table\"]}` TO VERSION AS OF 1')\nresult = 0"
    delta.run(restore, table=str(pipeline.sink))
    assert_refused(pipeline, "RESTORE in version")


def test_full_refresh_refuses_a_table_whose_properties_the_new_one_would_not_have(
    delta: DeltaEngine, tmp_path: Path
) -> None:
    pipeline = Pipeline(delta, tmp_path, forget=False)
    alter = "ALTER TABLE delta.`{args['table']}` SET TBLPROPERTIES ('delta.appendOnly' = 'true')"
    delta.run(f'spark.sql(f"{alter}")\nresult = 0', table=str(pipeline.sink))
    done = pipeline.recover("full_refresh")
    assert done.status == 4 and "delta.appendOnly = true" in done.output, done.output
    assert pipeline.ids() == list(range(30))


OTHERS = """
from pathlib import Path
table, place = args["table"], Path(args["table"]).parent
insert = "INSERT INTO delta.`{}` VALUES (1000), (1001)".format(table)
if args["how"] == "query":
    frame = spark.readStream.format("delta").load(args["source"]).selectExpr("id + 500 as id")
    writer = frame.writeStream.format("delta").option("checkpointLocation", str(place / "other_ck"))
    writer.trigger(availableNow=True).start(table).awaitTermination()
if args["how"] == "insert":
    spark.sql(insert)
if args["how"] == "restored":
    version = spark.sql(f"DESCRIBE HISTORY delta.`{table}` LIMIT 1").first()["version"]
    spark.sql(insert)
    spark.sql(f"RESTORE TABLE delta.`{table}` TO VERSION AS OF {version}")
if args["how"] == "update":
    spark.sql(f"UPDATE delta.`{table}` SET id = 2000 WHERE id = 3")
if args["how"] == "kept":
    spark.sql(f"OPTIMIZE delta.`{table}`")
    spark.sql(f"ALTER TABLE delta.`{table}` ADD COLUMNS (note STRING)")
    spark.sql(f"DELETE FROM delta.`{table}` WHERE id = 12345")
result = 0
"""
OWN = list(range(40))
"""What a refresh gives, the waiting rows included."""


def test_full_refresh_refuses_a_table_to_which_another_query_writes_or_leaves_it_as_it_is(
    delta: DeltaEngine, tmp_path: Path
) -> None:
    pipeline = Pipeline(delta, tmp_path, forget=False)
    delta.run(OTHERS, how="query", source=str(pipeline.source), table=str(pipeline.sink))
    before = fingerprint(pipeline.sink, pipeline.checkpoint)
    everything = sorted([*range(30), *range(500, 540)])
    assert pipeline.ids() == everything
    for execute in (False, True):
        done = pipeline.recover("full_refresh", execute=execute)
        assert done.status == 4, done.output
        assert "Others have written to" in done.output and "40 rows in version" in done.output
        assert "query " in done.output and "REFRESH_INTO" in done.output and "ACCEPT_LOSS" in done.output
    assert fingerprint(pipeline.sink, pipeline.checkpoint) == before

    into = tmp_path / "refreshed"
    done = pipeline.recover("full_refresh", set_in_script={"REFRESH_INTO": str(into)})
    assert done.status == 5, done.output  # rows of a Delta source are not counted by the script
    assert "Others have written" not in done.output
    assert (pipeline.ids(into), pipeline.ids()) == (OWN, everything)


def test_full_refresh_says_what_others_did_to_the_table_and_is_lost_by_it(
    delta: DeltaEngine, tmp_path: Path
) -> None:
    pipeline = Pipeline(delta, tmp_path, forget=False)
    delta.run(OTHERS, how="insert", source=str(pipeline.source), table=str(pipeline.sink))
    done = pipeline.recover("full_refresh")
    assert (done.status, "WRITE (2 rows in version 3)" in done.output) == (4, True), done.output
    done = pipeline.recover("full_refresh", set_in_script={"ACCEPT_LOSS": True})
    assert done.status == 5, done.output
    assert "NOT CHECKED: what others wrote to" in done.output, done.output
    assert "WRITE (2 rows in version 3). It is still in" in done.output
    assert pipeline.ids() == OWN
    status, again = delta.run(RUN_SCRIPT, path=str(tmp_path / "recover_full_refresh.py"), execute=True)
    assert (status, "WRITE (2 rows in version 3)" in again) == (5, True), again


@pytest.mark.parametrize("how", ["kept", "restored"])
def test_full_refresh_is_not_stopped_by_what_changes_no_row_or_was_undone(
    delta: DeltaEngine, tmp_path: Path, how: str
) -> None:
    pipeline = Pipeline(delta, tmp_path, forget=False)
    delta.run(OTHERS, how=how, source=str(pipeline.source), table=str(pipeline.sink))
    more = {"SINK_IS_OURS": True} if how == "restored" else {}
    done = pipeline.recover("full_refresh", set_in_script=more)
    assert (done.status, "thers" in done.output) == (5, False), done.output
    assert pipeline.ids() == OWN


def test_a_backfill_brings_back_what_others_added_and_refuses_what_they_changed(
    delta: DeltaEngine, tmp_path: Path
) -> None:
    pipeline = Pipeline(delta, tmp_path, forget=False)
    delta.run(OTHERS, how="insert", source=str(pipeline.source), table=str(pipeline.sink))
    done = pipeline.recover("backup_and_backfill", execute=False, backfill_keys="id")
    assert (done.status, "Others have added rows to" in done.output) == (0, True), done.output
    delta.run(OTHERS, how="update", source=str(pipeline.source), table=str(pipeline.sink))
    done = pipeline.recover("backup_and_backfill", execute=False, backfill_keys="id")
    assert (done.status, "UPDATE (1 rows in version 4)" in done.output) == (4, True), done.output


def test_full_refresh_of_a_foreach_batch_table_refuses_what_another_query_wrote(
    delta: DeltaEngine, tmp_path: Path
) -> None:
    pipeline = Pipeline(delta, tmp_path, forget=False)
    target = tmp_path / "target"
    pipeline.query.write_text(
        "def transform(df):\n    return df.select('id')\n"
        "def write_batch(df, batch_id):\n"
        f"    df.write.format('delta').mode('append').save({str(target)!r})\n",
        encoding="utf-8",
    )
    delta.run("spark.range(30).write.format('delta').save(args['t'])\nresult = 0", t=str(target))
    more = {"sink": "foreach_append", "sink_path": str(target), "sink_format": "delta"}
    done = pipeline.recover("full_refresh", execute=False, **more)
    assert done.status == 0, done.output
    delta.run(OTHERS, how="query", source=str(pipeline.source), table=str(target))
    done = pipeline.recover("full_refresh", execute=False, **more)
    assert (done.status, "let write_batch write to a new one" in done.output) == (4, True), done.output


def test_a_table_that_was_dropped_and_made_again_asks_for_a_value_and_is_then_written(
    delta: DeltaEngine, tmp_path: Path
) -> None:
    pipeline = Pipeline(delta, tmp_path, forget=False)
    shutil.rmtree(pipeline.sink)
    made = "spark.sql(f'CREATE TABLE delta.`{args[\"t\"]}` (id BIGINT) USING delta')\nresult = 0"
    delta.run(made, t=str(pipeline.sink))
    given = ConnectorSettings(sink=parse_location(str(pipeline.sink)))
    more = {"sink_path": "", "query_file": str(pipeline.query)}
    done = pipeline.recover("full_refresh", given=given, **more)
    assert (done.status, "SINK_IS_OURS = True" in done.output) == (4, True), done.output
    done = pipeline.recover("full_refresh", given=given, set_in_script={"SINK_IS_OURS": True}, **more)
    assert done.status == 5, done.output  # rows of a Delta source are not counted by the script
    assert pipeline.ids() == OWN


CHANGES = """
table = args["source"]
spark.sql(f"CREATE TABLE delta.`{table}` (id BIGINT) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)")
spark.range(0, 3).coalesce(1).write.format("delta").mode("append").save(table)
spark.sql(f"UPDATE delta.`{table}` SET id = 10 WHERE id = 1")
spark.sql(f"DELETE FROM delta.`{table}` WHERE id = 2")
frame = spark.readStream.format("delta").option("readChangeFeed", "true").option("startingVersion", "0").load(table)
writer = frame.select("id", "_change_type").writeStream.format("delta").option("checkpointLocation", args["checkpoint"])
writer.trigger(availableNow=True).start(args["sink"]).awaitTermination()
result = 0
"""
CHANGED = (
    "result = sorted([row[0], row[1]] for row in"
    " spark.read.format('delta').load(args['table']).select('id', '_change_type').collect())"
)


@pytest.mark.parametrize("start", [None, "0"])
def test_a_refresh_of_a_change_feed_has_all_changes_only_with_its_starting_version(
    delta: DeltaEngine, tmp_path: Path, start: str | None
) -> None:
    pipeline = Pipeline.__new__(Pipeline)
    pipeline.engine, pipeline.place = delta, tmp_path
    pipeline.source, pipeline.sink = tmp_path / "source", tmp_path / "sink"
    pipeline.checkpoint, pipeline.query = tmp_path / "checkpoint", tmp_path / "query.py"
    pipeline.query.write_text("def transform(df):\n    return df.select('id', '_change_type')\n", "utf-8")
    delta.run(CHANGES, **pipeline.places())
    before = delta.run(CHANGED, table=str(pipeline.sink))
    assert len(before) == 6  # three inserts, both sides of the update, the delete
    given = {"source.0.option.readChangeFeed": "true"}
    if start is not None:
        given["source.0.option.startingVersion"] = start
    done = pipeline.recover("full_refresh", **given)
    assert done.status == 5, done.output
    after = delta.run(CHANGED, table=str(pipeline.sink))
    assert after == (before if start is not None else [[0, "insert"], [10, "insert"]])


def test_full_refresh_writes_the_table_anew_and_keeps_the_old_one(delta: DeltaEngine, tmp_path: Path) -> None:
    pipeline = Pipeline(delta, tmp_path, forget=True)
    done = pipeline.recover("full_refresh")
    assert done.status == 5, done.output  # rows of a Delta source are not counted by the script
    assert pipeline.ids() == list(range(40))
    assert pipeline.ids(next(tmp_path.glob("sink.before-refresh-batch-*"))) == list(range(30))


def test_backfill_merges_only_keys_that_are_missing_or_newer(delta: DeltaEngine, tmp_path: Path) -> None:
    pipeline = Pipeline(delta, tmp_path, forget=False, waiting=False)
    target = tmp_path / "target"
    pipeline.query.write_text(
        "def transform(df):\n    return df.select('id', 'seq')\n"
        "def write_batch(df, batch_id):\n"
        f"    df.dropDuplicates(['id']).write.format('delta').mode('append').save({str(target)!r})\n",
        encoding="utf-8",
    )
    # The old target has a newer row for key 3, an older one for key 4, and key 77, which is no longer at the
    # source.
    rows = (
        "spark.createDataFrame([(3, 99), (4, 1), (77, 7)], 'id long, seq"
        " long').write.format('delta').save(args['target'])"
    )
    delta.run(rows, target=str(target))
    more = {
        "sink": "foreach_merge",
        "sink_path": str(target),
        "sink_format": "delta",
        "backfill_keys": "id",
        "backfill_sequence": "seq",
    }
    done = pipeline.recover("backup_and_backfill", output_mode="append", **more)
    assert done.status == 5, done.output  # rows of a Delta source are not counted by the script
    found = delta.run(
        "result = {r['id']: r['seq'] for r in spark.read.format('delta').load(args['t']).collect()}",
        t=str(target),
    )
    assert {int(key): value for key, value in found.items()} == {**{i: i for i in range(30)}, 3: 99, 77: 7}
