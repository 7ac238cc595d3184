"""What the errors of other connectors mean: Event Hubs, Kinesis, Auto Loader of Databricks."""

from __future__ import annotations

from core.messages.error_text import ErrorText

_CLOUD_FILES = (
    "Auto Loader keeps its files in a database of its own below sources/<n>, which is not decoded here."
)

TEXTS: dict[str, ErrorText] = {
    "EVENT_HUBS_POSITION": ErrorText(
        "The sequence number that the query asks for is not in the event hub: it is below the earliest one,"
        " or beyond the last one. Events between the two are lost or were never there.",
        (
            "The retention of the event hub removed the events while the query was down or behind.",
            "The event hub was deleted and recreated: its numbers began at 0 again.",
            (
                "A second reader uses the same consumer group and partition: the connector then gets events"
                " of another position."
            ),
        ),
        action=(
            "Compare the sequence numbers of the message with the position in the checkpoint. If the events"
            " are gone, start the query with a new checkpoint location and startingPositions at the earliest"
            " number of each partition, and backfill the rest. If nothing is gone, give the query a consumer"
            " group of its own and restart it."
        ),
        unseen="What the event hub has today is not in the files.",
    ),
    "KINESIS_SHARD_LOG_MISSING": ErrorText(
        "The Kinesis connector did not find its own list of shards of the last batch"
        " (sources/<n>/shard-commit/<batch>), so it cannot plan the next one.",
        (
            "Files below sources/ were deleted by hand or by a rule of the bucket.",
            "The store listed or read the file late, or refused it; the connector gave up after its retries.",
            "offsets/ was rolled back or restored without sources/.",
        ),
        action=(
            "Restore sources/ from the same backup as offsets/ and commits/. If there is none, start the"
            " query with a new checkpoint location at the time of the last committed batch."
        ),
    ),
    "AUTO_LOADER_NEW_FIELDS": ErrorText(
        "Auto Loader met columns that its schema does not have, noted them and stopped by design"
        " (cloudFiles.schemaEvolutionMode=addNewColumns). The batch is not committed.",
        ("New files have a column that the earlier ones did not have.",),
        action=(
            "Restart the query: it takes the new schema, and the batch is re-run. A Delta sink needs"
            " mergeSchema=true, else it stops there with DELTA_METADATA_MISMATCH."
        ),
        unseen="The schema of Auto Loader lies below cloudFiles.schemaLocation.",
    ),
    "AUTO_LOADER_OPTION": ErrorText(
        "Auto Loader lacks an option that it needs. The start failed before the checkpoint was looked at.",
        ("The option in the message is not set, or is set under another name.",),
        action="Set the option that the message names and restart the query.",
        unseen="The options of the query are in its code.",
    ),
    "AUTO_LOADER": ErrorText(
        "Auto Loader (cloudFiles) of Databricks failed; the message says why.",
        (
            "Its own files below sources/<n> were deleted, copied or used by a second query.",
            "The input directory, its notifications or the rights on them were changed.",
        ),
        action=(
            "Make sure that one query uses the checkpoint and that the input directory can be listed, then"
            " restart the query. Restore sources/ only together with offsets/ and commits/."
        ),
        unseen=_CLOUD_FILES,
    ),
}
