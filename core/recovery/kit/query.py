"""The user's own query: loaded, run to the end of its input with its real sink."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from core.recovery.kit.files import log_entries
from core.recovery.kit.run import Run
from core.recovery.kit.session import PARTITIONS_CONF, PROVIDER_CONF, check_connectors, is_another_spark
from core.recovery.kit.sink import sink_numbers
from core.recovery.kit.words import Refused, first_line, show

NO_DATA_CONF = "spark.sql.streaming.noDataMicroBatches.enabled"
OWN_WRITE = ("foreach_append", "foreach_merge", "foreach_txn", "other")
"""Sinks that the user's write_batch writes to."""


class QueryRun(Run):
    """One run of a script that runs the query too. ``sources``: per source its key, kind, directory of its
    log, name, format, path, schema, options, secrets, position, pending position and start options."""

    ending_of_3 = "The verification FAILED: do not resume the query before the cause is known."
    ending_of_5 = "Done, but NOT PROVEN: compare by hand what is NOT CHECKED above."
    ending_of_0 = "Done and proven on the rows."

    def __init__(self, script: Mapping[str, Any]) -> None:
        super().__init__(script)
        value = script.get
        self.query_file: str = value("QUERY_FILE") or ""
        self.output_mode: str = value("OUTPUT_MODE") or ""
        self.keeps_state = bool(value("KEEPS_STATE"))
        self.state_settings: dict[str, str | None] = {
            PROVIDER_CONF: value("STATE_PROVIDER"),
            PARTITIONS_CONF: value("SHUFFLE_PARTITIONS"),
        }
        self.written_by: list[str | None] = value("WRITTEN_BY") or [None, None]
        self.offset_log_version: int = value("OFFSET_LOG_VERSION") or 1
        self.accept_loss = bool(value("ACCEPT_LOSS"))
        self.is_batch_result = bool(value("RESULT_IS_BATCH_RESULT"))
        self.sink_format: str | None = value("SINK_FORMAT")
        self.partition_by: list[str] | None = value("PARTITION_BY")
        self.sink_values: dict[str, str] = value("SINK_OPTIONS") or {}
        self.sink_secrets: dict[str, str] = value("SINK_SECRETS") or {}
        self.sink_servers: str = value("SINK_SERVERS") or ""
        self.sink_topic: str = value("SINK_TOPIC") or ""
        self.accepts_plain_table = bool(value("ACCEPT_PLAIN_TABLE"))
        self.aside_checkpoint: str = value("ASIDE_CHECKPOINT") or ""
        batch = "none" if self.last_committed is None else str(self.last_committed)
        self.aside_output = self.beside_sink(f".before-refresh-batch-{batch}")
        self.backfill_path = self.beside_sink(f".backfill-batch-{batch}")
        self.is_output_kept = bool(value("REFRESH_INTO"))  # another query has written to it
        self.output: str = value("REFRESH_INTO") or self.sink_path  # where the query writes from now on
        if "NEW_SINK_PATH" in script:  # batch IDs start at 0, and the old output would skip them
            self.output = script["NEW_SINK_PATH"] or self.beside_sink(f".after-batch-{batch}")
        self.sources: list[dict[str, Any]] = sources_of(script)
        for name in ["SINK_PATH"] * (self.sink == "delta") + [
            f"SOURCE_{at}_PATH" for at, source in enumerate(self.sources) if source["kind"] == "delta"
        ]:
            if value(name) and "/" not in script[name]:
                self.missing.append(
                    f"{name}: the location of the Delta table (DESCRIBE DETAIL shows it), not its name"
                )
        self.is_with_backfill = bool(value("BACKFILL_KEYS"))
        self.module: Any = None

    def originals(self) -> list[str]:
        """The places that a rehearsal must leave as they are."""
        return [self.old_checkpoint, self.sink_path if self.sink in ("file", "delta") else ""]

    def beside_sink(self, suffix: str) -> str:
        """A name beside the output; empty where that is not known."""
        return self.sink_path and self.sink_path.rstrip("/") + suffix

    def load(self) -> None:
        """The user's own query: transform(df) for one source, transform(sources) for several; write_batch
        for a foreachBatch sink."""
        name = self.query_file
        spec = importlib.util.spec_from_file_location("recovered_query", name)
        if spec is None or spec.loader is None or not Path(name).is_file():
            raise Refused(f"QUERY_FILE {name!r} is not a Python file.")
        module = importlib.util.module_from_spec(spec)
        sys.modules["recovered_query"] = module
        writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # nothing is written beside it
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            raise Refused(f"QUERY_FILE {name!r} cannot be loaded: {type(error).__name__}: {error}") from error
        finally:
            sys.dont_write_bytecode = writes_none
        for function in ["transform"] + (["write_batch"] if self.sink in OWN_WRITE else []):
            if not callable(getattr(module, function, None)):
                raise Refused(f"QUERY_FILE {name!r} has no function {function}.")
        self.module = module

    def begin(self, spark: Any) -> None:
        """From here on there is a session, whose workers get the functions of the query by value."""
        from pyspark import cloudpickle

        by_value: Any = cloudpickle.register_pickle_by_value
        by_value(self.module)
        super().begin(spark)

    def session(self) -> Any:
        """Spark, with what the query needs."""
        spark = super().session()
        spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "10000")
        if any(source["name"] for source in self.sources):
            spark.conf.set("spark.sql.streaming.queryEvolution.enableSourceEvolution", "true")
        given = {row["key"] for row in spark.sql("SET").collect()}
        for name, pinned in self.state_settings.items():
            if pinned is not None and name not in given:
                spark.conf.set(name, pinned)
        if is_another_spark(spark.version, *self.written_by):
            by = " to ".join(dict.fromkeys(each for each in self.written_by if each is not None))
            show(
                f"This is Spark {spark.version}, and the checkpoint was written by Spark {by}"
                f"{'' if self.written_by[1] else ' or newer'}: run the script with the Spark that runs the "
                "query, which has to read what it makes."
            )
        check_connectors(spark, {source["kind"] for source in self.sources} | {self.sink})
        return spark

    def sink_options(self) -> dict[str, str]:
        """The options of the writer, with the values of its secrets."""
        return with_secrets(self.sink_values, self.sink_secrets, "sink option")


def sources_of(script: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The sources of a script, with the values that a person fills in."""
    found = []
    for at, source in enumerate(script.get("SOURCES") or []):
        given = {
            name: script[f"SOURCE_{at}_{name.upper()}"] for name in ("format", "path", "schema", "secrets")
        }
        options = dict(script[f"SOURCE_{at}_OPTIONS"])
        servers = script.get(f"SOURCE_{at}_SERVERS")
        if servers is not None:
            options["kafka.bootstrap.servers"] = servers
        found.append({**source, **given, "options": options})
    return found


def with_secrets(options: Mapping[str, str], secrets: Mapping[str, str], what: str) -> dict[str, str]:
    """Options, those that are secret from the environment."""
    found = dict(options)
    for option, variable in secrets.items():
        if variable not in os.environ:
            raise Refused(
                f"The environment variable {variable} is not set; it must contain the value of the {what} "
                f"{option}."
            )
        found[option] = os.environ[variable]
    return found


def reader_options(source: Mapping[str, Any], start: Mapping[str, str]) -> dict[str, str]:
    """The options with which a source is read."""
    return {**with_secrets(source["options"], source["secrets"], "option"), **start}


def read_stream(run: QueryRun, source: Mapping[str, Any], start: Mapping[str, str]) -> Any:
    """A source as a stream."""
    reader = run.spark.readStream.format(source["format"]).options(**reader_options(source, start))
    if source["schema"] is not None:
        reader = reader.schema(source["schema"])
    if source["name"]:
        reader = reader.name(source["name"])
    return reader.load(source["path"]) if source["path"] is not None else reader.load()


def result(run: QueryRun, frames: Mapping[str, Any]) -> Any:
    """The user's transform of these frames (by source key)."""
    return run.module.transform(next(iter(frames.values())) if len(frames) == 1 else frames)


def stream(run: QueryRun, starts: Mapping[str, Mapping[str, str]]) -> Any:
    """The query, whose sources start with these options (by source key)."""
    frames = {
        source["key"]: read_stream(run, source, starts.get(source["key"], {})) for source in run.sources
    }
    return result(run, frames)


def check_transform(run: QueryRun) -> None:
    """Refuses when the user's transform does not fit the sources: found out before anything is changed."""
    name = run.query_file
    try:
        frame = stream(run, {})
    except Refused:
        raise
    except Exception as error:
        raise Refused(
            f"transform in {name!r} failed on the sources: {type(error).__name__}: {first_line(error)}"
        ) from error
    if not hasattr(frame, "writeStream"):
        raise Refused(f"transform in {name!r} gave no DataFrame: {type(frame).__name__}.")


def app_id(frame: Any) -> Any:
    """The query id: a new one after every reset, the same for all restarts from one checkpoint."""
    return frame.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")


def run_to_the_end(run: QueryRun, frame: Any, partition_by: Sequence[str] = ()) -> None:
    """Runs the query with its real sink until all available data is read. What waits for the clock
    (timeouts, timers) makes Spark run batches without data and without end: these are left out then."""
    run.changed.append(
        f"batches of {run.new_checkpoint} may be in the sink; undo: none, run the script again to continue"
    )
    writer = frame.writeStream.option("checkpointLocation", run.new_checkpoint).outputMode(run.output_mode)
    writer = writer.trigger(availableNow=True)
    if run.sink in OWN_WRITE:
        write = run.module.write_batch
        takes_id = len(inspect.signature(write).parameters) >= 3
        writer = writer.foreachBatch(
            (lambda df, batch_id: write(df, batch_id, app_id(df))) if takes_id else write
        )
    else:
        writer = writer.format(run.sink_format).options(**run.sink_options())
        if run.sink == "kafka":
            writer = writer.option("kafka.bootstrap.servers", run.sink_servers).option(
                "topic", run.sink_topic
            )
        else:
            writer = writer.option("path", run.output)
            if partition_by:
                writer = writer.partitionBy(*partition_by)
    with without_endless_batches(run, frame):
        writer.start().awaitTermination()


@contextmanager
def without_endless_batches(run: QueryRun, frame: Any) -> Iterator[None]:
    """No batches without data for a query with timeouts or timers of processing time, which would never be
    done (seen with 4.3: availableNow plans one after the other)."""
    lines = frame._jdf.queryExecution().analyzed().toString().splitlines()
    if not any(
        re.search(r"(MapGroups|TransformWithState).*\bProcessingTime(Timeout)?\b", line) for line in lines
    ):
        yield
        return
    show(
        "The query has timeouts or timers of processing time. Batches without data would run without end and "
        "are left out here: what is due fires once the query is started again."
    )
    before = run.spark.conf.get(NO_DATA_CONF)
    run.spark.conf.set(NO_DATA_CONF, "false")
    try:
        yield
    finally:
        run.spark.conf.set(NO_DATA_CONF, before)


def partition_columns(run: QueryRun) -> list[str]:
    """How the output is partitioned, by its own log; none when it is not, or keeps no log."""
    place = run.sink_path
    if run.partition_by is not None:
        return run.partition_by
    if run.sink == "delta" and run.files.exists(f"{place}/_delta_log"):
        quoted = place.replace("`", "``")
        return list(run.spark.sql(f"DESCRIBE DETAIL delta.`{quoted}`").first()["partitionColumns"])
    numbers = sink_numbers(run.files, place) if run.sink == "file" else None
    if numbers is None:
        return []
    root = run.files.plain_path(place) + "/"
    try:
        entries = log_entries(run.files, f"{place}/_spark_metadata", max(numbers))
    except Refused:
        return directory_columns(run, place)
    for entry in entries:
        inside = entry["path"].partition(root)[2] or unquote(entry["path"]).partition(root)[2]
        return [unquote(part.partition("=")[0]) for part in inside.split("/")[:-1] if "=" in part]
    return []


def directory_columns(run: QueryRun, place: str) -> list[str]:
    """How an output is partitioned, by the names of its directories: where its log does not tell."""
    named = [name for name in run.files.directories(place) if "=" in name]
    if not named:
        return []
    return [unquote(named[0].partition("=")[0]), *directory_columns(run, f"{place}/{named[0]}")]
