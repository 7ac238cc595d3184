"""What the page Source & sink says, and what other pages say about source and sink."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "not_connected": "Source and sink are not connected yet",
    "why_connect": (
        "The checkpoint contains what Spark believes. Whether a restart works also depends on the source"
        " and the sink: do the records still exist, does the sink already have the pending batch? What"
        " you enter here stays with this checkpoint on every page and is part of the link. Source and"
        " sink are only read."
    ),
    "source": "Source {key}: {kind}",
    "table_field": "Table that the query reads",
    "directory_field": "Directory that the query reads",
    "sink_field": "Delta table or directory that the query writes",
    "place_placeholder": "s3://bucket/tables/orders   or   root/tables/orders",
    "place_help": "A location, or a name below one of the configured roots.",
    "use_it": "Use it",
    "found_beside": "Found beside the checkpoint: {place}",
    "inside_table": "The checkpoint lies inside a table: {place}",
    "looking_beside": "Looking beside the checkpoint ...",
    # what a link gives and cannot be used
    "link_place": (
        "This link gives a place for source {key!r}. Sources with a place of their own in this checkpoint:"
        " {known:listed}."
    ),
    "link_topics": (
        "This link gives topics of source {key!r}. Kafka sources in this checkpoint: {known:listed}."
    ),
    "no_broker": "No Kafka broker is called {wanted!r} here. Brokers in {setting}: {known:listed}.",
    "no_broker_path": (
        "No Kafka broker is called {wanted!r} here. Brokers in {setting}: {known:listed}. A path can be"
        " given only where the app listens on this machine alone."
    ),
    "no_home": (
        "{path!r} starts with the home directory of a user who is not known here. Write the full path."
    ),
    "broker_placeholder": "Choose a broker of the settings",
    "file_field": "Path of a properties file",
    "file_help": "A librdkafka properties file on the machine of this app.",
    "topics_field": "Topics that the query subscribes to today, if they changed",
    "topics_placeholder": "as before; or with commas: orders,refunds",
    "isolation_field": "kafka.isolation.level of the query",
    "cannot_ask": "There is no check for this kind of source: {kind}.",
    "files_checked": (
        "The forecast above compares the place with the files that the log of the source names, and looks"
        " there for those of a batch that is re-run."
    ),
    "place_not_compared": "Not checked: {why}.",
    "files_elsewhere": "Not looked for here: {files}.",
    "once_delta": (
        "Once connected: how far behind the position is, and whether the versions it needs are still in"
        " the log."
    ),
    "once_files": "Once connected: whether the files of a batch that is re-run still exist.",
    "once_sink": (
        "Once connected: which batches of this query it contains, whether the pending one will be written"
        " or skipped, and the impact of deleting the checkpoint in rows. A sink that is not a Delta table"
        " and has no _spark_metadata keeps no log that could be read."
    ),
    "once_kafka": (
        "Once connected: lag, lost records, how long each position is still safe, topics that were"
        " deleted and recreated."
    ),
    "asking": "Asking the broker ...",
    "not_asked": "The broker was not asked about this source.",
    "without_broker": "The rest of this page does not need the broker.",
    "broker": "{servers} · {isolation} · {n:counted request} in {seconds:.1f} s",
    "how_to": "How to connect a broker",
    "how_to_settings": (
        "Name it in the settings, with the path of a librdkafka properties file, and start the app again:"
    ),
    "how_to_path": (
        "Or enter the path of such a file above. That works only because nobody but you can reach this app."
    ),
    "how_to_file": "The file, for example:",
    "how_to_private": (
        "Nothing is consumed, committed or created. The content of the file is never shown, logged or put"
        " in a link."
    ),
    "to_overview": "Overview: the next start, with source and sink",
    # asking again, on every page
    "ask_again": "Ask again",
    "asked": "asked {at:clock}, {age}",
    "asked_about": "asked {at:clock}, {age} · {what}",
    "see_page": "The page Source & sink shows what can be connected.",
    "connect": "Connect source and sink",
    "left_out": "What it would have answered is not part of this page.",
    "subscribes": "source {key} reads {topics:listed}",
    "at": "source {key}: {place}",
    "at_broker": "broker: {name}",
    "at_sink": "sink: {place}",
    # Kafka
    "no_partition": "The checkpoint does not name a partition of this source yet.",
    "kafka_ok": "In {share} the committed position is in what the broker still has.",
    "kafka_lost": "{share} lost {n:counted offset} that {n:one was/were} not read.",
    "kafka_lag": "At most {n:counted record} behind.",
    "kafka_no_lag": "The lag is not known.",
    "all_of": "{n:counted partition}",
    "some_of": "{n:number} of {total:counted partition}",
    "similar": "similar names on the broker: {names}",
    "topics": "{n:counted topic}",
    "topics_table": "The topics of the source on the broker",
    "lag_note": "latest minus committed offsets",
    "lost_note": "expired before they were read",
    "partition_hover": "earliest {earliest}, committed {position}, planned {planned}, latest {latest}",
    "planned_note": "planned, not committed",
    "more_sentences": "The table has the same for {n:counted more partition}.",
    "map_all": "All partitions, by topic and number. Click one.",
    "map_some": "The {n:number} partitions at highest risk, by topic and number. Click one.",
    "page": "{first:number} to {last:number} of {total:number} partitions, highest risk first",
    "page_alt": "Partitions {first} to {last} of {total}, highest risk first. {headline}",
    "previous": "◀ Previous partitions",
    "next": "Next partitions ▶",
    "partition": "Partition {name}: {state}",
    "record_time": "time of the record at the position: {time}",
    "clear": "Clear selection",
    "between": "{first:moment} to {last:moment}",
    # Delta
    "reservoir": "reservoirVersion after the newest committed batch",
    "newest_of": "newest; the oldest is {oldest}",
    "versions_alt": "Versions of the source table against the position: {sentence}",
    "versions_hover": "oldest version {oldest}, position {position}, newest {newest}",
    "log_there": "its log is there",
    "log_gone": "its log is gone",
    "log_not_known": "not known whether its log is there",
    "log_kept": "The table keeps its log for {retention}.",
    # sink
    "history": "History of the sink",
    "history_runs": (
        "{runs:counted run} of batches with ascending IDs. No sign of duplicates or gaps was found in what"
        " was read."
    ),
    "history_runs_odd": "{runs:counted run} of batches with ascending IDs.",
    "history_empty": "The log has no batch with an ID.",
    "history_table": "Who wrote which batches to the sink, oldest first",
    "contains_up_to": "Contains this query up to",
    "against_versions": "Batches against versions of the table: {parts:listed}.",
    "against_log": "Batches against the log of the sink: {parts:listed}.",
    "newest_in_sink": "newest batch ID in the sink's log",
    "no_pending": "no batch is planned and not committed",
    "skipped_delta": "regardless of content, with this query id",
    "skipped": "regardless of content",
    "in_no_entry": "in no entry of the log",
    "others": "by someone else, in what was read",
    "click": "{text} Click a mark to choose its batch.",
    "batch_not_found": "Batch {batch} is not among the batches and commits that were read from the sink.",
    "to_batch": "Batch {batch} on the timeline",
}

STATES: dict[str, str] = {
    "deleted": "{share} not on the broker.",
    "beyond_end": "{share} beyond the end.",
    "new": "{share} new on the broker.",
}
"""How many partitions are in a state that is not in order."""

RISKS: dict[str, str] = {"edge": "{share} next to expire.", "soon": "{share} expiring soon."}
"""How many positions expire next."""

PENDING: dict[str, str] = {
    "written": "will be written",
    "skipped": "will be skipped",
    "unknown": "not known whether it will be written",
}
"""What the sink does with the pending batch."""

WRITERS: dict[str, str] = {
    "own": "this query",
    "query": "query {writer_id}",
    "application": "application {writer_id}",
    "log": "file sink (its log names no query)",
}
"""Who wrote a run of batches."""
