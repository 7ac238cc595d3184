"""Table formats beside Delta: Apache Iceberg, Apache Paimon and Apache Hudi."""

from __future__ import annotations

from collections.abc import Mapping

from core.checkpoint.sources.base import Advance, Capabilities, ResumePoint, SourceContext
from core.checkpoint.sources.forms import (
    COPY_THE_LOGS,
    OnePosition,
    as_int,
    as_object,
    counted,
    initial_offset,
    malformed,
    no_option,
    shortened,
    single_advance,
    unknown_advance,
)


class Iceberg(OnePosition):
    """Iceberg: ``position`` = added data files of snapshot ``snapshot_id`` already taken, exclusive. Snapshot
    ids are not in order."""

    name = "iceberg"
    label = "Iceberg table"
    partition = "files in snapshot"

    def _snapshot(self, offset: object) -> int | None:
        return as_int(as_object(offset).get("snapshot_id"))

    def recognises(self, offset: object) -> bool:
        return (
            self._snapshot(offset) is not None
            and self.value(offset) is not None
            and "scan_all_files" in as_object(offset)
        )

    def value(self, offset: object) -> int | None:
        return as_int(as_object(offset).get("position"))

    def first_start(self, context: SourceContext) -> object | None:
        """``sources/<n>/offsets/0``."""
        initial = initial_offset(context)
        return initial if self.recognises(initial) else None

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        """Files, when both stand in one snapshot. "Snapshot done" may be written as the next snapshot with
        position 0 (observed)."""
        if not self.recognises(start) or self._snapshot(start) == self._snapshot(end):
            return single_advance(self.value(start), self.value(end), "files", "exact", self.partition)
        taken = self.value(end) or 0
        return unknown_advance(
            "files",
            f"Moved on to snapshot {self._snapshot(end)} ({counted(max(0, taken), 'files')} of it).",
            self.partitions(end),
        )

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        """Only ``stream-from-timestamp`` starts anywhere (observed with 1.12 on Spark 4.1), and commit times
        are not in the checkpoint."""
        snapshot, position = self._snapshot(end), self.value(end)
        if snapshot is None or position is None:
            return malformed(self.label, end)
        if snapshot == -1:
            return no_option(
                "Nothing was read yet: the table was empty, or stream-from-timestamp lay in the future. Start"
                " with the query's own options.",
                repeats="nothing",
                skips="nothing, with the same options as before",
                certainty="needs_input",
            )
        times = (
            "Commit times are in the table's history, not in the checkpoint; start-snapshot-id is ignored"
            " without a message."
        )
        if position <= 0:
            return no_option(
                f"Set stream-from-timestamp to the commit time of snapshot {snapshot}: exact, for nothing of"
                f" it was read yet. {times}",
                repeats="nothing with that time; without an option everything from the oldest snapshot on",
                skips="nothing with that time",
                certainty="needs_input",
                seed="transplant",
            )
        return no_option(
            f"Taken of snapshot {snapshot} so far: {counted(position, 'files')}. If it added no more than"
            " that, set stream-from-timestamp to its commit time + 1 ms: exact. If it added more, no option"
            f" fits. {times} {COPY_THE_LOGS}",
            repeats=(
                f"with the commit time of snapshot {snapshot}: its files already taken; without an option all"
                " from the oldest on"
            ),
            skips=f"with that time + 1 ms: the files of snapshot {snapshot} not yet taken",
            certainty="needs_input",
            seed="transplant",
        )

    def describe(self, offset: object) -> str:
        if not self.recognises(offset):
            return "Not an Iceberg offset."
        if self._snapshot(offset) == -1:
            return "Iceberg table without a snapshot yet"
        whole = (
            ", reading the first snapshot in full" if as_object(offset).get("scan_all_files") is True else ""
        )
        return (
            f"Iceberg snapshot {self._snapshot(offset)}, {counted(max(0, self.value(offset) or 0), 'files')}"
            f" of it taken{whole}"
        )


class Paimon(OnePosition):
    """Paimon: the last split done in a snapshot, inclusive; -1 = before the first. ``totalSplits`` is not
    always there."""

    name = "paimon"
    label = "Paimon table"
    partition = "snapshot"

    def recognises(self, offset: object) -> bool:
        fields = as_object(offset)
        return (
            self.value(offset) is not None
            and as_int(fields.get("index")) is not None
            and "scanSnapshot" in fields
        )

    def value(self, offset: object) -> int | None:
        return as_int(as_object(offset).get("snapshotId"))

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        before, after = self.value(start), self.value(end)
        if before is not None and before == after:
            first, last = as_int(as_object(start).get("index")), as_int(as_object(end).get("index"))
            return single_advance(first, last, "splits", "estimate", self.partition)
        return single_advance(before, after, "snapshots", "estimate", self.partition)

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        if not self.recognises(end):
            return malformed(self.label, end)
        return no_option(
            "Paimon starts at whole snapshots (scan.snapshot-id), and the checkpoint does not always tell"
            f" whether snapshot {self.value(end)} was finished. Compare with the table. {COPY_THE_LOGS}",
            repeats="with the same snapshot: the splits of it already read",
            skips="with the next snapshot: the splits of this one not yet read",
            certainty="needs_input",
            seed="transplant",
        )

    def describe(self, offset: object) -> str:
        fields = as_object(offset)
        index, total = as_int(fields.get("index")), as_int(fields.get("totalSplits"))
        if not self.recognises(offset) or index is None:
            return "Not a Paimon offset."
        of = "" if total is None else f" of {total}"
        return f"Paimon snapshot {self.value(offset)}, {max(0, index + 1)}{of} splits done"


class Hudi(Capabilities):
    """Hudi: the last instant read, inclusive; all zeros before the first."""

    name = "hudi"
    label = "Hudi table"

    def _instant(self, offset: object) -> str | None:
        instant = as_object(offset).get("commitTime")
        return instant if isinstance(instant, str) and set(as_object(offset)) == {"commitTime"} else None

    def recognises(self, offset: object) -> bool:
        return self._instant(offset) is not None

    def positions(self, offset: object) -> Mapping[str, int]:
        """The instant as a number (``yyyyMMddHHmmssSSS``): it grows, but differences mean nothing."""
        instant = self._instant(offset)
        fits = instant is not None and instant.isascii() and instant.isdecimal() and len(instant) <= 18
        return {"instant": int(instant)} if instant is not None and fits else {}

    def partitions(self, offset: object) -> tuple[str, ...]:
        return () if self._instant(offset) is None else ("instant",)

    def first_start(self, context: SourceContext) -> object | None:
        initial = initial_offset(context)
        return initial if self.recognises(initial) else None

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        return unknown_advance(
            "instants", "How many commits lie between is in the table's timeline only.", self.partitions(end)
        )

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        """``hoodie.datasource.streaming.startOffset`` (0.12.2+) starts after an instant (read in the source,
        not run)."""
        instant = self._instant(end)
        if instant is None:
            return malformed(self.label, end)
        return ResumePoint(
            True,
            {"hoodie.datasource.streaming.startOffset": instant},
            "nothing",
            "nothing",
            "Needs Hudi 0.12.2 or newer; older ones always start at the earliest instant. Counts only in a"
            " new, empty checkpoint. The instant must still be in the active timeline.",
            "inferred",
        )

    def describe(self, offset: object) -> str:
        instant = self._instant(offset)
        if instant is None:
            return "Not a Hudi offset."
        return (
            "Before the first commit"
            if set(instant) <= {"0"}
            else f"Commits up to {shortened(instant, 40)} were read"
        )


ICEBERG = Iceberg()
PAIMON = Paimon()
HUDI = Hudi()
