"""The table behind a chart, and its download: exactly what is shown, as CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.messages import say, words
from ui import cards

MOST_ROWS = 500
"""More rows than this are not sent to the browser (200 bytes a row); the download holds all of them."""

IDS = frozenset(
    {"batch", "partition", "version", "operator", "source", "rebuilt up to version", "newest version"}
)
"""Columns of numbers that name something: no separators, as everywhere else on the screens."""

MARK = "mark"
"""The heading of the first column of a table with marks."""
MARK_PIXELS = 56
"""The width that this heading needs."""
WIDEST_ROW = 125
"""Characters of a row that a window of 1,280 pixels shows whole: of a longer one the last column is cut."""
LINES_PIXELS = 420
"""The height of rows that are shown as lines; the rest scrolls inside."""

Columns = Mapping[str, Sequence[Any]]


def table(columns: Columns, alt: str, most: int = 12, absent: str = words.NOT_KNOWN) -> None:
    """A table of which ``most`` rows are seen at once and ``MOST_ROWS`` are sent. Cells are drawn as plain
    text; None reads ``absent``."""
    rows = len(next(iter(columns.values()), ()))
    frame = _frame(columns, absent)
    st.dataframe(
        frame, hide_index=True, alt=alt, height=_height(rows, most), column_config=_number_formats(frame)
    )
    if rows > MOST_ROWS:
        cards.text(say("screens.shown_rows", shown=MOST_ROWS, total=rows), "small")


def sides(columns: Columns, alt: str, key: str, most: int = 12, absent: str = words.NOT_KNOWN) -> None:
    """A table of values side by side; where the window is too narrow for that, the same rows as lines: the
    first column, and below it each other one with its name. The style sheet shows one of the two. Of a few
    rows that are too long for most windows there are only lines."""
    rows = len(next(iter(columns.values()), ()))
    is_wide = rows <= most // 2 and any(
        sum(len(str(cell)) for cell in row) > WIDEST_ROW for row in zip(*columns.values(), strict=True)
    )
    if not is_wide:
        with st.container(key=f"in-columns-{key}"):
            table(columns, alt, most, absent)
    with st.container(key=f"only-lines-{key}" if is_wide else f"in-lines-{key}"):
        height: Any = "content" if rows <= most // 2 else LINES_PIXELS
        st.code(as_lines(columns, absent), language=None, wrap_lines=True, height=height)
        if rows > MOST_ROWS:
            cards.text(say("screens.shown_rows", shown=MOST_ROWS, total=rows), "small")


def as_lines(columns: Columns, absent: str) -> str:
    """The rows one below the other, ``MOST_ROWS`` at most; None reads ``absent``. No cell has two lines."""
    first, *others = columns
    lines = []
    for at in range(min(len(columns[first]), MOST_ROWS)):
        cells = [(name, columns[name][at]) for name in others]
        lines += [_on_one_line(columns[first][at])]
        lines += [f"  {name}: {_on_one_line(absent if cell is None else cell)}" for name, cell in cells]
    return "\n".join(lines)


def _on_one_line(value: Any) -> str:
    """A cell that cannot pose as the next one."""
    return " ".join(str(value).splitlines())


def behind(
    columns: Callable[[], Columns],
    alt: str,
    name: str,
    whole: Callable[[], Columns] | None = None,
    basis: str = "",
) -> None:
    """The table behind a chart, with its download: built and sent only when somebody opens it. ``whole``:
    what the download holds. ``basis``: what the numbers rest on."""
    title = say("screens.as_table_and_basis") if basis else say("screens.as_table")
    with st.expander(title, key=f"table-{name}", on_change="rerun") as place:
        if place.open:
            if basis:
                cards.text(basis, "small")
            shown = columns()
            table(shown, alt)
            downloads(whole() if whole is not None else shown, name, key=f"down-{name}")


def clickable(
    columns: Columns,
    marks: Sequence[str],
    key: str,
    alt: str,
    on_select: Callable[[], None],
    pinned: Mapping[str, int],
    widths: Mapping[str, int],
    lines: frozenset[str] = frozenset(),
    most: int = MOST_ROWS,
) -> None:
    """A table in which a click on a cell calls ``on_select``; the clicked cell is in the session under
    ``key``.

    Each row begins with its mark, which cannot be chosen: there the table takes the focus when Tab reaches
    it, the arrows lead to a row, and the one to the right chooses. ``lines`` are columns whose cells are
    lists of numbers, drawn as a line. Columns that are ``pinned`` stay in view while the others scroll; both
    they and those with ``widths`` are so many pixels wide. Of more rows than ``most`` the first are shown.
    """
    frame = _frame(columns, "", most)
    frame.index = pd.Index(marks[:most], name=MARK)
    formats = _number_formats(frame)
    formats |= {"_index": st.column_config.TextColumn(MARK, width=MARK_PIXELS)}
    formats |= {
        name: st.column_config.Column(pinned=name in pinned, width=width)
        for name, width in {**widths, **pinned}.items()
        if name in frame.columns
    }
    formats |= {
        name: st.column_config.LineChartColumn(y_min=0, width=widths.get(name))
        for name in lines & set(frame.columns)
    }
    st.dataframe(
        frame,
        hide_index=False,
        alt=alt,
        key=key,
        on_select=on_select,
        selection_mode="single-cell",
        column_config=formats,
        height=_height(len(frame), 20),
    )


def _frame(columns: Columns, absent: str, most: int = MOST_ROWS) -> pd.DataFrame:
    return pd.DataFrame({name: _cells(name, list(values[:most]), absent) for name, values in columns.items()})


def _number_formats(frame: pd.DataFrame) -> dict[str, Any]:
    """Amounts with separators, numbers that name something without them."""
    return {
        str(name): st.column_config.NumberColumn(format="%d" if is_id(str(name)) else "localized")
        for name in frame.columns
        if pd.api.types.is_numeric_dtype(frame[name]) and not pd.api.types.is_bool_dtype(frame[name])
    }


def is_id(column: str) -> bool:
    """Whether the numbers of a column name something instead of counting it."""
    return column in IDS


def _cells(name: str, values: list[Any], absent: str) -> list[Any]:
    """A column of one type: with a missing value in it, all become text, since a number cannot say why it is
    missing."""
    if all(value is not None for value in values):
        return values
    write = str if is_id(name) else _as_text
    return [absent if value is None else write(value) for value in values]


def _as_text(value: Any) -> str:
    """A cell of a column that also has words in it."""
    is_number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return f"{value:,}" if is_number else str(value)


def _height(rows: int, most: int) -> Any:
    """The height of a table: its content, or ``most`` rows in pixels; the rest then scrolls inside."""
    return "content" if rows <= most else 36 + 33 * most


def downloads(columns: Columns, name: str, key: str) -> None:
    """Two buttons: the columns as CSV and as JSON. Built when clicked."""
    name = words.file_name(name)
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            "CSV",
            lambda: to_csv(columns),
            f"{name}.csv",
            "text/csv",
            key=f"{key}-csv",
            on_click="ignore",
            type="tertiary",
        )
        st.download_button(
            "JSON",
            lambda: to_json(columns),
            f"{name}.json",
            "application/json",
            key=f"{key}-json",
            on_click="ignore",
            type="tertiary",
        )


def to_csv(columns: Columns) -> str:
    """The columns as CSV. A cell that a spreadsheet would run as a formula is quoted with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([_cell(value) for value in row])
    return out.getvalue()


def to_json(columns: Columns) -> str:
    """The columns as a JSON list of objects."""
    rows = [dict(zip(columns, map(_plain, row), strict=True)) for row in zip(*columns.values(), strict=True)]
    return json.dumps(rows, indent=1, ensure_ascii=False)


def _cell(value: Any) -> Any:
    plain = _plain(value)
    return (
        "'" + plain
        if isinstance(plain, str) and plain[:1] in ("=", "+", "-", "@", "\t") and len(plain) > 1
        else plain
    )


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
