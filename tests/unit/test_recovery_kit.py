"""The kit as code, without Spark: it is one text for everybody, runs on its own, and says when it was changed."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core.recovery import OPTION_IDS, Answers, generate, read_recovery_context
from core.recovery.code import SCRIPTS, WITH_BACKFILL
from core.recovery.kit import KIT_MARK, ending, files, kafka, kit_of, run, sink, starting, words
from core.recovery.kit.backfill import Backfill
from core.recovery.kit.backup import Backup
from core.recovery.kit.carrying_out import arguments_of, carry_out, run_of
from core.recovery.kit.copying import Copy, check_unused
from core.recovery.kit.older_files import is_out_of_order
from core.recovery.kit.placement import parts_of, placed
from core.recovery.kit.query import QueryRun, with_secrets
from core.recovery.kit.rehearsing import moved
from core.recovery.kit.reset_state import NewState
from core.recovery.kit.rewind import RolledBack, State
from core.recovery.kit.session import is_another_spark
from core.recovery.kit.skip_batch import BehindBatch
from core.recovery.kit_text import kit_sha256, kit_text, with_kit
from core.recovery.repairs import REPAIRS
from tests.unit.test_recovery_judgement import file_checkpoint

VALUES: dict[str, Any] = {
    "MADE_BY": "a test",
    "OLD_CHECKPOINT": "/old",
    "NEW_CHECKPOINT": "/new",
    "QUERY_ID": "q",
    "LAST_COMMITTED_BATCH": 3,
    "NEWEST_OFFSET": 4,
    "PENDING_BATCH": 4,
    "SINK": "file",
    "SINK_PATH": "/out",
    "REQUIRED": {"NEW_CHECKPOINT": "a place", "SINK_PATH": "the output"},
    "PLAN": ["Stop the query."],
    "look": lambda given: None,
    "recover": lambda given: [(True, "it is so")],
}


class Disk:
    """The file system of this machine behind the methods of the kit's files that only read."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @staticmethod
    def is_inside(one: str, other: str) -> bool:
        return one.startswith(f"{other}/")

    def names(self, place: str) -> list[str]:
        directory = self.root / place.lstrip("/")
        return sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []

    def numbers(self, place: str) -> list[int]:
        return sorted(int(name) for name in self.names(place) if name.isdigit())

    def directories(self, place: str) -> list[str]:
        return [name for name in self.names(place) if (self.root / place.lstrip("/") / name).is_dir()]

    def exists(self, place: str) -> bool:
        return (self.root / place.lstrip("/")).exists()

    def read(self, place: str) -> str:
        return (self.root / place.lstrip("/")).read_text(encoding="utf-8")

    def sizes(self, place: str) -> dict[str, int]:
        top = self.root / place.lstrip("/")
        return {str(path.relative_to(top)): path.stat().st_size for path in top.rglob("*") if path.is_file()}


def on(root: Path, **more: object) -> run.Run:
    """A run whose files lie below a directory."""
    made = run.Run({**VALUES, **more})
    made.files = Disk(root)  # type: ignore[assignment]
    return made


def put(root: Path, **texts: str) -> None:
    """Files by path; ``__`` stands for a slash."""
    for name, text in texts.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


# ---------------------------------------------------------------- one text for everybody


def test_the_kit_is_the_modules_as_they_are_in_one_text_that_a_name_stands_in_once() -> None:
    text, names = kit_text(), Counter[str]()
    room = Path(words.__file__).parent
    for path in room.glob("[!_]*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names[node.name] += 1
                assert ast.get_source_segment(path.read_text(encoding="utf-8"), node) in text, node.name
            elif isinstance(node, ast.Assign):
                names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    assert names and max(names.values()) == 1
    assert "core." not in re.sub(r"python -m core", "", text), "the kit knows nothing of the project"
    assert not any(line.startswith(KIT_MARK) for line in text.splitlines())
    scope: dict[str, Any] = {"__name__": "kit"}
    exec(compile(text, "kit", "exec"), scope)
    assert scope["KIT_VERSION"] == words.KIT_VERSION and set(names) <= set(scope)


def test_no_value_of_a_script_has_a_name_of_the_kit(tmp_path: Path) -> None:
    scope: dict[str, Any] = {"__name__": "kit"}
    exec(compile(kit_text(), "kit", "exec"), scope)
    made = 0
    for sink_of_query in ("file", "delta", "foreach_append"):
        context = read_recovery_context(
            file_checkpoint(tmp_path / sink_of_query), Answers({"sink": sink_of_query, "platform": "pyspark"})
        )
        for option in OPTION_IDS:
            for block in generate(context, option):
                own = block.own_text
                made += 1
                assert block.text == with_kit(own[: own.rindex(KIT_MARK)])
                assigned = {
                    target.id
                    for node in ast.parse(own).body
                    if isinstance(node, ast.Assign)
                    for target in node.targets
                    if isinstance(target, ast.Name)
                }
                assert not assigned & set(scope)
    assert made


@pytest.mark.parametrize(
    "name", sorted({*SCRIPTS.values(), WITH_BACKFILL, *(repair.template for repair in REPAIRS.values())})
)
def test_the_steps_of_a_script_are_calls_of_names_that_are_there(name: str) -> None:
    """No logic: the two functions have neither a loop nor a branch, and what they call is in the kit."""
    template = Path(words.__file__).parents[1] / "templates" / name
    body = template.read_text(encoding="utf-8").split("{% block steps %}")[1].split("{% endblock %}")[0]
    assert "{%" not in body and "{{" not in body
    tree = ast.parse(body)
    assert [node.name for node in tree.body if isinstance(node, ast.FunctionDef)] == ["look", "recover"]
    branches = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.Lambda, ast.comprehension, ast.IfExp)
    assert not [node for node in ast.walk(tree) if isinstance(node, branches)]
    scope: dict[str, Any] = {"__name__": "kit"}
    exec(compile(kit_text(), "kit", "exec"), scope)
    called = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert called - set(scope) == {"look"} - ({"look"} - called)


def test_a_changed_kit_is_named_and_an_unchanged_one_is_not(tmp_path: Path) -> None:
    context = read_recovery_context(file_checkpoint(tmp_path), Answers({"sink": "file"}))
    text = generate(context, "backup")[0].text.replace(
        'OLD_CHECKPOINT = "', 'OLD_CHECKPOINT = None or "" and "'
    )
    own, kit = kit_of(text)
    assert hashlib.sha256(kit.encode()).hexdigest() == kit_sha256()
    for changed in (False, True):
        script = tmp_path / "script.py"
        script.write_text(own + (kit.replace("Nothing was changed", "All is new") if changed else kit))
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 4 and "OLD_CHECKPOINT: its path" in done.stdout, done.stdout + done.stderr
        assert ("is not kit 1 as it was handed out" in done.stdout) == changed


# ---------------------------------------------------------------- a run


def test_values_that_are_missing_are_named_and_a_place_that_is_not_known_is_empty() -> None:
    made = run.Run({**VALUES, "NEW_CHECKPOINT": None, "SINK_PATH": None, "OLD_CHECKPOINT": None})
    assert made.missing == ["NEW_CHECKPOINT: a place", "SINK_PATH: the output"]
    assert (made.old_checkpoint, made.new_checkpoint, made.sink_path, made.backup) == ("", "", "", "")


def test_a_query_writes_beside_its_old_output_only_where_the_script_says_so() -> None:
    query = {**VALUES, "QUERY_FILE": "q.py", "SINK_PATH": "/out/"}
    assert QueryRun(query).output == "/out/" and QueryRun(query).aside_output == "/out.before-refresh-batch-3"
    assert QueryRun({**query, "NEW_SINK_PATH": None}).output == "/out.after-batch-3"
    assert QueryRun({**query, "NEW_SINK_PATH": "/b"}).output == "/b"
    assert QueryRun({**query, "NEW_SINK_PATH": None, "SINK_PATH": None}).output == ""
    assert run_of(query).ending_of_0 == "Done and proven on the rows." != run_of(VALUES).ending_of_0


def test_a_delta_table_by_name_and_a_secret_that_is_not_set_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_source = {"FORMAT": "delta", "PATH": "sales.t", "SCHEMA": None, "OPTIONS": {"a": "b"}, "SECRETS": {}}
    values = {f"SOURCE_0_{name}": value for name, value in of_source.items()}
    query = {**VALUES, **values, "QUERY_FILE": "q.py", "SOURCES": [{"key": "0", "kind": "delta"}]}
    assert QueryRun({**query, "SINK": "delta", "SINK_PATH": "t"}).missing == [
        f"{name}: the location of the Delta table (DESCRIBE DETAIL shows it), not its name"
        for name in ("SINK_PATH", "SOURCE_0_PATH")
    ]
    assert QueryRun({**query, "SOURCE_0_SERVERS": "b:1"}).sources[0]["options"] == {
        "a": "b",
        "kafka.bootstrap.servers": "b:1",
    }
    monkeypatch.delenv("NO_SUCH_VARIABLE", raising=False)
    with pytest.raises(words.Refused, match=r"NO_SUCH_VARIABLE is not set; .* option password"):
        with_secrets({}, {"password": "NO_SUCH_VARIABLE"}, "option")
    monkeypatch.setenv("NO_SUCH_VARIABLE", "x")
    assert with_secrets({"a": "b"}, {"password": "NO_SUCH_VARIABLE"}, "option") == {"a": "b", "password": "x"}


def test_a_query_file_that_is_not_there_ends_python_or_lacks_a_function_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "q.py"
    for text, why in (
        (None, "is not a Python file"),
        ("import sys; sys.exit(3)", "SystemExit"),
        ("", "transform"),
    ):
        if text is not None:
            file.write_text(text)
        with pytest.raises(words.Refused, match=why):
            QueryRun({**VALUES, "QUERY_FILE": str(file)}).load()
    file.write_text("def transform(df):\n    return df\n")
    QueryRun({**VALUES, "QUERY_FILE": str(file)}).load()
    with pytest.raises(words.Refused, match="has no function write_batch"):
        QueryRun({**VALUES, "QUERY_FILE": str(file), "SINK": "other"}).load()
    assert not (tmp_path / "__pycache__").exists()


@pytest.mark.parametrize(
    ("position", "state"), [(None, "new"), (3, "behind_log_start"), (5, "ok"), (9, "ok"), (10, "beyond_end")]
)
def test_what_a_broker_makes_of_a_position(position: int | None, state: str) -> None:
    assert kafka.position_state(position, 5, 9) == state


def test_expired_records_and_a_recreated_topic_are_refused_unless_the_plan_has_them() -> None:
    made = QueryRun({**VALUES, "QUERY_FILE": "q.py"})
    assert (
        kafka.resumed(made, "t-0", 7, (5, 9), False) == 7
        and kafka.resumed(made, "t-0", None, (5, 9), False) is None
    )
    with pytest.raises(words.Refused, match="the offsets 3 to 4 have expired"):
        kafka.resumed(made, "t-0", 3, (5, 9), False)
    with pytest.raises(words.Refused, match="before the position 10: the topic was deleted and recreated"):
        kafka.resumed(made, "t-0", 10, (5, 9), False)
    assert kafka.resumed(made, "t-0", 10, (5, 9), True) is None
    made.accept_loss = True
    assert kafka.resumed(made, "t-0", 3, (5, 9), False) is None


@pytest.mark.parametrize("assigned", [None, '{"t": [0]}'])
def test_a_topic_that_lacks_a_partition_starts_at_its_oldest_record(
    assigned: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = QueryRun({**VALUES, "QUERY_FILE": "q.py"})
    made.accept_loss = True
    monkeypatch.setattr(QueryRun, "spark", None)
    monkeypatch.setattr(kafka, "broker_offsets", lambda *_: {"t": {"0": (0, 9)}, "u": {"0": (0, 9)}})
    options = {"subscribe": "t,u"} if assigned is None else {"assign": '{"t": [0], "u": [0]}'}
    position = '{"t": {"0": 5, "1": 5}, "u": {"0": 4}}'
    source = {"options": options, "position": position, "start": {}, "secrets": {}}
    start = kafka.kafka_start(made, source, special=True)
    assert start == {"t": {"0": -2}, "u": {"0": 4}}


def test_the_places_of_a_rehearsal_lie_below_one_directory() -> None:
    roots = {"/ck": "/r/checkpoint", "/ck.d/out": "/r/output"}
    assert (
        moved("new_checkpoint", "/ck.reset-after-batch-3", roots, "/r") == "/r/checkpoint.reset-after-batch-3"
    )
    assert moved("output", "/ck.d/out", roots, "/r") == "/r/output"
    assert moved("backup", "/elsewhere/b", roots, "/r") == "/r/backup"
    assert moved("output", "/elsewhere/o", roots, "/r") == "/r/new-output"


def test_a_plan_is_known_again_by_its_values() -> None:
    one = run.Run(VALUES).plan_id
    assert one == run.Run(dict(VALUES)).plan_id
    for name in ("QUERY_ID", "LAST_COMMITTED_BATCH", "PENDING_BATCH", "OLD_CHECKPOINT", "NEW_CHECKPOINT"):
        assert run.Run({**VALUES, name: None}).plan_id != one
    assert run.Run({**VALUES, "PLAN": ["Another."]}).plan_id != one


def test_a_record_of_another_plan_and_a_place_of_somebody_else_are_refused(tmp_path: Path) -> None:
    made = on(tmp_path)
    run.check_new_place(made)
    (tmp_path / "new").mkdir()
    with pytest.raises(words.Refused, match="was not made by this script"):
        run.check_new_place(made)
    put(tmp_path, **{"new.recovery.json": json.dumps({"plan": made.plan_id})})
    run.check_new_place(made)
    put(tmp_path, **{"new.recovery.json": json.dumps({"plan": "of another"})})
    with pytest.raises(words.Refused, match="written by another plan"):
        run.check_new_place(made)


def test_a_new_checkpoint_is_complete_or_not_there_and_what_is_unfinished_is_named(tmp_path: Path) -> None:
    class Writable(Disk):
        put_aside = files.Files.put_aside

        def rename(self, source: str, target: str) -> None:
            (self.root / source.lstrip("/")).rename(self.root / target.lstrip("/"))

    made = run.Run({**VALUES, "NEW_CHECKPOINT": "/new"})
    made.files = Writable(tmp_path)  # type: ignore[assignment]
    with pytest.raises(OSError, match="full"), run.under_another_name(made) as building:
        put(tmp_path, **{f"{building.lstrip('/')}/metadata": "half"})
        raise OSError("the disk is full")
    assert made.changed == [f"{building} is an unfinished checkpoint; undo: remove it"]
    assert not (tmp_path / "new").exists()
    with run.under_another_name(made) as building:
        put(tmp_path, **{f"{building.lstrip('/')}/metadata": "whole"})
        made.changed.append("something else")
    assert made.changed[1:] == ["/new is a new checkpoint; undo: remove it", "something else"]
    assert (tmp_path / "new" / "metadata").read_text() == "whole"
    assert (tmp_path / f"{building.lstrip('/')}.leftover-1" / "metadata").read_text() == "half"


def test_a_checkpoint_that_has_moved_and_a_copy_that_has_run_are_refused(tmp_path: Path) -> None:
    put(tmp_path, old__commits__3="v1\n{}", old__offsets__4="v1\n{}\n0")
    made = on(tmp_path)
    run.check_unmoved(made, "/old")
    check_unused(made, 4)
    put(tmp_path, old__commits__4="v1\n{}", new__offsets__5="v1\n{}\n0")
    with pytest.raises(words.Refused, match="in commits is 4, the plan was made for 3"):
        run.check_unmoved(made, "/old")
    with pytest.raises(words.Refused, match="has run with it since"):
        check_unused(made, 4)


@pytest.mark.parametrize(
    ("checks", "status", "last"),
    [
        ([(True, "a")], 0, "Done and proven on the files."),
        ([(True, "a"), (None, "b")], 5, "Done, but NOT PROVEN"),
        ([(True, "a"), (None, "b"), (False, "c")], 3, "The verification FAILED"),
    ],
)
def test_the_verdict_is_the_worst_of_the_checks(
    checks: list[Any], status: int, last: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = run.Run({**VALUES, "recover": lambda given: checks})
    assert carry_out(made, True, True) == status
    shown = capsys.readouterr().out
    assert last in shown and ("checkpointLocation '/new'" in shown) == (status != 3)


def test_a_refusal_is_4_with_what_was_changed_and_an_error_is_1_in_one_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuses(given: run.Run) -> Any:
        given.changed.append("a is new; undo: remove it")
        raise words.Refused("It does not fit.")

    def fails(given: run.Run) -> Any:
        raise OSError("\n\nThe disk is full\nat java.lang.Thread")

    assert carry_out(run.Run({**VALUES, "recover": refuses}), True, True) == 4
    assert capsys.readouterr().out == "Refused: It does not fit.\n  a is new; undo: remove it\n"
    assert carry_out(run.Run({**VALUES, "look": fails}), False, False) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[:2] == ["Stopped: OSError: The disk is full", "Nothing was changed."]
    Path(shown[2].removeprefix("The whole trace: ")).unlink()


def test_what_is_printed_cannot_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    words.show("a\x1b[31mb\u202ec\nd")
    assert capsys.readouterr().out == "a\\x1b[31mb\\u202ec\nd\n"


def test_a_rehearsal_and_an_execution_exclude_each_other() -> None:
    assert arguments_of(["--rehearse"]).rehearse == "" and arguments_of(["--rehearse", "d"]).rehearse == "d"
    assert arguments_of([]).rehearse is None and not arguments_of([]).execute
    with pytest.raises(SystemExit):
        arguments_of(["--rehearse", "--execute"])


# ---------------------------------------------------------------- logs


def test_a_compacted_log_is_read_and_a_gap_is_refused(tmp_path: Path) -> None:
    disk: Any = Disk(tmp_path)
    line = '{"path":"f%d","timestamp":%d,"batchId":%d}'
    put(tmp_path, **{"log__1.compact": "v1\n" + line % (0, 1, 0) + "\n" + line % (1, 1, 1)})
    put(tmp_path, log__1="v1\n" + line % (9, 9, 9), log__2="v1\n" + line % (0, 7, 2))
    assert [each["path"] for each in files.file_log(disk, "log", -1, 2)] == ["f0", "f1"]
    assert [each["timestamp"] for each in files.file_log(disk, "log", -1, 2)] == [7, 1]
    assert [each["path"] for each in files.file_log(disk, "log", 0, 1)] == ["f1"]
    with pytest.raises(words.Refused, match=r"lacks the entries \[3\]"):
        files.log_entries(disk, "log", 3)


def test_the_logs_of_a_copy_are_judged_as_a_start_reads_them(tmp_path: Path) -> None:
    disk: Any = Disk(tmp_path)
    put(tmp_path, ck__metadata='{"id":"6c1b1b5e-4b1c-4b0e-8b0e-1a2b3c4d5e6f"}', ck__commits__2="v1\n{}")
    put(tmp_path, ck__offsets__1="v1\n{}\n0", ck__offsets__2="v1\n{}\n1", ck__offsets__3="v2\n{}\n0:2")
    assert {good for good, _ in starting.check_logs(disk, "ck", False)} == {True}
    assert starting.offset_file(disk, "ck", 3)[1] == {"0": "2"}
    put(tmp_path, ck__offsets__5="v1\n{}\n9", ck__metadata="{}")
    wrong = [text for good, text in starting.check_logs(disk, "ck", False) if good is False]
    assert wrong[0].startswith("metadata cannot be read") and "the newest offset file is 5" in wrong[1]
    assert any(text.startswith("offsets/4 cannot be read") for text in wrong)


def test_a_store_without_the_version_of_the_newest_commit_is_found(tmp_path: Path) -> None:
    disk: Any = Disk(tmp_path)
    put(
        tmp_path,
        **{"ck__commits__2": "v1\n{}", "ck__state__0__0__3.delta": "", "ck__state__0__1__2.delta": ""},
    )
    ((good, text),) = starting.check_state_versions(disk, "ck")
    assert good is False and "state version 3 is missing in 1 of 2 stores, for example in 0/1" in text
    put(tmp_path, **{"ck__state__0__1__3_a-b.changelog": ""})
    assert starting.check_state_versions(disk, "ck") == [(True, "all 2 stores have state version 3")]
    assert starting.version_of("12_u-u.zip") == 12 and starting.version_of("12.delta.tmp") is None


# ---------------------------------------------------------------- copies


def test_a_rollback_keeps_what_the_batch_had_and_nothing_later(tmp_path: Path) -> None:
    copy = RolledBack(on(tmp_path), 5)
    kept = ("offsets/5", "commits/5", "metadata", "sources/0/9", "state/0/0/6.delta", "state/0/0/left/6.zip")
    later = ("offsets/6", "commits/6", "state/0/0/7.snapshot", "state/0/1/x/7_u.changelog", "offsets/007x")
    assert all(map(copy.is_wanted, kept)) and not any(map(copy.is_wanted, later))
    assert not copy.is_wanted("state/0/_metadata/v2/6") and copy.is_wanted("state/0/_metadata/v2/5")


def test_the_newest_committed_offsets_get_the_ends_of_the_skipped_batch(tmp_path: Path) -> None:
    put(tmp_path, old__offsets__3='v1\n{"a":1}\n1\n2', old__offsets__4='v1\n{"a":9}\n5\n-')
    copy = BehindBatch(on(tmp_path), [], [])
    assert copy.altered("offsets/3") == 'v1\n{"a":1}\n5\n2' and copy.altered("offsets/2") is None
    assert list(copy.sizes()) == ["offsets/3"]
    put(tmp_path, old__offsets__4='v1\n{"a":9}\n5')
    with pytest.raises(words.Refused, match="do not name the same sources"):
        copy.altered("offsets/3")


def test_a_backfill_by_key_into_another_format_is_refused_before_anything_is_refreshed(
    tmp_path: Path,
) -> None:
    other = QueryRun({**VALUES, "SINK": "foreach_merge", "SINK_FORMAT": "parquet"})
    with pytest.raises(words.Refused, match="merge by key into Delta only"):
        Backfill(other, ["id"], "at").look()


def test_hidden_files_are_in_no_copy(tmp_path: Path) -> None:
    put(tmp_path, **{"old__offsets__3": "x", "old__offsets__.3.crc": "x", "old__a_$folder$": ""})
    assert Copy(on(tmp_path)).sizes() == {"offsets/3": 1}


def test_the_parts_of_a_state_are_read_by_side_by_store_or_at_once(tmp_path: Path) -> None:
    operators = [
        {"id": 0, "name": "symmetricHashJoin", "stores": ["a", "b"]},
        {"id": 1, "name": "dedupe", "stores": []},
        {"id": 2, "name": "x", "stores": ["s"]},
        {"id": 3, "name": "symmetricHashJoin", "stores": ["left-keyToNumValues", "left-keyWithIndexToValue"]},
    ]
    options = [options for _, options in State(on(tmp_path), 1, operators, 1, "lz4").parts()]
    assert options == [
        {"operatorId": "0", "joinSide": "left"},
        {"operatorId": "0", "joinSide": "right"},
        {"operatorId": "1"},
        {"operatorId": "2", "storeName": "s"},
        {"operatorId": "3", "storeName": "left-keyToNumValues"},
        {"operatorId": "3", "storeName": "left-keyWithIndexToValue"},
    ]


SECOND_MS = 1000


@pytest.mark.parametrize(
    ("version", "at_s", "others", "is_said"),
    [
        (3, 90, (1, 2, 4, 5), True),  # later than the version after it
        (3, 0, (1, 2, 4, 5), True),  # earlier than the version before it
        (3, 30, (1, 2, 4, 5), False),  # where it belongs
        (4, 90, (1, 2, 3), True),  # the newest, later than its commit
        (4, 41, (1, 2, 3), False),
        (3, 90, (1, 2), False),  # too few to tell
    ],
)
def test_the_time_of_a_state_file_is_held_against_its_neighbours_and_its_commit(
    version: int, at_s: int, others: tuple[int, ...], is_said: bool
) -> None:
    at_ms = {number: number * 10 * SECOND_MS for number in others} | {version: at_s * SECOND_MS}
    committed = {number - 1: number * 10 * SECOND_MS + 500 for number in range(1, 6)}
    assert is_out_of_order(at_ms, version, committed) is is_said


def test_times_that_mean_nothing_show_no_older_file() -> None:
    """A copy: its files have the times of the copy, in any order, or later ones than their commits."""
    assert not is_out_of_order({1: 30, 2: 20, 3: 99_000, 4: 10, 5: 40}, 3, {})
    in_order = {number: 100_000 + number * SECOND_MS for number in range(1, 5)} | {5: 200_000}
    assert not is_out_of_order(in_order, 5, {number: number for number in range(5)})


def test_a_state_that_this_spark_does_not_read_is_not_checked_for_the_one_true_reason(tmp_path: Path) -> None:
    offsets = 'v1\n{"conf":{"spark.sql.shuffle.partitions":"2"}}\n{}'
    put(tmp_path, old__offsets__1=offsets, old__offsets__0='v1\n{"conf":{}}\n{}')
    operators = [{"id": 0, "name": "transformWithStateExec", "stores": []}]
    made = on(tmp_path)
    made._spark = SimpleNamespace(version="3.5.9")
    state = State(made, 1, operators, 1, "lz4")
    state.look({})
    assert state.check() == [
        (None, "the state: Spark 3.5.9 has no state reader; the first start loads it"),
    ]
    conf = SimpleNamespace(get=lambda name, value: value, set=lambda name, value: None, unset=lambda name: 0)
    made._spark = SimpleNamespace(version="4.0.1", conf=conf)
    state = State(made, 1, operators, 1, "lz4")
    state.look({})
    ((good, text),) = state.check()
    assert good is None and "default: Spark 4.0.1 does not read rows of it as they are; the first" in text
    (found,) = placed(made, "/old", 0, parts_of(operators), 1)
    assert found.line()[0] is None and "offsets/0 does not have spark.sql.shuffle.partitions" in found.why_not


@pytest.mark.parametrize(("version", "is_said"), [("3.5.9", True), ("4.0.1", False)])
def test_a_dry_run_says_already_that_this_spark_does_not_load_the_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], version: str, is_said: bool
) -> None:
    put(tmp_path, old__offsets__1="x", old__commits__1="x", old__state__0__0__2="x")
    made = on(tmp_path)
    made._spark = SimpleNamespace(version=version)
    Backup(made, {}, False).look()
    text = "NOT CHECKED: the state: Spark 3.5.9 has no state reader; the first start loads it"
    assert (text in capsys.readouterr().out) is is_said
    (tmp_path / "old/state/0/0/2").unlink()
    (tmp_path / "old/state/0/0").rmdir()
    (tmp_path / "old/state/0").rmdir()
    Backup(made, {}, False).look()
    assert "NOT CHECKED" not in capsys.readouterr().out


@pytest.mark.parametrize(("commit", "is_checked"), [('v1\n{"nextBatchWatermarkMs":5}', True), ("", False)])
def test_a_reset_does_not_stop_half_done_at_a_commit_that_was_cut_off(
    tmp_path: Path, commit: str, is_checked: bool
) -> None:
    """Seen on Spark 4.2: the script ended in an IndexError after it had written the new checkpoint."""
    put(tmp_path, **{"old__commits__4": commit, "new__commits__1": 'v1\n{"nextBatchWatermarkMs":7}'})
    made = QueryRun({**VALUES, "OLD_CHECKPOINT": "/old", "NEW_CHECKPOINT": "/new", "LAST_COMMITTED_BATCH": 4})

    class Writable(Disk):
        def replace(self, place: str, text: str) -> None:
            (self.root / place.lstrip("/")).write_text(text, encoding="utf-8")

    made.files = Writable(tmp_path)  # type: ignore[assignment]
    state = NewState(made, True, 1000)
    assert [good for good, _ in state.check_next_watermark()] == ([] if is_checked else [None])
    assert not NewState(made, True, 0).check_next_watermark(), "no watermark, none to keep"
    state.keep_next_watermark()
    kept = json.loads((tmp_path / "new/commits/1").read_text().splitlines()[1])
    assert kept["nextBatchWatermarkMs"] == (5 if is_checked else 7)


def test_an_output_without_a_log_and_one_that_ends_elsewhere_are_refused(tmp_path: Path) -> None:
    made = on(tmp_path)
    with pytest.raises(words.Refused, match="has no _spark_metadata"):
        sink.check_sink_is_ours(made, "/old")
    put(tmp_path, out___spark_metadata__1="v1", **{"out___spark_metadata__0.compact": "v1"})
    with pytest.raises(words.Refused, match="ends at batch 1, the checkpoint at 4: it is behind"):
        sink.check_sink_is_ours(made, "/old")
    with pytest.raises(words.Refused, match="ends at batch 1, the checkpoint at 0: it is ahead"):
        sink.check_sink_is_ours(made, "/old", 0)
    sink.check_sink_is_ours(on(tmp_path, SINK_IS_OURS=True), "/old")
    with pytest.raises(words.Refused, match="Without the checkpoint"):
        sink.check_sink_is_ours(on(tmp_path, OLD_CHECKPOINT=None), "")


def test_the_first_line_of_an_error_says_something() -> None:
    assert words.first_line("\n\n  a \nb") == "a" and words.first_line("") == "str"
    assert ending.verdict([]) == 0


def test_an_input_file_that_was_changed_after_it_was_read_is_not_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen on Spark 4.3: a rewind read a file again that had been overwritten, and said that it was proven."""

    class Source(Disk):
        def modified(self, inputs: list[str]) -> dict[str, int]:
            times = {"file:///in/1.json": 1000, "file:///in/2.json": 2500}
            return {path: times[path] for path in inputs if path in times}

        def numbers(self, place: str) -> list[int]:
            return [0] if place.startswith("/new/") else [0, 1, 2]

    logged = [{"path": f"file:///in/{n}.json", "timestamp": n * 1000, "batchId": n} for n in range(3)]
    put(tmp_path, **{f"ck__sources__0__{e['batchId']}": "v1\n" + json.dumps(e) for e in logged})
    made = run.Run({**VALUES, "OLD_CHECKPOINT": "/ck", "NEW_CHECKPOINT": "/new"})
    made.files = Source(tmp_path)  # type: ignore[assignment]
    copy = RolledBack(made, 0)
    copy.check_inputs([{"key": "0", "directory": "sources/0", "read": 0}], False)
    assert "NOT CHECKED: source 0: whether 1 of 2 files" in capsys.readouterr().out
    assert [good for good, text in copy.check_ends() if "2.json" in text] == [None]
    entries = [*logged[1:], {"path": "file:///in/3.json", "timestamp": 3000, "batchId": 3}]
    gone, changed = files.gone_and_changed(made.files, entries)
    assert (gone, changed) == (["file:///in/3.json"], ["file:///in/2.json"])


@pytest.mark.parametrize(
    ("version", "at_least", "at_most", "is_another"),
    [
        ("4.3.0", "3.5", "3.5", True),
        ("3.5.9", "3.5", "3.5", False),
        ("3.5.9", "4.3", None, True),
        ("4.3.0-SNAPSHOT", "2.4", None, False),
        ("3.10.1", None, "3.9", True),
        ("4.3.0", None, None, False),
    ],
)
def test_a_spark_that_cannot_have_written_the_checkpoint_is_another_one(
    version: str, at_least: str | None, at_most: str | None, is_another: bool
) -> None:
    assert is_another_spark(version, at_least, at_most) == is_another
