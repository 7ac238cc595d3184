"""Rows that are lists: which families hold them, and how many elements they have."""

from __future__ import annotations

import json

import pytest

from core.checkpoint import Checkpoint
from core.checkpoint.families import counted_families, list_families
from core.checkpoint.state import committed_ids, state_inventory
from core.checkpoint.state_content.counts import count_keys
from core.checkpoint.state_content.replay import ListLengths
from core.cli import main
from tests.support.build import SAMPLES

SAMPLE = SAMPLES / "transform-with-state-timers" / "checkpoint"
LIST, OTHER = b"\x04\x00", b"\x02\x00"
ROW = b"\0" + b"r" * 16


def several(count: int) -> bytes:
    return b"".join(len(ROW).to_bytes(4, "little") + ROW for _ in range(count))


def test_a_put_is_a_whole_list_and_a_merge_adds_to_it() -> None:
    lists = ListLengths({4})
    lists.apply([("put", LIST + b"a", several(3)), ("merge", LIST + b"b", several(1))])
    lists.apply([("merge", LIST + b"a", several(2)), ("put", OTHER + b"a", b"\0no list")])
    assert lists.elements == 6
    lists.apply([("put", LIST + b"a", several(1)), ("delete", LIST + b"b", None)])
    assert lists.elements == 1


@pytest.mark.parametrize("change", [("put", LIST + b"a", b"\xff" * 9), ("delete_range", LIST, LIST + b"z")])
def test_what_cannot_be_followed_is_not_known(change: tuple[str, bytes, bytes]) -> None:
    lists = ListLengths({4})
    lists.apply([change])  # type: ignore[list-item]
    assert lists.elements is None


def test_the_families_of_a_transform_with_state() -> None:
    (operator,) = state_inventory(Checkpoint.open(str(SAMPLE))).operators
    assert counted_families(operator) == ("amounts", "totals") and list_families(operator) == ("amounts",)


def test_the_elements_of_real_lists_are_those_that_spark_counted() -> None:
    ck = Checkpoint.open(str(SAMPLE))
    (operator,) = state_inventory(ck).operators
    counted = count_keys(ck.door, operator, 18, committed_ids(ck), replay=True)["default"]
    # what the family $rowCounter_amounts of the same files adds up to
    assert [partition.elements for partition in counted] == [29, 12]


def answer(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(list(argv)) == 0
    return capsys.readouterr().out


def test_the_answer_says_what_was_counted(capsys: pytest.CaptureFixture[str]) -> None:
    text = answer(capsys, "state", str(SAMPLE), "--replay")
    assert "the rows of the column families amounts and totals" in text
    assert "all lists together have 41 elements" in text
    (operator,) = json.loads(answer(capsys, "state", str(SAMPLE), "--replay", "--json"))["operators"]
    (store,) = operator["stores"]
    assert (store["column_families"], store["lists"]) == (["amounts", "totals"], ["amounts"])
    assert (store["keys_total"], store["elements_total"]) == (14, 41)
