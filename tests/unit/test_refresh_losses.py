"""What a full refresh loses although the source has everything: what others wrote to the Delta table of the
sink, and changes in a Delta source of which only the result is left. tests/spark runs the scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.connectors import ConnectorAnswers
from core.connectors.delta.log import DeltaLog
from core.connectors.other_writers import other_writers
from core.judgement import judge
from core.recovery import Answers, Option, OptionId, generate, options, plan
from core.recovery.context import RecoveryContext
from tests.support.build import QUERY_ID
from tests.support.delta_tables import add, appends, batch, commit, info, metadata, taken, txn
from tests.unit.test_ends_delta import OTHER, checkpoint, offset

NOTHING = "Nothing, if the source really has everything"


def written(place: Path, *later: list[dict[str, object]]) -> Path:
    """A table with three batches of this query in versions 1 to 3, and then the versions of ``later``."""
    commit(place, 0, [info("CREATE TABLE", 0), metadata()])
    for number in range(3):
        commit(place, number + 1, batch(QUERY_ID, number, number + 1))
    for number, actions in enumerate(later, 4):
        commit(place, number, actions)
    return place


def insert(version: int) -> list[dict[str, object]]:
    return [info("WRITE", version, 2, mode="Append"), add(f"other-{version}.parquet", 2)]


def update(version: int) -> list[dict[str, object]]:
    return [info("UPDATE", version), taken("part-1.parquet"), add(f"other-{version}.parquet", 2)]


def restored(version: int, to: int) -> list[dict[str, object]]:
    action = info("RESTORE", version)
    action["commitInfo"]["operationParameters"]["version"] = str(to)
    return [action, taken("other.parquet")]


def asked(
    root: Path, table: Path | None = None, source: Path | None = None, **answers: str
) -> RecoveryContext:
    ck = checkpoint(root, *(offset(number + 1) for number in range(3)))
    tables = {"0": DeltaLog.open(str(source))} if source is not None else {}
    connectors = ConnectorAnswers(
        tables=tables, sink=DeltaLog.open(str(table)) if table is not None else None
    )
    given = {"platform": "pyspark", "source_complete": "yes", **answers}
    return judge(ck, connectors).recovery(Answers(given))


def option(context: RecoveryContext, wanted: OptionId = "full_refresh") -> Option:
    return next(each for each in options(context) if each.id == wanted)


@pytest.mark.parametrize(
    ("later", "found", "is_added"),
    [
        ([], "", True),
        ([insert(4)], "WRITE (version 4)", True),
        ([batch(OTHER, 0, 4), batch(OTHER, 1, 5)], f"query {OTHER} (versions 4 and 5)", True),
        ([update(4)], "UPDATE (version 4)", False),
        ([[info("OPTIMIZE", 4), add("all", 30, data_change=False)]], "", True),
        ([insert(4), restored(5, 3)], "", True),
        ([insert(4), restored(5, 3), insert(6)], "WRITE (version 6)", True),
        ([[info("SET TBLPROPERTIES", 4), metadata()]], "", True),
    ],
)
def test_a_full_refresh_names_what_others_wrote_to_the_table(
    tmp_path: Path, later: list[list[dict[str, object]]], found: str, is_added: bool
) -> None:
    context = asked(tmp_path, written(tmp_path / "s", *later))
    refresh = option(context)
    assert (found in refresh.loses, refresh.loses.startswith(NOTHING)) == (True, not found)
    cautions = " ".join(plan(context, refresh.recipe).caution)
    assert ("REFRESH_INTO" in cautions, "ACCEPT_LOSS" in cautions) == (bool(found), bool(found))
    backfill = option(context, "backup_and_backfill")
    assert ("UPDATE" in backfill.loses) is (found != "" and not is_added)


def test_a_foreach_batch_table_shows_other_queries_and_other_applications(tmp_path: Path) -> None:
    place = tmp_path / "s"
    commit(place, 0, [info("WRITE", 0, 2, mode="Append"), add("a", 2), metadata()])
    log = DeltaLog.open(str(place))
    assert [each.who for each in other_writers(log, QUERY_ID, "foreach_append")] == []
    assert [each.who for each in other_writers(log, QUERY_ID, "foreach_txn")] == ["WRITE"]
    commit(place, 1, [info("WRITE", 1, 2, mode="Append"), add("b", 2), txn("nightly", 1)])
    alone = DeltaLog.open(str(place))
    assert [each.who for each in other_writers(alone, QUERY_ID, "foreach_append")] == []
    commit(place, 2, [info("WRITE", 2, 2, mode="Append"), add("c", 2), txn(QUERY_ID, 1)])
    commit(place, 3, batch(OTHER, 0, 3))
    both = DeltaLog.open(str(place))
    named = ["application nightly", f"query {OTHER}"]
    assert [each.who for each in other_writers(both, QUERY_ID, "foreach_append")] == named
    context = asked(tmp_path, place, sink="foreach_append", sink_path=str(place), sink_format="delta")
    cautions = " ".join(plan(context, option(context).recipe).caution)
    assert "write_batch writes to a new table" in cautions and OTHER in option(context).loses


def test_a_table_that_was_dropped_and_made_again_is_filled_in_and_what_the_script_asks_for_is_said(
    tmp_path: Path,
) -> None:
    """The recommended script asked for the place that had been given, and then for a value that nobody had
    named."""
    sink = tmp_path / "s"
    commit(sink, 0, [info("CREATE TABLE", 0), metadata()])
    context = asked(tmp_path, sink, sink="delta")
    refresh = option(context)
    assert refresh.recommended
    assert f"SINK_PATH = {str(sink)!r}".replace("'", '"') in generate(context, "full_refresh")[0].text
    cautions = " ".join(plan(context, refresh.recipe).caution)
    assert "SINK_IS_OURS = True" in cautions and "REFRESH_INTO" in cautions


@pytest.mark.parametrize(
    ("name", "start", "words"),
    [
        ("readChangeFeed", None, "the changes up to today"),
        ("readChangeFeed", "0", ""),
        ("skipChangeCommits", None, "come as they are now"),
        ("skipChangeCommits", "0", ""),
    ],
)
def test_a_full_refresh_names_the_changes_of_which_the_snapshot_has_the_result_alone(
    tmp_path: Path, name: str, start: str | None, words: str
) -> None:
    given = {f"source.0.option.{name}": "true", "sink": "foreach_append"}
    if start is not None:
        given["source.0.option.startingVersion"] = start
    context = asked(tmp_path, **given)
    refresh = option(context)
    assert words in refresh.loses and refresh.loses.startswith(NOTHING) is not bool(words)
    assert words in " ".join(plan(context, refresh.recipe).caution)


@pytest.mark.parametrize(
    ("is_on", "oldest", "words"),
    [(True, 0, "startingVersion = 0 gives all"), (False, 0, ""), (True, 2, "startingVersion = 2 gives the")],
)
def test_where_the_change_feed_is_still_there_the_start_option_is_named(
    tmp_path: Path, is_on: bool, oldest: int, words: str
) -> None:
    source = appends(tmp_path / "t", 4)
    on = {"delta.enableChangeDataFeed": "true"} if is_on else {}
    commit(source, 0, [info("CREATE TABLE", 0), metadata(**on)])
    for version in range(oldest):
        (source / "_delta_log" / f"{version:020d}.json").unlink()
    given = {"source.0.option.readChangeFeed": "true", "sink": "foreach_append"}
    loses = option(asked(tmp_path, source=source, **given)).loses
    assert words in loses and ("startingVersion =" in loses) is bool(words)
