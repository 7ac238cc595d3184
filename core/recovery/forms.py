"""The code of an option in all its forms: what to paste, the script and the kit, the file to run, the runbook
and the plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

from core.messages import say
from core.recovery.answers import OptionId
from core.recovery.code import CodeBlock, generate, is_left_to_the_pipeline
from core.recovery.context import RecoveryContext
from core.recovery.kit import KIT_VERSION, kit_of
from core.recovery.recipe import recipe
from core.recovery.runbook import plan_text, runbook
from core.recovery.snippet import snippet

KIT_FILE = "recovery_kit.py"


def forms(context: RecoveryContext, option: OptionId) -> tuple[CodeBlock, ...]:
    """The snippet, the script and the kit, the files, the runbook, the plan, in this order; empty when the
    option cannot be done. Files that carry no kit have no script."""
    files = generate(context, option)
    if not recipe(context, option).possible:
        return ()
    if is_left_to_the_pipeline(context, option):
        return snippet(context, option), plan_text(context, option)
    if not files and option != "restart":
        return ()
    parts = [part for block in files for part in _parts(block)]
    return (snippet(context, option), *parts, *files, runbook(context, option), plan_text(context, option))


def _parts(file: CodeBlock) -> tuple[CodeBlock, ...]:
    """The script and the kit that a file consists of; empty where it carries no kit."""
    own, kit = kit_of(file.text)
    if not kit:
        return ()
    name = PurePosixPath(file.file_name)
    script = replace(file, form="script", text=own, file_name=f"{name.stem}_values_and_steps{name.suffix}")
    title = say("recovery_code.kit", version=KIT_VERSION)
    return script, replace(file, form="kit", text=kit, title=title, file_name=KIT_FILE)
