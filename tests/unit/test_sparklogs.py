"""One reader of Spark's log formats: the same bytes give the same problem, in the same words, everywhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.checkpoint.conf import ConfPool
from core.checkpoint.logs import parse_commit, parse_metadata, parse_offset
from core.checkpoint.operator_metadata import parse_operator_metadata
from core.checkpoint.source_log import parse_file_log, parse_initial
from core.checkpoint.state_content.rocksdb_zip import BrokenZip, parse_zip_metadata
from core.connectors.file_sink_log import parse_sink_log
from core.messages import say
from core.sparklogs.evidence import Problem, not_listed, readable, too_large
from core.storage import Gone, ReadFailure

Reader = Callable[[bytes], Problem | None]
PATH = "log/7"


def _offset(data: bytes) -> Problem | None:
    parsed = parse_offset(data, 7, PATH, ConfPool())
    assert parsed.entry is None
    return parsed.problems[0]


def _commit(data: bytes) -> Problem | None:
    parsed = parse_commit(data, 7, PATH)
    return parsed if isinstance(parsed, Problem) else None


def _file_source(data: bytes) -> Problem | None:
    entries, problems = parse_file_log(data, 7, PATH)
    assert not entries
    return problems[0]


def _operator(data: bytes) -> Problem | None:
    parsed = parse_operator_metadata(data, PATH)
    return parsed if isinstance(parsed, Problem) else None


# Every reader of a file with a version line.
VERSIONED: dict[str, Reader] = {
    "offset log": _offset,
    "commit log": _commit,
    "file source log": _file_source,
    "file sink log": lambda data: parse_sink_log(data, PATH)[1],
    "operator metadata": _operator,
}
# Those of files that may be without one.
PLAIN: dict[str, Reader] = {
    "metadata": lambda data: parse_metadata(data, PATH)[1],
    "initial offset": lambda data: parse_initial(data, PATH)[1],
}

# Bytes -> (condition, line, clause): what is wrong before any version or JSON.
NO_TEXT = [
    (b"", "empty", None, "is empty (0 bytes): the write was interrupted"),
    (b" \n\n", "empty", None, "contains only white space: the write was interrupted"),
    (b"\xff\xfe\x00", "not_text", None, "is not UTF-8 text (byte 1 cannot be decoded)"),
    (b"v1\n\xff{}", "not_text", None, "is not UTF-8 text (byte 4 cannot be decoded)"),
]
BAD_VERSION = [
    (b"hello\n{}", "no_version", 1, "does not begin with a version line (v1)"),
    (b"v0\n{}", "no_version", 1, "does not begin with a version line (v1)"),
    (b" v1\n{}", "no_version", 1, "does not begin with a version line (v1)"),
    (b"V1\n{}", "no_version", 1, "does not begin with a version line (v1)"),
]
BAD_JSON = [
    (b'v1\n{"path":"a', "truncated", 2, "ends in the middle (after 10 characters)"),
    (
        b"v1\n{nope}",
        "bad_json",
        2,
        "is not valid JSON (expecting property name enclosed in double quotes at character 2)",
    ),
    (b"v1\r\n[1]", "bad_json", 2, "is a JSON array, not an object"),
    (b"v1\nnull", "bad_json", 2, "is a JSON null, not an object"),
]


@pytest.mark.parametrize("reader", VERSIONED)
@pytest.mark.parametrize(("data", "condition", "line", "clause"), [*NO_TEXT, *BAD_VERSION, *BAD_JSON])
def test_the_same_bytes_give_the_same_problem_in_every_versioned_file(
    reader: str, data: bytes, condition: str, line: int | None, clause: str
) -> None:
    check(VERSIONED[reader](data), data, condition, line, clause)


@pytest.mark.parametrize("reader", PLAIN)
@pytest.mark.parametrize(("data", "condition", "line", "clause"), NO_TEXT)
def test_and_in_the_files_that_need_no_version_line(
    reader: str, data: bytes, condition: str, line: int | None, clause: str
) -> None:
    check(PLAIN[reader](data), data, condition, line, clause)


@pytest.mark.parametrize("reader", [*VERSIONED, "initial offset"])
def test_an_unknown_version_is_reported_and_not_guessed(reader: str) -> None:
    found = ({**VERSIONED, **PLAIN})[reader](b"v9\n{}")
    assert found is not None and (found.condition, found.evidence.line) == ("unknown_version", 1)
    newest = {"offset log": 2, "commit log": 3, "operator metadata": 2}.get(reader)
    if newest is None:
        assert found.clause == say("logs.unknown_version_of_one", version=9)
    else:
        assert found.clause == say("logs.unknown_version", version=9, newest=newest)


@pytest.mark.parametrize(
    ("data", "clause"), [(data, clause) for data, _, _, clause in [*NO_TEXT, *BAD_VERSION, *BAD_JSON]]
)
def test_the_metadata_member_of_a_state_zip_is_read_the_same_way(data: bytes, clause: str) -> None:
    found = parse_zip_metadata(data)
    assert isinstance(found, BrokenZip) and clause in found.reason


def check(found: Problem | None, data: bytes, condition: str, line: int | None, clause: str) -> None:
    assert found is not None
    assert (found.condition, found.evidence.path, found.evidence.line) == (condition, PATH, line)
    assert (found.clause, found.raw) == (clause, data)
    assert found.reason == f"{PATH if line is None else f'{PATH}:{line}'} {clause}."
    assert not found.is_read_failure


def test_read_absent_and_unreadable_are_three_values() -> None:
    assert readable(b"v1\n{}", PATH) == b"v1\n{}"
    assert readable(Gone(), PATH) is None
    failed = readable(ReadFailure("No permission to read this file (Permission denied)."), PATH)
    assert isinstance(failed, Problem) and failed.is_read_failure and failed.raw == b""
    assert failed.reason == (
        f"{PATH} could not be read: No permission to read this file (Permission denied)."
    )


def test_what_was_not_read_for_its_size_is_a_read_failure_as_well() -> None:
    found = too_large(PATH, 40_000_000, 33_554_432)
    assert found.is_read_failure and "was not read" in found.reason


def test_a_directory_that_cannot_be_listed_is_a_read_failure() -> None:
    found = not_listed("state", OSError("state cannot be listed."))
    assert found.is_read_failure and found.reason == "state cannot be listed."
