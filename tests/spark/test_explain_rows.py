"""A row that a query cannot process: the error that Spark raises, as it is pasted, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from core.analysis.errors import explain
from core.checkpoint import Checkpoint

pytestmark = pytest.mark.spark

ROWS = {
    "CAST_INVALID_INPUT": "cast(value as bigint)",
    "DIVIDE_BY_ZERO": "1 / length(regexp_replace(value, '.', ''))",
    "REMAINDER_BY_ZERO": "7 % length(regexp_replace(value, '.', ''))",
    "BINARY_ARITHMETIC_OVERFLOW": "cast(length(value) + 120 as tinyint) + cast(100 as tinyint)",
    "ARITHMETIC_OVERFLOW": "9223372036854775807L + length(value)",
    "CAST_OVERFLOW": "cast(length(value) + 1000 as tinyint)",
    "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION": "cast(length(value) * 1000000 as decimal(3, 1))",
    "CANNOT_PARSE_TIMESTAMP": "to_timestamp(value, 'yyyy-MM-dd')",
    "INVALID_ARRAY_INDEX": "split(value, ',')[9]",
    "INVALID_ARRAY_INDEX_IN_ELEMENT_AT": "element_at(split(value, ','), 9)",
    "NULL_MAP_KEY": "map(nullif(value, value), 1)",
    "DUPLICATED_MAP_KEY": "map(value, 1, value, 2)",
    "INVALID_URL": "parse_url(concat('http://', value, ' x y'), 'HOST')",
    "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION": "from_json(value, 'a int', map('mode', 'FAILFAST'))",
    "USER_RAISED_EXCEPTION": "raise_error(value)",
}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_stops_the_batch_is_explained_with_what_to_do(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    source, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    source.mkdir()
    (source / "1.txt").write_text("abc,{\n", encoding="utf-8")
    rows = spark.readStream.text(str(source)).selectExpr(f"{ROWS[name]} as x")
    query = (
        rows.writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
    ).start()
    with pytest.raises(StreamingQueryException) as raised:
        query.awaitTermination()
    answer = explain(str(raised.value), Checkpoint.open(str(checkpoint)))
    assert (answer.name, answer.options) == (name, ("change_query", "skip_batch"))
    assert any("Batch 0 is not committed" in fact.sentence for fact in answer.here)
