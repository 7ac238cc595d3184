"""JSON as it stands in log files: numbers of any length kept whole, and a reason in words when the text is
broken."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

import orjson

from core.messages import Sentence, say

# orjson turns integers beyond 64 bits into floats; a text with such a run of digits goes to the slower
# parser.
_ONLY_INTEGERS = {int}
KEPT_CHARACTERS = 4_096
MOST_KEPT = 1_024
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_LONG_NUMBER = re.compile(r"[0-9]{19}")


def parse_json(text: str) -> object:
    """The value of a JSON text. Raises ValueError (nothing else) when it is none."""
    wrong: ValueError | None = None
    try:
        value = orjson.loads(text)
        if is_counts(value):
            return value
    except ValueError as error:
        wrong = error
    if _LONG_NUMBER.search(text):
        try:
            return json.loads(text)
        except RecursionError:
            raise ValueError("nested too deeply") from None
    if wrong is not None:
        raise wrong
    return value


def parse_counts(text: str) -> dict[str, dict[str, int]] | None:
    """The value of a JSON text of the form ``{"topic":{"0":17}}``, as Kafka's offsets are; None for any
    other. A number beyond 64 bits is none here: the parser made a float of it."""
    if text[:1] != "{":
        return None
    try:
        value = orjson.loads(text)
    except ValueError:
        return None
    return value if is_counts(value) else None


def kept_counts(text: str) -> dict[str, dict[str, int]] | None:
    """As :func:`parse_counts`. An offset is looked at several times while a log is read, so the last ones are
    kept, unless they are large; do not change what comes back."""
    return _kept_counts(text) if len(text) <= KEPT_CHARACTERS else parse_counts(text)


_kept_counts = lru_cache(maxsize=MOST_KEPT)(parse_counts)


def is_counts(value: object) -> bool:
    """Whether a value is of the form ``{"topic":{"0":17}}``, with integers only."""
    if type(value) is not dict or not value:
        return False
    for parts in value.values():
        if type(parts) is not dict or set(map(type, parts.values())) != _ONLY_INTEGERS:
            return False
    return True


def is_compact(text: str, counts: Mapping[str, Mapping[str, int]]) -> bool:
    """Whether ``text``, of which :func:`parse_counts` made ``counts``, is already what writing them makes: a
    reading of names and numbers is spared who writes 20,000 of them. False is no proof of the contrary.

    What else could a text of such a value have? White space, escapes, ``-0`` (so no minus outside of the
    topics), and a name that stands there twice: each string is a name, so there are two quotes for each.
    """
    return (
        " " not in text
        and "\\" not in text
        and "\n" not in text
        and "\t" not in text
        and "\r" not in text
        and text.count("-") == "".join(counts).count("-")
        and text.count('"') == 2 * (len(counts) + sum(map(len, counts.values())))
    )


def parse_object(text: str) -> dict[str, object]:
    """The JSON object in ``text``. Raises ValueError when it is none."""
    value = parse_json(text)
    if not isinstance(value, dict):
        raise ValueError(say("logs.json_not_object", kind=_type_name(value)))
    return value


def first_value(text: str) -> str:
    """``text`` up to the end of its first JSON value: Spark's reader of ``metadata`` (Jackson) does not look
    at what follows (seen with 3.5, 4.2 and 4.3). All of it when it does not begin with a value."""
    begins = len(text) - len(text.lstrip())
    try:
        _, ends = json.JSONDecoder().raw_decode(text, begins)
    except (ValueError, RecursionError):
        return text
    return text[:ends]


def has_control_character(data: bytes) -> bool:
    """Whether a text file holds a control character that no JSON text has: Java's reader says so in other
    words than of another broken text."""
    return _CONTROL.search(data) is not None


def is_broken(text: str) -> bool:
    """Whether a text that begins like a JSON object or array is not valid JSON."""
    if not text.lstrip().startswith(("{", "[")) or kept_counts(text) is not None:
        return False
    try:
        orjson.loads(text)
    except ValueError:
        return True
    return False


def json_trouble(text: str) -> tuple[Literal["truncated", "bad_json"], Sentence]:
    """Why ``text`` is no JSON object: the condition, and a clause ("ends in the middle (after 41
    characters)").

    ``truncated`` means that the text is right as far as it goes and ends too early.
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg.startswith("Unterminated string") or error.pos >= len(text.rstrip()):
            return "truncated", say("logs.json_truncated", characters=len(text))
        return "bad_json", say("logs.json_invalid", error=error.msg.lower(), character=error.pos + 1)
    except (RecursionError, ValueError):
        return "bad_json", say("logs.json_too_deep")
    return "bad_json", say("logs.json_no_object", type=_type_name(value))


def _type_name(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, str | bool):
        return "string" if isinstance(value, str) else "boolean"
    return "array" if isinstance(value, list) else "number" if isinstance(value, int | float) else "value"
