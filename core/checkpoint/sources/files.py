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
        if not context.file_log_complete or before is None or after is None or after < before:
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
                "No file was read yet: start a new checkpoint without a start position.",
            )
        read = "every file that was already read"
        if context.file_log_complete:
            read += f" ({bisect_right(context.file_log, value, key=_log_id)} in the source log)"
        return no_option(
            "The file source has no working start option: modifiedAfter is refused and maxFileAge and"
            " latestFirst skip nothing. Write a new checkpoint whose source log names the files already read,"
            " with their paths and times exactly as in the old log.",
            repeats=f"without a seeded source log {read}, as far as it is still there",
            skips="nothing",
            seed="file_source_log",
        )

    def describe(self, offset: object) -> str:
        value = self.value(offset)
        if value is None:
            return "Not a file source offset."
        return "No file read yet" if value < 0 else f"All files up to entry {value} of the source log"


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
            "Set modifiedAfter to the newest modification time among the files already read; list them with"
            " cloud_files_state('<checkpoint>') on Databricks. The time is not in the offset log."
            " modifiedAfter is exclusive: files with the same or an older time that arrive later are missed,"
            " so choose an earlier time when the target removes repeats.",
            repeats="without an option every file that is still there",
            skips="with modifiedAfter files that arrive late with an older time",
            certainty="needs_input",
        )

    def describe(self, offset: object) -> str:
        value = self.value(offset)
        if value is None:
            return "Not an Auto Loader offset."
        path = as_object(offset).get("lastInputPath")
        return f"Discovered file number {value}" + (
            f", last path {shortened(path)}" if isinstance(path, str) else ""
        )


FILES = Files()
AUTO_LOADER = AutoLoader()
