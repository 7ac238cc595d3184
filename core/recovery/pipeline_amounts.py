"""How much the pipeline read, has planned and keeps in its state, in words."""

from __future__ import annotations

from core.messages import say, say_of
from core.messages.recovery_options import LOST_STATE
from core.messages.recovery_repairs import NOT_EMITTED
from core.recovery.amounts import amounts
from core.recovery.context import RecoveryContext

_FORGETS_ONLY = frozenset({"dedupe", "dedupeWithinWatermark"})
"""Operators whose state holds nothing that was not emitted."""


def lost_with_state(context: RecoveryContext) -> str:
    """What an empty state means for the operators of this checkpoint."""
    known = [name for name in context.operators if name is not None and name in LOST_STATE]
    parts = [say_of("recovery_options", "LOST_STATE", name) for name in known or ["other"]]
    return "; ".join(dict.fromkeys(parts))


def not_emitted(context: RecoveryContext) -> str:
    """What only the state holds and no later query hands out, in words; empty where nothing is, as in that of
    a deduplication."""
    if context.operators and set(context.operators) <= _FORGETS_ONLY:
        return ""
    names = [name if name in NOT_EMITTED else "other" for name in context.operators] or ["other"]
    return "; ".join(
        say_of("recovery_repairs", "NOT_EMITTED", name or "other")
        for name in dict.fromkeys(names)
        if name not in _FORGETS_ONLY
    )


def dropped_with_state(context: RecoveryContext) -> str:
    """The same, where the query that runs next keeps no state and this one did; empty for any other."""
    is_dropped = context.has_state and context.stateful == "removed"
    return not_emitted(context) if is_dropped else ""


def pending_amount(context: RecoveryContext) -> str | None:
    """How much the batch without a commit was planned to read, in words; None when there is none."""
    if context.pending is None:
        return None
    return amounts(
        ((source.key, source.pending) for source in context.sources), len(context.sources) > 1
    ) or say("recovery_effects.amount_not_known")


def read_amount(context: RecoveryContext) -> str | None:
    """How much was read from the first start up to the last commit, in words; None when the files do not
    tell."""
    return amounts(((source.key, source.read_so_far) for source in context.sources), len(context.sources) > 1)
