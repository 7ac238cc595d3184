"""``--kafka``, ``--sink`` and ``--source`` on the command line: what they add, what they say when an end
cannot be asked, and no secret."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.cli import main

Run = Callable[..., tuple[int, str, str]]
TABLE, KAFKA, FILES = "delta-batch-already-in-table", "kafka-pipeline-died-mid-batch", "files-died-mid-batch"
SECRET = "hunter2-do-not-show"


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        out, err = capfdbinary.readouterr()
        return status, out.decode(), err.decode()

    return call


@pytest.fixture
def closed_port() -> int:
    """A loopback port on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture
def properties(tmp_path: Path, closed_port: int) -> Path:
    """A properties file with a password, for a broker that is down."""
    path = tmp_path / "broker.properties"
    path.write_text(
        f"bootstrap.servers=127.0.0.1:{closed_port}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f"sasl.username=explorer\nsasl.password={SECRET}\n"
    )
    return path


def document(run: Run, *arguments: object) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run(*arguments, "--json")[1])
    return answer


def test_the_log_of_the_sink_says_that_the_pending_batch_will_be_skipped(run: Run, samples: Path) -> None:
    place = samples / TABLE
    answer = document(
        run, "forecast", place / "checkpoint", "--sink", place / "sink", "--source", f"0={place / 'source'}"
    )
    assert (answer["sink"]["kind"], answer["sink"]["holds_up_to_batch"], answer["sink"]["pending"]) == (
        "delta",
        5,
        "skipped",
    )
    assert "Pending batch 5 is already in the table and will be skipped" in answer["sentence"]
    assert not any(item.startswith("the sink") for item in answer["not_checked"])
    assert answer["sources"][0]["lag_rows"] == 120 and answer["sources"][0]["is_available"] is True
    assert [price["repeats_rows"] for price in answer["price_of_deleting"]] == [238, 0, 0]


def test_a_place_that_keeps_no_log_leaves_the_sink_unchecked(run: Run, samples: Path, tmp_path: Path) -> None:
    answer = document(run, "forecast", samples / FILES / "checkpoint", "--sink", tmp_path)
    assert answer["sink"]["kind"] == "plain"
    assert any("it keeps no log of them" in item for item in answer["not_checked"])
    assert "the sink" not in answer["not_checked"]


def test_a_sink_that_is_not_there_is_a_sentence_and_the_rest_is_answered(
    run: Run, samples: Path, tmp_path: Path
) -> None:
    answer = document(run, "forecast", samples / FILES / "checkpoint", "--sink", tmp_path / "nowhere")
    assert answer["sink"] is None and answer["outcome"] == "rerun"
    assert any(item.startswith("the sink: ") and "nowhere" in item for item in answer["not_checked"])


def test_a_check_names_the_ends_that_were_asked(run: Run, samples: Path) -> None:
    place = samples / TABLE
    answer = document(
        run, "check", place / "checkpoint", "--sink", place / "sink", "--source", f"0={place / 'source'}"
    )
    assert {"the log of the sink", "what source 0 has now"} <= set(answer["checked"])
    assert not any("themselves" in item or "itself" in item for item in answer["not_checked"])


def test_recover_knows_the_sink_by_its_log_and_says_forecast_and_impact_first(
    run: Run, samples: Path
) -> None:
    place = samples / TABLE
    answer = document(
        run, "recover", place / "checkpoint", "--sink", place / "sink", "--source", f"0={place / 'source'}"
    )
    question = next(question for question in answer["questions"] if question["id"] == "sink")
    assert (question["answer"], question["from_checkpoint"]) == ("delta", True)
    assert [price["loses_rows"] for price in answer["price_of_deleting"]] == [0, 0, 80]
    text = run("recover", place / "checkpoint", "--sink", place / "sink")[1]
    assert text.startswith("Spark will re-run batch 5")
    assert text.index("Impact of deleting this checkpoint") < text.index("Questions (answer")


@pytest.mark.parametrize("verb", ["forecast", "check", "resume", "recover"])
def test_a_broker_that_is_down_is_one_sentence_and_its_password_is_nowhere(
    run: Run, samples: Path, properties: Path, closed_port: int, verb: str
) -> None:
    for form in ((), ("--json",)):
        status, out, err = run(verb, samples / KAFKA / "checkpoint", "--kafka", properties, *form)
        assert status in (0, 1), err
        assert SECRET not in out and SECRET not in err
        assert "Traceback" not in err
    if verb in ("forecast", "check"):
        answer = document(run, verb, samples / KAFKA / "checkpoint", "--kafka", properties)
        assert any(
            f"127.0.0.1:{closed_port}" in item and "refused" in item for item in answer["not_checked"]
        ), answer["not_checked"]


@pytest.mark.parametrize(
    "text",
    [
        f"sasl.jaas.config=login required password={SECRET}",
        f"foo.bar={SECRET}",
        f"sasl.password {SECRET}",
        f"\x00{SECRET}",
    ],
)
def test_a_properties_file_that_cannot_be_used_is_one_sentence_without_its_values(
    run: Run, samples: Path, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "broken.properties"
    path.write_text(f"bootstrap.servers=127.0.0.1:1\n{text}\n")
    status, out, err = run("forecast", samples / KAFKA / "checkpoint", "--kafka", path, "--json")
    assert (status, out) == (2, "") and "broken.properties" in err
    assert SECRET not in err and "Traceback" not in err and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        ("--kafka", "x.properties"),
        ("--source", "7=/data"),
        ("--source", "0"),
        ("--isolation", "serializable"),
        ("--sink", "::"),
    ],
)
@pytest.mark.parametrize("verb", ["forecast", "check", "resume", "recover"])
def test_wrong_usage_of_the_ends_is_one_sentence(
    run: Run, samples: Path, verb: str, wrong: tuple[str, str]
) -> None:
    status, out, err = run(verb, samples / FILES / "checkpoint", *wrong)
    assert (status, out) == (2, "") or (status == 10 and wrong[0] == "--sink"), err
    assert len(err.strip().splitlines()) == 1 and "Traceback" not in err
