"""One commit of a Delta table, from the lines of its JSON file: who wrote it, what it added and removed, its
transactions and metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import orjson

from core.connectors.answers import TableCommit, TableTransaction
from core.messages import say

_KINDS = {"RESTORE": "restore", "OPTIMIZE": "optimize", "CLONE": "clone", "TRUNCATE": "overwrite"}


@dataclass(frozen=True, slots=True)
class TableFile:
    """A data file that a commit added with dataChange. ``rows`` without those that a deletion vector hides;
    None when no number is kept."""

    path: str
    size_bytes: int
    rows: int | None
    modified_ms: int | None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """The table's own description: its id, its properties, its schema as JSON text."""

    table_id: str
    configuration: Mapping[str, str] = field(default_factory=dict)
    schema_text: str = ""


@dataclass(frozen=True, slots=True)
class CommitFile:
    """Everything that is looked at in one commit file. ``problem``: one clause when the file is not as it
    should be."""

    commit: TableCommit
    files: tuple[TableFile, ...] = ()
    removed: tuple[str, ...] = ()
    transactions: tuple[TableTransaction, ...] = ()
    metadata: TableMetadata | None = None
    all_added: tuple[TableFile, ...] = ()
    all_removed: tuple[str, ...] = ()
    cdc_files: int = 0
    problem: str | None = None


def actions(data: bytes) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The actions of a commit file in order. Raises ValueError at the first line that is no action, naming
    the line."""
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            value = orjson.loads(line)
        except ValueError:
            raise ValueError(say("delta.line_not_json", line=number)) from None
        if not isinstance(value, dict) or not value:
            raise ValueError(say("delta.line_not_action", line=number))
        for name, body in value.items():
            if isinstance(body, dict):
                yield name, body


def parse_commit(data: bytes, version: int, path: str) -> CommitFile:
    """One commit. Lines after a broken one are not used: what was read before stays, ``problem`` says where
    it broke. Never raises."""
    seen: list[tuple[str, Mapping[str, object]]] = []
    problem = None if data.strip() else "is empty"
    try:
        seen.extend(actions(data))
    except ValueError as error:
        problem = str(error)
    added = [(body, file) for name, body in seen if name == "add" and (file := table_file(body)) is not None]
    removed = [
        (body, removal)
        for name, body in seen
        if name == "remove" and (removal := text_of(body.get("path"))) is not None
    ]
    files = tuple(file for body, file in added if changes_data(body))
    removes = tuple(removal for body, removal in removed if changes_data(body))
    transactions = tuple(
        found for name, body in seen if name == "txn" and (found := transaction(body)) is not None
    )
    metadata = next(
        (
            described
            for name, body in seen
            if name == "metaData" and (described := table_metadata(body)) is not None
        ),
        None,
    )
    info = next((body for name, body in seen if name == "commitInfo"), {})
    commit = _commit(
        version, path, info, files, removes, transactions, any(name == "metaData" for name, _ in seen)
    )
    return CommitFile(
        commit,
        files,
        removes,
        transactions,
        metadata,
        tuple(file for _, file in added),
        tuple(removal for _, removal in removed),
        sum(name == "cdc" for name, _ in seen),
        problem,
    )


def _commit(
    version: int,
    path: str,
    info: Mapping[str, object],
    files: tuple[TableFile, ...],
    removes: tuple[str, ...],
    transactions: tuple[TableTransaction, ...],
    metadata_changed: bool,
) -> TableCommit:
    parameters, metrics = _object(info.get("operationParameters")), _object(info.get("operationMetrics"))
    operation = text_of(info.get("operation"))
    query_id = text_of(parameters.get("queryId")) if operation == "STREAMING UPDATE" else None
    rows = number(metrics.get("numOutputRows"))
    added_rows = total_rows(files)
    return TableCommit(
        version=version,
        timestamp_ms=number(info.get("inCommitTimestamp")) or number(info.get("timestamp")),
        operation=operation,
        kind=_kind(operation, parameters),
        query_id=query_id,
        batch_id=number(parameters.get("epochId")) if query_id is not None else None,
        rows=rows if rows is not None else added_rows,
        adds=len(files),
        add_bytes=sum(file.size_bytes for file in files),
        add_rows=added_rows,
        removes=len(removes),
        transactions=tuple((found.app_id, found.version) for found in transactions),
        metadata_changed=metadata_changed,
        path=path,
        restored_to=number(parameters.get("version")) if operation == "RESTORE" else None,
    )


def _kind(operation: str | None, parameters: Mapping[str, object]) -> str:
    if operation is None:
        return "other"
    if operation == "STREAMING UPDATE":
        return "batch"
    if operation in _KINDS:
        return _KINDS[operation]
    if operation == "WRITE" and parameters.get("mode") == "Overwrite":
        return "overwrite"
    return "replace" if operation.startswith(("CREATE OR REPLACE", "REPLACE TABLE")) else "other"


def total_rows(files: tuple[TableFile, ...]) -> int | None:
    """The rows of all files; None when one of them keeps no number."""
    counts = [file.rows for file in files]
    return None if None in counts else sum(count for count in counts if count is not None)


def changes_data(body: Mapping[str, object]) -> bool:
    """Whether an add or remove changes what the table holds; a missing mark counts as yes, as in Delta."""
    return body.get("dataChange") is not False


def table_file(body: Mapping[str, object]) -> TableFile | None:
    """The file of an ``add`` action; None when it has no path."""
    path = text_of(body.get("path"))
    if path is None:
        return None
    return TableFile(
        path,
        number(body.get("size")) or 0,
        rows_of(body.get("stats"), body.get("deletionVector")),
        number(body.get("modificationTime")),
    )


def rows_of(stats: object, deletion_vector: object) -> int | None:
    """Rows of a file by its statistics (JSON text), less those that its deletion vector hides; None when the
    number is not there."""
    try:
        fields = orjson.loads(stats) if isinstance(stats, str) else stats
    except ValueError:
        return None
    rows = number(_object(fields).get("numRecords"))
    hidden = number(_object(deletion_vector).get("cardinality"))
    return None if rows is None or rows < 0 else max(0, rows - (hidden or 0))


def transaction(body: Mapping[str, object]) -> TableTransaction | None:
    """The transaction of a ``txn`` action; None when it names no application or no version."""
    app_id, version = text_of(body.get("appId")), number(body.get("version"))
    return (
        None
        if app_id is None or version is None
        else TableTransaction(app_id, version, number(body.get("lastUpdated")))
    )


def table_metadata(body: Mapping[str, object]) -> TableMetadata | None:
    """The description of a ``metaData`` action; None when it has no id. The configuration may be a mapping or
    a list of pairs (parquet)."""
    table_id, given = text_of(body.get("id")), body.get("configuration")
    if table_id is None:
        return None
    pairs = (
        list(given.items())
        if isinstance(given, dict)
        else [p for p in given if _is_pair(p)]
        if isinstance(given, list)
        else []
    )
    return TableMetadata(
        table_id, {str(key): str(value) for key, value in pairs}, text_of(body.get("schemaString")) or ""
    )


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2


def number(value: object) -> int | None:
    """An integer, also one written as text ("10"), as in operationMetrics; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    if isinstance(value, int):
        return value
    return (
        int(value)
        if len(value) <= 19 and value.removeprefix("-").isascii() and value.removeprefix("-").isdigit()
        else None
    )


def text_of(value: object) -> str | None:
    """A text that is not empty; None for anything else."""
    return value if isinstance(value, str) and value else None


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
