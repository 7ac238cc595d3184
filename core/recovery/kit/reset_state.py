"""reset of a query with state: batch 0 of the new checkpoint covers all up to the last committed batch and is
written nowhere."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from core.recovery.kit.counting import batch_result, can_count, read_output, same_or_replaced
from core.recovery.kit.files import gone_and_changed, not_the_same
from core.recovery.kit.kafka import Positions, began_at, kafka_now, kafka_start
from core.recovery.kit.new_checkpoint import (
    check_files_seen,
    check_new_logs,
    end_of_new,
    listed_by_source,
    listed_files,
    log_of_files,
    new_directory,
    not_twice,
    old_log,
    parts_of_new,
    source_lines,
)
from core.recovery.kit.query import QueryRun, read_stream, result, run_to_the_end, stream
from core.recovery.kit.resets import check_sink_got_it, facts_before, old_settings
from core.recovery.kit.run import under_another_name
from core.recovery.kit.words import Checks, Refused, show


class NewState:
    """The new checkpoint. ``warms_up``: the state is rebuilt from the old data, else it starts empty;
    ``watermark_ms``: in force during the last committed batch, 0 for none."""

    def __init__(self, run: QueryRun, warms_up: bool, watermark_ms: int) -> None:
        self.run, self.warms_up, self.watermark_ms = run, warms_up, watermark_ms
        # Batch 0 reads the old data. With a watermark, batch 1 reads nothing and hands out and drops what
        # the old query had handed out and dropped.
        self.silent_batches = [0, 1] if warms_up and watermark_ms > 0 else [0]

    def check_sources(self) -> None:
        """Refuses a Kafka position that the broker no longer has, and old data that is gone; not again where
        an earlier run has begun."""
        run = self.run
        if run.read_record() is not None:
            return
        for source in run.sources:
            if source["kind"] == "kafka":
                start = kafka_start(run, source, special=False)
                if self.warms_up:
                    self.first_offsets(source, start)
            elif source["kind"] == "file" and self.warms_up:
                self.check_files_there(source, old_log(run, source))
        for _, text in [*self.check_files_same(), *self.check_next_watermark()]:
            show(f"NOT CHECKED: {text}")

    def make(self) -> None:
        """Records what the sink has, and writes the checkpoint; not again where it is there."""
        run = self.run
        if not run.is_made:
            run.write_record(facts_before(run))
            self.write()

    def write(self) -> None:
        """The planned batch 0."""
        run, files = self.run, self.run.files
        with under_another_name(run) as building:
            ends = {}
            for number, source in enumerate(run.sources):
                ends[source["key"]] = source["position"]
                log = f"{building}/sources/{source['name'] or number}/0"
                if source["kind"] == "file":
                    entries = old_log(run, source)
                    if self.warms_up:
                        self.check_files_there(source, entries)
                    files.write(log, log_of_files(entries, 0))
                    ends[source["key"]] = json.dumps({"logOffset": 0})
                elif source["kind"] == "kafka":
                    start = kafka_start(run, source, special=False, tells=False)
                    first = self.first_offsets(source, start) if self.warms_up else start
                    # Spark takes where batch 0 begins from here, so no option decides it and a topic or
                    # partition that came later is in no range.
                    files.write(log, "\0v1\n" + json.dumps(first, separators=(",", ":")))
                    ends[source["key"]] = json.dumps(start, separators=(",", ":"))
            # The first offset file fixes the settings of the state. For one that is missing there Spark
            # takes a legacy value, so all of the old ones stay.
            header = {**old_settings(run), "batchWatermarkMs": 0, "batchTimestampMs": int(time.time() * 1000)}
            files.write(f"{building}/metadata", json.dumps({"id": str(uuid.uuid4())}))
            lines = f"v{run.offset_log_version}\n{json.dumps(header)}\n{source_lines(run, ends)}"
            files.write(f"{building}/offsets/0", lines)
        show(
            f"New checkpoint: {run.new_checkpoint}; its batch 0 covers everything up to batch "
            f"{run.last_committed}"
        )

    def check_files_there(self, source: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> None:
        """Refuses when files that were read are gone."""
        gone = {entry["path"] for entry in entries} - listed_files(self.run, source)
        if gone and not self.run.accept_loss:
            raise Refused(
                f"{len(gone)} of {len(entries)} files that were read are gone at source {source['key']} (for "
                f"example {min(gone)}), so the state cannot be rebuilt completely. Set ACCEPT_LOSS = True to "
                "continue without them."
            )

    def check_files_same(self) -> Checks:
        """The state is rebuilt from what the files hold now: those that were changed may have other rows."""
        checks: Checks = []
        for source in self.run.sources if self.warms_up else []:
            entries = old_log(self.run, source) if source["kind"] == "file" else []
            changed = gone_and_changed(self.run.files, entries)[1]
            if changed:
                checks.append((None, not_the_same(source["key"], changed, len(entries))))
        return checks

    def first_offsets(self, source: Mapping[str, Any], start: Positions) -> Positions:
        """Where the old query began in every partition of ``start``; refuses when records that it read are
        gone."""
        run = self.run
        place = f"{run.old_checkpoint}/{source['directory']}/0"
        if not run.files.exists(place):
            raise Refused(f"{place} is missing, so it is not known where source {source['key']} began.")
        began, now = began_at(run.files, place), kafka_now(run.spark, source)
        position = json.loads(source["position"])
        first: Positions = {}
        gone = []
        for topic, partitions in start.items():
            for partition, at in partitions.items():
                oldest = now.get(topic, {}).get(partition, (at, at))[0]
                # A partition that was added while the query ran was read from its first record; one that
                # came later was not read.
                read_to = position.get(topic, {}).get(partition)
                old = at if read_to is None else began.get(topic, {}).get(partition, 0)
                if read_to is not None and old < read_to and (oldest > old or at < read_to):
                    gone.append(f"{topic}-{partition}")
                first.setdefault(topic, {})[partition] = min(max(old, oldest), at)
        if gone and not run.accept_loss:
            raise Refused(
                f"Old records of {', '.join(gone)} have expired, so the state cannot be rebuilt completely. "
                "Set ACCEPT_LOSS = True to continue without them."
            )
        return first

    def run_silently(self) -> None:
        """Runs the batches of the old data, into no sink. Without an empty entry for each of them the file
        sink log would not begin at 0 and could not be read."""
        run = self.run
        for number in self.silent_batches:
            self.run_into_noop(number)
        for number in self.silent_batches if run.sink == "file" else []:
            place = f"{run.output}/_spark_metadata/{number}"
            if not run.files.exists(place):
                run.files.write(place, "v1")

    def run_into_noop(self, number: int) -> None:
        """Runs exactly this batch, into the noop sink."""
        run, files, new = self.run, self.run.files, self.run.new_checkpoint
        if number in files.numbers(f"{new}/commits"):
            return
        if number == 1:
            self.plan_closing_batch()
        from pyspark.sql.functions import lit

        frames = {}
        for source in run.sources:
            frame = read_stream(run, source, {})
            frames[source["key"]] = frame if self.warms_up else frame.where(lit(False))
        writer = result(run, frames).writeStream.option("checkpointLocation", new)
        # Trigger once: the planned batch and nothing else.
        writer = writer.outputMode(run.output_mode).trigger(once=True)
        writer.format("noop").start().awaitTermination()
        done = list(range(number + 1))
        if files.numbers(f"{new}/commits") != done or files.numbers(f"{new}/offsets") != done:
            raise Refused(
                f"The run into noop went beyond batch {number}. Rename {new} and run the script again."
            )
        if number == 1:
            self.keep_next_watermark()
            batch = run.last_committed
            show(f"What batch {batch} had closed is closed in the new state too; nothing was written.")
        elif self.warms_up:
            show("The state was rebuilt from the old data; nothing was written.")
        else:
            show("The old data counts as read; the state is empty.")

    def plan_closing_batch(self) -> None:
        """Batch 1: no data, and the watermark that the last committed batch of the old query ran with."""
        files, new = self.run.files, self.run.new_checkpoint
        if files.exists(f"{new}/offsets/1"):
            return
        version, header, *lines = files.read(f"{new}/offsets/0").splitlines()
        header = json.dumps({**json.loads(header), "batchWatermarkMs": self.watermark_ms})
        files.write(f"{new}/offsets/1", "\n".join([version, header, *lines]))

    def keep_next_watermark(self) -> None:
        """The next batch gets the watermark that it would have had after the last committed batch of the old
        query."""
        run, files = self.run, self.run.files
        following = (self.last_commit() or {}).get("nextBatchWatermarkMs")
        place = f"{run.new_checkpoint}/commits/1"
        version, commit, *rest = files.read(place).splitlines()
        if following is not None:
            commit = json.dumps({**json.loads(commit), "nextBatchWatermarkMs": following})
            files.replace(place, "\n".join([version, commit, *rest]))

    def last_commit(self) -> dict[str, Any] | None:
        """The last commit of the old query; None when it was cut off."""
        place = f"{self.run.old_checkpoint}/commits/{self.run.last_committed}"
        lines = self.run.files.read(place).splitlines()
        try:
            return dict(json.loads(lines[1] or "{}"))
        except (IndexError, TypeError, ValueError):
            return None

    def check_next_watermark(self) -> Checks:
        """The watermark after the last committed batch stands in its commit."""
        if len(self.silent_batches) == 1 or self.last_commit() is not None:
            return []
        text = f"the watermark after batch {self.run.last_committed}: its commit was cut off"
        return [(None, f"{text}, so the one is taken that follows from the rows that are read again")]

    def run_and_check(self) -> Checks:
        """Runs the query until all is read; what it read, and the rows that the sink has."""
        run = self.run
        record = run.read_record() or {}
        shown = listed_by_source(run)
        run_to_the_end(run, stream(run, {}), record["partition_by"])
        checks = [*self.check_files_same(), *self.check_next_watermark()]
        checks += [*check_new_logs(run, 0), *check_files_seen(run, shown)]
        for number, source in enumerate(run.sources):
            if source["kind"] != "file":
                continue
            old, later, twice = not_twice(run, number, source)
            text = f"source {source['key']}: batch 0 covers {old} old files, {later} new ones came after it"
            if twice:
                text = f"source {source['key']}: {len(twice)} old files were read again"
            checks.append((not twice, text))
        last = self.silent_batches[-1]
        if end_of_new(run)[0] > last:
            checks += check_sink_got_it(run, last + 1)
        return checks + self.check_total()

    def began(self) -> dict[str, Any]:
        """Where batch 0 of the new checkpoint began, by source key: before the first log entry, or Kafka
        offsets."""
        run = self.run
        return {
            source["key"]: began_at(run.files, f"{new_directory(run, number, source)}/0")
            if source["kind"] == "kafka"
            else -1
            for number, source in enumerate(run.sources)
        }

    def began_later(self, source: Mapping[str, Any], began: Any) -> bool:
        """Whether batch 0 begins behind records that the old query had read."""
        if source["kind"] != "kafka":
            return False
        old = began_at(self.run.files, f"{self.run.old_checkpoint}/{source['directory']}/0")
        return any(
            began.get(topic, {}).get(partition, at) > old.get(topic, {}).get(partition, 0)
            for topic, partitions in json.loads(source["position"]).items()
            for partition, at in partitions.items()
        )

    def check_total(self) -> Checks:
        """Where a batch query over all input gives the same rows, the output must have exactly these."""
        run = self.run
        if not (self.warms_up and run.is_batch_result and can_count(run)):
            text = "with watermarks, an empty state or a changed query no batch query gives the same rows"
            return [(None, f"the rows in the sink: {text}")]
        began = self.began()
        if any(self.began_later(source, began[source["key"]]) for source in run.sources):
            text = "the state lacks old records that have expired, so no batch query gives the same rows"
            return [(None, f"the rows in the sink: {text}")]
        try:
            expected = batch_result(run, parts_of_new(run, began) or {})
        except Exception as error:
            return [(None, f"the rows in the sink: the batch query failed ({type(error).__name__})")]
        output = read_output(run, sorted({run.sink_path, run.output}))
        if expected is None or output is None:
            return [(None, "the rows in the sink: there is nothing to compare")]
        return [same_or_replaced(run, output, expected)]
