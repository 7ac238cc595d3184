"""What the broker has of the positions of a Kafka source: one sentence per partition and topic."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "not_known": "not known",
    "ask_again": "A batch was planned since the broker was asked: ask again.",
    # how long a position is retained
    "log_start_passed": "the log start has passed the position",
    "compacted_only": "compacted, never deleted by time; a newer record of the same key may replace it",
    "or_earlier_by_size": "{words}; may be deleted earlier by size",
    "never_by_time": "never deleted by time",
    "never_by_time_but_size": "never deleted by time; may be deleted by size",
    "caught_up_until": "caught up; a record produced now is retained at least until {until}",
    "next_to_expire": "the next to expire",
    "next_to_expire_not_before": "the next to expire, expires not before {until}",
    "expires_not_before": "expires not before {until}",
    "past_retention_since": "past its retention since {since}; deleted with the next segment cleanup",
    # one partition
    "offsets_not_known": "{name}: the broker does not return its offsets ({reason}).",
    "topic_of_partition_absent": (
        "{name}: topic {topic} is not on the broker; what was after offset {position} cannot be read."
    ),
    "partition_absent": (
        "{name}: the partition is not on the broker; what was after offset {position} cannot be read."
    ),
    "expired_unread": (
        "{name}: offsets {first:number} to {last:number} have expired unread ({lost:counted offset})."
    ),
    "expired_unread_oldest_left": (
        "{name}: offsets {first:number} to {last:number} have expired unread ({lost:counted offset}); the"
        " oldest record that is left was written at {oldest}."
    ),
    "ends_before_position": (
        "{name}: ends at {end:number}, before the position {position:number}: the topic was deleted and"
        " recreated, or the broker lost records."
    ),
    "new_from_0": "{name}: new since the checkpoint; it is read from 0, whatever startingOffsets says.",
    "new_but_not_from_0": (
        "{name}: new since the checkpoint; it begins at {start:number}, and with failOnDataLoss=true the"
        " query stops at it, whatever startingOffsets says."
    ),
    "ends_before_plan": (
        "{name}: the planned batch reads up to {planned:number}, but the partition ends at {end:number}: the"
        " topic was deleted and recreated."
    ),
    "record_at_position": "{name}: the record at position {position:number}: {words}.",
    # one topic
    "topic_not_known": "The broker does not describe topic {topic}: {reason}.",
    "topic_absent": "Topic {topic} is not on the broker.",
    "topic_absent_but_similar": (
        "Topic {topic} is not on the broker. Topics with a similar name: {similar}."
    ),
    "partitions_new": "Topic {topic} has new partitions: {new}.",
    "partitions_gone": "Topic {topic} has partitions that are not on the broker any more: {gone}.",
    "partitions_new_and_gone": (
        "Topic {topic} has new partitions: {new}; partitions that are not on the broker any more: {gone}."
    ),
    "recreated_ends_below": (
        "Topic {topic} ends before positions of the checkpoint in partition {partitions}: it was deleted and"
        " recreated."
    ),
    "recreated_lacks": (
        "Topic {topic} has no partition {partitions} any more: it was deleted and recreated (Kafka never"
        " removes a partition from a topic), or another cluster was asked."
    ),
    "not_again_other_topic": "The records cannot be read again. {about}",
    "not_again_planned_back": (
        "The records cannot be read again: topic {topic} was recreated, as the plan of batch {planned} shows,"
        " which ends before it begins."
    ),
    "not_again_gone": (
        "What was after batch {batch} in {names} cannot be read again: that is not on the broker any more."
    ),
    "not_again_expired": (
        "{offsets:counted offset} of {names} behind batch {batch} would have to be read again, and"
        " {offsets:one has/have} expired: the start of the copy fails, and the rows cannot be made again."
    ),
    "not_complete_gone": "The broker does not have {names}, of which the query has read records.",
    "not_complete_other_topic": "Not every record that was read is on the broker. {about}",
    "not_complete_expired": "Records of {names} that the query has read are not on the broker any more.",
    "cut_short": (
        "Topic {topic} ends before positions of the checkpoint in partition {partitions}, and its oldest"
        " records are from before the newest batch: the broker lost records or holds an older copy, another"
        " cluster was asked, or the position was changed by hand."
    ),
    "recreated_other_id": (
        "Topic {topic} was deleted and recreated since an earlier check: its id was {earlier} and is {now}"
        " now."
    ),
    "recreated_younger": (
        "Topic {topic} seems to be younger than the checkpoint: the oldest record that is there was written"
        " at {first}, after the batch of {batch} that had read past it. Spark would not notice."
    ),
    "retains_newest_of_each_key": "compacted: the newest record of each key is kept",
    "retains_compacted": "compacted",
    "retains_without_limit": "kept without a time limit",
    "retains_for": "kept {length}",
    "retains_bytes": "at most {amount:number} bytes in each partition",
}
