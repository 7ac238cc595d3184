"""What somebody asks of the state, found in the checkpoint: a committed batch, a stateful operator."""

from __future__ import annotations

from core.checkpoint.checkpoint import Checkpoint
from core.checkpoint.model import OperatorState
from core.checkpoint.state import state_inventory
from core.errors import UsageError
from core.messages import say


def committed_batch(ck: Checkpoint, batch_id: int | None = None) -> int:
    """``batch_id``, or the last committed batch. Raises UsageError for one that is not committed."""
    newest = ck.last_committed_batch
    if newest is None:
        raise UsageError(say("cli.nothing_committed"))
    if batch_id is not None and batch_id not in ck.commit_files:
        raise UsageError(say("cli.not_committed", batch_id=batch_id, first=ck.commit_ids[0], newest=newest))
    return newest if batch_id is None else batch_id


def find_operator(ck: Checkpoint, operator_id: int) -> OperatorState:
    """The operator of this number. Raises UsageError when there is none, StorageError when ``state/`` cannot
    be listed."""
    operators = state_inventory(ck).operators if ck.has_state else ()
    if not operators:
        raise UsageError(say("state_rows.stateless"))
    found = next((o for o in operators if o.operator_id == operator_id), None)
    if found is None:
        ids = [o.operator_id for o in operators]
        raise UsageError(say("state_rows.no_operator", operator=operator_id, ids=ids))
    return found
