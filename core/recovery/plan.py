"""The plan of an option: ordered steps, and for each source where it stands now and where the new checkpoint
begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.checkpoint import Checkpoint
from core.recovery.answers import Answers
from core.recovery.consequences import read_amount
from core.recovery.context import RecoveryContext, read_recovery_context
from core.recovery.recipe import Recipe, SourceStart, recipe
from core.recovery.words import OptionId, amount


@dataclass(frozen=True, slots=True)
class Step:
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
    steps: tuple[Step, ...]
    before_after: tuple[BeforeAfter, ...]
    caution: tuple[str, ...]


def plan(ck: Checkpoint, option: OptionId, answers: Answers) -> Plan:
    """The plan of one option; without steps when it cannot be done. Raises :class:`StorageError`."""
    situation = read_recovery_context(ck, answers)
    return plan_of(situation, recipe(situation, option))


def plan_of(s: RecoveryContext, made: Recipe) -> Plan:
    """The same from facts that were read before."""
    if not made.possible:
        return Plan(made.option, (), (), ())
    middle = {
        "start_options": _start_options,
        "seeded": _seeded,
        "warm_up": _state,
        "empty_state": _state,
        "from_start": _refresh,
        "pipeline": _pipeline,
    }[made.method or "from_start"](s, made)
    if made.method == "pipeline" or s.platform == "lakeflow":
        steps = tuple(middle)
    else:
        steps = (*_before(s), *middle, _verification(s, made), _production(s, made))
    return Plan(
        made.option, steps, tuple(_before_after(s, made, start) for start in made.starts), made.caution
    )


def _before(s: RecoveryContext) -> list[Step]:
    newest = (
        f"The plan was made for batch {s.last_committed}, the last committed one; the script refuses when the"
        " query ran on."
    )
    return [
        Step("Stop the query and switch off automatic restarts.", newest),
        Step(
            "Copy the checkpoint to a new place and compare the copy file by file.",
            "Nothing is deleted; what goes wrong can be undone.",
        ),
    ]


def _start_options(s: RecoveryContext, made: Recipe) -> list[Step]:
    asked = [start.source for start in made.starts if start.source.kind.asks == "broker"]
    steps = []
    if asked:
        why = (
            "Expired records, topics made anew and partitions created since are found before anything is"
            " written."
        )
        steps.append(Step("Ask the broker whether the positions are still there.", why))
    starts = "; ".join(f"source {start.source.key}: {start.says}" for start in made.starts)
    steps.append(
        Step("Start the query with an empty checkpoint where the last committed batch ended.", f"{starts}.")
    )
    return steps


def _seeded(s: RecoveryContext, made: Recipe) -> list[Step]:
    numbers = f"The next batch is {made.first_batch}, so no batch id is used twice."
    if made.keep_pending:
        numbers += (
            f" Batch {s.pending} is carried over with its planned end: a sink that has it skips it, any other"
            " writes it."
        )
    starts = "; ".join(f"source {start.source.key}: {start.says}" for start in made.starts)
    identity = " The query id is kept, because the sink knows batches by it." if made.keep_query_id else ""
    return [
        Step(
            "Look whether the sink is ahead of the checkpoint.",
            "A sink that recognises batch ids would skip new rows or get rows twice.",
        ),
        Step(
            "Write a new checkpoint that goes on at the last committed position.",
            f"{starts}. {numbers}{identity}",
        ),
        Step("Run the query until everything is read.", "Its sink and its output stay the same."),
    ]


def _state(s: RecoveryContext, made: Recipe) -> list[Step]:
    warm = made.method == "warm_up"
    steps = [
        Step(
            "Write a new checkpoint whose batch 0 is planned to end at the last committed position.",
            "Exactly the old data belongs to it, not a record more.",
        ),
        Step(
            (
                "Run batch 0 into the noop sink."
                if warm
                else "Run batch 0 into the noop sink without a single row."
            ),
            (
                f"It builds the state from {read_amount(s) or 'the old data'}; nothing is written."
                if warm
                else "The old data counts as read; the state starts empty."
            ),
        ),
    ]
    if made.new_output:
        steps.append(
            Step(
                "Take a new output directory.",
                "Batch ids start at 0 again, and the old output would skip them silently.",
            )
        )
    emitted = "Windows that the old query had emitted are dropped." if warm and s.watermark_ms else ""
    return [*steps, Step("Run the query with its real sink until everything is read.", emitted)]


def _refresh(s: RecoveryContext, made: Recipe) -> list[Step]:
    # Observed: after a rename Spark follows the old paths in _spark_metadata and finds no file.
    log = (
        " The log of a file sink holds absolute paths, so Spark reads the renamed output only when it ignores"
        " that log."
    )
    log = log if s.sink == "file" else ""
    steps = [
        Step(
            "Compare what was read with what the source still holds.",
            (
                "Rows that are gone at the source come from the backup."
                if made.option == "backup_and_backfill"
                else "What is gone would be lost; the script refuses and says so."
            ),
        ),
        Step(
            "Give the old output and then the old checkpoint another name.",
            "They stay; a new output and a new query id belong together.",
        ),
        Step(
            "Run the query with a new checkpoint from the earliest position.",
            "; ".join(f"source {start.source.key}: {start.says}" for start in made.starts) + ".",
        ),
    ]
    if made.option == "backup_and_backfill":
        rule = (
            "One row per key, and only where the old row is newer."
            if s.sink == "foreach_merge"
            else "Only rows whose key is not in the new output."
        )
        steps.append(Step("Put the rows back that only the old output has.", rule))
    return steps


def _pipeline(s: RecoveryContext, made: Recipe) -> list[Step]:
    starts = "; ".join(f"source {start.source.key}: {start.says}" for start in made.starts)
    return [
        Step(
            "Deploy the flow's code with the start position first.",
            f"The reset starts an update at once. {starts}.",
        ),
        Step("Stop the running update.", "While one is active the call fails."),
        Step(
            "Start an update with reset_checkpoint_selection.",
            "The flow gets a new checkpoint, the table keeps its rows.",
        ),
        Step(
            "Wait until the update is completed, and compare the counts.",
            "The start position counts for the new checkpoint only.",
        ),
    ]


def _verification(s: RecoveryContext, made: Recipe) -> Step:
    if made.method == "from_start":
        return Step(
            "Compare the new output with a batch over all input.",
            "For a query with a watermark only the batches and files are compared.",
        )
    return Step(
        "Verify.",
        "Where each source began, that nothing was read twice, that every batch is committed, and how far the"
        " output grew.",
    )


def _production(s: RecoveryContext, made: Recipe) -> Step:
    return Step(
        "From then on run the query with the new checkpoint.",
        "The old one stays where it is said, until you remove it.",
    )


def _before_after(s: RecoveryContext, made: Recipe, start: SourceStart) -> BeforeAfter:
    source = start.source
    before: dict[str, object] = {
        "after_batch": s.last_committed,
        "position": source.position,
        "says": source.says,
    }
    if source.pending is not None:
        before["planned"] = {"batch": s.pending, "amount": amount(source.pending) or "not known"}
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
        planned = (
            f"batch {s.pending}, which is not committed ({amount(source.pending) or 'not known how much'})"
        )
        after["reads_again"] = planned if s.pending is not None else "nothing"
    return BeforeAfter(source.key, before, after)
