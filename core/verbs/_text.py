"""How the command line writes things for a person: safe text and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def clean(text: object, limit: int = 200) -> str:
    """Text from a checkpoint on one line. Control characters (a terminal would obey them) are replaced, a
    long text is cut and says so."""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in str(text))
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def listed_files(evidence: Iterable[object], limit: int = 400) -> str:
    """The files behind a statement, in one line."""
    return clean(", ".join(map(str, evidence)), limit)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table with columns as wide as their widest cell, indented by two."""
    cells = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    return [
        ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in cells
    ]
