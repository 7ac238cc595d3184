"""Where the action of each finding leads: to a recovery option, or to a decision that only a person can make
(``DECISIONS`` in ``core/messages/findings.py``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from core.analysis.findings.model import Finding
from core.messages import say_of

Recipe = Literal[
    "restart",
    "repair_files",
    "rewind",
    "drop_state",
    "restore_backup",
    "skip_batch",
    "reset",
    "full_refresh",
    "backup_and_backfill",
]
Decision = Literal["source", "sink", "query", "spark", "loss", "files", "writers", "nothing", "outside"]


@dataclass(frozen=True, slots=True)
class Way:
    """``recipe``: the recovery option that does what the action says, as far as it is possible for the
    checkpoint. ``decides``: what a person has to decide; with both, before the option is taken."""

    recipe: Recipe | None = None
    decides: Decision | None = None


WAYS: Mapping[str, Way] = {
    "METADATA_MISSING": Way("repair_files"),
    "METADATA_UNREADABLE": Way("repair_files"),
    "OFFSETS_LOST": Way("restore_backup"),
    "OLD_FILES_BEFORE_BATCH_0": Way("restore_backup"),
    "LOG_FILE_NAME": Way("reset"),
    "LOG_FILE_UNREADABLE": Way("repair_files"),
    "LOG_VERSION_UNKNOWN": Way(decides="spark"),
    "SOURCE_COUNT": Way("reset", "query"),
    "OFFSET_GAP": Way("repair_files"),
    "SOURCE_LOG_GAP": Way("restore_backup"),
    "SOURCE_LOG_END_MISSING": Way("rewind"),
    "SOURCE_LOG_UNREADABLE": Way("rewind"),
    "SOURCE_LOG_PATH": Way("restore_backup"),
    "SOURCE_START_LOST": Way("restore_backup"),
    "SOURCE_PATH_GONE": Way(decides="source"),
    "SOURCE_PATH_MOVED": Way("reset", "source"),
    "SOURCE_OFFSET_BACKWARDS": Way("rewind"),
    "SOURCE_OFFSET_UNREADABLE": Way("rewind"),
    "FAILED_PLAN_LEFT": Way("rewind"),
    "KAFKA_TOPIC_REMOVED": Way("reset", "query"),
    "KAFKA_TOPIC_GONE": Way("reset", "source"),
    "KAFKA_PARTITIONS_GONE": Way("reset"),
    "KAFKA_RECORDS_EXPIRED": Way("reset", "loss"),
    "KAFKA_TOPIC_RECREATED": Way("reset", "source"),
    "KAFKA_TOPIC_CUT_SHORT": Way(decides="source"),
    "KAFKA_NEW_PARTITION_LATE": Way(decides="loss"),
    "DELTA_TABLE_DIFFERS": Way("full_refresh", "source"),
    "DELTA_LOG_CLEANED": Way("reset"),
    "DELTA_TABLE_OLDER": Way("full_refresh", "source"),
    "DELTA_SNAPSHOT_GONE": Way("backup_and_backfill"),
    "DELTA_LOG_GAP": Way(decides="source"),
    "DELTA_SCHEMA_WAITS": Way("full_refresh", "query"),
    "DELTA_CHANGES_WAIT": Way(decides="source"),
    "DELTA_FILES_GONE": Way("backup_and_backfill"),
    "OPERATORS_DIFFER": Way("reset", "query"),
    "JOIN_BATCH_WITHOUT_ROWS": Way(decides="query"),
    "STATE_FOLDER_MISSING": Way("restore_backup"),
    "STATE_SCHEMA_UNREADABLE": Way("restore_backup"),
    "STATE_NOT_RESTORABLE": Way("rewind"),
    "STATE_FILE_DAMAGED": Way("rewind"),
    "JOIN_STATE_INCONSISTENT": Way("rewind"),
    "STATE_CHECKSUM_MISMATCH": Way("rewind"),
    "STATE_DEFINITION_UNREADABLE": Way("restore_backup"),
    "STATE_SCHEMA_GONE": Way("repair_files"),
    "STATE_IDS_OF_ANOTHER_VERSION": Way("restore_backup"),
    "SETTINGS_CHANGED": Way("rewind"),
    "COMMIT_AHEAD": Way("repair_files"),
    "SKIPPED_BATCH_NEEDS_STATE": Way("reset", "sink"),
    "STALE_CHECKSUM_FILE": Way("repair_files"),
    "VERSION_TRAP": Way("reset", "spark"),
    "UNFINISHED_REPARTITION": Way(decides="spark"),
    "FRESH_START": Way("restore_backup"),
    "STATE_FILE_ALTERED": Way("rewind"),
    "INPUT_GONE": Way(decides="source"),
    "INPUT_CHANGED": Way(decides="source"),
    "SOURCE_WITHOUT_OFFSET": Way("rewind"),
    "SOURCE_LOG_AHEAD": Way("reset"),
    "SET_BACK": Way(decides="sink"),
    "SOURCE_LOG_BEHIND": Way("rewind"),
    "SOURCE_FILES_ELSEWHERE": Way(decides="source"),
    "SOURCE_LOG_INCOMPLETE": Way("restore_backup"),
    "KAFKA_START_LOST": Way("restore_backup"),
    "KAFKA_TOPIC_READ_AGAIN": Way(decides="sink"),
    "DELTA_ROWS_SKIPPED": Way("backup_and_backfill"),
    "DELTA_INDEX_BEYOND": Way("rewind"),
    "DELTA_OFFSET_INCOMPLETE": Way("rewind"),
    "DELTA_BACK_IN_SNAPSHOT": Way("rewind"),
    "DELTA_TABLE_REFILLED": Way(decides="source"),
    "SINK_AHEAD": Way(decides="sink"),
    "SINK_BEHIND": Way("rewind"),
    "SINK_CHANGED": Way("rewind", "sink"),
    "SINK_FORGOT_BATCH": Way(decides="sink"),
    "SINK_NEW_QUERY_ID": Way("restore_backup"),
    "SINK_LOG_HOLE": Way("full_refresh", "sink"),
    "SINK_LOG_DAMAGED": Way("full_refresh", "sink"),
    "SINK_LOG_GONE": Way("full_refresh", "sink"),
    "SINK_NEVER_WRITTEN": Way("full_refresh", "sink"),
    "SOURCES_CHANGED": Way(decides="query"),
    "STATE_DROPPED": Way(decides="query"),
    "STALE_SNAPSHOT": Way("repair_files"),
    "SNAPSHOT_DIFFERS": Way("rewind", "files"),
    "JOIN_REPARTITIONED": Way("restore_backup"),
    "ROWS_IN_WRONG_PARTITION": Way("reset", "files"),
    "WATERMARK_WENT_BACK": Way("repair_files"),
    "WATERMARK_RAISED": Way("repair_files"),
    "OFFSET_WENT_BACK": Way(decides="source"),
    "WATERMARK_AHEAD": Way("rewind", "source"),
    "STATE_SCHEMA_ELSEWHERE": Way("repair_files"),
    "FILE_NOT_READ": Way(decides="files"),
    "SINK_UNKNOWN": Way(decides="sink"),
    "SINK_NO_LOG": Way(decides="sink"),
    "KAFKA_RECORDS_EXPIRE_SOON": Way(decides="source"),
    "OFFSETS_MISSING": Way(decides="nothing"),
    "COMMITS_MISSING": Way(decides="sink"),
    "COMMIT_GAP": Way(decides="nothing"),
    "OLD_LOG_FILE_UNREADABLE": Way(decides="nothing"),
    "OPERATOR_METADATA_MISSING": Way(decides="query"),
    "OPERATOR_METADATA_UNREADABLE": Way(decides="query"),
    "STATE_SCHEMA_MISSING": Way(decides="query"),
    "TWO_WRITERS": Way(decides="writers"),
    "EXTRA_PARTITIONS": Way(decides="files"),
    "UNKNOWN_FORMAT": Way(decides="nothing"),
    "WATERMARK_STALLED": Way(decides="source"),
    "STATE_SKEWED": Way(decides="query"),
    "BATCH_PENDING_LONG": Way("restart", "query"),
    "SINK_OTHER_QUERY": Way(decides="sink"),
    "SINK_BATCH_TWICE": Way(decides="sink"),
    "SINK_BATCH_GAP": Way(decides="sink"),
    "SINK_BATCHES_SKIPPED": Way("full_refresh", "sink"),
    "SINK_FILES_GONE": Way("full_refresh", "sink"),
    "BATCHES_SLOWER": Way(decides="query"),
    "SOURCE_LAG": Way(decides="query"),
    "CHECKPOINT_INSIDE_DATA": Way(decides="query"),
    "BATCH_NOT_COMMITTED": Way("restart"),
    "STATE_OF_LATER_BATCHES": Way(decides="nothing"),
    "SOURCE_LOG_ONE_AHEAD": Way(decides="nothing"),
    "ROWS_BEFORE_LOG": Way(decides="sink"),
    "NOT_IN_USE": Way(decides="nothing"),
    "HADOOP_CHECKSUM_MISMATCH": Way(decides="files"),
    "STATE_GROWS": Way(decides="query"),
    "SHORT_RETENTION": Way(decides="query"),
    "LONG_RETENTION": Way(decides="query"),
    "LEFTOVERS": Way(decides="nothing"),
    "SINK_FILES_WITHOUT_ENTRY": Way(decides="nothing"),
    "TEMPORARY_LOCATION": Way(decides="query"),
}


def with_way(found: Finding) -> Finding:
    """The finding with the option or the decision that its action leads to. An option that is known to repair
    exactly this, or to go back to a batch before it, comes first."""
    way = WAYS[found.id]
    recipe = found.option or ("rewind" if found.rewind_to is not None else found.recipe or way.recipe)
    decides = way.decides if recipe is None or recipe == way.recipe else None
    return replace(found, recipe=recipe, decision=decision_of(decides))


def decision_of(decides: Decision | None) -> str | None:
    """What a person has to decide, as a sentence."""
    return None if decides is None else say_of("findings", "DECISIONS", decides)
