"""full_refresh: everything again from the earliest position into an empty output; the old output and
checkpoint are renamed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from core.recovery.kit.counting import batch_result, can_count, read_output, same_or_replaced
from core.recovery.kit.kafka import began_at, kafka_now, sink_topic_offsets
from core.recovery.kit.new_checkpoint import (
    back_up,
    check_files_seen,
    check_new_logs,
    end_of_new,
    listed_by_source,
    listed_files,
    old_log,
    whole_of_new,
)
from core.recovery.kit.others import Others, in_words
from core.recovery.kit.query import QueryRun, check_transform, partition_columns, run_to_the_end, stream
from core.recovery.kit.run import check_new_place, check_unmoved
from core.recovery.kit.sink import check_sink_is_ours
from core.recovery.kit.words import Checks, Refused, show


class Refresh:
    """Everything again. ``is_with_backfill``: rows that only the old output has are added afterwards, so
    what is gone at the source is no loss. Where the rows go to another place (REFRESH_INTO) the old output
    stays as it is, and may be anybody's."""

    def __init__(self, run: QueryRun, is_with_backfill: bool) -> None:
        self.run, self.is_with_backfill = run, is_with_backfill
        is_renamed = bool(run.aside_checkpoint) and run.files.exists(run.aside_checkpoint)
        self.old = run.aside_checkpoint if is_renamed else run.old_checkpoint
        self.of_others: list[str] = []  # what others wrote and the new output lacks, or nobody knows

    def look(self) -> None:
        """Refuses what does not fit; not again where an earlier run has begun."""
        run = self.run
        check_new_place(run)
        if run.read_record() is not None:
            return
        if self.old:
            check_unmoved(run, self.old)
        check_transform(run)
        self.check_places()
        self.check_ours()
        if run.sink == "delta" and not run.accepts_plain_table:
            self.check_shape()

    def check_ours(self) -> None:
        """Refuses a sink that this query has not written. One that is ahead of the checkpoint is renamed all
        the same."""
        run = self.run
        if run.is_output_kept:
            if run.files.exists(run.output):
                raise Refused(f"{run.output} is there already. Choose a new directory for REFRESH_INTO.")
            return
        if run.sink == "kafka":
            return
        try:
            check_sink_is_ours(run, self.old, may_be_ahead=True)
        except Refused as reason:
            if self.is_with_backfill or run.sink not in ("file", "delta"):
                raise
            raise Refused(
                f"{reason} To leave that place as it is, name a new directory in REFRESH_INTO."
            ) from reason
        self.check_others()

    def check_others(self) -> None:
        """Refuses a table to which others have written: no source of this query has their rows. A backfill
        brings back the rows that they added, and not what they changed or deleted."""
        run, others = self.run, Others(self.run, self.old)
        lost = others.changed if self.is_with_backfill else others.written
        self.of_others = others.not_known
        if not lost:
            if others.written:
                show(
                    f"Others have added rows to {run.sink_path} too: {in_words(others.written)}. Those whose "
                    "key the new table does not have are added again from the old one."
                )
            return
        if run.accept_loss:
            text = f"what others wrote to {run.sink_path}: the new table does not have it: {in_words(lost)}"
            self.of_others = [f"{text}. It is still in {run.aside_output}", *self.of_others]
            return
        beside = (
            "To leave the table as it is, use the full refresh with a new directory in REFRESH_INTO"
            if self.is_with_backfill
            else "To leave the table as it is, name a new directory in REFRESH_INTO"
        )
        if run.sink != "delta":
            beside = (
                "To leave the table as it is, let write_batch write to a new one and name it in SINK_PATH"
            )
        raise Refused(
            f"Others have written to {run.sink_path} too, and a full refresh would lose what they did: "
            f"{in_words(lost)}. {beside}. If it may be lost, or an earlier checkpoint of this query did it, "
            "set ACCEPT_LOSS = True."
        )

    def check_places(self) -> None:
        """The old output is renamed: nothing else may lie in it."""
        run = self.run
        if run.is_output_kept:
            return
        places = (
            ("The checkpoint", run.old_checkpoint),
            ("BACKUP", run.backup),
            ("NEW_CHECKPOINT", run.new_checkpoint),
        )
        for name, place in places:
            if place and run.sink_path and run.sink != "kafka" and run.files.is_inside(place, run.sink_path):
                raise Refused(
                    f"{name} lies inside the output {run.sink_path}, which would be renamed with it. Move it "
                    "out first."
                )

    def check_shape(self) -> None:
        """The new table is made by the query, so it would lack what was set on the old one."""
        run = self.run
        if not run.files.exists(f"{run.sink_path}/_delta_log"):
            return
        place = run.sink_path.replace("`", "``")
        detail = run.spark.sql(f"DESCRIBE DETAIL delta.`{place}`").first().asDict()
        kept = [f"{name} = {value}" for name, value in sorted((detail.get("properties") or {}).items())]
        clustered = detail.get("clusteringColumns")
        kept += [f"clustered by {', '.join(clustered)}"] if clustered else []
        if kept:
            raise Refused(
                f"The table has settings that the new one would not have ({'; '.join(kept)}). Set "
                "ACCEPT_PLAIN_TABLE = True to make it without them, and set them again afterwards."
            )

    def check_sources(self) -> Checks:
        """Whether all that was read is still there, and a topic that is written to is empty; not again where
        the query has a new checkpoint."""
        if self.run.is_made:
            return []
        checks = [self.check_source(source) for source in self.run.sources]
        self.check_topic_empty()
        return checks

    def check_source(self, source: Mapping[str, Any]) -> tuple[bool | None, str]:
        """A refresh would lose what was read before and is gone now."""
        name = f"source {source['key']}"
        unknown = f"{name}: whether everything that was read is still at the source"
        try:
            found = self.gone_at(source)
        except Refused as reason:
            return None, f"{unknown} ({reason})"
        if found is None:
            return None, unknown
        is_gone, text = found
        if self.is_with_backfill:
            show(f"{name}: {text}")
        elif is_gone and not self.run.accept_loss:
            instead = "use the full refresh with backup and backfill, or "
            raise Refused(
                f"{name}: {text}. A full refresh would lose their rows: "
                f"{'' if self.run.is_output_kept else instead}set ACCEPT_LOSS = True."
            )
        return True, f"{name}: {text}"

    def gone_at(self, source: Mapping[str, Any]) -> tuple[bool, str] | None:
        """Whether something that was read is gone at the source, in words; None where that is not known."""
        run, directory = self.run, source["directory"]
        if source["kind"] == "file" and source["position"] is not None and directory is not None:
            read = {entry["path"] for entry in old_log(run, source, self.old)}
            gone = sorted(read - listed_files(run, source))
            example = f", for example {gone[0]}" if gone else ""
            return bool(gone), f"{len(gone)} of {len(read)} files that were read are gone{example}"
        place = f"{self.old}/{directory}/0"
        if source["kind"] == "kafka" and directory is not None and run.files.exists(place):
            now = kafka_now(run.spark, source)
            gone = [
                f"{topic}-{partition}"
                for topic, partitions in began_at(run.files, place).items()
                for partition, at in partitions.items()
                if now.get(topic, {}).get(partition, (at + 1,))[0] > at
            ]
            if gone:
                return True, f"records that were read have expired in {', '.join(gone)}"
            return False, "nothing has expired"
        return None

    def check_topic_empty(self) -> None:
        """Refuses a topic with records, which cannot be renamed."""
        run = self.run
        if run.sink != "kafka":
            return
        ends = sink_topic_offsets(run)
        if not ends:
            raise Refused(
                f"The topic {run.sink_topic!r} does not exist. Create it, empty, for the refreshed records."
            )
        if any(following for partitions in ends.values() for _, following in partitions.values()):
            raise Refused(
                f"The topic {run.sink_topic!r} already has records, and a topic cannot be emptied by "
                "renaming. Use a new topic."
            )

    def run_again(self, checks_of_source: Checks) -> Checks:
        """Backs up, makes room, and runs the query from the beginning; gives what was verified."""
        run = self.run
        checks = back_up(run, self.old) if self.old else []
        record = run.read_record()
        if record is None:
            self.check_ours()
            columns = partition_columns(run) if run.sink_path else []
            record = {"partition_by": columns, "source_checks": checks_of_source, "others": self.of_others}
        if not run.is_made:
            run.write_record({name: record[name] for name in ("partition_by", "source_checks", "others")})
            self.set_aside()
            run.files.make(run.new_checkpoint)
            checks += checks_of_source
        else:  # what the first run could not prove stays unproven
            checks += [(good, text) for good, text in record["source_checks"]]
        checks += [(None, text) for text in record["others"]]
        shown = listed_by_source(run)
        starts = {source["key"]: source["start"] for source in run.sources}
        run_to_the_end(run, stream(run, starts), record["partition_by"])
        if not run.files.numbers(f"{run.new_checkpoint}/offsets"):
            return [*checks, (False, "no batch ran: the source has nothing to read")]
        return [*checks, *check_new_logs(run, 0), *check_files_seen(run, shown), *self.check_output()]

    def set_aside(self) -> None:
        """Renames the output, then the checkpoint. A step that an earlier run completed is skipped."""
        run, files = self.run, self.run.files
        if run.is_output_kept:
            show(f"{run.sink_path} stays as it is. New output: {run.output}")
        elif run.sink_path and run.sink != "kafka" and files.exists(run.sink_path):
            files.rename(run.sink_path, run.aside_output)
            run.changed.append(f"{run.sink_path} was renamed to {run.aside_output}; undo: rename it back")
            show(f"Old output: {run.aside_output}")
            if run.sink == "file":
                show(
                    "Its file sink log has the old paths: to read it, set "
                    "spark.sql.streaming.fileStreamSink.ignoreMetadata=true or rename it back."
                )
        if not run.old_checkpoint:
            return
        if files.exists(run.old_checkpoint):
            files.rename(run.old_checkpoint, run.aside_checkpoint)
            renamed = f"{run.old_checkpoint} was renamed to {run.aside_checkpoint}"
            run.changed.append(f"{renamed}; undo: rename it back")
        show(f"Old checkpoint: {run.aside_checkpoint}")

    def check_output(self) -> Checks:
        """The output must be what a batch query over all input gives, where the two are comparable."""
        run, what = self.run, "the rows in the sink"
        if not can_count(run):
            return [(None, f"{what} (give sink_path and sink_format to have them counted)")]
        newest, _ = end_of_new(run)
        header = run.files.read(f"{run.new_checkpoint}/offsets/{newest}").splitlines()[1]
        if not run.is_batch_result or json.loads(header or "{}").get("batchWatermarkMs", 0) > 0:
            text = "with a watermark or a changed stateful query no batch query gives the same rows"
            return [(None, f"{what}: {text}")]
        try:
            parts = whole_of_new(run)
            expected = None if parts is None else batch_result(run, parts)
        except Exception as error:
            return [(None, f"{what}: the batch query failed ({type(error).__name__})")]
        output = read_output(run, [run.output])
        if expected is None:
            return [(None, f"{what}: this kind of source cannot be read by a batch query for it")]
        if output is None:
            text = "the output is empty"
            if expected.isEmpty():
                return [(True, f"{text}, and so is the result of a batch query over all input")]
            return [(False, text)]
        if self.is_with_backfill and run.sink != "file" and output.count() > expected.count():
            text = "those that an earlier run added from the backup are among them"
            return [(None, f"{what}: {text}")]
        return [same_or_replaced(run, output, expected)]
