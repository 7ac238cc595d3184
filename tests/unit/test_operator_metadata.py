"""Operator metadata and state schemas: what Spark wrote, and each kind of damage to it."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.checkpoint.operator_metadata import (
    OperatorMetadata,
    StateSchema,
    infer_name,
    parse_operator_metadata,
    parse_schemas,
    uses_one_partition,
)
from core.sparklogs.evidence import Problem
from tests.support.build import SAMPLES

PATH = "state/0/_metadata/metadata"
V1 = (
    'v1\n{"operatorInfo":{"operatorId":0,"operatorName":"stateStoreSave"},'
    '"stateStoreInfo":[{"storeName":"default","numColsPrefixKey":0,"numPartitions":4}]}'
)
PROPERTIES = {
    "timeMode": "ProcessingTime",
    "stateVariables": [{"stateName": "cnt", "stateVariableType": "ValueState", "ttlEnabled": True}],
}
V2 = "v2\n" + json.dumps(
    {
        "operatorInfo": {"operatorId": 0, "operatorName": "transformWithStateInPandasExec"},
        "stateStoreInfo": [
            {
                "storeName": "default",
                "numColsPrefixKey": 0,
                "numPartitions": 2,
                "stateSchemaFilePaths": [
                    "file:/a/b/state/0/_stateSchema/default/0_aa",
                    "file:/a/b/state/0/_stateSchema/default/7_bb",
                ],
            }
        ],
        "operatorPropertiesJson": json.dumps(PROPERTIES),
    }
)


def metadata(text: str) -> OperatorMetadata:
    parsed = parse_operator_metadata(text.encode(), PATH)
    assert isinstance(parsed, OperatorMetadata), parsed
    return parsed


def damaged(text: str | bytes) -> Problem:
    parsed = parse_operator_metadata(text.encode() if isinstance(text, str) else text, PATH)
    assert isinstance(parsed, Problem)
    assert parsed.evidence.path == PATH
    assert parsed.reason.startswith(PATH)
    assert parsed.reason.endswith(".")
    return parsed


def column(name: str, kind: object = "long", **extra: object) -> dict[str, object]:
    return {"name": name, "type": kind, "nullable": True, "metadata": extra}


def columns(*fields: dict[str, object]) -> str:
    return json.dumps({"type": "struct", "fields": list(fields)})


def utf(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def chunks(text: str, size: int = 40) -> bytes:
    parts = [text[i : i + size] for i in range(0, len(text), size)]
    return struct.pack(">i", len(parts)) + b"".join(utf(part) for part in parts)


def schema_v2(key: str, value: str) -> bytes:
    return utf("v2") + chunks(key) + chunks(value)


def family(name: str, key: str, value: str, user_key: str = "{    }") -> bytes:
    encoder = '{"keyStateEncoderType":"NoPrefixKeyStateEncoderSpec"}'
    ids = struct.pack(">h", 0)
    return utf(name) + ids + chunks(key) + ids + chunks(value) + chunks(encoder) + chunks(user_key)


KEY, VALUE = columns(column("key", "string")), columns(column("count"))
SCHEMA_V3 = (
    utf("v3")
    + struct.pack(">i", 2)
    + family("cnt", KEY, VALUE)
    + family("mp", KEY, VALUE, user_key=columns(column("a", "string")))
)
SCHEMAS = {"v1": utf("v1") + utf(KEY) + utf(VALUE), "v2": schema_v2(KEY, VALUE), "v3": SCHEMA_V3}


def schemas(data: bytes, path: str = "state/0/0/_metadata/schema") -> tuple[StateSchema, ...]:
    parsed = parse_schemas(data, path, "default")
    assert not isinstance(parsed, Problem), parsed
    return parsed


def one(key: str, value: str) -> StateSchema:
    (schema,) = schemas(schema_v2(key, value))
    return schema


# Operator metadata


def test_version_1_names_the_operator_and_its_stores() -> None:
    parsed = metadata(V1)
    assert (parsed.operator_id, parsed.name, parsed.format_version) == (0, "stateStoreSave", 1)
    (store,) = parsed.stores
    assert (store.name, store.prefix_columns, store.partitions, store.schema_files) == ("default", 0, 4, ())
    assert parsed.properties == {}
    assert parsed.raw == V1


def test_version_2_holds_properties_and_schema_files_by_their_names() -> None:
    parsed = metadata(V2)
    assert parsed.format_version == 2
    assert parsed.stores[0].schema_files == ("0_aa", "7_bb")
    assert parsed.properties == PROPERTIES


def test_a_prerelease_of_4_0_names_one_schema_file() -> None:
    text = V1.replace(
        '"numPartitions":4', '"numPartitions":4,"stateSchemaFilePath":"file:/x/_stateSchema/default/0_cc"'
    ).replace("v1", "v2", 1)
    assert metadata(text).stores[0].schema_files == ("0_cc",)


def test_unknown_fields_do_no_harm() -> None:
    assert metadata(V1.replace('"operatorId":0', '"operatorId":0,"new":[1]')).name == "stateStoreSave"


def test_a_line_break_at_the_end_and_windows_line_ends_do_no_harm() -> None:
    assert metadata(V1 + "\n").name == "stateStoreSave"
    assert metadata(V1.replace("\n", "\r\n")).name == "stateStoreSave"


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("", "empty"),
        ("\n", "empty"),
        (V1[3:], "no_version"),
        ("v9" + V1[2:], "unknown_version"),
        (V1[:60], "truncated"),
        ("v1\n", "truncated"),
        ("v1\n{nonsense}", "bad_json"),
        ("v1\n[1]", "bad_json"),
        ("v1\n{}", "bad_json"),
        (V1.replace('"operatorName":"stateStoreSave"', '"operatorName":5'), "bad_json"),
        (V1.replace('"storeName":"default"', '"storeName":null'), "bad_json"),
        (V2.replace('"operatorPropertiesJson": "', '"operatorPropertiesJson": "['), "bad_json"),
        (b"v1\n\xff\xfe", "not_text"),
    ],
)
def test_damaged_operator_metadata_is_a_problem_and_keeps_its_bytes(
    text: str | bytes, condition: str
) -> None:
    problem = damaged(text)
    assert problem.condition == condition
    assert problem.raw == (text.encode() if isinstance(text, str) else text)


@given(st.binary(max_size=200))
def test_no_bytes_make_the_metadata_reader_fail(data: bytes) -> None:
    assert isinstance(parse_operator_metadata(b"v1\n" + data, PATH), OperatorMetadata | Problem)
    assert isinstance(parse_operator_metadata(data, PATH), OperatorMetadata | Problem)


# Schemas


@pytest.mark.parametrize("version", SCHEMAS)
def test_every_schema_version_gives_key_and_value_columns(version: str) -> None:
    schema = schemas(SCHEMAS[version])[0]
    assert schema.format_version == int(version[1])
    assert schema.key_columns == ("key",)
    assert schema.value_columns == ("count",)
    assert schema.watermark_delay_ms is None


def test_version_3_has_a_schema_for_each_column_family() -> None:
    count, mapping = schemas(SCHEMA_V3)
    assert (count.column_family, mapping.column_family) == ("cnt", "mp")
    assert count.user_key is None
    assert mapping.user_key is not None
    assert count.key_encoder == {"keyStateEncoderType": "NoPrefixKeyStateEncoderSpec"}


def test_internal_column_families_are_known_by_their_dollar() -> None:
    data = utf("v3") + struct.pack(">i", 1) + family("$procTimers_keyToTimestamp", KEY, VALUE)
    assert schemas(data)[0].is_internal
    assert not schemas(SCHEMA_V3)[0].is_internal


def test_the_watermark_delay_is_found_in_key_and_value_however_deep() -> None:
    window = {
        "type": "struct",
        "fields": [column("start", "timestamp", **{"spark.watermarkDelayMs": 600_000})],
    }
    assert one(columns(column("window", window)), VALUE).watermark_delay_ms == 600_000
    assert (
        one(KEY, columns(column("ts", "timestamp", **{"spark.watermarkDelayMs": 10_000}))).watermark_delay_ms
        == 10_000
    )


def test_modified_utf8_of_java_is_read() -> None:
    name = "\0 \U0001f600"
    raw = (
        columns(column("NAME"))
        .replace("NAME", "\\u0000 X")
        .encode()
        .replace(b"X", b"\xed\xa0\xbd\xed\xb8\x80")
    )
    data = utf("v1") + struct.pack(">H", len(raw)) + raw + utf(VALUE)
    assert schemas(data)[0].key_columns == (name,)


@pytest.mark.parametrize("version", SCHEMAS)
def test_a_schema_cut_anywhere_is_a_problem(version: str) -> None:
    data = SCHEMAS[version]
    for length in range(len(data)):
        parsed = parse_schemas(data[:length], "x", "default")
        assert isinstance(parsed, Problem)
        assert parsed.condition in ("empty", "truncated")


@pytest.mark.parametrize("version", SCHEMAS)
def test_bytes_behind_a_schema_are_a_problem(version: str) -> None:
    parsed = parse_schemas(SCHEMAS[version] + b"\0", "x", "default")
    assert isinstance(parsed, Problem)
    assert parsed.condition == "surplus_bytes"
    assert parsed.reason == "x has 1 byte after the end of the schema."


@pytest.mark.parametrize(
    ("data", "condition"),
    [
        (utf("v4") + b"\0", "unknown_version"),
        (utf("v1") + utf("{broken") + utf(VALUE), "bad_json"),
        (utf("v1") + utf("[]") + utf(VALUE), "bad_json"),
        (utf("v2") + struct.pack(">i", -1), "not_text"),
        (utf("v2") + struct.pack(">i", 2**31 - 1) + b"abc", "truncated"),
        (utf("v1") + struct.pack(">H", 2) + b"\xff\xff" + utf(VALUE), "not_text"),
    ],
)
def test_damage_inside_a_schema_is_a_problem(data: bytes, condition: str) -> None:
    parsed = parse_schemas(data, "x", "default")
    assert isinstance(parsed, Problem)
    assert parsed.condition == condition


@given(st.binary(max_size=120), st.sampled_from(["v1", "v2", "v3"]))
def test_no_bytes_make_the_schema_reader_fail(data: bytes, version: str) -> None:
    assert isinstance(parse_schemas(data, "x", "default"), tuple | Problem)
    assert isinstance(parse_schemas(utf(version) + data, "x", "default"), tuple | Problem)


@given(st.lists(st.text(min_size=1, max_size=8), max_size=4), st.integers(1, 60))
def test_column_names_survive_any_way_of_cutting_into_chunks(names: list[str], size: int) -> None:
    key = json.dumps({"type": "struct", "fields": [column(name) for name in names]})
    (schema,) = schemas(utf("v2") + chunks(key, size) + chunks(VALUE, size))
    assert schema.key_columns == tuple(names)


# Names by columns (key and value as Spark 4.3 wrote them)

NULL = column("key", "void")
NAMES = {
    "dedupe": one(KEY, columns(column("__dummy__", "void"))),
    "dedupeWithinWatermark": one(KEY, columns(column("expiresAtMicros"))),
    "flatMapGroupsWithState": one(KEY, columns(column("groupState", {"type": "struct", "fields": []}))),
    "sessionWindowStateStoreSaveExec": one(
        columns(column("key", "string"), column("sessionStartTime", "timestamp")), VALUE
    ),
    "globalLimit": one(columns(NULL), columns(column("value"))),
    "stateStoreSave": one(KEY, VALUE),
    "symmetricHashJoin": schemas(
        utf("v3") + struct.pack(">i", 1) + family("left-keyToNumValues", KEY, VALUE)
    )[0],
    "transformWithStateExec": schemas(SCHEMA_V3)[0],
}


@pytest.mark.parametrize("name", NAMES)
def test_an_operator_is_known_by_the_columns_of_its_state(name: str) -> None:
    assert infer_name([NAMES[name]]) == name


def test_without_a_schema_no_name_is_inferred() -> None:
    assert infer_name([]) is None


def test_a_limit_and_an_aggregation_without_keys_use_one_partition() -> None:
    assert uses_one_partition(None, NAMES["globalLimit"])
    assert uses_one_partition("stateStoreSave", one(columns(), VALUE))
    assert not uses_one_partition("stateStoreSave", NAMES["stateStoreSave"])
    assert not uses_one_partition("dedupe", NAMES["dedupe"])


# Real files


REAL_METADATA = sorted(
    [
        *SAMPLES.glob("*/checkpoint/state/*/_metadata/metadata"),
        *SAMPLES.glob("*/checkpoint/state/*/_metadata/v2/[0-9]*"),
    ]
)
REAL_SCHEMAS = sorted(
    [
        *SAMPLES.glob("*/checkpoint/state/*/0/**/_metadata/schema"),
        *SAMPLES.glob("*/checkpoint/state/*/_stateSchema/*/[0-9]*"),
    ]
)


@pytest.mark.parametrize("path", REAL_METADATA, ids=lambda path: str(path.relative_to(SAMPLES)))
def test_real_operator_metadata_is_read(path: object) -> None:
    parsed = metadata(path.read_text())  # type: ignore[attr-defined]
    assert parsed.name
    assert all(store.partitions for store in parsed.stores)


@pytest.mark.parametrize("path", REAL_SCHEMAS, ids=lambda path: str(path.relative_to(SAMPLES)))
def test_real_schemas_are_read_to_the_last_byte(path: object) -> None:
    for schema in schemas(path.read_bytes()):  # type: ignore[attr-defined]
        assert schema.key["type"] == "struct"
        assert schema.value["type"] == "struct"
