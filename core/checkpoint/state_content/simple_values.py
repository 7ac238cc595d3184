"""Numbers, dates, times and intervals as JSON values, from the numbers that Spark keeps: those of Spark's
``to_json``, times in UTC; decimals are texts, so that no digit is lost. Compared with ``to_json`` of Spark
4.3, years before 1 and after 9999 too.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

_EPOCH, _DAY_0 = datetime(1970, 1, 1, tzinfo=UTC), date(1970, 1, 1)
_DAY, _HOUR, _MINUTE, _SECOND = 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000
_FIELDS = ("day", "hour", "minute", "second")
_SIZES = (_DAY, _HOUR, _MINUTE, _SECOND)
# The calendar repeats itself after 400 years.
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
_LAST_YEAR = 9999


def decimal_text(unscaled: int, scale: int) -> str:
    """The number with all its digits, never in powers of ten."""
    digits = tuple(int(digit) for digit in str(abs(unscaled)))
    return format(Decimal((int(unscaled < 0), digits, -scale)), "f")


def real_value(found: float, is_single: bool) -> float | str:
    """A float (``is_single``) or a double. JSON has no number for what is not finite."""
    if is_single:
        found = float(str(np.float32(found)))  # the fewest digits that tell it from its neighbours
    if math.isfinite(found):
        return found
    return "NaN" if math.isnan(found) else "Infinity" if found > 0 else "-Infinity"


def moment_text(micros: int, zone: str = "Z") -> str:
    """``2026-01-31T12:00:00.000Z``; micros only where they are not 0."""
    days, rest = divmod(micros, _DAY)
    spec = "microseconds" if micros % 1000 else "milliseconds"
    time = (_EPOCH + timedelta(microseconds=rest)).time().isoformat(timespec=spec)
    return f"{date_text(days)}T{time}{zone}"


def date_text(days: int) -> str:
    """The day so many days after 1970-01-01. A year of more than four digits has a sign, and so has one
    before year 0."""
    try:
        return (_DAY_0 + timedelta(days=days)).isoformat()
    except OverflowError:
        cycles, rest = divmod(days, _CYCLE_DAYS)
        found = _DAY_0 + timedelta(days=rest)
        year = found.year + cycles * _CYCLE_YEARS
        sign = "-" if year < 0 else "+" if year > _LAST_YEAR else ""
        return f"{sign}{abs(year):04d}-{found:%m-%d}"


def time_text(nanos: int) -> str:
    """The time of day so many nanoseconds after midnight: ``12:34:56.7``."""
    seconds, fraction = divmod(nanos, 1_000_000_000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction:09d}".rstrip("0") if fraction else text


def months_text(months: int, unit: str) -> str:
    """An interval of the type ``interval <unit>``: ``INTERVAL '1-2' YEAR TO MONTH``."""
    sign, rest = "-" if months < 0 else "", abs(months)
    number = {"year": f"{rest // 12}", "month": f"{rest}"}.get(unit, f"{rest // 12}-{rest % 12}")
    return f"INTERVAL '{sign}{number}' {unit.upper()}"


def micros_text(micros: int, unit: str) -> str:
    """An interval of the type ``interval <unit>``: ``INTERVAL '1 02:03:04.5' DAY TO SECOND``."""
    first, _, last = unit.partition(" to ")
    start, end = _FIELDS.index(first), _FIELDS.index(last or first)
    rest, text = abs(micros), "-" if micros < 0 else ""
    for i in range(start, end + 1):
        number, rest = divmod(rest, _SIZES[i])
        if i > start:
            text += " " if _FIELDS[i - 1] == "day" else ":"
        text += f"{number}" if _FIELDS[i] == "day" else f"{number:02d}"
    if _FIELDS[end] == "second" and rest:
        text += f".{rest:06d}".rstrip("0")
    return f"INTERVAL '{text}' {unit.upper()}"


def calendar_text(months: int, days: int, micros: int) -> str:
    """An interval of the type ``interval``, which has no bounds: ``1 years 2 months 3 days 4.5 seconds``."""
    parts = [(_cut(months, 12), "years"), (_rest(months, 12), "months"), (days, "days")]
    parts += [(_cut(micros, _HOUR), "hours"), (_cut(_rest(micros, _HOUR), _MINUTE), "minutes")]
    texts = [f"{number} {unit}" for number, unit in parts if number]
    seconds = _rest(micros, _MINUTE)
    if seconds:
        number = format(Decimal(seconds).scaleb(-6), "f")
        texts.append(f"{number.rstrip('0').rstrip('.')} seconds")
    return " ".join(texts) or "0 seconds"


def _cut(number: int, by: int) -> int:
    """A quotient towards 0, as Java divides."""
    return abs(number) // by * (1 if number >= 0 else -1)


def _rest(number: int, by: int) -> int:
    return number - _cut(number, by) * by
