"""Writing one piece of generated code where a person wants it: a new file, never in a checkpoint or an
output."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from core.errors import StorageError, UsageError
from core.messages import say
from core.storage import parse_location

LOGS = ("offsets", "commits", "_delta_log", "_spark_metadata")
"""A directory that has one of them belongs to a query or a table."""


def write_new_file(text: str, to: str, places: Iterable[str | None]) -> Path:
    """Writes ``text`` to ``to``. ``places``: the checkpoint, the sink, the sources. Raises
    :class:`UsageError` when a file is there already, when it would lie in one of the places or in another
    checkpoint or output, and when it cannot be written."""
    if "://" in to:
        raise UsageError(say("verb_recover.to_local", path=to))
    path = Path(to).expanduser().absolute()
    real = path.resolve()
    for place in places:
        inside = _local(place)
        if inside is not None and (real == inside or real.is_relative_to(inside)):
            raise UsageError(say("verb_recover.to_inside", path=to, place=str(inside)))
    for parent in real.parents:
        if any((parent / log).is_dir() for log in LOGS):
            raise UsageError(say("verb_recover.to_inside", path=to, place=str(parent)))
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(say("verb_recover.to_exists", path=to)) from error
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
        raise UsageError(say("verb_recover.to_not_written", path=to, reason=reason)) from error
    return path


def _local(place: str | None) -> Path | None:
    """The directory of this machine that a place names; None for a store, and for what is no place."""
    if place is None:
        return None
    try:
        location = parse_location(place)
        return Path(location.path).resolve() if location.is_local else None
    except (StorageError, OSError, ValueError):
        return None
