"""The table of the page Checkpoints: what happens at the next start of each, worst first; filters and order
are in the address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from core.documents.base import to_json
from core.documents.survey import row_part
from core.messages import say, say_of, words
from core.storage.location import title_of
from core.survey import SurveyRow, attention, unreadable_row
from core.survey.kept import KeptHistory
from ui import links, selection
from ui.cards import MARKS

COURSE, PACE = "state by survey", "throughput"
"""The columns that are lines."""
POINTS = 60
PACE_BATCHES, PACE_POINTS, PACE_LEAST = 100, 20, 6
"""The line of the throughput: of so many of the newest batches, as so many points at most; of fewer
batches than the last number there is none."""

FILTERS = ("fails", "risk", "reruns", "resumes", "fresh_start", "unused", "not_read")
SORTS = ("age", "lag", "rate", "state", "skew", "size", "name")
GROUPS: Mapping[str, str] = {"unknown": "not_read", "unreadable": "not_read"}


@dataclass(frozen=True, slots=True)
class Line:
    """One checkpoint in the table; ``row`` is None while it was not read, ``past`` without a history of
    surveys."""

    name: str
    row: SurveyRow | None = None
    story: str = ""
    note: str = ""
    past: KeptHistory | None = None

    @property
    def groups(self) -> frozenset[str]:
        """The filters that show it."""
        if self.row is None:
            return frozenset()
        group = GROUPS.get(self.row.status, self.row.status)
        return frozenset({group, "risk"} if _is_risk(self.row) else {group})


def _is_risk(row: SurveyRow) -> bool:
    return row.has_problems and row.status != "fails"


def marks(lines: Iterable[Line]) -> list[str]:
    """The shape of each line that stands for what happens at the next start; "?" where that is not known."""
    return ["?" if line.row is None else _mark_of(line.row) for line in lines]


def _mark_of(row: SurveyRow) -> str:
    if row.status == "fails":
        return MARKS["blocked"]
    if row.status == "reruns" or _is_risk(row):
        return MARKS["doubt"]
    others = {"resumes": MARKS["done"], "fresh_start": MARKS["plain"], "unused": MARKS["plain"]}
    return others.get(row.status, "?")


def filters(lines: Sequence[Line]) -> tuple[str | None, str, str | None]:
    """The filter by the next start, the text searched for, the order; each in the address."""
    counted = Counter(group for line in lines for group in line.groups)
    chosen = _start_filter(counted)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        wanted = st.text_input(
            "Search",
            links.asked("find") or "",  # as searches were written up to 0.2
            key="search",
            bind="query-params",
            placeholder=say("screen_survey.search_placeholder"),
            width=320,
        )
        sort = selection.pick(
            say("screen_survey.sort"),
            "sort",
            {name: say_of("screen_survey", "SORTS", name) for name in SORTS},
            say("screen_survey.sort_attention"),
            width=260,
        )
    return chosen, (wanted or "").strip(), sort


def _start_filter(counted: Counter[str]) -> str | None:
    selection.refuse(links.refusal("start", FILTERS))
    chosen = links.chosen("start", FILTERS)
    shown = [name for name in FILTERS if counted[name] or name == chosen]
    key = f"{links.WIDGET}start"
    selection.show(key, chosen)
    return st.pills(
        say("screen_survey.next_start"),
        shown,
        format_func=lambda name: say_of("screen_survey", "FILTERS", name, n=counted[name]),
        key=key,
        on_change=_filtered,
    )


def _filtered() -> None:
    links.pick("start", st.session_state.get(f"{links.WIDGET}start"))


def shown(lines: Sequence[Line], start: str | None, wanted: str, sort: str | None) -> list[Line]:
    """The lines that pass the filters, in the chosen order; what was not read yet comes last."""
    needle = wanted.casefold()
    kept = [
        line
        for line in lines
        if (start is None or start in line.groups) and (not needle or needle in _text_of(line))
    ]
    kept.sort(key=lambda line: line.name)
    if sort is None:
        return sorted(
            kept, key=lambda line: (line.row is None, *(attention(line.row) if line.row is not None else ()))
        )
    return kept if sort == "name" else sorted(kept, key=lambda line: -_amount(line, sort))


def _text_of(line: Line) -> str:
    row = line.row
    found = [line.name, line.story]
    if row is not None:
        found += [
            row.next_start,
            row.worst_finding or "",
            _finding_in_words(row),
            *row.sources,
            row.error or "",
            row.query_id or "",
        ]
    return " ".join(found).casefold()


def _finding_in_words(row: SurveyRow) -> str:
    """The title of the worst finding; empty where there is none."""
    return say_of("findings", "TITLES", row.worst_finding) if row.worst_finding else ""


def _amount(line: Line, sort: str) -> float:
    """What a line is sorted by, largest first; what is not known comes last."""
    row = line.row
    if row is None:
        return -1.0
    amounts: Mapping[str, float | None] = {
        "age": row.age_seconds,
        "lag": row.watermark_lag_ms,
        "rate": row.batches_per_hour,
        "state": row.state_bytes,
        "skew": row.state_skew,
        "size": row.total_bytes,
    }
    amount = amounts[sort]
    return -1.0 if amount is None else float(amount)


def columns(lines: Sequence[Line]) -> dict[str, list[object]]:
    """The cells of the table; with a history of surveys, how the state developed."""
    named = titles(line.name for line in lines)
    cells = [_cells(line, named[line.name]) for line in lines]
    found: dict[str, list[object]] = {}
    for name in cells[0] if cells else ():
        found[name] = [cell[name] for cell in cells]
        if name == "state" and any(line.past is not None and line.past.surveys for line in lines):
            found[COURSE] = [_course(line.past) for line in lines]
    return found


def titles(names: Iterable[str]) -> dict[str, str]:
    """What each checkpoint is called where many are shown: the telling part of its name, or the whole name
    where another one has the same."""
    short = {name: title_of(name) for name in names}
    counted = Counter(short.values())
    return {name: title if counted[title] == 1 else _whole(name) for name, title in short.items()}


def _whole(name: str) -> str:
    """A name without the last part that says only ``checkpoint``."""
    return name[: name.rindex(title_of(name)) + len(title_of(name))]


def _course(past: KeptHistory | None) -> list[int]:
    """The bytes of the state from survey to survey, at most ``POINTS`` of them, the newest among them."""
    sizes = [one.state_bytes for one in past.surveys if one.state_bytes] if past is not None else []
    return sizes[:: -max(1, -(-len(sizes) // POINTS))][::-1] if len(sizes) > 1 else []


def pace(row: SurveyRow) -> list[int]:
    """Batches planned in each of some equal spans of time, the newest last; empty where nothing can be
    compared."""
    planned = np.frombuffer(row.batches.planned_ms, dtype=np.int64)[-PACE_BATCHES:]
    planned = planned[planned > 0]
    if len(planned) < PACE_LEAST or planned.min() == planned.max():
        return []
    spans = min(PACE_POINTS, len(planned) // 2)
    return [int(count) for count in np.histogram(planned, spans)[0]]


def _cells(line: Line, title: str) -> dict[str, object]:
    row = line.row
    if row is None:
        row = unreadable_row(line.name, "")
        start, is_read = line.note, False
    else:
        start, is_read = row.next_start, row.error is None
    absent = "-" if is_read else ""
    lag_ms, skew = row.watermark_lag_ms, row.state_skew
    return {
        "checkpoint": say("screen_survey.temporary", name=title) if row.is_temporary else title,
        "next start": start,
        "newest": absent if row.age_seconds is None else words.age(row.age_seconds * 1000),
        "worst finding": _finding_in_words(row) or _instead_of_a_finding(row, is_read),
        "lag": absent if lag_ms is None else words.duration(lag_ms),
        PACE: pace(row),
        "batches per hour": absent if row.batches_per_hour is None else f"{row.batches_per_hour:,.1f}",
        "state": absent if not row.state_bytes else words.size(row.state_bytes),
        "skew": absent if skew is None else f"{skew:,.1f} x",
        "last committed": _batch(row.last_committed_batch, is_read),
        "not committed": _batch(row.pending_batch, is_read),
        "duration": absent if row.median_duration_ms is None else words.duration(row.median_duration_ms),
        "size": absent if row.total_bytes is None else words.size(row.total_bytes),
        "sources": " + ".join(row.sources),
        "Spark": absent if row.written_by is None else say("screen_survey.at_least", version=row.written_by),
        "what happened": line.story,
        "location": line.name,
    }


def _instead_of_a_finding(row: SurveyRow, is_read: bool) -> str:
    """The error, or that nothing was found in the few batches that a survey reads."""
    if row.error:
        return words.one_line(row.error, 200)
    return row.no_finding if is_read else ""


def _batch(batch_id: int | None, is_read: bool) -> str:
    if batch_id is None:
        return "none" if is_read else ""
    return f"batch {batch_id}"


def download_columns(lines: Sequence[Line]) -> dict[str, list[object]]:
    """The same rows as ``python -m core survey --json`` gives them, without those that were not read."""
    parts = [to_json(row_part(line.row)) for line in lines if line.row is not None]
    return {name: [part[name] for part in parts] for name in (parts[0] if parts else ())}
