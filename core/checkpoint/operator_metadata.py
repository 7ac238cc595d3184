"""What Spark noted about a stateful operator: its name, its stores, and the schemas of its keys and values.
Bytes in, facts out.

Operator metadata: ``_metadata/metadata`` (version 1) and ``_metadata/v2/<batch>`` (version 2:
transformWithState, joins with column families), Spark 4.0+. Schemas: ``<partition
0>/[<store>/]_metadata/schema`` (versions 1 and 2, Spark 3.1+) and ``_stateSchema/<store>/<batch>_<uuid>``
(version 3, Spark 4.0+). All four were read from files of Spark 4.3, 1 excepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.messages import Sentence, say
from core.sparklogs.evidence import Condition, Evidence, Problem, problem
from core.sparklogs.json_text import json_trouble, parse_object
from core.sparklogs.versioned import json_object, versioned

NEWEST_METADATA_VERSION = 2

_SCHEMA_PATH = re.compile(r"/(state/[0-9]+/_stateSchema/[^/]+/[^/]+)$")

REAL_TIME_AGGREGATE = "StatefulStreamlineAggregate"
AGGREGATES = ("stateStoreSave", REAL_TIME_AGGREGATE)
"""Operators of an aggregation: of micro-batches, and of real-time mode (Spark 4.3). Either reads the state of
the other."""

_Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class StoreMetadata:
    """One store as the operator metadata names it.

    ``prefix_columns``: how many key columns form the prefix, -1 where the metadata does not say.
    ``partitions`` is never updated in version 1: after a repartition it is stale, and for a global limit it
    is the query's number although only partition 0 is used. ``schema_files`` are file names below
    ``_stateSchema/<store>/``, oldest first; Spark writes them with the checkpoint's absolute path.
    """

    name: str
    prefix_columns: int
    partitions: int | None
    schema_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OperatorMetadata:
    """One metadata file. ``properties`` is what ``operatorPropertiesJson`` holds (state variables, time mode,
    column families)."""

    operator_id: int
    name: str
    format_version: Literal[1, 2]
    stores: tuple[StoreMetadata, ...]
    properties: _Json
    evidence: Evidence
    raw: str


@dataclass(frozen=True, slots=True)
class StateSchema:
    """Key and value of one column family of one store (stores without column families have the one called
    ``default``).

    ``key`` and ``value`` are Spark's StructType as JSON. ``user_key`` is the key of a map variable.
    ``key_encoder`` says how keys are laid out (version 3 only); the ids are those of the schemas, counted up
    when a variable changes.
    """

    store: str
    column_family: str
    format_version: int
    key: _Json
    value: _Json
    evidence: Evidence
    user_key: _Json | None = None
    key_encoder: _Json = field(default_factory=dict)
    key_id: int = 0
    value_id: int = 0

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The names of the key's columns, in order."""
        return tuple(column_names(self.key))

    @property
    def value_columns(self) -> tuple[str, ...]:
        """The names of the value's columns, in order."""
        return tuple(column_names(self.value))

    @property
    def is_internal(self) -> bool:
        """Whether Spark keeps it for its own use (timers, counters); such names begin with ``$``."""
        return self.column_family.startswith("$")

    @property
    def watermark_delay_ms(self) -> int | None:
        """The delay of the watermark that a column of the key or the value carries, None when none does."""
        return next(_delays((self.key, self.value)), None)


def parse_operator_metadata(data: bytes, path: str) -> OperatorMetadata | Problem:
    """Reads a file of operator metadata; its version line decides how. Spark itself ignores a file it cannot
    read and writes a new one."""
    file = versioned(data, path, NEWEST_METADATA_VERSION)
    if isinstance(file, Problem):
        return file
    content = json_object(file.rest.strip(), path, data, 2)
    if isinstance(content, Problem):
        return content
    try:
        return _operator_metadata(content, 1 if file.version == 1 else 2, path, file.text)
    except _UnexpectedError as error:
        return problem(path, "bad_json", error.clause, data, line=2)


def parse_schemas(data: bytes, path: str, store: str) -> tuple[StateSchema, ...] | Problem:
    """Reads a schema file of any version, to its last byte: one schema for versions 1 and 2, one per column
    family for version 3."""
    if not data:
        return problem(path, "empty", say("state.schema_empty"), data)
    reader = _Reader(data)
    try:
        version = reader.utf()
        if version == "v1":
            schemas: tuple[StateSchema, ...] = (_schema(path, store, 1, reader.utf(), reader.utf()),)
        elif version == "v2":
            schemas = (_schema(path, store, 2, reader.chunks(), reader.chunks()),)
        elif version == "v3":
            schemas = tuple(_column_family(reader, path, store) for _ in range(reader.count()))
        else:
            clause = say("state.schema_unknown_version", version=version[:20])
            return problem(path, "unknown_version", clause, data)
    except _UnexpectedError as error:
        return problem(path, error.condition, error.clause, data)
    except EOFError:
        return problem(path, "truncated", say("state.schema_truncated", size_bytes=len(data)), data)
    except ValueError:
        return problem(path, "not_text", say("state.schema_not_text"), data)
    if reader.left:
        return problem(path, "surplus_bytes", say("state.schema_surplus", surplus_bytes=reader.left), data)
    return schemas


def infer_name(schemas: Iterable[StateSchema]) -> str | None:
    """The operator's name by the columns of its state, for checkpoints without operator metadata (Spark 3.1
    to 3.5), or None.

    Each stateful operator but the aggregation has columns of its own; what is left is an aggregation. Whether
    a state function was written in Scala or in Python cannot be seen.
    """
    known = list(schemas)
    if not known:
        return None
    if any(schema.column_family.startswith(("left-", "right-")) for schema in known):
        return "symmetricHashJoin"
    if known[0].format_version == 3:
        return "transformWithStateExec"
    key, value = known[0].key_columns, known[0].value_columns
    if value == ("__dummy__",):
        return "dedupe"
    if value == ("expiresAtMicros",):
        return "dedupeWithinWatermark"
    if value[:1] == ("groupState",):
        return "flatMapGroupsWithState"
    if key[-1:] == ("sessionStartTime",):
        return "sessionWindowStateStoreSaveExec"
    return "globalLimit" if _is_limit(known[0]) else "stateStoreSave"


def uses_one_partition(name: str | None, schema: StateSchema) -> bool:
    """Whether the operator keeps everything in partition 0: a global limit, or an aggregation without
    keys."""
    return name == "globalLimit" or schema.key.get("fields") == [] or _is_limit(schema)


def column_names(struct: _Json) -> list[str]:
    """The names of a StructType's columns; none for anything else."""
    return [str(field.get("name")) for field in column_fields(struct)]


def column_fields(struct: _Json) -> list[dict[str, object]]:
    """The columns of a StructType as they stand in its JSON; none for anything else."""
    fields = struct.get("fields")
    return [field for field in fields if isinstance(field, dict)] if isinstance(fields, list) else []


def _is_limit(schema: StateSchema) -> bool:
    types = [field.get("type") for field in column_fields(schema.key)]
    # NullType is written "void" since Spark 3.2 and was "null" before.
    return (
        schema.key_columns == ("key",)
        and schema.value_columns == ("value",)
        and types in (["void"], ["null"])
    )


class _UnexpectedError(Exception):
    """The JSON is valid and has another content than it should; ``clause`` follows the name of the file."""

    def __init__(self, clause: Sentence, condition: Condition = "bad_json") -> None:
        super().__init__(clause)
        self.clause = clause
        self.condition = condition


def _operator_metadata(
    content: dict[str, object], version: Literal[1, 2], path: str, raw: str
) -> OperatorMetadata:
    info, stores = content.get("operatorInfo"), content.get("stateStoreInfo")
    if (
        not isinstance(info, dict)
        or not isinstance(info.get("operatorName"), str)
        or not isinstance(info.get("operatorId"), int)
    ):
        raise _UnexpectedError(say("state.no_operator_info"))
    if not isinstance(stores, list) or not all(
        isinstance(s, dict) and isinstance(s.get("storeName"), str) for s in stores
    ):
        raise _UnexpectedError(say("state.no_store_info"))
    properties: _Json = {}
    text = content.get("operatorPropertiesJson")
    if isinstance(text, str) and text.strip():
        try:
            properties = parse_object(text)
        except ValueError:
            raise _UnexpectedError(say("state.bad_properties")) from None
    return OperatorMetadata(
        operator_id=info["operatorId"],
        name=info["operatorName"],
        format_version=version,
        stores=tuple(_store_metadata(store) for store in stores),
        properties=properties,
        evidence=Evidence(path, 2),
        raw=raw,
    )


def schema_paths(raw: str | None) -> list[str]:
    """The whole paths of the schema files that operator metadata (``raw``: its text) names; none in version
    1, and in text that is no operator metadata."""
    lines = (raw or "").split("\n")
    try:
        stores = parse_object(lines[1]).get("stateStoreInfo") if len(lines) > 1 else None
    except ValueError:
        return []
    named = (
        [store.get("stateSchemaFilePaths") for store in stores if isinstance(store, dict)]
        if isinstance(stores, list)
        else []
    )
    return [path for paths in named if isinstance(paths, list) for path in paths if isinstance(path, str)]


def split_schema_path(path: str) -> tuple[str, str]:
    """The checkpoint that the whole path of a schema file leads to, and the path below it: ``file:/ck`` and
    ``state/0/_stateSchema/default/0_a``. The second is "" for a path that is none of a schema file."""
    found = _SCHEMA_PATH.search(path)
    return (path, "") if found is None else (path[: found.start()], found[1])


def _store_metadata(store: dict[str, object]) -> StoreMetadata:
    prefix, partitions = store.get("numColsPrefixKey"), store.get("numPartitions")
    paths = store.get(
        "stateSchemaFilePaths", store.get("stateSchemaFilePath")
    )  # the second one in pre-releases of 4.0
    listed = paths if isinstance(paths, list) else [paths]
    return StoreMetadata(
        name=str(store["storeName"]),
        prefix_columns=prefix if isinstance(prefix, int) else -1,
        partitions=partitions if isinstance(partitions, int) else None,
        schema_files=tuple(p.rsplit("/", 1)[-1] for p in listed if isinstance(p, str)),
    )


def _schema(path: str, store: str, version: int, key: str, value: str) -> StateSchema:
    return StateSchema(
        store, "default", version, _struct(key, "key"), _struct(value, "value"), Evidence(path)
    )


def _column_family(reader: _Reader, path: str, store: str) -> StateSchema:
    name = reader.utf()
    key_id = reader.short()
    key = _struct(reader.chunks(), f"key of {name}")
    value_id = reader.short()
    value = _struct(reader.chunks(), f"value of {name}")
    encoder = _object(reader.chunks(), f"key encoder of {name}")
    user_key = _struct(reader.chunks(), f"user key of {name}")  # "{    }" when there is none
    return StateSchema(
        store, name, 3, key, value, Evidence(path), user_key or None, encoder, key_id, value_id
    )


def _object(text: str, part: str) -> _Json:
    try:
        return parse_object(text) if text.strip() else {}
    except ValueError:
        raise _UnexpectedError(say("state.schema_struct", part=part, clause=json_trouble(text)[1])) from None


def _struct(text: str, part: str) -> _Json:
    found = _object(text, part)
    if found and not _is_type(found):
        raise _UnexpectedError(say("state.schema_no_type", part=part), "bad_shape")
    return found


def _is_type(value: object) -> bool:
    """Whether Spark takes this for a data type: it asks for exactly these names. Names of simple types are
    not looked at."""
    if not isinstance(value, Mapping):
        return isinstance(value, str)
    if value.get("type") == "struct":
        fields = value.get("fields")
        return set(value) == {"type", "fields"} and isinstance(fields, list) and all(map(_is_field, fields))
    if value.get("type") == "array":
        return set(value) == {"type", "elementType", "containsNull"} and _is_type(value["elementType"])
    if value.get("type") == "map":
        names = {"type", "keyType", "valueType", "valueContainsNull"}
        return set(value) == names and _is_type(value["keyType"]) and _is_type(value["valueType"])
    return value.get("type") == "udt"


def _is_field(value: object) -> bool:
    if not isinstance(value, Mapping) or set(value) - {"metadata"} != {"name", "type", "nullable"}:
        return False
    return isinstance(value["name"], str) and isinstance(value["nullable"], bool) and _is_type(value["type"])


def _delays(values: Iterable[object]) -> Iterator[int]:
    for value in values:
        if isinstance(value, Mapping):
            delay = value.get("spark.watermarkDelayMs")
            if isinstance(delay, int) and not isinstance(delay, bool):
                yield delay
            yield from _delays(value.values())
        elif isinstance(value, list):
            yield from _delays(value)


class _Reader:
    """Java's DataInputStream: big-endian numbers and modified UTF-8. Raises EOFError at the end and
    ValueError on broken text."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def short(self) -> int:
        return int.from_bytes(self._take(2), "big", signed=True)

    def count(self) -> int:
        number = int.from_bytes(self._take(4), "big", signed=True)
        if number < 0:
            raise ValueError("negative count")
        if number * 2 > self.left:  # each item has at least the two bytes of its length
            raise EOFError
        return number

    def utf(self) -> str:
        data = self._take(int.from_bytes(self._take(2), "big"))
        # Modified UTF-8: NUL takes two bytes, and characters beyond the first plane are written as two
        # surrogates.
        text = data.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
        return text.encode("utf-16", "surrogatepass").decode("utf-16")

    def chunks(self) -> str:
        return "".join([self.utf() for _ in range(self.count())])

    def _take(self, length: int) -> bytes:
        if length > self.left:
            raise EOFError
        start, self._at = self._at, self._at + length
        return self._data[start : self._at]
