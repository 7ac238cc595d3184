"""The views of a survey as tables with a fixed schema: what ``spark.read.format("checkpoint")`` gives, and
what a history of surveys is written with. No Spark is needed here.

Every view begins with ``root``, ``path`` and ``location`` and has an ``error``: a checkpoint that could not
be looked into is one row in which nothing else is filled. Times are UTC. What is not known is null, never 0.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import pyarrow as pa

from core.analysis.findings import Level
from core.analysis.past_batches import BatchTimes, no_batches
from core.analysis.timeline import STATUSES as BATCH_STATUSES
from core.analysis.timeline import UNKNOWN_MS, build_timeline
from core.checkpoint import Checkpoint
from core.checkpoint.model import OffsetEntry, OperatorState, StateFile
from core.checkpoint.source import Source
from core.checkpoint.sources.forms import parse
from core.checkpoint.sources.kafka import topics_of
from core.checkpoint.state import state_inventory
from core.errors import place_of
from core.judgement import judge
from core.messages import say
from core.settings import Settings
from core.sparklogs.evidence import Problem
from core.storage import Door
from core.survey.many import at_each
from core.survey.row import OperatorFacts, SurveyRow, guarded, survey_row, unreadable_row
from core.survey.search import RootSearch, SurveyPlace

Row = dict[str, Any]
Columns = Mapping[str, str]


def _struct(**fields: str) -> str:
    return f"struct<{','.join(f'{name}:{kind}' for name, kind in fields.items())}>"


_OPERATORS = f"array<{_struct(operator='bigint', name='string', size_bytes='bigint', skew='double')}>"
_BATCH = _struct(
    batch_id="bigint",
    status="string",
    planned_at="timestamp",
    committed_at="timestamp",
    duration_ms="bigint",
)
_BATCHES = f"array<{_BATCH}>"
_FINDINGS = _struct(blocks_restart="bigint", data_risk="bigint", attention="bigint")
_READ = _struct(list="bigint", get="bigint", head="bigint", bytes="bigint")
_PLACE: Columns = {"root": "string", "path": "string", "location": "string"}

COLUMNS: Mapping[str, Columns] = {
    "survey": {
        **_PLACE,
        "status": "string",
        "sentence": "string",
        "certainty": "string",
        "read_at": "timestamp",
        "is_temporary": "boolean",
        "query_id": "string",
        "next_batch": "bigint",
        "last_committed_batch": "bigint",
        "pending_batch": "bigint",
        "newest_at": "timestamp",
        "age_seconds": "bigint",
        "sources": "array<string>",
        "written_by": "string",
        "batches_per_hour": "double",
        "median_duration_ms": "bigint",
        "watermark_lag_ms": "bigint",
        "watermark_stalled_batches": "bigint",
        "operators": "bigint",
        "operator_state": _OPERATORS,
        "state_bytes": "bigint",
        "state_skew": "double",
        "log_bytes": "bigint",
        "source_bytes": "bigint",
        "total_bytes": "bigint",
        "files": "bigint",
        "files_per_batch": "double",
        "findings": _FINDINGS,
        "worst_finding": "string",
        "batches": _BATCHES,
        "not_read": "array<string>",
        "error": "string",
        "read": _READ,
        "seconds": "double",
    },
    "batches": {
        **_PLACE,
        "batch_id": "bigint",
        "status": "string",
        "planned_at": "timestamp",
        "committed_at": "timestamp",
        "duration_ms": "bigint",
        "gap_ms": "bigint",
        "watermark": "timestamp",
        "shuffle_partitions": "bigint",
        "error": "string",
    },
    "offsets": {
        **_PLACE,
        "batch_id": "bigint",
        "planned_at": "timestamp",
        "source": "string",
        "source_kind": "string",
        "topic": "string",
        "partition": "string",
        "position": "bigint",
        "advance": "bigint",
        "unit": "string",
        "raw": "string",
        "error": "string",
    },
    "state_files": {
        **_PLACE,
        "operator": "bigint",
        "operator_name": "string",
        "partition": "bigint",
        "store": "string",
        "kind": "string",
        "version": "bigint",
        "size_bytes": "bigint",
        "modified_at": "timestamp",
        "file": "string",
        "error": "string",
    },
    "findings": {
        **_PLACE,
        "id": "string",
        "severity": "string",
        "certainty": "string",
        "sentence": "string",
        "action": "string",
        "batch_id": "bigint",
        "evidence": "array<string>",
        "error": "string",
    },
}
"""View -> its columns with Spark's names of their types."""

WITH_NEWEST = ("batches", "offsets", "findings")
"""The views that read log files of so many of the newest batches as they are asked for."""

_PLAIN: Mapping[str, pa.DataType] = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "array<string>": pa.list_(pa.string()),
}
_ROWS_AT_ONCE = 5_000
_EPOCH, _MILLISECOND = datetime.fromtimestamp(0, UTC), timedelta(milliseconds=1)
_LATEST_MS = 253_402_300_800_000  # the year 10000: no time of a batch


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """Which view is asked for. ``newest``: of so many batches (None: as many as the view reads by itself);
    ``level``: how much a row of the survey reads."""

    view: str = "survey"
    newest: int | None = None
    level: Level = "normal"


def ddl(view: str) -> str:
    """The columns of a view as Spark's schema text."""
    return ", ".join(f"`{name}` {kind}" for name, kind in COLUMNS[view].items())


def arrow_schema(view: str) -> pa.Schema:
    """The columns of a view for Arrow."""
    return pa.schema([(name, _arrow(kind)) for name, kind in COLUMNS[view].items()])


def tables(
    places: Sequence[SurveyPlace], settings: Settings, question: TableQuestion
) -> Iterator[pa.RecordBatch]:
    """The rows of a view for some places, as they are read, several side by side. Never raises for a
    checkpoint: what cannot be looked into is a row with an ``error``."""
    schema = arrow_schema(question.view)

    def look(place: SurveyPlace) -> list[pa.RecordBatch]:
        if question.view == "survey":
            return [_survey_batch(place, survey_row(place.location, settings, question.level), schema)]
        found, error = guarded(lambda: _batches(place, settings, question, schema), settings)
        return [_batch([_place(place) | {"error": error}], schema)] if found is None else found

    for _, found in at_each(places, settings, look):
        yield from found


def root_rows(searched: Sequence[RootSearch], view: str) -> list[pa.RecordBatch]:
    """A row with an ``error`` for each root that could not be searched, or not to its end."""
    schema, rows = arrow_schema(view), []
    for found in searched:
        if (error := found.trouble) is None:
            continue
        place = {"root": found.root, "path": "", "location": found.url}
        row = survey_values(unreadable_row(found.url, error)) if view == "survey" else {"error": error}
        rows.append(row | place)
    return [_batch(rows, schema)] if rows else []


def survey_table(rows: Sequence[SurveyRow]) -> pa.RecordBatch:
    """Rows of a survey as a table."""
    return _batch([survey_values(row) for row in rows], arrow_schema("survey"))


def survey_values(row: SurveyRow) -> Row:
    """A row of a survey by the columns of the view."""
    values: Row = {name: getattr(row, name) for name in COLUMNS["survey"] if hasattr(row, name)}
    read = row.requests
    return values | {
        "read_at": _moment(row.read_at_ms),
        "newest_at": None if row.newest_ms is None else _moment(row.newest_ms),
        "operator_state": [asdict(found) for found in row.operator_state],
        "findings": dict(row.findings) if row.error is None else None,
        "batches": _kept_batches(row.batches),
        "read": {"list": read.list, "get": read.get, "head": read.head, "bytes": read.bytes},
    }


def _kept_batches(found: BatchTimes) -> list[Row]:
    columns = (found.batch_ids, found.status, found.planned_ms, found.committed_ms, found.duration_ms)
    return [
        {
            "batch_id": batch_id,
            "status": BATCH_STATUSES[status],
            "planned_at": _moment(planned_ms),
            "committed_at": _moment(committed_ms),
            "duration_ms": _amount(duration_ms),
        }
        for batch_id, status, planned_ms, committed_ms, duration_ms in zip(*columns, strict=True)
    ]


def batches_of(values: Sequence[Mapping[str, Any]]) -> BatchTimes:
    """The batches of a row, as a table keeps them; times as moments or as epoch microseconds."""
    columns = [
        (
            found["batch_id"],
            BATCH_STATUSES.index(found["status"]),
            _ms(found["planned_at"]),
            _ms(found["committed_at"]),
            UNKNOWN_MS if found["duration_ms"] is None else found["duration_ms"],
        )
        for found in values
    ]
    return (
        BatchTimes(*(array("q", column) for column in zip(*columns, strict=True)))
        if columns
        else no_batches()
    )


def _ms(value: datetime | None) -> int:
    return UNKNOWN_MS if value is None else (value - _EPOCH) // _MILLISECOND


def survey_rows_of(table: pa.Table) -> list[SurveyRow]:
    """The rows that a table of the view survey holds."""
    for name in ("read_at", "newest_at"):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, table.column(at).cast(pa.int64()))
    return [_survey_row(values) for values in table.to_pylist()]


def _survey_row(values: Mapping[str, Any]) -> SurveyRow:
    given = {name: value for name, value in values.items() if name not in ("read_at", "newest_at", "read")}
    newest, requests = values["newest_at"], values["read"]
    row = unreadable_row("", "")
    return SurveyRow(
        **given
        | {
            "read_at_ms": values["read_at"] // 1000,
            "newest_ms": None if newest is None else newest // 1000,
            "sources": tuple(values["sources"]),
            "not_read": tuple(values["not_read"]),
            "operator_state": tuple(OperatorFacts(**found) for found in values["operator_state"]),
            "findings": values["findings"] or {},
            "batches": batches_of(values["batches"] or ()),
            "requests": type(row.requests)(**requests),
        }
    )


def _arrow(kind: str) -> pa.DataType:
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind.startswith("array<"):
        return pa.list_(_arrow(kind[6:-1]))
    fields = [part.split(":") for part in kind.removeprefix("struct<").removesuffix(">").split(",")]
    return pa.struct([(name, _PLAIN[of]) for name, of in fields])


def _batch(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    try:
        return pa.RecordBatch.from_pylist(rows, schema=schema)
    except UnicodeEncodeError:  # a name of a file that is no UTF-8
        return pa.RecordBatch.from_pylist(_printable(rows), schema=schema)


def _survey_batch(place: SurveyPlace, row: SurveyRow, schema: pa.Schema) -> pa.RecordBatch:
    try:
        return _batch([survey_values(row) | _place(place)], schema)
    except (pa.ArrowException, OverflowError) as error:  # a number in a file that no column can hold
        sentence = say("errors_program.command", error=type(error).__name__, place=place_of(error))
        return _batch([survey_values(unreadable_row(row.location, sentence)) | _place(place)], schema)


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {key: _printable(item) for key, item in value.items()}
    return [_printable(item) for item in value] if isinstance(value, list | tuple) else value


def _place(place: SurveyPlace) -> Row:
    return {"root": place.root, "path": place.path, "location": place.location.url}


def _moment(ms: int) -> int | None:
    """Epoch microseconds; None for what is no time."""
    return ms * 1000 if 0 <= ms < _LATEST_MS else None


def _amount(value: int) -> int | None:
    return int(value) if value >= 0 else None


def _batches(
    place: SurveyPlace, settings: Settings, question: TableQuestion, schema: pa.Schema
) -> list[pa.RecordBatch]:
    door = Door.open(place.location, settings, is_thrifty=True)
    usual = settings.survey_batches if question.view == "findings" else settings.first_view_batches
    newest = usual if question.newest is None else question.newest
    # Files that a running query removes between listing and reading were purged: their rows are not there.
    ck = Checkpoint.open(door, settings, newest=newest if question.view in WITH_NEWEST else 1)
    rows = (_place(place) | row for row in _READERS[question.view](ck, newest))
    found = []
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        found.append(_batch(some, schema))
    return found


def _batch_rows(ck: Checkpoint, newest: int) -> Iterator[Row]:
    ck.load(ck.offset_ids[-newest:])
    timeline = build_timeline(ck)
    for at in range(max(0, len(timeline) - newest), len(timeline)):
        batch_id = int(timeline.batch_ids[at])
        entry, commit = ck.offset(batch_id), ck.commit(batch_id)
        row: Row = {
            "batch_id": batch_id,
            "status": BATCH_STATUSES[int(timeline.status[at])],
            "planned_at": _moment(int(timeline.planned_ms[at])),
            "committed_at": _moment(int(timeline.committed_ms[at])),
            "duration_ms": _amount(timeline.duration_ms[at]),
            "gap_ms": _amount(timeline.gap_ms[at]),
            "error": next((found.reason for found in (entry, commit) if isinstance(found, Problem)), None),
        }
        if isinstance(entry, OffsetEntry):
            partitions = entry.conf.get("spark.sql.shuffle.partitions", "")
            row["watermark"] = _moment(entry.watermark_ms) if entry.watermark_ms else None
            is_number = partitions.isascii() and partitions.isdecimal() and len(partitions) < 10
            row["shuffle_partitions"] = int(partitions) if is_number else None
        yield row


def _offset_rows(ck: Checkpoint, newest: int) -> Iterator[Row]:
    ids = ck.offset_ids[-newest:]
    ck.load(ids)
    planned: dict[int, int | None] = {}
    for batch_id in ids:
        entry = ck.offset(batch_id)
        if isinstance(entry, Problem):
            yield {"batch_id": batch_id, "error": entry.reason}
        elif entry is not None:
            planned[batch_id] = None if entry.timestamp_ms is None else _moment(entry.timestamp_ms)
    for source in ck.sources:
        yield from _source_rows(ck, source, planned)


def _source_rows(ck: Checkpoint, source: Source, planned: Mapping[int, int | None]) -> Iterator[Row]:
    progress = ck.progress(source.key, list(planned))
    for at, number in enumerate(progress.batch_ids):
        batch_id = int(number)
        text = ck.source_texts(batch_id, source.key)[1]
        if text is None:  # this source had no offset in that batch
            continue
        row: Row = {
            "batch_id": batch_id,
            "planned_at": planned[batch_id],
            "source": source.key,
            "source_kind": source.kind.name,
            "unit": progress.unit or None,
        }
        there = [n for n, position in enumerate(progress.positions[at]) if position >= 0]
        if not there:  # no numbers: the text as it was written
            yield row | {"advance": _amount(progress.total[at]), "raw": text}
            continue
        has_topics = topics_of(parse(text)) is not None
        for column in there:
            name = progress.partitions[column]
            yield row | {
                "topic": name.rpartition("-")[0] if has_topics else None,
                "partition": name.rpartition("-")[2] if has_topics else name,
                "position": int(progress.positions[at, column]),
                "advance": _amount(progress.advance[at, column]),
            }


def _state_rows(ck: Checkpoint, _newest: int) -> Iterator[Row]:
    if not ck.has_state:
        return
    for operator in state_inventory(ck).operators:
        for file in operator.own_files:
            yield _state_file(operator, file)
        for partition in operator.partitions:
            for file in partition.files:
                yield _state_file(operator, file)


def _state_file(operator: OperatorState, file: StateFile) -> Row:
    return {
        "operator": operator.operator_id,
        "operator_name": operator.name,
        "partition": file.partition_id if file.partition_id >= 0 else None,
        "store": file.store,
        "kind": file.kind,
        "version": file.version,
        "size_bytes": file.size_bytes,
        "modified_at": None if file.modified_ms is None else _moment(file.modified_ms),
        "file": file.path,
    }


def _finding_rows(ck: Checkpoint, newest: int) -> Iterator[Row]:
    for finding in judge(ck, newest=newest).findings.findings:
        yield {
            "id": finding.id,
            "severity": finding.severity,
            "certainty": finding.certainty,
            "sentence": str(finding.sentence),
            "action": str(finding.action),
            "batch_id": finding.batch_id,
            "evidence": [str(item) for item in finding.evidence],
        }


_READERS: Mapping[str, Callable[[Checkpoint, int], Iterator[Row]]] = {
    "batches": _batch_rows,
    "offsets": _offset_rows,
    "state_files": _state_rows,
    "findings": _finding_rows,
}
