"""What a forecast says, as frozen values: the steps of the next start, what they end in, and how sure that
is.

A forecast is about the FIRST batch of the next start of the SAME query with the SAME settings, unless a
:class:`Query` describes what changed. What is known to stop a later batch is in ``then``. Nothing here reads
a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.connectors.model import SinkState
from core.sparklogs.evidence import Certainty, Evidence

Outcome = Literal["resume", "rerun", "fail", "fresh_start"]
FailsAt = Literal["start", "batch"]
Effect = Literal["exact", "duplicates", "loss", "unknown"]
NewData = Literal["yes", "no", "unknown"]
StepStatus = Literal["passes", "fails", "does_not_apply", "cannot_be_judged", "not_checked", "not_reached"]
"""What becomes of a step. ``cannot_be_judged``: the files do not tell; ``not_checked``: nobody looked;
``not_reached``: Spark does not get so far."""

_WORST_FIRST: tuple[Effect, ...] = ("loss", "duplicates", "unknown", "exact")
_LEAST_SURE_FIRST: tuple[Certainty, ...] = ("needs_input", "inferred", "certain")


def ok_of(status: StepStatus) -> bool | None:
    """True for a step that passes, False for one that fails, None for every other."""
    return True if status == "passes" else False if status == "fails" else None


def worst(*effects: Effect) -> Effect:
    """The most serious of several effects: loss, then duplicates, then unknown, then exact."""
    return next(effect for effect in _WORST_FIRST if effect in (*effects, "exact"))


def least_sure(*certainties: Certainty) -> Certainty:
    """The weakest of several certainties; "certain" for none."""
    return next(certainty for certainty in _LEAST_SURE_FIRST if certainty in (*certainties, "certain"))


@dataclass(frozen=True, slots=True)
class Query:
    """The query that will be started, as far as it differs from the one that wrote the checkpoint. None =
    unchanged.

    ``sources``: number of streaming sources in the query. ``operators``: Spark's names of its stateful
    operators, last of the plan first (operator 0 first); empty = stateless. ``topics``: source key -> what a
    Kafka source subscribes to. ``new_data``: whether any source has data beyond the newest offset.
    ``fail_on_data_loss``: the option of the Kafka or Delta source (Spark's default is true). ``options``:
    source key -> other reader options of today's code by name (``skipChangeCommits``); a source that is named
    has no others.
    """

    sources: int | None = None
    operators: tuple[str, ...] | None = None
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    new_data: NewData = "unknown"
    fail_on_data_loss: bool = True
    options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SparkError:
    """How Spark will say it. ``condition`` is None for a plain Java error, which the user sees as
    STREAM_FAILED with this text."""

    condition: str | None
    error_class: str | None
    message: str
    sqlstate: str | None = None


@dataclass(frozen=True, slots=True)
class DataEffect:
    """What happens to the rows, compared with an undisturbed run, at three kinds of sink.

    ``append`` keeps all it gets, ``overwrite`` replaces a batch id it has seen, ``skip`` ignores a batch id
    it has seen (Spark's file sink, Delta). "duplicates" at the append sink of a batch that is run again
    means: as many as the first attempt had already written. A start that fails before the sink gets rows
    neither repeats nor loses any: "exact".
    """

    append: Effect = "exact"
    overwrite: Effect = "exact"
    skip: Effect = "exact"

    def plus(self, other: DataEffect) -> DataEffect:
        """Both effects together, the worst per kind of sink."""
        return DataEffect(
            worst(self.append, other.append),
            worst(self.overwrite, other.overwrite),
            worst(self.skip, other.skip),
        )

    @property
    def is_exact(self) -> bool:
        """No row is repeated or lost at any kind of sink."""
        return self == DataEffect()


EXACT = DataEffect()
RUN_AGAIN = DataEffect(append="duplicates")
UNKNOWN = DataEffect("unknown", "unknown", "unknown")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of Spark's start, and what becomes of it; ``note`` says more."""

    id: str
    what: str
    status: StepStatus
    evidence: tuple[Evidence, ...] = ()
    note: str = ""
    certainty: Certainty = "certain"

    @property
    def ok(self) -> bool | None:
        """Whether the step passes; None when there is no such answer, ``status`` says why."""
        return ok_of(self.status)


@dataclass(frozen=True, slots=True)
class Risk:
    """Something that Spark accepts without an error. ``id`` is a finding of ``docs/findings.md``, ``weight``
    its severity there."""

    id: str
    sentence: str
    evidence: tuple[Evidence, ...]
    data: DataEffect
    certainty: Certainty = "certain"
    weight: Literal["data_risk", "attention", "note"] = "data_risk"


@dataclass(frozen=True, slots=True)
class Forecast:
    """What Spark will do at the next start.

    ``batch_id`` is the first batch that is run or attempted: None when Spark fails before it picks one up, or
    when nothing runs. ``reason`` is the finding id behind a failure. ``because`` is the short proof behind
    the sentence, with its files in ``evidence``. ``spark_why`` tells how the version was chosen. ``sink`` is
    what the sink holds, when it was asked.
    """

    spark: str
    spark_why: str
    outcome: Outcome
    batch_id: int | None
    fails_at: FailsAt | None
    error: SparkError | None
    data: DataEffect
    certainty: Certainty
    evidence: tuple[Evidence, ...]
    steps: tuple[Step, ...]
    sentence: str
    because: str
    then: str | None
    not_checked: tuple[str, ...]
    risks: tuple[Risk, ...] = ()
    reason: str | None = None
    sink: SinkState | None = None

    @property
    def is_data_risk(self) -> bool:
        """Rows may be lost, or repeated beyond what every restart of an unfinished batch does."""
        return any(risk.weight == "data_risk" for risk in self.risks)
