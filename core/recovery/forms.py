"""The code of an option in all its forms: what to paste, the file to run, the runbook and the plan."""

from __future__ import annotations

from core.recovery.answers import OptionId
from core.recovery.code import CodeBlock, generate
from core.recovery.context import RecoveryContext
from core.recovery.recipe import recipe
from core.recovery.runbook import plan_text, runbook
from core.recovery.snippet import snippet


def forms(context: RecoveryContext, option: OptionId) -> tuple[CodeBlock, ...]:
    """The snippet, the files, the runbook, the plan, in this order; empty when the option cannot be done."""
    files = generate(context, option)
    if not recipe(context, option).possible or (not files and option != "restart"):
        return ()
    return (snippet(context, option), *files, runbook(context, option), plan_text(context, option))
