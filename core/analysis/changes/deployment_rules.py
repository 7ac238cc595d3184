"""Changes around the query: trigger, names, operators, pinned settings, Spark itself, and the sink."""

from __future__ import annotations

from core.analysis.changes.asked import CHANGED, OPERATORS
from core.analysis.changes.context import AGGREGATIONS, ChangeContext
from core.analysis.changes.model import AskedChange, Judged
from core.analysis.changes.rules import Rollback
from core.analysis.forecast import Query
from core.analysis.forecast.versions import V40, V42, V43, parse_version
from core.checkpoint.state_names import plain_number

COMPACT_INTERVAL = 10  # spark.sql.streaming.fileSink.log.compactInterval


def rate_limit(c: ChangeContext, asked: AskedChange) -> Judged:
    """maxFilesPerTrigger, maxOffsetsPerTrigger and their like."""
    return c.judged(asked, "rate_limit" if c.query.pending_batch is None else "rate_limit_pending")


def trigger(c: ChangeContext, asked: AskedChange) -> Judged:
    """When batches are started. The log of continuous processing has no settings, which micro-batches need;
    that of asynchronous progress lacks batches, which they need without it."""
    kind = _trigger_kind(asked.value)
    if c.ck.is_continuous:
        rules = {"continuous": "same_value", "": "trigger_needed"}
        return c.judged(asked, rules.get(kind, "trigger_of_continuous"))
    if kind == "continuous":
        return c.judged(asked, "trigger_continuous")
    if c.ck.is_async and kind != "processing_time":
        missing = c.ck.offset_ids[-1] - 1
        if not kind:
            return c.judged(asked, "trigger_needed")
        is_there = missing < 0 or missing in c.ck.offset_ids
        return c.judged(asked, "trigger_async_open" if is_there else "trigger_async", missing=missing)
    return c.judged(asked, "trigger")


def _trigger_kind(value: str) -> str:
    """A plain word for what was said; empty where it was not said."""
    word = value.lower().replace("_", "")
    if word in ("", CHANGED):
        return ""
    if word.startswith("continuous"):
        return "continuous"
    return "available_now" if word.startswith(("availablenow", "once")) else "processing_time"


def query_name(c: ChangeContext, asked: AskedChange) -> Judged:
    """The name of the query."""
    return c.judged(asked, "query_name")


def operators(c: ChangeContext, asked: AskedChange) -> Judged:
    """Stateful operators that are added, removed or replaced: the forecast answers."""
    now = tuple(op.name or "" for op in c.query.operators)
    wanted = _wanted(asked.value, now)
    if wanted == now:
        return c.judged(asked, "same_value" if now else "no_state")
    if not c.has_run:
        return c.judged(asked, "nothing_ran")
    answer = c.forecast(Query(operators=wanted, new_data="yes"))
    if wanted:
        back: Rollback = "state_missing" if len(wanted) < len(now) else "mixed_state"
        return c.from_forecast(asked, answer, recipe="full_refresh", action="new_checkpoint", way_back=back)
    return c.from_forecast(asked, answer, recipe="drop_state", action="drop_state", way_back="state_missing")


def _wanted(value: str, now: tuple[str, ...]) -> tuple[str, ...]:
    if value in ("none", "removed"):
        return ()
    if value in ("", "changed", "replaced"):
        first = "dedupe" if now[:1] != ("dedupe",) else "stateStoreSave"
        return (first, *now[1:])
    if value == "added":
        # A new operator at the end of the plan becomes operator 0.
        return ("stateStoreSave" if "stateStoreSave" not in now else "dedupe", *now)
    by_lower = {name.lower(): name for name in OPERATORS}
    return tuple(
        by_lower.get(name.strip().lower(), name.strip()) for name in value.split(",") if name.strip()
    )


def partitions(c: ChangeContext, asked: AskedChange) -> Judged:
    """spark.sql.shuffle.partitions."""
    if c.query.partitions is None:
        return c.judged(asked, "nothing_ran")
    if plain_number(asked.value) == c.query.partitions:
        return c.judged(asked, "same_value")
    return c.judged(asked, "partitions", partitions=c.query.partitions)


def provider(c: ChangeContext, asked: AskedChange) -> Judged:
    """The state store, its changelogs, and the format of state checkpoints."""
    if not c.query.is_stateful:
        return c.judged(asked, "no_state")
    if asked.value == c.query.provider:
        return c.judged(asked, "same_value")
    if asked.value == "changelog":
        return c.judged(asked, "changelog")
    if asked.value == "checkpoint_format":
        return c.judged(asked, _format_rule(c), was=c.query.state_format)
    if asked.value == "aggregation_format":
        is_meant = bool(c.operators(*AGGREGATIONS)) or any(op.name is None for op in c.query.operators)
        return c.judged(asked, "aggregation_format") if is_meant else c.judged(asked, "no_aggregation")
    return c.judged(asked, "provider", provider=c.query.provider)


def _format_rule(c: ChangeContext) -> str:
    """spark.sql.streaming.stateStore.checkpointFormatVersion against the version of the commits (observed,
    3.5 to 4.3; the setting came with 4.0)."""
    is_new = (c.query.state_format or 1) >= 2
    if c.spark >= V43:
        return "format_kept"
    if c.spark < V40:
        return "format_refused_old" if is_new else "format_unknown"
    if c.spark < V42:
        return "format_refused"
    if is_new:
        return "format_read_fails"
    return "format_write_fails" if c.query.provider == "rocksdb" else "format_ids_refused"


def spark(c: ChangeContext, asked: AskedChange) -> Judged:
    """Another version of Spark starts the query: the forecast answers."""
    wanted = parse_version(asked.value)
    if wanted is None or wanted == c.spark:
        return c.judged(asked, "same_value")
    answer = c.forecast(Query(new_data="yes"), asked.value)
    return c.from_forecast(asked, answer, recipe=None, action="keep_spark")


def output_types(c: ChangeContext, asked: AskedChange) -> Judged:
    """The types of the columns that the sink gets."""
    rule = {
        "file": "types_in_files",
        "delta": "types_in_table",
        "kafka": "rows_from_now",
        "foreach": "types_in_code",
        "other": "types_in_code",
    }
    return c.judged(asked, rule[c.query.sink] if c.query.sink is not None else "types_no_sink")


def sink_kind(c: ChangeContext, asked: AskedChange) -> Judged:
    """Another kind of sink."""
    value = {"parquet": "file", "json": "file", "csv": "file", "orc": "file", "text": "file"}.get(
        asked.value, asked.value
    )
    if value == c.query.sink and value:
        return c.judged(asked, "same_value")
    if not c.has_run or c.query.next_batch == 0:
        return c.judged(asked, "nothing_ran")
    if value == "file":
        return _files(c, asked)
    return c.judged(asked, "sink_elsewhere" if value not in ("", "changed") else "sink_not_known")


def sink_path(c: ChangeContext, asked: AskedChange) -> Judged:
    """The same kind of sink, in another place."""
    if not c.has_run or c.query.next_batch == 0:
        return c.judged(asked, "nothing_ran")
    if c.query.sink == "file":
        return _files(c, asked)
    if c.query.sink is None:
        return c.judged(asked, "sink_not_known")
    return c.judged(asked, "sink_table_elsewhere" if c.query.sink == "delta" else "sink_elsewhere")


def _files(c: ChangeContext, asked: AskedChange) -> Judged:
    """The log of a file sink that begins in the middle cannot be read or compacted."""
    first = c.query.next_batch
    stops = first + (COMPACT_INTERVAL - 1 - first % COMPACT_INTERVAL)
    return c.judged(asked, "sink_files", stops=stops)


def sink_topic(c: ChangeContext, asked: AskedChange) -> Judged:
    """Another topic of a Kafka sink."""
    if c.query.sink not in (None, "kafka"):
        return c.judged(asked, "other_sink")
    return c.judged(asked, "sink_topic")


def foreach_code(c: ChangeContext, asked: AskedChange) -> Judged:
    """The code of foreachBatch."""
    if c.query.sink not in (None, "foreach"):
        return c.judged(asked, "other_sink")
    return c.judged(asked, "foreach_code" if c.query.pending_batch is None else "foreach_pending")
