"""``--conf NAME=VALUE``: settings of a Spark that is started."""

from __future__ import annotations

from collections.abc import Iterable

from core.errors import UsageError
from core.messages import say
from core.verbs._text import clean


def parse_conf(given: Iterable[str]) -> dict[str, str]:
    """The settings by their names. Raises UsageError."""
    found = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise UsageError(say("rehearse.conf_form", given=clean(each, 60)))
        found[name.strip()] = value
    return found
