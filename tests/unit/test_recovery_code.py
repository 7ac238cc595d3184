"""The generated code without Spark: it compiles whatever the names are, holds no secret and asks for what it
lacks."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jinja2 import DictLoader, StrictUndefined, UndefinedError

from core.checkpoint import Checkpoint
from core.errors import QuotingError
from core.recovery import OPTION_IDS, Answers, CodeBlock, generate, read_recovery_context, why_no_code
from core.recovery.code import TEMPLATES
from core.recovery.quoting import environment, python_literal
from core.recovery.repairs import repair_of
from tests.support.build import SAMPLES
from tests.unit.test_recovery_judgement import file_checkpoint, kafka_checkpoint, make

HOSTILE = [
    "it's",
    'a "quoted" name',
    "line\nbreak\r\n",
    "back\\slash\\",
    "{{ 7*7 }} {% raw %} {# #}",
    '"""\nimport os\nos.system("boom")\n"""',
    "'''; boom(); '''",
    "\u202etxt.exe \x1b[31m \0",
    "$(boom) `boom` ${HOME}",
    "\ud800",
]
NAMES = ["boom"]


def answers_of(text: str, **more: str) -> Answers:
    """The same text wherever text is taken."""
    keys = [
        "query_file",
        "sink_path",
        "sink_format",
        "sink_servers",
        "sink_topic",
        "checkpoint_new",
        "backup_to",
        "pipeline_id",
        "job_id",
        "flows",
    ]
    keys += ["partition_by", "backfill_keys", "backfill_sequence"]
    keys += [
        f"source.0.{what}" for what in ("path", "servers", "topics", "format", "schema", f"option.{text}")
    ]
    return Answers({**dict.fromkeys(keys, text), **more})


def assert_harmless(block: CodeBlock, text: str) -> None:
    """The code parses, and what a name holds is in it as data only: nothing is called that the templates do
    not call. The kit, the same in every file, is judged once in the whole file of the first case."""
    if block.language == "python":
        tree = ast.parse(block.own_text)
        compile(tree, block.file_name, "exec")
        called = {
            node.func.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not called & set(NAMES)
        comments = [line for line in block.own_text.splitlines() if line.lstrip().startswith("#")]
        assert not any("boom" in line for line in comments)
    if block.language == "bash":
        assert (
            subprocess.run(
                ["sh", "-n"], input=block.text.encode("utf-8", "replace"), capture_output=True
            ).returncode
            == 0
        )


# Each script once: every option, source and way of writing the new checkpoint.
CASES = [
    ("file", "reset", "file", "yes"),
    ("kafka", "reset", "kafka", "yes"),
    ("kafka", "reset", "delta", "yes"),
    ("dedupe", "reset", "foreach_txn", "yes"),
    ("dedupe", "reset", "file", "no"),
    ("file", "full_refresh", "foreach_append", "yes"),
    ("kafka", "full_refresh", "kafka", "yes"),
    ("file", "backup_and_backfill", "foreach_append", "no"),
    ("file", "backup_and_backfill", "foreach_merge", "no"),
]


@pytest.mark.parametrize("text", [*HOSTILE, "".join(HOSTILE)])
def test_strange_names_are_data_in_every_piece_of_code(text: str, tmp_path: Path) -> None:
    cks = {
        "file": file_checkpoint(tmp_path / "a"),
        "kafka": kafka_checkpoint(tmp_path / "b"),
        "dedupe": file_checkpoint(tmp_path / "c", "dedupe"),
    }
    for source, option, sink, complete in CASES:
        more = {"sink_format": "delta"} if sink == "foreach_merge" else {}  # no script for anything else
        answers = answers_of(text, sink=sink, source_complete=complete, platform="pyspark", **more)
        blocks = generate(read_recovery_context(cks[source], answers), option)  # type: ignore[arg-type]
        assert len(blocks) == 1
        assert_harmless(blocks[0], text)
        if (source, option, sink) == CASES[0][:3]:
            whole = ast.parse(blocks[0].text)
            assert len(whole.body) > len(ast.parse(blocks[0].own_text).body), "the kit is in the file"
    try:
        for platform in ("databricks", "lakeflow"):
            context = read_recovery_context(cks["kafka"], answers_of(text, platform=platform))
            for option in OPTION_IDS:
                for block in generate(context, option):
                    assert_harmless(block, text)
    except QuotingError:
        assert "\n" in text or "\0" in text, (
            "only a line break in a table name and NUL in a shell word are refused"
        )


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(min_size=1, max_size=40))
def test_any_text_survives_as_a_literal(text: str, tmp_path: Path) -> None:
    value = {"a": [text, (text,), None, True, 3]}
    assert ast.literal_eval(python_literal(value)) == value


def test_hostile_texts_in_the_checkpoint_itself_are_data(tmp_path: Path) -> None:
    topic = '"; boom(); x = "'
    line = json.dumps({"logOffset": 0})
    path = make(tmp_path / "ck", {0: [line], 1: [line]}, 1, files=1)
    entry = {"path": "file:///data/'''%0Aboom()/" + topic, "timestamp": 1, "batchId": 0}
    (path / "sources" / "0" / "0").write_text("v1\n" + json.dumps(entry), encoding="utf-8")
    (path / "metadata").write_text(json.dumps({"id": 'x"\nboom()'}), encoding="utf-8")
    for option in OPTION_IDS:
        for block in generate(
            read_recovery_context(Checkpoint.open(str(path)), Answers({"sink": "file"})), option
        ):
            assert_harmless(block, topic)


def test_a_template_that_forgets_a_filter_fails_instead_of_writing_the_value(tmp_path: Path) -> None:
    templates = environment(tmp_path)
    templates.loader = DictLoader(
        {"a": "x = {{ value }}", "b": "x = {{ value|py }}", "c": "# {{ value|words }}"}
    )
    with pytest.raises(QuotingError, match="without a quoting filter"):
        templates.get_template("a").render(value="1")
    assert templates.get_template("b").render(value="1") == 'x = "1"'
    with pytest.raises(QuotingError):
        templates.get_template("c").render(value="a\nb")
    assert templates.undefined is StrictUndefined
    with pytest.raises((UndefinedError, QuotingError)):
        templates.get_template("b").render()


def test_no_template_writes_a_value_without_a_filter() -> None:
    """Also on branches that no test renders."""
    for name in TEMPLATES.list_templates():
        source = (Path(TEMPLATES.loader.searchpath[0]) / name).read_text(encoding="utf-8")  # type: ignore[union-attr]
        for piece in source.split("{{")[1:]:
            assert "|" in piece.split("}}")[0], f"{name}: {piece[:40]}"


def test_secrets_never_get_into_code_only_the_names_of_variables(tmp_path: Path) -> None:
    given_answers = {
        "sink": "foreach_append",
        "source.0.option.kafka.sasl.jaas.config": "ORDERS_JAAS",
        "source.0.servers": "b:9092",
    }
    text = generate(read_recovery_context(kafka_checkpoint(tmp_path), Answers(given_answers)), "reset")[
        0
    ].text
    assert 'SOURCE_0_SECRETS = {"kafka.sasl.jaas.config": "ORDERS_JAAS"}' in text
    assert (
        "SOURCE_0_OPTIONS = {" in text
        and "ORDERS_JAAS" not in text.split("SOURCE_0_OPTIONS = ")[1].splitlines()[0]
    )


def test_the_script_holds_the_committed_position_and_never_the_planned_one(tmp_path: Path) -> None:
    text = generate(
        read_recovery_context(kafka_checkpoint(tmp_path), Answers({"sink": "foreach_append"})), "reset"
    )[0].text
    assert '\\"0\\":30' in text or '"0":30' in text
    assert '"0":50' not in text


@pytest.mark.parametrize(
    "option", [each for each in OPTION_IDS if each != "restart" and repair_of(each) is None]
)
def test_a_script_names_what_is_missing_and_refuses_without_starting_spark(
    option: str, tmp_path: Path
) -> None:
    blocks = generate(
        read_recovery_context(kafka_checkpoint(tmp_path), Answers({"sink": "foreach_append"})), option
    )  # type: ignore[arg-type]
    script = tmp_path / "script.py"
    script.write_text(blocks[0].text, encoding="utf-8")
    for arguments in ([], ["--execute"]):
        done = subprocess.run(
            [sys.executable, str(script), *arguments],
            capture_output=True,
            text=True,
            env={"PATH": "", "HOME": str(tmp_path)},
        )
        assert done.returncode == 4
        assert "QUERY_FILE" in done.stdout and "SOURCE_0_SERVERS" in done.stdout
        assert done.stderr == ""


def test_a_plain_restart_needs_no_code_and_says_so(tmp_path: Path) -> None:
    context = read_recovery_context(kafka_checkpoint(tmp_path), Answers({"sink": "foreach_append"}))
    assert generate(context, "restart") == ()
    assert "start the job again" in why_no_code(context, "restart")


def test_a_script_prints_its_plan_before_it_refuses_a_query_file_that_is_not_there(tmp_path: Path) -> None:
    answers = {"sink": "foreach_append", "query_file": "q.py", "source.0.servers": "b:9092"}
    blocks = generate(read_recovery_context(kafka_checkpoint(tmp_path), Answers(answers)), "reset")
    script = tmp_path / "script.py"
    script.write_text(blocks[0].text, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 4, done.stdout + done.stderr
    assert done.stdout.splitlines()[0].startswith("1. Stop the query")
    assert "Refused: QUERY_FILE" in done.stdout


def test_without_the_sink_the_script_shows_the_position_but_refuses_to_run(tmp_path: Path) -> None:
    text = generate(read_recovery_context(kafka_checkpoint(tmp_path), Answers()), "reset")[0].text
    assert "SINK = None" in text and "answer the question where the query writes" in text


def test_impossible_options_give_no_code(tmp_path: Path) -> None:
    assert (
        generate(
            read_recovery_context(file_checkpoint(tmp_path), Answers({"source_complete": "no"})),
            "full_refresh",
        )
        == ()
    )


def test_lakeflow_gets_the_start_position_and_the_right_selection(tmp_path: Path) -> None:
    answers = Answers(
        {
            "platform": "lakeflow",
            "flows": "main.sales.orders,main.sales.items",
            "pipeline_id": "abc",
            "source.0.servers": "b:9",
        }
    )
    blocks = {
        block.file_name: block.text
        for block in generate(read_recovery_context(kafka_checkpoint(tmp_path), answers), "reset")
    }
    assert '"startingOffsets": \'{"orders":{"0":30,"1":7}}\'' in blocks["flow.py"]
    assert 'FIELD = "reset_checkpoint_selection"' in blocks["start_update.py"]
    assert 'SELECTION = ["main.sales.orders", "main.sales.items"]' in blocks["start_update.py"]
    refresh = {
        block.file_name: block.text
        for block in generate(
            read_recovery_context(kafka_checkpoint(tmp_path / "r"), answers), "full_refresh"
        )
    }
    assert 'FIELD = "full_refresh_selection"' in refresh["start_update.py"]
    assert "full_refresh_selection" in refresh["start_update.sh"]


def test_a_script_knows_which_spark_may_have_written_the_checkpoint() -> None:
    ck = Checkpoint.open(str(SAMPLES / "files-died-mid-batch" / "checkpoint"))
    context = read_recovery_context(ck, Answers({"sink": "file"}))
    text = generate(context, "full_refresh")[0].text
    assert f'WRITTEN_BY = ["{ck.written_by.at_least}", None]' in text
