"""repartition: a copy of the checkpoint whose state lies in another number of shuffle partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.recovery.kit.copying import Copy, check_unused
from core.recovery.kit.placement import (
    Part,
    Placed,
    all_rows,
    compared_rows,
    look_at,
    parts_of,
    refuse_twice,
    version_of_spark,
)
from core.recovery.kit.reading_state import reader_settings, root_cause, session_settings
from core.recovery.kit.rewind import OPERATOR_METADATA, own_schema_paths
from core.recovery.kit.run import Run, check_apart, check_new_place, check_unmoved, under_another_name
from core.recovery.kit.session import PARTITIONS_CONF, PROVIDER_CONF
from core.recovery.kit.starting import STATE_FORMAT_CONF, offset_file
from core.recovery.kit.words import Checks, Refused, first_line, is_hidden, is_verified, show

JOIN_FORMAT_CONF = "spark.sql.streaming.join.stateFormatVersion"


class WithoutKeys(Exception):  # noqa: N818
    """The state of an operator that has no keys."""


class Repartitioned(Copy):
    """The whole checkpoint, and behind its last batch one more that changes the number of partitions.
    ``operators``: id, name and stores of each."""

    def __init__(
        self, run: Run, partitions: int, operators: Sequence[Mapping[str, Any]], state_format: int
    ) -> None:
        super().__init__(run)
        self.partitions, self.operators, self.format = partitions, operators, state_format
        self.before: dict[Part, Placed | None] = {}

    @property
    def last(self) -> int:
        """The last batch of the old checkpoint, committed."""
        return -1 if self.run.last_committed is None else self.run.last_committed

    def check_possible(self) -> None:
        """Refuses what Spark cannot repartition: the provider keeps some changes when it is refused there."""
        run, partitions = self.run, self.partitions
        if isinstance(partitions, bool) or not isinstance(partitions, int) or partitions < 1:
            raise Refused("PARTITIONS is the new number of shuffle partitions: a whole number, 1 or more.")
        if version_of_spark(run.spark) < (4, 2) or not hasattr(run.spark, "_streamingCheckpointManager"):
            raise Refused(f"Only Spark 4.2 and later can repartition state; this is {run.spark.version}.")
        if run.sink == "file":
            raise Refused(
                "The batch that repartitions does not reach the sink, and readers of a file sink fail when "
                "its log lacks a batch ID."
            )
        if run.last_committed is None or run.pending is not None or run.newest_offset != run.last_committed:
            raise Refused(
                f"The newest offset file is {run.newest_offset}, the newest commit {run.last_committed}: let "
                "the query finish its planned batch, then make a new plan."
            )
        check_new_place(run)
        check_apart(run, run.old_checkpoint)
        check_unmoved(run, run.old_checkpoint)
        check_unused(run, self.last + 1)
        self.check_can_move()
        self.check_recorded()
        conf = self.conf(run.old_checkpoint, self.last)
        provider = conf.get(PROVIDER_CONF, "")
        if "RocksDB" not in provider:
            raise Refused(
                f"The state is kept with {provider or 'a provider that the offsets do not name'}; only state "
                "in RocksDB can be repartitioned."
            )
        joins = [operator for operator in self.operators if operator.get("name") == "symmetricHashJoin"]
        if joins and conf.get(JOIN_FORMAT_CONF) == "4":
            raise Refused(
                "Spark's repartition leaves values of a join with state format 4 that the query cannot read "
                "(Spark 4.3: Invalid byte array backed UnsafeRow, in the first batch with rows)."
            )
        if conf.get(PARTITIONS_CONF) in (None, str(partitions)):
            raise Refused(f"The checkpoint has {conf.get(PARTITIONS_CONF)} shuffle partitions already.")
        wanted = self.sizes()
        for operator in self.operators:
            if not any(path.startswith(f"state/{operator['id']}/_metadata/") for path in wanted):
                raise Refused(
                    f"state/{operator['id']} has no operator metadata, which Spark 4.0 and later write: let "
                    "the query run one batch with such a version first."
                )
        if not self.operators:
            raise Refused("The checkpoint has no state, so there is nothing to repartition.")

    def record(self) -> None:
        """The number of partitions of the copy that is made now."""
        if not self.run.is_made:
            self.run.write_record({"partitions": self.partitions})

    def check_recorded(self) -> None:
        """The copy that is there has the number that is asked for now."""
        made = (self.run.read_record() or {}).get("partitions", self.partitions)
        if made != self.partitions and self.run.is_made:
            raise Refused(
                f"{self.run.new_checkpoint} was made with {made} partitions. Choose another location for "
                "NEW_CHECKPOINT."
            )

    def conf(self, place: str, batch: int) -> dict[str, str]:
        """The settings that a batch has pinned."""
        header = offset_file(self.run.files, place, batch)[0]
        return {str(name): str(value) for name, value in (header.get("conf") or {}).items()}

    def look(self) -> dict[str, int]:
        """The files to copy, after everything that only reads."""
        self.check_possible()
        wanted = self.sizes()
        self.before = {part: self.count(part) for part in parts_of(self.operators)}
        for part, found in self.before.items():
            show(f"State of {part}: {'cannot be read here' if found is None else f'{found.rows} rows'}")
        refuse_twice(
            [found for found in self.before.values() if found is not None],
            self.last,
            "Of such a key Spark's repartition keeps one row: choose the option rewind.",
        )
        old = self.conf(self.run.old_checkpoint, self.last)[PARTITIONS_CONF]
        self.show_what_is_copied(wanted, 0)
        show(f"Batch {self.last + 1} of the copy moves the state from {old} to {self.partitions} partitions.")
        return wanted

    # ---- the copy

    def make(self, wanted: Mapping[str, int]) -> None:
        """Copies under another name, repartitions there, then gives it its name."""
        run, files = self.run, self.run.files
        old, new = run.old_checkpoint, run.new_checkpoint
        if files.exists(run.building) and files.exists(new):
            files.put_aside(new)  # a store that renames file by file was cut off
        if files.exists(new):
            return
        with under_another_name(run) as building:
            for path in sorted(wanted):
                files.copy(f"{old}/{path}", f"{building}/{path}", is_verified(path))
                if OPERATOR_METADATA.fullmatch(path):
                    text = own_schema_paths(files, f"{old}/{path}", old, building)
                    files.replace(f"{building}/{path}", text)
            if self.sizes() != wanted:
                raise Refused(
                    "The checkpoint changed while it was copied, so its query is still running. Stop it and "
                    "switch off automatic restarts first."
                )
            self.repartition(building)
            for path in sorted(files.sizes(building)):
                if OPERATOR_METADATA.fullmatch(path):
                    text = own_schema_paths(files, f"{building}/{path}", building, new)
                    files.replace(f"{building}/{path}", text)

    def repartition(self, place: str) -> None:
        """What Spark does, on the copy."""
        provider = self.conf(place, self.last)[PROVIDER_CONF]
        settings = {STATE_FORMAT_CONF: str(self.format), PROVIDER_CONF: provider}
        with session_settings(self.run.spark, settings):
            try:
                self.run.spark._streamingCheckpointManager.repartition(
                    place, self.partitions, enforce_exactly_once_sink=True
                )
            except Exception as error:
                raise Refused(
                    f"Spark did not repartition the copy: {first_line(error)} ({root_cause(error)}). The old "
                    "checkpoint is as it was."
                ) from error

    def altered(self, path: str) -> str | None:
        """What the copied metadata of an operator must be; the added one names no path of the old place."""
        if not OPERATOR_METADATA.fullmatch(path):
            return None
        old = self.run.old_checkpoint
        return own_schema_paths(self.run.files, f"{old}/{path}", old, self.run.new_checkpoint)

    # ---- the proof

    def rows(self, place: str, part: Part) -> Any:
        """The rows of a store after the last batch of a checkpoint."""
        frame = all_rows(self.run.spark, place, max(self.run.files.numbers(f"{place}/commits")), part)
        if not frame.schema["partition_key"].dataType.fields:
            raise WithoutKeys
        return frame

    def count(self, part: Part) -> Placed | None:
        """The rows of a store of the old checkpoint; None when the state reader does not read them."""
        old = self.run.old_checkpoint
        partitions = int(self.conf(old, self.last)[PARTITIONS_CONF])
        with session_settings(self.run.spark, reader_settings(self.format)):
            try:
                return look_at(self.rows(old, part), part, partitions)
            except WithoutKeys:
                raise Refused(
                    f"{part} has no keys, so the query looks for all of its state in partition 0, and Spark "
                    "would move it to another one: it would be lost."
                ) from None
            except Exception as error:
                show(f"The state reader: {root_cause(error)}")
                return None

    def check_rows(self) -> Checks:
        """Every store has the same rows in both checkpoints, each where the query looks for it."""
        checks: Checks = []
        for part, before in self.before.items():
            if before is None:
                checks.append((None, f"the state of {part}: the state reader does not read it"))
                continue
            with session_settings(self.run.spark, reader_settings(self.format)):
                try:
                    checks += self.compared(part, before)
                except Exception as error:
                    text = f"the state of {part} cannot be compared: {root_cause(error)}"
                    checks.append((False, text))
        return checks

    def compared(self, part: Part, before: Placed) -> Checks:
        """The same for one store."""
        was, now = (self.rows(place, part) for place in (self.run.old_checkpoint, self.run.new_checkpoint))
        same = compared_rows(was, now, before.rows, part)
        if before.misplaced:
            return [same, (None, f"that the rows of {part} lie where the query looks for them")]
        after = look_at(now, part, self.partitions)
        return [same, (not after.misplaced, after.by_the_rule())]

    def check_files(self, wanted: Mapping[str, int]) -> Checks:
        """What was copied is as it was; what was added is one batch and state."""
        sizes = self.run.files.sizes(self.run.new_checkpoint)
        there = {path for path in sizes if not is_hidden(path)}
        batch = {f"offsets/{self.last + 1}", f"commits/{self.last + 1}"}
        found = (
            (sorted(set(wanted) - there), "are missing"),
            (
                sorted(path for path in there - set(wanted) - batch if not path.startswith("state/")),
                "do not belong to it",
            ),
            ([path for path in sorted(set(wanted) & there) if not self.is_right(path)], "differ"),
        )
        checks: Checks = [
            (False, f"{len(paths)} files of the new checkpoint {what}, for example {paths[0]}")
            for paths, what in found
            if paths
        ]
        return checks or [(True, f"the {len(wanted)} copied files have the content of the old ones")]

    def check_logs(self) -> Checks:
        """One committed batch more, at the same offsets, with the new number of partitions."""
        run, batch = self.run, self.last + 1
        ends = [run.files.numbers(f"{run.new_checkpoint}/{log}")[-1:] for log in ("offsets", "commits")]
        checks: Checks = [(ends == [[batch], [batch]], f"offsets and commits end at batch {batch}")]
        if not checks[0][0]:
            return checks
        header, sources = offset_file(run.files, run.new_checkpoint, batch)
        old_header, old_sources = offset_file(run.files, run.old_checkpoint, self.last)
        good = sources == old_sources and all(
            header.get(name) == old_header.get(name) for name in ("batchWatermarkMs", "batchTimestampMs")
        )
        checks.append((good, f"batch {batch} has the offsets and the watermark of batch {self.last}"))
        conf = {name: str(value) for name, value in (header.get("conf") or {}).items()}
        wanted = {**self.conf(run.old_checkpoint, self.last), PARTITIONS_CONF: str(self.partitions)}
        text = f"its settings are those of batch {self.last}, with {PARTITIONS_CONF} = {self.partitions}"
        return [*checks, (conf == wanted, text)]

    def check_sink_kind(self) -> Checks:
        """Nobody may have said where the query writes."""
        if self.run.sink is not None:
            return []
        return [(None, "that the query writes to no file sink, whose readers would miss a batch ID")]

    def check(self, wanted: Mapping[str, int]) -> Checks:
        """All of it."""
        return [*self.check_files(wanted), *self.check_logs(), *self.check_rows(), *self.check_sink_kind()]
