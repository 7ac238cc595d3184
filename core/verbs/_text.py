"""How the command line writes things for a person: safe text, numbers, times, tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from core.messages.words import NOT_KNOWN


def clean(text: object, limit: int = 200) -> str:
    """Text from a checkpoint on one line. Control characters (a terminal would obey them) are replaced, a
    long text is cut and says so."""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in str(text))
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def size(size_bytes: int | None) -> str:
    """``12.3 MiB``."""
    if size_bytes is None:
        return NOT_KNOWN
    amount = float(size_bytes)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def moment(epoch_ms: int | None) -> str:
    """An instant in UTC to the second, ``-`` when it is not known."""
    if epoch_ms is None:
        return "-"
    try:
        return datetime.fromtimestamp(epoch_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    except (OverflowError, OSError, ValueError):
        return f"{epoch_ms} ms"


def ids(numbers: Sequence[int], shown: int = 12) -> str:
    """Ids as ranges: ``3-5, 9``. Long lists are cut and say so."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in ranges[:shown]]
    return ", ".join(texts) + (f" and {len(ranges) - shown} more" if len(ranges) > shown else "")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table with columns as wide as their widest cell, indented by two."""
    cells = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    return [
        ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in cells
    ]
