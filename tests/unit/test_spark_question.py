"""State through Spark, as far as no Spark is needed: what can be asked, what is staged, what is compared."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.checkpoint.asked import find_operator
from core.checkpoint.model import OperatorState
from core.checkpoint.state_content.counts import PartitionCount
from core.checkpoint.state_content.replay import UNKNOWN, KeyCount
from core.errors import RowsDiffer, SparkCancelled, StagingError, UsageError
from core.settings import Settings
from core.spark import StateQuestion, question_code, state_choices
from core.spark.comparison import compare
from core.spark.process import first_line, is_here
from core.spark.question import reader_options
from core.spark.sql import check_sql
from core.spark.staging import stage
from tests.support.build import SAMPLES

AGGREGATION = "windowed-aggregation-hot-partition"
JOIN = "join-watermark-held-back"
TRANSFORM = "transform-with-state-timers"


def opened(name: str, **settings: object) -> tuple[Checkpoint, OperatorState, int]:
    ck = Checkpoint.open(str(SAMPLES / name / "checkpoint"), Settings(**settings))  # type: ignore[arg-type]
    last = ck.last_committed_batch
    assert last is not None
    ck.load([last])
    return ck, find_operator(ck, 0), last


@pytest.mark.parametrize(
    ("name", "change", "key"),
    [
        (JOIN, {}, "spark.needs_side"),
        (JOIN, {"side": "left", "store": "left-keyToNumValues"}, "spark.side_and_store"),
        (JOIN, {"side": "left", "changes": (1, 2)}, "spark.changes_of_side"),
        (JOIN, {"store": "default"}, "spark.no_store"),
        (AGGREGATION, {"side": "left"}, "spark.no_sides"),
        (AGGREGATION, {"variable": "totals"}, "spark.no_variables"),
        (AGGREGATION, {"timers": True}, "spark.no_variables"),
        (AGGREGATION, {"changes": (3, 2)}, "spark.changes_order"),
        (AGGREGATION, {"snapshot": (99, 0)}, "spark.snapshot_after"),
        (AGGREGATION, {"limit": 0}, "spark.limit"),
        (TRANSFORM, {}, "spark.needs_variable"),
        (TRANSFORM, {"variable": "$eventTimers_keyToTimestamp"}, "spark.needs_variable"),
        (TRANSFORM, {"variable": "totals", "timers": True}, "spark.timers_and_variable"),
        (TRANSFORM, {"timers": True, "changes": (1, 2)}, "spark.changes_alone"),
    ],
)
def test_a_combination_that_spark_refuses_cannot_be_asked(
    name: str, change: dict[str, object], key: str
) -> None:
    _, operator, last = opened(name)
    question = StateQuestion(last, **change)  # type: ignore[arg-type]
    with pytest.raises(UsageError) as refused:
        reader_options(operator, question)
    assert getattr(refused.value.args[0], "key", None) == key


def test_an_operator_that_is_not_there_and_a_query_without_state() -> None:
    ck, _, _ = opened(AGGREGATION)
    with pytest.raises(UsageError, match="no operator 7"):
        find_operator(ck, 7)
    without = Checkpoint.open(str(SAMPLES / "named-sources/checkpoint"), Settings())
    with pytest.raises(UsageError, match="keeps no state"):
        find_operator(without, 0)


def test_the_choices_are_what_the_metadata_says() -> None:
    choices = state_choices(opened(TRANSFORM)[1])
    assert (choices.variables, choices.lists, choices.has_timers) == (
        ("amounts", "totals"),
        ("amounts",),
        True,
    )
    choices = state_choices(opened(JOIN)[1])
    assert choices.needs_side and choices.sides == ("left", "right") and len(choices.stores) == 4


def test_only_the_files_of_the_version_are_staged_and_the_checkpoint_is_not_touched(tmp_path: Path) -> None:
    ck, operator, _ = opened("purged-to-newest-10")
    root = stage(ck, operator, StateQuestion(25), tmp_path)
    names = {path.name for path in (root / "state/0/0").iterdir() if not path.name.startswith(".")}
    assert names == {"22.snapshot", "22.delta", "23.delta", "24.delta", "25.delta", "26.delta", "_metadata"}
    assert {path.name for path in (root / "commits").iterdir()} == {"24", "25"}
    older = stage(ck, operator, StateQuestion(20), tmp_path)
    assert (older / "state/0/1/11.snapshot").is_file() and not (older / "state/0/1/22.snapshot").exists()


def test_schemas_of_the_copy_lie_in_the_copy(tmp_path: Path) -> None:
    ck, operator, last = opened(TRANSFORM)
    root = stage(ck, operator, StateQuestion(last, variable="totals"), tmp_path)
    metadata = (root / "state/0/_metadata/v2/0").read_text(encoding="utf-8").partition("\n")[2]
    (store,) = json.loads(metadata)["stateStoreInfo"]
    for path in store["stateSchemaFilePaths"]:
        assert path.startswith(f"file:{root}/state/0/_stateSchema/")
        assert Path(path.removeprefix("file:")).is_file()
    assert not (root / "state/0/_metadata/v2/.0.crc").exists()


def test_large_files_of_this_machine_are_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.spark.staging.LINKED_BYTES", 1)
    ck, operator, last = opened("purged-to-newest-10", spark_staged_bytes=1024)
    root = stage(ck, operator, StateQuestion(last), tmp_path)
    link = root / "state/0/0/26.delta"
    assert (
        link.is_symlink()
        and link.read_bytes() == (Path(ck.location.path) / "state/0/0/26.delta").read_bytes()
    )
    shown = {"url": str(SAMPLES)}
    on_server, operator, last = opened("purged-to-newest-10", address="0.0.0.0", roots={"s": shown})
    assert not (stage(on_server, operator, StateQuestion(last), tmp_path) / "state/0/0/26.delta").is_symlink()


def test_a_state_that_is_too_large_is_not_staged_and_leaves_nothing(tmp_path: Path) -> None:
    ck, operator, last = opened(AGGREGATION, spark_staged_bytes=1024)
    with pytest.raises(StagingError, match=r"more than the 1\.0 KiB"):
        stage(ck, operator, StateQuestion(last), tmp_path)
    with pytest.raises(SparkCancelled):
        stage(*opened(AGGREGATION)[:2], StateQuestion(last), tmp_path, lambda: True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("missing", ["state/0/0/25.delta", "state/0/1"])
def test_a_missing_file_is_named(missing: str, tmp_path: Path) -> None:
    root = tmp_path / "ck"
    shutil.copytree(SAMPLES / "purged-to-newest-10/checkpoint", root)
    (shutil.rmtree if (root / missing).is_dir() else Path.unlink)(root / missing)
    ck = Checkpoint.open(str(root), Settings())
    with pytest.raises(StagingError, match=missing):
        stage(ck, find_operator(ck, 0), StateQuestion(25), tmp_path)


def count(partition_id: int, keys: KeyCount) -> PartitionCount:
    return PartitionCount(partition_id, keys, 1, 1)


def test_other_rows_than_recorded_are_an_error_that_names_the_partitions() -> None:
    _, operator, last = opened(AGGREGATION)
    recorded = (
        count(0, KeyCount.exact(8, "recorded")),
        count(1, KeyCount(None, 3, 5, "bounds")),
        count(2, UNKNOWN),
        count(3, KeyCount.exact(0, "replayed")),
    )
    question = StateQuestion(last)
    found = compare(operator, question, recorded, {0: 8, 1: 4, 2: 7}, {})
    assert found == {0: "recorded", 1: "bounds", 2: "unknown", 3: "replayed"}
    for read, wrong in (
        ({0: 7, 1: 4}, (0,)),
        ({0: 8, 1: 2}, (1,)),
        ({0: 8, 1: 6, 3: 1}, (1, 3)),
        ({0: 8, 1: 4, 9: 1}, (9,)),
        ({}, (0, 1)),
    ):
        with pytest.raises(RowsDiffer) as differ:
            compare(operator, question, recorded, read, {})
        assert differ.value.partitions == wrong


@pytest.mark.parametrize(
    "query",
    [
        "",
        " -- only a comment",
        "select reflect('java.lang.Runtime', 'x')",
        "select `java_method`('a', 'b')",
        "select TRY_REFLECT /* a */ ('a', 'b')",
        "select transform(key) using 'cat' from state",
        "from state select transform(key)\nUSING -- c\n 'cat'",
        "from state map key using r'cat'",
        'from state reduce key using "cat"',
    ],
)
def test_a_query_that_starts_a_program_or_calls_java_is_refused(query: str) -> None:
    with pytest.raises(UsageError):
        check_sql(query)


@pytest.mark.parametrize(
    "query",
    [
        "select * from state",
        "select transform(array(1), x -> x) from state a join state b using (partition_id)",
        "select 'reflect(x) using ''cat''' as t -- using 'cat'",
        "with a as (select key from state) select count(*) from a",
    ],
)
def test_questions_to_the_view_are_let_through(query: str) -> None:
    check_sql(query)


@pytest.mark.parametrize(
    ("settings", "here"),
    [
        ({}, True),
        ({"spark_master": "local[8]"}, True),
        ({"spark_master": "spark://127.0.0.1:7077"}, True),
        ({"spark_master": "spark://host:7077"}, False),
        ({"spark_master": "yarn"}, False),
        ({"spark_master": "k8s://https://10.0.0.1:6443"}, False),
        ({"spark_remote": "sc://localhost:15002/;token=x"}, True),
        ({"spark_remote": "sc://connect.example.com"}, False),
    ],
)
def test_a_cluster_on_this_machine_reads_the_staged_copy(settings: dict[str, str], here: bool) -> None:
    assert is_here(Settings(**settings)) is here  # type: ignore[arg-type]


def test_the_reason_of_a_failed_job_is_the_failure_of_its_task_in_one_line() -> None:
    text = (
        "An error occurred while calling o70.collectToPython.\n: org.apache.spark.SparkException: Job aborted"
        " due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: Lost task 0.0 in"
        " stage 3.0 (TID 3) (localhost executor driver): java.io.IOException: broken\n\tat a.B.c(B.java:1)"
    )
    assert first_line(text) == "java.io.IOException: broken"
    assert first_line("An error occurred while calling o1.x.\n: java.lang.A: b\n\tat c") == "java.lang.A: b"
    assert len(first_line("x" * 1_000)) == 300


@pytest.mark.parametrize("name", [AGGREGATION, JOIN, TRANSFORM, "state-format-2"])
def test_the_code_compiles_and_carries_strange_values_as_literals(name: str) -> None:
    ck, operator, last = opened(name)
    choices = state_choices(operator)
    question = StateQuestion(
        last,
        side=choices.sides[0] if choices.sides else None,
        variable=choices.variables[0] if choices.variables else None,
        sql="select \"x\" from state -- '''\n\\",
    )
    code = question_code(ck, question)
    compile(code, "question.py", "exec")
    assert ("checkpointFormatVersion" in code) == (name == "state-format-2")


def test_the_code_for_a_side_of_hdfs_backed_state_ends_before_a_spark_that_would_write() -> None:
    """Spark 4.2 begins a delta in each of the four stores; one store alone it only reads."""
    ck, operator, last = opened(JOIN)
    assert operator.provider == "hdfs"
    assert "raise SystemExit(" in question_code(ck, StateQuestion(last, side="left"))
    assert "raise SystemExit(" not in question_code(ck, StateQuestion(last, store="left-keyToNumValues"))


def test_asking_imports_no_pyspark() -> None:
    script = "import sys, core.spark; print([m for m in sys.modules if m.startswith(('pyspark', 'py4j'))])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
