"""What has to be known before anyone can choose: two or three plain questions, answered by the checkpoint
where it tells."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.checkpoint import Checkpoint
from core.errors import AnswerError
from core.recovery.answers import CHOICES, Answers
from core.recovery.context import RecoveryContext, read_recovery_context
from core.recovery.recipe import recipe
from core.recovery.words import OPTION_IDS, SINK_LABELS, TITLES, OptionId

__all__ = ["AnswerError", "Answers", "Choice", "Question", "questions", "questions_of"]

TEXTS = {
    "sink": "Where does the query write?",
    "source_complete": "Can every record that was ever read still be read at the source?",
    "stateful": (
        "What about the stateful part (aggregation, deduplication, join) of the query that will run next?"
    ),
    "platform": "Where does the query run?",
}
LABELS = {
    "sink": SINK_LABELS,
    "source_complete": {"yes": "Yes, everything", "no": "No, some of it is gone", "unknown": "I do not know"},
    "stateful": {
        "unchanged": "It is the same as before",
        "changed": "It was changed",
        "removed": "It was removed, the query keeps no state now",
        "added": "One was added",
    },
    "platform": {
        "pyspark": "Open-source Spark",
        "databricks": "Databricks, classic compute",
        "lakeflow": "Lakeflow pipeline",
    },
}


@dataclass(frozen=True, slots=True)
class Choice:
    """One possible answer. ``rules_out``: the options that this answer makes impossible, each with the
    reason."""

    value: str
    label: str
    rules_out: tuple[tuple[OptionId, str], ...]

    @property
    def effect(self) -> str:
        """What the answer rules out, in one line; empty when nothing."""
        return " ".join(f"Rules out: {TITLES[option]}. {why}" for option, why in self.rules_out)


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``answer`` is what was answered, or what the checkpoint tells (``from_checkpoint``, with
    ``why``), else None."""

    id: str
    text: str
    choices: tuple[Choice, ...]
    answer: str | None
    from_checkpoint: bool
    why: str


def questions(ck: Checkpoint, answers: Answers) -> tuple[Question, ...]:
    """The questions for this checkpoint, in the order to ask. Raises :class:`StorageError` when it cannot be
    read."""
    return questions_of(read_recovery_context(ck, answers))


def questions_of(situation: RecoveryContext) -> tuple[Question, ...]:
    """The same from facts that were read before."""
    asked = ["sink", "source_complete"]
    if situation.has_state or situation.answers.get("stateful") is not None:
        asked.append("stateful")
    asked.append("platform")
    return tuple(_question(situation, question) for question in asked)


def _question(s: RecoveryContext, question: str) -> Question:
    given = s.answers.get(question)
    told, why = _told(s, question)
    answer = given or told
    before = _impossible(_answered(s, question, None))
    choices = []
    for value in CHOICES[question]:
        after = _impossible(_answered(s, question, value))
        out = tuple((option, why) for option, why in after.items() if option not in before)
        choices.append(Choice(value, LABELS[question][value], out))
    return Question(
        question,
        TEXTS[question],
        tuple(choices),
        answer,
        given is None and told is not None,
        why if given is None else "",
    )


def _impossible(s: RecoveryContext) -> dict[OptionId, str]:
    recipes = [recipe(s, option) for option in OPTION_IDS]
    return {made.option: made.why for made in recipes if not made.possible}


def _told(s: RecoveryContext, question: str) -> tuple[str | None, str]:
    """What the checkpoint itself answers, and how it is known."""
    if question == "source_complete":
        if s.known_source_complete == "no":
            return "no", "A socket or memory source cannot be read a second time."
        if s.known_source_complete == "yes":
            return "yes", "A rate source makes its rows anew."
        return None, "The checkpoint does not tell; look at the source, or at the retention of the topic."
    if question == "stateful":
        return (
            None,
            (
                f"The checkpoint has state of {len(s.operators)}"
                f" operator{'' if len(s.operators) == 1 else 's'}."
                if s.has_state
                else ""
            ),
        )
    if question == "platform":
        return (
            ("lakeflow", "A Lakeflow table is written by a pipeline.")
            if s.sink == "lakeflow_table"
            else (None, "")
        )
    if s.seen_sink is not None:
        return s.seen_sink, s.seen_sink_why
    return None, "The checkpoint does not tell where the rows go."


def _answered(s: RecoveryContext, question: str, value: str | None) -> RecoveryContext:
    values = {key: old for key, old in s.answers.values.items() if key != question}
    if value is not None:
        values[question] = value
    return replace(s, answers=Answers(values))
