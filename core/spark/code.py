"""The PySpark script of a question, to take along: the same reader, options and query, against the place of
the checkpoint itself. The app never runs it."""

from __future__ import annotations

from core.checkpoint import Checkpoint
from core.checkpoint.asked import find_operator
from core.checkpoint.model import OperatorState
from core.messages import say
from core.recovery.quoting import python_literal
from core.spark.question import SQL_VIEW, StateQuestion, reader_options, writes_before_4_3
from core.spark.staging import needs_prefix
from core.storage import Location

_FORMAT_VERSION = "spark.sql.streaming.stateStore.checkpointFormatVersion"
_CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


def question_code(ck: Checkpoint, question: StateQuestion) -> str:
    """A Python script that asks ``question`` and prints the rows; it runs as it is where PySpark of the same
    version is installed. Raises UsageError for a question that cannot be asked."""
    operator = find_operator(ck, question.operator)
    options = {} if question.metadata else reader_options(operator, question)
    lines = [*_head(ck, operator, question), "from pyspark.sql import SparkSession", ""]
    if question.partition is not None:
        lines[-1:] = ["from pyspark.sql import functions as F", ""]
    lines += ["spark = SparkSession.builder.getOrCreate()"]
    lines += [f"spark.streams.active  # {say('spark.code_coordinator')}"]
    lines += ['spark.conf.set("spark.sql.session.timeZone", "UTC")']
    if operator.format_version != 1 and not question.metadata:
        version = python_literal(str(operator.format_version))
        lines += [f"spark.conf.set({python_literal(_FORMAT_VERSION)}, {version})"]
    if "joinSide" in options:
        lines += [
            f"# {say('spark.code_changelog')}",
            f'spark.conf.set({python_literal(_CHANGELOG)}, "false")',
        ]
    if writes_before_4_3(operator, question):
        lines += [
            'if spark.version.startswith(("4.0.", "4.1.", "4.2.")):',
            f"    raise SystemExit({python_literal(say('spark.side_writes'))})",
        ]
    reader = "state-metadata" if question.metadata else "statestore"
    lines += ["", "state = (", f'    spark.read.format("{reader}")']
    lines += [
        f"    .option({python_literal(key)}, {python_literal(value)})" for key, value in options.items()
    ]
    lines += [f"    .load({python_literal(spark_place(ck))})", ")"]
    if question.partition is not None:
        lines += [f'state = state.where(F.col("partition_id") == {question.partition})']
    if question.sql is not None:
        lines += [f"state.createOrReplaceTempView({python_literal(SQL_VIEW)})"]
        lines += [f"rows = spark.sql({python_literal(question.sql)})"]
    else:
        lines += ["rows = state"]
    return "\n".join([*lines, f"rows.show({question.limit}, truncate=False)", ""])


def spark_place(ck: Checkpoint) -> str:
    """The location of a checkpoint as Spark writes it."""
    return place_for_spark(ck.location)


def place_for_spark(location: Location) -> str:
    """A location as Spark writes it: Hadoop's names of the stores."""
    if location.is_local:
        return location.path
    scheme = {"s3": "s3a", "abfs": "abfss"}.get(location.protocol, location.protocol)
    return f"{scheme}://{location.url.partition('://')[2]}"


def _head(ck: Checkpoint, operator: OperatorState, question: StateQuestion) -> list[str]:
    head = [say("spark.code_purpose", operator_id=operator.operator_id, batch_id=question.batch_id)]
    if not ck.location.is_local:
        head.append(say("spark.code_store"))
    if needs_prefix(ck, operator):
        head.append(say("spark.code_moved"))
    return [f"# {line}" for line in head]
