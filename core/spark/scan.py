"""What Spark does for one question. Runs in the worker process only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody writes it)
from pyspark.sql import types as T  # noqa: N812

PARTITION = "partition_id"
VIEW = "state"
FORMAT_VERSION = "spark.sql.streaming.stateStore.checkpointFormatVersion"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
# What the JSON of a row keeps: nulls, so that every row has every column.
JSON_OPTIONS = {"ignoreNullFields": "false"}

Request = dict[str, Any]


def scan(session: SparkSession, request: Request) -> dict[str, Any]:
    """One answer: columns, rows as JSON text, and how many rows and how many of each column family every
    partition has. ``session`` is this question's own: its settings are changed."""
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    if request["format_version"] != 1:
        # Set for format 1, an HDFS-backed store fails; not set for format 2, every store does.
        session.conf.set(FORMAT_VERSION, str(request["format_version"]))
    # With it, Spark 4.0 to 4.2 (as a Connect server) opens the state of a join for writing, and begins the
    # next changelog in the checkpoint that it reads (4.0.5, 4.2.0; not 4.3.0).
    session.conf.set(CHANGELOG, "false")
    if request.get("metadata"):
        frame = session.read.format("state-metadata").load(request["path"])
        return _rows(frame, request["limit"])
    frame = session.read.format("statestore").options(**request["options"]).load(request["path"])
    if "joinSide" in request["options"]:
        frame = _as_declared(frame)
    counts = {str(row[0]): row[1] for row in frame.groupBy(PARTITION).count().collect()}
    families = _families(session, request) if request["families"] else {}
    if request.get("partition") is not None:
        frame = frame.where(F.col(PARTITION) == request["partition"])
    if request.get("sql"):
        # Only names of the view lead to data: no files by path, no tables.
        session.conf.set("spark.sql.runSQLOnFiles", "false")
        frame.createOrReplaceTempView(VIEW)
        # Between parentheses only a query can stand; a command is a syntax error.
        frame = session.sql(f"SELECT * FROM (\n{request['sql']}\n)")  # noqa: S608
    return {**_rows(frame, request["limit"]), "counts": counts, "families": families}


def _as_declared(frame: DataFrame) -> DataFrame:
    """The rows of a side of a join without the mark behind their last column: Spark's reader leaves it there,
    and ``to_json`` stumbles over it (ArrayIndexOutOfBoundsException, Spark 4.3)."""
    names = frame.select("value.*").columns
    value = F.col("value")
    whole = F.struct(*[value.getField(name).alias(name) for name in names])
    return frame.withColumn("value", F.when(value.isNotNull(), whole))


def _families(session: SparkSession, request: Request) -> dict[str, dict[str, list[int]]]:
    """Of each column family by partition: its rows with every element of a list counted, and its keys."""
    kept = {k: v for k, v in request["options"].items() if k in ("operatorId", "batchId")}
    reader = session.read.format("statestore").options(**kept, _readAllColumnFamilies="true")
    frame = reader.load(request["path"])
    # The reader plans one task for each partition, in their order, and gives no partition of its own here.
    counted = frame.select(F.spark_partition_id().alias(PARTITION), "column_family_name", "key_bytes")
    rows = F.count(F.lit(1)), F.count_distinct("key_bytes")
    found: dict[str, dict[str, list[int]]] = {}
    for row in counted.groupBy(PARTITION, "column_family_name").agg(*rows).collect():
        found.setdefault(str(row[0]), {})[row[1]] = [row[2], row[3]]
    return found


def _rows(frame: DataFrame, limit: int) -> dict[str, Any]:
    columns = [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
    plain = frame.toDF(*[f"c{i}" for i in range(len(columns))])  # a query can give two columns one name
    written = [
        F.col(f"c{i}").cast(_with_text(field.dataType)).alias(f"c{i}")
        if _has_decimal(field.dataType)
        else F.col(f"c{i}")
        for i, field in enumerate(frame.schema.fields)
    ]
    if not written:
        return {"columns": [], "rows": [], "is_truncated": False}
    text = plain.select(F.to_json(F.struct(*written), JSON_OPTIONS))
    rows = [list(json.loads(row[0]).values()) for row in text.limit(limit + 1).collect()]
    return {"columns": columns, "rows": rows[:limit], "is_truncated": len(rows) > limit}


def _parts(kind: T.DataType) -> Iterator[T.DataType]:
    if isinstance(kind, T.StructType):
        yield from (field.dataType for field in kind.fields)
    elif isinstance(kind, T.ArrayType):
        yield kind.elementType
    elif isinstance(kind, T.MapType):
        yield from (kind.keyType, kind.valueType)


def _has_decimal(kind: T.DataType) -> bool:
    return isinstance(kind, T.DecimalType) or any(map(_has_decimal, _parts(kind)))


def _with_text(kind: T.DataType) -> T.DataType:
    """The same type with text in place of decimals, which JSON would make floating-point numbers of."""
    if isinstance(kind, T.DecimalType):
        return T.StringType()
    if isinstance(kind, T.StructType):
        fields = [T.StructField(f.name, _with_text(f.dataType), f.nullable) for f in kind.fields]
        return T.StructType(fields)
    if isinstance(kind, T.ArrayType):
        return T.ArrayType(_with_text(kind.elementType), kind.containsNull)
    if isinstance(kind, T.MapType):
        return T.MapType(_with_text(kind.keyType), _with_text(kind.valueType), kind.valueContainsNull)
    return kind
