"""The values of a script that asks whether the sink is the one that this query wrote."""

from __future__ import annotations

from core.messages import say
from core.recovery.context import RecoveryContext
from core.recovery.model import Constant


def sink_constants(context: RecoveryContext) -> tuple[Constant, ...]:
    """Kind and place of the sink; the place is needed where the sink keeps a log of the batches."""
    has_log = context.sink in ("file", "delta")
    return (
        Constant("SINK", context.sink),
        Constant(
            "SINK_PATH",
            context.answers.get("sink_path"),
            say("recovery_code.sink_path"),
            say("recovery_code.need_sink_path") if has_log else None,
        ),
        Constant("SINK_IS_OURS", False, say("recovery_code.sink_is_ours")),
    )
