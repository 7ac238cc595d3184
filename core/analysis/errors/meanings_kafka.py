"""What the errors of Kafka's connector and client mean. What to look at and which options fit; the texts are
in ``core/messages/errors_kafka.py``."""

from __future__ import annotations

from collections.abc import Mapping

from core.analysis.errors.model import GENERAL, Kind, Meaning, RecoveryOption, meanings
from core.messages.errors_kafka import TEXTS

_LOSE: tuple[RecoveryOption, ...] = (
    "reset",
    "backup_and_backfill",
    "full_refresh",
)
_RESTART: tuple[RecoveryOption, ...] = ("restart",)

_PLAN = Kind(options=("restart", "reset"), look=("kafka", "pending"))
_SUBSCRIPTION = Kind(options=("change_query",), look=("kafka",))

KAFKA_ERRORS: Mapping[str, Meaning] = meanings(
    TEXTS,
    {
        "KAFKA_DATA_LOSS": Kind(
            options=_LOSE,
            weight=GENERAL,
            look=(
                "kafka",
                "pending",
            ),
        ),
        "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE": Kind(
            options=(
                "backup_and_backfill",
                "restart",
                "reset",
            ),
            look=(
                "kafka",
                "pending",
            ),
        ),
        "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED": Kind(
            options=(
                "repair",
                "reset",
            ),
            finding="FAILED_PLAN_LEFT",
            look=(
                "kafka",
                "pending",
            ),
        ),
        "KAFKA_DATA_LOSS.PARTITIONS_DELETED": Kind(
            options=("rewind", "change_query"),
            finding="KAFKA_TOPIC_REMOVED",
            look=(
                "kafka",
                "pending",
            ),
        ),
        "KAFKA_DATA_LOSS.PARTITIONS_DELETED_AND_GROUP_ID_CONFIG_PRESENT": Kind(
            options=("rewind", "change_query"),
            finding="KAFKA_TOPIC_REMOVED",
            look=(
                "kafka",
                "pending",
            ),
        ),
        "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO": Kind(
            options=(
                "restart",
                "backup_and_backfill",
            ),
            look=(
                "kafka",
                "pending",
            ),
        ),
        "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS": _PLAN,
        "KAFKA_DATA_LOSS.START_OFFSET_RESET": Kind(
            options=("change_query",),
            look=(
                "kafka",
                "pending",
            ),
        ),
        "KAFKA_POSITION_OUT_OF_RANGE": Kind(
            options=_LOSE,
            weight=GENERAL,
            look=(
                "kafka",
                "pending",
            ),
        ),
        "KAFKA_TOPIC_GONE": Kind(
            options=(
                "reset",
                "change_query",
            ),
            look=("kafka",),
        ),
        "KAFKA_POSITION_TIMEOUT": Kind(
            options=(
                "restart",
                "repair",
                "reset",
            ),
            look=(
                "kafka",
                "pending",
            ),
        ),
        "KAFKA_POLL_TIMEOUT": Kind(options=_RESTART, look=("kafka", "pending")),
        "KAFKA_UNREACHABLE": Kind(options=_RESTART, look=("kafka",)),
        "KAFKA_CLIENT_SETUP": Kind(options=_RESTART, weight=GENERAL, look=("kafka",)),
        "KAFKA_NOT_ALLOWED": Kind(options=_RESTART, look=("kafka",)),
        "KAFKA_START_OFFSETS_JSON": Kind(
            options=(
                "change_query",
                "reset",
            ),
            look=("sources",),
        ),
        "KAFKA_START_OFFSETS_INCOMPLETE": _SUBSCRIPTION,
        "KAFKA_START_OFFSET_NEGATIVE": Kind(
            options=(
                "change_query",
                "reset",
            ),
            look=(
                "kafka",
                "pending",
            ),
        ),
        "KAFKA_NO_OFFSET_FOR_TIMESTAMP": _SUBSCRIPTION,
        "KAFKA_START_TIMESTAMP": Kind(options=("change_query",)),
        "KAFKA_BATCH_BOUNDS": Kind(options=("change_query",)),
        "KAFKA_RECORDS_SKIPPED": Kind(options=("backup_and_backfill",), look=("kafka",)),
        "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED": _SUBSCRIPTION,
        "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED": _SUBSCRIPTION,
        "KAFKA_DATA_SOURCE_NOT_ENABLED": Kind(options=_RESTART),
        "KAFKA_NULL_TOPIC_IN_DATA": Kind(
            options=(
                "change_query",
                "restart",
            ),
            look=("pending",),
        ),
        "KAFKA_MALFORMED_RECORD_TIMESTAMP": Kind(
            options=("reset",),
            look=(
                "kafka",
                "pending",
            ),
        ),
        "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED": _PLAN,
        "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_START_OFFSET_AND_END_OFFSET": _PLAN,
        "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED": _PLAN,
        "LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW": _PLAN,
        "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_LATEST_WITH_TRIGGER_AVAILABLENOW": _PLAN,
        "RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET": _PLAN,
        "UNRESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET": _PLAN,
    },
)
