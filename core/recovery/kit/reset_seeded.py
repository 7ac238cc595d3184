"""reset by a checkpoint that is written by hand: all up to the last committed batch counts as read, and batch
IDs continue."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from core.recovery.kit.counting import batch_result
from core.recovery.kit.files import file_log
from core.recovery.kit.kafka import kafka_start
from core.recovery.kit.new_checkpoint import (
    check_files_seen,
    check_new_logs,
    end_of_new,
    known_as,
    listed_by_source,
    listed_files,
    log_of_files,
    not_twice,
    old_log,
    parts_of_new,
    source_lines,
)
from core.recovery.kit.query import QueryRun, run_to_the_end, stream
from core.recovery.kit.resets import check_planned, check_rows, check_sink_got_it, facts_before, header_of
from core.recovery.kit.run import under_another_name
from core.recovery.kit.sink import delta_epoch, sink_numbers
from core.recovery.kit.words import Checks, show


class Seeded:
    """The new checkpoint. ``first_batch``: its first batch; ``keeps_pending``: the planned batch keeps its
    ID and its end offsets; ``keeps_query_id``: a Delta table knows batches by it."""

    def __init__(self, run: QueryRun, first_batch: int, keeps_pending: bool, keeps_query_id: bool) -> None:
        self.run, self.first_batch, self.seeded_batch = run, first_batch, first_batch - 1
        self.keeps_pending, self.keeps_query_id = keeps_pending, keeps_query_id

    def show_what_is_new(self) -> None:
        """What the first run reads beyond the position, and the rows that it should add to the output.
        Refuses a Kafka position that the broker no longer has."""
        run = self.run
        parts = {}
        if run.read_record() is not None:
            return
        for source in run.sources:
            if source["kind"] == "kafka":
                kafka_start(run, source, special=False)
        for source in run.sources:
            if source["kind"] != "file":
                return
            up_to = json.loads(source["position"])["logOffset"]
            if self.keeps_pending and self.pending_is_in_sink():
                up_to = json.loads(source["pending"])["logOffset"]
            directory = f"{run.old_checkpoint}/{source['directory']}"
            read = {known_as(source, entry["path"]) for entry in file_log(run.files, directory, -1, up_to)}
            listed = listed_files(run, source)
            parts[source["key"]] = sorted(path for path in listed if known_as(source, path) not in read)
            show(f"Source {source['key']}: {len(parts[source['key']])} files are new to the sink")
        if run.keeps_state or run.output_mode != "append":
            return
        frame = batch_result(run, parts)
        if frame is not None:
            show(f"Rows expected from them: {frame.count()}")

    def make(self) -> None:
        """Records what the sink has, and writes the checkpoint; not again where it is there."""
        run = self.run
        if run.is_made:
            return
        run.write_record({**facts_before(run), "pending_is_in_sink": self.pending_is_in_sink()})
        self.write()

    def write(self) -> None:
        """The entries, the planned batch where it is kept, and the metadata."""
        run, files = self.run, self.run.files
        with under_another_name(run) as building:
            done, planned = {}, {}
            for number, source in enumerate(run.sources):
                key = source["key"]
                done[key] = planned[key] = source["position"]
                if source["pending"] is not None:
                    planned[key] = source["pending"]
                if source["kind"] == "file":
                    done[key], planned[key] = self.seed(number, source)
                elif source["kind"] == "kafka":
                    start = kafka_start(run, source, special=False, tells=False)
                    done[key] = json.dumps(start, separators=(",", ":"))
                    if not self.keeps_pending:
                        planned[key] = done[key]
            own_id = run.query_id if self.keeps_query_id else str(uuid.uuid4())
            files.write(f"{building}/metadata", json.dumps({"id": own_id}))
            header = header_of(run, run.last_committed)
            # Two equal entries: Spark requests the range between the last two from some sources, and both
            # must exist.
            for batch in {max(self.seeded_batch - 1, 0), self.seeded_batch}:
                files.write(f"{building}/offsets/{batch}", f"{header}\n{source_lines(run, done)}")
            if self.keeps_pending:
                header = header_of(run, run.pending)
                files.write(f"{building}/offsets/{run.pending}", f"{header}\n{source_lines(run, planned)}")
            files.write(f"{building}/commits/{self.seeded_batch}", "v1\n{}")
        show(f"New checkpoint: {run.new_checkpoint}, the next batch is {self.first_batch}")

    def seed(self, number: int, source: Mapping[str, Any]) -> tuple[str, str]:
        """The file source log that names the files already read, spelled as in the old log; gives the offsets
        that refer to it."""
        run, up_to = self.run, json.loads(source["position"])["logOffset"]
        log = f"{run.building}/sources/{source['name'] or number}"
        run.files.write(f"{log}/0", log_of_files(old_log(run, source), 0))
        planned = 0
        if self.keeps_pending:
            end = json.loads(source["pending"])["logOffset"]
            directory = f"{run.old_checkpoint}/{source['directory']}"
            entries = file_log(run.files, directory, up_to, end) if end > up_to else []
            if entries:
                run.files.write(f"{log}/1", log_of_files(entries, 1))
                planned = 1
        show(
            f"Source {source['key']}: the files up to entry {up_to} of the old file source log count as read"
        )
        return json.dumps({"logOffset": 0}), json.dumps({"logOffset": planned})

    def run_and_check(self) -> Checks:
        """Runs the query until all is read; what it read, and the rows that the sink gained."""
        run = self.run
        record = run.read_record() or {}
        shown = listed_by_source(run)
        run_to_the_end(run, stream(run, {}), record["partition_by"])
        checks = [*check_new_logs(run, self.first_batch), *check_files_seen(run, shown)]
        has_pending = self.keeps_pending and record["pending_is_in_sink"]
        starts: dict[str, Any] = {}
        for number, source in enumerate(run.sources):
            if source["kind"] == "file":
                starts[source["key"]] = 1 if has_pending else 0
                checks.append(self.check_not_twice(number, source))
            else:
                starts[source["key"]] = json.loads(source["pending"] if has_pending else source["position"])
        if end_of_new(run)[0] < self.first_batch:
            return checks
        checks += [*check_sink_got_it(run, self.first_batch), *check_planned(run)]
        # Whether the target of a foreachBatch with transaction ids has the planned batch is not known, so
        # its rows cannot be verified.
        parts = parts_of_new(run, starts) if record["pending_is_in_sink"] is not None else None
        return checks + check_rows(run, record["rows_before"], parts)

    def pending_is_in_sink(self) -> bool | None:
        """Whether the sink already has the planned batch and skips it; None when that cannot be known."""
        run = self.run
        if not self.keeps_pending:
            return False
        if run.sink == "file":
            return run.pending in (sink_numbers(run.files, run.sink_path) or [])
        is_known = run.sink == "delta" and run.query_id is not None
        return delta_epoch(run) == run.pending if is_known else None

    def check_not_twice(self, number: int, source: Mapping[str, Any]) -> tuple[bool | None, str]:
        """No file that counted as read is in a later entry of the new file source log, unless it has changed
        since."""
        old, later, twice = not_twice(self.run, number, source)
        if twice:
            return False, f"source {source['key']}: {len(twice)} old files were read again"
        return True, f"source {source['key']}: {later} files were read, none of the {old} old ones again"
