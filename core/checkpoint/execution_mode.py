"""Whether a query writes rows before their batch is logged: real-time mode (Spark 4.1 and later) and
continuous processing log a batch at its end, when its rows are in the sink.

Seen with Spark 4.3.0 and Kafka. Real-time mode: ``offsets/N`` and ``commits/N`` are written one after the
other when the batch ends, also when it had no data. The commit of a query without state has version 2 and
no ids of state; a micro-batch query that writes version 2 writes an empty object of them (4.0.5, 4.2.0 and
4.3.0), but with asynchronous progress tracking none either (4.3.0): its offset file is written when the
batch is planned, which a copy does not show. With state, and with 4.2.0 also without, the commits are those
of any query with state checkpoint format 2; what remains are the times of the offset files, which are
written when the next batch is planned, and not when their own was (4.2.0: 5.7 to 6.0 s later). A copy does
not have these times, and its query counts as one of micro-batches. Continuous: an empty line in the place of
the settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from core.checkpoint.model import CommitEntry, OffsetEntry
from core.messages import Sentence, say
from core.sparklogs.evidence import Evidence

if TYPE_CHECKING:
    from core.checkpoint.checkpoint import Checkpoint

ExecutionMode = Literal["micro_batch", "real_time", "continuous"]
AT_THE_END_MS = 2_000  # so long after its batch was planned an offset file of a micro-batch is never written
SAME_MOMENT_MS = 1_000  # the end of a batch and the plan of the next; object stores keep whole seconds


@dataclass(frozen=True, slots=True)
class Execution:
    """How the newest batches ran, and by what that is seen. Micro-batches where nothing says otherwise;
    what is said otherwise is inferred."""

    mode: ExecutionMode
    why: Sentence
    evidence: tuple[Evidence, ...] = ()

    @property
    def writes_before_logging(self) -> bool:
        """Whether rows of a batch are in the sink before the checkpoint knows of the batch."""
        return self.mode != "micro_batch"


def execution_of(ck: Checkpoint) -> Execution:
    """Reads the newest commit where it was not read yet, otherwise looks at what was read."""
    offsets = ck.loaded_offsets()
    if ck.is_continuous:
        return Execution("continuous", say("checkpoint.is_continuous"), (offsets[-1].evidence,))
    last = ck.last_committed_batch
    commit = ck.commit(last) if last is not None else None
    if isinstance(commit, CommitEntry) and commit.format_version == 2:
        if commit.has_no_state_ids and _written_when_planned(ck, commit.batch_id):
            return Execution("micro_batch", say("checkpoint.micro_batches"))
        if commit.has_no_state_ids:
            why = say("checkpoint.real_time_commit", path=commit.evidence.path)
            return Execution("real_time", why, (commit.evidence,))
        for before, after in reversed(list(pairwise(offsets))):
            if after.batch_id - before.batch_id == 1 and (at_end := _written_at_its_end(ck, before, after)):
                return Execution("real_time", at_end, (before.evidence, after.evidence))
    return Execution("micro_batch", say("checkpoint.micro_batches"))


def _written_when_planned(ck: Checkpoint, batch_id: int) -> bool:
    """Whether the time of an offset file shows that it was not kept back until the end of its batch. The
    shortest batch of real-time mode lasts five seconds, unless a setting says otherwise."""
    offset, file = ck.offset(batch_id), ck.offset_files.get(batch_id)
    if not isinstance(offset, OffsetEntry) or offset.timestamp_ms is None:
        return False
    written = file.modified_ms if file is not None else None
    return written is not None and abs(written - offset.timestamp_ms) < AT_THE_END_MS


def _written_at_its_end(ck: Checkpoint, before: OffsetEntry, after: OffsetEntry) -> Sentence | None:
    """What the time of an offset file shows that no micro-batch query writes; None where it does not."""
    written = ck.offset_files[before.batch_id].modified_ms
    if written is None or before.timestamp_ms is None or after.timestamp_ms is None:
        return None
    if written - before.timestamp_ms < AT_THE_END_MS or abs(after.timestamp_ms - written) > SAME_MOMENT_MS:
        return None
    return say(
        "checkpoint.real_time_times",
        path=before.evidence.path,
        after_ms=written - before.timestamp_ms,
        batch_id=after.batch_id,
    )
