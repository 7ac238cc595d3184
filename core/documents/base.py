"""What all answers share: the version fields and the one way from an answer to JSON.

An answer is a frozen dataclass whose fields are the fields of the JSON object, in their order. A field that
would be a Python keyword ends in ``_`` (``class_``); JSON has it without. Adding a field is fine; renaming or
removing one breaks users. ``docs/schema/`` is made from these classes (``python -m scripts.make_schemas``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from core import __version__

if TYPE_CHECKING:
    from core.sparklogs.evidence import Evidence

Texts = tuple[str, ...]


class Part:
    """An object inside an answer."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    # Read when the schema is made: the text below a field is its description.
    __pydantic_config__: ClassVar[dict[str, bool]] = {"use_attribute_docstrings": True}


@dataclass(frozen=True, kw_only=True, slots=True)
class NotReadPart(Part):
    """Something that could not be read. It may be perfectly valid."""

    path: str
    """Below the checkpoint (a directory ends in ``/``); the whole URL of something beside it."""
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Document(Part):
    """The whole answer of a verb."""

    schema_version: Literal[1] = 1
    """Changes when a field is renamed or removed."""
    version: str = __version__
    """The version of the program that gave the answer."""
    location: str
    """The checkpoint, as a URL."""
    not_read: tuple[NotReadPart, ...] = ()
    """What could not be read or listed: nothing in the answer rests on it, and what would is not said."""


def json_name(name: str) -> str:
    """The name that a field has in JSON."""
    return name.removesuffix("_")


@overload
def to_json(value: Part) -> dict[str, Any]: ...
@overload
def to_json(value: object) -> object: ...
def to_json(value: object) -> object:
    """An answer, or a part of one, as what ``json.dumps`` takes."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Part):
        return {name: to_json(getattr(value, field)) for field, name in _names(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


_PLAIN = (str, int, bool, type(None), float)


_NAMES: dict[object, tuple[tuple[str, str], ...]] = {}


def _names(part: Part) -> tuple[tuple[str, str], ...]:
    """The fields of a part, with their names in JSON; the same for each part of its kind."""
    found = _NAMES.get(type(part))
    if found is None:
        found = _NAMES[type(part)] = tuple((field.name, json_name(field.name)) for field in fields(part))
    return found


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def to_text(document: Document) -> str:
    """One JSON object on one line."""
    return json_text(to_json(document))


def json_text(value: object) -> str:
    """A value that ``json.dumps`` takes, as all answers are written."""
    return _ENCODER.encode(value)


def utf8(text: str) -> bytes:
    """A text of an answer as it is written. Lone surrogates cannot be UTF-8; JSON escapes are the only way
    they can get here, and so they are written."""
    return text.encode("utf-8", "backslashreplace")


def to_chunks(document: Document, field: str, items: Iterable[bytes]) -> Iterator[bytes]:
    """As :func:`to_text`, encoded and in pieces, with ``items`` (JSON texts with commas between them, cut
    anywhere) as the array of one field, which is empty in the document."""
    fields = to_json(document)
    start = "{"
    for name, value in fields.items():
        yield utf8(f"{start}{json_text(name)}:")
        start = ","
        if name != field:
            yield utf8(json_text(value))
            continue
        yield b"["
        yield from items
        yield b"]"
    yield b"}"


def paths(evidence: Iterable[Evidence]) -> Texts:
    """Evidence as ``offsets/12`` or ``offsets/12:2``."""
    return tuple(str(item) for item in evidence)
