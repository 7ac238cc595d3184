"""Numbers, plurals, lists, sizes and times as people read them: one way for the whole project. Text in, text
out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

NOT_KNOWN = "not known"
CERTAINTY: Mapping[str, str] = {
    "certain": "certain",
    "inferred": "inferred",
    "needs_input": "needs your input",
}
"""How sure a statement is, for people: command line, pages, documents."""

EXECUTION_MODES: Mapping[str, str] = {
    "micro_batch": "Micro-batches",
    "real_time": "Real-time mode: a batch is logged at its end",
    "continuous": "Continuous mode: an epoch is logged at its end",
}
"""How the batches of a query ran."""

_DURATIONS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def number(value: int | float | None) -> str:
    """``18422`` -> ``18,422``."""
    if value is None:
        return NOT_KNOWN
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def plural_of(noun: str) -> str:
    """``file`` -> ``files``, ``batch`` -> ``batches``, ``query`` -> ``queries``."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "ch", "x")) else "s")


def counted(amount: int, noun: str, plural: str | None = None) -> str:
    """``1 file``, ``1,234 files``, ``3 batches``. ``noun`` is the singular."""
    return f"1 {noun}" if amount == 1 else f"{amount:,} {plural or plural_of(noun)}"


def one_or_more(amount: int, one: str, more: str) -> str:
    """The word that fits the number: ``is`` or ``are``, ``has`` or ``have``."""
    return one if amount == 1 else more


def listed(items: Iterable[object], most: int | None = None) -> str:
    """``a``, ``a and b``, ``a, b and c``; with ``most`` at most so many and how many more; ``none`` for
    nothing."""
    parts = [str(item) for item in items]
    if most is not None and len(parts) > most:
        return f"{', '.join(parts[:most])} and {len(parts) - most:,} more"
    if not parts:
        return "none"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def spanned(first: int, last: int, noun: str = "batch") -> str:
    """``batch 5``, ``batches 5 and 6``, ``batches 5 to 9``."""
    if first == last:
        return f"{noun} {first}"
    return f"{plural_of(noun)} {first} {'and' if last == first + 1 else 'to'} {last}"


def batches(ids: Sequence[int], most: int = 5) -> str:
    """Batch ids, ascending: ``batch 5``, ``batches 5 to 9``, ``batches 5, 7 and 9``."""
    if not ids:
        return "no batch"
    # a range is not counted: a file can claim one that is longer than any count
    if (isinstance(ids, range) and ids.step == 1) or ids[-1] - ids[0] == len(ids) - 1:
        return spanned(ids[0], ids[-1])
    return f"batches {listed(ids, most)}"


def capital(sentence: str) -> str:
    """The first letter large."""
    return sentence[:1].upper() + sentence[1:]


def amount(value: int, unit: str) -> str:
    """``1 file``, ``18,422 offsets``: ``unit`` is a plural."""
    one = unit.removesuffix("es") if unit.endswith("ches") else unit.removesuffix("s")
    return f"{value:,} {one if value == 1 else unit}"


def size(size_bytes: int | None) -> str:
    """Bytes in binary units: ``4.0 KiB``."""
    if size_bytes is None:
        return NOT_KNOWN
    if size_bytes < 1024:
        return counted(size_bytes, "byte")
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


def near_moment(ms: int, now_ms: int) -> str:
    """A point in time to the minute, without the date on the day of ``now_ms``: ``14:05 UTC``."""
    when, now = _utc(ms), _utc(now_ms)
    if when is None:
        return "a time beyond the calendar"
    is_today = now is not None and when.date() == now.date()
    return when.strftime("%H:%M UTC" if is_today else "%Y-%m-%d %H:%M UTC")


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


def escaped(text: str) -> str:
    """A text from a checkpoint with what cannot be printed as its escape (``\\n``)."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def for_chart(text: str, most: int = 60) -> str:
    """A text from a checkpoint in a Plotly figure, which would read ``<b>`` and ``<a href>`` as markup."""
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


def even_duration(ms: int) -> str:
    """A configured length of time in the largest unit that comes out even: ``7 days``, ``36 hours``, ``90
    seconds``."""
    for unit, unit_ms in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1_000)):
        if ms >= unit_ms and ms % unit_ms == 0:
            return counted(ms // unit_ms, unit)
    return f"{ms:,} ms"


def _counted(value: object, argument: str) -> str:
    noun, _, plural = argument.partition("/")
    if value is None:
        return f"an unknown number of {plural or plural_of(noun)}"
    return counted(int(str(value)), noun, plural or None)


def _one_or_more(value: object, argument: str) -> str:
    one, _, more = argument.partition("/")
    return one_or_more(int(str(value)), one, more)


def _listed(value: object, argument: str) -> str:
    items: Iterable[object] = (
        value if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
    )
    return listed(items, int(argument) if argument else None)


def _batches(value: object, argument: str) -> str:
    return batches(value) if isinstance(value, Sequence) else batches([int(str(value))])


def _of_number(write: Callable[[int | None], str]) -> Callable[[object, str], str]:
    return lambda value, _: write(value if isinstance(value, int) else None)


WRITERS: Mapping[str, Callable[[object, str], str]] = {
    "number": _of_number(number),
    "counted": _counted,
    "one": _one_or_more,
    "listed": _listed,
    "batches": _batches,
    "capital_batches": lambda value, argument: capital(_batches(value, argument)),
    "size": _of_number(size),
    "duration": _of_number(duration),
    "even_duration": lambda value, _: even_duration(int(str(value))),
    "moment": _of_number(moment),
    "clock": _of_number(clock),
    "capital": lambda value, _: capital(str(value)),
}
"""What a field of a template may ask for, by name: (value, what follows the name) -> text."""
