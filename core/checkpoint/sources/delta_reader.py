"""A Delta offset as Delta's reader takes it, also one that only an editor writes.

Observed with Delta 4.4.0 on Spark 4.2.0, whose reader is Jackson: what follows the first JSON value is not
looked at; a number that is missing, null or an empty text is 0, a fraction is cut off, a whole number may
stand in quotes; of a field that stands twice the last one counts, and other fields are passed over. Delta
itself writes none of this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from core.checkpoint.sources.delta import TablePosition
from core.checkpoint.sources.forms import shortened
from core.sparklogs.json_text import first_value, parse_json

Refusal = Literal[
    "nothing", "broken", "no_json", "null", "list", "scalar", "number", "too_large", "text", "flag", "id"
]
"""Why the reader refuses a text. nothing: it is empty; broken: an object that is no JSON; no_json: it begins
with no JSON value; null, list, scalar: another value than an object; number, flag, id: a field has a value of
another type; too_large: a number beyond 64 bits; text: a text that is neither a number nor true or false."""

_INT64_MAX = 2**63 - 1
_WHOLE = re.compile(r"[+-]?[0-9]+")
_TRUE, _FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE", "", "null")


@dataclass(frozen=True, slots=True)
class ReadOffset:
    """What the reader makes of a text: the position, or the ``refusal`` with the ``field`` and its value.

    ``table_id`` None: the text names no table. ``filled_in``: the fields of the position that do not stand
    there as a whole number, so that the reader takes another one.
    """

    table_id: str | None = None
    source_version: int = 0
    version: int = 0
    index: int = 0
    in_first_snapshot: bool = False
    filled_in: tuple[str, ...] = ()
    refusal: Refusal | None = None
    field: str = ""
    value: str = ""

    @property
    def position(self) -> TablePosition | None:
        """The position; None for a refused text and for one without a table."""
        if self.refusal is not None or self.table_id is None:
            return None
        return TablePosition(self.table_id, self.version, self.index, self.in_first_snapshot)


class _RefusedError(Exception):
    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal)
        self.refusal: Refusal = refusal


def read_offset(text: str) -> ReadOffset:
    """The offset in ``text``. Never raises."""
    first = first_value(text.strip(" \t\r\n"))
    if not first:
        return ReadOffset(refusal="nothing")
    if first.startswith("["):
        return ReadOffset(refusal="list", value=shortened(first, 40))
    try:
        value = parse_json(first)
    except ValueError:
        refusal: Refusal = "broken" if first.startswith("{") else "no_json"
        return ReadOffset(refusal=refusal)
    if not isinstance(value, dict):
        refusal = "null" if value is None else "text" if value == "" else "scalar"
        return ReadOffset(refusal=refusal, value=shortened(value, 40))
    return _read_fields(value)


def _read_fields(fields: dict[str, object]) -> ReadOffset:
    numbers: dict[str, int] = {}
    table_id: str | None = None
    in_first_snapshot = False
    for name, value in fields.items():
        try:
            if name == "reservoirId":
                table_id = _id(value)
            elif name == "isStartingVersion":
                in_first_snapshot = _flag(value)
            elif name in ("sourceVersion", "reservoirVersion", "index"):
                numbers[name] = _number(value)
        except _RefusedError as error:
            return ReadOffset(refusal=error.refusal, field=name, value=shortened(value, 40))
    filled_in = tuple(name for name in ("reservoirVersion", "index") if not _is_whole(fields.get(name)))
    return ReadOffset(
        table_id,
        numbers.get("sourceVersion", 0),
        numbers.get("reservoirVersion", 0),
        numbers.get("index", 0),
        in_first_snapshot,
        filled_in,
    )


def _is_whole(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and _WHOLE.fullmatch(value.strip()) is not None)


def _id(value: object) -> str | None:
    if isinstance(value, list | dict):
        raise _RefusedError("id")
    return None if value is None else str(value)


def _flag(value: object) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, str):
        text = value.strip()
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        raise _RefusedError("text")
    if isinstance(value, int):
        return value != 0
    raise _RefusedError("flag")


def _number(value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _RefusedError("number")
    if isinstance(value, str):
        text = value.strip()
        if text in ("", "null"):
            return 0
        number = int(text) if _WHOLE.fullmatch(text) and len(text) <= 40 else _INT64_MAX + 1
        if not -_INT64_MAX - 1 <= number <= _INT64_MAX:
            raise _RefusedError("text")
        return number
    if not -_INT64_MAX - 1 <= value <= _INT64_MAX:
        raise _RefusedError("too_large")
    return int(value)
