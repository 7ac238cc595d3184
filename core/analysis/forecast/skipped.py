"""Pending batches that the sink has already: it takes nothing of them and starts no task, so that neither
their input nor their state is read. What the batch after them reads is.

Observed with the file sink of 3.5.9 and 4.3.0, and with Delta on 4.2: the batch is planned on the driver
(both offsets are parsed; since 4.0 the operators and their schemas are compared), handed to the sink, skipped
and committed. Positions of Kafka, input files and state files are met by tasks, and so by the next batch that
the sink takes.
"""

from __future__ import annotations

from core.checkpoint.next_batch import LogIds, NextBatch, next_batch
from core.connectors.model import SinkState


def skipped_up_to(logs: LogIds, sink: SinkState | None) -> int | None:
    """The last batch that the sink skips, from the pending one on; None where none is pending, or nothing is
    known of the sink, or it takes the batch."""
    following = next_batch(logs)
    if not following.is_rerun or sink is None or sink.pending != "skipped":
        return None
    return max(following.batch_id, sink.skips_up_to or 0)


def after_skipped(first: NextBatch, last: int) -> NextBatch:
    """The batch behind those that are skipped: what was planned counts as done."""
    return NextBatch(last + 1, False, False, first.newest_offset, first.newest_commit)
