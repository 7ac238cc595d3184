"""Read, absent and unreadable are three values, and a size that a store does not give is unknown, not 0."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.analysis.balance import balance, growth
from core.analysis.findings import findings
from core.checkpoint import Checkpoint
from core.checkpoint.state import read_schemas, state_inventory
from core.documents.base import to_json
from core.documents.inspect import inspect_document
from core.errors import AccessDenied
from core.settings import SAMPLES, Settings
from core.sparklogs.evidence import Problem
from core.storage import Door
from tests.support.build import kafka_checkpoint, write
from tests.support.spy import spy_file_system

STATEFUL = [
    "join-watermark-held-back",
    "missing-delta-file",
    "state-format-2",
    "transform-with-state-timers",
    "windowed-aggregation-hot-partition",
]
# What another test read before would be served from memory.
NO_CACHE = Settings(content_cache_bytes=0)
ALL = sorted(path.parent.name for path in SAMPLES.glob("*/checkpoint"))


def place(name: str) -> Path:
    return SAMPLES / name / "checkpoint"


def facts(ck: Checkpoint) -> dict[str, object]:
    """What ``inspect`` says, without the place, the time of reading and the sizes."""
    document = to_json(inspect_document(ck, all_batches=True))
    for name in ("location", "read_at"):
        document.pop(name, None)
    for item in [*document["operators"], *document["leftovers"]]:
        item.pop("bytes", None)
    return document


# Sizes


@pytest.mark.parametrize("name", ALL)
def test_a_store_without_sizes_gives_the_same_facts(name: str) -> None:
    with spy_file_system(gives_sizes=True) as spy:
        expected = facts(Checkpoint.open(spy.url(place(name))))
    with spy_file_system(gives_sizes=False) as spy:
        ck = Checkpoint.open(spy.url(place(name)))
        assert all(file.size_bytes is None for file in ck.offset_files.values())
        assert facts(ck) == expected


@pytest.mark.parametrize("name", STATEFUL)
def test_sizes_of_the_state_are_not_known_and_never_0(name: str) -> None:
    with spy_file_system(gives_sizes=False) as spy:
        ck = Checkpoint.open(spy.url(place(name)))
        state = state_inventory(ck)
        assert state.operators and state.size_bytes is None
        for operator in state.operators:
            assert operator.size_bytes is None and operator.file_count > 0
            assert not any(problem.condition == "empty" for problem in operator.problems)
            for partition in operator.partitions:
                assert partition.newest_version is not None
                assert set(partition.bytes_by_version.values()) == {None}
            found = balance(operator)
            assert found.partitions == () and "does not give the sizes" in found.title
            assert len(growth(operator).versions) == 0


@pytest.mark.parametrize("name", STATEFUL)
@pytest.mark.parametrize("level", ["normal", "deep"])
def test_no_finding_takes_an_unknown_size_for_an_empty_file(name: str, level: str) -> None:
    def ids() -> list[tuple[str, str]]:
        report = findings(Checkpoint.open(spy.url(place(name))), level=level)  # type: ignore[arg-type]
        by_size = ("STATE_GROWS", "STATE_SKEWED")  # what is about sizes says nothing without them
        return sorted((item.id, item.severity) for item in report.findings if item.id not in by_size)

    with spy_file_system(gives_sizes=True) as spy:
        expected = ids()
    with spy_file_system(gives_sizes=False) as spy:
        assert ids() == expected


# Reading


def test_a_log_file_that_is_denied_is_a_read_failure_and_the_others_are_read() -> None:
    denied = ("metadata", "offsets/4", "commits/3")
    with spy_file_system(denied=denied) as spy:
        ck = Checkpoint.open(spy.url(place("windowed-aggregation-hot-partition")), NO_CACHE)
        failures = {problem.evidence.path: problem for problem in ck.problems}
        assert set(failures) == set(denied)
        for path, problem in failures.items():
            assert problem.is_read_failure and problem.raw == b""
            assert problem.reason == (
                f"{path} could not be read: No permission to read this file (Permission denied)."
            )
        assert ck.query_id is None and isinstance(ck.offset(4), Problem) and isinstance(ck.commit(3), Problem)
        assert not isinstance(ck.offset(3), Problem)


def test_a_damaged_file_is_no_read_failure_and_an_absent_one_is_none(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(write(kafka_checkpoint(tmp_path, range(3)), {"offsets/1": b"\xff"})))
    damaged = ck.offset(1)
    assert isinstance(damaged, Problem) and not damaged.is_read_failure and damaged.raw == b"\xff"
    assert ck.offset(7) is None


def test_a_file_source_log_that_is_denied_leaves_the_count_open() -> None:
    with spy_file_system(denied=("sources/0/12",)) as spy:
        ck = Checkpoint.open(spy.url(place("files-stopped-cleanly")), NO_CACHE)
        context = ck.sources[0].context
        assert context.file_log and not context.file_log_complete
        assert [(item.evidence.path, item.is_read_failure) for item in ck.problems] == [
            ("sources/0/12", True)
        ]


@pytest.mark.parametrize("name", ["missing-delta-file", "transform-with-state-timers"])
def test_state_descriptions_that_are_denied_are_read_failures(name: str) -> None:
    ck = Checkpoint.open(str(place(name)))
    operator = state_inventory(ck).operators[0]
    files = [f for f in operator.own_files if f.kind in ("metadata", "schema")]
    files += [f for p in operator.partitions for f in p.files if f.kind == "schema"]
    assert files
    with spy_file_system(denied=[file.path for file in files]) as spy:
        denied = Checkpoint.open(spy.url(place(name)), NO_CACHE)
        problems = state_inventory(denied).operators[0].problems
        assert problems and all(problem.is_read_failure for problem in problems)
        schemas = read_schemas(denied, operator.operator_id)
        assert schemas and all(isinstance(item, Problem) and item.is_read_failure for item in schemas)


def test_a_directory_that_is_denied_is_not_an_absent_one() -> None:
    with spy_file_system(denied=("state",)) as spy:
        ck = Checkpoint.open(spy.url(place("windowed-aggregation-hot-partition")), NO_CACHE)
        assert ck.has_state
        with pytest.raises(AccessDenied):
            state_inventory(ck)
        (problem,) = [item for item in inspect_document(ck).problems if item.path == "state"]
        assert problem.condition == "unreadable"
    with spy_file_system(denied=("offsets",)) as spy, pytest.raises(AccessDenied):
        Checkpoint.open(spy.url(place("windowed-aggregation-hot-partition")), NO_CACHE)


def test_the_door_lists_a_file_without_size_and_reads_it() -> None:
    with spy_file_system(gives_sizes=False) as spy:
        door = Door.open(spy.url(place("files-stopped-cleanly")))
        info = door.list([""])[""].names()["metadata"]
        assert info.size_bytes is None
        assert door.read([info])["metadata"] == (place("files-stopped-cleanly") / "metadata").read_bytes()
