"""The command line: its answers are the contract, errors are one sentence, the exit status tells programs
what happened."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.cli import main
from core.messages import words
from core.messages.cli import VERBS
from core.verbs import MODULES, verbs
from core.verbs._text import clean, table
from tests.support.build import (
    PROJECT,
    SAMPLES,
    commit_text,
    kafka_checkpoint,
    kafka_offset,
    offset_text,
    remove,
    sample_names,
    write,
)
from tests.support.spy import no_writes

Capture = pytest.CaptureFixture[str]

INSPECT_FIELDS = {
    "schema_version",
    "location",
    "read_at",
    "query_id",
    "offsets",
    "commits",
    "last_committed_batch",
    "pending_batch",
    "batches",
    "sources",
    "operators",
    "conf",
    "conf_changes",
    "progress_tracking",
    "written_by",
    "leftovers",
}


def run(capsys: Capture, *argv: str) -> tuple[int, str, str]:
    status = main(list(argv))
    out, err = capsys.readouterr()
    return status, out, err


def answer(capsys: Capture, *argv: str) -> dict[str, Any]:
    status, out, err = run(capsys, *argv, "--json")
    assert (status, err) == (0, "")
    return dict(json.loads(out))


def sentence(text: str) -> str:
    """The one sentence on stderr."""
    assert text.endswith("\n")
    assert text.count("\n") == 1
    assert "Traceback" not in text
    return text.strip()


# inspect


def test_inspect_answers_with_every_field_of_the_contract(tmp_path: Path, capsys: Capture) -> None:
    found = answer(capsys, "inspect", str(kafka_checkpoint(tmp_path, range(3), commits=range(2))))
    assert set(found) >= INSPECT_FIELDS
    log = {"ids", "first", "last", "missing", "unreadable", "format_version"}
    assert set(found["offsets"]) >= log
    assert set(found["commits"]) >= log
    assert set(found["batches"][0]) >= {
        "id",
        "timestamp_ms",
        "watermark_ms",
        "next_watermark_ms",
        "committed",
        "planned_ms",
        "committed_ms",
        "no_data",
        "sources",
    }
    assert set(found["batches"][0]["sources"][0]) >= {"key", "start", "end", "advance"}
    assert set(found["sources"][0]) >= {"key", "kind", "partitions"}
    assert found["schema_version"] == 1
    assert found["location"] == str(tmp_path)
    assert (found["last_committed_batch"], found["pending_batch"], found["progress_tracking"]) == (
        1,
        2,
        "sync",
    )
    assert found["sources"][0] | {"key": "0", "kind": "kafka", "partitions": 2} == found["sources"][0]
    assert found["batches"][0]["sources"] == [
        {"key": "0", "start": json.loads(kafka_offset(0)), "end": json.loads(kafka_offset(5)), "advance": 10}
    ]
    assert [batch["committed"] for batch in found["batches"]] == [True, True, False]
    assert found["written_by"]["at_least"] == "4.3"
    assert found["read_at"].endswith("Z")
    assert len(found["read_at"]) == len("2026-11-20T03:12:11Z")


def test_inspect_shows_the_newest_100_batches_unless_all_are_asked_for(
    tmp_path: Path, capsys: Capture
) -> None:
    root = str(kafka_checkpoint(tmp_path, range(130)))
    found = answer(capsys, "inspect", root)
    assert [batch["id"] for batch in found["batches"]] == list(range(30, 130))
    assert found["batches"][0]["sources"][0]["advance"] == 10
    assert found["offsets"]["ids"] == list(range(130))
    assert len(answer(capsys, "inspect", root, "--all")["batches"]) == 130


def test_inspect_of_an_asynchronous_log_has_nothing_missing(tmp_path: Path, capsys: Capture) -> None:
    found = answer(capsys, "inspect", str(kafka_checkpoint(tmp_path, [0, 6, 11, 16])))
    assert (found["progress_tracking"], found["offsets"]["missing"], found["commits"]["missing"]) == (
        "async",
        [],
        [],
    )


def test_inspect_names_missing_ids_and_still_answers(tmp_path: Path, capsys: Capture) -> None:
    root = kafka_checkpoint(tmp_path, range(12))
    remove(root, "offsets/5")
    found = answer(capsys, "inspect", str(root))
    assert (found["offsets"]["missing"], found["commits"]["missing"]) == ([5], [])
    batch = found["batches"][5]
    assert (
        batch["id"],
        batch["committed"],
        batch["timestamp_ms"],
        batch["planned_ms"],
        batch["sources"],
    ) == (5, True, None, None, [])


def test_inspect_of_a_damaged_file_says_so_in_its_exit_status(tmp_path: Path, capsys: Capture) -> None:
    root = write(kafka_checkpoint(tmp_path, range(4)), {"offsets/2": "", "commits/1": "v7\n{}"})
    status, out, _ = run(capsys, "inspect", str(root), "--json")
    found = json.loads(out)
    assert status == 1
    assert (found["offsets"]["unreadable"], found["commits"]["unreadable"]) == ([2], [1])
    assert [(p["path"], p["condition"]) for p in found["problems"]] == [
        ("offsets/2", "empty"),
        ("commits/1", "unknown_version"),
    ]
    status, out, _ = run(capsys, "inspect", str(root))
    assert status == 1
    assert "Problems (2)" in out


def test_inspect_shows_changes_of_pinned_settings(tmp_path: Path, capsys: Capture) -> None:
    files = {
        f"offsets/{i}": offset_text(["1"], conf={"spark.sql.shuffle.partitions": n})
        for i, n in enumerate(["4", "4", "8"])
    }
    found = answer(capsys, "inspect", str(write(tmp_path, files)))
    assert found["conf"] == {"spark.sql.shuffle.partitions": "8"}
    assert found["conf_changes"] == [
        {"batch": 2, "key": "spark.sql.shuffle.partitions", "from": "4", "to": "8"}
    ]


def test_the_text_of_inspect_holds_the_same_facts(tmp_path: Path, capsys: Capture) -> None:
    status, out, err = run(capsys, "inspect", str(kafka_checkpoint(tmp_path, range(30), commits=range(29))))
    assert (status, err) == (0, "")
    for fact in (
        "30 batches, 0 to 29",
        "29 batches, 0 to 28",
        "Pending        batch 29",
        "Kafka",
        "10 offsets",
        "not committed",
    ):
        assert fact in out
    assert "newest 20 of 30" in out


def test_text_of_a_checkpoint_cannot_control_the_terminal(tmp_path: Path, capsys: Capture) -> None:
    evil = "\x1b[2J\x9b31m"
    files = {
        "offsets/0": offset_text(["1"]),
        "offsets/1": offset_text(["1"], conf={evil: evil}),
        f"notes{evil}": "",
        "metadata": '{"id":"\\u001b[2J"}',
    }
    _, out, _ = run(capsys, "inspect", str(write(tmp_path, files)))
    assert "\x1b" not in out
    assert "\x9b" not in out
    assert "notes" in out


# resume


def test_resume_gives_the_position_after_the_last_committed_batch(tmp_path: Path, capsys: Capture) -> None:
    found = answer(capsys, "resume", str(kafka_checkpoint(tmp_path, range(4), commits=range(3))))
    assert (found["schema_version"], found["batch"]) == (1, 2)
    (source,) = found["sources"]
    assert set(source) >= {"key", "kind", "exact", "options", "repeats", "skips", "note"}
    assert (source["key"], source["kind"], source["exact"], source["repeats"], source["skips"]) == (
        "0",
        "kafka",
        True,
        "nothing",
        "nothing",
    )
    assert json.loads(source["options"]["startingOffsets"]) == json.loads(kafka_offset(15))


def test_resume_takes_another_batch(tmp_path: Path, capsys: Capture) -> None:
    found = answer(capsys, "resume", str(kafka_checkpoint(tmp_path, range(4))), "--batch", "1")
    assert json.loads(found["sources"][0]["options"]["startingOffsets"]) == json.loads(kafka_offset(10))


def test_the_text_of_resume_can_be_pasted(tmp_path: Path, capsys: Capture) -> None:
    status, out, _ = run(capsys, "resume", str(kafka_checkpoint(tmp_path, range(4))))
    assert status == 0
    assert ".option('startingOffsets', " in out
    assert kafka_offset(20) in out


def test_resume_without_the_offsets_of_the_last_batch_says_why(tmp_path: Path, capsys: Capture) -> None:
    root = kafka_checkpoint(tmp_path, range(4))
    remove(root, "offsets/3")
    status, out, err = run(capsys, "resume", str(root), "--json")
    found = json.loads(out)
    assert (status, err, found["batch"], found["sources"]) == (1, "", 3, [])
    assert "offsets/3" in found["note"]


# Exit status and errors


def test_a_batch_that_is_not_there_is_wrong_usage(tmp_path: Path, capsys: Capture) -> None:
    status, out, err = run(capsys, "resume", str(kafka_checkpoint(tmp_path, range(4))), "--batch", "99")
    assert (status, out) == (2, "")
    assert "99" in sentence(err)


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "inspect",
        "nonsense x",
        "inspect x --nope",
        "resume x --batch two",
        "resume x --batch -1",
        "resume x --batch",
    ],
)
def test_wrong_usage_is_one_sentence_and_status_2(capsys: Capture, arguments: str) -> None:
    status, out, err = run(capsys, *arguments.split())
    assert (status, out) == (2, "")
    assert "--help" in sentence(err)


def test_a_place_that_does_not_exist_is_status_10(tmp_path: Path, capsys: Capture) -> None:
    status, out, err = run(capsys, "inspect", str(tmp_path / "nothing"), "--json")
    assert (status, out) == (10, "")
    assert str(tmp_path / "nothing") in sentence(err)


def test_a_directory_that_is_no_checkpoint_is_status_10(tmp_path: Path, capsys: Capture) -> None:
    status, out, err = run(capsys, "inspect", str(write(tmp_path, {"x": ""})))
    assert (status, out) == (10, "")
    assert "not a checkpoint" in sentence(err)


@pytest.mark.parametrize("location", ["", "nosuch://x/y", "s3://", "memory://"])
def test_a_location_that_cannot_be_opened_is_status_10(capsys: Capture, location: str) -> None:
    status, out, err = run(capsys, "inspect", location)
    assert (status, out) == (10, "")
    sentence(err)


def test_a_setting_that_cannot_be_used_is_wrong_usage(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(2))
    done = python("-m", "core", "inspect", str(root), CHECKPOINT_EXPLORER_CONCURRENT_REQUESTS="many")
    assert done.returncode == 2
    assert "CHECKPOINT_EXPLORER_CONCURRENT_REQUESTS" in sentence(done.stderr)


def python(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter in the project's directory."""
    env = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.run(
        [sys.executable, "-W", "error", *argv],
        cwd=PROJECT,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_module_runs_as_a_program_without_pyspark_and_writes_only_to_stdout(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(3))
    done = python("-X", "importtime", "-m", "core", "inspect", str(root), "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["offsets"]["ids"] == [0, 1, 2]
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert "core.checkpoint.checkpoint" in imported
    assert not {name for name in imported if name.split(".")[0] in ("pyspark", "py4j", "streamlit", "plotly")}
    assert all(line.startswith("import time:") for line in done.stderr.splitlines())


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    wide = {
        f"offsets/{i}": offset_text([kafka_offset(i, partitions=20_000)]) for i in range(3)
    }  # more than a pipe holds
    root = write(tmp_path, {**wide, "commits/0": commit_text()})
    command = f"'{sys.executable}' -W error -m core inspect '{root}' --json | head -c 10"
    done = subprocess.run(["bash", "-c", command], cwd=PROJECT, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ('{"schema_v', "")


def test_help_names_every_verb(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    for name in verbs():
        assert name in out


def test_the_table_of_verbs_has_one_module_per_verb() -> None:
    assert {"inspect", "resume"} <= set(verbs())
    assert len(verbs()) == len(MODULES) == len(set(MODULES))
    assert list(VERBS) == list(MODULES)


@pytest.mark.parametrize(
    ("arguments", "loaded", "left_out"),
    [
        (["--help"], (), ("core.checkpoint", "core.analysis", "core.recovery", "numpy", "pyarrow")),
        (
            ["inspect", "--help"],
            ("core.verbs.inspect",),
            ("core.analysis", "core.recovery", "core.judgement"),
        ),
        (["state", "--help"], ("core.verbs.state",), ("core.analysis.forecast", "core.recovery")),
        (["explain", "--help"], ("core.verbs.explain",), ("core.verbs.forecast", "core.verbs.recover")),
    ],
)
def test_only_the_verb_that_is_asked_for_is_imported(
    arguments: list[str], loaded: tuple[str, ...], left_out: tuple[str, ...]
) -> None:
    script = (
        "import sys\nfrom core.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True, cwd=PROJECT
    )
    modules = set(done.stderr.split())
    assert "usage: python -m core" in done.stdout and "core.cli" in modules
    assert set(loaded) <= modules
    assert not modules & set(left_out)


# All samples


@pytest.mark.parametrize("verb", ["inspect", "resume"])
@pytest.mark.parametrize("name", sample_names())
def test_every_sample_is_answered_and_nothing_is_written(name: str, verb: str, capsys: Capture) -> None:
    root = SAMPLES / name / "checkpoint"
    with no_writes(root):
        status, out, err = run(capsys, verb, str(root), "--json")
        assert (status, err) == (0, "")
        assert json.loads(out)["schema_version"] == 1
        status, out, err = run(capsys, verb, str(root))
    assert (status, err) == (0, "")
    assert out.endswith("\n")


# Words


def test_missing_ids_are_named(tmp_path: Path, capsys: Capture) -> None:
    root = kafka_checkpoint(tmp_path, range(30), commits=[*range(3), 6, *range(8, 30)])
    _, out, _ = run(capsys, "inspect", str(root))
    assert "26 batches, 0 to 29; missing 4: batches 3, 4, 5 and 7" in out


def test_sizes_are_written_in_binary_units() -> None:
    assert [words.size(n) for n in (0, 1023, 1536, 5 * 1024**3, 3 * 1024**5)] == [
        "0 bytes",
        "1,023 bytes",
        "1.5 KiB",
        "5.0 GiB",
        "3.0 PiB",
    ]


def test_long_and_strange_texts_are_made_safe() -> None:
    assert clean("a\nb\x00c") == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c"
    assert clean("x" * 300, 10) == "x" * 9 + "…"
    assert table(("a", "bb"), [("ccc", "d")]) == ["  a    bb", "  ccc  d"]


def test_a_commit_file_time_is_in_the_answer(tmp_path: Path, capsys: Capture) -> None:
    root = write(kafka_checkpoint(tmp_path, range(1), commits=()), {"commits/0": commit_text(7)})
    batch = answer(capsys, "inspect", str(root))["batches"][0]
    assert batch["committed_ms"] == (root / "commits" / "0").stat().st_mtime_ns // 1_000_000
    assert batch["planned_ms"] == (root / "offsets" / "0").stat().st_mtime_ns // 1_000_000
    assert (batch["watermark_ms"], batch["next_watermark_ms"]) == (0, 7)
