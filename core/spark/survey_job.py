"""What Spark does for a survey. Runs in the worker process only.

Two jobs: one task searches the roots, then each task reads some checkpoints. Spark runs a task again whose
executor was lost. When a task fails for good, the others are asked for one by one, so that only the
checkpoint that makes it fail has a row with an error.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from core.messages import say
from core.spark import executors
from core.spark.executors import Work, read_task, search_task, spread
from core.spark.package import NEEDED, code_zip
from core.spark.process import first_line
from core.storage import Location
from core.survey import unreadable_row
from core.survey.history import Keeping, kept_table, refuse_inside
from core.survey.tables import arrow_schema, ddl, survey_table

Named = tuple[str, str, str]
Job = Callable[[Sequence[Sequence[Named]]], pa.Table]

# So that a worker can say what it lacks before anything else of the project is imported.
cloudpickle.register_pickle_by_value(executors)  # type: ignore[no-untyped-call]


CANCELLED = ("SPARK_JOB_CANCELLED", "OPERATION_CANCELED")


class NoDeltaError(Exception):
    """The session has no Delta Lake."""


def survey(session: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    """The rows of all checkpoints below the roots, kept where that is asked for."""
    session.conf.set("spark.sql.session.timeZone", "UTC")
    keep = keeping_of(session, request["keep"])
    session.addArtifacts(str(code_zip()), pyfile=True)
    work = Work(base64.b64decode(request["settings"]), NEEDED, level=request["level"])
    found = _search(session, work, request["roots"])
    named = {
        url: (each["text"], each["root"], path) for each in reversed(found) for path, url in each["places"]
    }
    if keep is not None:
        refuse_inside(keep, named)

    def job(groups: Sequence[Sequence[Named]]) -> pa.Table:
        return read_groups(session, work, groups)

    urls = {place: url for url, place in named.items()}
    table = read_all(job, spread(list(named.values())), urls)
    if keep is not None and table.num_rows:
        append(session, table, keep, request["surveyed_at_ms"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return {"found": found, "rows": base64.b64encode(sink.getvalue()).decode()}


def read_all(job: Job, groups: Sequence[Sequence[Named]], urls: Mapping[Named, str]) -> pa.Table:
    """The rows of all groups. Raises what the job raises when it fails for every group, or was cancelled."""
    if not groups:
        return arrow_schema("survey").empty_table()
    try:
        return job(groups)
    except Exception as error:
        failed = error
        if any(mark in str(error) for mark in CANCELLED):
            raise
    read, lost = _each_alone(job, groups)
    if not read:
        raise failed
    again, alone = _each_alone(job, [[place] for group, _ in lost for place in group])
    rows = [
        replace(
            unreadable_row(urls[place], say("spark_survey.task_failed", reason=first_line(str(error)))),
            root=place[1],
            path=place[2],
        )
        for (place,), error in alone
    ]
    return pa.concat_tables([*read, *again, pa.Table.from_batches([survey_table(rows)])])


def _each_alone(
    job: Job, groups: Sequence[Sequence[Named]]
) -> tuple[list[pa.Table], list[tuple[Sequence[Named], Exception]]]:
    read: list[pa.Table] = []
    lost: list[tuple[Sequence[Named], Exception]] = []
    for group in groups:
        try:
            read.append(job([group]))
        except Exception as error:
            lost.append((group, error))
    return read, lost


def _search(session: SparkSession, work: Work, roots: Sequence[str]) -> list[dict[str, Any]]:
    def task(batches: Iterator[Any]) -> Iterator[Any]:
        return search_task(work, batches)

    asked = session.createDataFrame([(json.dumps(list(roots)),)], "roots string").coalesce(1)
    rows = asked.mapInArrow(task, "found string").collect()
    return [found for row in rows for found in json.loads(row[0])]


def read_groups(session: SparkSession, work: Work, groups: Sequence[Sequence[Named]]) -> pa.Table:
    """The rows of these checkpoints, a task for each group."""

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        return read_task(work, batches)

    # From one partition, rows are dealt out one by one: each task has one group.
    asked = session.createDataFrame([(json.dumps(group),) for group in groups], "places string").coalesce(1)
    table = asked.repartition(len(groups)).mapInArrow(task, ddl("survey")).toArrow()
    return table.cast(arrow_schema("survey"))


def keeping_of(session: SparkSession, keep: Mapping[str, Any] | None) -> Keeping | None:
    """Where rows are kept. Raises NoDeltaError before anything is read."""
    if keep is None:
        return None
    url = keep["url"]
    if keep["format"] == "delta":
        try:
            session.read.format("delta").load(keep["place"]).schema  # noqa: B018  (Connect plans it here)
        except Exception as error:
            if "DATA_SOURCE_NOT_FOUND" in str(error) or "ClassNotFoundException" in str(error):
                raise NoDeltaError(say("spark_survey.no_delta")) from None
    return Keeping(Location(url=url, protocol=keep["protocol"], path=keep["place"], name=url), keep["format"])


def append(session: SparkSession, table: pa.Table, keep: Keeping, surveyed_at_ms: int) -> None:
    """Appends rows as they are kept, by Spark's own writer."""
    kept = kept_table(table, surveyed_at_ms, keep.format)
    writer = session.createDataFrame(kept).coalesce(1).write.mode("append").format(keep.format)
    # As other programs write CSV: a quote inside a text is doubled.
    options = {"header": "true", "escape": '"'} if keep.format == "csv" else {}
    writer.options(**options).save(keep.location.path)
