"""The steps of Spark's start: what each does, what becomes of it, and why it fails (a clause after a"
" colon)."""

from __future__ import annotations

STEPS: dict[str, str] = {
    "source_path": "find the directories that the file sources read",
    "metadata": "read metadata",
    "newest_offset": "read offsets/{n}",
    "source_logs": "open the logs of the file sources",
    "newest_commit": "read commits/{c}",
    "source_count": "compare the number of sources with offsets/{n} and offsets/{p}",
    "previous_offset": "read offsets/{p}",
    "source_ranges": "re-request the offset range of batch {n} from the sources",
    "plan": "plan batch {b}",
    "operators": "compare the stateful operators with state/",
    "state_folder": "check that state/ exists",
    "settings": "apply the SQL configs stored in offsets/{n}",
    "upgrade": "check compatibility with the Spark version that wrote it",
    "state_schema": "read the state schemas",
    "state_files": "load state version {b} in every partition of every store",
    "commit": "hand batch {b} to the sink and write commits/{b}",
}
"""What a step does, by its id. ``n`` is the newest offset, ``p`` the one before, ``c`` the newest commit,
``b`` the first batch; one that is not there is ``-``."""

SENTENCES: dict[str, str] = {
    # Steps that are not taken.
    "failed_before": "Spark fails before this step",
    "from_scratch": "batch 0 starts from scratch",
    "state_not_listed": "state/ is not listed at this level",
    "no_batch": "no batch runs until there is new data",
    # metadata
    "no_metadata_and_no_logs": "there is neither metadata nor a log; Spark writes a new ID",
    "metadata_replaced": "missing; Spark {spark} writes a new query ID",
    "metadata_unreadable": "metadata cannot be read, because it {clause}",
    "metadata_missing": "metadata is missing although offsets/ or commits/ have batches",
    "metadata_missing_risk": (
        "metadata is missing and Spark {spark} silently writes a new query ID: a sink that recognises"
        " batches by the query ID (Delta) takes a re-run batch for a new one."
    ),
    "metadata_missing_unused": (
        "metadata is missing and Spark {spark} silently writes a new query ID, which no batch that runs again"
        " meets in the sink."
    ),
    # The two logs.
    "log_unreadable": "{path} cannot be read, because it {clause}",
    "log_version": "{path} has version {version}; Spark {spark} reads versions up to {highest}",
    "log_version_only": "{path} has version {version}; Spark {spark} reads only version {highest}",
    "log_name": (
        "Spark takes {path} for batch {batch_id} and looks for {log}/{batch_id}, which does not exist"
    ),
    "log_removed": "the file was removed while it was read: refresh",
    "empty_metadata_line": "the metadata line of {path} is empty",
    "repartition": "{path} plans a repartition of the state that was not finished",
    "not_empty": (
        "offsets/ and commits/ have no batch, so Spark would start with batch 0, and {directory} is not empty"
    ),
    "being_written": (
        "{path} was written less than a minute before: a query may be writing its first batch. If none is"
        " running, Spark {spark} will not start, because the directory is not empty."
    ),
    "first_start": "no batch yet: Spark starts with batch 0",
    "scratch": "starts from scratch",
    "fresh_start_empty": (
        "The directory has no metadata and no logs. If a query has run with this checkpoint before, it was"
        " emptied: what the sources still have is read and delivered again, and a Kafka source whose"
        " startingOffsets is latest (the default) skips what came in between."
    ),
    "fresh_start_only_metadata": (
        "Only metadata is left: a query that has started once also has offsets/ and commits/. If batches have"
        " run, the logs were removed: what the sources still have is read and delivered again, and a Kafka"
        " source whose startingOffsets is latest (the default) skips what came in between."
    ),
    "fresh_start_no_batch": (
        "offsets/ and commits/ are empty, as before the first batch. If batches have run, their files were"
        " removed: what the sources still have is then read and delivered again."
    ),
    "fresh_start_starting": (
        "{path} was written less than a minute before this was read, and no batch is planned yet: a query may"
        " be starting for the first time. If none is running, look whether batches have run: if their files"
        " were removed, what the sources still have is read and delivered again."
    ),
    "fresh_start_risk": (
        "offsets/ and commits/ have no batch, but {path} shows that this checkpoint has been used: Spark"
        " starts from scratch without an error and delivers again what the sources still have."
    ),
    "only_commits": "offsets/ has no batch while commits/ has {ids:batches}",
    "only_commits_risk": (
        "offsets/ has no batch while commits/ has {ids:batches}: Spark starts from scratch and delivers"
        " everything again."
    ),
    "no_commit": "no batch has been committed",
    "commit_format": (
        "whether the session sets {conf} to 2; if it does not, Spark {spark} does not read {path}"
    ),
    "state_format": (
        "whether the session sets {conf} to 2; if it does not, Spark {spark} does not find the state files"
    ),
    "previous_missing": "offsets/{missing} is missing, and Spark needs it beside offsets/{newest}",
    "previous_missing_committed": (
        "offsets/{missing} is missing, and Spark needs it beside offsets/{newest}, although batch {newest}"
        " is committed"
    ),
    "previous_continuous": "continuous processing does not read it",
    "no_previous": "batch 0 has no batch before it",
    "previous_async": (
        "offsets/{missing} does not exist, which is normal with asynchronous progress tracking; without it"
        " Spark fails here"
    ),
    "open_async": "whether asynchronous progress tracking is still on",
    # Sources.
    "no_offsets": "there are no offsets to compare with",
    "no_newest_offsets": "the offsets of the newest batch are not known",
    "value_refused": "{at} pins {key} = {value}, which Spark cannot set",
    "partitions_nowhere": (
        "neither {at} nor the operator metadata below state/ says into how many partitions the state is"
        " divided"
    ),
    "partitions_if_stateful": (
        "whether the query keeps state: {at} does not say into how many partitions, and Spark 4.2.1 and newer"
        " do not start a query with state then"
    ),
    "partitions_of_session": (
        "the number of shuffle partitions of the session: {at} pins none, and Spark 4.2.0 takes the session's"
        " (newer ones the {recorded} of the operator metadata), with which it looks for the rows of the state"
    ),
    "commit_3_without_sink": "{path} says version 3, which names the sinks, and it names none",
    "names_of_another_query": (
        "{path} has the names {names:listed 3}, while the sources of this checkpoint have numbers: it is the"
        " entry of another query"
    ),
    "source_offset_form": "the offset of source {key} in {at} is not that of a file source",
    "commit_ids_without_files": "{path} says version 2, while the state files carry no IDs",
    "source_count": "{path} has {count:counted source} and the query has {wanted}",
    "source_count_log": "{path} has {count:counted source} and {other} has {wanted}",
    "sources_assumed": ("{count:counted source} in the log; the query is assumed to have the same number"),
    "sources_named": "{count:counted source}, known by name",
    "sources_change": "the number of named sources changes",
    "source_dropped": (
        "A named source that the query no longer has is dropped without an error; if it is added again much"
        " later, it starts from scratch."
    ),
    "source_added": "A named source that is new in the query, or renamed, starts from scratch.",
    "source_path_unread": "whether the directory of source {key} is there ({why})",
    "source_path_pattern": "it has a wildcard, and whether a file matches it was not looked for",
    "source_path_listed": "the directory above lists it, and it could not be opened",
    "source_path_gone": "the directory that source {key} reads, {location}, does not exist",
    "no_source_logs": "no source keeps a log of files",
    "source_log_gap": "{path} is missing in the middle of the file source log, which ends at {newest}",
    "path_no_uri": "{path} names {file}, which is not a URI that Java accepts",
    "path_elsewhere": "{path} names {file}, which is outside the directory that the source reads",
    "path_not_below": (
        "source {key} is to read {location}, and {file}, which {path} names and Spark asks for again, is not"
        " there"
    ),
    "path_scheme": "{path} names {file}, which is in another file system than the other files of the source",
    "source_log_end": "{path} is missing, and {at} refers to it",
    "start_no_offsets": "it holds no offsets",
    "start_not_a_time": "it holds no time",
    "start_missing": (
        "{path} is missing: a rate source then counts from the time of this start, behind its offset {end}"
    ),
    "start_too_late": (
        "the start time in {path} is {seconds:counted second} too late for the offset of {at}: a rate source"
        " does not run while the clock is behind its offset"
    ),
    "source_offset_json": "the offset of source {key} in {at} is not valid JSON",
    "kafka_positions_refused": (
        "{at} has a position that is no number, or a partition that is none ({partition}), which the Kafka"
        " source does not take"
    ),
    "kafka_no_positions": (
        "{at} is no JSON object of topics, partitions and positions, and the Kafka source takes nothing else"
    ),
    "kafka_negative": (
        "{at} has position {position} for {partition}: Spark takes -2 (the earliest record) there, and no"
        " other number below 0"
    ),
    "source_offset_back": "the offset of source {key} goes back from {start} to {end}",
    "named_sources_4_2": (
        "{path} was written by Spark 4.2 with named sources and has version 1, in which Spark {spark}"
        " accepts no names"
    ),
    "topics_removed": ("{at} has offsets for {partitions:listed}, which the query no longer reads"),
    "plan_back": (
        "{at} plans {partition} back from {start} to {end}, which is what a failed start leaves when the"
        " topic was recreated"
    ),
    "plan_partitions_gone": (
        "{at} has no offset for {partitions:listed}, which {previous} has: the plan that a failed"
        " start left behind"
    ),
    # The commit.
    "commit_exists": (
        "commits/{batch_id} already exists (commits/ ends at {commit}, offsets/ ends at {offset})"
    ),
    "skipped_batch_needs_state": (
        "the sink already has batch {batch_id} and skips it, so no task writes the state that"
        " commits/{batch_id} has to name (state checkpoint format 2)"
    ),
    "open_skipped_batch": (
        "whether the sink already has batch {batch_id}: a file sink or a Delta table would skip it, and with"
        " state checkpoint format 2 a batch that is skipped cannot be committed"
    ),
    "stale_checksum": (
        "{path} was left behind when {log}/{batch_id} was removed, so {log}/{batch_id} cannot be written"
    ),
    "stale_source_checksum": "{path} was left behind when {entry} was removed, so {entry} cannot be written",
    "stale_metadata_checksum": (
        "{path} was left behind when metadata was removed, so metadata cannot be written"
    ),
    # State.
    "stateless": "no state/: stateless, or deleted",
    "no_state": "there is no state",
    "batch_0_needs_no_state": "batch 0 needs no state",
    "batch_0_empty_state": "batch 0 starts from empty state",
    "same_operators": "the query is assumed to have the same stateful operators",
    "no_operator_metadata": "no operator metadata: a change of operators is not noticed here",
    "operators_not_compared": "Spark {spark} does not compare operators",
    "operators_differ": (
        "the state belongs to {recorded:listed}, and the stateful operators of the query are: {wanted:listed}"
    ),
    "operator": "{name} (operator {operator_id})",
    "operator_elsewhere": "{path} {clause}",
    "operator_not_of_state": (
        "the operator metadata of operator {operator_id} names {name}, and its state has the"
        " columns of {seen}"
    ),
    "schema_version": "{path} {clause}",
    "operator_metadata_needed": "{at} is missing, and operator {operator_id} needs it",
    "schema_file_needed": "{path} is missing, and transformWithState needs the schema in it",
    "schema_elsewhere": (
        "Operator {operator_id} reads its state schema in {place}, where the checkpoint was before, and not"
        " here: once that is gone, batch {batch_id} fails."
    ),
    "schema_place_gone": (
        "operator {operator_id} reads its state schema in {place}, where the checkpoint was before, and that"
        " directory is not there any more"
    ),
    "state_folder_renamed": "state/ is missing, and {directory}/ may be what it was",
    "state_dropped": (
        "The query is stateless now: Spark {spark} runs it and silently leaves the old state unused. What"
        " only the state has (open windows, waiting rows, keys that were seen) is lost."
    ),
    "operator_replaced": (
        "the state of operator {operator_id} looks like that of {name}, and the query has {now} there"
    ),
    "open_foreign_state": "whether the query is stateful: state/ has only files that are none of Spark's",
    "open_stateless": "whether the query is stateful: there is no state/, without which a stateful one fails",
    "open_state_removed": (
        "whether state/ was deleted (the checkpoint directory was changed after its newest commit)"
    ),
    "open_operator_removed": (
        "whether state/ has lost the directory of an operator (it was changed after the newest commit)"
    ),
    "open_stateful": "whether the query is stateful (it has a watermark and no state/)",
    "state_folder": "state/ is missing or empty",
    "state_without_files": "state/ holds no file of a state store",
    "operator_gone": "state/{operator_id}/ is gone, while other operators have their state",
    "operator_renamed": (
        "state/{operator_id}/ is gone, and {directory}/ may be what it was; other operators have their state"
    ),
    "state_operator_renamed": (
        "state/ holds no operator that Spark would see, and {directory}/ may be what one was"
    ),
    "state_folder_added": "state/ is missing or empty, because the query was stateless so far",
    "no_earlier_configs": "there is no earlier batch whose SQL configs could differ",
    "state_format_differs": "{at} has {key} {now}, and {before} had {was}",
    "store_differs": (
        "{at} names the state store {named}, and the files of state version {version} are of the store"
        " {found}"
    ),
    "codec_differs": "{at} names the codec {now} for the state files, and {before} named {was}",
    "partitions_unread": (
        "State version {version} of operator {operator_id} has {extra:counted partition} beyond the"
        " {expected:counted partition} that the query uses, from partition {first} on: their rows belong to"
        " the state and are not read."
    ),
    "join_repartitioned": (
        "{at}: batch {batch} moved the state of the join (operator {operator_id}) to another number of"
        " partitions. With state format 4 Spark 4.3.0 leaves values that the query cannot decode: the first"
        " batch that meets such a row fails (Invalid byte array backed UnsafeRow)."
    ),
    "partitions_differ": (
        "{at} has {now} state partitions and {before} had {was}: state rows will be looked up in the wrong"
        " partition."
    ),
    "schema_empty": "{path} is empty",
    "schema_truncated": "{path} ends in the middle",
    "no_schema": "no schema file: Spark writes a new one and compares nothing",
    "open_schema": "the types of the state against those of the query",
    "open_join": (
        "whether every side of the join (operator {operator_id}) has new rows in batch {batch_id}: Spark"
        " {spark} fails if the first batch has no rows of one side"
    ),
    "join_without_rows": (
        "batch {batch_id} has no rows of source {keys:listed}, and a join (operator"
        " {operator_id}) that starts with such a batch does not match the schema of its state ({path})"
    ),
    "join_stores_swapped": (
        "the schema in {path} is not that of the store {store} but of its partner: the two stores changed"
        " places"
    ),
    "join_required": (
        "the state of a join (operator {operator_id}) was written with {column} as not null ({path}), and in"
        " the plan of Spark {spark} it may be null"
    ),
    "base_missing": "{path} is built on the zip of state version {version}, which is missing",
    "ids_not_supported": (
        "{path} has version 2 (state files with IDs), which the HDFS-backed store does not support"
    ),
    "state_damaged": "{path} is damaged: {reason}",
    "lineage_missing": "{path} is built on {missing}, which is missing",
    "definition_damaged": "{path} {clause}",
    "open_contents": "the contents of the state files",
    "not_opened": "every file is there; none was opened at this level",
    "sink_log_gap": "it compacts the log of the file sink, where {path} is missing",
    "sink_log_damaged": "it compacts the log of the file sink, where {path} {clause}",
    "ids_missing": "the state files of operator {operator_id} carry IDs, and {path} names no state files",
    "ids_missing_no_commit": (
        "the state files of operator {operator_id} carry IDs, and there is no commit that names them"
    ),
    "ids_of_fewer": (
        "{path} names the state files of {count:counted partition} of operator {operator_id}, and the query"
        " has {expected}"
    ),
    "ids_of_another_version": (
        "batch {batch_id} needs state version {version}, and commits/{commit} names the files of version"
        " {other}"
    ),
    "place": "operator {operator_id}, partition {partition_id}",
    "place_store": "operator {operator_id}, partition {partition_id}, store {store}",
    "state_missing": "state version {version} of {place} cannot be rebuilt: {path} is missing",
    "state_empty": "state version {version} of {place} cannot be rebuilt: {path} is empty (0 bytes)",
    "sst_missing": "{path}, which {zip} needs, is missing",
    "snapshot_empty": (
        "{path}, the newest snapshot of {place} up to version {version}, is empty, and Spark {spark} tries"
        " no older one"
    ),
    # Another version.
    "same_version": "Spark {spark} wrote the newest files",
    "row_checksums_refused": "{why}, and refuses the first row of {path}",
    "row_checksums": "the rows of the state carry checksums ({at}), which Spark {spark} does not know",
    "changelog_unknown": (
        "state version {version} exists only as a changelog ({path}), which Spark {spark} does not know"
    ),
    "rocksdb_too_new": "Spark {spark} cannot read RocksDB files that Spark 4.0 or newer wrote ({path})",
    "no_transform": "operator {operator_id} is transformWithState, which Spark {spark} does not have",
}
