"""A report as one HTML file: no request, no script, both colour schemes, about two pages on paper. Every
value is escaped by the template engine."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from core.incident.batch_marks import Marks, Shown, label_of
from core.incident.report import TONE_MARKS, Code, Report
from core.messages import say, words

WIDTH, STEP, BARS = 720, 26.0, 44.0
"""Of the picture, in its own units: as wide as the page, one mark at most every ``STEP``, bars at most so
high."""

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def to_html(report: Report) -> str:
    """The report as the text of an HTML file."""
    labels = {
        "title": say("report.title", name=report.name),
        "batches": say("report.newest_batches"),
        "about": say("report.about"),
        "link": say("report.link"),
        "verdict": words.capital(report.verdict),
    }
    return _ENVIRONMENT.get_template("report.html.j2").render(
        report=report,
        mark=TONE_MARKS[report.tone],
        labels=labels,
        is_code=lambda block: isinstance(block, Code),
        picture=_picture(report.marks),
    )


def _picture(marks: Marks) -> dict[str, object] | None:
    """Where each mark of the picture stands, as numbers for the template."""
    if not marks.marks:
        return None
    step = min(STEP, (WIDTH - 20) / len(marks.marks))
    longest = marks.longest_ms
    top = BARS + 2 if longest else 0.0
    shapes = []
    for at, mark in enumerate(marks.marks):
        took = mark.duration_ms
        bar = round(BARS * took / longest, 1) if took and longest else 0.0
        ids = words.spanned(mark.first, mark.last)
        title = f"{ids}: {label_of(mark.status)}" + (f", {words.duration(took)}" if took is not None else "")
        shapes.append(
            {
                "x": round(10 + step * (at + 0.5), 1),
                "y": top + 12,
                "bar": bar,
                "bar_y": round(top - bar, 1),
                "kind": _shape(mark.status),
                "title": words.capital(title),
            }
        )
    size = round(min(7.0, step * 0.36), 1)
    return {
        "shapes": shapes,
        "size": size,
        "bar_width": round(step * 0.55, 1),
        "width": round(20 + step * len(marks.marks)),
        "height": top + 24,
        "first": marks.marks[0].first,
        "last": marks.marks[-1].last if len(marks.marks) > 1 else "",
        "longest": "" if not longest else say("report.longest", longest=longest),
        "legend": [{"kind": _shape(kind), "label": label_of(kind)} for kind in marks.kinds],
    }


def _shape(status: Shown) -> str:
    return {
        "committed": "dot",
        "superseded": "ring",
        "pending": "diamond",
        "missing_commit": "cross",
        "missing_offset": "cross",
        "unreadable": "square",
        "retention_edge": "triangle",
        "absent": "dots",
    }[status]
