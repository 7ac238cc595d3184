"""The answer of ``python -m core explain``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.analysis.errors import Explanation
from core.analysis.errors.model import RecoveryOption, Shown
from core.checkpoint import Checkpoint
from core.documents.base import Document, Part, Texts, paths
from core.sparklogs.evidence import Certainty


@dataclass(frozen=True, kw_only=True, slots=True)
class StatementPart(Part):
    """One thing that this checkpoint says about the error."""

    sentence: str
    evidence: Texts
    certainty: Certainty
    shows_fault: bool | None
    """It confirms the fault, contradicts it, or is only a fact (null)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherErrorPart(Part):
    """Another error in the text."""

    name: str
    condition: str | None
    class_: str | None
    sqlstate: str | None
    message: str
    line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplainDocument(Document):
    """What an error means for this checkpoint. Without a recognised error ``name`` is null."""

    recognised: bool
    name: str | None
    """Spark's error condition, or a name of ``docs/errors.md`` for an error without one."""
    condition: str | None
    class_: str | None
    sqlstate: str | None
    parameters: Mapping[str, str]
    message: str
    line: int | None
    """The line of the text, from 1."""
    sentence: str
    means: str
    here: tuple[StatementPart, ...]
    shown: Shown
    """Whether the files show the fault now."""
    other_checkpoint: bool
    """The error is about another checkpoint or another query."""
    reasons: Texts
    """Most likely first."""
    action: str
    options: tuple[RecoveryOption, ...]
    not_possible: Mapping[str, str]
    """Other ways of this error that this checkpoint rules out, and why."""
    recipe: str | None
    """The recovery option that the action leads to; null where only a person can decide."""
    decision: str | None
    """What a person has to decide, before the option is taken; null where nothing is left open."""
    finding: str | None
    not_in_files: str | None
    """Why the files cannot show the cause."""
    certainty: Certainty
    evidence: Texts
    others: tuple[OtherErrorPart, ...]
    not_checked: Texts
    is_cut: bool
    """The text was too long: its middle was not read."""


def explain_document(ck: Checkpoint, answer: Explanation) -> ExplainDocument:
    """The explanation of a text."""
    return ExplainDocument(
        location=ck.location.url,
        recognised=answer.name is not None,
        name=answer.name,
        condition=answer.condition,
        class_=answer.error_class,
        sqlstate=answer.sqlstate,
        parameters=answer.parameters,
        message=answer.message,
        line=answer.line,
        sentence=answer.sentence,
        means=answer.means,
        here=tuple(
            StatementPart(
                sentence=statement.sentence,
                evidence=paths(statement.evidence),
                certainty=statement.certainty,
                shows_fault=statement.shows_fault,
            )
            for statement in answer.here
        ),
        shown=answer.shown,
        other_checkpoint=answer.other_checkpoint,
        reasons=answer.reasons,
        action=answer.action,
        options=answer.options,
        not_possible={str(way): why for way, why in answer.not_possible.items()},
        recipe=answer.recipe,
        decision=answer.decision,
        finding=answer.finding,
        not_in_files=answer.unseen or None,
        certainty=answer.certainty,
        evidence=paths(answer.evidence),
        others=tuple(
            OtherErrorPart(
                name=other.name,
                condition=other.condition,
                class_=other.error_class,
                sqlstate=other.sqlstate,
                message=other.message,
                line=other.line,
            )
            for other in answer.others
        ),
        not_checked=answer.not_checked,
        is_cut=answer.is_cut,
    )
