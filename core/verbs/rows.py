"""``python -m core rows``: rows of the state, from the files, or through Spark where that is asked for."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import cast

from core.checkpoint import Checkpoint
from core.checkpoint.asked import committed_batch
from core.checkpoint.restore_chain import store_directory
from core.checkpoint.state_content.simple_values import Json
from core.checkpoint.state_content.state_difference import read_difference
from core.checkpoint.state_content.state_rows import RowsAnswer, RowsQuestion, read_rows
from core.documents.rows import RowPart, RowsDocument, count_text, rows_document, shown_of_all, spark_document
from core.errors import UsageError
from core.messages import say, words
from core.settings import Settings
from core.spark import SparkEngine, StateQuestion
from core.sparklogs.evidence import NotRead
from core.sparklogs.json_text import parse_object
from core.verbs import Answer, Verb
from core.verbs._text import clean, table
from core.verbs.state import NEEDED_BATCHES

LARGEST = ("keys", "values")
ENGINES = ("files", "spark")
MOST_ROWS = 100_000
HEADER = ("partition", "key", "value", "bytes")
CELL = 100  # characters of a key or a value in the text; the JSON has all


def add_arguments(parser: ArgumentParser) -> None:
    """What ``rows`` takes beside the location."""
    parser.add_argument("--batch", type=int, metavar="N", help=say("cli.help_batch_state"))
    parser.add_argument("--operator", type=int, default=0, metavar="ID", help=say("state_rows.help_operator"))
    parser.add_argument("--store", metavar="NAME", help=say("state_rows.help_store"))
    parser.add_argument("--side", choices=("left", "right"), help=say("state_rows.help_side"))
    parser.add_argument("--variable", metavar="NAME", help=say("state_rows.help_variable"))
    parser.add_argument("--timers", action="store_true", help=say("state_rows.help_timers"))
    parser.add_argument("--partition", type=int, metavar="P", help=say("state_rows.help_partition"))
    parser.add_argument("--key", metavar="JSON", help=say("state_rows.help_key"))
    parser.add_argument("--changes", metavar="FROM..TO", help=say("state_rows.help_changes"))
    parser.add_argument("--difference", metavar="FROM..TO", help=say("state_rows.help_difference"))
    parser.add_argument("--older-than-watermark", action="store_true", help=say("state_rows.help_older"))
    parser.add_argument("--largest", choices=LARGEST, help=say("state_rows.help_largest"))
    parser.add_argument("--limit", type=int, default=100, metavar="N", help=say("state_rows.help_limit"))
    parser.add_argument("--engine", choices=ENGINES, default="files", help=say("state_rows.help_engine"))
    parser.add_argument("--sql", metavar="QUERY", help=say("state_rows.help_sql"))
    parser.add_argument("--master", metavar="URL", help=say("state_rows.help_master"))
    parser.add_argument("--remote", metavar="URL", help=say("state_rows.help_remote"))
    parser.add_argument("--reveal", action="store_true", help=say("state_rows.help_reveal"))


def run(args: Namespace, settings: Settings) -> Answer:
    """Reads the rows."""
    if args.reveal and not settings.reveal_state:
        raise UsageError(say("state_rows.reveal_forbidden"))
    if not 1 <= args.limit <= MOST_ROWS:
        raise UsageError(say("state_rows.limit", given=args.limit, most=MOST_ROWS))
    if args.changes is not None and (args.batch is not None or args.older_than_watermark):
        raise UsageError(say("state_rows.changes_alone"))
    if args.difference is not None and (
        args.batch is not None
        or args.changes is not None
        or args.largest is not None
        or args.older_than_watermark
    ):
        raise UsageError(say("state_rows.difference_alone"))
    of_spark = [name for name in ("sql", "master", "remote") if getattr(args, name) is not None]
    of_files = [name for name in ("key", "largest", "difference") if getattr(args, name) is not None]
    if args.engine == "spark":
        if of_files or args.older_than_watermark:
            raise UsageError(say("state_rows.only_files"))
        return _through_spark(args, settings)
    if of_spark:
        raise UsageError(say("state_rows.only_spark", options=[f"--{name}" for name in of_spark]))
    return _from_files(args, settings)


def _from_files(args: Namespace, settings: Settings) -> Answer:
    ck = Checkpoint.open(args.location, settings, newest=NEEDED_BATCHES)
    compared = _batches("--difference", args.difference)
    question = RowsQuestion(
        batch_id=args.batch if compared is None else compared[1],
        operator_id=args.operator,
        store=args.store,
        side=args.side,
        variable=args.variable,
        is_timers=args.timers,
        partition_id=args.partition,
        key=_key(args.key),
        changes=_batches("--changes", args.changes),
        is_past_watermark=args.older_than_watermark,
        largest=args.largest,
        limit=args.limit,
    )
    found = read_rows(ck, question) if compared is None else read_difference(ck, question, compared[0])
    document = rows_document(ck, found, args.side, is_revealed=args.reveal)
    not_read = (
        NotRead(f"{store_directory(document.operator, part.partition_id, document.store)}/", part.reason)
        for part in found.not_read
    )
    return Answer(document, _text(document, found, question), not_read=(*ck.not_read, *not_read))


def _through_spark(args: Namespace, settings: Settings) -> Answer:
    chosen = {"spark_master": args.master, "spark_remote": args.remote}
    settings = settings.model_copy(update={name: url for name, url in chosen.items() if url is not None})
    ck = Checkpoint.open(args.location, settings, newest=NEEDED_BATCHES)
    changes = _batches("--changes", args.changes)
    last = changes[1] if changes is not None and args.batch is None else args.batch
    question = StateQuestion(
        batch_id=committed_batch(ck, last),
        operator=args.operator,
        store=args.store,
        side=args.side,
        variable=args.variable,
        timers=args.timers,
        partition=args.partition,
        changes=changes,
        sql=args.sql,
        limit=args.limit,
    )
    engine = SparkEngine(settings)
    try:
        found = engine.ask(ck, question)
    finally:
        engine.stop()
    document = spark_document(ck, question, found, is_revealed=args.reveal)
    return Answer(document, _spark_text(document, question), not_read=ck.not_read)


def _spark_text(document: RowsDocument, question: StateQuestion) -> str:
    shown = len(document.result.rows if document.result is not None else document.rows)
    lines: list[str] = [
        say("state_rows.head_spark", batch=document.batch, operator=document.operator),
        shown_of_all(shown, document.rows_total),
    ]
    equal = [part for part in document.spark_read if part.compared != "unknown"]
    lines.append(say("state_rows.compared", n=len(equal), all=len(document.spark_read)))
    if not document.revealed and shown:
        lines.append(say("state_rows.masked"))
    if document.result is not None:
        rows = [[_shown(row[name]) for name in document.result.columns] for row in document.result.rows]
        return "\n".join([*lines, "", *table([clean(n, 60) for n in document.result.columns], rows)]) + "\n"
    if document.rows:
        of_batch = ("batch", "change") if question.changes is not None else ()
        cells = (
            [
                *(str(getattr(row, name)) for name in of_batch),
                str(row.partition),
                *map(_shown, (row.key, row.value)),
            ]
            for row in document.rows
        )
        lines += ["", *table((*of_batch, *HEADER[:3]), cells)]
    return "\n".join(lines) + "\n"


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return clean(text, CELL)


def _key(text: str | None) -> Mapping[str, Json] | None:
    if text is None:
        return None
    try:
        return cast("Mapping[str, Json]", parse_object(text))
    except ValueError as error:
        raise UsageError(say("state_rows.key_json", reason=error)) from error


def _batches(option: str, text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    first, dots, last = text.partition("..")
    if not dots or not first.isdecimal() or not last.isdecimal():
        raise UsageError(say("state_rows.batches_form", option=option, given=text))
    return int(first), int(last)


def _text(document: RowsDocument, found: RowsAnswer, question: RowsQuestion) -> str:
    name = clean(found.target.name, 60)
    operator = clean(found.operator.name or words.NOT_KNOWN, 60)
    if found.difference is not None:
        head = say(
            "state_rows.head_difference",
            first=found.difference.since_batch,
            last=document.batch,
            operator=document.operator,
            name=operator,
            store=name,
        )
    elif question.changes is not None:
        head = say(
            "state_rows.head_changes",
            first=question.changes[0],
            last=question.changes[1],
            operator=document.operator,
            name=operator,
            store=name,
        )
    else:
        head = say(
            "state_rows.head", batch=document.batch, operator=document.operator, name=operator, store=name
        )
    lines: list[str] = [head, count_text(found)]
    if not document.revealed and document.rows:
        lines.append(say("state_rows.masked"))
    if document.rows and found.difference is not None:
        differing = ((str(row.change), *_cells(row), _value(row.before)) for row in document.rows)
        lines += ["", *table(("change", *HEADER, "before"), differing)]
    elif document.rows and question.changes is None:
        lines += ["", *table(HEADER, map(_cells, document.rows))]
    elif document.rows:
        changes = ((str(row.batch), str(row.change), *_cells(row)) for row in document.rows)
        lines += ["", *table(("batch", "change", *HEADER), changes)]
    return "\n".join(lines) + "\n"


def _cells(row: RowPart) -> tuple[str, str, str, str]:
    return str(row.partition), _shown(row.key), _value(row.value), f"{row.key_bytes} + {row.value_bytes}"


def _value(value: object) -> str:
    return "" if value is None else _shown(value)


VERB = Verb("rows", add_arguments, run)
