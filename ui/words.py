"""Numbers, sizes, times and ages as people read them. Pure functions: text in, text out."""

from __future__ import annotations

import re
from datetime import UTC, datetime

NOT_KNOWN = "not known"

_DURATIONS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def number(value: int | float | None) -> str:
    """``18422`` -> ``18,422``."""
    if value is None:
        return NOT_KNOWN
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def count(amount: int, noun: str, plural: str | None = None) -> str:
    """``1 file``, ``2 files``, ``3 batches``."""
    if amount == 1:
        return f"1 {noun}"
    many = plural or (
        noun[:-1] + "ies" if noun.endswith("y") else noun + ("es" if noun.endswith(("s", "ch", "x")) else "s")
    )
    return f"{amount:,} {many}"


def amount(value: int, unit: str) -> str:
    """``1 file``, ``18,422 offsets``: ``unit`` is a plural."""
    return f"{value:,} {unit[:-1] if value == 1 and unit.endswith('s') else unit}"


def size(size_bytes: int | None) -> str:
    """Bytes in binary units: ``4.0 KiB``."""
    if size_bytes is None:
        return NOT_KNOWN
    if size_bytes < 1024:
        return count(size_bytes, "byte")
    value, unit = float(size_bytes), "bytes"
    for unit in ("KiB", "MiB", "GiB", "TiB", "PiB"):  # noqa: B007 - the unit that fits is the result
        value /= 1024
        if value < 1024:
            break
    return f"{value:,.1f} {unit}"


def duration(ms: int | float | None) -> str:
    """A length of time with two units at most: ``1.2 s``, ``3 min 5 s``, ``2 d 4 h``; negative ones keep
    their sign."""
    if ms is None:
        return NOT_KNOWN
    if ms < 0:
        return f"-{duration(-ms)}"
    if ms < 1_000:
        return f"{ms:,.0f} ms"
    if ms < 10_000:
        return f"{ms / 1000:.1f} s"
    for at, (unit_ms, unit) in enumerate(_DURATIONS):
        if ms >= unit_ms:
            whole, rest = divmod(int(ms), unit_ms)
            if at + 1 == len(_DURATIONS):
                return f"{whole} {unit}"
            below_ms, below = _DURATIONS[at + 1]
            return f"{whole:,} {unit} {rest // below_ms} {below}" if rest >= below_ms else f"{whole:,} {unit}"
    return NOT_KNOWN


def age(ms: int) -> str:
    """How long ago, in one unit: ``just now``, ``11 min ago``, ``3 d ago``."""
    if ms < 5_000:
        return "just now"
    for unit_ms, unit in _DURATIONS:
        if ms >= unit_ms:
            return f"{ms // unit_ms:,} {unit} ago"
    return "just now"


def moment(ms: int | None, seconds: bool = True) -> str:
    """A point in time: ``2026-11-21 03:12:11 UTC``."""
    when = _utc(ms)
    return (
        NOT_KNOWN
        if when is None
        else when.strftime("%Y-%m-%d %H:%M:%S UTC" if seconds else "%Y-%m-%d %H:%M UTC")
    )


def exact_moment(ms: int | None) -> str:
    """A point in time to the millisecond, for tables: ``2026-11-21 03:12:11.045``."""
    when = _utc(ms)
    return "" if when is None else f"{when:%Y-%m-%d %H:%M:%S}.{when.microsecond // 1000:03d}"


def clock(ms: int | None) -> str:
    """The time of day: ``03:12:11 UTC``."""
    when = _utc(ms)
    return NOT_KNOWN if when is None else when.strftime("%H:%M:%S UTC")


def day(ms: int | None) -> str:
    """The date: ``2026-11-21``."""
    when = _utc(ms)
    return NOT_KNOWN if when is None else when.strftime("%Y-%m-%d")


def one_line(text: str, most: int = 200) -> str:
    """A text from a checkpoint on one line, cut at ``most`` characters; what cannot be printed becomes a
    space."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def for_chart(text: str, most: int = 60) -> str:
    """A text from a checkpoint inside a Plotly figure, which would read ``<b>`` and ``<a href>`` as markup."""
    return one_line(text.replace("<", "").replace(">", ""), most)


def file_name(text: str) -> str:
    """A text that is safe as the name of a download."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:80] or "download"


def _utc(ms: int | None) -> datetime | None:
    if ms is None or ms < 0:
        return None
    try:
        return datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, OSError, ValueError):  # a number in a file that is no time of this calendar
        return None
