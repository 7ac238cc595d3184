"""A step of a start, what it found, and how it says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.errors import spark_error
from core.analysis.forecast.model import (
    EXACT,
    DataEffect,
    FailsAt,
    Risk,
    SparkError,
    StepStatus,
    least_sure,
    ok_of,
)
from core.sparklogs.evidence import Certainty, Evidence, Problem


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one step found.

    With the status "fails": ``error`` is Spark's, ``reason`` the finding id, ``why`` one clause for the
    sentence ("offsets/4 is missing"). ``delivered`` is what the sink has already got when the step fails;
    ``data`` what a step that passes means for the rows, when that is no risk of its own.
    ``instead_of_exact``: what "exact" becomes when all is known, because something was not looked at.
    ``starts_from_scratch`` ends the log steps: batch 0 follows. ``batch_id``: the batch that fails where the
    sink skips the first one.
    """

    status: StepStatus = "passes"
    evidence: tuple[Evidence, ...] = ()
    note: str = ""
    certainty: Certainty = "certain"
    error: SparkError | None = None
    reason: str | None = None
    why: str = ""
    fails_at: FailsAt | None = None
    delivered: DataEffect = EXACT
    data: DataEffect = EXACT
    instead_of_exact: DataEffect = EXACT
    risks: tuple[Risk, ...] = ()
    not_checked: tuple[str, ...] = ()
    then: str | None = None
    starts_from_scratch: bool = False
    batch_id: int | None = None

    @property
    def ok(self) -> bool | None:
        """Whether the step passes; None when there is no such answer."""
        return ok_of(self.status)


@dataclass(frozen=True, slots=True)
class StartStep:
    """A step of Spark's start as data. ``phase`` is when a failure here shows.

    ``core/messages/forecast_steps.py`` says what each does, ``docs/forecast.md`` what it needs and what
    happens if that is not there.
    """

    id: str
    phase: FailsAt
    check: Callable[[RestartContext], Verdict]


def failed(
    s: RestartContext,
    error: str,
    reason: str,
    why: str,
    *evidence: Evidence,
    details: Mapping[str, object] | None = None,
    certainty: Certainty = "certain",
    fails_at: FailsAt | None = None,
    delivered: DataEffect = EXACT,
    then: str | None = None,
) -> Verdict:
    """A step that fails: ``error`` is a key of :data:`~core.analysis.forecast.errors.ERRORS`, ``details``
    fill its message. Behind a batch that the sink skips it is no surer than that."""
    made = Verdict(
        status="fails",
        evidence=evidence,
        certainty=certainty,
        error=spark_error(error, s.version, {"location": s.location, **(details or {})}),
        reason=reason,
        why=why,
        fails_at=fails_at,
        delivered=delivered,
        then=then,
    )
    return behind_skipped(s, made)


def behind_skipped(s: RestartContext, verdict: Verdict) -> Verdict:
    """A failure of the batch behind one that the sink skips: no surer than that, and with its own number."""
    if verdict.ok is not False or s.skipped is None or s.sink is None:
        return verdict
    certainty = least_sure(verdict.certainty, s.sink.certainty)
    return replace(verdict, certainty=certainty, batch_id=s.first_batch)


def unread(problem: Problem) -> Verdict:
    """A step whose file could not be read: what it holds is not known, and that is no damage."""
    return Verdict(
        "cannot_be_judged",
        evidence=(problem.evidence,),
        note=problem.reason,
        certainty="needs_input",
    )


def version_number(problem: Problem) -> str:
    """The version that an unreadable log file claims, or "?"."""
    match = re.match(rb"\s*v(\d+)", problem.raw)
    return match[1].decode() if match else "?"


def first_line(problem: Problem) -> str:
    """The first line of an unreadable file, cut for a message."""
    return problem.raw[:200].decode("utf-8", "replace").split("\n", 1)[0][:60]
