"""The words in generated code that depend on the checkpoint: titles, comments, missing values."""

from __future__ import annotations

TITLES_OF_CODE: dict[str, str] = {
    "pyspark": "{option}: PySpark script",
    "databricks": "{option}: Databricks, classic compute (not tested there)",
    "lakeflow": "{option}: start the update",
}
"""What a piece of code is for; it stands behind the title of the option."""

SENTENCES: dict[str, str] = {
    "after_batch": "{option}, after batch {batch}",
    "nothing_committed": "{option}, nothing is committed",
    # Lakeflow
    "backup": "1. Backup of the tables",
    "deploy_start": "Deploy first: the flow's source with its start position",
    "deploy_backfill": "2. Deploy: the flow that backfills once",
    "with_curl": "The same call with curl",
    "with_sdk": "The same with the package databricks-sdk",
    # Databricks
    "job_settings": "Settings of the job: paused meanwhile, one run at a time, restarts without end",
    # S3
    "restore_versions": "Without a backup: from the object versions of the S3 bucket (boto3, no Spark)",
    # the other forms
    "snippet": "To paste into the query",
    "kit_below": "Below is the kit, version {version}: the same for everybody, SHA-256 as above.",
    "kit": "The kit, version {version}: the part that is the same for everybody",
    "runbook": "Runbook",
    "sink_not_given": "not given",
    "sink_without_place": "{sink}, place not given",
    "plan": "Plan for programs",
    "flow_restart": "No code is needed: run the pipeline again as it is.",
    "flow_refresh": "No code is needed: the pipeline does it with one command, spark-pipelines run.",
    "restart": "No code is needed: start the job again as it is, with the same checkpoint location.",
    # comments of constants
    "old_checkpoint": (
        "The checkpoint this script was made from: it is read, copied and renamed, never changed."
    ),
    "lost_checkpoint": "The checkpoint is gone: nothing is read from it.",
    "old_checkpoint_only_read": "The checkpoint this script was made from: it is only read.",
    "new_checkpoint": "The new checkpoint location of the query.",
    "backup_place": "Where the copy is made.",
    "file_sources": "File sources by key, with the directory of their log.",
    "not_asked": "Sources by key whose broker or table this script does not ask.",
    "async_progress": "Whether the logs have gaps because progress is tracked asynchronously.",
    "backup_made": "Where the option backup has put the copy.",
    "need_backup_made": "where the backup is (answer backup_to)",
    "new_query_id": (
        "True only for a Delta table that was restored to the batch of the backup: it knows the old query id."
    ),
    "repairs": "The files that the copy has differently; was: SHA-256 of what is there now.",
    "again_from": "The first batch that comes again although the sink may have rows of it.",
    "again_is_same": "Whether that batch runs with the end offsets it had.",
    "backup_first": "Where the checkpoint is copied first.",
    "planned": "Planned, not committed.",
    "no_loss": "Set to True only if the script reports what is lost and you accept it.",
    "known_loss": (
        "True, because the plan names what can no longer be read; with False the script stops when it"
        " finds it."
    ),
    "query_file": "Your query, imported by this script.",
    "as_pinned": "As the checkpoint has it; used where the session sets nothing.",
    "batch_result": "Whether a batch query over all input gives the same rows.",
    "sink_path": "Where the query writes.",
    "partition_by": "Columns of partitionBy; None: as the log of the sink tells.",
    "sink_is_ours": (
        "True only when you have made sure that this query wrote SINK_PATH although its log does not show it."
    ),
    "refresh_into": (
        "A new output directory, where SINK_PATH must stay as it is; None: SINK_PATH is renamed, and written"
        " again."
    ),
    "plain_table": "True: the new table may lack the properties and the clustering of the old one.",
    "secrets": "Option: name of the environment variable that contains it.",
    "first_batch": "The first batch of the new checkpoint.",
    "keep_pending": "Whether the planned batch keeps its batch ID and its end offsets.",
    "new_sink_path": "The new output directory; None: a directory beside SINK_PATH.",
    "watermark": "In force during the last committed batch.",
    "files_are_new": "True if a file source has moved and none of the files there was read before.",
    "app_id_changes": "True if write_batch builds its txnAppId from the query id.",
    "inferred_path": "Inferred from the file source log.",
    # what has to be filled in
    "need_old_checkpoint": "its path",
    "need_new_checkpoint": "a new checkpoint location",
    "need_backup": "a location for the copy",
    "need_aside": "another name for the old checkpoint",
    "need_transform": "a Python file with transform(df)",
    "need_transform_sources": "a Python file with transform(sources), a dict by source key",
    "need_transform_and_write": "a Python file with transform(df) and write_batch(df, batch_id)",
    "need_transform_sources_and_write": (
        "a Python file with transform(sources), a dict by source key, and write_batch(df, batch_id)"
    ),
    "need_mode": "append, update or complete, as in the query",
    "need_sink": "answer the question where the query writes, and generate the code again",
    "need_sink_path": "the table or directory the query writes to",
    "need_sink_format": "parquet, json, csv ...",
    "need_sink_servers": "the brokers of the sink, host:port",
    "need_empty_topic": "a new, empty topic",
    "need_topic": "the topic the query writes to",
    "need_empty_target": (
        "True, once you have renamed or emptied what write_batch writes to (or give sink_path)"
    ),
    "need_keys": "a list of the columns that identify a row",
    "need_sequence": "the column that says which row is newer",
    "need_output": "generate the code again with {answers:listed}: the old rows must be readable",
    "need_format": "the format of source {index}, as in the query",
    "need_path": "the path of source {index}",
    "need_schema": "the schema of source {index} as text, for example id int, name string",
    "need_servers": "the brokers of source {index}, host:port",
}
