"""backup_and_backfill: after a refresh, the rows that only the old output has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from core.recovery.kit.counting import read_output
from core.recovery.kit.files import log_entries
from core.recovery.kit.query import QueryRun
from core.recovery.kit.sink import sink_numbers
from core.recovery.kit.words import Checks, Refused, show


class Backfill:
    """Adds the rows whose key only the old output has. ``sequence``: the column that says which row of a key
    is newer."""

    def __init__(self, run: QueryRun, keys: Sequence[str], sequence: str | None) -> None:
        self.run, self.keys, self.sequence = run, keys, sequence

    def look(self) -> None:
        """Says when the columns do not tell the rows of the output apart; repeats of a whole row do not
        count. Refuses what :meth:`add` cannot do, before anything is refreshed."""
        run = self.run
        if run.sink == "foreach_merge" and run.sink_format != "delta":
            raise Refused(
                "This script can merge by key into Delta only: merge the old output into the new one with the"
                " tools of your sink."
            )
        if run.read_record() is not None:
            return
        rows = self.read_old_output(run.sink_path) if run.files.names(run.sink_path) else None
        several = 0 if rows is None else self.repeated_keys(rows.distinct())
        if several:
            show(
                f"{several} keys ({', '.join(self.keys)}) have several different rows in {run.sink_path}. The"
                " backfill adds rows whose key is missing, so a row beside another one with its key does not "
                "come back. If each of these rows counts, name columns that tell them apart."
            )

    def add(self) -> Checks:
        """Adds the rows; repeating it adds nothing. Nothing is added where the query read nothing."""
        run = self.run
        if not run.files.numbers(f"{run.new_checkpoint}/offsets"):
            return []
        if not run.files.names(run.aside_output):
            return [(None, "the backfill: there is no old output")]
        old = self.read_old_output(run.aside_output)
        if old is None:
            return [(None, "the backfill: the old output has no rows")]
        if run.sink == "foreach_merge":
            self.merge_newer(old)
            return [self.check_keys(old, [run.sink_path])]
        places = [run.sink_path, run.backfill_path] if run.sink == "file" else [run.sink_path]
        new = read_output(run, places)
        if new is None:
            raise Refused("The refreshed output is empty, so there is nothing to compare the backup with.")
        missing = self.without_keys_of(old, new)
        if missing.isEmpty():
            show("No row of the old output is missing in the new one: nothing is added.")
        elif run.sink != "file":
            self.writer(missing).mode("append").save(run.sink_path)
        elif not run.files.exists(run.backfill_path):
            self.write_beside(missing)
        return [self.check_keys(old, places)]

    def writer(self, rows: Any) -> Any:
        """A writer in the format of the sink."""
        return rows.write.format(self.run.sink_format).options(**self.run.sink_options())

    def write_beside(self, missing: Any) -> None:
        """Rows added to the directory of a file sink are not in its log, so no reader would see them: they
        go to a directory beside it."""
        run = self.run
        building = run.backfill_path + ".preparing"
        if run.files.exists(building):
            run.files.put_aside(building)
        self.writer(missing).save(building)
        run.files.rename(building, run.backfill_path)
        both = f"{run.sink_path!r} and {run.backfill_path!r}"
        show(f"Readers read both and combine them with unionByName: {both}.")

    def read_old_output(self, place: str) -> Any:
        """The old output, at its place or under its new name; None where it has no rows. A file sink log has
        the old paths, which Spark cannot follow there; this function can. Data files that are gone are left
        out and counted. Refuses a log of which a part is missing or damaged."""
        run = self.run
        reader = run.spark.read.format(run.sink_format).options(**run.sink_options())
        log = f"{place}/_spark_metadata"
        if run.sink != "file" or not run.files.exists(log):
            return reader.load(place)
        numbers = sink_numbers(run.files, place) or [-1]
        root, kept = run.files.plain_path(run.sink_path) + "/", {}
        for entry in log_entries(run.files, log, max(numbers)):
            _, found, inside = unquote(entry["path"]).partition(root)
            if not found:
                raise Refused(
                    f"The log of the old output names {entry['path']}, which is not below {run.sink_path}."
                )
            kept[f"{place}/{inside}"] = entry.get("action", "add") == "add"
        named = [path for path, is_kept in kept.items() if is_kept]
        there = {f"{place}/{inside}" for inside in run.files.sizes(place)}
        paths = [path for path in named if path in there]
        if len(paths) < len(named):
            show(f"{len(named) - len(paths)} of {len(named)} data files of the old output are gone.")
        return reader.option("basePath", place).load(paths) if paths else None

    def without_keys_of(self, rows: Any, others: Any) -> Any:
        """The rows whose key is not among the others; nulls count as equal."""
        right = others.select(*[f"`{key}`" for key in self.keys]).distinct()
        condition = None
        for key in self.keys:
            same = rows[f"`{key}`"].eqNullSafe(right[f"`{key}`"])
            condition = same if condition is None else condition & same
        return rows.join(right, condition, "left_anti")

    def repeated_keys(self, rows: Any) -> int:
        """How many keys have more than one row."""
        counts = rows.groupBy(*[f"`{key}`" for key in self.keys]).count()
        return int(counts.where("count > 1").count())

    def check_keys(self, old: Any, places: Sequence[str]) -> tuple[bool | None, str]:
        """Every key of the old output is there, and none twice."""
        rows = read_output(self.run, places)
        lost = self.without_keys_of(old, rows).count()
        twice = self.repeated_keys(rows)
        if lost:
            return False, f"{lost} old keys are missing, {twice} keys occur more than once"
        text = "every key of the old output is there"
        if twice:
            return None, (
                f"{text}; {twice} keys occur more than once, which is right only where the query gives them "
                "so"
            )
        return True, f"{text}, {rows.count()} rows in total, no key twice"

    def merge_newer(self, old: Any) -> None:
        """One row per key from the old output, and only where it is newer than the refreshed row."""
        run, sequence = self.run, self.sequence or ""
        from pyspark.sql import Window, functions

        by_key = Window.partitionBy(*[functions.col(f"`{key}`") for key in self.keys])
        order = by_key.orderBy(functions.col(f"`{sequence}`").desc())
        ranked = old.withColumn("recovery_rank", functions.row_number().over(order))
        newest = ranked.where("recovery_rank = 1").drop("recovery_rank")
        newest.createOrReplaceTempView("recovery_backup")
        quoted = {name: "`" + name.replace("`", "``") + "`" for name in [*self.keys, sequence]}
        same = " AND ".join(f"t.{quoted[key]} <=> s.{quoted[key]}" for key in self.keys)
        table = "delta.`" + run.sink_path.replace("`", "``") + "`"
        newer = f"s.{quoted[sequence]} > t.{quoted[sequence]}"
        run.spark.sql(
            f"MERGE INTO {table} t USING recovery_backup s ON {same} WHEN MATCHED AND {newer} "
            "THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
