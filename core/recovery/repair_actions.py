"""Findings whose damage the option ``repair_files`` repairs exactly say so in their action."""

from __future__ import annotations

from dataclasses import replace

from core.analysis.findings import Finding, FindingsReport, with_way
from core.analysis.forecast import Forecast
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.messages import say, say_of
from core.recovery.file_repairs import RULES, FileRepairs, file_repairs

MOST_NAMED = 5
"""So many files are named in an action; the plan of the option has them all."""


def with_repairs(
    report: FindingsReport, ck: Checkpoint, forecast: Forecast, connectors: ConnectorAnswers
) -> FindingsReport:
    """The report with the option named in the actions of the findings that it repairs, and each finding with
    the recipe or the decision that its action leads to. Asks nothing more of a checkpoint without such a
    finding, and nothing at the level quick.

    Raises :class:`StorageError` when something cannot be listed.
    """
    found = report.findings
    if report.level != "quick" and any(item.id in RULES for item in found):
        repairs = file_repairs(ck, forecast, connectors, report.level)
        if repairs.is_possible:
            found = tuple(_named(item, repairs) for item in found)
    return replace(report, findings=tuple(with_way(item) for item in found))


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
