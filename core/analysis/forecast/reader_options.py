"""What is known of the reader options of a source today. Names of options do not tell case."""

from __future__ import annotations

from core.analysis.forecast.context import RestartContext


def option(s: RestartContext, key: str, name: str) -> str | None:
    """The value of an option of source ``key``; None when it is not known, or not set."""
    return s.query.option(key, name)


def number(s: RestartContext, key: str, name: str) -> int | None:
    """The same as a whole number; None also for any other value."""
    text = option(s, key, name)
    return int(text) if text is not None and text.isdecimal() else None


def is_set(s: RestartContext, key: str, *names: str) -> bool:
    """Whether one of these options is true."""
    return any((option(s, key, name) or "").lower() == "true" for name in names)
