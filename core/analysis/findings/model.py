"""What the integrity check says, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass

from core.analysis.forecast.model import LEVELS, Level, Severity
from core.messages import Sentence, say, say_of
from core.sparklogs.evidence import Certainty, Evidence

SEVERITIES: tuple[Severity, ...] = ("blocks_restart", "data_risk", "attention", "note")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the check found.

    ``id`` is stable and has a section of its own in ``docs/findings.md``. ``sentence`` says what is so and
    why it matters, ``action`` what to do. ``batch_id`` and ``place`` ("operator/partition/store") are what it
    speaks about, None when it is about no single one. ``rewind_to``: the batch that the recovery option
    rewind can go back to because of it, None where that is no answer. ``option``: the recovery option that
    repairs exactly this, None when no option does. ``recipe``: the recovery option that the action leads to,
    ``decision``: what a person has to decide; at least one of them is there once the report is whole.
    """

    id: str
    severity: Severity
    certainty: Certainty
    sentence: str
    evidence: tuple[Evidence, ...]
    action: str
    batch_id: int | None = None
    place: str | None = None
    rewind_to: int | None = None
    option: str | None = None
    recipe: str | None = None
    decision: str | None = None


@dataclass(frozen=True, slots=True)
class FindingsReport:
    """What was found, worst first, and what was and was not looked at."""

    level: Level
    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    not_checked: tuple[str, ...]

    @property
    def has_problems(self) -> bool:
        """Whether something blocks the restart or risks data."""
        return self.reaches("data_risk")

    def reaches(self, severity: Severity) -> bool:
        """Whether there is a finding of this severity or a worse one."""
        worse = SEVERITIES[: SEVERITIES.index(severity) + 1]
        return any(finding.severity in worse for finding in self.findings)

    def count(self, severity: Severity) -> int:
        """How many findings have this severity."""
        return sum(finding.severity == severity for finding in self.findings)

    @property
    def sentence(self) -> Sentence:
        """The whole in one sentence."""
        if not self.findings:
            return say("findings_checks.none_found", checked=self.checked, not_checked=self.not_checked)
        counts = [say_of("findings_checks", "COUNTS", s, n=n) for s in SEVERITIES if (n := self.count(s))]
        return say("findings_checks.some_found", counts=counts, not_checked=self.not_checked)


__all__ = [
    "LEVELS",
    "SEVERITIES",
    "Finding",
    "FindingsReport",
    "Level",
    "Severity",
]
