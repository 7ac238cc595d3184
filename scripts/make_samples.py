"""Make the committed samples afresh: real streaming queries, real crashes, damage done to real checkpoints.

    .venv/bin/python scripts/make_samples.py [name ...]     default: all of them
    .venv/bin/python scripts/make_samples.py --list

The queries run below /data, which must be writable, since Spark writes absolute paths into some logs.
Identifiers and times differ from run to run; what the stories say does not. The Kafka and Delta samples need
the parts (`scripts/setup tests`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.samples import delta, files, kafka, stateful
from scripts.samples.stage import STAGE_ROOT, Stage


class Sample(NamedTuple):
    """How one sample is made, and which directories are kept beside its checkpoint."""

    make: Callable[[Stage], str]
    keep: tuple[str, ...] = ()


SAMPLES = {
    "kafka-pipeline-died-mid-batch": Sample(kafka.kafka_pipeline_died_mid_batch),
    "kafka-topic-gained-partitions": Sample(kafka.kafka_topic_gained_partitions),
    "delta-batch-already-in-table": Sample(
        delta.delta_batch_already_in_table, ("source/_delta_log", "sink/_delta_log")
    ),
    "delta-stopped-in-first-snapshot": Sample(
        delta.delta_stopped_in_first_snapshot, ("source/_delta_log", "sink/_delta_log")
    ),
    "files-stopped-cleanly": Sample(files.files_stopped_cleanly, ("source", "sink/_spark_metadata")),
    "files-died-mid-batch": Sample(files.files_died_mid_batch, ("source", "sink")),
    "named-sources": Sample(files.named_sources),
    "union-of-two-sources": Sample(files.union_of_two_sources),
    "dropduplicates-removed": Sample(stateful.dropduplicates_removed),
    "windowed-aggregation-hot-partition": Sample(stateful.windowed_aggregation_hot_partition),
    "join-watermark-held-back": Sample(stateful.join_watermark_held_back),
    "purged-to-newest-10": Sample(stateful.purged_to_newest_10),
    "state-format-2": Sample(stateful.state_format_2),
    "transform-with-state-timers": Sample(stateful.transform_with_state_timers),
    "missing-delta-file": Sample(stateful.missing_delta_file),
    "hand-made-rewind": Sample(stateful.hand_made_rewind, ("source",)),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the committed samples afresh.")
    parser.add_argument("names", nargs="*", metavar="name", help="default: all")
    parser.add_argument("--list", action="store_true", help="only print the names")
    options = parser.parse_args()
    if options.list:
        print("\n".join(SAMPLES))
        return 0
    unknown = [name for name in options.names if name not in SAMPLES]
    if unknown:
        parser.error(f"unknown sample {', '.join(unknown)}; --list names them")
    try:
        STAGE_ROOT.mkdir(exist_ok=True)
    except OSError:
        print(
            f"{STAGE_ROOT} cannot be made: create it and make it writable for you, the queries run there",
            file=sys.stderr,
        )
        return 1
    for name in options.names or SAMPLES:
        sample = SAMPLES[name]
        print(f"{name} ...", file=sys.stderr, flush=True)
        stage = Stage(name)
        try:
            stage.open()
        except FileExistsError:
            print(f"{stage.root} is there already and may be somebody's: remove it first", file=sys.stderr)
            return 1
        try:
            stage.publish(sample.make(stage), sample.keep)
        finally:
            stage.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
