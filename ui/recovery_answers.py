"""The recovery questions as widgets. Choices are part of the address; texts (paths, brokers, names) are not:
no link carries them."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.errors import AnswerError
from core.messages import say
from core.recovery import CHOICES, LABELS, Answers, Question, RecoveryContext
from ui import cards, links, selection

ASKED = ("sink", "source_complete", "stateful", "platform", "output_mode")
TEXT = "t_"
MODES = {"append": "append", "update": "update", "complete": "complete"}


@dataclass(frozen=True, slots=True)
class Field:
    """One text that the code needs: its public answer id, its label, an example."""

    id: str
    label: str
    example: str


def given() -> Answers:
    """The answers so far, from the address and the session. One that cannot be used is said and left out."""
    values: dict[str, str] = {}
    for name in ASKED:
        value = links.chosen(links.ANSWER + name, CHOICES[name])
        if value is not None:
            values[name] = value
    for key, value in st.session_state.items():
        if str(key).startswith(TEXT) and isinstance(value, str) and value.strip():
            name = str(key).removeprefix(TEXT)
            try:
                Answers({name: value.strip()})
            except AnswerError as error:
                cards.message("plain", str(error))
                continue
            values[name] = value.strip()
    return Answers(values)


def ask(questions: tuple[Question, ...]) -> None:
    """The questions side by side; under each what its answer rules out."""
    with st.grid(len(questions), min_column_width=190, vertical_alignment="top"):
        for question in questions:
            with st.container(gap="xxsmall"):
                _one(question)


def _one(question: Question) -> None:
    labels = LABELS[question.id]
    first = None
    if question.from_checkpoint and question.answer is not None:
        first = say(
            "screen_recovery.from_sink" if question.id == "sink" else "screen_recovery.from_checkpoint",
            answer=labels[question.answer],
        )
    selection.pick(
        question.text,
        links.ANSWER + question.id,
        {choice.value: labels.get(choice.value, choice.value) for choice in question.choices},
        first,
        width="stretch",
    )
    chosen = next((choice for choice in question.choices if choice.value == question.answer), None)
    if question.why:
        cards.text(question.why, "small")
    if chosen is not None and chosen.effect:
        cards.text(chosen.effect, "small")


def fields(context: RecoveryContext, option: str) -> list[Field]:
    """The texts that the code of this option can use, as far as the checkpoint does not tell them."""
    wanted = [Field("query_file", "Python file with your query (transform)", "/jobs/orders_query.py")]
    if context.platform == "lakeflow" or context.sink == "lakeflow_table":
        return [
            Field("pipeline_id", "Pipeline id", "a1b2c3d4-..."),
            Field("flows", "Flows, separated by commas", "catalog.schema.orders"),
            Field("host_env", "NAME of the environment variable with the host", "DATABRICKS_HOST"),
            Field("token_env", "NAME of the environment variable with the token", "DATABRICKS_TOKEN"),
        ]
    if context.sink == "kafka":
        wanted += [
            Field("sink_servers", "Brokers of the sink", "broker:9092"),
            Field("sink_topic", "Topic of the sink", "orders-clean"),
        ]
    else:
        wanted += [
            Field("sink_path", "Where the query writes", "s3://bucket/tables/orders"),
            Field("sink_format", "Format of the sink", "parquet"),
        ]
    wanted += [
        Field("checkpoint_new", "Place for the new checkpoint", "beside the old one"),
        Field("backup_to", "Place for the backup", "beside the old one"),
    ]
    if option == "backup_and_backfill":
        wanted += [
            Field("backfill_keys", "Columns that identify a row", "order_id,line"),
            Field("backfill_sequence", "Column that says which row is newer", "updated_at"),
        ]
    for source in context.sources:
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
            if any(field.id == "query_file" for field in wanted):
                selection.pick(
                    "Output mode",
                    links.ANSWER + "output_mode",
                    MODES,
                    say("screen_recovery.output_mode"),
                    width="stretch",
                )
