"""What a full refresh loses because a Delta source without a start option begins with the table as it is now:
changes of rows, of which only the result is left. Observed with Delta 4.4 on Spark 4.2."""

from __future__ import annotations

from core.connectors.delta.log import DeltaLog
from core.messages import say
from core.recovery.answers import Answers
from core.recovery.context import RecoveryContext, SourcePosition

CHANGE_FEED = ("readchangefeed", "readchangedata")
SKIPS_CHANGES = ("skipChangeCommits", "ignoreChanges", "ignoreDeletes")
STARTS = ("startingversion", "startingtimestamp")
CHANGE_FEED_IS_ON = "delta.enableChangeDataFeed"


def start_option(answers: Answers, key: str) -> tuple[str, str] | None:
    """The option that says where a Delta source starts, with its value; None where none was given. Spark
    takes the name in any case."""
    given = answers.source_options(key).items()
    return next(((name, value) for name, value in given if name.lower() in STARTS), None)


def changes_lost(context: RecoveryContext) -> list[str]:
    """One sentence for each source of which changes are lost, and one more where its change feed has them."""
    found = []
    for source in context.sources:
        if source.kind.asks == "table":
            found += _of_source(context, source)
    return found


def _of_source(context: RecoveryContext, source: SourcePosition) -> list[str]:
    if start_option(context.answers, source.key) is not None:
        return []
    given = {name.lower(): value for name, value in context.answers.source_options(source.key).items()}
    if any(given.get(name, "").lower() == "true" for name in CHANGE_FEED):
        lost = say("recovery_effects.change_feed_lost", key=source.key)
        return [lost, *_still_there(context.connectors.tables.get(source.key))]
    skips = [name for name in SKIPS_CHANGES if given.get(name.lower(), "").lower() == "true"]
    if not skips:
        return []
    return [say("recovery_effects.snapshot_as_now", key=source.key, options=skips)]


def _still_there(table: DeltaLog | None) -> list[str]:
    """Which start option gives the changes that the log still has."""
    if table is None or table.oldest is None:
        return []
    if table.oldest:
        return [say("recovery_effects.change_feed_since", version=table.oldest)]
    first = table.files_of([0]).get(0)
    made = first.metadata if first is not None else None
    is_on = made is not None and made.configuration.get(CHANGE_FEED_IS_ON, "").lower() == "true"
    return [say("recovery_effects.change_feed_there")] if is_on else []
