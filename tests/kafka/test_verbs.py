"""The verbs of the command line with ``--kafka``: what they say of a topic that was shortened, and that no
password leaves them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.cli import main
from tests.support.brokers import checkpoint_at
from tests.support.kafka import Broker, free_ports

pytestmark = pytest.mark.kafka

PASSWORD = "S3cr3t-of-the-house"
VERBS = ("forecast", "check", "resume", "recover")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Iterator[Run]:
    """Runs a verb: exit status, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        captured = capfdbinary.readouterr()
        return status, captured.out.decode(), captured.err.decode()

    yield call


@pytest.fixture(scope="module")
def shortened(kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint at offset 10 of a topic that begins at 14 by now, and has one more partition."""
    kafka.create_topic("verbs", 1)
    kafka.produce("verbs", [f"{i}" for i in range(20)], 0)
    kafka.delete_records("verbs", {0: 14})
    kafka.add_partitions("verbs", 2)
    return checkpoint_at(tmp_path_factory.mktemp("verbs"), {"verbs": {0: 4}}, {"verbs": {0: 10}})


def document(run: Run, *arguments: object) -> dict[str, Any]:
    _, out, err = run(*arguments, "--json")
    assert err == ""
    found: dict[str, Any] = json.loads(out)
    return found


def test_forecast_tells_every_partition_and_the_failure(
    run: Run, shortened: Path, properties_file: Path
) -> None:
    found = document(run, "forecast", shortened, "--kafka", properties_file)
    assert (found["outcome"], found["batch_id"], found["reason"]) == ("fail", 2, "KAFKA_RECORDS_EXPIRED")
    assert found["error"]["condition"] == "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"
    (source,) = found["sources"]
    assert [
        (p["name"], p["earliest"], p["position"], p["latest"], p["lost"]) for p in source["partitions"]
    ] == [
        ("verbs-0", 14, 10, 20, 4),
        ("verbs-1", 0, None, 0, 0),
    ]
    assert source["requests"] <= 10
    allowed = document(run, "forecast", shortened, "--kafka", properties_file, "--fail-on-data-loss", "false")
    assert (allowed["outcome"], allowed["data"]["append"]) == ("resume", "loss")


def test_check_names_the_finding(run: Run, shortened: Path, properties_file: Path) -> None:
    found = document(run, "check", shortened, "--kafka", properties_file)
    (finding,) = [each for each in found["findings"] if each["id"] == "KAFKA_RECORDS_EXPIRED"]
    assert finding["severity"] == "blocks_restart"
    assert "verbs-0 begins at 14 now" in finding["sentence"]


def test_resume_gives_a_position_that_starts_and_says_what_it_skips(
    run: Run, shortened: Path, properties_file: Path
) -> None:
    found = document(run, "resume", shortened, "--kafka", properties_file)
    (source,) = found["sources"]
    assert source["exact"] is False
    assert json.loads(source["options"]["startingOffsets"]) == {"verbs": {"0": -2, "1": -2}}
    assert source["skips"].startswith("4 offsets that have expired (verbs-0 10 to 13")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_no_verb_shows_a_value_of_the_properties_file(
    run: Run, shortened: Path, kafka: Broker, tmp_path: Path, verb: str, form: tuple[str, ...]
) -> None:
    sasl = [
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=PLAIN",
        "sasl.username=the-explorer",
        f"sasl.password={PASSWORD}",
    ]
    for servers in (kafka.bootstrap, f"127.0.0.1:{free_ports(1)[0]}"):
        file = tmp_path / "secret.properties"
        file.write_text("\n".join([f"bootstrap.servers={servers}", *sasl]), encoding="utf-8")
        _, out, err = run(verb, shortened, "--kafka", file, *form)
        assert out
        assert PASSWORD not in out + err
        assert "the-explorer" not in out + err
    file.write_text(f"bootstrap.servers={servers}\nsasl.password.typo={PASSWORD}", encoding="utf-8")
    status, out, err = run(verb, shortened, "--kafka", file, *form)
    assert status == 2
    assert "sasl.password.typo" in err
    assert PASSWORD not in out + err
