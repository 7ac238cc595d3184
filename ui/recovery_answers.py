"""The recovery questions as widgets. Choices are part of the address; texts (paths, brokers, names) are not:
no link carries them."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.errors import AnswerError
from core.messages import say, say_of
from core.recovery import CHOICES, Answers, OptionId, Question, RecoveryContext
from core.recovery.answers import NUMBERS
from core.recovery.repairs import repair_of
from ui import cards, links, selection

ASKED = ("what_happened", "sink", "source_complete", "stateful", "platform", "output_mode")
TEXT = "t_"
EXAMPLES = {
    "sink_path": "s3://bucket/tables/orders",
    "checkpoint_new": "beside the old one",
    "backup_to": "beside the old one",
}
MODES = {"append": "append", "update": "update", "complete": "complete"}


@dataclass(frozen=True, slots=True)
class Field:
    """One text that the code needs: its public answer id, its label, an example."""

    id: str
    label: str
    example: str


def choices() -> Answers:
    """The answers that are one of a list. They are in the address of every page, because the advice on it
    rests on them."""
    found = {name: links.chosen(links.ANSWER + name, CHOICES[name]) for name in ASKED}
    return Answers({name: value for name, value in found.items() if value is not None})


def given() -> Answers:
    """The answers so far, from the address and the session. One that cannot be used is said and left out."""
    values = dict(choices().values)
    for name in NUMBERS:
        number = _number(name)
        if number is not None and _is_used(name, number):
            values[name] = number
    for key, value in st.session_state.items():
        if str(key).startswith(TEXT) and isinstance(value, str) and value.strip():
            name = str(key).removeprefix(TEXT)
            if _is_used(name, value.strip()):
                values[name] = value.strip()
    return Answers(values)


def note_typed(wanted: list[Field]) -> None:
    """Says in Copy link which of the texts that the code uses were typed."""
    typed = [field.label for field in wanted if str(st.session_state.get(TEXT + field.id) or "").strip()]
    if typed:
        links.leaves_out(say("screens.link_with_values", fields=typed))


def _is_used(name: str, value: str) -> bool:
    """Whether the answer can be used; says why not."""
    try:
        Answers({name: value})
    except AnswerError as error:
        cards.message("plain", str(error))
        return False
    return True


def ask(questions: tuple[Question, ...]) -> None:
    """The questions side by side; under each what its answer rules out."""
    with (
        st.container(key="questions"),
        st.grid(min(len(questions), 3), min_column_width=190, vertical_alignment="top"),
    ):
        for question in questions:
            with st.container(gap="xxsmall"):
                _one(question)


def _one(question: Question) -> None:
    labels = {choice.value: choice.label for choice in question.choices}
    first = None
    if question.from_checkpoint and question.answer is not None:
        first = say(
            "screen_recovery.from_sink" if question.id == "sink" else "screen_recovery.from_checkpoint",
            answer=labels[question.answer],
        )
    selection.pick(
        question.text,
        links.ANSWER + question.id,
        labels,
        first,
        width="stretch",
        help_text=question.why or None,
    )
    chosen = next((choice for choice in question.choices if choice.value == question.answer), None)
    if chosen is not None and chosen.effect:
        cards.said(chosen.effect, "small")


def decided_by(question: Question) -> None:
    """The question by name; folded below it, the option that each answer leads to."""
    with st.expander(say("recovery.decided_by", question=question.text)):
        for option, choices in question.leads_to.items():
            answers = "; ".join(choice.label for choice in choices)
            title = say_of("recovery", "TITLES", option)
            cards.text(say("recovery.leads_to", title=title, answers=answers), "small")


def fields(context: RecoveryContext, option: OptionId) -> list[Field]:
    """The texts that the code of this option can use, as far as the checkpoint does not tell them."""
    repair = repair_of(option)
    if repair is not None:
        return [_field(answer, EXAMPLES[answer]) for answer in repair.fields if answer not in NUMBERS]
    wanted = [_field("query_file", "/jobs/orders_query.py")]
    if context.platform == "lakeflow" or context.sink == "lakeflow_table":
        return [
            _field("pipeline_id", "a1b2c3d4-..."),
            _field("flows", "catalog.schema.orders"),
            _field("host_env", "DATABRICKS_HOST"),
            _field("token_env", "DATABRICKS_TOKEN"),
        ]
    if context.sink == "kafka":
        wanted += [
            _field("sink_servers", "broker:9092"),
            _field("sink_topic", "orders-clean"),
        ]
    else:
        wanted += [
            _field("sink_path", EXAMPLES["sink_path"]),
            _field("sink_format", "parquet"),
        ]
    wanted.append(_field("checkpoint_new", EXAMPLES["checkpoint_new"]))
    if not context.is_lost:
        wanted.append(_field("backup_to", EXAMPLES["backup_to"]))
    if context.platform == "databricks":
        wanted.append(_field("job_id", "123456789"))
    if option == "backup_and_backfill":
        wanted += [
            _field("backfill_keys", "order_id,line"),
            _field("backfill_sequence", "updated_at"),
        ]
    for source in context.sources:
        if not context.ck.sources:  # format and place are asked for with the questions
            if source.kind.asks == "directory":
                wanted.append(
                    Field(f"source.{source.key}.schema", "Schema of the source", "id int, name string")
                )
            continue
        name, where = (
            f"source.{source.key}",
            f"of source {source.index}" if len(context.sources) > 1 else "of the source",
        )
        if source.kind.takes_topics:
            wanted += [
                Field(f"{name}.servers", f"Brokers {where}", "broker:9092"),
                Field(f"{name}.topics", f"Topics {where}", ",".join(source.topics) or "orders"),
            ]
            continue
        wanted.append(Field(f"{name}.path", f"Path {where}", source.path_guess or "s3://bucket/landing"))
        if source.kind.asks == "directory":
            wanted += [
                Field(f"{name}.format", f"Format {where}", source.format_guess or "json"),
                Field(f"{name}.schema", f"Schema {where}", "id int, name string"),
            ]
        elif source.kind.reader_format is None:
            wanted.append(Field(f"{name}.format", f"Format {where}", source.kind.name))
    return wanted


SOURCE_FORMATS = ("kafka", "delta", "json", "parquet", "csv", "text", "orc", "avro", "rate")
LOST = "source.0."


def ask_source(context: RecoveryContext) -> None:
    """What the query reads, where no checkpoint tells it; a further source needs the command line."""
    with st.grid(3, min_column_width=220):
        st.selectbox(
            say("screen_recovery.source_format"),
            SOURCE_FORMATS,
            index=None,
            key=f"{TEXT}{LOST}format",
            placeholder="Choose",
        )
        if not context.sources:
            return
        wanted = (
            [("servers", "broker:9092"), ("topics", "orders")]
            if context.sources[0].kind.takes_topics
            else [("path", "s3://bucket/landing")]
        )
        for what, example in wanted:
            label = say_of("screen_recovery", "SOURCE_FIELDS", what)
            st.text_input(label, key=f"{TEXT}{LOST}{what}", placeholder=example)
        fields = [("format", say("screen_recovery.source_format"))]
        fields += [(what, say_of("screen_recovery", "SOURCE_FIELDS", what)) for what, _ in wanted]
        note_typed([Field(f"{LOST}{what}", label, "") for what, label in fields])


def _field(answer: str, example: str) -> Field:
    return Field(answer, say_of("screen_recovery", "FIELDS", answer), example)


def ask_texts(wanted: list[Field]) -> None:
    """Text fields for the values that the code needs."""
    with st.expander(say("screen_recovery.values")):
        cards.text(
            say("screen_recovery.values_note"),
            "small",
        )
        with st.grid(3, min_column_width=220):
            for field in wanted:
                st.text_input(field.label, key=TEXT + field.id, placeholder=field.example)
            note_typed(wanted)
            if any(field.id == "query_file" for field in wanted):
                selection.pick(
                    "Output mode",
                    links.ANSWER + "output_mode",
                    MODES,
                    say("screen_recovery.output_mode"),
                    width="stretch",
                )


def ask_numbers(option: OptionId) -> None:
    """The number that a repair needs: the batch that it goes back to (empty: the newest that everything is
    there for), or the new number of shuffle partitions. Starts the page again when the field has another
    number than the answers so far (after Back in the browser)."""
    repair = repair_of(option)
    for name in NUMBERS & set(repair.fields if repair is not None else ()):
        used = _number(name)
        number = selection.number_field(
            say_of("screen_recovery", "FIELDS", name),
            links.ANSWER + name,
            say_of("screen_recovery", "EMPTY_NUMBERS", name),
            width=320,
        )
        if used != (None if number is None else str(number)):
            st.rerun()


def _number(name: str) -> str | None:
    """A whole number as it was typed, else as the address has it."""
    if links.ANSWER + name in st.session_state:
        typed = st.session_state[links.ANSWER + name]
        return None if typed is None else str(typed)
    number = links.asked(links.ANSWER + name)
    is_number = number is not None and links.number_refusal(links.ANSWER + name) is None
    return str(int(number)) if number is not None and is_number else None
