"""Delta offsets as Delta's reader takes them. What it does with each text was seen with Delta itself
(tests/delta/test_edited_offsets.py)."""

from __future__ import annotations

import json

import pytest

from core.checkpoint.conf import ConfPool
from core.checkpoint.logs import parse_offset
from core.checkpoint.sources.delta import TablePosition
from core.checkpoint.sources.delta_reader import read_offset

TEXT = '{"sourceVersion":1,"reservoirId":"a","reservoirVersion":4,"index":-1,"isStartingVersion":false}'


def text(**fields: object) -> str:
    return json.dumps({**json.loads(TEXT), **fields})


@pytest.mark.parametrize("taken", [TEXT, f" {TEXT}}}x", text(reservoirVersion=" +4 "), text(more={})])
def test_what_it_reads_as_it_was_meant(taken: str) -> None:
    read = read_offset(taken)
    assert read.position == TablePosition("a", 4, -1, False) and not read.filled_in and read.refusal is None


@pytest.mark.parametrize("value", [None, "", "null"])
def test_numbers_that_are_not_there_are_0(value: object) -> None:
    read = read_offset(text(reservoirVersion=value, index=value))
    assert read.position == TablePosition("a", 0, 0, False)
    assert read.filled_in == ("reservoirVersion", "index")


def test_a_fraction_is_cut_off_and_named() -> None:
    read = read_offset(text(reservoirVersion=4.9))
    assert (read.version, read.filled_in) == (4, ("reservoirVersion",))


@pytest.mark.parametrize(
    ("value", "taken"), [(True, True), (2, True), ("True", True), (None, False), ("", False), (0, False)]
)
def test_true_may_be_written_in_several_ways(value: object, taken: bool) -> None:
    assert read_offset(text(isStartingVersion=value)).in_first_snapshot is taken


@pytest.mark.parametrize(
    ("refused", "refusal"),
    [
        ("", "nothing"),
        ("{", "broken"),
        ("[1", "list"),
        ("abc", "no_json"),
        ("null", "null"),
        ('""', "text"),
        ("5", "scalar"),
        (text(index=True), "number"),
        (text(index="x"), "text"),
        (text(index=2**63), "too_large"),
        (text(reservoirId=[]), "id"),
        (text(isStartingVersion={}), "flag"),
        ("[" * 100_000, "list"),
        ('{"a":' * 100_000, "broken"),
    ],
)
def test_what_it_refuses_has_a_reason_and_no_position(refused: str, refusal: str) -> None:
    read = read_offset(refused)
    assert read.refusal == refusal and read.position is None


def test_a_text_without_a_table_has_no_position() -> None:
    assert read_offset("{}").position is None and read_offset("{}").refusal is None


def test_what_stands_behind_an_offset_is_no_problem_of_the_offset_file() -> None:
    data = f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{{}}}}\n{TEXT}}}'.encode()
    parsed = parse_offset(data, 3, "offsets/3", ConfPool())
    assert parsed.entry is not None and not parsed.problems and parsed.entry.sources[0].raw == TEXT
