"""What has to be known before anyone can choose: two or three plain questions, answered by the checkpoint
where it tells."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.messages.recovery import SINKS, TITLES
from core.recovery.answers import CHOICES, OPTION_IDS, Answers, OptionId
from core.recovery.context import RecoveryContext
from core.recovery.recipe import recipe

TEXTS = {
    "sink": "Where does the query write?",
    "source_complete": "Can every record that was ever read still be read at the source?",
    "stateful": (
        "What about the stateful part (aggregation, deduplication, join) of the query that will run next?"
    ),
    "platform": "Where does the query run?",
}
LABELS = {
    "sink": SINKS,
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


def questions(context: RecoveryContext) -> tuple[Question, ...]:
    """The questions for this checkpoint, in the order to ask."""
    asked = ["sink", "source_complete"]
    if context.has_state or context.answers.get("stateful") is not None:
        asked.append("stateful")
    asked.append("platform")
    return tuple(_question(context, question) for question in asked)


def _question(context: RecoveryContext, question: str) -> Question:
    given = context.answers.get(question)
    told, why = _told(context, question)
    answer = given or told
    before = _impossible(_answered(context, question, None))
    choices = []
    for value in CHOICES[question]:
        after = _impossible(_answered(context, question, value))
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


def _impossible(context: RecoveryContext) -> dict[OptionId, str]:
    recipes = [recipe(context, option) for option in OPTION_IDS]
    return {made.option: made.why for made in recipes if not made.possible}


def _told(context: RecoveryContext, question: str) -> tuple[str | None, str]:
    """What the checkpoint itself answers, and how it is known."""
    if question == "source_complete":
        if context.known_source_complete == "no":
            return "no", "A socket or memory source cannot be read a second time."
        if context.known_source_complete == "yes":
            return "yes", "A rate source makes its rows anew."
        return None, "The checkpoint does not tell; look at the source, or at the retention of the topic."
    if question == "stateful":
        return (
            None,
            (
                f"The checkpoint has state of {len(context.operators)}"
                f" operator{'' if len(context.operators) == 1 else 's'}."
                if context.has_state
                else ""
            ),
        )
    if question == "platform":
        return (
            ("lakeflow", "A Lakeflow table is written by a pipeline.")
            if context.sink == "lakeflow_table"
            else (None, "")
        )
    if context.seen_sink is not None:
        return context.seen_sink, context.seen_sink_why
    return None, "The checkpoint does not tell where the rows go."


def _answered(context: RecoveryContext, question: str, value: str | None) -> RecoveryContext:
    values = {key: old for key, old in context.answers.values.items() if key != question}
    if value is not None:
        values[question] = value
    return replace(context, answers=Answers(values))
