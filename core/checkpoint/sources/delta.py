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
    TRANSPLANT,
    OnePosition,
    as_int,
    as_object,
    counted,
    malformed,
    no_option,
    shortened,
    single_advance,
    unknown_advance,
)


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
            return unknown_advance(
                "versions", "The table id changed: the source table was replaced.", [self.partition]
            )
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
            done = f" after {counted(position.files_done, 'files')}" if position.files_done else ""
            return no_option(
                f"The query stopped inside the first snapshot of the table (version {version}){done}; no"
                f" start option begins there. {TRANSPLANT}",
                repeats=(
                    f"without a start option the whole snapshot; with startingVersion={version} the rows of"
                    " that version already read"
                ),
                skips=(
                    f"with startingVersion={version}: what is left of the snapshot from earlier versions;"
                    f" with {version + 1}: all that is left of it"
                ),
                seed="transplant",
            )
        if position.files_done:
            return no_option(
                f"The query stopped inside version {version}, after {counted(position.files_done, 'files')}"
                " of it; startingVersion can only begin at a whole version. If it reads the change data"
                f" feed, this may also be the last file of the version: then startingVersion={version + 1} is"
                f" exact as soon as that version exists. {TRANSPLANT}",
                repeats=(
                    f"with startingVersion={version}: the first {counted(position.files_done, 'files')} of"
                    f" version {version}"
                ),
                skips=f"with startingVersion={version + 1}: the other files of version {version}",
                seed="transplant",
            )
        options = {"startingVersion": str(version)}
        if position.at_schema_change:
            return ResumePoint(
                True,
                options,
                "nothing",
                "nothing",
                f"The query stopped at a schema change in version {version}, before any row of it. Counts"
                f" only in a new, empty checkpoint. {TRANSPLANT}",
                "inferred",
                "transplant",
            )
        return ResumePoint(
            True,
            options,
            "nothing",
            "nothing",
            f"Exact if version {version} exists in the table. A query that has read everything logs the"
            " newest version + 1, and then the start fails with DELTA_VERSION_NOT_FOUND until the next"
            f" commit. Counts only in a new, empty checkpoint; versions from {version} on must still be in"
            f" the table's log. {TRANSPLANT}",
            "needs_input",
            "transplant",
        )

    def describe(self, offset: object) -> str:
        position = self.position(offset)
        if position is None:
            return f"Not a {self.label} offset."
        table = f"{self.label} {shortened(position.table_id, 40)}"
        if position.in_first_snapshot:
            return (
                f"{table}, inside the first snapshot (version {position.version}),"
                f" {counted(position.files_done, 'files')} done"
            )
        if position.files_done:
            return f"{table}, inside version {position.version}, {counted(position.files_done, 'files')} done"
        if position.at_schema_change:
            return f"{table}, at a schema change in version {position.version}"
        return f"{table}, before version {position.version}"


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
        first = f"The first snapshot (version {before.version}) was finished"
        return (
            f"{first}, and {counted(after.files_done, 'files')} of version {after.version} read."
            if after.files_done
            else f"{first}."
        )
    where = (
        f"the first snapshot (version {after.version})"
        if after.in_first_snapshot
        else f"version {after.version}"
    )
    if before.version != after.version:
        return f"And {counted(after.files_done, 'files')} of {where}." if after.files_done else ""
    more = after.files_done - before.files_done
    if more < 0:
        return f"The file index inside {where} went down from {before.index} to {after.index}."
    if more:
        return f"{counted(more, 'files')} of {where}."
    return f"At a schema change in version {after.version}." if after.at_schema_change else ""


DELTA = DeltaTable()
DELTA_SHARING = DeltaSharing()
