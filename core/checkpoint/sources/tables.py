"""Table formats beside Delta: Apache Iceberg, Apache Paimon and Apache Hudi."""

from __future__ import annotations

from collections.abc import Mapping

from core.checkpoint.sources.base import Advance, Capabilities, ResumePoint, SourceContext
from core.checkpoint.sources.forms import (
    OnePosition,
    as_int,
    as_object,
    initial_offset,
    malformed,
    no_option,
    shortened,
    single_advance,
    unknown_advance,
)
from core.messages import say


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
            say("sources_other.iceberg_moved", snapshot=self._snapshot(end), files=max(0, taken)),
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
                say("sources_other.iceberg_nothing_read"),
                repeats="nothing",
                skips=say("sources_other.skips_nothing_same_options"),
                certainty="needs_input",
            )
        if position <= 0:
            return no_option(
                say("sources_other.iceberg_whole_snapshot", snapshot=snapshot),
                repeats=say("sources_other.iceberg_whole_repeats"),
                skips=say("sources_other.iceberg_whole_skips"),
                certainty="needs_input",
                seed="transplant",
            )
        return no_option(
            say("sources_other.iceberg_inside_snapshot", snapshot=snapshot, files=position),
            repeats=say("sources_other.iceberg_inside_repeats", snapshot=snapshot),
            skips=say("sources_other.iceberg_inside_skips", snapshot=snapshot),
            certainty="needs_input",
            seed="transplant",
        )

    def describe(self, offset: object) -> str:
        if not self.recognises(offset):
            return say("sources_other.not_iceberg")
        snapshot, taken = self._snapshot(offset), max(0, self.value(offset) or 0)
        if snapshot == -1:
            return say("sources_other.iceberg_no_snapshot")
        if as_object(offset).get("scan_all_files") is True:
            return say("sources_other.iceberg_first_snapshot", snapshot=snapshot, files=taken)
        return say("sources_other.iceberg", snapshot=snapshot, files=taken)


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
            say("sources_other.paimon_resume", snapshot=self.value(end)),
            repeats=say("sources_other.paimon_repeats"),
            skips=say("sources_other.paimon_skips"),
            certainty="needs_input",
            seed="transplant",
        )

    def describe(self, offset: object) -> str:
        fields = as_object(offset)
        index, total = as_int(fields.get("index")), as_int(fields.get("totalSplits"))
        if not self.recognises(offset) or index is None:
            return say("sources_other.not_paimon")
        values = {"snapshot": self.value(offset), "splits": max(0, index + 1)}
        if total is None:
            return say("sources_other.paimon", **values)
        return say("sources_other.paimon_of", total=total, **values)


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
        return unknown_advance("instants", say("sources_other.hudi_distance"), self.partitions(end))

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
            say("sources_other.hudi_resume"),
            "inferred",
        )

    def describe(self, offset: object) -> str:
        instant = self._instant(offset)
        if instant is None:
            return say("sources_other.not_hudi")
        if set(instant) <= {"0"}:
            return say("sources_other.hudi_before_first")
        return say("sources_other.hudi", instant=shortened(instant, 40))


ICEBERG = Iceberg()
PAIMON = Paimon()
HUDI = Hudi()
