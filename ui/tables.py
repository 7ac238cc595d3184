"""The table behind a chart, and its download: exactly what is shown, as CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from ui import cards, words

MOST_ROWS = 500
"""More rows than this are not sent to the browser (200 bytes a row); the download holds all of them."""

Columns = Mapping[str, Sequence[Any]]


def table(columns: Columns, alt: str, height: int | None = None) -> None:
    """A table of at most ``MOST_ROWS`` rows. Cells are drawn as plain text."""
    rows = len(next(iter(columns.values()), ()))
    frame = pd.DataFrame({name: list(values[:MOST_ROWS]) for name, values in columns.items()})
    st.dataframe(frame, hide_index=True, alt=alt, **({"height": height} if height else {}))
    if rows > MOST_ROWS:
        cards.text(f"Shown: {MOST_ROWS:,} of {rows:,} rows. The download holds all of them.", "small")


def downloads(columns: Columns, name: str, key: str) -> None:
    """Two buttons: the columns as CSV and as JSON. Built when clicked."""
    name = words.file_name(name)
    with st.container(horizontal=True, gap="small"):
        st.download_button("CSV", lambda: to_csv(columns), f"{name}.csv", "text/csv", key=f"{key}-csv", on_click="ignore", type="tertiary")
        st.download_button(
            "JSON", lambda: to_json(columns), f"{name}.json", "application/json", key=f"{key}-json", on_click="ignore", type="tertiary"
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
    return "'" + plain if isinstance(plain, str) and plain[:1] in ("=", "+", "-", "@", "\t") and len(plain) > 1 else plain


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def height(rows: int, most: int) -> int:
    """The height of a table in pixels that shows ``rows`` rows, at most ``most``; the rest scrolls inside."""
    return 38 + 35 * max(1, min(rows, most))
