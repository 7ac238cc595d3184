"""Start positions of a Kafka source, compared with the broker."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "not_compared": "Not compared with the broker: {reason} {note}",
    "nothing_is_left": "{gone} Nothing of this source is on the broker {servers}.",
    "new_checkpoint_only": "Applies only to a new, empty checkpoint.",
    "names_every_partition": "Names every partition that {topics} has on the broker {servers} now.",
    "new_partitions": (
        "{names} {count:one is/are} new since and {count:one begins/begin} at -2, the earliest record."
    ),
    "new_from_beginning": "New partitions ({names}) are read from their beginning.",
    "offsets_not_returned": (
        "The broker does not return the offsets of {names}, so these were not compared."
    ),
    "not_exact": "NOT EXACT, skips {skips}.",
    "expired": ("{names} can no longer start at the position: {count:one its/their} records have expired."),
    "gone": "{names} {count:one is/are} not on the broker any more.",
    "left_out": (
        "{names} {count:one is/are} not on the broker any more, and the query does not read"
        " {count:one it/them}: what was not read before is lost, and how much that was nobody can tell."
    ),
    "topic_gone": (
        "{names} {count:one is/are} not on the broker any more. Take {topics} out of the subscription."
    ),
    "topic_gone_but_similar": (
        "{names} {count:one is/are} not on the broker any more (there is {similar}). Take {topics} out of the"
        " subscription."
    ),
    "end_and_position": "{name} (ends at {end}, position {position})",
    "recreated": (
        "The topic was deleted and recreated: {partitions}. The new one is read from its first record."
    ),
    "cut_short": (
        "The topic is not a new one, its oldest records are from before this batch: {partitions}. The broker"
        " lost records or holds an older copy, another cluster was asked, or the position was changed by"
        " hand. The start is the earliest record, so that nothing is left out; where you know what was"
        " read, put that position there."
    ),
    "younger": (
        "The topic seems to have been deleted and recreated: the oldest record of {names} is younger than the"
        " batch that had read past it. The new one is read from its first record; if it is the old topic"
        " after all, put the logged positions there, or records are processed twice."
    ),
    "close_in_time": (
        "The oldest record of {names} is up to a minute younger than the batch that had read past it: if the"
        " topic was recreated, its first records are left out; clocks that differ explain it as well."
    ),
    "earliest_and_backfill": (
        "-2 is the earliest record that is left when the query starts. Backfill what is missing if it exists"
        " elsewhere."
    ),
    # what a start skips and repeats
    "skips_everything": "everything after this position",
    "skips_expired": "{lost:counted offset} that {lost:one has/have} expired ({ranges})",
    "skips_expired_older_than": (
        "{lost:counted offset} that {lost:one has/have} expired ({ranges}, all older than {oldest})"
    ),
    "skips_gone": "what was after the position in {names}, no longer on the broker",
    "skips_old_topic": "what was not read of the old topic in {names}",
    "skips_lost_by_broker": "what the broker no longer has of {names}",
    "repeats_what_is_left": (
        "up to {offsets:counted offset} of {names}, which the broker still has and the query may have read"
    ),
    "repeats_read_before": (
        "what an older batch had read of partitions that the newest offsets lack: {partitions}"
    ),
    "position_before": "{name} up to {position:number}",
    "position_of_older_batch": (
        "To leave out what was read, put that position in place of -2 (the script takes -2)."
    ),
    "repeats_if_it_is_the_old_topic": (
        "records of the new topic that were read before, if it is the old one after all"
    ),
}
