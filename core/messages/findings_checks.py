"""The sentences of the findings that the integrity check makes itself, and what a report says was looked"
" at."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "not_read_one": "{what}. What it holds is not known, and nothing in this answer rests on it.",
    "not_read": (
        "{count} files or directories could not be read, first {what}. What they hold is not known, and"
        " nothing in this answer rests on them."
    ),
    # The logs as a whole.
    "offsets_missing": (
        "offsets/ has no file for {ids:batches}. The next start does not need them; the checkpoint cannot"
        " be rolled back to them."
    ),
    "commit_gap": "commits/ has no file for {ids:batches}, although later batches are committed.",
    "commits_missing_one": (
        "Batch {first} is planned and not committed, and the next start re-runs only batch {newest}. Rows"
        " of it that did not reach the sink before are never delivered."
    ),
    "commits_missing": (
        "{ids:capital_batches} are planned and not committed, and the next start re-runs only batch"
        " {newest}. Rows of them that did not reach the sink before are never delivered."
    ),
    "commits_missing_in_sink": (
        "{ids:capital_batches} {count:one is/are} planned and not committed, and the next start re-runs only"
        " batch {newest}. The log of the sink has {count:one it/them}, so that no rows are missing."
    ),
    "not_in_sink": "{sentence} The log of the sink does not have {ids:batches}.",
    "batch_not_committed": (
        "Batch {batch_id} is planned and not committed: it is running now, or the next start re-runs it"
        " with the same end offsets."
    ),
    "watermark_back": (
        "The watermark goes back from {before} ({where}) to {after} ({path}), in milliseconds since 1970:"
        " rows that were late count again, and closed windows reopen."
    ),
    "watermark_raised": (
        "{path} has the watermark {after:moment}, which is later than {named:moment} in {where}: Spark never"
        " writes that, so one of the two was changed. A start takes the later one, and may drop earlier rows"
        " as late, without an error."
    ),
    "position_back": "In batch {batch_id} the offset of source {key} goes back: {partitions:listed 3}.",
    "position_back_partition": "{name} from {before} to {after}",
    "two_writers_times": (
        "Batch {after} was planned {ms:duration} before batch {before}: two queries may have used this"
        " checkpoint."
    ),
    "two_writers_sources": (
        "Batch {after} has {after_count:counted source} and batch {before} has {before_count}: no single"
        " query can have written both."
    ),
    # State by names and sizes.
    "stale_snapshot": (
        "{path} was written by a batch that the logs no longer have (they end at batch {newest}). A start"
        " after batch {loaded_after} would load it unchecked, and the results would be wrong."
    ),
    "state_of_later_batches": (
        "Operator {operator_id} has state up to version {highest}, while batch {newest} leads to version"
        " {expected}."
    ),
    "way_back": (
        "Version {version} is the newest that every partition of every store can rebuild: the checkpoint"
        " can be rolled back to batch {batch_id}."
    ),
    "way_back_fails": (
        "By the names of the files batch {batch_id} is the newest that every partition can rebuild, and a"
        " copy that stands there would not start either."
    ),
    "way_back_skipped": (
        "Version {version} is the newest that every partition of every store can rebuild, but the output ends"
        " at batch {held} and would skip the batches after batch {batch_id}, new rows included: a rollback"
        " needs an output that ends there too."
    ),
    "with_way_back": "{sentence} {way_back}",
    "no_way_back": (
        "None of the batches that are kept has its complete state in every partition, so the checkpoint"
        " cannot be rolled back."
    ),
    "state_grows_no_watermark": (
        "The state of operator {operator_id} grew from {first_bytes:size} to {last_bytes:size} over"
        " {snapshots:counted snapshot}, and there is no watermark: nothing is removed from it."
    ),
    "state_grows_still": (
        "The state of operator {operator_id} grew from {first_bytes:size} to {last_bytes:size} over"
        " {snapshots:counted snapshot} while the watermark did not move: nothing is removed from it."
    ),
    "operator_metadata_missing": (
        "Operator {operator_id} has no operator metadata (state/{operator_id}/_metadata): the next start"
        " does not notice if the stateful operators of the query have changed."
    ),
    "state_schema_missing": (
        "Operator {operator_id} has no state schema: the next start writes one from the query as it is"
        " then, and compares nothing."
    ),
    "join_names_more": (
        "{counting} names {named:counted row} and {counted} holds {rows}: one of the two is older than the"
        " other. Spark fails when it looks a missing row up"
    ),
    "join_names_others": (
        "{counting} names {rows:counted row} of other keys than {counted} holds: one of the two is older"
        " than the other. Spark fails when it looks a missing row up"
    ),
    "join_until_met": (
        "{inequality}. The query has no watermark, so this is when a new row has such a key; until then it"
        " runs"
    ),
    "join_names_fewer": (
        "{counting} names {named:counted row} and {counted} holds {rows}: one of the two is older than the"
        " other, and the join does not see the other rows"
    ),
    "join_stores_swapped": (
        "{counting} has the keys of {counted}, and the other way round: the two stores changed places"
    ),
    "extra_partitions": (
        "Operator {operator_id} has state in {extra:counted partition} beyond the {expected} of the newest"
        " offset file (from partition {first} on): either it was repartitioned to fewer, or the number in"
        " the log was changed and their rows are not read."
    ),
    # What lies around.
    "leftovers_temporary": (
        "{total:counted file} {total:one is/are} not part of the checkpoint, left by interrupted writes"
        " (total size: {size_bytes:size}). Spark ignores them."
    ),
    "lone_checksums": (
        "{sentence} {count:counted checksum file} {count:one belongs/belong} to a file that is not there"
        " ({file}): it was removed, or a copy left it out."
    ),
    "leftovers_foreign": (
        "{total:counted file} {total:one is/are} not part of the checkpoint and not Spark's"
        " (total size: {size_bytes:size}). Spark ignores them."
    ),
    "leftovers_both": (
        "{total:counted file} {total:one is/are} not part of the checkpoint: {temporary} left by"
        " interrupted writes and {foreign} not Spark's (total size: {size_bytes:size}). Spark ignores them."
    ),
    "short_retention": (
        "Only {ids:batches} {kept:one is/are} kept: the oldest batch that the checkpoint can be rolled back"
        " to is batch {oldest}. Spark keeps 100 batches unless spark.sql.streaming.minBatchesToRetain is"
        " set."
    ),
    "temporary_location": (
        "This checkpoint is in a temporary location; when that is deleted, the query starts from scratch."
        " If it is a copy for a look at it, that does no harm."
    ),
    # Damaged state files.
    "rows_damaged": (
        "The next start loads the file for state version {version}: a batch that needs a row of that block"
        " fails, and other batches may silently run without its rows (observed with Spark 4.3)."
    ),
    "damaged": "{path} is damaged: {reason}. {consequence}",
    "damaged_more": (
        "{path} is damaged: {reason} (and {more:counted more file/more files} like it). {consequence}"
    ),
    "not_as_written": "{path} is not as Spark wrote it: {reason}. {consequence}",
    "not_as_written_more": (
        "{path} is not as Spark wrote it: {reason} (and {more:counted more file/more files} like it)."
        " {consequence}"
    ),
    "damaged_way_back": (
        "{sentence} The newest version that every partition can rebuild from intact files is {version}, the"
        " state after batch {batch_id}."
    ),
    "damaged_no_way_back": (
        "{sentence} There is no version that every partition can rebuild from intact files."
    ),
    "checksum_not_read": "Spark {spark} does not verify this checksum and reads the file.",
    "tail_not_read": "Spark does not read that part of the file and reads the rest without an error.",
    "refused_by_newer": (
        "Spark {spark} unpacks it to the rows that were written; Spark 4.1 and newer refuse the file."
    ),
    "file_needed": "The next start needs the file for state version {version}, and fails.",
    "file_repaired": (
        "The next start tries the file for state version {version}; Spark {spark} then rebuilds the state"
        " from an older snapshot and the changes after it, which are intact (self-repair, on by default"
        " since 4.2; an older Spark fails)."
    ),
    "file_not_needed": (
        "The next start does not need it; the checkpoint cannot be rolled back to a batch that does."
    ),
    "file_in_removal": (
        "Spark removes the files of versions that it does not keep before their zips: it may do so now, or"
        " was stopped in between. The next start does not need it; the checkpoint cannot be rolled back to a"
        " batch that does."
    ),
    "lineage_missing": (
        "{path} is built on {missing}, which is missing: the next start cannot rebuild state version"
        " {version}."
    ),
    # Contents of state files.
    "snapshot_differs": (
        "{path} does not contain the rows that the deltas up to version {version} lead to: one of these"
        " files dates from before a rollback or was replaced. Whether a start reads the snapshot or the"
        " deltas decides the results, and Spark notices neither."
    ),
    "snapshot_differs_more": (
        "{path} does not contain the rows that the deltas up to version {version} lead to (and"
        " {more:counted more snapshot/more snapshots} like it): one of these files dates from before a"
        " rollback or was replaced. Whether a start reads the snapshot or the deltas decides the results,"
        " and Spark notices neither."
    ),
    "wrong_partition": (
        "{rows:,} of the {looked_at:,} rows that were looked at are in a partition that their key does not"
        " belong to; {count:,} of those in {directory} belong to partition {target}. Spark looks for them"
        " only there and finds nothing, or older rows: the results are wrong, without an error."
    ),
    "wrong_partition_or_rule": (
        "{rows:,} of the {looked_at:,} rows that were looked at are, by Spark's rule, in a partition that"
        " their key does not belong to; {count:,} of those in {directory} belong to partition {target}. Were"
        " files or directories of partitions exchanged? Then Spark does not find these rows, or finds older"
        " ones, and the results are wrong without an error. Only an engine with another rule would be right"
        " to put them there."
    ),
    "operator_metadata_unreadable": (
        "{path} {clause}: Spark ignores it and writes a new one; a change of the stateful operators is not"
        " noticed at the next start."
    ),
    "surplus_bytes": "{path} {clause}: Spark does not read them and reads the file without an error.",
    "definition_unreadable": "{path} {clause}: the first batch fails when it reads it.",
    "values_altered": (
        "{path} was changed after Spark wrote it: {reason}. Its codec keeps no checksum and Spark does not"
        " verify this one, so the next start may continue with other values, without an error."
    ),
    "values_altered_more": (
        "{path} and {more:counted more file/more files} were changed after Spark wrote them: {reason}."
        " Their codec keeps no checksum and Spark does not verify this one, so the next start may continue"
        " with other values, without an error."
    ),
    "older_in_its_place": (
        "{path} holds the same changes as {older}, byte for byte, and was written at another time than its"
        " neighbours: it may be an older file in the place of the right one, which Spark loads without an"
        " error."
    ),
    "unchecked_values": (
        "the values in {files:counted state file} packed with zstd or snappy, which keep no checksum,"
        " without a checksum file beside {files:one it/them}"
    ),
    "altered_one": (
        "{path} does not match its hidden checksum file: it was changed or replaced later. Spark does not"
        " verify this checksum and reads the file as it is."
    ),
    "altered": (
        "{path} and {more:counted more file/more files} do not match their hidden checksum files: they were"
        " changed or replaced later. Spark does not verify these checksums and reads the files as they are."
    ),
    # What a report says of itself.
    "none_found": "No problems found in {checked:listed}; not checked: {not_checked:listed}.",
    "some_found": "{counts:listed}. Not checked: {not_checked:listed}.",
    "checked_names": "the names in offsets/, commits/ and sources/",
    "checked_some_batches": "{read:,} of {batches:counted batch} in the logs",
    "checked_all_batches": "all {batches:,} batches in the logs",
    "checked_one_batch": "the only batch in the logs",
    "checked_no_batch": "the logs, which have no batch",
    "checked_newest_batches": "the newest {read:,} batches in the logs",
    "checked_source_logs": "the logs of the sources",
    "checked_chains": "every chain of state files",
    "checked_source": "what source {key} has now",
    "checked_sink_log": "the log of the sink",
    "checked_contents": "the contents of {files:counted state file}",
    "checked_rows": "{rows:counted row} in {known:,} of {stores:counted partition store}",
    "checked_hidden": "the hidden checksum files",
    "unchecked_state": "state/",
    "unchecked_older_batches": "{batches:counted older batch}",
    "unchecked_contents": "the contents of the state files",
    "unchecked_sources": "the sources themselves",
    "unchecked_other_sources": "the other sources",
    "unchecked_sink": "the sink itself",
    "unchecked_sink_past": "a part of the sink ({why})",
    "unchecked_asked": "{end}: {why}",
    "unchecked_code": "the code of the query",
    "unchecked_hidden": ("the hidden checksums of {files:counted log file} (there was no time left)"),
    "unchecked_no_version": (
        "the contents of the state files (no batch in the logs says which version is needed)"
    ),
    "unchecked_stores": (
        "the state files of {left:,} of {stores:counted partition store} (there was no time left)"
    ),
    "unchecked_changing": "{stores:counted partition store} that changed while being read",
    "unchecked_alike": "{files:counted state file}, {path} is the first of them ({why})",
    "unchecked_skipped": "state files: {reason}",
    "unchecked_sst": "the rows inside .sst files (their blocks were compared with their checksums)",
    "unchecked_partitions": "the partitions of the rows of operator {operators:listed} ({why})",
    "unchecked_placement": (
        "whether rows of operator {operator} lie in the partition of their key ({rows:,} of {looked_at:,} do"
        " not by Spark's rule, about as many as by chance: the engine may follow another rule)"
    ),
    "partitions_changed": "the number of partitions changed",
    # Whether a query is writing.
    "writer_active": "A query is writing: within {waited_ms:duration} {changes:listed} ({path}).",
    "files_written": "{files:counted file} {files:one was/were} written",
    "files_removed": "{files:counted file} {files:one was/were} removed",
    "writer_no_times": (
        "Nothing changed within {waited_ms:duration}, and the files carry no times: a query may be idle."
    ),
    "writer_stopped": (
        "The query seems to have stopped: nothing changed within {waited_ms:duration}, the newest log file"
        " is {silence_ms:duration} old, and batches were planned every {usual_ms:duration}, at most"
        " {longest_ms:duration} apart. A query without new data would look the same."
    ),
    "writer_unclear": (
        "Nothing changed within {waited_ms:duration}, and the newest log file is {silence_ms:duration}"
        " old: a query may be idle, or busy with a long batch."
    ),
    "writer_unclear_rhythm": (
        "Nothing changed within {waited_ms:duration}, the newest log file is {silence_ms:duration} old, and"
        " batches were planned every {usual_ms:duration}, at most {longest_ms:duration} apart: a query may"
        " be idle, or busy with a long batch."
    ),
    "not_in_use": (
        "No start uses this checkpoint: it appears to be one of a declarative pipeline, which starts from the"
        " highest number, {place}."
    ),
    "unknown_level": "There is no level {level}; choose one of {levels:listed}.",
}

ROWS_BEFORE_LOG: dict[str, str] = {
    "real_time": (
        "In real-time mode, as this query appears to have run, rows reach the sink before their batch is"
        " logged: those after batch {n} are written again (up to one interval of the trigger)."
    ),
    "continuous": (
        "In continuous mode, as this query ran, rows reach the sink before their epoch is logged: those after"
        " batch {n} are written again (up to one interval of the trigger). With any other trigger the query"
        " fails: only the trigger continuous can use this checkpoint."
    ),
}

COUNTS: dict[str, str] = {
    "blocks_restart": "{n:,} {n:one blocks/block} the restart",
    "data_risk": "{n:,} {n:one puts/put} data at risk",
    "attention": "{n:,} {n:one needs/need} attention",
    "note": "{n:counted note}",
}
"""How many findings of a severity there are, by severity."""
