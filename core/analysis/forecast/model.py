"""What a forecast says, as frozen values: the steps of the next start, what they end in, and how sure that
is.

A forecast is about the FIRST batch of the next start of the SAME query with the SAME settings, unless a
:class:`Query` describes what changed. What is known to stop a later batch is in ``then``. Nothing here reads
a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from core.connectors.model import SinkState
from core.messages import Sentence
from core.sparklogs.evidence import Certainty, Evidence, NotRead

Outcome = Literal["resume", "rerun", "fail", "fresh_start"]
FailsAt = Literal["start", "batch"]
Effect = Literal["exact", "duplicates", "loss", "unknown"]
SinkKind = Literal["append", "overwrite", "skip"]
NewData = Literal["yes", "no", "unknown"]
Level = Literal["quick", "normal", "deep"]
"""How much is looked at: names and the newest log files; with the names of the state files; with what is in
them."""
Severity = Literal["blocks_restart", "data_risk", "attention", "note"]
StepStatus = Literal["passes", "fails", "does_not_apply", "cannot_be_judged", "not_checked", "not_reached"]
"""What becomes of a step. ``cannot_be_judged``: the files do not tell; ``not_checked``: nobody looked;
``not_reached``: Spark does not get so far."""

LEVELS: tuple[Level, ...] = ("quick", "normal", "deep")
SINK_KINDS: tuple[SinkKind, ...] = ("append", "overwrite", "skip")

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


ROLLED_BACK = ("SOURCE_LOG_AHEAD", "SET_BACK", "OFFSET_WENT_BACK")
"""Risks of the position itself: whatever continues from it meets them."""


@dataclass(frozen=True, slots=True)
class Query:
    """The query that will be started, as far as it differs from the one that wrote the checkpoint. None =
    unchanged.

    ``sources``: number of streaming sources in the query. ``operators``: Spark's names of its stateful
    operators, last of the plan first (operator 0 first); empty = stateless. ``topics``: source key -> what a
    Kafka source subscribes to. ``new_data``: whether any source has data beyond the newest offset.
    ``fail_on_data_loss``: the option of the Kafka or Delta source (Spark's default is true). ``options``:
    source key -> other reader options of today's code by name (``skipChangeCommits``); a source that is named
    has no others. ``sink``: "file" or "delta" where somebody has said that it writes to such a sink, and its
    place does not show it.
    """

    sources: int | None = None
    operators: tuple[str, ...] | None = None
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    new_data: NewData = "unknown"
    fail_on_data_loss: bool = True
    options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    sink: Literal["file", "delta"] | None = None

    def option(self, key: str, name: str) -> str | None:
        """The value of an option of source ``key``, whose name does not tell case; None when it is not known,
        or not set."""
        given = self.options.get(key, {})
        return next((value for each, value in given.items() if each.lower() == name.lower()), None)

    def stops_on_loss(self, key: str) -> bool:
        """Whether a loss of data stops the Kafka or Delta source ``key``: its own option, else
        ``fail_on_data_loss``."""
        own = self.option(key, "failOnDataLoss")
        return self.fail_on_data_loss if own is None else own.lower() != "false"


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
    it has seen (Spark's file sink, Delta). A start that fails before the sink gets rows neither repeats nor
    loses any: "exact".

    ``possible``: the kinds of sink where "duplicates" or "loss" CAN come, because the files cannot tell; at
    the others it WILL come. "exact" is always sure: it is said only when nothing that was read could make it
    wrong. "unknown" never is.
    """

    append: Effect = "exact"
    overwrite: Effect = "exact"
    skip: Effect = "exact"
    possible: frozenset[SinkKind] = frozenset()

    def __post_init__(self) -> None:
        open_kinds = frozenset(kind for kind in self.possible if self.at(kind) in ("duplicates", "loss"))
        object.__setattr__(self, "possible", open_kinds)

    def at(self, kind: SinkKind) -> Effect:
        """The effect at one kind of sink."""
        effect: Effect = getattr(self, kind)
        return effect

    def is_sure(self, kind: SinkKind) -> bool:
        """Whether the effect WILL come at this kind of sink; False where it can come, or is unknown."""
        return self.at(kind) != "unknown" and kind not in self.possible

    def may(self, kinds: Iterable[SinkKind] = SINK_KINDS) -> DataEffect:
        """The same as something that CAN come, at these kinds of sink."""
        return replace(self, possible=self.possible | frozenset(kinds))

    def plus(self, other: DataEffect) -> DataEffect:
        """Both effects together, per kind of sink (see :func:`_together`)."""
        both = {kind: _together(self._said(kind), other._said(kind)) for kind in SINK_KINDS}
        effects: dict[SinkKind, Effect] = {kind: effect for kind, (effect, _) in both.items()}
        possible = frozenset(kind for kind, (_, is_sure) in both.items() if not is_sure)
        return DataEffect(effects["append"], effects["overwrite"], effects["skip"], possible)

    def _said(self, kind: SinkKind) -> _Said:
        return self.at(kind), self.is_sure(kind)

    @property
    def is_exact(self) -> bool:
        """No row is repeated or lost at any kind of sink."""
        return self == DataEffect()


_Said = tuple[Effect, bool]


def _together(one: _Said, other: _Said) -> _Said:
    """The worst of two effects; of equal ones it is sure when one of them is. Beside something unknown only a
    sure loss can be named."""
    both = (one, other)
    if ("loss", True) in both:
        return "loss", True
    if "unknown" in (one[0], other[0]):
        return "unknown", False
    effect = worst(one[0], other[0])
    return effect, (effect, True) in both


EXACT = DataEffect()
RUN_AGAIN = DataEffect(append="duplicates").may()
"""A batch that is planned and not committed: what it wrote in its first attempt the files do not tell."""
UNKNOWN = DataEffect("unknown", "unknown", "unknown")
LOSS = DataEffect("loss", "loss", "loss")
DUPLICATES = DataEffect("duplicates", "duplicates", "duplicates")


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
    its severity there. What is not certain has an effect that can come, not one that will."""

    id: str
    sentence: str
    evidence: tuple[Evidence, ...]
    data: DataEffect
    certainty: Certainty = "certain"
    weight: Literal["data_risk", "attention", "note"] = "data_risk"

    def __post_init__(self) -> None:
        if self.certainty != "certain":
            object.__setattr__(self, "data", self.data.may())


FilesAgain = Literal["elsewhere", "forgotten"]
"""A file source reads another place than its log names; its log has lost entries."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Files whose content is not what was written, as the level deep finds them: one finding.

    ``severity`` "blocks_restart": the next start fails with ``error``, a key of
    :data:`~core.analysis.forecast.errors.ERRORS`, whose message ``details`` fill; "data_risk": it goes on,
    with the effect ``data``. ``because`` is one clause for the sentence of a failure; ``place`` is
    "operator/partition/store", ``intact_batch`` the newest batch whose state is intact, where it was looked
    for.
    """

    id: str
    severity: Severity
    sentence: Sentence
    evidence: tuple[Evidence, ...]
    certainty: Certainty = "certain"
    place: str | None = None
    data: DataEffect = EXACT
    error: str = ""
    details: Mapping[str, object] = field(default_factory=dict)
    because: str = ""
    intact_batch: int | None = None


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
    not_read: tuple[NotRead, ...] = ()

    def risk(self, risk_id: str) -> Risk | None:
        """The first risk of this id, None where there is none."""
        return next((risk for risk in self.risks if risk.id == risk_id), None)

    @property
    def is_unused(self) -> bool:
        """Whether no start is made of this checkpoint, as far as its place shows: a declarative pipeline
        starts from another one."""
        return self.risk("NOT_IN_USE") is not None

    @property
    def reads_elsewhere(self) -> bool:
        """Whether a file source is to read another place than the one that its log names."""
        return self.risk("SOURCE_FILES_ELSEWHERE") is not None or self.reason == "SOURCE_PATH_MOVED"

    @property
    def rolled_back(self) -> str:
        """That logs were rolled back by hand, so that a sink that appends has rows behind the position; empty
        where nothing shows it."""
        found = [risk for risk in self.risks if risk.id in ROLLED_BACK and risk.data.append == "duplicates"]
        return " ".join(risk.sentence for risk in found)

    def in_words(self, *risk_ids: str) -> str:
        """The sentences of the risks of these ids, in the order of the ids; empty where there are none."""
        found = (risk.sentence for each in risk_ids for risk in self.risks if risk.id == each)
        return " ".join(found)

    @property
    def lost_input(self) -> str:
        """What is said of input files of the planned batch that are gone, or have changed: whatever runs it
        does not have the rows that they had. Empty where there are none."""
        return self.in_words("INPUT_GONE", "INPUT_CHANGED")

    @property
    def never_read(self) -> str:
        """What is said of rows that the position counts as read and that were not: versions of a Delta source
        that were taken again. Empty where there are none."""
        return self.in_words("DELTA_TABLE_REFILLED")

    @property
    def files_again(self) -> FilesAgain | None:
        """Why files that were read before are read again from any position; None where none are known."""
        if self.reads_elsewhere:
            return "elsewhere"
        return "forgotten" if self.risk("SOURCE_LOG_INCOMPLETE") is not None else None

    @property
    def is_data_risk(self) -> bool:
        """Rows may be lost, or repeated beyond what every restart of an unfinished batch does."""
        return any(risk.weight == "data_risk" for risk in self.risks)
