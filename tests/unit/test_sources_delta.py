"""Delta's offsets: every form that real Delta wrote, and what a new start from each would repeat or skip."""

from __future__ import annotations

import pytest

from core.checkpoint.sources.base import SourceContext
from core.checkpoint.sources.delta import DELTA, DELTA_SHARING
from core.checkpoint.sources.registry import kind_of, parse

NOTHING = SourceContext("0")


def offset(
    version: int, index: int, starting: bool = False, *, source_version: int = 1, table: str = "3bff"
) -> dict[str, object]:
    return {
        "sourceVersion": source_version,
        "reservoirId": table,
        "reservoirVersion": version,
        "index": index,
        "isStartingVersion": starting,
    }


def test_the_lines_of_the_format_reference_are_delta_and_delta_sharing() -> None:
    assert (
        kind_of(
            [
                '{"sourceVersion":1,"reservoirId":"3bff","reservoirVersion":1,"index":8,"isStartingVersion":false}'
            ]
        )
        is DELTA
    )
    assert (
        kind_of(['{"sourceVersion":1,"tableId":"x","tableVersion":3,"index":10,"isStartingVersion":false}'])
        is DELTA_SHARING
    )


def test_a_missing_starting_flag_counts_as_false() -> None:
    text = '{"sourceVersion":1,"reservoirId":"3bff","reservoirVersion":6,"index":-1}'
    assert kind_of([text]) is DELTA
    assert DELTA.resume(parse(text), NOTHING).exact


@pytest.mark.parametrize("index", [-1, -100])
def test_between_two_versions_the_version_is_the_start_if_it_exists(index: int) -> None:
    point = DELTA.resume(offset(6, index), NOTHING)
    assert point.exact
    assert point.options == {"startingVersion": "6"}
    assert point.certainty == "needs_input"
    assert point.seed == "transplant"
    assert "DELTA_VERSION_NOT_FOUND" in point.note


def test_inside_a_version_no_option_is_exact_and_both_neighbours_are_priced() -> None:
    point = DELTA.resume(offset(5, 0), NOTHING)
    assert not point.exact
    assert point.options is None
    assert point.seed == "transplant"
    assert point.repeats == "with startingVersion=5: the first 1 file of version 5"
    assert point.skips == "with startingVersion=6: the other files of version 5"
    assert "change data feed" in point.note


@pytest.mark.parametrize("index", [-1, 2])
def test_inside_the_first_snapshot_no_option_fits(index: int) -> None:
    point = DELTA.resume(offset(2, index, True), NOTHING)
    assert not point.exact
    assert point.options is None
    assert point.seed == "transplant"
    assert "first snapshot" in point.note
    assert "whole snapshot" in point.repeats


@pytest.mark.parametrize("index", [-20, -19])
def test_at_a_schema_change_the_version_exists_and_is_the_start(index: int) -> None:
    point = DELTA.resume(offset(2, index, source_version=3), NOTHING)
    assert point.exact
    assert point.options == {"startingVersion": "2"}
    assert point.certainty == "inferred"
    assert "schema change" in point.note


@pytest.mark.parametrize(
    ("start", "end", "amount", "note"),
    [
        (offset(3, -1), offset(5, -1), 2, ""),
        (offset(5, -1), offset(5, 1), 0, "2 files of version 5."),
        (offset(5, 0), offset(5, 2), 0, "2 files of version 5."),
        (offset(5, 2), offset(6, -1), 1, ""),
        (offset(4, -1), offset(5, 0), 1, "And 1 file of version 5."),
        (offset(2, 0, True), offset(2, 2, True), 0, "2 files of the first snapshot (version 2)."),
        (offset(2, 4, True), offset(3, -1), 1, "The first snapshot (version 2) was finished."),
        (
            offset(2, 4, True),
            offset(5, 1),
            3,
            "The first snapshot (version 2) was finished, and 2 files of version 5 read.",
        ),
        (offset(2, -1), offset(2, -20), 0, "At a schema change in version 2."),
        (offset(2, -20), offset(2, -19), 0, "At a schema change in version 2."),
        (offset(2, -19), offset(3, -1), 1, ""),
        (offset(3, -1), offset(3, -1), 0, ""),
        (offset(5, 3), offset(5, 1), 0, "The file index inside version 5 went down from 3 to 1."),
    ],
)
def test_the_advance_counts_versions_and_tells_moves_inside_one(
    start: dict[str, object], end: dict[str, object], amount: int, note: str
) -> None:
    advance = DELTA.advance(start, end, NOTHING)
    assert (advance.amount, advance.unit, advance.note) == (amount, "versions", note)


def test_a_version_that_goes_down_has_no_amount_and_a_note() -> None:
    advance = DELTA.advance(offset(9, -1), offset(4, -1), NOTHING)
    assert advance.amount is None
    assert "from 9 to 4" in advance.note


def test_another_table_id_has_no_amount_and_a_note() -> None:
    advance = DELTA.advance(offset(9, -1), offset(12, -1, table="other"), NOTHING)
    assert advance.amount is None
    assert "replaced" in advance.note


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (offset(6, -1), "before version 6"),
        (offset(5, 2), "inside version 5, 3 files done"),
        (offset(2, 0, True), "inside the first snapshot (version 2), 1 file done"),
        (offset(2, -19), "at a schema change in version 2"),
    ],
)
def test_an_offset_is_described_in_words(given: dict[str, object], words: str) -> None:
    assert DELTA.describe(given) == f"Delta table 3bff, {words}"


def test_delta_sharing_is_never_certain_because_it_was_not_run() -> None:
    for index in (-1, 5, -19):
        point = DELTA_SHARING.resume({"tableId": "x", "tableVersion": 3, "index": index}, NOTHING)
        assert point.certainty in ("inferred", "needs_input")
