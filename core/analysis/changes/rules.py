"""The rules as data: what each one says about a change. Their sentences stand in ``core/messages/changes.py``
under the same ids, docs/changes.md lists them.

Observed by restarting Spark 4.3 (3.5 and 4.0 to 4.2 where a version is named) with the changed query on the
checkpoint of the old one, unless a rule is ``inferred``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from core.analysis.changes.model import FailsAt, Recipe, Verdict
from core.analysis.forecast.versions import V40, V42, Version
from core.sparklogs.evidence import Certainty

KEY_SCHEMA = "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"
VALUE_SCHEMA = "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"
OUTPUT_MODE = "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"
OTHER_ARGUMENT = "STATE_STORE_INVALID_CONFIG_AFTER_RESTART"
OTHER_TABLE = "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE"

Action = Literal[
    "deploy",
    "deploy_checked",
    "new_checkpoint",
    "drop_state",
    "reset",
    "unset",
    "keep",
    "keep_spark",
    "try_copy",
    "rehearse",
    "say_more",
]
Rollback = Literal[
    "continues", "as_before", "runs_planned", "mixed_state", "state_missing", "rows_stay", "not_known"
]


@dataclass(frozen=True, slots=True)
class Rule:
    """What a rule says. ``since`` is the first version with the condition; before it the error has none."""

    verdict: Verdict
    action: Action
    rollback: Rollback
    certainty: Certainty = "certain"
    fails_at: FailsAt | None = None
    condition: str | None = None
    since: Version | None = None
    recipe: Recipe | None = None

    def condition_under(self, spark: Version) -> str | None:
        """The condition that this Spark shows."""
        return None if self.since is not None and spark < self.since else self.condition


def _fine(certainty: Certainty = "certain") -> Rule:
    return Rule("fine", "deploy", "continues", certainty)


def _but(rollback: Rollback = "continues", certainty: Certainty = "certain") -> Rule:
    return Rule("fine_but", "deploy_checked", rollback, certainty)


def _silent(certainty: Certainty = "certain", recipe: Recipe = "full_refresh") -> Rule:
    return Rule("silently_wrong", "new_checkpoint", "mixed_state", certainty, recipe=recipe)


def _schema(condition: str, certainty: Certainty = "certain") -> Rule:
    return Rule(
        "fails",
        "new_checkpoint",
        "runs_planned",
        certainty,
        fails_at="batch",
        condition=condition,
        since=V40,
        recipe="full_refresh",
    )


def _at_start(
    condition: str | None = None,
    certainty: Certainty = "certain",
    recipe: Recipe | None = "reset",
    action: Action = "reset",
    since: Version | None = None,
) -> Rule:
    return Rule(
        "fails",
        action,
        "as_before",
        certainty,
        fails_at="start",
        condition=condition,
        since=since,
        recipe=recipe,
    )


def _refused(condition: str | None, certainty: Certainty = "certain") -> Rule:
    return _at_start(condition, certainty, None, "keep", V42)


def _pinned(condition: str) -> Rule:
    return Rule("fails", "keep", "runs_planned", fails_at="batch", condition=condition)


def _open(action: Action = "try_copy") -> Rule:
    return Rule("unknown", action, "not_known", "needs_input")


RULES: Mapping[str, Rule] = {
    # cannot matter here
    "same_value": _fine(),
    "no_state": _fine(),
    "no_such_part": _fine(),
    "no_such_source": _fine(),
    "other_sink": _fine(),
    "nothing_ran": _fine("inferred"),
    # code of the query
    "rows_from_now": _fine(),
    "rows_of_pending": _but("rows_stay"),
    "after_state": _fine(),
    "filter_before_state": _but("mixed_state"),
    "projection_before_state": _fine(),
    "projection_of_keys": _but(certainty="inferred"),
    "join_columns": _schema(VALUE_SCHEMA),
    "join_columns_same_types": _silent(),
    "reader_schema_more": _fine(),
    "reader_schema_carried": _but(certainty="inferred"),
    "reader_schema_types": _open("say_more"),
    "rate_limit": _fine(),
    "rate_limit_pending": _fine(),
    "trigger": _fine(),
    "trigger_continuous": _open(),
    "trigger_of_continuous": _at_start(None, "inferred", recipe=None, action="keep"),
    "trigger_async": _at_start(None, "inferred", recipe=None, action="keep"),
    "trigger_async_open": _open(),
    "trigger_needed": _open("say_more"),
    "query_name": _fine(),
    "types_in_files": _but("rows_stay"),
    "types_in_table": _open(),
    "types_in_code": _open(),
    "types_no_sink": _open("say_more"),
    # sources
    "source_kind": _at_start(),
    "source_kind_named": _open(),
    "order_one": _fine(),
    "order_named": _fine(),
    "order_files": _at_start(),
    "order_kinds": _at_start(),
    "order_topics": Rule(
        "fails",
        "reset",
        "runs_planned",
        "inferred",
        fails_at="batch",
        condition="KAFKA_DATA_LOSS.PARTITIONS_DELETED",
        recipe="reset",
    ),
    "order_tables": _at_start(OTHER_TABLE, "inferred"),
    "order_like": _silent(recipe="reset"),
    "path_contains": _fine(),
    "path_moved": _at_start(),
    "path_table": _at_start(OTHER_TABLE),
    "path_cluster": _silent("inferred", "reset"),
    "path_other": _open(),
    "topics_needed": _open("say_more"),
    # state
    "key_same_types": _silent(),
    "key_other_types": _schema(KEY_SCHEMA),
    "aggregates_same_types": _silent(),
    "aggregates_other_types": _schema(VALUE_SCHEMA),
    "expression_same_types": _silent(),
    "expression_other_types": _schema(VALUE_SCHEMA),
    "expression_carried": _but("mixed_state", "inferred"),
    "expression_of_state": _but("mixed_state", "inferred"),
    "dedup_same_types": _silent(),
    "dedup_other_types": _schema(KEY_SCHEMA),
    "window_length": _silent(),
    "window_slide": _silent(),
    "window_slide_refused": _schema(KEY_SCHEMA),
    "session_gap": _open(),
    "no_schema": _open(),
    "user_state_types": _schema(VALUE_SCHEMA, "inferred"),
    "user_state_avro": _but("not_known", "inferred"),
    "user_state_variables": _but("not_known", "inferred"),
    "user_state_time_mode": _pinned(OTHER_ARGUMENT),
    "user_state_processor": _open("rehearse"),
    "user_state_code": _but("mixed_state", "inferred"),
    # watermark, mode, joins
    "watermark_delay": _but(),
    "watermark_column": _but(),
    "watermark_added": _but(),
    "watermark_removed": _but(),
    "watermark_removed_join": _but(),
    "watermark_removed_other": _but(),
    "watermark_needed": _refused(None, "inferred"),
    "mode_rows": _fine(),
    "mode_changed": _but("rows_stay"),
    "mode_update": _open("say_more"),
    "mode_update_lost": _silent(),
    "mode_complete_removed": _silent("inferred"),
    "mode_of_sessions": _refused(OUTPUT_MODE),
    "mode_append": _but("rows_stay"),
    "mode_append_refused": _refused(OUTPUT_MODE),
    "mode_complete_refused": _refused(OUTPUT_MODE),
    "refused_by_spark": _refused(None),
    "mode_of_files": _refused(None, "inferred"),
    "mode_of_transform": _pinned(OTHER_ARGUMENT),
    "mode_of_user_state": _open(),
    "join_type": _but("mixed_state"),
    "join_type_semi": _open("say_more"),
    "join_type_needed": _open("say_more"),
    "join_type_refused": _schema(VALUE_SCHEMA, "inferred"),
    "join_interval": _but("mixed_state"),
    # settings
    "partitions": Rule("ignored", "unset", "continues"),
    "provider": Rule("ignored", "unset", "continues"),
    "aggregation_format": Rule("ignored", "unset", "continues"),
    "no_aggregation": _fine(),
    "changelog": _fine(),
    "format_kept": Rule("ignored", "unset", "continues"),
    "format_unknown": Rule("ignored", "unset", "continues"),
    "format_refused": _at_start("INVALID_LOG_VERSION.EXACT_MATCH_VERSION", recipe=None, action="unset"),
    "format_refused_old": _at_start(None, recipe=None, action="unset"),
    "format_write_fails": Rule(
        "fails",
        "unset",
        "runs_planned",
        fails_at="batch",
        condition="CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT",
    ),
    "format_ids_refused": Rule(
        "fails",
        "unset",
        "runs_planned",
        fails_at="batch",
        condition="STATE_STORE_CHECKPOINT_IDS_NOT_SUPPORTED",
    ),
    "format_read_fails": Rule(
        "fails",
        "unset",
        "runs_planned",
        fails_at="batch",
        condition="CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE",
    ),
    # sink
    "sink_files": Rule(
        "fails",
        "reset",
        "rows_stay",
        fails_at="batch",
        condition="BATCH_METADATA_NOT_FOUND",
        recipe="reset",
    ),
    "sink_elsewhere": _but("rows_stay"),
    "sink_table_elsewhere": _but("rows_stay"),
    "sink_topic": _but("rows_stay"),
    "sink_not_known": _open("say_more"),
    "foreach_code": _but("rows_stay"),
    "foreach_pending": _but("rows_stay"),
    # answered by the forecast
    "forecast_fails": Rule("fails", "new_checkpoint", "as_before", recipe="full_refresh"),
    "forecast_risk": Rule("silently_wrong", "new_checkpoint", "mixed_state", recipe="full_refresh"),
    "forecast_runs": _fine(),
    "forecast_open": _open(),
    "forecast_remark": _but(),
}
