"""What the error translator says, as frozen values. Nothing here reads a file.

An error text holds several errors: Spark wraps the cause in ``STREAM_FAILED``, in
``FOREACH_BATCH_USER_FUNCTION_ERROR``, in "Job aborted". Each error that is recognised is a
:class:`Recognised`; the telling one is explained, the others are listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from core.analysis.findings.ways import WAYS, Decision, Recipe, decision_of
from core.messages.error_text import ErrorText
from core.sparklogs.evidence import Certainty, Evidence

Shown = Literal["yes", "no", "unknown"]
RecoveryOption = Literal[
    "restart",
    "repair",
    "restore",
    "rewind",
    "drop_state",
    "repartition",
    "skip_batch",
    "reset",
    "backup_and_backfill",
    "full_refresh",
    "change_query",
    "none",
]

# How telling an error is. The cause is what counts, so a wrapper never wins while something else was
# recognised.
OUTERMOST, WRAPPER, VAGUE, GENERAL, EXACT = range(5)

NO_PARAMETERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Recognised:
    """One error found in the text.

    ``name`` is Spark's condition ("A" or "A.B"), or the name of this tool for an error without one
    (``docs/errors.md`` lists them). ``condition`` is None for those. ``tagged``: the text carries the name in
    brackets, as Spark writes it from 3.4 on; otherwise the message was recognised by its words. ``line`` is
    the line of the pasted text, from 1. ``depth`` counts the "Caused by" before it.
    """

    name: str
    condition: str | None
    error_class: str | None
    sqlstate: str | None
    parameters: Mapping[str, str]
    message: str
    line: int
    weight: int
    depth: int = 0
    tagged: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that this checkpoint says about the error. ``shows_fault``: it confirms the fault,
    contradicts it, or is only a fact (None). ``rewind_to``: a batch that the recovery option rewind
    can go back to."""

    sentence: str
    evidence: tuple[Evidence, ...] = ()
    certainty: Certainty = "certain"
    shows_fault: bool | None = None
    rewind_to: int | None = None


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one kind of error means, in general.

    ``means``: what is so and why it matters. ``reasons``: most likely first. ``finding``: the id of
    ``docs/findings.md`` that speaks about the same fault; its action is used when ``action`` is empty.
    ``options``: recovery options, first choice first. ``in_files``: the fault is in the checkpoint's files,
    so looking at them can confirm it. ``look``: what of the checkpoint has to be looked at. ``unseen``: why
    the files cannot show it; empty when they can, at least in part.
    """

    means: str
    reasons: tuple[str, ...]
    action: str = ""
    options: tuple[RecoveryOption, ...] = ("none",)
    finding: str | None = None
    weight: int = EXACT
    in_files: bool = False
    look: tuple[str, ...] = ()
    unseen: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """What an error is for the translator, beside its texts; the fields are those of :class:`Meaning`."""

    options: tuple[RecoveryOption, ...] = ("none",)
    finding: str | None = None
    weight: int = EXACT
    in_files: bool = False
    look: tuple[str, ...] = ()


def meaning(text: ErrorText, kind: Kind) -> Meaning:
    """Text and kind of one error together."""
    return Meaning(
        text.means,
        text.reasons,
        text.action,
        kind.options,
        kind.finding,
        kind.weight,
        kind.in_files,
        kind.look,
        text.unseen,
    )


def meanings(texts: Mapping[str, ErrorText], kinds: Mapping[str, Kind]) -> Mapping[str, Meaning]:
    """A table of meanings by the name of the error. Raises KeyError for an error without a text."""
    return {name: meaning(texts[name], kind) for name, kind in kinds.items()}


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer to a pasted error.

    ``name`` is None when nothing in the text was recognised; then ``means`` says so and the other fields are
    empty. ``here`` is what this checkpoint says (empty without one); ``shown`` sums it up: "yes" = its files
    show the fault now, "no" = they contradict it (repaired since, or the error is from another checkpoint),
    "unknown" = they cannot tell. ``unseen`` says why the files cannot show the cause, empty when they can.
    ``recipe`` and ``decision`` are those of a finding: of the first of ``options`` that there is code for.
    ``not_possible``: ways that this error has and this checkpoint rules out, and why; they are not among
    ``options``. ``others`` are the other errors of the text, most telling first. ``is_cut``: the text was
    longer than what is read, and its middle was left out.
    """

    name: str | None
    condition: str | None
    error_class: str | None
    sqlstate: str | None
    parameters: Mapping[str, str]
    message: str
    line: int | None
    sentence: str
    means: str
    reasons: tuple[str, ...] = ()
    action: str = ""
    options: tuple[RecoveryOption, ...] = ()
    finding: str | None = None
    here: tuple[Statement, ...] = ()
    shown: Shown = "unknown"
    unseen: str = ""
    certainty: Certainty = "certain"
    evidence: tuple[Evidence, ...] = ()
    others: tuple[Recognised, ...] = ()
    not_checked: tuple[str, ...] = ()
    is_cut: bool = False
    other_checkpoint: bool = field(default=False)
    not_possible: Mapping[RecoveryOption, str] = field(default_factory=dict)

    @property
    def recipe(self) -> Recipe | None:
        """The recovery option that the advice leads to; None where only a person can decide."""
        return next((found for option in self.options if (found := RECIPES.get(option)) is not None), None)

    @property
    def decision(self) -> str | None:
        """What a person has to decide; None where the recipe leaves nothing open, and for no error."""
        if not self.options:
            return None
        first = _DECISIONS.get(self.options[0])
        return decision_of(first or (None if self.recipe is not None else "outside"))


RECIPES: Mapping[RecoveryOption, Recipe] = {
    "restart": "restart",
    "repair": "repair_files",
    "restore": "restore_backup",
    "rewind": "rewind",
    "drop_state": "drop_state",
    "reset": "reset",
    "backup_and_backfill": "backup_and_backfill",
    "full_refresh": "full_refresh",
}


def options_of(finding: str, otherwise: tuple[RecoveryOption, ...]) -> tuple[RecoveryOption, ...]:
    """The recovery option that the action of a finding speaks of, so that both say the same."""
    recipe = WAYS[finding].recipe if finding in WAYS else None
    found = next((option for option, each in RECIPES.items() if each == recipe), None)
    return otherwise if found is None else (found,)


_DECISIONS: Mapping[RecoveryOption, Decision] = {"change_query": "query", "repartition": "spark"}
