"""Sources that read files: Spark's file source (``{"logOffset":5}``, a bare ``345`` before 2.2) and
Databricks Auto Loader."""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter

from core.checkpoint.sources.base import Advance, Asks, ResumePoint, Seed, SourceContext
from core.checkpoint.sources.forms import (
    OnePosition,
    as_int,
    as_object,
    malformed,
    no_option,
    shortened,
    single_advance,
)
from core.messages import say

_log_id = attrgetter("log_id")


class Files(OnePosition):
    """Spark's file source. The number is an id of its own log below ``sources/<n>``, inclusive; -1 = nothing
    read yet.

    Log ids are not batch ids: a batch without new files repeats the previous id.
    """

    name = "file"
    label = "file source"
    asks: Asks | None = "directory"
    has_own_log = True
    seed: Seed | None = "file_source_log"
    needs_seed = True
    can_warm_up = True
    can_skip = True
    partition = "log id"

    def recognises(self, offset: object) -> bool:
        return (
            isinstance(offset, dict)
            and set(offset) == {"logOffset"}
            and as_int(offset["logOffset"]) is not None
        )

    def value(self, offset: object) -> int | None:
        return as_int(as_object(offset).get("logOffset")) if isinstance(offset, dict) else as_int(offset)

    def first_start(self, context: SourceContext) -> object | None:
        """A file source has no start option: it always begins before its first log entry."""
        return {"logOffset": -1}

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        """Files in the log entries after ``start`` up to ``end``; log ids (one file or more each) when the
        file log is not complete."""
        before, after = self.value(start), self.value(end)
        if before is None or after is None or after < before or not context.file_log_reaches(after):
            return single_advance(before, after, "log ids", "estimate", self.partition)
        log = context.file_log
        amount = bisect_right(log, after, key=_log_id) - bisect_right(log, before, key=_log_id)
        return Advance(amount, "files", "exact", {self.partition: amount})

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        """No option skips files on a new checkpoint (observed): a hand-written source log does."""
        value = self.value(end)
        if value is None:
            return malformed(self.label, end)
        if value < 0:
            return ResumePoint(
                True,
                {},
                "nothing",
                "nothing",
                say("sources.files_none_read"),
            )
        count = (
            bisect_right(context.file_log, value, key=_log_id) if context.file_log_reaches(value) else None
        )
        return no_option(
            say("sources.files_resume"),
            repeats=(
                say("sources.files_repeats")
                if count is None
                else say("sources.files_repeats_counted", count=count)
            ),
            skips="nothing",
            seed="file_source_log",
        )

    def describe(self, offset: object) -> str:
        value = self.value(offset)
        if value is None:
            return say("sources.not_files")
        if value < 0:
            return say("sources.files_nothing_read")
        return say("sources.files_read", entry=value)


class AutoLoader(OnePosition):
    """Databricks Auto Loader: a position in the order of discovery. What was read is in a private RocksDB
    below ``sources/<n>``."""

    name = "auto_loader"
    label = "Databricks Auto Loader"
    partition = "sequence number"

    def recognises(self, offset: object) -> bool:
        fields = as_object(offset)
        marks = {"sourceVersion", "lastBackfillStartTimeMs", "lastBackfillFinishTimeMs", "lastInputPath"}
        return (
            as_int(fields.get("seqNum")) is not None
            and "fetchEpoch" not in fields
            and bool(marks & set(fields))
        )

    def value(self, offset: object) -> int | None:
        return as_int(as_object(offset).get("seqNum"))

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        """About as many files as the sequence number moved (documented behaviour is not exact)."""
        return single_advance(self.value(start), self.value(end), "files", "estimate", self.partition)

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        """``modifiedAfter`` with a time the checkpoint does not show (documented, not run)."""
        return no_option(
            say("sources.auto_loader_resume"),
            repeats=say("sources.auto_loader_repeats"),
            skips=say("sources.auto_loader_skips"),
            certainty="needs_input",
        )

    def describe(self, offset: object) -> str:
        value = self.value(offset)
        if value is None:
            return say("sources.not_auto_loader")
        path = as_object(offset).get("lastInputPath")
        if isinstance(path, str):
            return say("sources.auto_loader_with_path", value=value, path=shortened(path))
        return say("sources.auto_loader", value=value)


FILES = Files()
AUTO_LOADER = AutoLoader()
