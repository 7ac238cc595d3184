"""The snippet of an option: the few lines that a person changes in the query, as dictionaries of options.

Where these lines alone are exact (a plain restart, start options in an empty checkpoint) nothing else is
needed. Where they are not (the positions of a file source, state, a repaired copy), the snippet says which
file has to be run first, and then what to change.
"""

from __future__ import annotations

from core.checkpoint.pipeline_flow import PipelineFlow, pipeline_flow
from core.messages import say
from core.recovery.answers import OptionId
from core.recovery.code import RESTORE_VERSIONS, TEMPLATES, CodeBlock, generate, packages, title_of
from core.recovery.context import RecoveryContext
from core.recovery.places import new_checkpoint, new_output, old_checkpoint, platform_of
from core.recovery.recipe import Recipe, recipe
from core.recovery.restart import can_guard
from core.recovery.sinks import NUMBERED_SINKS

MOST_LINES = 25
"""A snippet is read in one look."""


def snippet(context: RecoveryContext, option: OptionId) -> CodeBlock:
    """The snippet of an option that is possible."""
    made, platform = recipe(context, option), platform_of(context)
    starts = _starts(context, made)
    files = [block.file_name for block in generate(context, option) if block.platform == platform]
    text = TEMPLATES.get_template("snippet.py.j2").render(
        title=title_of(context, made),
        option=option,
        platform=platform,
        command=None if is_plain_paste(context, made) or not files else _command(context, made, files),
        versions=RESTORE_VERSIONS if RESTORE_VERSIONS in files else None,
        batch=context.last_committed,
        is_lost=context.is_lost,
        needs_sink=bool(starts) and _needs_sink(context, made),
        only=context.sources[0].label if len(context.sources) == 1 else None,
        starts=next(iter(starts.values())) if len(context.sources) == 1 and starts else starts,
        has_broker=any(start.source.kind.asks == "broker" for start in made.starts),
        writer=_writer(context, made),
        flow=_flow(context) if option != "backup" else None,
        backup=new_checkpoint(context, made, platform) if option == "backup" else None,
        new_output=made.new_output and made.method != "from_start",
        skips=bool(made.skips),
        empty_state=made.method == "start_options" and context.needs_state,
        aside=_aside(context, made),
        pending=context.pending,
    )
    return CodeBlock(
        platform, "python", say("recovery_code.snippet"), f"snippet_{option}.py", text, "snippet"
    )


def _aside(context: RecoveryContext, made: Recipe) -> str | None:
    """Where a guard in ``foreachBatch`` puts the rows of the planned batch; None where none is needed."""
    if made.option != "restart" or not can_guard(context):
        return None
    return f"{old_checkpoint(context, platform_of(context)) or 'checkpoint'}.batch-{context.pending}"


def is_plain_paste(context: RecoveryContext, made: Recipe) -> bool:
    """Whether the lines of the snippet do all that the file of the option does to the data."""
    if made.option == "restart":
        return True
    if _needs_sink(context, made):
        return False
    return made.method == "start_options" or (made.method == "seeded" and bool(_start_options(context, made)))


def _needs_sink(context: RecoveryContext, made: Recipe) -> bool:
    """Whether another start may be needed, because nobody has said where the query writes."""
    return made.option == "reset" and context.sink is None and platform_of(context) != "lakeflow"


def _starts(context: RecoveryContext, made: Recipe) -> dict[str, dict[str, str]]:
    """The options of the readers by source key."""
    if made.method == "seeded":
        return _start_options(context, made)
    if made.method not in ("start_options", "pipeline"):
        return {}
    return {start.source.key: dict(start.options) for start in made.starts if start.options}


def _start_options(context: RecoveryContext, made: Recipe) -> dict[str, dict[str, str]]:
    """Start options in place of a seeded checkpoint: where every source has one that its table or broker has
    confirmed, and the sink does not skip batch IDs, so that they may start at 0 again. Empty where not."""
    if context.sink in NUMBERED_SINKS or (context.sink == "delta" and context.pending_is_next):
        return {}
    found = {}
    for start in made.starts:
        source, point = start.source, start.source.point
        if source.kind.has_own_log or point is None or not point.options:
            return {}
        if not point.exact or point.certainty != "certain" or point.code:
            return {}
        found[source.key] = dict(point.options)
    return found


def _writer(context: RecoveryContext, made: Recipe) -> dict[str, str | None] | None:
    """The options of the writer; None where the query keeps its own."""
    platform = platform_of(context)
    if platform == "lakeflow" or made.option == "backup" or _flow(context) is not None:
        return None
    found = {"checkpointLocation": new_checkpoint(context, made, platform)}
    output = new_output(context, made)
    return found if output is None else {**found, "path": output}


def _flow(context: RecoveryContext) -> PipelineFlow | None:
    """The flow of a declarative pipeline that the checkpoint belongs to, where one runs it."""
    return None if context.flow is None else pipeline_flow(old_checkpoint(context, platform_of(context)))


def _command(context: RecoveryContext, made: Recipe, files: list[str]) -> str:
    """How the file is started; of several the one that starts the update of a pipeline."""
    if platform_of(context) == "lakeflow":
        return f"python {next(name for name in files if name == 'start_update.py')}"
    needed = packages(context, made)
    return f"spark-submit --packages {needed} {files[0]}" if needed else f"python {files[0]}"
