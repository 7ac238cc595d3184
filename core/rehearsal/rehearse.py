"""One rehearsal from the question to the answer: copy, run, compare, remove."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from core.analysis.errors import explain
from core.analysis.forecast import SUPPORTED_SPARK, Forecast, Query
from core.checkpoint import Checkpoint
from core.checkpoint.operator_metadata import StateSchema
from core.checkpoint.state import read_schemas, state_inventory
from core.connectors import ConnectorAnswers
from core.connectors.delta.log import DeltaLog
from core.connectors.file_sink_log import FileSinkLog
from core.errors import StagingError, UsageError
from core.judgement import judge
from core.messages import say
from core.recovery import RecoveryContext, read_recovery_context
from core.recovery.code import only_mode
from core.recovery.readers import SourceReader
from core.rehearsal.comparing import MOST_ROWS, Side, compare_runs
from core.rehearsal.copying import copy_checkpoint
from core.rehearsal.model import (
    Against,
    Failure,
    OperatorRows,
    Outcome,
    QueryRun,
    Rehearsal,
    RehearsalQuestion,
    RehearsedBatch,
    Stopped,
)
from core.rehearsal.places import Seen, compare, compare_checkpoint, look
from core.rehearsal.process import Line, run_worker
from core.rehearsal.query_file import check_query_file
from core.rehearsal.sinks import prepare_sink
from core.rehearsal.sources import as_request, readers_of
from core.spark.java import java_options
from core.spark.process import is_here
from core.spark.scratch import make_scratch

OnProgress = Callable[[str, int, int], None]
"""What is done now (``copying``, ``starting``, ``loading``, ``planning``, ``running``, ``counting``), files
done and files known."""

PREFIX = "checkpoint-explorer-rehearsal-"
OLD, NEW = "old", "new"


def rehearse(
    ck: Checkpoint,
    question: RehearsalQuestion,
    connectors: ConnectorAnswers | None = None,
    query: Query | None = None,
    on_progress: OnProgress | None = None,
) -> Rehearsal:
    """Starts the query of ``question`` on a copy of the checkpoint and says what happened.

    ``query``: what of it the forecast is told. Raises UsageError (an answer is missing, the query file cannot
    be used), StagingError (no copy could be made), SparkError (Spark could not be started, took too long or
    ended), StorageError.
    """
    began = time.monotonic()
    files = {OLD: question.against, NEW: question.query_file}
    asked = {name: path for name, path in files.items() if path is not None}
    for path in asked.values():
        check_query_file(path, may_write=question.own_code)
    tell = on_progress or (lambda what, done, known: None)
    connectors = connectors or ConnectorAnswers()
    context = read_recovery_context(ck, question.answers, connectors)
    readers = readers_of(context)
    mode = context.answers.get("output_mode") or only_mode(context)
    if mode is None:
        raise UsageError(say("rehearse.needs", answers=["output_mode"]))
    with _place(ck, question) as (root, removed):
        seen = _surroundings(context, readers)
        copies = {name: root / name / "checkpoint" for name in asked}
        copy = copy_checkpoint(ck, tuple(copies.values()), lambda done, known: tell("copying", done, known))
        outs = {name: root / name / "output" for name in asked}
        plan = prepare_sink(context, tuple(outs.values()), own_code=question.own_code)
        rows = {name: root / name / "rows" if question.against is not None else None for name in asked}
        runs: list[dict[str, object]] = [
            {
                "name": name,
                "query_file": str(path.resolve()),
                "sources": [as_request(reader) for reader in readers],
                "checkpoint": str(copies[name]),
                "out": str(outs[name]),
                "rows": None if rows[name] is None else str(rows[name]),
                "most_rows": MOST_ROWS,
                "sink": dict(plan.request),
                "output_mode": mode,
                "batches": question.batches,
                "write_batch": plan.sink.form == "own_code" and name == NEW,
            }
            for name, path in asked.items()
        ]
        spark, ran = _run(ck, question, root, runs, removed, asked, tell)
        judged = {name: _judged(ck, line, copies[name], plan.sink.newest_batch) for name, line in ran.items()}
        said = _forecast(ck, connectors, query, spark)
        against = None
        if question.against is not None:
            sides = {name: Side(judged[name], root / name / "rows", copies[name]) for name in asked}
            against = compare_runs(sides[OLD], sides[NEW], _keys(ck), ck.door)
        tell("comparing", 0, 0)
        places = (compare_checkpoint(ck.door, copy), *(compare(each) for each in seen))
        return Rehearsal(
            spark=spark,
            run=judged[NEW],
            forecast=said,
            differs=_differs(said, judged[NEW]),
            sink=plan.sink,
            copied=copy.copied,
            against=against,
            places=places,
            not_checked=_not_checked(plan.sink.form, question, judged[NEW], against),
            kept=question.keep,
            seconds=time.monotonic() - began,
        )


# ---------------------------------------------------------------- before


@contextmanager
def _place(ck: Checkpoint, question: RehearsalQuestion) -> Iterator[tuple[Path, list[str]]]:
    """The directory of the rehearsal, and what the process with Spark removes when this one is killed."""
    settings = ck.settings
    is_shared = bool(settings.spark_directory) or question.keep is not None
    if not is_here(settings) and not is_shared:
        raise UsageError(say("rehearse.needs_shared", address=settings.spark_remote or settings.spark_master))
    if question.keep is not None:
        kept = question.keep.resolve()
        try:
            kept.mkdir(parents=True)
        except FileExistsError:
            raise UsageError(say("rehearse.keep_exists", path=str(question.keep))) from None
        except OSError as error:
            raise _no_room(kept, error) from error
        try:
            yield kept, [str(kept / "temporary")]
        except OSError as error:
            raise _no_room(kept, error) from error
        finally:
            shutil.rmtree(kept / "temporary", ignore_errors=True)
        return
    base = Path(settings.spark_directory or tempfile.gettempdir())
    try:
        root, lock = make_scratch(base, PREFIX)
    except OSError as error:
        raise _no_room(base, error) from error
    try:
        yield root.resolve(), [str(root)]
    except OSError as error:
        raise _no_room(root, error) from error
    finally:
        shutil.rmtree(root, ignore_errors=True)
        lock.close()


def _no_room(place: Path, error: OSError) -> StagingError:
    reason = error.strerror or type(error).__name__
    return StagingError(say("rehearse.no_room", directory=str(place), reason=reason))


def _surroundings(context: RecoveryContext, readers: tuple[SourceReader, ...]) -> list[Seen]:
    """Sources and sink as they are before, as far as they are places that can be listed."""
    settings, sink = context.ck.settings, context.connectors.sink
    found = []
    kinds = {source.key: source.kind for source in context.sources}
    for reader in readers:
        if reader.path is None:
            continue
        label = say("rehearse.place_source", key=reader.key)
        kind = kinds.get(reader.key)
        is_table = kind is not None and kind.asks == "table"
        found.append(look(label, reader.path, settings, below="_delta_log" if is_table else ""))
    if isinstance(sink, FileSinkLog | DeltaLog):
        below = "_delta_log" if isinstance(sink, DeltaLog) else ""
        found.append(look(say("rehearse.place_sink"), sink.location, settings, below=below))
    return found


# ---------------------------------------------------------------- the run


def _run(
    ck: Checkpoint,
    question: RehearsalQuestion,
    root: Path,
    runs: list[dict[str, object]],
    removed: list[str],
    files: Mapping[str, Path],
    tell: OnProgress,
) -> tuple[str, dict[str, Line]]:
    settings, directory = ck.settings, root / "temporary"
    request = {
        "master": settings.spark_master,
        "remote": settings.spark_remote,
        "memory": settings.spark_memory,
        "is_here": is_here(settings),
        "directory": str(directory),
        "java_options": java_options(directory, question.python),
        "all_directories": removed,
        "conf": dict(question.conf),
        "runs": runs,
    }
    names = {name: str(path) for name, path in files.items()}
    return run_worker(
        request, settings, directory, names, question.python, lambda _run, phase: tell(phase, 0, 0)
    )


def _judged(ck: Checkpoint, line: Line, copy: Path, sink_has: int | None) -> QueryRun:
    """What one run came to; the files of its copy tell what Spark Connect does not."""
    batches = tuple(_batch(each) for each in line["batches"])
    before = set(ck.offset_ids)
    failed_batch = cast("int | None", line["failed_batch"])
    failure = None
    if line["error"] is not None:
        at = line["failed_at"]
        if at is None:
            now = {int(path.name) for path in (copy / "offsets").glob("[0-9]*") if path.name.isdecimal()}
            after = {number for number in now - before if number not in {b.id for b in batches}}
            at, failed_batch = ("batch", max(after)) if after else ("start", None)
        text = str(line["error"])
        rows, condition = line["failed_rows"], line["condition"]
        failure = Failure(text, at, failed_batch, explain(text, ck), rows, condition)
    numbers = [batch.id for batch in batches] + ([failed_batch] if failed_batch is not None else [])
    first = min(numbers, default=None)
    outcome: Outcome = "resume"
    if failure is not None and (failure.at == "start" or first == failed_batch) and not batches:
        outcome = "fail"
    elif first in before:
        outcome = "rerun"
    elif first == 0 and not before:
        outcome = "fresh_start"
    stopped = cast("Stopped", line["stopped"])
    skipped = tuple(batch.id for batch in batches if sink_has is not None and batch.id <= sink_has)
    return QueryRun(outcome, first, failure, stopped, batches, tuple(line["columns"]), skipped)


def _batch(told: Mapping[str, Any]) -> RehearsedBatch:
    return RehearsedBatch(
        id=told["id"],
        input_rows=told["input_rows"],
        output_rows=told["output_rows"],
        seconds=told["seconds"],
        watermark=told["watermark"],
        ends=tuple(told["ends"]),
        operators=tuple(
            OperatorRows(
                str(each["name"]), each["rows"], each["updated"], each["removed"], each["dropped_as_late"]
            )
            for each in told["operators"]
        ),
    )


# ---------------------------------------------------------------- against what was said


def _forecast(ck: Checkpoint, connectors: ConnectorAnswers, query: Query | None, spark: str) -> Forecast:
    """Under the rules of the Spark that ran, with what the files hold."""
    release = ".".join(spark.split(".")[:2])
    asked = release if release in map(str, SUPPORTED_SPARK) else None
    return judge(ck, connectors, level="deep", spark=asked, query=query).forecast


def _differs(said: Forecast, run: QueryRun) -> tuple[str, ...]:
    found: list[str] = []
    failure, outcome, batch_id = run.failure, run.outcome, run.batch_id
    if said.outcome == "fail" and failure is not None and failure.batch == said.batch_id:
        outcome, batch_id = "fail", failure.batch  # also behind a batch that the sink skips
    if said.outcome != outcome:
        found.append(say("rehearse.differs_outcome", said=said.outcome, happened=outcome))
    elif said.batch_id is not None and batch_id is not None and said.batch_id != batch_id:
        found.append(say("rehearse.differs_batch", said=said.batch_id, happened=batch_id))
    if failure is not None and outcome == "fail" and said.error is not None:
        condition = said.error.condition
        if condition is not None and condition not in f"{failure.condition} {failure.text}":
            name = failure.explanation.condition or failure.condition or say("rehearse.no_condition")
            found.append(say("rehearse.differs_error", said=condition, happened=name))
    elif failure is not None and outcome != "fail" and said.then is None:
        found.append(say("rehearse.differs_later", batch=failure.batch))
    return tuple(found)


def _keys(ck: Checkpoint) -> tuple[str, ...]:
    """The columns of the keys of the state."""
    operators = state_inventory(ck).operators if ck.has_state else ()
    schemas = (schema for operator in operators for schema in read_schemas(ck, operator.operator_id))
    return tuple(
        dict.fromkeys(
            name for schema in schemas if isinstance(schema, StateSchema) for name in schema.key_columns
        )
    )


def _not_checked(
    form: str, question: RehearsalQuestion, run: QueryRun, against: Against | None
) -> tuple[str, ...]:
    found: list[str] = []
    if not run.has_tried:
        found = [say("rehearse.not_checked_skipped" if run.batches else "rehearse.not_checked_no_batch")]
    found.append(say("rehearse.not_checked_own_writes"))
    if form == "recorded":
        found.append(say("rehearse.not_checked_sink"))
    if run.has_tried:
        found.append(say("rehearse.not_checked_later", batches=question.batches))
    if against is not None:
        found += against.not_compared
    return tuple(found)
