"""Every finding id with its severity and the Spark from which it matters. Titles and actions are in
``core/messages/findings.py``; ``docs/findings.md`` has a section for each id, and a test keeps the three
equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.analysis.findings.model import Finding, Severity
from core.messages import Sentence, say_of
from core.sparklogs.evidence import Certainty, Evidence


@dataclass(frozen=True, slots=True)
class Entry:
    """One kind of finding. ``since``: the Spark from which it matters ("all" = every version from 3.3 on)."""

    severity: Severity
    since: str = "all"


CATALOGUE: Mapping[str, Entry] = {
    # What stops the next start
    "METADATA_MISSING": Entry("blocks_restart", "4.2 (before: a new query ID)"),
    "METADATA_UNREADABLE": Entry("blocks_restart"),
    "OFFSETS_LOST": Entry("blocks_restart"),
    "OLD_FILES_BEFORE_BATCH_0": Entry("blocks_restart", "4.1 (before: silently from scratch)"),
    "LOG_FILE_NAME": Entry("blocks_restart"),
    "LOG_FILE_UNREADABLE": Entry("blocks_restart"),
    "LOG_VERSION_UNKNOWN": Entry("blocks_restart"),
    "SOURCE_COUNT": Entry("blocks_restart"),
    "OFFSET_GAP": Entry("blocks_restart"),
    "SOURCE_LOG_GAP": Entry("blocks_restart"),
    "SOURCE_LOG_END_MISSING": Entry("blocks_restart"),
    "SOURCE_LOG_UNREADABLE": Entry("blocks_restart"),
    "SOURCE_LOG_PATH": Entry("blocks_restart"),
    "SOURCE_START_LOST": Entry("blocks_restart"),
    "SOURCE_PATH_GONE": Entry("blocks_restart"),
    "SOURCE_PATH_MOVED": Entry("blocks_restart"),
    "SOURCE_OFFSET_BACKWARDS": Entry("blocks_restart"),
    "SOURCE_OFFSET_UNREADABLE": Entry("blocks_restart"),
    "FAILED_PLAN_LEFT": Entry("blocks_restart"),
    "KAFKA_TOPIC_REMOVED": Entry("blocks_restart"),
    "KAFKA_TOPIC_GONE": Entry("blocks_restart"),
    "KAFKA_PARTITIONS_GONE": Entry("blocks_restart"),
    "KAFKA_RECORDS_EXPIRED": Entry("blocks_restart"),
    "KAFKA_TOPIC_RECREATED": Entry("blocks_restart"),
    "KAFKA_TOPIC_CUT_SHORT": Entry("blocks_restart"),
    "KAFKA_NEW_PARTITION_LATE": Entry("blocks_restart"),
    "DELTA_TABLE_DIFFERS": Entry("blocks_restart"),
    "DELTA_LOG_CLEANED": Entry("blocks_restart"),
    "DELTA_TABLE_OLDER": Entry("blocks_restart"),
    "DELTA_SNAPSHOT_GONE": Entry("blocks_restart"),
    "DELTA_LOG_GAP": Entry("blocks_restart"),
    "DELTA_SCHEMA_WAITS": Entry("blocks_restart"),
    "DELTA_CHANGES_WAIT": Entry("blocks_restart"),
    "DELTA_FILES_GONE": Entry("blocks_restart"),
    "OPERATORS_DIFFER": Entry("blocks_restart", "4.0 (before: silent or state error)"),
    "JOIN_BATCH_WITHOUT_ROWS": Entry("blocks_restart", "up to 3.5"),
    "STATE_FOLDER_MISSING": Entry("blocks_restart"),
    "STATE_SCHEMA_UNREADABLE": Entry("blocks_restart"),
    "STATE_NOT_RESTORABLE": Entry("blocks_restart"),
    "STATE_FILE_DAMAGED": Entry("blocks_restart"),
    "JOIN_STATE_INCONSISTENT": Entry("blocks_restart"),
    "STATE_CHECKSUM_MISMATCH": Entry("blocks_restart", "4.1"),
    "STATE_DEFINITION_UNREADABLE": Entry("blocks_restart", "4.0"),
    "STATE_SCHEMA_GONE": Entry("blocks_restart", "4.0"),
    "STATE_IDS_OF_ANOTHER_VERSION": Entry("blocks_restart", "4.0"),
    "SETTINGS_CHANGED": Entry("blocks_restart"),
    "COMMIT_AHEAD": Entry("blocks_restart"),
    "SKIPPED_BATCH_NEEDS_STATE": Entry("blocks_restart", "4.0"),
    "STALE_CHECKSUM_FILE": Entry("blocks_restart"),
    "VERSION_TRAP": Entry("blocks_restart"),
    "UNFINISHED_REPARTITION": Entry("blocks_restart", "4.2"),
    # What Spark accepts and the data suffers from
    "FRESH_START": Entry("data_risk"),
    "STATE_FILE_ALTERED": Entry("data_risk"),
    "INPUT_GONE": Entry("data_risk"),
    "INPUT_CHANGED": Entry("data_risk"),
    "SOURCE_WITHOUT_OFFSET": Entry("data_risk"),
    "SOURCE_LOG_AHEAD": Entry("data_risk"),
    "SET_BACK": Entry("data_risk"),
    "SOURCE_LOG_BEHIND": Entry("data_risk"),
    "SOURCE_FILES_ELSEWHERE": Entry("data_risk"),
    "SOURCE_LOG_INCOMPLETE": Entry("data_risk"),
    "KAFKA_START_LOST": Entry("data_risk"),
    "KAFKA_TOPIC_READ_AGAIN": Entry("data_risk"),
    "DELTA_ROWS_SKIPPED": Entry("data_risk"),
    "DELTA_INDEX_BEYOND": Entry("data_risk"),
    "DELTA_OFFSET_INCOMPLETE": Entry("data_risk"),
    "DELTA_BACK_IN_SNAPSHOT": Entry("data_risk"),
    "DELTA_TABLE_REFILLED": Entry("data_risk"),
    "SINK_AHEAD": Entry("data_risk"),
    "SINK_BEHIND": Entry("data_risk"),
    "SINK_CHANGED": Entry("data_risk"),
    "SINK_FORGOT_BATCH": Entry("data_risk"),
    "SINK_NEW_QUERY_ID": Entry("data_risk"),
    "SINK_LOG_HOLE": Entry("data_risk"),
    "SINK_LOG_DAMAGED": Entry("data_risk"),
    "SINK_NEVER_WRITTEN": Entry("data_risk"),
    "SINK_LOG_GONE": Entry("data_risk"),
    "SOURCES_CHANGED": Entry("data_risk"),
    "STATE_DROPPED": Entry("data_risk"),
    "STALE_SNAPSHOT": Entry("data_risk"),
    "SNAPSHOT_DIFFERS": Entry("data_risk"),
    "JOIN_REPARTITIONED": Entry("data_risk", "4.3"),
    "ROWS_IN_WRONG_PARTITION": Entry("data_risk", "3.3"),
    "WATERMARK_WENT_BACK": Entry("data_risk"),
    "WATERMARK_RAISED": Entry("data_risk"),
    "OFFSET_WENT_BACK": Entry("data_risk"),
    "WATERMARK_AHEAD": Entry("data_risk"),
    # What somebody should look at
    "FILE_NOT_READ": Entry("attention"),
    "STATE_SCHEMA_ELSEWHERE": Entry("attention", "4.0"),
    "SINK_UNKNOWN": Entry("attention"),
    "SINK_NO_LOG": Entry("attention"),
    "KAFKA_RECORDS_EXPIRE_SOON": Entry("attention"),
    "OFFSETS_MISSING": Entry("attention"),
    "COMMITS_MISSING": Entry("attention"),
    "COMMIT_GAP": Entry("attention"),
    "OLD_LOG_FILE_UNREADABLE": Entry("attention"),
    "OPERATOR_METADATA_MISSING": Entry("attention", "4.0"),
    "OPERATOR_METADATA_UNREADABLE": Entry("attention", "4.0"),
    "STATE_SCHEMA_MISSING": Entry("attention"),
    "TWO_WRITERS": Entry("attention"),
    "EXTRA_PARTITIONS": Entry("attention"),
    "UNKNOWN_FORMAT": Entry("attention"),
    "WATERMARK_STALLED": Entry("attention"),
    "STATE_SKEWED": Entry("attention"),
    "BATCH_PENDING_LONG": Entry("attention"),
    "SINK_OTHER_QUERY": Entry("attention"),
    "SINK_BATCH_TWICE": Entry("attention"),
    "SINK_BATCH_GAP": Entry("attention"),
    "SINK_BATCHES_SKIPPED": Entry("attention"),
    "SINK_FILES_GONE": Entry("attention"),
    "BATCHES_SLOWER": Entry("attention"),
    "SOURCE_LAG": Entry("attention"),
    "CHECKPOINT_INSIDE_DATA": Entry("attention"),
    "NOT_IN_USE": Entry("attention", "4.1"),
    # Notes
    "BATCH_NOT_COMMITTED": Entry("note"),
    "STATE_OF_LATER_BATCHES": Entry("note"),
    "SOURCE_LOG_ONE_AHEAD": Entry("note"),
    "ROWS_BEFORE_LOG": Entry("note"),
    "HADOOP_CHECKSUM_MISMATCH": Entry("note"),
    "STATE_GROWS": Entry("note"),
    "SHORT_RETENTION": Entry("note"),
    "LONG_RETENTION": Entry("note"),
    "LEFTOVERS": Entry("note"),
    "SINK_FILES_WITHOUT_ENTRY": Entry("note"),
    "TEMPORARY_LOCATION": Entry("note"),
}


def action_of(finding_id: str) -> Sentence:
    """What to do about a finding."""
    return say_of("findings", "ACTIONS", finding_id)


def finding(
    finding_id: str,
    sentence: str,
    *evidence: Evidence,
    certainty: Certainty = "certain",
    severity: Severity | None = None,
    batch_id: int | None = None,
    place: str | None = None,
) -> Finding:
    """A finding of the catalogue. ``severity`` is for the few whose weight depends on the Spark version.
    KeyError for an unknown id."""
    entry = CATALOGUE[finding_id]
    return Finding(
        finding_id,
        severity or entry.severity,
        certainty,
        sentence,
        evidence,
        action_of(finding_id),
        batch_id,
        place,
    )
