"""Snapshots of state that were left by batches which were rolled back: Spark loads the newest snapshot up to
the version it needs, and checks nothing.

Observed with Spark 3.5 and 4.3, HDFS-backed store and RocksDB with changelogs: after a rollback the new
batches write new deltas or changelogs, the old ``6.snapshot`` or ``4.zip`` stays, and a later start computes
wrong numbers from it without an error. Files with ids (format 2) were right. Without changelogs a zip is
written again by every batch.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.model import UNKNOWN, DataEffect, Risk
from core.checkpoint.left_snapshots import snapshots_of_later_batches, snapshots_older_than_their_batch
from core.checkpoint.state import state_inventory
from core.messages import say
from core.sparklogs.evidence import Evidence

MOST_NAMED = 5


PLANNED_AGAIN = DataEffect("duplicates", "duplicates", "loss").may()


def stale_snapshots(s: RestartContext) -> tuple[Risk, ...]:
    """The risks of snapshots of an abandoned time line: those of later versions, which a later start loads,
    and those that the next start loads although they are older than the batch that should have written
    them."""
    if not s.checkpoint.has_state or not s.with_state:
        return ()
    return (*_later(s), *_loaded_next(s))


def _later(s: RestartContext) -> Iterator[Risk]:
    ck = s.checkpoint
    newest = max([*ck.offset_ids, *ck.commit_ids], default=None)
    for op in state_inventory(ck).operators:
        found = snapshots_of_later_batches(ck, op)
        if found:
            sentence = say(
                "findings_checks.stale_snapshot",
                path=found[0].path,
                newest=newest,
                loaded_after=(found[0].version or 0) - 1,
            )
            evidence = tuple(Evidence(file.path) for file in found[:MOST_NAMED])
            # The batch that runs next loads an older version; the batches that were rolled back come again.
            yield Risk("STALE_SNAPSHOT", sentence, evidence, PLANNED_AGAIN)


def _loaded_next(s: RestartContext) -> Iterator[Risk]:
    for op in state_inventory(s.checkpoint).operators:
        stale = snapshots_older_than_their_batch(s.checkpoint, op, s.first_batch)
        if stale:
            batch_id = (stale[0].version or 0) - 1
            sentence = say("forecast.stale_snapshot", path=stale[0].path, batch_id=batch_id)
            evidence = tuple(Evidence(file.path) for file in stale[:MOST_NAMED])
            yield Risk("STALE_SNAPSHOT", sentence, evidence, UNKNOWN, "inferred")
