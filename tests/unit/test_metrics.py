"""A survey as metrics: what is said, how it is escaped, and that rules and dashboard name what exists."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as classic

from core.cli import main
from core.messages.metrics import HELP
from core.survey import OperatorFacts, RootSearch, SurveyRow, measure, to_openmetrics
from tests.support.app import free_port
from tests.support.build import PROJECT, kafka_checkpoint

SAMPLES = PROJECT / "sample_checkpoints"
DOCS = PROJECT / "docs"
NAMED = re.compile(r"spark_checkpoint_[a-z_]+")
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples_of(text: str) -> Samples:
    """(name, labels) -> value, read by Prometheus's own parser."""
    found = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge" and family.documentation == HELP[family.name]
        for sample in family.samples:
            key = (sample.name.removeprefix("spark_checkpoint_"), frozenset(sample.labels.items()))
            assert key not in found
            found[key] = sample.value
    return found


def value(samples: Samples, name: str, /, **labels: str) -> float | None:
    return samples.get((name, frozenset(labels.items())))


@pytest.fixture
def team(tmp_path: Path) -> Path:
    for name in ("missing-delta-file", "windowed-aggregation-hot-partition"):
        shutil.copytree(SAMPLES / name / "checkpoint", tmp_path / "team" / name)
    return tmp_path / "team"


def test_the_metrics_are_the_numbers_of_the_survey(team: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["survey", str(team), "--json"]) == 1
    rows = {row["path"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert main(["metrics", str(team)]) == 0, "what fails is in the metrics"
    text = capsys.readouterr().out
    assert text.endswith("# EOF\n")
    samples = samples_of(text)
    for path, row in rows.items():
        of = {"root": row["root"], "checkpoint": path}
        for status in ("fails", "reruns", "resumes", "fresh_start", "unused", "unknown", "unreadable"):
            assert value(samples, "next_start", status=status, **of) == (status == row["status"])
        for severity, count in row["findings"].items():
            assert value(samples, "findings", severity=severity, **of) == count
        assert value(samples, "newest_entry_timestamp_seconds", **of) == row["newest_ms"] / 1000
        assert value(samples, "last_committed_batch", **of) == row["last_committed_batch"]
        assert value(samples, "pending_batch", **of) == row["pending_batch"]
        duration_ms = row["median_duration_ms"]  # not known where the files have the time of a copy
        said = value(samples, "batch_duration_seconds", **of)
        assert said == (None if duration_ms is None else duration_ms / 1000)
        assert value(samples, "bytes", part="state", **of) == row["state_bytes"]
        (state,) = row["operator_state"]
        named = {"operator": str(state["operator"]), "name": state["name"], **of}
        assert value(samples, "state_bytes", **named) == state["size_bytes"]
        assert value(samples, "state_skew_ratio", **named) == state["skew"]
        info = {"query_id": row["query_id"], "written_by": row["written_by"]}
        assert value(samples, "info", **info, **of) == 1
        for position, kind in enumerate(row["sources"]):
            assert value(samples, "source_info", position=str(position), source=kind, **of) == 1
    assert rows["windowed-aggregation-hot-partition"]["state_skew"] > 4
    (root,) = {row["root"] for row in rows.values()}
    assert value(samples, "root_up", root=root) == 1 and value(samples, "root_checkpoints", root=root) == 2
    now = value(samples, "survey_timestamp_seconds")
    assert now is not None and abs(time.time() - now) < 600


def test_a_textfile_collector_reads_the_same(team: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["metrics", str(team)])
    text = capsys.readouterr().out
    names = {family.name for family in classic(text)}
    assert names == set(HELP)


def test_the_json_holds_the_same_samples(team: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["metrics", str(team), "--json"])
    answer = json.loads(capsys.readouterr().out)
    main(["metrics", str(team)])
    samples = samples_of(capsys.readouterr().out)
    told = {
        (metric["name"].removeprefix("spark_checkpoint_"), frozenset(sample["labels"].items()))
        for metric in answer["metrics"]
        for sample in metric["samples"]
    }
    assert told == set(samples) and [metric["name"] for metric in answer["metrics"]] == list(HELP)


def test_labels_are_escaped_and_what_is_not_known_has_no_sample() -> None:
    evil = 'a"b\\c\nspark_checkpoint_files 7'
    row = SurveyRow(
        "x", evil, evil, "resumes", "", 0, query_id=evil, operator_state=(OperatorFacts(0, None, None, None),)
    )
    unread = SurveyRow("y", "r", "", "unreadable", "gone", 0, error="gone")
    samples = samples_of(to_openmetrics(measure([RootSearch("r", "r", error="gone")], [row, unread], 1, 2)))
    of = {"root": evil, "checkpoint": evil}
    assert value(samples, "next_start", status="resumes", **of) == 1
    assert value(samples, "info", query_id=evil, written_by="", **of) == 1
    assert {name for name, labels in samples if dict(labels).get("root") == evil} == {
        *("next_start", "is_temporary", "not_read", "read_seconds", "findings", "info")
    }
    one = {"root": "r", "checkpoint": "."}
    assert value(samples, "next_start", status="unreadable", **one) == 1
    assert value(samples, "findings", severity="data_risk", **one) is None
    assert value(samples, "root_up", root="r") == 0
    assert value(samples, "root_checkpoints", root="r") is None


def test_a_root_that_cannot_be_listed_is_down_and_an_empty_one_alone_is_an_error(
    team: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["metrics", str(tmp_path / "gone"), str(team)]) == 0
    told = capsys.readouterr()
    down = [key for key, up in samples_of(told.out).items() if key[0] == "root_up" and not up]
    assert len(down) == 1 and "gone" in told.err
    (tmp_path / "empty").mkdir()
    assert main(["metrics", str(tmp_path / "empty")]) == 10


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--every", "10"], "--serve"),
        (["--serve", "0"], "--serve"),
        (["--serve", "9117", "--every", "1"], "--every"),
    ],
)
def test_wrong_usage_is_said(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", str(SAMPLES), *arguments]) == 2
    assert says in capsys.readouterr().err


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of a server that surveys a Kafka query every five seconds, and its checkpoint."""
    place = kafka_checkpoint(tmp_path / "orders", range(3))
    port = free_port()
    command = [sys.executable, "-m", "core", "metrics", str(tmp_path), "--serve", str(port), "--every", "5"]
    with subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            said = server.stderr.readline()
            assert f"http://127.0.0.1:{port}/metrics" in said, said
            yield f"http://127.0.0.1:{port}/metrics", place
        finally:
            server.terminate()


@pytest.mark.slow
def test_what_is_served_is_surveyed_again(served: tuple[str, Path]) -> None:
    address, place = served

    def batch() -> float | None:
        asked = urllib.request.Request(
            address, headers={"Accept": "application/openmetrics-text; version=1.0.0"}
        )
        with urllib.request.urlopen(asked, timeout=30) as answer:
            assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
            samples = samples_of(answer.read().decode())
        return next(number for key, number in samples.items() if key[0] == "last_committed_batch")

    assert batch() == 2
    for log in ("offsets", "commits"):
        shutil.copy(place / log / "2", place / log / "3")
    until = time.monotonic() + 120
    while batch() != 3:
        assert time.monotonic() < until
        time.sleep(0.5)


def test_a_taken_port_is_said(team: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["metrics", str(team), "--serve", port]) == 2
    assert port in capsys.readouterr().err


@pytest.mark.parametrize("file", ["monitoring/alerts.yml", "monitoring/dashboard.json", "monitoring.md"])
def test_rules_dashboard_and_page_name_metrics_that_exist(file: str) -> None:
    named = set(NAMED.findall((DOCS / file).read_text(encoding="utf-8")))
    assert named and named <= set(HELP), named - set(HELP)


def test_the_page_names_every_metric_and_rule() -> None:
    page = (DOCS / "monitoring.md").read_text(encoding="utf-8")
    assert set(HELP) <= set(NAMED.findall(page))
    rules = re.findall(r"alert: (\w+)", (DOCS / "monitoring/alerts.yml").read_text(encoding="utf-8"))
    played = re.findall(r"alertname: (\w+)", (DOCS / "monitoring/alerts.test.yml").read_text())
    assert len(rules) == len(set(rules)) == 7 and set(played) == set(rules)


def test_every_panel_of_the_dashboard_asks_something_and_none_covers_another() -> None:
    panels = json.loads((DOCS / "monitoring/dashboard.json").read_text(encoding="utf-8"))["panels"]
    assert all(panel["targets"][0]["expr"] and panel["title"] for panel in panels)
    taken: set[tuple[int, int]] = set()
    for place in (panel["gridPos"] for panel in panels):
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken and all(x < 24 for x, _ in cells)
        taken |= cells
