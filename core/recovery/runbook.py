"""The runbook of an option, as Markdown for the channel or the ticket of an incident; and its plan, as JSON
for programs."""

from __future__ import annotations

import json

from core import __version__
from core.messages import say
from core.messages.recovery import NAMES
from core.messages.words import capital
from core.recovery.answers import OptionId
from core.recovery.code import TEMPLATES, CodeBlock, generate, packages, title_of
from core.recovery.consequences import consequences
from core.recovery.context import RecoveryContext
from core.recovery.options import options
from core.recovery.places import batch_name, beside, new_checkpoint, new_output, old_checkpoint, platform_of
from core.recovery.plan import plan
from core.recovery.recipe import Recipe, recipe
from core.recovery.repairs import repair_of
from core.recovery.snippet import is_plain_paste


def runbook(context: RecoveryContext, option_id: OptionId) -> CodeBlock:
    """What is done and why, what it changes and how to undo that, and what to look at afterwards. Every text
    that may hold words of a checkpoint is escaped."""
    made, platform = recipe(context, option_id), platform_of(context)
    option = next(each for each in options(context) if each.id == option_id)
    steps = plan(context, made)
    blocks = generate(context, option_id)
    sink_path = context.answers.get("sink_path")
    text = TEMPLATES.get_template("runbook.md.j2").render(
        title=title_of(context, made),
        option=option,
        method=made.method,
        is_lost=context.is_lost,
        plan=steps,
        platform=platform,
        old=old_checkpoint(context, platform) or context.url,
        new=new_checkpoint(context, made, platform),
        url=context.url,
        query_id=context.query_id,
        committed=context.last_committed,
        pending=context.pending,
        sinks=[each for each in consequences(context, option_id) if each.is_yours],
        files=[(block.file_name, block.title) for block in blocks if block.platform == platform],
        is_plain_paste=is_plain_paste(context, made),
        starter=_starter(context, made),
        is_repair=repair_of(option_id) is not None,
        fails_on_data_loss=any(source.kind.fails_on_data_loss for source in context.sources),
        sink_path=sink_path,
        writes_to=sink_path or _kind_of_sink(context),
        new_output=new_output(context, made),
        aside_checkpoint=beside(context, platform, "before-refresh-batch"),
        aside_output=sink_path and f"{sink_path.rstrip('/')}.before-refresh-batch-{batch_name(context)}",
        backup=context.answers.get("backup_to") or beside(context, platform, "backup-batch"),
        first=first_batch(context, made),
    )
    return CodeBlock(
        platform, "markdown", say("recovery_code.runbook"), f"runbook_{option_id}.md", text, "runbook"
    )


def _kind_of_sink(context: RecoveryContext) -> str:
    """What is known of a sink whose place nobody named."""
    if context.sink is None:
        return say("recovery_code.sink_not_given")
    return say("recovery_code.sink_without_place", sink=capital(NAMES["sink"][context.sink]))


def _starter(context: RecoveryContext, made: Recipe) -> str:
    needed = packages(context, made)
    return f"spark-submit --packages {needed} " if needed else "python "


def first_batch(context: RecoveryContext, made: Recipe) -> int | None:
    """The batch ID that the query runs first afterwards; None where it is not known, and for a pipeline."""
    if platform_of(context) == "lakeflow" or made.option in ("backup", "restore_backup"):
        return None
    if made.option == "restart":
        return context.forecast.batch_id if context.forecast is not None else None
    if made.option == "repair_files":
        return None
    repair = repair_of(made.option)
    if repair is None:
        return made.first_batch
    starts = {item.after.get("first_batch") for item in repair.before_after(context)}
    first = starts.pop() if len(starts) == 1 else context.pending
    if isinstance(first, int):
        return first
    return None if context.last_committed is None else context.last_committed + 1


def plan_text(context: RecoveryContext, option_id: OptionId) -> CodeBlock:
    """The plan for programs: the checkpoint, the option with what it repeats and loses, its steps, and each
    source before and after."""
    made, platform = recipe(context, option_id), platform_of(context)
    option = next(each for each in options(context) if each.id == option_id)
    steps = plan(context, made)
    document = {
        "made_by": f"checkpoint-explorer {__version__}",
        "checkpoint": context.url,
        "query_id": context.query_id,
        "last_committed_batch": context.last_committed,
        "pending_batch": context.pending,
        "sink": context.sink,
        "platform": platform,
        "option": option_id,
        "method": made.method,
        "recommended": option.recommended,
        "new_checkpoint": new_checkpoint(context, made, platform),
        "new_output": new_output(context, made),
        "first_batch": first_batch(context, made),
        "repeats": option.repeats,
        "loses": option.loses,
        "steps": [{"title": step.title, "why": step.why} for step in steps.steps],
        "before_after": [
            {"source": each.source, "before": dict(each.before), "after": dict(each.after)}
            for each in steps.before_after
        ],
        "caution": list(steps.caution),
        "files": [block.file_name for block in generate(context, option_id)],
    }
    text = json.dumps(document, indent=1, sort_keys=False) + "\n"
    return CodeBlock(platform, "json", say("recovery_code.plan"), f"plan_{option_id}.json", text, "plan")
