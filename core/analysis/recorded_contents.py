"""What the contents of the state files showed when an evidence file was taken. They are not in it, so the
level deep cannot be repeated; what it said is in it, and is said again.

The file is what somebody sent: every value is checked, and texts are used as texts only.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_args

from core.analysis.findings import SEVERITIES, Finding, FindingsReport
from core.analysis.forecast import Forecast, Step
from core.analysis.forecast.model import FailsAt, Outcome, SparkError, StepStatus
from core.checkpoint import Checkpoint
from core.messages import Sentence, say, words
from core.messages.findings import TITLES
from core.messages.recovery import TITLES as OPTIONS
from core.sparklogs.evidence import Certainty, Evidence
from core.storage import Door

T = TypeVar("T")
MOST_TEXT, MOST_PARTS = 2_000, 100
OF_CONTENTS = (
    "STATE_FILE_DAMAGED",
    "STATE_CHECKSUM_MISMATCH",
    "STATE_FILE_ALTERED",
    "STATE_DEFINITION_UNREADABLE",
    "STATE_SCHEMA_UNREADABLE",
    "STATE_NOT_RESTORABLE",
    "JOIN_STATE_INCONSISTENT",
    "SNAPSHOT_DIFFERS",
    "ROWS_IN_WRONG_PARTITION",
)
"""Findings that the level deep has from the contents of the state files."""


@dataclass(frozen=True, slots=True)
class RecordedContents:
    """``findings``: of the contents of the state files. ``start``: the recorded forecast where it failed
    because of them, as changes of the one that the logs alone give."""

    findings: tuple[Finding, ...]
    start: dict[str, Any] | None

    def in_forecast(self, found: Forecast) -> Forecast:
        """The forecast of the logs with what the contents showed."""
        not_checked = (*found.not_checked, say("evidence.contents_then"))
        if self.start is None or found.outcome == "fail":
            return replace(found, not_checked=not_checked)
        return replace(found, **self.start, not_checked=not_checked)

    def in_report(self, found: FindingsReport) -> FindingsReport:
        """The findings of the logs with those of the contents."""
        again = {item.id for item in self.findings}
        both = [*(item for item in found.findings if item.id not in again), *self.findings]
        both.sort(key=lambda item: SEVERITIES.index(item.severity))
        not_checked = (say("evidence.contents_then"), *found.not_checked)
        return replace(found, level="deep", findings=tuple(both), not_checked=not_checked)


def lacks_contents(door: Door) -> bool:
    """Whether the contents of the state files cannot be looked at: evidence that was taken without them."""
    return door.evidence is not None and not door.evidence.with_state_contents


def recorded_contents(ck: Checkpoint) -> RecordedContents | None:
    """What the level deep said when the evidence was taken; None for a directory, for evidence that has the
    contents, and where they were not checked. Read once for each reading of the checkpoint."""
    if not lacks_contents(ck.door):
        return None
    found: RecordedContents | None = ck.kept("recorded contents", lambda: _recorded(ck.door))
    return found


def _recorded(door: Door) -> RecordedContents | None:
    check, forecast = _json(door, "check"), _json(door, "forecast")
    if check.get("level") != "deep":
        return None
    found = [_finding(part) for part in _parts(check.get("findings"))]
    findings = tuple(item for item in found if item is not None and item.id in OF_CONTENTS)
    is_of_contents = forecast.get("reason") in OF_CONTENTS and forecast.get("outcome") == "fail"
    return RecordedContents(findings, _valid(lambda: _start(forecast)) if is_of_contents else None)


def _json(door: Door, verb: str) -> dict[str, Any]:
    data = door.recorded_answer(verb)
    try:
        found = json.loads(data) if data is not None else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _start(raw: dict[str, Any]) -> dict[str, Any]:
    return {
        "outcome": _one_of("fail", get_args(Outcome)),
        "batch_id": _number(raw["batch_id"]),
        "fails_at": _one_of(raw["fails_at"], get_args(FailsAt)),
        "error": _error(raw["error"]),
        "certainty": _one_of(raw["certainty"], get_args(Certainty)),
        "evidence": _evidence(raw["evidence"]),
        "steps": tuple(_step(part) for part in _parts(raw["steps"])),
        "sentence": _text(raw["sentence"]),
        "because": _text(raw["because"]),
        "then": None if raw["then"] is None else _text(raw["then"]),
        "reason": _one_of(raw["reason"], TITLES),
    }


def _error(raw: Any) -> SparkError | None:
    if raw is None:
        return None
    names = (None if raw[name] is None else _text(raw[name]) for name in ("condition", "class", "sqlstate"))
    condition, error_class, sqlstate = names
    return SparkError(condition, error_class, _text(raw["message"]), sqlstate)


def _step(raw: dict[str, Any]) -> Step:
    return Step(
        _text(raw["id"]),
        _text(raw["what"]),
        _one_of(raw["status"], get_args(StepStatus)),
        _evidence(raw["evidence"]),
        _text(raw["note"]),
        _one_of(raw["certainty"], get_args(Certainty)),
    )


def _finding(part: dict[str, Any]) -> Finding | None:
    return _valid(
        lambda: Finding(
            id=_one_of(part["id"], TITLES),
            severity=_one_of(part["severity"], SEVERITIES),
            certainty=_one_of(part["certainty"], get_args(Certainty)),
            sentence=_text(part["sentence"]),
            evidence=_evidence(part["evidence"]),
            action=_text(part["action"]),
            batch_id=_number(part["batch"]),
            place=None if part["place"] is None else _text(part["place"]),
            rewind_to=_number(part["rewind_to"]),
            option=None if part["option"] is None else _one_of(part["option"], OPTIONS),
            recipe=None if part["recipe"] is None else _one_of(part["recipe"], OPTIONS),
            decision=None if part["decision"] is None else _text(part["decision"]),
        )
    )


def _valid(make: Callable[[], T]) -> T | None:
    """What ``make`` gives; None where a value is not what it should be."""
    try:
        return make()
    except (KeyError, TypeError, ValueError):
        return None


def _parts(raw: Any) -> list[dict[str, Any]]:
    found = raw[:MOST_PARTS] if isinstance(raw, list) else []
    return [part for part in found if isinstance(part, dict)]


def _text(raw: Any) -> Sentence:
    if not isinstance(raw, str):
        raise TypeError
    return Sentence(words.one_line(raw, MOST_TEXT))


def _number(raw: Any) -> int | None:
    if raw is None:
        return None
    if not isinstance(raw, int) or isinstance(raw, bool) or raw < 0:
        raise TypeError
    return raw


def _one_of(raw: Any, known: Any) -> Any:
    if not isinstance(raw, str) or raw not in known:
        raise ValueError
    return raw


def _evidence(raw: Any) -> tuple[Evidence, ...]:
    """``offsets/12:2`` stays one text: it is only shown."""
    return tuple(Evidence(_text(each)) for each in (raw if isinstance(raw, list) else [])[:MOST_PARTS])
