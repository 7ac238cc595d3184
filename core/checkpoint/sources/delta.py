"""Delta Lake tables and Delta Sharing: a table version and a file index inside it.

Rules observed with real Delta (Spark 4.2): an offset ``(V, -1, false)`` says "all versions below V are done";
``index`` >= 0 is the last file done inside version V; ``isStartingVersion`` true means that the first
snapshot, taken at version V, is still being read. Indexes -20 and -19 (``sourceVersion`` 3) mark a schema
change in version V, before any of its rows; -100 is the same as -1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.checkpoint.sources.base import Advance, Asks, ResumePoint, Seed, SourceContext
from core.checkpoint.sources.forms import (
    OnePosition,
    as_int,
    as_object,
    malformed,
    no_option,
    shortened,
    single_advance,
    unknown_advance,
)
from core.messages import say


@dataclass(frozen=True, slots=True)
class TablePosition:
    """One Delta offset in numbers. ``files_done`` counts the finished files of ``version`` (0 for every
    special index)."""

    table_id: str
    version: int
    index: int
    in_first_snapshot: bool

    @property
    def files_done(self) -> int:
        return max(0, self.index + 1)

    @property
    def at_schema_change(self) -> bool:
        return self.index in (-20, -19)


class TableVersions(OnePosition):
    """What a Delta table and a shared one have in common: the rules of their offsets."""

    label: str
    partition = "version"
    id_field: str
    version_field: str

    def position(self, offset: object) -> TablePosition | None:
        """The offset in numbers; None when it does not have this form. A missing ``isStartingVersion`` counts
        as false (observed)."""
        fields = as_object(offset)
        table_id, version, index = (
            fields.get(self.id_field),
            as_int(fields.get(self.version_field)),
            as_int(fields.get("index")),
        )
        if not isinstance(table_id, str) or version is None or version < 0 or index is None:
            return None
        return TablePosition(table_id, version, index, fields.get("isStartingVersion") is True)

    def recognises(self, offset: object) -> bool:
        return self.position(offset) is not None

    def value(self, offset: object) -> int | None:
        position = self.position(offset)
        return None if position is None else position.version

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        """Table versions passed; a move inside one version is in the note. How many rows that is stands in
        the table's log only."""
        before, after = self.position(start), self.position(end)
        if before is not None and after is not None and before.table_id != after.table_id:
            return unknown_advance("versions", say("sources.delta_id_changed"), [self.partition])
        advance = single_advance(self.value(start), self.value(end), "versions", "estimate", self.partition)
        if before is None or after is None or advance.amount is None:
            return advance
        return Advance(
            advance.amount, advance.unit, advance.bound, advance.by_partition, _inside(before, after)
        )

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        """``startingVersion`` where the offset stands between two versions; the transplant in every other
        case (observed row by row)."""
        position = self.position(end)
        if position is None:
            return malformed(self.label, end)
        version = position.version
        if position.in_first_snapshot:
            note = (
                say("sources.delta_in_snapshot_after", version=version, files=position.files_done)
                if position.files_done
                else say("sources.delta_in_snapshot", version=version)
            )
            return no_option(
                note,
                repeats=say("sources.delta_in_snapshot_repeats", version=version),
                skips=say("sources.delta_in_snapshot_skips", version=version, next_version=version + 1),
                seed="transplant",
            )
        if position.files_done:
            values = {"version": version, "files": position.files_done}
            return no_option(
                say("sources.delta_inside", next_version=version + 1, **values),
                repeats=say("sources.delta_inside_repeats", **values),
                skips=say("sources.delta_inside_skips", version=version, next_version=version + 1),
                seed="transplant",
            )
        options = {"startingVersion": str(version)}
        if position.at_schema_change:
            note = say("sources.delta_schema_change_resume", version=version)
            return ResumePoint(True, options, "nothing", "nothing", note, "inferred", "transplant")
        note = say("sources.delta_resume", version=version)
        return ResumePoint(True, options, "nothing", "nothing", note, "needs_input", "transplant")

    def describe(self, offset: object) -> str:
        position = self.position(offset)
        if position is None:
            return say("sources.not_of_kind", label=self.label)
        values = {
            "label": self.label,
            "table": shortened(position.table_id, 40),
            "version": position.version,
        }
        if position.in_first_snapshot:
            return say("sources.delta_at_snapshot", files=position.files_done, **values)
        if position.files_done:
            return say("sources.delta_at_files", files=position.files_done, **values)
        if position.at_schema_change:
            return say("sources.delta_at_schema_change", **values)
        return say("sources.delta_before", **values)


class DeltaTable(TableVersions):
    """Delta as a streaming source."""

    name = "delta"
    label = "Delta table"
    id_field, version_field = "reservoirId", "reservoirVersion"
    asks: Asks | None = "table"
    reader_format: str | None = "delta"
    seed: Seed | None = "offset_text"
    needs_seed = True
    is_seeded_twice = True
    can_skip = True
    fails_on_data_loss = True


class DeltaSharing(TableVersions):
    """A shared Delta table: the same rules under other field names (documented, not run)."""

    name = "delta_sharing"
    label = "Delta Sharing table"
    id_field, version_field = "tableId", "tableVersion"

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        point = super().resume(end, context)
        return replace(point, certainty="inferred") if point.certainty == "certain" else point


def _inside(before: TablePosition, after: TablePosition) -> str:
    """What a move means that table versions alone do not show."""
    if before.in_first_snapshot and not after.in_first_snapshot:
        if not after.files_done:
            return say("sources.delta_snapshot_finished", first=before.version)
        return say(
            "sources.delta_snapshot_finished_and_files",
            first=before.version,
            files=after.files_done,
            version=after.version,
        )
    inside = after.in_first_snapshot
    if before.version != after.version:
        if not after.files_done:
            return ""
        values = {"files": after.files_done, "version": after.version}
        return (
            say("sources.delta_and_files_of_snapshot", **values)
            if inside
            else say("sources.delta_and_files", **values)
        )
    more = after.files_done - before.files_done
    if more < 0:
        values = {"version": after.version, "start": before.index, "end": after.index}
        return (
            say("sources.delta_index_down_in_snapshot", **values)
            if inside
            else say("sources.delta_index_down", **values)
        )
    if more:
        values = {"files": more, "version": after.version}
        return (
            say("sources.delta_files_of_snapshot", **values)
            if inside
            else say("sources.delta_files", **values)
        )
    return (
        say("sources.delta_moved_to_schema_change", version=after.version) if after.at_schema_change else ""
    )


DELTA = DeltaTable()
DELTA_SHARING = DeltaSharing()
