"""A safe deployment of a changed query, as a checklist with the values of one checkpoint."""

from __future__ import annotations

from core.analysis.changes.context import ChangeContext
from core.checkpoint.state import state_inventory
from core.messages import Sentence, say, words


def checklist(c: ChangeContext) -> tuple[Sentence, ...]:
    """Before, during and after the deployment; in this order. Empty for a checkpoint without batches."""
    query, ck = c.query, c.ck
    if not c.has_run:
        return ()
    first = query.next_batch
    last = query.last_committed_batch if query.last_committed_batch is not None else say("changes.not_known")
    size = state_inventory(ck).size_bytes if ck.has_state else None
    state = say("changes.check_state", size=words.size(size)) if size is not None else ""
    partitions = query.partitions if query.partitions is not None else say("changes.not_known")
    pinned = (
        say("changes.check_pinned", partitions=partitions, provider=query.provider)
        if query.is_stateful
        else say("changes.check_pinned_rows", partitions=partitions)
    )
    planned = (
        say("changes.check_clean", batch=first, last=last)
        if query.pending_batch is None
        else say("changes.check_pending", batch=query.pending_batch)
    )
    return (
        say("changes.check_backup", state=state, last=last, location=ck.door.origin.url),
        say("changes.check_stop"),
        planned,
        say("changes.check_retries", batch=first),
        say("changes.check_cluster", pinned=pinned),
        say("changes.check_first", first=first, last=last),
        say("changes.check_second", second=first + 1),
        say("changes.check_third", third=first + 2, first=first),
        say("changes.check_back"),
    )
