"""A broker that cannot be asked: the real reason in one sentence, in time, and never an exception. No broker
is needed for these."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.connectors.answers import BrokerAnswer
from core.connectors.kafka.broker import _Search, ask
from core.connectors.kafka.properties import read_properties
from tests.support.kafka import free_ports

PASSWORD = "S3cr3t-of-the-house"
POSITIONS = {"orders": {0: 5, 1: 7}}


def asked(tmp_path: Path, *lines: str, seconds: float = 30) -> BrokerAnswer:
    path = tmp_path / "broker.properties"
    path.write_text("\n".join(lines), encoding="utf-8")
    answer = ask(read_properties(path), POSITIONS, seconds=seconds)
    assert PASSWORD not in repr(answer)
    return answer


@contextmanager
def listener() -> Iterator[int]:
    """A port that accepts and says nothing."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def said(answer: BrokerAnswer) -> str:
    assert answer.trouble is not None
    assert answer.trouble.endswith(".")
    assert "\n" not in answer.trouble
    assert not answer.partitions and not answer.topics
    assert answer.seconds < 30  # a refusal is not waited out
    return answer.trouble


def test_a_closed_port_refuses(tmp_path: Path) -> None:
    port = free_ports(1)[0]
    assert f"127.0.0.1:{port} failed: Connection refused" in said(
        asked(tmp_path, f"bootstrap.servers=127.0.0.1:{port}")
    )


def test_a_name_that_does_not_resolve_is_named(tmp_path: Path) -> None:
    trouble = said(asked(tmp_path, "bootstrap.servers=nosuchhost.invalid:9092"))
    assert "resolve" in trouble
    assert "nosuchhost.invalid:9092" in trouble


def test_every_one_of_several_servers_that_refuses_is_named(tmp_path: Path) -> None:
    one, other = free_ports(2)
    trouble = said(asked(tmp_path, f"bootstrap.servers=127.0.0.1:{one},127.0.0.1:{other}"))
    assert f":{one} failed" in trouble
    assert f":{other} failed" in trouble


@pytest.mark.parametrize("security", [(), ("security.protocol=SSL",)])
def test_a_port_that_says_nothing_gave_no_answer_in_time(tmp_path: Path, security: tuple[str, ...]) -> None:
    with listener() as port:
        assert "did not answer in time" in said(
            asked(tmp_path, f"bootstrap.servers=127.0.0.1:{port}", *security, seconds=1)
        )


def test_a_password_is_in_no_answer(tmp_path: Path) -> None:
    sasl = (
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=PLAIN",
        f"sasl.username={PASSWORD}x",
        f"sasl.password={PASSWORD}",
    )
    port = free_ports(1)[0]
    assert "refused" in said(asked(tmp_path, f"bootstrap.servers=127.0.0.1:{port}", *sasl))


def test_nothing_is_written_to_standard_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    port = free_ports(1)[0]
    asked(tmp_path, f"bootstrap.servers=127.0.0.1:{port}")
    assert capfd.readouterr() == ("", "")


def times(search: _Search, stamps: list[int], rounds: int) -> _Search:
    """Answer the search as a broker does that holds records with these times."""
    for _ in range(rounds):
        if search.is_done:
            break
        wanted = search.next_ms()
        offset = next((i for i, stamp in enumerate(stamps) if stamp >= wanted), -1)
        search.learn(wanted, offset, stamps[offset] if offset >= 0 else -1)
    return search


@pytest.mark.parametrize("position", range(1, 99))
def test_the_time_of_an_even_stream_is_found_with_one_question(position: int) -> None:
    stamps = [1_000_000 + i * 977 for i in range(100)]
    found = times(_Search(position, 0, stamps[0], 99, stamps[99]), stamps, rounds=1)
    assert found.is_exact
    assert found.low_ms == stamps[position]


@pytest.mark.parametrize(
    "stamps",
    [
        [0, 1, 2, 3, 100_000, 100_001, 100_002, 900_000],
        [0, 899_990, 899_991, 899_992, 899_993, 899_994, 899_995, 900_000],
        [5, 5, 5, 5, 5, 5, 5, 6],
        [0, 50, 20, 80, 10, 90, 30, 100],
    ],
)
def test_what_is_known_of_a_time_is_never_later_than_the_record_or_one_before_it(stamps: list[int]) -> None:
    for position in range(1, 7):
        for rounds in range(1, 30):
            found = times(_Search(position, 0, stamps[0], 7, stamps[7]), stamps, rounds)
            newest = max(stamps[: position + 1])
            assert found.low_ms <= newest < found.high_ms or (found.is_exact and found.low_ms == newest)
        assert (
            found.low_ms == newest
        )  # with enough questions: the time until which retention keeps the position
