"""Offsets of a Delta source that were edited by hand: the forecast, and then Delta's own reader.

A run edits the committed position or the begin of the planned batch, turn by turn;
CHECKPOINT_EXPLORER_EVERY_CASE=1 edits both."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable

import pytest

from core.analysis.forecast import Forecast
from tests.spark.cases import EVERY_CASE
from tests.support.delta_proof import Case, Fact, remove

pytestmark = pytest.mark.delta
Make = Callable[..., Case]
Edit = Callable[[str], str]

UNREADABLE, OTHER_TABLE = "SOURCE_OFFSET_UNREADABLE", "DELTA_TABLE_DIFFERS"
BACK, INCOMPLETE, SNAPSHOT = "OFFSET_WENT_BACK", "DELTA_OFFSET_INCOMPLETE", "DELTA_BACK_IN_SNAPSHOT"


def fields(**values: object) -> Edit:
    """Some fields of the line with other values."""
    return lambda text: json.dumps({**json.loads(text), **values}, separators=(",", ":"))


def without(name: str) -> Edit:
    return lambda text: json.dumps({k: v for k, v in json.loads(text).items() if k != name})


def version(text: str) -> Edit:
    """The version as this text, which is no value of Python's JSON."""
    return lambda line: re.sub(r'("reservoirVersion":)\d+', rf"\g<1>{text}", line)


REFUSED: dict[str, tuple[Edit, str]] = {
    "id_other": (fields(reservoirId="113de742-aa11-46fd-90a1-cd0f024ad7ab"), OTHER_TABLE),
    "id_empty": (fields(reservoirId=""), OTHER_TABLE),
    "id_number": (fields(reservoirId=5), OTHER_TABLE),
    "id_null": (fields(reservoirId=None), UNREADABLE),
    "id_missing": (without("reservoirId"), UNREADABLE),
    "id_list": (fields(reservoirId=[]), UNREADABLE),
    "source_version_0": (fields(sourceVersion=0), UNREADABLE),
    "source_version_2": (fields(sourceVersion=2), UNREADABLE),
    "source_version_3": (fields(sourceVersion=3), UNREADABLE),
    "source_version_4": (fields(sourceVersion=4), UNREADABLE),
    "source_version_null": (fields(sourceVersion=None), UNREADABLE),
    "source_version_missing": (without("sourceVersion"), UNREADABLE),
    "source_version_word": (fields(sourceVersion="x"), UNREADABLE),
    "version_word": (fields(reservoirVersion="4.0"), UNREADABLE),
    "version_true": (fields(reservoirVersion=True), UNREADABLE),
    "version_list": (fields(reservoirVersion=[1]), UNREADABLE),
    "version_large": (version("99999999999999999999"), UNREADABLE),
    "version_large_text": (fields(reservoirVersion="99999999999999999999"), UNREADABLE),
    "version_huge": (version("1e30"), UNREADABLE),
    "version_nan": (version("NaN"), UNREADABLE),
    "snapshot_word": (fields(isStartingVersion="tRUE"), UNREADABLE),
    "snapshot_fraction": (fields(isStartingVersion=1.0), UNREADABLE),
    "object_empty": (lambda _: "{}", UNREADABLE),
    "null": (lambda _: "null", UNREADABLE),
    "list": (lambda _: "[]", UNREADABLE),
    "list_around": (lambda text: f"[{text}", UNREADABLE),
    "number": (lambda _: "5", UNREADABLE),
    "text": (lambda _: '"abc"', UNREADABLE),
    "text_empty": (lambda _: '""', UNREADABLE),
    "word": (lambda _: "abc", UNREADABLE),
    "blank": (lambda _: " ", UNREADABLE),
    "byte_order_mark": (lambda text: f"\ufeff{text}", UNREADABLE),
    "cut": (lambda text: text[:-9], UNREADABLE),
    "comma": (lambda text: f"{text[:-1]},}}", UNREADABLE),
    "semicolon": (lambda text: text.replace(":", ";", 1), UNREADABLE),
    "single_quotes": (lambda text: text.replace('"', "'"), UNREADABLE),
}
HARMLESS: dict[str, Edit] = {
    "as_written": lambda text: text,
    "text_behind": lambda text: f"{text}}} x",
    "spaces": lambda text: f" {text} ",
    "more_fields": fields(more=[1]),
    "version_twice": lambda text: text.replace(
        '"reservoirVersion"', '"reservoirVersion":0,"reservoirVersion"'
    ),
    "version_text": lambda text: re.sub(r'("reservoirVersion":)(\d+)', r'\1" \2"', text),
    "source_version_fraction": fields(sourceVersion=1.7),
    "source_version_text": fields(sourceVersion="1"),
    "source_version_of_a_schema_change": fields(sourceVersion=3, index=-20),
    "index_text": fields(index="-1"),
    "index_below": fields(index=-5),
    "snapshot_false": fields(isStartingVersion="False"),
    "snapshot_null": fields(isStartingVersion=None),
    "snapshot_0": fields(isStartingVersion=0),
}
# The finding, and what Delta did with (batch, committed) as rows lost and repeated: the newest position of a
# committed batch; of a planned one; where the planned batch begins.
TAKEN: dict[str, tuple[Edit, str, tuple[int, int], tuple[int, int], tuple[int, int]]] = {
    "version_null": (fields(reservoirVersion=None), BACK, (0, 50), (0, 50), (0, 50)),
    "version_empty": (fields(reservoirVersion=""), BACK, (0, 50), (0, 50), (0, 50)),
    "version_missing": (without("reservoirVersion"), BACK, (0, 50), (0, 50), (0, 50)),
    "index_null": (fields(index=None), INCOMPLETE, (10, 0), (0, 0), (10, 0)),
    "index_missing": (without("index"), INCOMPLETE, (10, 0), (0, 0), (10, 0)),
    "index_large": (fields(index=2**40), "DELTA_INDEX_BEYOND", (10, 0), (0, 0), (10, 0)),
    "snapshot_text": (fields(isStartingVersion="true"), SNAPSHOT, (0, 50), (0, 60), (0, 50)),
    "snapshot_1": (fields(isStartingVersion=1), SNAPSHOT, (0, 50), (0, 60), (0, 50)),
}


def turns(names: Iterable[str]) -> list[tuple[str, bool]]:
    """Each name with a committed or with a planned batch, or with both."""
    every = bool(os.environ.get(EVERY_CASE))
    return [
        (name, pending)
        for at, name in enumerate(names)
        for pending in ([False, True] if every else [at % 2 == 1])
    ]


def edited(made: Case, batch: int, edit: Edit) -> None:
    path = made.checkpoint / "offsets" / str(batch)
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[2] = edit(lines[2])
    remove(path)
    path.write_text("\n".join(lines), encoding="utf-8")


def proven(case: Make, edit: Edit, pending: bool, at: int, **options: str) -> tuple[Forecast, Fact]:
    made = case("plain", pending=pending, **options)
    edited(made, at, edit)
    return made.prove()


@pytest.mark.parametrize(("name", "pending"), turns(REFUSED))
def test_a_position_that_delta_refuses_stops_the_start_or_the_planned_batch(
    case: Make, name: str, pending: bool
) -> None:
    edit, reason = REFUSED[name]
    said, _ = proven(case, edit, pending, 4)
    assert (said.reason, said.certainty, said.fails_at) == (
        reason,
        "certain",
        "batch" if pending else "start",
    )


@pytest.mark.parametrize("name", ["id_missing", "source_version_2", "null", "cut"])
@pytest.mark.parametrize("pending", [False, True])
def test_the_other_line_of_the_range_counts_too(case: Make, name: str, pending: bool) -> None:
    edit, reason = REFUSED[name]
    said, _ = proven(case, edit, pending, 5 if pending else 3)
    assert said.reason == reason


@pytest.mark.parametrize("name", ["id_other", "object_empty", "null", "source_version_2"])
def test_two_equal_positions_are_looked_at_as_well(case: Make, name: str) -> None:
    edit, reason = REFUSED[name]
    made = case("plain")
    edited(made, 4, edit)
    edited(made, 3, lambda _: (made.checkpoint / "offsets" / "4").read_text(encoding="utf-8").split("\n")[2])
    said, _ = made.prove()
    assert (said.reason, said.fails_at) == (reason, "start")


@pytest.mark.parametrize(("name", "pending"), turns(HARMLESS))
def test_what_delta_reads_as_it_was_meant_is_exact(case: Make, name: str, pending: bool) -> None:
    said, fact = proven(case, HARMLESS[name], pending, 4)
    assert said.data.skip == "exact" and not said.risks
    assert fact.ids == tuple(range(70))


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.parametrize("where", ["committed", "planned", "begin"])
def test_a_number_that_delta_fills_in_is_a_risk(case: Make, name: str, where: str) -> None:
    edit, finding, *truth = TAKEN[name]
    which = ["committed", "planned", "begin"].index(where)
    said, fact = proven(case, edit, where != "committed", 5 if where == "planned" else 4)
    assert fact.against(range(70)) == truth[which]
    if truth[which] != (0, 0):
        assert [risk.id for risk in said.risks] == [finding]


def test_an_edited_begin_of_a_committed_batch_does_no_harm(case: Make) -> None:
    said, fact = proven(case, without("reservoirVersion"), False, 3)
    assert not said.risks and fact.ids == tuple(range(70))


def test_a_fraction_is_cut_off(case: Make) -> None:
    said, fact = proven(case, fields(reservoirVersion=4.9), False, 4)
    assert [risk.id for risk in said.risks] == [INCOMPLETE] and fact.against(range(70)) == (0, 10)


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("allowed", ["true", "false"])
@pytest.mark.parametrize("back", [0, 1])
def test_a_version_below_0(case: Make, pending: bool, allowed: str, back: int) -> None:
    said, fact = proven(
        case, fields(reservoirVersion=-1), pending, 4 + pending - back, failOnDataLoss=allowed
    )
    if fact.causes:
        assert allowed == "true" and fact.condition == "DELTA_MISSING_FILES_UNEXPECTED_VERSION"
    elif not (back and not pending):
        assert [risk.id for risk in said.risks] == [BACK] and fact.against(range(70)) == (0, 50)


@pytest.mark.parametrize("name", ["version_null", "index_missing", "snapshot_1"])
def test_a_batch_that_the_sink_has_already_is_not_harmed_by_its_edited_begin(case: Make, name: str) -> None:
    made = case("done")
    newest = max(int(path.name) for path in (made.checkpoint / "commits").iterdir() if path.name.isdigit())
    made.forget_commit(newest)
    edited(made, newest - 1, TAKEN[name][0])
    said, fact = made.prove()
    assert said.sink is not None and said.sink.pending == "skipped" and not said.risks
    assert fact.ids == tuple(range(70))
