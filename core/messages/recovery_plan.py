"""The steps of a recovery plan: what to do (without an ending) and why (ending in _why)."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # start it again
    "restart": "Start the query as it was: the same code, the same options, the same checkpoint location.",
    "restart_changed": (
        "Start the changed query: the same sources in the same order, the same stateful operators, the same"
        " checkpoint location."
    ),
    "restart_why": "Nothing has to be copied, changed or deleted.",
    "watch": "Watch the first batch: it is batch {batch}.",
    "watch_any": "Watch the first batch.",
    "watch_why": "If it fails, paste the error into the error translator with this checkpoint.",
    # before everything
    "stop": "Stop the query and switch off automatic restarts.",
    "stop_why": (
        "The plan was made for batch {batch}, the last committed one; the script refuses if the query has"
        " run since."
    ),
    "stop_running_why": (
        "Batch {batch} was planned moments ago, so it may be running. Two queries on one checkpoint overwrite"
        " each other's files."
    ),
    "stop_lost_why": (
        "Without the checkpoint the script cannot see whether the query still runs: it asks for"
        " --query-is-stopped."
    ),
    "copy": "Copy the checkpoint to a new location and compare the names and sizes of all files.",
    "copy_why": "Nothing is deleted, so the old checkpoint can be restored.",
    "restart_pipeline": "Start the pipeline again as it was.",
    # a flow of a declarative pipeline
    "stop_pipeline": "Stop the pipeline.",
    "stop_pipeline_why": "Two runs at once would write to the same table.",
    "copy_table": "Copy the table {table}, unless it is certain that the source still has everything.",
    "copy_table_why": "The full refresh empties it: rows that the source no longer has are gone.",
    "flow_refresh": "Run spark-pipelines run --full-refresh {table}.",
    "flow_refresh_why": (
        "It empties the table and reads the source from the beginning, with a new checkpoint, {place}."
        " This one stays where it is, and no start uses it any more."
    ),
    "verify_table": "Compare the table with a batch query over all input.",
    # start options
    "ask_broker": "Ask the broker whether the positions are still there.",
    "ask_broker_why": (
        "Expired records, recreated topics and new partitions are found before anything is written."
    ),
    "start_empty": "Start the query with an empty checkpoint where the last committed batch ended.",
    # a seeded checkpoint
    "compare_sink": "Check whether the sink is ahead of the checkpoint.",
    "compare_sink_why": "A sink that skips committed batch IDs would skip new rows or receive rows twice.",
    "write_seeded": "Write a new checkpoint that resumes at the last committed position.",
    "next_batch": "The next batch is {batch}, so no batch ID is used twice.",
    "pending_carried_over": (
        "Batch {batch} is carried over with its planned end offsets: a sink that has it skips it, any"
        " other sink writes it."
    ),
    "query_id_kept": "The query id is kept, because the sink recognizes batches by it.",
    "run_seeded": "Run the query until everything is read.",
    "run_seeded_why": "Its sink and its output stay the same.",
    # state
    "write_batch_0": "Write a new checkpoint whose batch 0 is planned to end at the last committed position.",
    "write_batch_0_why": "It covers exactly the old data and not one record more.",
    "warm_up": "Run batch 0 into the noop sink.",
    "warm_up_why": "It builds the state from {amount}; nothing is written.",
    "warm_up_all_why": "It builds the state from the old data; nothing is written.",
    "mark_read": "Run batch 0 into the noop sink without a single row.",
    "mark_read_why": "The old data counts as read; the state starts empty.",
    "closing": "Run batch 1, without data, into the noop sink.",
    "closing_why": (
        "It runs with the watermark of batch {batch}: what that batch had closed is closed in the new state"
        " too and is not emitted again."
    ),
    "new_directory": "Use a new output directory.",
    "new_directory_why": "Batch IDs start at 0 again, and the old output would skip them silently.",
    "run_real": "Run the query with its real sink until everything is read.",
    # full refresh
    "compare_source": "Compare what was read with what the source still has.",
    "compare_source_backfill_why": "Rows that are gone at the source come from the backup.",
    "compare_source_why": "What is gone would be lost; the script then refuses and reports it.",
    "rename": "Rename the old output, then the old checkpoint.",
    "rename_why": "Both are kept; a new output and a new query id belong together.",
    "leave_output": "Leave the output as it is, and rename the old checkpoint.",
    "leave_output_why": (
        "Another query, or an earlier checkpoint, has written to it too. The rows go to {place}: let your"
        " query write there, and tell its readers."
    ),
    "rename_output": "Rename the old output.",
    "rename_output_why": (
        "It is kept. Whether the source still has everything that was ever read, nothing can tell without the"
        " checkpoint."
    ),
    "absolute_paths": (
        "The file sink log has absolute paths, so Spark reads the renamed output only when it ignores that"
        " log."
    ),
    "run_earliest": "Run the query with a new checkpoint from the earliest position.",
    "backfill": "Put back the rows that only the old output has.",
    "backfill_newer_why": "One row per key, and only where the old row is newer.",
    "backfill_missing_why": "Only rows whose key is not in the new output.",
    # Lakeflow
    "deploy": "Deploy the flow's code with the start position first.",
    "deploy_why": "The reset starts an update at once.",
    "stop_update": "Stop the running update.",
    "stop_update_why": "While one is active, the call fails.",
    "start_update": "Start an update with reset_checkpoint_selection.",
    "start_update_why": (
        "The flow gets a new checkpoint, and the table keeps its rows. The other flows of the pipeline run in"
        " the same update."
    ),
    "clone": "Make a full copy of each table.",
    "clone_why": "The refresh empties them; rows that the source no longer has are then only in the copy.",
    "deploy_backfill": "Deploy the backfill flow.",
    "deploy_backfill_why": "It runs once in the refresh and adds the rows that only the copy has.",
    "validate": "Check the selection with validate_only.",
    "validate_why": "A name that is not known is found before anything is reset or emptied.",
    "refresh_update": "Start an update with full_refresh_selection.",
    "refresh_update_why": (
        "It empties the tables and recomputes them from the source. A table with the property"
        " pipelines.reset.allowed=false is not emptied."
    ),
    "wait_refresh_why": "Until then readers see tables that are not complete.",
    "wait": "Wait until the update is completed, and compare the counts.",
    "wait_why": "The start position applies to the new checkpoint only.",
    # at the end
    "verify_refresh": "Compare the new output with a batch query over all input.",
    "verify_refresh_why": "For a query with a watermark only the batches and files are compared.",
    "verify": "Verify.",
    "verify_why": (
        "Where each source began, that nothing was read twice, that every batch is committed, and how much"
        " the output grew."
    ),
    "switch": "From then on, run the query with the new checkpoint.",
    "switch_why": "The old checkpoint stays where it was put until you remove it.",
    "source_starts": "source {key}: {start}",
    # before and after
    "everything": "everything that is still there",
    "old_data_unwritten": "the old data, without writing",
    "unwritten": "{amount}, without writing",
    "pending_amount": "batch {batch}, which is not committed ({amount})",
    "pending_not_known": "batch {batch}, which is not committed (amount not known)",
    "nothing": "nothing",
}
