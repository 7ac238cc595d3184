"""Findings whose damage the option ``repair_files`` repairs exactly say so in their action."""

from __future__ import annotations

from dataclasses import replace

from core.analysis.findings import Finding, FindingsReport
from core.analysis.forecast import Forecast
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.messages import say, say_of
from core.recovery.file_repairs import RULES, FileRepairs, file_repairs


def with_repairs(
    report: FindingsReport, ck: Checkpoint, forecast: Forecast, connectors: ConnectorAnswers
) -> FindingsReport:
    """The report with the option named in the actions of the findings that it repairs. Asks nothing more of
    a checkpoint without such a finding, and nothing at the level quick.

    Raises :class:`StorageError` when something cannot be listed.
    """
    if report.level == "quick" or not any(item.id in RULES for item in report.findings):
        return report
    repairs = file_repairs(ck, forecast, connectors, report.level)
    if not repairs.is_possible:
        return report
    return replace(report, findings=tuple(_named(item, repairs) for item in report.findings))


def _named(item: Finding, repairs: FileRepairs) -> Finding:
    done = [
        say_of("file_repairs", "DOES", repair.does, file=repair.file, source=repair.source)
        for repair in repairs.repairs
        if repair.finding == item.id
    ]
    if not done:
        return item
    action = say("file_repairs.action", action=item.action, what=" ".join(done))
    return replace(item, action=action, option="repair_files")
