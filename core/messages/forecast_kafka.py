"""What the next start makes of a Kafka source, with the broker asked: risks, failures and what follows."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # what was not checked
    "broker_not_asked": ("the Kafka broker (retention, recreated topics, new partitions) of source {key}"),
    "broker_not_asked_because": (
        "the Kafka broker (retention, recreated topics, new partitions) of source {key} ({reason})"
    ),
    "planned_since": "a batch was planned since it was asked",
    "whether_topic_begins_at_0": (
        "whether topic {topics} of source {key} begins at offset 0 (it is read from there)"
    ),
    "offsets_not_returned": "the offsets of {names}, which the broker does not return",
    "offsets_not_returned_because": "the offsets of {names}, which the broker does not return ({reason})",
    # a plan that a failed start left behind
    "plan_needs_new_checkpoint": (
        "The broker has no {names}: without offsets/{n} the next plan would fail in the same way. Start the"
        " query with a new checkpoint location and with startingOffsets for what is left."
    ),
    "plan_reset_to_0": (
        "The recovery option reset, with the broker asked, reads the new topic ({names}) from its first"
        " record. The option rewind would not be enough: it keeps the old positions, and records before"
        " them are never read."
    ),
    "plan_rewind": (
        "The recovery option rewind to batch {previous} leaves offsets/{n} out; start its copy with the"
        " topics that the query had: the broker still has these positions, so nothing is lost or repeated."
    ),
    "stays_planned": (
        "Batch {n} stays planned, so every later start fails in the same way; one start with"
        " failOnDataLoss=false reads what is left."
    ),
    "failed_start_leaves_plan": (
        "The failed start leaves offsets/{batch}, planned with what the broker shows then; every later start"
        " keeps that plan, until the recovery option rewind or reset leaves it out."
    ),
    "failed_batch_leaves_plan": (
        "The failed batch leaves its plan in offsets/{batch}, so every later start fails in the same way;"
        " one start with failOnDataLoss=false reads what is left."
    ),
    # what is not there
    "topic_read_again": (
        "{at} has a position of topic {topic} ({position:number}), and the newest position of the source does"
        " not: the topic counts as new and may be read again from its first record."
    ),
    "partitions_read_again": (
        "{previous} has a position of {names}, and {at} does not: {count:one counts as a new partition/they"
        " count as new partitions} and may be read again from the first record."
    ),
    "named_twice": (
        "{at} names {name} more than once: Spark takes the last one ({taken:number}) and not"
        " {highest:number}, so records between them may be read again."
    ),
    "initial_missing": (
        "{at} plans {names}, which {count:one has/have} no earlier position and {count:one is/are} not among"
        " what the query reads from the broker"
    ),
    "topic_absent": ("{count:one topic/topics} {names} {count:one is/are} not on the broker {servers}"),
    "topic_absent_but_similar": (
        "{count:one topic/topics} {names} {count:one is/are} not on the broker {servers} (there is {similar})"
    ),
    "topic_absent_then": (
        "Nothing is written to the checkpoint, and failOnDataLoss=false does not help. (With"
        " subscribePattern the start fails as with partitions that are gone, and leaves its plan.)"
    ),
    "topic_absent_then_open": (
        "With subscribe or assign failOnDataLoss=false does not help. With subscribePattern Spark resumes"
        " without {count:one this topic/these topics} where failOnDataLoss=false, or where no topic of the"
        " pattern is left: what was not read of {names} is lost. Say which it is:"
        " source.{key}.option.subscribePattern, .subscribe or .assign."
    ),
    "nothing_matches": (
        "{at} has positions for {names}, and the broker has no topic that matches the pattern {pattern}:"
        " Spark reads nothing and reports no error until it has one; what was not read of a topic that is"
        " gone is lost."
    ),
    "planned_gone": (
        "{at} reads {names}, which {count:one is/are} not on the broker any more: the tasks wait until a"
        " time-out of one to five minutes"
    ),
    "planned_gone_then": (
        "Batch {n} stays planned, so every later start fails in the same way. failOnDataLoss=false does not"
        " help."
    ),
    "partitions_gone": "{at} has positions for {names}, which {count:one is/are} not on the broker any more",
    "partitions_gone_recreated": (
        "{at} has positions for {names}, which {count:one is/are} not on the broker any more: the topic was"
        " deleted and recreated (Kafka never removes a partition from a topic), or another cluster was asked"
    ),
    "partitions_gone_left_out": (
        "{at} has positions for {names}, which {count:one is/are} not on the broker any more: with"
        " failOnDataLoss=false Spark resumes without them; what was not read of them is lost."
    ),
    "partitions_not_read": "{at} has positions for {names}, which the query does not read any more",
    # expired records
    "expired_in_plan": (
        "{name} of {at} begins at {earliest:number} now, and batch {n} reads from {position:number}:"
        " {lost:counted offset} of the batch {lost:one has/have} expired unread"
    ),
    "expired_in_plan_left_out": (
        "{name} of {at} begins at {earliest:number} now, and batch {n} reads from {position:number}:"
        " {lost:counted offset} of the batch {lost:one has/have} expired; with failOnDataLoss=false they are"
        " left out without an error. If the sink has batch {n} already, they are not lost, and a sink that"
        " appends has the others twice."
    ),
    "expired": (
        "{name} begins at {earliest:number} now, and {at} resumes from {position:number}: {lost:counted"
        " offset} {lost:one has/have} expired unread"
    ),
    "expired_with_others": (
        "{name} begins at {earliest:number} now, and {at} resumes from {position:number}: {lost:counted"
        " offset} {lost:one has/have} expired unread, and records of {others} have expired too"
    ),
    "expired_left_out": (
        "{name} begins at {earliest:number} now, and {at} resumes from {position:number}: {lost:counted"
        " offset} {lost:one has/have} expired unread; with failOnDataLoss=false they are left out without an"
        " error."
    ),
    "expired_set_back": (
        "{name} begins at {earliest:number} now, and {at} looks edited by hand, so how far it was read is not"
        " known: records that no batch has read may have expired, and are left out without an error."
    ),
    "due": "Unread records of {name} are past their retention: they may be deleted at any moment.",
    "due_first_of": (
        "Unread records of {name} (the first of {count:counted partition}) are past their retention: they"
        " may be deleted at any moment."
    ),
    "expire_soon": "Unread records of {name} expire not before {until}.",
    "expire_soon_first_of": (
        "Unread records of {name} (the first of {count:counted partition}) expire not before {until}."
    ),
    # new partitions
    "added_late": "{name} is new to the checkpoint and begins at {earliest:number} instead of 0",
    "added_late_left_out": (
        "{name} is new to the checkpoint and begins at {earliest:number} instead of 0: with"
        " failOnDataLoss=false it is read from there; its earlier records are left out without an error."
    ),
    # a topic that was deleted and recreated
    "planned_short": (
        "{at} reads {name} up to {planned:number}, and it ends at {end:number}: the topic was deleted and"
        " recreated"
    ),
    "planned_short_waits": (
        "{at} reads {name} up to {planned:number}, and it ends at {end:number}: the topic was deleted and"
        " recreated, and the tasks wait kafkaConsumer.pollTimeoutMs (two minutes) before they fail"
    ),
    "planned_short_reads_nothing": (
        "{at} reads {name} up to {planned:number}, and it ends at {end:number}: the topic was deleted and"
        " recreated. With failOnDataLoss=false batch {n} reads nothing of it and is committed: unless the"
        " sink has the batch already, its records are lost."
    ),
    "planned_short_reads_others": (
        "{at} reads {name} up to {planned:number}, and it ends at {end:number}: the topic was deleted and"
        " recreated. With failOnDataLoss=false batch {n} waits kafkaConsumer.pollTimeoutMs (two minutes),"
        " reads only {first:number} to {last:number}, which are other records, and is committed."
    ),
    "offset_changed": (
        "{name} ends at {end:number}, before the position {position:number} of {at}: the topic was deleted"
        " and recreated"
    ),
    "offset_changed_left_out": (
        "{name} ends at {end:number}, before the position {position:number} of {at}: the topic was deleted"
        " and recreated. With failOnDataLoss=false an empty batch takes over the lower end, and the other"
        " partitions resume at the old position: {never_read:counted offset} that {never_read:one is/are}"
        " there now {never_read:one is/are} never read."
    ),
    "cut_short": (
        "{name} ends at {end:number}, before the position {position:number} of {at}, and its oldest records"
        " are from before the newest batch: the broker lost records or holds an older copy, another cluster"
        " was asked, or the position was changed by hand"
    ),
    "cut_short_left_out": (
        "{name} ends at {end:number}, before the position {position:number} of {at}, and its oldest records"
        " are from before the newest batch (an older copy, another cluster, or a position that was changed by"
        " hand). With failOnDataLoss=false an empty batch takes over the lower end: what was written below it"
        " since is never read."
    ),
    "close_in_time": (
        "whether the topic was recreated: the oldest record of {names} is up to a minute younger than the"
        " batch that had read past it, which clocks that differ explain as well"
    ),
    "same_topic": (
        "whether {topics} of source {key} {count:one is/are} still what was read, in the same cluster: a"
        " checkpoint keeps no topic ID, and a topic that a replay or a mirror made again has records with"
        " their old times"
    ),
    "offset_changed_then": (
        "{plan} To read the new topic from its first record set {names} to 0 in {path} (without its .crc)"
        " before."
    ),
    "recreated_and_grown": (
        "{proof} It is read from the old positions on: up to {never_read:counted offset} of the new topic"
        " {never_read:one is/are} never read."
    ),
}
