"""What a report must not carry: values of storage options, user names and passwords in URLs, and whatever
stands behind a name such as ``password`` or ``sig``."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar, cast

from core.judgement import Judgement
from core.storage.location import texts_in
from core.storage.store import hidden

T = TypeVar("T")
HIDDEN = "***"
_USER = re.compile(r"(?<=://)(?:[^\s/@:'\"]+:[^\s@'\"]*|[^\s/@'\"]*)@")
_NAMED = re.compile(
    r"""((?:\b|[\w.-])(?:password|passwd|pwd|secret|token|signature|credentials?|access[._-]?key|account[._-]?key
    |sas[._-]?key|api[._-]?key)[\w.-]*["']?\s*[=:]\s*\\?["']?|[?&;]sig=)([^\s"'&;,)\\]+)""",
    re.IGNORECASE | re.VERBOSE,
)


def secrets_of(judgement: Judgement) -> set[str]:
    """The values of the storage options of the checkpoint, its source and its sink."""
    given = judgement.connectors.given
    places = [judgement.ck.location, *given.sources.values(), *([] if given.sink is None else [given.sink])]
    return {text for place in places for text in texts_in(place.storage_options)}


def without_secrets(value: T, secrets: Collection[str]) -> T:
    """The same value with every text in it cleaned: dataclasses and tuples at any depth."""
    if isinstance(value, str):
        return cast(T, _clean(value, secrets))
    if isinstance(value, tuple):
        return cast(T, tuple(without_secrets(item, secrets) for item in value))
    if is_dataclass(value) and not isinstance(value, type):
        cleaned = {f.name: without_secrets(getattr(value, f.name), secrets) for f in fields(value)}
        return replace(value, **cleaned)
    return value


def _clean(text: str, secrets: Collection[str]) -> str:
    return _NAMED.sub(rf"\1{HIDDEN}", _USER.sub("", hidden(text, secrets)))
