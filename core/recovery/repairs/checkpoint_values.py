"""The values of a script that verifies a whole checkpoint, beside its places and batches."""

from __future__ import annotations

from core.messages import Sentence, say
from core.recovery.context import RecoveryContext
from core.recovery.model import Constant


def checkpoint_constants(context: RecoveryContext) -> tuple[Constant, ...]:
    """Which sources keep a log of files in the checkpoint, and whether gaps in the logs are normal."""
    logs = {
        source.key: source.directory
        for source in context.sources
        if source.kind.has_own_log and source.directory is not None
    }
    return (
        Constant("FILE_SOURCES", logs, say("recovery_code.file_sources")),
        Constant("ASYNC_PROGRESS", context.is_async, say("recovery_code.async_progress")),
    )


def why_verified(context: RecoveryContext) -> Sentence:
    """What of a whole checkpoint is verified; a Spark without a state reader does not load the state."""
    spark = context.spark_without_reader if context.has_state else None
    if spark is not None:
        return say("recovery_backup.verify_why_unread", spark=spark)
    return say("recovery_backup.verify_why")


def not_asked_constant(context: RecoveryContext) -> Constant:
    """The sources that have a broker or a table, which a script without the query cannot ask."""
    asked = [source for source in context.sources if source.kind.asks in ("broker", "table")]
    kinds = {source.key: source.label for source in asked}
    return Constant("NOT_ASKED", kinds, say("recovery_code.not_asked"))
