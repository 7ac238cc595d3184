"""What the pages State and Watermark say."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "none": "There is no directory state/: the query keeps no state, or state/ was deleted.",
    "none_more": "Without it there is no balance, growth or restorability to show.",
    "gone": "The state of this query is gone: state/ is missing, and the next start fails without it.",
    "listing": "Listing the state ...",
    "not_listed": "The state cannot be listed: {reason}",
    "no_operator": "The directory state/ exists and contains no operator.",
    "no_operator_more": "Nothing has been written yet, or it was removed.",
    "operators": "{n:counted stateful operator}, {size_bytes:size} in {files:counted file}",
    "operators_table": "The stateful operators",
    "operator": "Operator {operator}: {name} · stores: {stores:listed}",
    "name_inferred": "{name} ({certainty})",
    "name_not_known": "name not known",
    # restorability
    "broken_newest": (
        "{n:counted partition} of operator {operator} cannot rebuild the newest version from the files."
    ),
    "broken_needed": (
        "{n:counted partition} of operator {operator} cannot rebuild version {version}, which the next"
        " batch loads, from the files."
    ),
    "no_common": "There is no version that all partitions can rebuild.",
    "common": "The newest version that all partitions can rebuild is {version}.",
    "broken_table": "Partitions that cannot be rebuilt",
    "restorable": (
        "According to the file names, every partition of operator {operator} can be rebuilt up to version"
        " {version}."
    ),
    "next_loads": "The next batch loads version {version} (batch {batch} + 1).",
    "contents_not_checked": "Not checked: the contents of the files.",
    "contents_checked": "Their contents were checked and show no damage, as far as the page Integrity says.",
    "contents_damaged": "That is what the names say; what the contents say stands above.",
    "nothing_restorable": (
        "No version can be rebuilt from the names of the files: nothing is committed yet, or the layout"
        " is not known."
    ),
    "problem": "{file}: {reason}",
    # balance
    "heavy": "at least {times:.0f} times the median",
    "empty": "Partitions that look empty: {ids:listed 20}.",
    "missing": "Partitions that are missing although they are expected: {ids:listed 20}.",
    "total": "Total {size_bytes:size}; median {median:size}; maximum / median {ratio}.",
    "total_at": (
        "Total {size_bytes:size} at version {version}; median {median:size}; maximum / median {ratio}."
    ),
    # growth
    "versions": (
        "Versions {first} to {last} are kept; each batch adds {usual_bytes:size} of changes (median), version"
        " {last} wrote {size_bytes:size}"
    ),
    "versions_full": (
        "Versions {first} to {last} are kept as full files, without changes; those of version {last} have"
        " {size_bytes:size}"
    ),
    "version": "Version {first} is kept; it wrote {size_bytes:size}",
    "unversioned": "{size_bytes:size} in files without a version (sst, log).",
    # one partition
    "partition_largest": "{partition}, the largest",
    "partition_placeholder": "click a bar, or type",
    "no_partition": (
        "This link asks for partition {partition}. Operator {operator} has partitions {first} to {last}"
        " on disk."
    ),
    "partition": "Partition {partition}, store {store}: {size_bytes:size} in {files:counted file}.",
    "partition_version": "Newest version {version}.",
    "partition_no_version": "No version.",
    "partition_share": "{share:.1%} of what the chart above compares.",
    # watermark
    "no_batch": "No batch is planned yet, so there is no watermark.",
    "no_watermark": (
        "There is no watermark in the {n:counted batch/batches} that {n:one was/were} read: the query has"
        " none, or no row with an event time has arrived yet."
    ),
    "no_lag": "Lag and stalls do not apply.",
    "never_evicted": "The state is not evicted by event time as long as there is no watermark.",
    "no_state_either": "There is no directory state/ either.",
    "ahead": (
        "The watermark is {ahead:duration} ahead of the clock of batch {batch}: until the clock gets there,"
        " rows with right event times may be dropped as late."
    ),
    "stuck": "Stuck since batch {first}: {n:counted batch/batches} without a new watermark.",
    "stuck_by_source": "Stuck since batch {first}: no new data from {sources:listed}.",
    "rule_title": "How the watermark moves",
    "lag_ahead": "{ms:duration} ahead",
    "lag_note": "batch start minus watermark",
    "policy_pinned": "pinned in the offset log",
    "policy_default": "not in the log, Spark takes min",
    "starts_left_out": (
        "The starts of the batches are not drawn in the upper panel: the lag is far larger than the range"
        " of the watermark."
    ),
    "went_back": (
        "The watermark of batch {batch} is smaller than that of the batch before: the files were changed."
    ),
    "went_back_proof": "certain · offsets/{batch}",
    "kept_state": "State that ends after {ms:moment} cannot be evicted yet.",
    "shown": ("Shown: {n:number} of {total:counted batch/batches}. Stalls are reported for these only."),
    "jump": (
        "After batch {batch} the watermark was {ahead:duration} ahead of the clock of that batch,"
        " probably because rows carried event times in the future. It is stored in the logs and never"
        " goes back, so rows with right times may be dropped as late until the clock catches up."
    ),
    "jump_proof": "inferred · {file}",
    "stall": "Stall of {n:counted batch/batches} ({first} to {last}), {data} of them with data.",
    "stall_length": (
        "Stall of {n:counted batch/batches} ({first} to {last}, {length:duration}), {data} of them with data."
    ),
    "stall_value": "The watermark stayed at {ms:moment}.",
    "stall_no_value": "The watermark had no value yet.",
    "stall_lasts": "It still does.",
    "why": "{certainty} · {reason}",
    "watermark_table": "The watermark per batch",
}

MEASURES: dict[str, str] = {
    "state": "rows now: files the next batch loads",
    "written": "what the newest version wrote",
    "kept": "all kept files of all versions",
}
