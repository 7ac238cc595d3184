"""The plan of an option: ordered steps, and for each source where it stands now and where the new checkpoint
begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.recovery.amounts import amount
from core.recovery.answers import OptionId
from core.recovery.consequences import read_amount
from core.recovery.context import RecoveryContext
from core.recovery.recipe import Recipe, SourceStart


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One thing to do, and why."""

    title: str
    why: str


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """One source: its position in the old checkpoint and its start in the new one."""

    source: str
    before: Mapping[str, object]
    after: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Plan:
    """What the code of this option does, in order. ``caution``: sentences that must stand beside it."""

    option: OptionId
    steps: tuple[PlanStep, ...]
    before_after: tuple[BeforeAfter, ...]
    caution: tuple[str, ...]


def plan(context: RecoveryContext, made: Recipe) -> Plan:
    """The plan of one option; without steps when it cannot be done."""
    if not made.possible:
        return Plan(made.option, (), (), ())
    middle = {
        "start_options": _start_options,
        "seeded": _seeded,
        "warm_up": _state,
        "empty_state": _state,
        "from_start": _refresh,
        "pipeline": _pipeline,
    }[made.method or "from_start"](context, made)
    if made.method == "pipeline" or context.platform == "lakeflow":
        steps = tuple(middle)
    else:
        steps = (*_before(context), *middle, _verification(context, made), _production(context, made))
    return Plan(
        made.option, steps, tuple(_before_after(context, made, start) for start in made.starts), made.caution
    )


def _before(context: RecoveryContext) -> list[PlanStep]:
    newest = (
        f"The plan was made for batch {context.last_committed}, the last committed one; the script refuses when the"
        " query ran on."
    )
    return [
        PlanStep("Stop the query and switch off automatic restarts.", newest),
        PlanStep(
            "Copy the checkpoint to a new place and compare the copy file by file.",
            "Nothing is deleted; what goes wrong can be undone.",
        ),
    ]


def _start_options(context: RecoveryContext, made: Recipe) -> list[PlanStep]:
    asked = [start.source for start in made.starts if start.source.kind.asks == "broker"]
    steps = []
    if asked:
        why = (
            "Expired records, topics made anew and partitions created since are found before anything is"
            " written."
        )
        steps.append(PlanStep("Ask the broker whether the positions are still there.", why))
    starts = "; ".join(f"source {start.source.key}: {start.says}" for start in made.starts)
    steps.append(
        PlanStep(
            "Start the query with an empty checkpoint where the last committed batch ended.", f"{starts}."
        )
    )
    return steps


def _seeded(context: RecoveryContext, made: Recipe) -> list[PlanStep]:
    numbers = f"The next batch is {made.first_batch}, so no batch id is used twice."
    if made.keep_pending:
        numbers += (
            f" Batch {context.pending} is carried over with its planned end: a sink that has it skips it, any other"
            " writes it."
        )
    starts = "; ".join(f"source {start.source.key}: {start.says}" for start in made.starts)
    identity = " The query id is kept, because the sink knows batches by it." if made.keep_query_id else ""
    return [
        PlanStep(
            "Look whether the sink is ahead of the checkpoint.",
            "A sink that recognises batch ids would skip new rows or get rows twice.",
        ),
        PlanStep(
            "Write a new checkpoint that goes on at the last committed position.",
            f"{starts}. {numbers}{identity}",
        ),
        PlanStep("Run the query until everything is read.", "Its sink and its output stay the same."),
    ]


def _state(context: RecoveryContext, made: Recipe) -> list[PlanStep]:
    warm = made.method == "warm_up"
    steps = [
        PlanStep(
            "Write a new checkpoint whose batch 0 is planned to end at the last committed position.",
            "Exactly the old data belongs to it, not a record more.",
        ),
        PlanStep(
            (
                "Run batch 0 into the noop sink."
                if warm
                else "Run batch 0 into the noop sink without a single row."
            ),
            (
                f"It builds the state from {read_amount(context) or 'the old data'}; nothing is written."
                if warm
                else "The old data counts as read; the state starts empty."
            ),
        ),
    ]
    if made.new_output:
        steps.append(
            PlanStep(
                "Take a new output directory.",
                "Batch ids start at 0 again, and the old output would skip them silently.",
            )
        )
    emitted = "Windows that the old query had emitted are dropped." if warm and context.watermark_ms else ""
    return [*steps, PlanStep("Run the query with its real sink until everything is read.", emitted)]


def _refresh(context: RecoveryContext, made: Recipe) -> list[PlanStep]:
    # Observed: after a rename Spark follows the old paths in _spark_metadata and finds no file.
    log = (
        " The log of a file sink holds absolute paths, so Spark reads the renamed output only when it ignores"
        " that log."
    )
    log = log if context.sink == "file" else ""
    steps = [
        PlanStep(
            "Compare what was read with what the source still holds.",
            (
                "Rows that are gone at the source come from the backup."
                if made.option == "backup_and_backfill"
                else "What is gone would be lost; the script refuses and says so."
            ),
        ),
        PlanStep(
            "Give the old output and then the old checkpoint another name.",
            "They stay; a new output and a new query id belong together.",
        ),
        PlanStep(
            "Run the query with a new checkpoint from the earliest position.",
            "; ".join(f"source {start.source.key}: {start.says}" for start in made.starts) + ".",
        ),
    ]
    if made.option == "backup_and_backfill":
        rule = (
            "One row per key, and only where the old row is newer."
            if context.sink == "foreach_merge"
            else "Only rows whose key is not in the new output."
        )
        steps.append(PlanStep("Put the rows back that only the old output has.", rule))
    return steps


def _pipeline(context: RecoveryContext, made: Recipe) -> list[PlanStep]:
    starts = "; ".join(f"source {start.source.key}: {start.says}" for start in made.starts)
    return [
        PlanStep(
            "Deploy the flow's code with the start position first.",
            f"The reset starts an update at once. {starts}.",
        ),
        PlanStep("Stop the running update.", "While one is active the call fails."),
        PlanStep(
            "Start an update with reset_checkpoint_selection.",
            "The flow gets a new checkpoint, the table keeps its rows.",
        ),
        PlanStep(
            "Wait until the update is completed, and compare the counts.",
            "The start position counts for the new checkpoint only.",
        ),
    ]


def _verification(context: RecoveryContext, made: Recipe) -> PlanStep:
    if made.method == "from_start":
        return PlanStep(
            "Compare the new output with a batch over all input.",
            "For a query with a watermark only the batches and files are compared.",
        )
    return PlanStep(
        "Verify.",
        "Where each source began, that nothing was read twice, that every batch is committed, and how far the"
        " output grew.",
    )


def _production(context: RecoveryContext, made: Recipe) -> PlanStep:
    return PlanStep(
        "From then on run the query with the new checkpoint.",
        "The old one stays where it is said, until you remove it.",
    )


def _before_after(context: RecoveryContext, made: Recipe, start: SourceStart) -> BeforeAfter:
    source = start.source
    before: dict[str, object] = {
        "after_batch": context.last_committed,
        "position": source.position,
        "says": source.says,
    }
    if source.pending is not None:
        before["planned"] = {"batch": context.pending, "amount": amount(source.pending) or "not known"}
    after: dict[str, object] = {
        "start": start.says,
        "options": dict(start.options),
        "first_batch": made.first_batch,
    }
    if made.method == "from_start":
        after["reads_again"] = amount(source.read_so_far) or "everything that is still there"
    elif made.method == "warm_up":
        after["reads_again"] = f"{amount(source.read_so_far) or 'the old data'}, without writing"
    else:
        planned = f"batch {context.pending}, which is not committed ({amount(source.pending) or 'not known how much'})"
        after["reads_again"] = planned if context.pending is not None else "nothing"
    return BeforeAfter(source.key, before, after)
