"""What the offsets of Spark's own sources, Delta and files mean, and where a new checkpoint starts after
them."""

from __future__ import annotations

_TRANSPLANT = (
    " Always exact for a stateless query: start from a new checkpoint directory that has `metadata` with a"
    " new ID, this offset as `offsets/0` and `offsets/1`, and `commits/0` and `commits/1`."
)
_COPY_THE_LOGS = (
    " A new checkpoint directory with a new ID in `metadata` and a copy of the last two offset log"
    " entries, the last commit and all of `sources/` should resume at the same place; that was not tried"
    " with this source."
)

SENTENCES: dict[str, str] = {
    "went_down": ("The position went down from {start} to {end}."),
    "from_to": ("{name} (from {start} to {end})"),
    "new_partitions": ("New in this batch: {names:listed 3} (where the read began is not in the files)."),
    "new_partitions_from_earliest": (
        "New in this batch: {names:listed 3} (read from its earliest {unit}, so its number is the most it"
        " can be)."
    ),
    "partitions_went_down": ("Went down: {partitions:listed 3}."),
    "partitions_gone": ("No longer there: {names:listed 3}."),
    "malformed": (
        "This is not an offset of this kind ({label}), so no start position can be given: {offset}"
    ),
    "kafka_negative": (
        "The offset has {partitions:listed 3}. Spark never writes negative offsets, so this file was made"
        " by hand: put the real positions there (-2 and -1 work in the option only, and -1 would skip what"
        " was not read)."
    ),
    "kafka_resume": (
        "Applies only to a new, empty checkpoint. Every partition of every subscribed topic must be named:"
        " add partitions created since with -2 (earliest). Servers and topics are not in the checkpoint:"
        " keep the query's own. With failOnDataLoss (default true) the query fails when these offsets have"
        " expired."
    ),
    "kafka_resume_or_event_hubs": (
        "Applies only to a new, empty checkpoint. Every partition of every subscribed topic must be named:"
        " add partitions created since with -2 (earliest). Servers and topics are not in the checkpoint:"
        " keep the query's own. With failOnDataLoss (default true) the query fails when these offsets have"
        " expired. The connector of Azure Event Hubs writes the same text; it needs"
        " eventhubs.startingPositions instead."
    ),
    "event_hubs_resume": (
        "Applies only to a new, empty checkpoint. The connector silently moves to the earliest event when"
        " these have expired."
    ),
    "no_partitions": ("No partitions."),
    "not_topics": ("Not a topic and partition map."),
    "topic_at": "{topic}: {partitions:counted partition} at {position:number}",
    "topic_from_to": "{topic}: {partitions:counted partition} at {lowest:number} to {highest:number}",
    "next_to_read": "Next {unit} to read: {topics:listed 5}",
    "files_none_read": (
        "No file was read yet: start with a new checkpoint location and without a start position."
    ),
    "files_resume": (
        "The file source has no working start option: modifiedAfter is refused, and maxFileAge and"
        " latestFirst skip nothing. Write a new checkpoint whose file source log names the files already"
        " read, with their paths and times exactly as in the old log."
    ),
    "files_repeats": "every input file that still exists, unless the file source log is pre-populated",
    "files_repeats_counted": (
        "every input file that still exists, of {count:counted file} already read, unless the file source"
        " log is pre-populated"
    ),
    "not_files": ("Not a file source offset."),
    "files_nothing_read": ("No file read yet"),
    "files_read": ("All files up to entry {entry} of the file source log"),
    "auto_loader_resume": (
        "Set modifiedAfter to the newest modification time among the files already read; list them with"
        " cloud_files_state('<checkpoint>') on Databricks. The time is not in the offset log."
        " modifiedAfter is exclusive: files with the same or an older time that arrive later are missed,"
        " so choose an earlier time when the target removes repeats."
    ),
    "auto_loader_repeats": ("without an option: every file that still exists"),
    "auto_loader_skips": ("with modifiedAfter: files that arrive late with an older time"),
    "not_auto_loader": ("Not an Auto Loader offset."),
    "auto_loader": ("Discovered file number {value}"),
    "auto_loader_with_path": ("Discovered file number {value}, last path {path}"),
    "delta_id_changed": ("The table ID changed: the source table was replaced."),
    "delta_in_snapshot": (
        "The query stopped inside the first snapshot of the table (version {version}); no start option"
        " begins there." + _TRANSPLANT
    ),
    "delta_in_snapshot_after": (
        "The query stopped inside the first snapshot of the table (version {version}) after {files:counted"
        " file}; no start option begins there." + _TRANSPLANT
    ),
    "delta_in_snapshot_repeats": (
        "without a start option: the whole snapshot; with startingVersion={version}: the rows of that"
        " version already read"
    ),
    "delta_in_snapshot_skips": (
        "with startingVersion={version}: what is left of the snapshot from earlier versions; with"
        " {next_version}: all that is left of it"
    ),
    "delta_inside": (
        "The query stopped inside version {version}, after {files:counted file} of it; startingVersion can"
        " only begin at a whole version. If it reads the change data feed, this may also be the last file"
        " of the version: then startingVersion={next_version} is exact as soon as that version exists."
        + _TRANSPLANT
    ),
    "delta_inside_repeats": (
        "with startingVersion={version}: the first {files:counted file} of version {version}"
    ),
    "delta_inside_skips": ("with startingVersion={next_version}: the other files of version {version}"),
    "delta_schema_change_resume": (
        "The query stopped at a schema change in version {version}, before any row of it. Applies only to"
        " a new, empty checkpoint." + _TRANSPLANT
    ),
    "delta_resume": (
        "Exact if version {version} exists in the table. A query that has read everything logs the newest"
        " version + 1, and then the start fails with DELTA_VERSION_NOT_FOUND until the next commit."
        " Applies only to a new, empty checkpoint; versions from {version} on must still be in the table's"
        " log." + _TRANSPLANT
    ),
    "not_of_kind": ("Not a {label} offset."),
    "delta_at_snapshot": (
        "{label} {table}, inside the first snapshot (version {version}), {files:counted file} done"
    ),
    "delta_at_files": ("{label} {table}, inside version {version}, {files:counted file} done"),
    "delta_at_schema_change": ("{label} {table}, at a schema change in version {version}"),
    "delta_before": ("{label} {table}, before version {version}"),
    "delta_snapshot_finished": ("The first snapshot (version {first}) was finished."),
    "delta_snapshot_finished_and_files": (
        "The first snapshot (version {first}) was finished, and {files:counted file} of version {version}"
        " read."
    ),
    "delta_and_files": ("And {files:counted file} of version {version}."),
    "delta_and_files_of_snapshot": ("And {files:counted file} of the first snapshot (version {version})."),
    "delta_index_down": ("The file index inside version {version} went down from {start} to {end}."),
    "delta_index_down_in_snapshot": (
        "The file index inside the first snapshot (version {version}) went down from {start} to {end}."
    ),
    "delta_files": ("{files:counted file} of version {version}."),
    "delta_files_of_snapshot": ("{files:counted file} of the first snapshot (version {version})."),
    "delta_moved_to_schema_change": ("At a schema change in version {version}."),
    "counter_resume": (
        "A bare number is written by Spark's rate, socket and memory sources, which have no start option,"
        " and by Neo4j's connector, which starts at a time. The checkpoint does not show which one it is,"
        " so no option is given."
    ),
    "not_a_number": ("Not a number."),
    "counter_nothing_read": ("Nothing read yet (-1)"),
    "counter": ("Position {value}"),
    "rate_resume": (
        "The rate source has no start option: a new checkpoint begins at value 0 again, with a new start"
        " time. Transplant: this offset as `offsets/0` and `offsets/1` with `commits/0` and `commits/1`,"
        " and a copy of `sources/<n>/0` (the start time), resumes exactly."
    ),
    "rate_repeats": ("without the transplant: all values from 0 on, with new timestamps"),
    "rate": ("{value} seconds after the start of the source"),
    "socket_resume": (
        "A socket cannot be read again: lines sent before the query starts are gone, and there is no start"
        " option."
    ),
    "socket_skips": ("every line that was not read"),
    "socket_nothing_read": ("No line read yet"),
    "socket": ("Lines 0 to {value} were read"),
    "memory_resume": ("A memory stream exists only in the test that made it; there is no start option."),
    "memory_repeats": ("whatever the test adds again"),
    "memory_skips": ("everything the ended process had in memory"),
    "rate_micro_batch_resume": (
        "There is no option for the first row (startTimestamp only sets the timestamps). A new checkpoint"
        " with this offset written by hand as `offsets/0` and a `commits/0` resumes exactly."
    ),
    "rate_micro_batch_repeats": ("without it: all rows from value 0 on"),
    "not_rate_micro_batch": ("Not a rate-micro-batch offset."),
    "rate_micro_batch": ("{rows} rows made"),
    "rate_micro_batch_at": ("{rows} rows made, next rows at {time}"),
    "rate_continuous_resume": (
        "The continuous rate source makes its rows from the clock and has no start option."
    ),
    "rate_continuous_repeats": ("all values from 0 on, with new timestamps"),
    "not_rate_continuous": ("Not a continuous rate offset."),
    "rate_continuous": ("Last values {lowest} to {highest} in {partitions:counted partition}"),
    "unknown_resume": (
        "The form of this offset is not known, so no start option can be named: {offset}" + _COPY_THE_LOGS
    ),
    "python_resume": (
        "Where a new checkpoint starts is decided by the source's own initialOffset(). If its author"
        " offers an option for it, give it this offset: {offset} A transplant (this offset as `offsets/0`"
        " and `offsets/1`, with `commits/0` and `commits/1`) resumes there unless the source keeps"
        " something of its own."
    ),
    "python_repeats": ("without such an option: depends on the position that initialOffset() returns"),
    "union_completed": ("Completed in this batch: {names:listed 3}."),
    "union_resume": (
        "This line shows only which source is being read ({active}; done: {done:listed 3}). Read the"
        " active source alone in the new query and give it its own start position."
    ),
    "union_repeats": ("with the whole union: every completed source"),
    "not_union": ("Not a sequential union offset."),
    "union": ("Reading {active}; done: {done:listed 3}"),
}
