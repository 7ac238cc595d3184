"""What findings advise, by what this checkpoint allows: damage that the option ``repair_files`` repairs
exactly says so, a rollback for which no batch is left is not advised, and an action that leads to an option
which is not possible here says why."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from core.analysis.copy_forecast import forecast_rolled_back, why_copy_fails
from core.analysis.errors.model import RECIPES, Explanation, RecoveryOption
from core.analysis.findings import Finding, FindingsReport, with_way
from core.analysis.forecast import Forecast, Query
from core.checkpoint import Checkpoint
from core.checkpoint.rewind import rewind
from core.connectors import ConnectorAnswers
from core.connectors.kafka.read_again import why_not_read_again
from core.messages import say, say_of
from core.recovery.answers import Answers, OptionId
from core.recovery.context import RecoveryContext
from core.recovery.file_repair_plan import FileRepairs
from core.recovery.file_repairs import RULES, file_repairs
from core.recovery.options import Option, options
from core.recovery.recipe import recipe

MOST_NAMED = 5
"""So many files are named in an action; the plan of the option has them all."""


def with_repairs(
    report: FindingsReport, ck: Checkpoint, forecast: Forecast, connectors: ConnectorAnswers
) -> FindingsReport:
    """The report with the option named in the actions of the findings that it repairs, and each finding with
    the recipe or the decision that its action leads to. Where no batch is left to roll back to, an action
    that advises it says so. Asks nothing more of a checkpoint without such a finding, and nothing at the
    level quick.

    Raises :class:`StorageError` when something cannot be listed.
    """
    found = report.findings
    if report.level != "quick" and any(item.id in RULES for item in found):
        repairs = file_repairs(ck, forecast, connectors, report.level)
        if repairs.is_possible:
            found = tuple(_named(item, repairs) for item in found)
    ways = [with_way(item) for item in found]
    if report.level != "quick" and any(_asks_for_rewind(item) for item in ways) and rewind(ck).newest is None:
        ways = [_without_rewind(item) if _asks_for_rewind(item) else item for item in ways]
    if report.level != "quick" and forecast.outcome == "fail":
        ways = [_if_copy_starts(item, ck, forecast, connectors) for item in ways]
    if report.level != "quick" and connectors.brokers:
        ways = [_if_read_again(item, ck, connectors) for item in ways]
    return replace(report, findings=tuple(ways))


def with_possible(report: FindingsReport, context: RecoveryContext) -> FindingsReport:
    """The report in which an action that leads to an option says where this context rules the option out, and
    why. It then leads to the option that is recommended instead; to none where that is to start the query as
    it is, or nothing. Asks nothing."""
    impossible: dict[tuple[str, int | None], str] = {}
    for item in report.findings:
        if item.recipe is not None:
            option = (item.recipe, item.rewind_to)
            impossible.setdefault(option, _why_not(context, *option))
    if not any(impossible.values()):
        return report
    best = next((each for each in options(context) if each.recommended and each.id != "restart"), None)
    found = [
        _instead(item, impossible.get((item.recipe or "", item.rewind_to), ""), best)
        for item in report.findings
    ]
    return replace(report, findings=tuple(found))


def possible_ways(answer: Explanation, context: RecoveryContext) -> Explanation:
    """The explanation of an error with only those ways that this context allows, and those that its advice
    names; why not, for the others."""
    back = next((each.rewind_to for each in answer.here if each.rewind_to is not None), None)
    named = [way for way, each in RECIPES.items() if f"({each})" in answer.action]
    named.sort(key=lambda way: answer.action.index(f"({RECIPES[way]})"))
    ways = answer.options if set(named) <= set(answer.options) else (*named, *answer.options)
    not_possible: dict[RecoveryOption, str] = {}
    for way in dict.fromkeys(ways):
        why = _why_not(context, RECIPES[way], back) if way in RECIPES and way != "restart" else ""
        if why:
            not_possible[way] = why
    left = tuple(way for way in dict.fromkeys(ways) if way not in not_possible)
    return replace(answer, options=left, not_possible=not_possible)


def _why_not(context: RecoveryContext, option: str, rewind_to: int | None) -> str:
    """Why an option that is advised is not possible; empty where it is. A rollback that names no batch is
    possible where an earlier one than the newest can be chosen."""
    made = recipe(context, cast("OptionId", option))
    if option == "rewind" and (rewind_to is not None or not made.possible):
        newest = max(context.ck.commit_ids, default=0)
        batch = rewind_to if rewind_to is not None else rewind(context.ck).at_most(newest - 1)
        if batch is not None:
            answers = Answers({**context.answers.values, "to_batch": str(batch)})
            made = recipe(replace(context, answers=answers), "rewind")
    return "" if made.possible else made.why


def _instead(item: Finding, why: str, best: Option | None) -> Finding:
    if not why:
        return item
    title = say_of("recovery", "TITLES", item.recipe or "")
    action = say("recovery.action_not_possible", action=item.action, title=title, why=why)
    if best is not None:
        action = say("recovery.action_instead", action=action, title=best.title)
    return replace(
        item, action=action, option=None, rewind_to=None, recipe=best.id if best is not None else None
    )


def _if_read_again(item: Finding, ck: Checkpoint, connectors: ConnectorAnswers) -> Finding:
    """The finding without a rollback whose batches the broker can no longer give."""
    if item.recipe != "rewind":
        return item
    batch = item.rewind_to if item.rewind_to is not None else rewind(ck).newest
    why = None if batch is None else why_not_read_again(ck, connectors, batch)
    if why is None:
        return item
    action = say("findings.rewind_not_read_again", why=why)
    return replace(item, action=action, recipe="backup_and_backfill", rewind_to=None)


def _if_copy_starts(item: Finding, ck: Checkpoint, now: Forecast, connectors: ConnectorAnswers) -> Finding:
    """The finding without a rollback to a batch whose copy would not start either."""
    batch = item.rewind_to if item.rewind_to is not None else rewind(ck).newest
    if item.recipe != "rewind" or batch is None:
        return item
    copy = forecast_rolled_back(ck, batch, now.spark, Query(), connectors)
    return item if why_copy_fails(copy) is None else replace(_without_rewind(item), rewind_to=None)


def _asks_for_rewind(item: Finding) -> bool:
    return item.recipe == "rewind" and item.rewind_to is None


def _without_rewind(item: Finding) -> Finding:
    return replace(item, action=say("findings.no_rewind"), recipe="restore_backup")


def _named(item: Finding, repairs: FileRepairs) -> Finding:
    done = [
        say_of("file_repairs", "DOES", repair.does, file=repair.file, source=repair.source)
        for repair in repairs.repairs
        if repair.finding == item.id
    ]
    if not done:
        return item
    if len(done) > MOST_NAMED:
        done = [*done[:MOST_NAMED], say("file_repairs.more_files", count=len(done) - MOST_NAMED)]
    action = say("file_repairs.action", action=item.action, what=" ".join(done))
    return replace(item, action=action, option="repair_files")
