"""What batch N reads of each source, as the two newest offset entries have it."""

from __future__ import annotations

from collections.abc import Iterator

from core.analysis.forecast.context import Range, RestartContext
from core.checkpoint.sources.files import FILES
from core.checkpoint.sources.forms import parse


def ranges(s: RestartContext) -> Iterator[Range]:
    """The range of batch N per source that either of the two entries knows."""
    newest, before = s.newest, s.offset_entry(s.previous)
    if newest is None:
        return
    for key in dict.fromkeys([o.key for e in (newest, before) if e is not None for o in e.sources]):
        yield Range(key, before.source(key) if before is not None else None, newest.source(key))


def log_id(text: str | None) -> int | None:
    """The log id in a file source's offset text; None for another kind of source, or without an offset."""
    return None if text is None else FILES.value(parse(text))


def start_id(part: Range) -> int:
    """The log id after which the batch reads; -1 for the beginning."""
    start = log_id(part.start_text)
    return -1 if start is None else start
