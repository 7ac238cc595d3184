"""``python -m core survey ROOT [ROOT ...]``: what happens at the next start of many checkpoints."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence

from pyarrow import Table

from core.documents.survey import KeptPart, survey_document
from core.errors import UsageError
from core.messages import say, say_of, words
from core.settings import Settings
from core.spark.survey import survey_on_spark
from core.sparklogs.evidence import NotRead
from core.survey import (
    LEVELS,
    STATUS_ORDER,
    RootSearch,
    Survey,
    SurveyRow,
    attention,
    left_out,
    with_checkpoints,
)
from core.survey.history import FORMATS, Keeping, append_here, keeping, kept_table, refuse_inside
from core.survey.tables import survey_table
from core.verbs import Answer, Verb
from core.verbs._text import clean, table

ENGINES = ("local", "spark")
PROGRESS_EVERY_SECONDS = 2.0
MARKS = {"fails": "FAIL", "reruns": "again", "resumes": "ok", "fresh_start": "new", "unused": "-"}
SENTENCES_SHOWN = 20  # of rows that need somebody; the JSON has all


def add_arguments(parser: ArgumentParser) -> None:
    """What ``survey`` takes beside the roots."""
    parser.add_argument("--level", choices=LEVELS, default="normal", help=say("cli.help_survey_level"))
    parser.add_argument("--engine", choices=ENGINES, default="local", help=say("survey.help_engine"))
    parser.add_argument("--master", metavar="URL", help=say("state_rows.help_master"))
    parser.add_argument("--remote", metavar="URL", help=say("state_rows.help_remote"))
    parser.add_argument("--to", metavar="LOCATION", help=say("survey.help_to"))
    parser.add_argument("--format", choices=FORMATS, help=say("survey.help_format"))


def run(args: Namespace, settings: Settings) -> Answer:
    """One row per checkpoint; problems are those that fail or risk data. When not one of them could be looked
    into, that is what could not be read."""
    started, surveyed_at_ms = time.monotonic(), time.time_ns() // 1_000_000
    keep = _keep(args, settings)
    if args.engine == "spark":
        searched, found = _through_spark(args, settings, keep, surveyed_at_ms)
    else:
        survey = Survey(args.location, settings, args.level)
        found = _rows(survey, keep)
        searched = survey.searched
        if keep is not None and found:
            table = Table.from_batches([survey_table(found)])
            append_here(kept_table(table, surveyed_at_ms, keep.format), keep, surveyed_at_ms)
    kept = _kept(keep, surveyed_at_ms, len(found))
    rows = sorted(found, key=attention)
    broken = [each for each in searched if each.error is not None]
    seconds = time.monotonic() - started
    is_unanswered = all(row.status in ("unreadable", "unknown") for row in rows)
    not_read = [NotRead(each.url, each.error) for each in broken if each.error is not None]
    not_read += [NotRead(row.location, row.error) for row in rows if row.error is not None]
    not_read += [NotRead(f"{row.location}/{path}", row.sentence) for row in rows for path in row.not_read]
    lines = _text(searched, rows, seconds, settings.checkpoint_levels)
    if kept is not None:
        where = clean(kept.location)
        lines.append(say("survey.kept", n=kept.rows, place=where, format=kept.format))
    return Answer(
        survey_document(searched, rows, args.level, seconds, args.engine, kept),
        "\n".join(lines) + "\n",
        has_problems=any(row.has_problems for row in rows),
        not_read=tuple(not_read) if is_unanswered else (),
    )


def _keep(args: Namespace, settings: Settings) -> Keeping | None:
    """Where the rows are kept. Raises UsageError for options that do not fit together."""
    of_spark = [name for name in ("master", "remote") if getattr(args, name) is not None]
    if args.engine != "spark" and of_spark:
        raise UsageError(say("state_rows.only_spark", options=[f"--{name}" for name in of_spark]))
    if args.to is None:
        if args.format is not None:
            raise UsageError(say("survey.format_alone"))
        return None
    if args.engine != "spark" and args.format == "delta":
        raise UsageError(say("survey.delta_needs_spark"))
    keep = keeping(args.to, args.format or FORMATS[0], settings)
    if args.engine != "spark" and not keep.location.is_local:
        raise UsageError(say("survey.to_needs_spark", place=keep.location.url))
    return keep


def _through_spark(
    args: Namespace, settings: Settings, keep: Keeping | None, surveyed_at_ms: int
) -> tuple[list[RootSearch], list[SurveyRow]]:
    chosen = {"spark_master": args.master, "spark_remote": args.remote}
    settings = settings.model_copy(update={name: url for name, url in chosen.items() if url is not None})
    said = time.monotonic()
    if sys.stderr.isatty():
        sys.stderr.write(f"{say('spark_survey.progress_starting')}\n")

    def progress(done: int, known: int) -> None:
        nonlocal said
        if sys.stderr.isatty() and time.monotonic() - said >= PROGRESS_EVERY_SECONDS:
            said = time.monotonic()
            sys.stderr.write(f"{say('spark_survey.progress', done=done, known=known)}\n")

    found = survey_on_spark(
        args.location, settings, args.level, keep=keep, surveyed_at_ms=surveyed_at_ms, on_progress=progress
    )
    return with_checkpoints(found.searched, settings), found.rows


def _kept(keep: Keeping | None, surveyed_at_ms: int, rows: int) -> KeptPart | None:
    if keep is None or not rows:
        return None
    return KeptPart(location=keep.location.url, format=keep.format, surveyed_at_ms=surveyed_at_ms, rows=rows)


def _rows(survey: Survey, keep: Keeping | None) -> list[SurveyRow]:
    """The rows of all roots. Raises UsageError when they would be kept inside one of the checkpoints."""
    told, rows = time.monotonic(), []
    for row in survey:
        if keep is not None:
            refuse_inside(keep, [row.location])
        rows.append(row)
        if sys.stderr.isatty() and time.monotonic() - told >= PROGRESS_EVERY_SECONDS:
            told = time.monotonic()
            sys.stderr.write(f"{say('survey.progress', done=len(rows), total=survey.known)}\n")
    return rows


def _text(
    searched: Sequence[RootSearch], rows: Sequence[SurveyRow], seconds: float, levels: int
) -> list[str]:
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
        lines += [clean(sentence, 600) for sentence in left_out(found, levels)]
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
        row.worst_finding or ("-" if row.error else row.no_finding),
    )


VERB = Verb("survey", add_arguments, run)
