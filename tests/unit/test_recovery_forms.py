"""The forms of the code without Spark: short, harmless whatever the names are, and with this checkpoint's values."""

from __future__ import annotations

import ast
import html
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.checkpoint import Checkpoint
from core.cli import main
from core.judgement import judge
from core.messages.words import CERTAINTY
from core.recovery import OPTION_IDS, Answers, OptionId, RecoveryContext, options, plan, read_recovery_context
from core.recovery.code import MOST_LINES as MOST_LINES_OF_SCRIPT
from core.recovery.forms import forms
from core.recovery.kit_text import kit_sha256, kit_text
from core.recovery.quoting import markdown_cell, markdown_code, markdown_text
from core.recovery.snippet import MOST_LINES
from tests.support.brokers import checkpoint_at
from tests.unit.test_recovery_code import HOSTILE, answers_of
from tests.unit.test_recovery_judgement import file_checkpoint, kafka_checkpoint, make

SAMPLES = Path(__file__).resolve().parents[2] / "sample_checkpoints"
SINKS = ("file", "delta", "kafka", "foreach_append", "foreach_merge", "foreach_txn", "other")


def snippet_of(context: RecoveryContext, option: OptionId) -> dict[str, object]:
    """What a snippet defines."""
    text = next(block.text for block in forms(context, option) if block.form == "snippet")
    scope: dict[str, object] = {}
    exec(text, {"__builtins__": {}}, scope)  # literals only: no name is there
    return scope


@pytest.mark.parametrize("sample", sorted(path.parent.name for path in SAMPLES.glob("*/checkpoint")))
def test_every_possible_option_has_all_its_forms_and_a_snippet_that_is_read_in_one_look(sample: str) -> None:
    ck = Checkpoint.open(str(SAMPLES / sample / "checkpoint"))
    for sink in SINKS:
        for platform in ("pyspark", "databricks", "lakeflow"):
            answers = {"sink": sink, "platform": platform, "source_complete": "yes", "what_happened": "crash"}
            context = read_recovery_context(ck, Answers(answers))
            for option in options(context):
                made = forms(context, option.id)
                kinds = [block.form for block in made]
                if not option.possible:
                    assert kinds == []
                    continue
                if platform == "lakeflow" and not made:
                    continue
                assert kinds[0] == "snippet" and kinds[-2:] == ["runbook", "plan"]
                with_kit = ["script", "kit"] if platform != "lakeflow" and option.id != "restart" else []
                files = ["file"] * (len(kinds) - 3 - len(with_kit))
                assert kinds[1:-2] == [*with_kit, *files] and bool(files) == (option.id != "restart")
                for block in made:
                    if block.form == "script":
                        assert len(block.text.splitlines()) <= MOST_LINES_OF_SCRIPT, block.text
                        kit = next(each for each in made if each.form == "kit")
                        assert kit.text == kit_text()
                        assert f'KIT_SHA256 = "{kit_sha256()}"' in block.text
                        assert block.text + kit_text() == next(b.text for b in made if b.form == "file")
                assert len(made[0].text.splitlines()) <= MOST_LINES
                compile(made[0].text, made[0].file_name, "exec")
                document = json.loads(made[-1].text)
                assert (document["option"], document["repeats"], document["loses"]) == (
                    option.id,
                    option.repeats,
                    option.loses,
                )
                assert document["files"] == [block.file_name for block in made if block.form == "file"]
                for heading in (
                    "Steps",
                    "Run",
                    "What it changes, and how to undo it",
                    "Check the first three batches",
                ):
                    assert f"\n## {heading}\n" in made[-2].text


def test_a_plain_start_is_pasted_with_the_committed_position_and_nothing_has_to_be_run(
    tmp_path: Path,
) -> None:
    context = read_recovery_context(
        kafka_checkpoint(tmp_path),
        Answers({"sink": "foreach_append", "platform": "pyspark", "checkpoint_new": "/new"}),
    )
    text = forms(context, "reset")[0].text
    assert "No file has to be run" in text and "recover_reset" not in text
    assert snippet_of(context, "reset") == {
        "START": {"startingOffsets": '{"orders":{"0":30,"1":7}}'},
        "WRITER": {"checkpointLocation": "/new"},
    }


@pytest.mark.parametrize("sink", ["file", "delta", "foreach_txn", "foreach_append", "foreach_merge"])
def test_a_file_source_is_never_started_by_pasting_alone(sink: str, tmp_path: Path) -> None:
    context = read_recovery_context(file_checkpoint(tmp_path), Answers({"sink": sink, "platform": "pyspark"}))
    text = forms(context, "reset")[0].text
    assert (
        "Run the file first" in text
        and "python recover_reset.py --execute --query-is-stopped"
        in text.replace(
            "spark-submit --packages io.delta:delta-spark_2.13:<version for your Spark>", "python"
        )
    )
    assert set(snippet_of(context, "reset")) == {"WRITER"}


def test_without_the_sink_the_snippet_says_that_it_matters(tmp_path: Path) -> None:
    context = read_recovery_context(kafka_checkpoint(tmp_path), Answers({"platform": "pyspark"}))
    text = forms(context, "reset")[0].text
    assert "Say first where the query writes" in text and "No file has to be run" not in text


def test_a_restart_keeps_its_checkpoint_and_a_backup_changes_nothing_in_the_query(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path)
    context = read_recovery_context(
        ck, Answers({"sink": "foreach_append", "platform": "pyspark", "backup_to": "/b"})
    )
    assert snippet_of(context, "restart") == {"WRITER": {"checkpointLocation": ck.location.url}}
    assert snippet_of(context, "backup") == {"BACKUP": "/b"}
    assert "The query may run meanwhile" in forms(context, "backup")[0].text


def test_a_union_has_one_start_per_source_key_however_many_there_are(tmp_path: Path) -> None:
    lines = [json.dumps({f"topic{i}": {"0": i}}) for i in range(40)]
    path = make(tmp_path / "ck", {0: lines, 1: lines}, 1)
    context = read_recovery_context(
        Checkpoint.open(str(path)), Answers({"sink": "foreach_append", "platform": "pyspark"})
    )
    start = snippet_of(context, "reset")["START"]
    assert isinstance(start, dict) and len(start) == 40
    assert start["39"] == {"startingOffsets": '{"topic39":{"0":39}}'}
    assert len(forms(context, "reset")[0].text.splitlines()) <= MOST_LINES
    for option in ("reset", "full_refresh", "backup_and_backfill"):
        script = forms(context, option)[1]
        assert script.form == "script" and len(script.text.splitlines()) <= MOST_LINES_OF_SCRIPT
        scope: dict[str, Any] = {}
        exec(script.text, scope)
        assert [each["key"] for each in scope["SOURCES"]] == [str(i) for i in range(40)]
        assert scope["SOURCE_39_OPTIONS"] == {"subscribe": "topic39"} and scope["SOURCE_39_SERVERS"] is None
        assert "SOURCE_39_SERVERS" in scope["REQUIRED"]


@pytest.mark.parametrize(
    "text", [*HOSTILE, "".join(HOSTILE), "<img src=x onerror=boom()>", "[a](javascript:boom())"]
)
def test_strange_names_are_data_in_every_form(text: str, tmp_path: Path) -> None:
    topic = text.encode("utf-8", "replace").decode()
    line = json.dumps({topic: {"0": 5}})
    path = make(tmp_path / "ck", {0: [line], 1: [line]}, 1)
    (path / "metadata").write_text(json.dumps({"id": topic}), encoding="utf-8")
    ck = Checkpoint.open(str(path))
    for sink in ("foreach_append", "file"):
        context = read_recovery_context(
            ck, answers_of(text, sink=sink, platform="pyspark", source_complete="yes")
        )
        for option in OPTION_IDS:
            for block in forms(context, option):
                if block.form == "snippet":
                    assert not any(isinstance(node, ast.Call) for node in ast.walk(ast.parse(block.text)))
                    comments = [each for each in block.text.splitlines() if each.startswith("#")]
                    assert not any("boom" in each for each in comments)
                    assert snippet_of(context, option)
                if block.form == "plan":
                    assert json.loads(block.text)["query_id"] == topic
                if block.form == "runbook":
                    assert_plain(block.text)


def assert_plain(text: str) -> None:
    """No HTML, link, picture or heading in Markdown but the program's own."""
    assert all(char.isprintable() or char == "\n" for char in text)
    outside = re.sub(r"(`+)(?!`)(?:.*?[^`])??\1(?!`)", "", text)  # without code
    bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", outside)  # without what is escaped
    assert not re.search(r"[<>]|\]\(|!\[|&[a-z]+;", bare.replace("<version", "").replace("Spark>", "")), bare
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert len(headings) == 6 + ("## Settings of the job" in headings) and headings[0].startswith(
        "# Runbook: "
    )


@given(text=st.text(min_size=1, max_size=60))
def test_any_text_in_markdown_is_text(text: str) -> None:
    for made in (markdown_text(text), markdown_code(text), markdown_cell(text)):
        assert "\n" not in made and all(char.isprintable() for char in made)
    plain = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown_text(text))
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    # Backslashes of the text itself are doubled, so taking one of each away gives the text.
    assert plain == shown
    assert html.unescape(re.sub(r"\\.", "", markdown_text(text))) == re.sub(r"\\.", "", markdown_text(text))


# ---------------------------------------------------------------- python -m core recover


def recover(*arguments: str) -> int:
    return main(["recover", *arguments])


def test_the_file_is_written_once_and_never_into_a_checkpoint_or_an_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ck = file_checkpoint(tmp_path)
    place, out, table = str(tmp_path / "ck"), tmp_path / "out", tmp_path / "table"
    (out / "deeper").mkdir(parents=True)
    (table / "_delta_log").mkdir(parents=True)
    given_options = [place, "--option", "reset", "--set", "sink=file", "--set", f"sink_path={out}"]
    target = tmp_path / "recover.py"
    assert recover(*given_options, "--to", str(target)) == 0
    context = read_recovery_context(ck, Answers({"sink": "file", "sink_path": str(out)}))
    expected = next(b.text for b in forms(context, "reset") if b.form == "file")
    assert target.read_text(encoding="utf-8") == expected
    assert str(target) in capsys.readouterr().out
    for refused, why in (
        (str(target), "exists, and is not overwritten"),
        (f"{place}/recover.py", "belongs to a query or a table"),
        (f"{place}/offsets/../../ck/recover.py", "belongs to a query or a table"),
        (f"{out}/deeper/recover.py", "belongs to a query or a table"),
        (f"{table}/recover.py", "belongs to a query or a table"),
        (f"{tmp_path}/nothing/there.py", "cannot be written"),
        ("s3://bucket/recover.py", "not a file of this machine"),
    ):
        before = sorted(tmp_path.rglob("*"))
        assert recover(*given_options, "--to", refused) == 2, refused
        assert why in capsys.readouterr().err
        assert sorted(tmp_path.rglob("*")) == before
    link = tmp_path / "link"
    link.symlink_to(place)
    assert recover(*given_options, "--to", str(link / "recover.py")) == 2
    for form in ("snippet", "runbook", "plan"):
        assert recover(*given_options, "--form", form, "--to", str(tmp_path / form)) == 0
        assert (tmp_path / form).read_text() == next(
            b.text for b in forms(context, "reset") if b.form == form
        )


def test_the_text_begins_with_the_forecast_and_says_what_an_impossible_option_lacks_only_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ck = kafka_checkpoint(tmp_path)
    place = str(tmp_path / "ck")
    judgement = judge(ck)
    said = judgement.forecast
    assert recover(place) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == said.sentence and lines[1].strip().startswith(f"{CERTAINTY[said.certainty]}: ")
    impossible = [option for option in options(judgement.recovery(Answers())) if not option.possible]
    assert impossible
    for option in impossible:
        at = next(i for i, line in enumerate(lines) if f"(--option {option.id})" in line)
        assert lines[at + 1].strip() == option.why and not "".join(lines[at + 2 : at + 3])
    assert recover(place, "--option", impossible[0].id) == 0
    assert capsys.readouterr().out.count(impossible[0].why) == 1


def test_once_the_sink_is_answered_only_its_repeats_and_losses_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kafka_checkpoint(tmp_path)
    for answers, count in (([], 3), (["--set", "sink=foreach_merge"], 1)):
        assert recover(str(tmp_path / "ck"), "--option", "reset", *answers) == 0
        shown = capsys.readouterr().out
        assert sum(line.startswith("    repeats ") for line in shown.splitlines()) == count


def test_a_form_alone_is_printed_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ck = kafka_checkpoint(tmp_path)
    answers = ["--set", "sink=foreach_append", "--set", "platform=pyspark"]
    context = read_recovery_context(ck, Answers({"sink": "foreach_append", "platform": "pyspark"}))
    for block in forms(context, "reset"):
        assert recover(str(tmp_path / "ck"), "--option", "reset", *answers, "--form", block.form) == 0
        assert capsys.readouterr().out == block.text.rstrip("\n") + "\n"
        assert (
            recover(str(tmp_path / "ck"), "--option", "reset", *answers, "--form", block.form, "--json") == 0
        )
        code = json.loads(capsys.readouterr().out)["code"]
        assert [(each["kind"], each["text"]) for each in code] == [(block.form, block.text)]
    assert recover(str(tmp_path / "ck"), "--option", "reset", *answers) == 0
    shown = capsys.readouterr().out
    assert shown.index("START = ") < shown.index("Questions (answer") < shown.index("ACCEPT_LOSS")


@pytest.mark.parametrize(
    "more", [["--form", "snippet"], ["--to", "x.py"], ["--option", "reset", "--form", "poem"]]
)
def test_a_form_without_an_option_and_an_unknown_form_are_wrong_usage(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kafka_checkpoint(tmp_path)
    try:
        status = recover(str(tmp_path / "ck"), *more)
    except SystemExit as wrong:
        status = int(str(wrong.code))
    assert status == 2
    assert not Path("x.py").exists()


def test_a_script_that_is_to_rehearse_and_to_execute_does_neither(tmp_path: Path) -> None:
    kafka_checkpoint(tmp_path)
    script = tmp_path / "reset.py"
    answers = ["--set", "sink=foreach_append", "--set", "platform=pyspark"]
    assert recover(str(tmp_path / "ck"), "--option", "reset", *answers, "--to", str(script)) == 0
    done = subprocess.run(
        [sys.executable, str(script), "--rehearse", "--execute"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert done.returncode == 2, done.stderr
    assert "not allowed with argument" in done.stderr


def test_the_runbook_names_the_kind_of_a_sink_whose_place_is_not_known(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path)
    for answers, cell in (
        ({}, "`not given`"),
        ({"sink": "delta"}, "`Delta, place not given`"),
        ({"sink": "delta", "sink_path": "/data/orders"}, "/data/orders"),
    ):
        context = judge(ck).recovery(Answers(answers))
        text = next(block.text for block in forms(context, "reset") if block.form == "runbook")
        assert cell in next(line for line in text.splitlines() if "Query writes to" in line)


def test_a_query_that_may_be_running_is_stopped_before_it_is_started_again(tmp_path: Path) -> None:
    for age_ms, stops in ((1_000, True), (3_600_000, False)):
        root = checkpoint_at(
            tmp_path / str(age_ms),
            {"orders": {0: 4}},
            {"orders": {0: 8}},
            batch_ms=int(time.time() * 1000) - age_ms,
        )
        context = judge(Checkpoint.open(str(root))).recovery(Answers())
        steps = plan(context, next(each for each in options(context) if each.id == "restart").recipe).steps
        assert ("Stop the query" in steps[0].title) == stops, [step.title for step in steps]
        assert any("Start the query as it was" in step.title for step in steps)
