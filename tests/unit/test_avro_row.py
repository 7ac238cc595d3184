"""State rows that Spark encoded as Avro: bytes that Spark 4.3 wrote, and what its state reader says of them."""

from __future__ import annotations

from typing import Any

import pytest

from core.checkpoint.state_content.avro_row import AvroReader, ordered_parts
from core.checkpoint.state_content.unsafe_row import NotDecodedError


def struct(**columns: Any) -> dict[str, Any]:
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns.items()
    ]
    return {"type": "struct", "fields": fields}


def array(kind: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": kind, "containsNull": True}


def map_of(kind: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": "string", "valueType": kind, "valueContainsNull": True}


# Column, type, bytes, value: one row of a state variable with all of them.
COLUMNS: tuple[tuple[str, Any, str, Any], ...] = (
    ("o", "boolean", "02 01", True),
    ("y", "integer", "00", None),
    ("h", "integer", "02 50", 40),
    ("i", "integer", "02 27", -20),
    ("l", "long", "02 80 80 80 80 80 80 0a", 21_990_232_555_520),
    ("f", "float", "02 55 55 d5 40", 6.6666665),
    ("d", "double", "02 6e db b6 6d db b6 fd 3f", 1.8571428571428572),
    ("s", "string", "02 14 68 c3 a4 c3 9f 68 c3 a4 c3 9f", "häßhäß"),
    ("b", "binary", "02 02 00", "AA=="),
    ("dd", "date", "02 8a 39", "1980-01-02"),
    ("ts", "timestamp", "02 a8 80 d2 9f 98 c2 cd 05", "2020-01-01T00:00:00.000020Z"),
    ("tn", "timestamp_ntz", "02 d7 ff 92 ec f0 81 9f 02", "1950-01-01T00:00:00.000020"),
    ("d1", "decimal(9,2)", "02 00 00 00 c8", "2.00"),
    ("d2", "decimal(30,4)", "02 00 00 00 d3 c2 1b ce cc ed a1 03 0d 40", "100000000000000000020.0000"),
    ("a", array("integer"), "02 04 14 0a 00", [10, 5]),
    (
        "an",
        array(struct(x="integer", y="string")),
        "02 04 02 02 14 02 02 7a 02 00 02 02 79 00",
        [{"x": 10, "y": "z"}, {"x": None, "y": "y"}],
    ),
    ("m", map_of("long"), "02 04 02 77 27 02 6b 28 00", {"w": -20, "k": 20}),
    (
        "st",
        struct(p="integer", q=struct(r="string")),
        "02 02 28 02 02 02 72",
        {"p": 20, "q": {"r": "r"}},
    ),
    ("mm", map_of(struct(x="integer")), "02 04 02 6e 00 02 6b 02 02 28 00", {"n": None, "k": {"x": 20}}),
    ("aa", array(array("integer")), "02 06 02 02 28 00 02 00 02 04 02 04 00 00", [[20], [], [1, 2]]),
    ("ma", map_of(array("integer")), "02 02 02 7a 02 04 28 28 00 00", {"z": [20, 20]}),
)
SCHEMA = struct(**{name: kind for name, kind, _, _ in COLUMNS})
ROW = bytes(2) + b"".join(bytes.fromhex(text) for _, _, text, _ in COLUMNS)


def test_a_column_of_each_type() -> None:
    assert AvroReader(SCHEMA, 0).read(ROW) == {name: value for name, _, _, value in COLUMNS}


def test_a_row_that_is_cut_or_longer_is_none() -> None:
    reader = AvroReader(SCHEMA, 0)
    for size in range(len(ROW)):
        with pytest.raises(NotDecodedError):
            reader.read(ROW[:size])
    with pytest.raises(NotDecodedError):
        reader.read(ROW + b"\0")


def test_the_part_that_keys_are_scanned_by_has_no_schema_id() -> None:
    assert AvroReader(struct(k="string"), None).read(bytes.fromhex("02 02 61")) == {"k": "a"}


def test_a_row_of_an_older_schema_is_said() -> None:
    with pytest.raises(NotDecodedError, match="written with schema 0 of the variable, and no schema file"):
        AvroReader(struct(k="string"), 1).read(bytes.fromhex("00 00 02 02 61"))


def test_a_row_of_an_older_schema_is_shown_by_the_newest() -> None:
    """By name: moved, widened, gone, added; also inside of what is nested."""
    older = struct(
        n="integer",
        gone="string",
        ratio="float",
        inner=struct(a="integer"),
        each=array("integer"),
        by=map_of("float"),
    )
    newest = struct(
        by=map_of("double"),
        each=array("long"),
        inner=struct(b="string", a="double"),
        added="string",
        ratio="double",
        n="long",
    )
    row = bytes.fromhex(
        "00 00 02 27 02 02 78 02 cd cc cc 3d 02 02 0a 02 04 02 04 00 02 02 02 6b cd cc cc 3d 00"
    )
    third = 0.10000000149011612  # what four bytes hold of 0.1
    assert AvroReader(newest, 1, {0: older, 1: newest}).read(row) == {
        "by": {"k": third},
        "each": [1, 2],
        "inner": {"b": None, "a": 5.0},
        "added": None,
        "ratio": third,
        "n": -20,
    }


def test_a_column_whose_type_became_another_is_said() -> None:
    reader = AvroReader(struct(k="long"), 1, {0: struct(k="string")})
    with pytest.raises(NotDecodedError, match="written as string and is long now"):
        reader.read(bytes.fromhex("00 00 02 02 61"))
    assert reader.read(bytes.fromhex("01 00 02 02")) == {"k": 1}


def test_a_column_of_nothing_has_no_bytes() -> None:
    assert AvroReader(struct(__dummy__="void"), 0).read(bytes(2)) == {"__dummy__": None}


@pytest.mark.parametrize("kind", ["variant", map_of("variant"), array("interval")], ids=str)
def test_a_type_that_is_not_read_is_said(kind: Any) -> None:
    with pytest.raises(NotDecodedError, match="has a column of type"):
        AvroReader(struct(x=kind), 0)


def test_the_part_that_sorts() -> None:
    row = bytes.fromhex("02 02 01 02 10 00 00 01 a2 09 e5 42 df")
    assert ordered_parts(row, 1) == [(b"\1", bytes.fromhex("00 00 01 a2 09 e5 42 df"))]
    for size in range(len(row)):
        with pytest.raises(NotDecodedError):
            ordered_parts(row[:size], 1)


def test_a_number_and_a_count_of_elements_are_bounded() -> None:
    for damaged in ("02 ff ff ff ff ff ff ff ff ff ff ff 01", "02 fe ff ff ff 0f"):
        with pytest.raises(NotDecodedError):
            AvroReader(struct(x=array("integer")), None).read(bytes.fromhex(damaged))
