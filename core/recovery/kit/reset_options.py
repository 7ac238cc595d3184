"""reset by start options: an empty checkpoint; every source starts where the last committed batch ended."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from core.recovery.kit.kafka import began_at, kafka_start
from core.recovery.kit.new_checkpoint import back_up, check_new_logs, new_directory, parts_of_new
from core.recovery.kit.query import QueryRun, run_to_the_end, stream
from core.recovery.kit.resets import (
    check_ours,
    check_planned,
    check_rows,
    check_sink_got_it,
    check_sink_stands,
    facts_before,
)
from core.recovery.kit.words import Checks, Refused, show


def find_starts(run: QueryRun, first_batch: int, keeps_pending: bool) -> dict[str, dict[str, str]] | None:
    """The reader options of each source, after the sink was asked; None where an earlier run recorded
    them."""
    if run.read_record() is not None:
        return None
    check_sink_stands(run, first_batch, keeps_pending)
    check_ours(run, run.old_checkpoint)
    starts = {source["key"]: start_of(run, source) for source in run.sources}
    for key, start in starts.items():
        show(f"Source {key} would start with {start}")
    return starts


def start_of(run: QueryRun, source: Mapping[str, Any]) -> dict[str, str]:
    """The reader options of one source, checked against the source where it can be asked."""
    if source["kind"] == "kafka":
        return {"startingOffsets": json.dumps(kafka_start(run, source, special=True))}
    if source["kind"] == "delta":
        place = source["path"].replace("`", "``")
        newest = run.spark.sql(f"DESCRIBE HISTORY delta.`{place}` LIMIT 1").first()["version"]
        if int(source["start"]["startingVersion"]) > newest:
            raise Refused(
                f"The source table was read completely (up to version {newest}), and Delta cannot start at a "
                "version that does not exist yet. Run this script again after the next commit to the source "
                "table."
            )
    return dict(source["start"])


def run_with(run: QueryRun, starts: Mapping[str, Mapping[str, str]] | None) -> Checks:
    """Backs up, records the start and runs the query from there; gives the checks of the backup."""
    checks = back_up(run, run.old_checkpoint)
    record = run.read_record()
    if record is None:
        check_ours(run, run.old_checkpoint)
        record = {"starts": starts, **facts_before(run)}
        run.write_record(record)
    elif run.is_made and not run.files.numbers(f"{run.new_checkpoint}/offsets"):
        run.files.put_aside(run.new_checkpoint)  # a failed start may have left a start position of its own
    for key, start in record["starts"].items():
        show(f"Source {key} starts with {start}")
    run_to_the_end(run, stream(run, record["starts"]), record["partition_by"])
    return checks


def from_first(position: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """The partitions with a position that start at their oldest record instead."""
    return [
        f"{topic}-{partition}"
        for topic, partitions in wanted.items()
        for partition, at in partitions.items()
        if at == -2 and partition in position.get(topic, {})
    ]


def check_began(run: QueryRun) -> Checks:
    """Where each source began, and the rows that the sink gained."""
    record = run.read_record() or {}
    if not run.files.numbers(f"{run.new_checkpoint}/offsets"):
        text = "there was no new data; keep the start options above in the query until its first batch"
        return [(True, f"{text} is committed")]
    checks = check_new_logs(run, 0)
    starts = {}
    for number, source in enumerate(run.sources):
        name = f"source {source['key']}"
        if source["kind"] != "kafka":
            checks.append((None, f"where {name} began: this kind of source records no start position"))
            continue
        wanted = json.loads(record["starts"][source["key"]]["startingOffsets"])
        began = began_at(run.files, f"{new_directory(run, number, source)}/0")
        wrong = [
            f"{topic}-{partition}"
            for topic, partitions in wanted.items()
            for partition, at in partitions.items()
            if at >= 0 and began.get(topic, {}).get(partition) != at
        ]
        if wrong:
            checks.append((False, f"{name} began at other positions in {wrong}"))
        elif first := from_first(json.loads(source["position"]), wanted):
            text = f"{name} began at the oldest record of {first}"
            checks.append((True, f"{text}, elsewhere where batch {run.last_committed} ended"))
        else:
            checks.append((True, f"{name} began exactly where batch {run.last_committed} ended"))
        starts[source["key"]] = began
    checks += [*check_sink_got_it(run, 0), *check_planned(run)]
    parts = parts_of_new(run, starts) if len(starts) == len(run.sources) else None
    return checks + check_rows(run, record["rows_before"], parts)
