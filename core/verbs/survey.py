"""``python -m core survey ROOT [ROOT ...]``: what happens at the next start of many checkpoints."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence

from core.analysis.findings import Level
from core.documents.survey import survey_document
from core.messages import say, say_of, words
from core.settings import Settings
from core.sparklogs.evidence import NotRead
from core.survey import (
    LEVELS,
    STATUS_ORDER,
    RootSearch,
    SurveyRow,
    attention,
    each_once,
    search_roots,
    survey_places,
)
from core.verbs import Answer, Verb
from core.verbs._text import clean, table

PROGRESS_EVERY_SECONDS = 2.0
MARKS = {"fails": "FAIL", "reruns": "again", "resumes": "ok", "fresh_start": "new"}
SENTENCES_SHOWN = 20  # of rows that need somebody; the JSON has all


def add_arguments(parser: ArgumentParser) -> None:
    """What ``survey`` takes beside the roots."""
    parser.add_argument("--level", choices=LEVELS, default="normal", help=say("cli.help_survey_level"))


def run(args: Namespace, settings: Settings) -> Answer:
    """One row per checkpoint; problems are those that fail or risk data. When not one of them could be looked
    into, that is what could not be read."""
    started = time.monotonic()
    searched = search_roots(args.location, settings)
    rows = sorted(_rows(searched, settings, args.level), key=attention)
    broken = [found for found in searched if found.error is not None]
    seconds = time.monotonic() - started
    is_unanswered = all(row.status in ("unreadable", "unknown") for row in rows)
    not_read = [NotRead(found.url, found.error) for found in broken if found.error is not None]
    not_read += [NotRead(row.location, row.error) for row in rows if row.error is not None]
    not_read += [NotRead(f"{row.location}/{path}", row.sentence) for row in rows for path in row.not_read]
    return Answer(
        survey_document(searched, rows, args.level, seconds),
        "\n".join(_text(searched, rows, seconds)) + "\n",
        has_problems=any(row.has_problems for row in rows),
        not_read=tuple(not_read) if is_unanswered else (),
    )


def _rows(searched: Sequence[RootSearch], settings: Settings, level: Level) -> list[SurveyRow]:
    """The rows of all roots."""
    places = each_once(searched)
    told, rows = time.monotonic(), []
    for row in survey_places(places, settings, level):
        rows.append(row)
        if sys.stderr.isatty() and time.monotonic() - told >= PROGRESS_EVERY_SECONDS:
            told = time.monotonic()
            sys.stderr.write(f"{say('survey.progress', done=len(rows), total=len(places))}\n")
    return rows


def _text(searched: Sequence[RootSearch], rows: Sequence[SurveyRow], seconds: float) -> list[str]:
    counted = Counter(row.status for row in rows)
    counts = [
        say_of("survey", "COUNTS", status, n=counted[status]) for status in STATUS_ORDER if counted[status]
    ]
    roots = [clean(found.root) for found in searched]
    lines = [say("survey.total", n=len(rows), roots=roots, counts=counts), ""]
    several = len(searched) > 1
    header = (
        *("", "next start", "checkpoint", "newest", "batches/h", "duration"),
        *("lag", "state", "skew", "worst finding"),
    )
    lines += table(header, [_cells(row, several) for row in rows])
    notable = [row for row in rows if row.has_problems or row.status in ("unknown", "unreadable")]
    if notable:
        lines.append("")
    lines += [
        say("survey.note", name=clean(_name(row, several)), sentence=clean(row.sentence, 600))
        for row in notable[:SENTENCES_SHOWN]
    ]
    if len(notable) > SENTENCES_SHOWN:
        lines.append(say("cli.more", count=len(notable) - SENTENCES_SHOWN))
    for found in searched:
        if found.error is not None:
            lines.append(say("survey.root_not_read", root=clean(found.root), error=clean(found.error, 600)))
        elif not found.is_complete:
            lines.append(say("survey.stopped", root=clean(found.root), listed=found.listed))
    read = [row.requests for row in rows]
    cost = say(
        "survey.cost",
        listings=sum(found.listed for found in searched) + sum(item.list for item in read),
        files=sum(item.get for item in read),
        size_bytes=sum(item.bytes for item in read),
        seconds=f"{seconds:.1f}",
    )
    return [*lines, "", cost]


def _name(row: SurveyRow, with_root: bool) -> str:
    name = row.path or row.root
    return f"{row.root}/{row.path}".rstrip("/") if with_root and row.path else name


def _cells(row: SurveyRow, with_root: bool) -> tuple[str, ...]:
    """A row as text; "-" for what does not apply or is not known."""
    name = clean(_name(row, with_root), 80)
    lag_ms, skew = row.watermark_lag_ms, row.state_skew
    return (
        "RISK" if row.has_problems and row.status != "fails" else MARKS.get(row.status, "?"),
        row.next_start,
        say("survey.temporary", name=name) if row.is_temporary else name,
        "-" if row.age_seconds is None else words.age(row.age_seconds * 1000),
        "-" if row.batches_per_hour is None else f"{row.batches_per_hour:,.1f}",
        "-" if row.median_duration_ms is None else words.duration(row.median_duration_ms),
        "-" if lag_ms is None else words.duration(lag_ms),
        words.size(row.state_bytes) if row.state_bytes else "-",
        "-" if skew is None else f"{skew:,.1f} x",
        row.worst_finding or "-",
    )


VERB = Verb("survey", add_arguments, run)
