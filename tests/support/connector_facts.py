"""What was observed with a real Kafka broker and real Delta tables, one label per observation: every label is
tried with the real engine, or stands in `docs/forecast.md` as not judged.

"KF": a query that reads Kafka starts again. "DF": one that reads or writes Delta. A test is named by its file and
its function, or by the name of its case.
"""

from __future__ import annotations

import re
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / "docs" / "forecast.md"
ROW = re.compile(r"^\| ((?:KF|DF) [\w.]+) \|", re.MULTILINE)

_PROOF = "tests/kafka/test_forecast_proof.py::"
_ORACLE = "tests/spark/test_oracle_kafka.py::"
_REPAIRS = "tests/kafka/test_repairs.py::"
_SOURCES = "tests/delta/test_sources.py::"
_SINKS = "tests/delta/test_sinks.py::"

KAFKA: dict[str, tuple[str, str | None]] = {
    "KF 2.1": ("pending batch, more data since", f"{_PROOF}planned_and_more_data"),
    "KF 2.2": (
        "crash after the sink got the rows",
        "tests/kafka/test_killed_query.py::test_a_killed_query_on_a_shortened_topic_is_told_and_brought_back",
    ),
    "KF 2.3": ("committed, the log start above the position", f"{_PROOF}expired"),
    "KF 2.4": ("the same with failOnDataLoss=false", f"{_PROOF}expired_allowed"),
    "KF 2.5": ("pending batch, its range partly expired", f"{_PROOF}planned_partly_expired"),
    "KF 2.6": ("the same with failOnDataLoss=false", f"{_PROOF}planned_partly_expired_allowed"),
    "KF 2.7": ("pending batch, its range wholly expired", f"{_PROOF}planned_wholly_expired"),
    "KF 2.8": ("the same with failOnDataLoss=false", f"{_PROOF}planned_wholly_expired_allowed"),
    "KF 2.9": ("the log start is the position", f"{_PROOF}log_start_at_the_position"),
    "KF 2.10": ("everything expired, no new data", f"{_PROOF}all_expired"),
    "KF 2.11": ("partitions added", f"{_PROOF}partitions_added"),
    "KF 2.12": ("partitions added, startingOffsets=latest", f"{_PROOF}partitions_added_latest"),
    "KF 2.13": ("an added partition that no longer begins at 0", f"{_PROOF}added_partition_late"),
    "KF 2.14": ("the same with failOnDataLoss=false", f"{_PROOF}added_partition_late_allowed"),
    "KF 2.15": ("topic deleted", f"{_PROOF}topic_deleted"),
    "KF 2.16": ("topic deleted, failOnDataLoss=false does not help", f"{_PROOF}topic_deleted_allowed"),
    "KF 2.17": ("one of two topics deleted", f"{_PROOF}one_of_two_topics_deleted"),
    "KF 2.18": ("pending batch, topic deleted", f"{_PROOF}planned_topic_deleted"),
    "KF 2.19": ("recreated, its end below the position", f"{_PROOF}anew_and_shorter"),
    "KF 2.20": ("the same with failOnDataLoss=false", f"{_PROOF}anew_and_shorter_allowed"),
    "KF 2.21": ("recreated, its end at the position", f"{_PROOF}anew_and_as_long"),
    "KF 2.22": ("recreated, its end above the position", f"{_PROOF}anew_and_longer"),
    "KF 2.23": ("recreated with fewer partitions", f"{_PROOF}anew_with_fewer_partitions"),
    "KF 2.24": ("pending batch, recreated, its end below the range", f"{_PROOF}planned_anew_and_shorter"),
    "KF 2.25": (
        "pending batch, recreated, its end inside the range",
        f"{_PROOF}planned_anew_inside_the_plan",
    ),
    "KF 2.26": ("subscribe: a topic added", f"{_PROOF}topic_added"),
    "KF 2.27": ("subscribe: an added topic that no longer begins at 0", f"{_PROOF}topic_added_late"),
    "KF 2.28": ("subscribe: a topic removed", f"{_PROOF}topic_removed"),
    "KF 2.29": ("the same with failOnDataLoss=false", f"{_PROOF}topic_removed_allowed"),
    "KF 2.30": ("subscribe: a topic replaced", f"{_PROOF}topic_replaced"),
    "KF 2.31": ("a removed topic added back", f"{_PROOF}topic_added_back"),
    "KF 2.32": (
        "pending batch of two topics, the query now reads one",
        f"{_PROOF}topic_removed_while_planned",
    ),
    "KF 2.33": ("assign: partitions added or taken away", None),
    "KF 2.34": ("startingOffsets or startingTimestamp changed", f"{_PROOF}partitions_added_latest"),
    "KF 2.35": ("startingOffsets that is no JSON", None),
    "KF 2.36": (
        "two unnamed sources that changed places",
        "tests/unit/test_kafka_forecast.py::test_two_sources_that_changed_places_read_both_topics_again",
    ),
    "KF 2.37": ("two unnamed sources joined into one", None),
    "KF 2.38": ("named sources: other order, renamed, exchanged", None),
    "KF 2.39": (
        "subscribePattern, a topic deleted",
        f"{_REPAIRS}test_a_pattern_leaves_a_deleted_topic_out_and_misses_its_partitions",
    ),
    "KF 3.1": (
        "the plan of a failed start: a topic left out",
        f"{_PROOF}plan_of_a_failed_start_without_a_topic",
    ),
    "KF 3.2": (
        "the plan of a failed start: an end below the position",
        f"{_PROOF}plan_of_a_failed_start_lower",
    ),
    "KF 3.3": (
        "that plan left out, the old query again",
        f"{_REPAIRS}test_a_topic_that_was_left_out_once_goes_on_exactly_after_the_option_that_is_named",
    ),
    "KF 3.4": (
        "a recreated topic, read from its first record",
        f"{_REPAIRS}test_a_recreated_topic_is_read_from_its_first_record_by_the_option_that_is_named",
    ),
    "KF 4.1": ("sources/0/0 missing, a later batch", f"{_ORACLE}start_of_batch_0_missing_later"),
    "KF 4.2": ("sources/0/0 cut, a later batch", f"{_ORACLE}start_of_batch_0_cut_later"),
    "KF 4.3": ("sources/0/0 missing, batch 0 pending", f"{_ORACLE}batch_0_pending_and_its_start_missing"),
    "KF 4.4": ("sources/0/0 with other offsets, batch 0 pending", None),
    "KF 5.1": ("the broker's name does not resolve", None),
    "KF 5.2": ("the broker does not answer", None),
    "KF 6.1": ("transactions: fewer rows than offsets", None),
    "KF 6.2": (
        "a compacted topic: fewer rows than offsets, a re-run with fewer rows",
        f"{_REPAIRS}test_a_compacted_topic_with_a_gap_at_the_position_is_no_loss",
    ),
    "KF 7.1": ("a named source left out for one batch, for three", None),
    "KF 7.2": ("offset log 2 without names", None),
}
DELTA: dict[str, tuple[str, str | None]] = {
    "DF 3.1": ("committed", f"{_SOURCES}test_an_untouched_pipeline_goes_on_and_copies_what_waits"),
    "DF 3.2": ("pending", f"{_SOURCES}test_a_pending_batch_runs_again_with_its_own_range"),
    "DF 3.3": (
        "the log is needed from the position before the newest batch",
        f"{_SOURCES}test_a_log_cleaned_below_the_position_before_the_newest_batch_stops_it",
    ),
    "DF 3.4": (
        "cleaned, failOnDataLoss=false",
        f"{_SOURCES}test_without_fail_on_data_loss_the_end_of_that_range_is_still_missed",
    ),
    "DF 3.5": (
        "cleaned, failOnDataLoss=false, the version of the position is there",
        f"{_SOURCES}test_without_fail_on_data_loss_the_version_of_the_position_is_enough_to_go_on",
    ),
    "DF 3.6": (
        "batch 0 committed, its start version cleaned",
        f"{_SOURCES}test_batch_0_with_a_start_version_that_is_gone_stops_it",
    ),
    "DF 3.7": (
        "batch 0 committed without a start option, its snapshot gone",
        f"{_SOURCES}test_batch_0_without_a_start_option_needs_its_snapshot",
    ),
    "DF 3.8": (
        "inside the first snapshot, that version gone",
        f"{_SOURCES}test_a_first_snapshot_that_cannot_be_rebuilt_stops_it_whatever_fail_on_data_loss_says",
    ),
    "DF 3.9": (
        "a new checkpoint, startingVersion below the oldest commit",
        "tests/delta/test_resume.py::test_a_version_that_is_gone_is_refused_and_the_nearest_start_loses_what_is_said",
    ),
    "DF 3.10": ("table deleted and recreated", f"{_SOURCES}test_a_table_that_was_made_anew_is_another_table"),
    "DF 3.11": (
        "the id in the offsets edited",
        f"{_SOURCES}test_another_table_is_noticed_at_the_start_behind_two_equal_offsets_too",
    ),
    "DF 3.12": ("an older copy of the table", f"{_SOURCES}test_an_older_copy_of_the_table_stops_it"),
    "DF 3.13": (
        "an older copy filled up again",
        f"{_SOURCES}test_an_older_copy_that_was_filled_up_again_loses_rows_and_is_recognised_by_its_times",
    ),
    "DF 3.14": (
        "CREATE OR REPLACE TABLE on the source",
        f"{_SOURCES}test_create_or_replace_gives_the_source_a_new_id",
    ),
    "DF 3.15": (
        "a hole in the log, no log checkpoint",
        f"{_SOURCES}test_a_hole_in_the_log_without_a_log_checkpoint_stops_even_the_load",
    ),
    "DF 3.16": ("table or path gone", None),
    "DF 3.17": ("a commit that only removes", f"{_SOURCES}test_deleted_rows_stop_the_next_batch"),
    "DF 3.18": (
        "a commit that removes and adds",
        f"{_SOURCES}test_a_commit_that_takes_rows_away_stops_a_caught_up_query",
    ),
    "DF 3.19": ("ignoreDeletes, skipChangeCommits", f"{_SOURCES}test_an_option_lets_such_a_commit_pass"),
    "DF 3.20": ("ignoreChanges delivers rewritten files again", None),
    "DF 3.21": ("OPTIMIZE of the source", f"{_SOURCES}test_compaction_of_the_source_is_passed_over"),
    "DF 3.22": (
        "startingVersion changed, a committed batch",
        f"{_SOURCES}test_a_start_version_of_today_moves_no_position",
    ),
    "DF 3.23": ("startingVersion changed, batch 0 pending", None),
    "DF 3.24": ("a data file of the pending batch gone", None),
    "DF 3.25": (
        "sourceVersion 4 in the offset",
        f"{_SOURCES}test_a_source_version_that_no_delta_wrote_stops_it",
    ),
    "DF 3.26": ("index beyond the commit", f"{_SOURCES}test_an_index_beyond_the_commit_skips_the_rest_of_it"),
    "DF 3.27": ("version beyond the table", f"{_SOURCES}test_a_position_far_beyond_the_table_stops_it"),
    "DF 3.28": (
        "isStartingVersion set",
        f"{_SOURCES}test_a_position_set_back_into_the_snapshot_reads_it_again",
    ),
    "DF 3.29": (
        "isStartingVersion missing, index -100",
        f"{_SOURCES}test_fields_that_delta_fills_in_itself_change_nothing",
    ),
    "DF 3.30": ("sources/ missing or junk", f"{_SOURCES}test_a_sources_folder_means_nothing_to_delta"),
    "DF 3.31": ("a column added, renamed, dropped", f"{_SOURCES}test_a_renamed_column_stops_every_start"),
    "DF 3.32": (
        "versions gone behind the position, failOnDataLoss=false",
        f"{_SOURCES}test_versions_that_wait_and_are_gone_are_lost_without_fail_on_data_loss",
    ),
    "DF 3.33": (
        "the change data feed at the last index of a commit",
        "tests/delta/test_resume.py::test_an_exact_start_repeats_and_loses_nothing",
    ),
    "DF 4.1": ("the newest commit missing", f"{_SINKS}test_a_pending_batch_that_is_in_the_table_is_skipped"),
    "DF 4.2": (
        "the last two commits missing",
        f"{_SINKS}test_with_the_last_two_commits_missing_only_the_newest_batch_runs_again",
    ),
    "DF 4.3": (
        "checkpoint deleted, from the beginning or at the exact version",
        "tests/delta/test_prices.py::test_the_stated_price_is_what_is_counted_afterwards",
    ),
    "DF 4.4": (
        "checkpoint deleted, metadata kept, cut as before",
        f"{_SINKS}test_an_emptied_checkpoint_with_the_old_id_is_skipped_and_lucky_when_cut_as_before",
    ),
    "DF 4.5": (
        "checkpoint deleted, metadata kept, cut otherwise",
        f"{_SINKS}test_an_emptied_checkpoint_with_the_old_id_loses_new_rows_when_cut_otherwise",
    ),
    "DF 4.6": (
        "checkpoint deleted, metadata kept, exact version",
        f"{_SINKS}test_an_emptied_checkpoint_with_the_old_id_loses_new_rows_at_the_exact_start_too",
    ),
    "DF 4.7": (
        "rolled back, cut as before",
        f"{_SINKS}test_a_rewound_checkpoint_is_skipped_and_lucky_when_cut_as_before",
    ),
    "DF 4.8": (
        "rolled back or an older backup, cut otherwise",
        f"{_SINKS}test_a_rewound_checkpoint_loses_rows_when_cut_otherwise",
    ),
    "DF 4.9": ("rolled back with a new id", f"{_SINKS}test_a_rewound_checkpoint_with_a_new_id_repeats"),
    "DF 4.10": (
        "RESTORE of the table",
        f"{_SINKS}test_a_restored_table_has_lost_rows_although_its_number_is_right",
    ),
    "DF 4.11": (
        "RESTORE and a roll-back, the same id",
        f"{_SINKS}test_a_restored_table_and_a_rewound_checkpoint_with_the_old_id_lose_rows",
    ),
    "DF 4.12": (
        "RESTORE and a roll-back, a new id",
        f"{_SINKS}test_a_restored_table_and_a_rewound_checkpoint_with_a_new_id_are_exact",
    ),
    "DF 4.13": (
        "table folder removed",
        f"{_SINKS}test_a_table_that_was_made_anew_holds_no_batch_and_the_rows_stay_missing",
    ),
    "DF 4.14": (
        "overwrite, DELETE, OPTIMIZE, CREATE OR REPLACE of the table",
        f"{_SINKS}test_the_batch_number_survives_what_others_do_to_the_table",
    ),
    "DF 4.15": (
        "foreachBatch with a transaction id",
        f"{_SINKS}test_a_foreach_batch_with_a_transaction_id_is_recognised_by_the_query_id_only",
    ),
    "DF 4.16": ("foreachBatch without one; MERGE that counts", None),
    "DF 4.17": ("complete mode", f"{_SINKS}test_a_pending_batch_of_a_complete_mode_query_is_skipped"),
    "DF 4.18": ("two queries into one table", f"{_SINKS}test_two_queries_into_one_table_are_counted_apart"),
    "DF 4.19": (
        "the retention of transactions passed",
        f"{_SINKS}test_an_expired_transaction_is_written_again",
    ),
    "DF 4.20": (
        "SHALLOW CLONE, CREATE TABLE AS SELECT as the new sink",
        f"{_SINKS}test_a_copy_by_sql_knows_no_batch_and_gets_the_pending_one_again",
    ),
    "DF 4.21": (
        "log checkpoints of every form, older commits gone",
        f"{_SINKS}test_the_batch_number_is_found_in_every_form_of_log_checkpoint",
    ),
    "DF 4.22": (
        "a stateful query older than its table",
        f"{_SINKS}test_a_stateful_query_whose_backup_is_older_than_the_table_fails_after_the_skipped_batches",
    ),
    "DF 4.23": (
        "an older copy of the sink",
        f"{_SINKS}test_an_older_copy_of_the_table_misses_committed_batches",
    ),
}
ROWS = {**KAFKA, **DELTA}


def not_judged() -> list[str]:
    """The labels that the page lists as not judged, in its order."""
    return ROW.findall(PAGE.read_text(encoding="utf-8"))
