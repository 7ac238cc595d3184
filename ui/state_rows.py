"""Rows of the state, on the page State: read from the files when somebody asks, and hidden until somebody
asks for that too. What is asked is in the address, but for a key and for the values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

import streamlit as st

from core.checkpoint import Checkpoint
from core.checkpoint.model import OperatorState
from core.checkpoint.state_content.row_target import Choice
from core.checkpoint.state_content.simple_values import Json
from core.checkpoint.state_content.state_rows import RowsAnswer, RowsQuestion
from core.documents.rows import count_text, hidden
from core.errors import UsageError
from core.messages import say, say_of, words
from core.messages.state_rows import FINDS
from core.spark import StateQuestion, question_code
from core.spark.question import Side
from core.sparklogs.json_text import parse_object
from ui import cached_answers, cards, links, selection, state_spark, tables
from ui.open_checkpoints import Opened

LIMIT = 200
MOST_REASONS = 5


def panel(opened: Opened, ck: Checkpoint, operator: OperatorState, partition_id: int | None) -> None:
    """The controls, and the rows once something is chosen to be found."""
    cards.text(say("state_rows.title"), "section")
    choices = cached_answers.row_kinds(ck, operator)
    if isinstance(choices, str):
        cards.message("plain", choices)
        return
    if not choices:
        cards.message("plain", say("state_rows.no_schemas", operator=operator.operator_id))
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        choice = _choice(choices)
        find = selection.pick(say("state_rows.find"), "find", FINDS, say("state_rows.find_nothing"))
        batch_id = selection.number_field(say("state_rows.batch"), "batch", say("state_rows.batch_last"))
        since = _since(find)
    if find is None:
        cards.text(say("state_rows.nothing_asked"), "small")
    elif find == "difference" and since is None:
        cards.text(say("state_rows.since_missing"), "small")
    else:
        _found(opened, ck, operator, choice, find, batch_id, since, partition_id)
    state_spark.panel(opened, ck, operator, choice, batch_id, partition_id)


def _since(find: str | None) -> int | None:
    if find != "difference":
        return None
    return selection.number_field(say("state_rows.since"), "since", say("state_rows.since_id"))


def _found(
    opened: Opened,
    ck: Checkpoint,
    operator: OperatorState,
    choice: Choice,
    find: str,
    batch_id: int | None,
    since: int | None,
    partition_id: int | None,
) -> None:
    """What was asked, from the files."""
    key = _key(choice) if find == "key" else None
    if find == "key" and key is None:
        return
    question = _question(operator, choice, find, batch_id, partition_id, key)
    with st.spinner(say("state_rows.reading")):
        found = cached_answers.rows(opened, ck, question, since)
    _answer(ck, found)
    if since is None:
        _by_spark(ck, question)


def _answer(ck: Checkpoint, found: RowsAnswer | str) -> None:
    if isinstance(found, str):
        cards.message("plain", found)
    else:
        _show(ck, found)


def _by_spark(ck: Checkpoint, question: RowsQuestion) -> None:
    """The question as PySpark code, where Spark's reader can be asked it."""
    last = question.batch_id if question.batch_id is not None else ck.last_committed_batch
    is_own = question.key is not None or question.largest is not None or question.is_past_watermark
    if last is None or is_own:  # what only the files engine answers would be another question to Spark
        return
    asked = StateQuestion(
        batch_id=last,
        operator=question.operator_id,
        store=question.store,
        side=cast("Side | None", question.side),
        variable=question.variable,
        timers=question.is_timers,
        partition=question.partition_id,
        changes=(last, last) if question.is_of_batch else None,
    )
    try:
        code = question_code(ck, asked)
    except UsageError:  # Spark's reader cannot be asked this
        return
    with st.expander(say("state_rows.by_spark")):
        cards.text(say("state_rows.by_spark_more"), "small")
        cards.raw(code, language="python")


def _choice(choices: Mapping[str, Choice]) -> Choice:
    first = next(iter(choices))
    if len(choices) == 1:
        return choices[first]
    labels = {name: name for name in choices}
    return choices[selection.pick(say("state_rows.of"), "of", labels, first) or first]


def _key(choice: Choice) -> Mapping[str, Json] | None:
    """The key that was typed; None while there is none, or it is no object."""
    form = json.dumps(dict.fromkeys(choice.key_columns, "…"), ensure_ascii=False)
    text = st.text_input(say("state_rows.key"), key=links.TYPED_KEY, placeholder=form)
    if text:
        links.leaves_out(say("screens.link_with_key"))
    if not text:
        return None
    try:
        return cast("Mapping[str, Json]", parse_object(text))
    except ValueError as error:
        cards.message("plain", say("state_rows.key_text", form=form, reason=error))
        return None


def _question(
    operator: OperatorState,
    choice: Choice,
    find: str,
    batch_id: int | None,
    partition_id: int | None,
    key: Mapping[str, Json] | None,
) -> RowsQuestion:
    return RowsQuestion(
        batch_id=batch_id,
        operator_id=operator.operator_id,
        store=choice.store,
        side=choice.side,
        variable=choice.variable,
        is_timers=choice.is_timers,
        partition_id=None if key is not None else partition_id,
        key=key,
        is_of_batch=find == "changes",
        is_past_watermark=find == "passed",
        largest="keys" if find == "largest_keys" else "values" if find == "largest_values" else None,
        limit=LIMIT,
    )


def _show(ck: Checkpoint, found: RowsAnswer) -> None:
    cards.text(f"{say_of('state_rows', 'OF', _what(found))} {count_text(found)}".strip(), "lead")
    for part in found.not_read[:MOST_REASONS]:
        reason = words.one_line(part.reason, 300)
        cards.message(
            "doubt", say("state_rows.partition_not_read", partition=part.partition_id, reason=reason)
        )
    if len(found.not_read) > MOST_REASONS:
        cards.text(say("state_rows.more_not_read", n=len(found.not_read) - MOST_REASONS), "small")
    if found.difference is not None and found.files:
        with st.expander(say("state_rows.files_read", n=len(found.files))):
            cards.raw("\n".join(found.files))
    if not found.rows:
        return
    is_revealed = False
    if ck.settings.reveal_state:
        is_revealed = st.toggle(
            say("state_rows.reveal"), key="reveal_state", help=say("state_rows.reveal_help")
        )
    else:
        cards.text(say("state_rows.reveal_forbidden"), "small")
    columns = as_columns(found, is_revealed)
    tables.table(columns, alt=say("state_rows.table", batch=found.batch_id), absent="null")
    if is_revealed:
        links.leaves_out(say("screens.link_with_revealed"))
        tables.downloads(columns, f"state-rows-batch-{found.batch_id}", key="state-rows")


def as_columns(found: RowsAnswer, is_revealed: bool) -> tables.Columns:
    """One row per row of the state, one column per column of key and value. What is nested is JSON."""
    rows = found.rows if is_revealed else tuple(map(hidden, found.rows))
    columns: dict[str, list[object]] = {}
    if any(row.change for row in rows):
        columns["change"] = [row.change for row in rows]
    columns["partition"] = [row.partition_id for row in rows]
    for column in found.columns:
        if column.part == "key":
            columns[f"key {column.name}"] = [_cell(row.key.get(column.name)) for row in rows]
    if any(isinstance(row.value, list) for row in rows):
        columns["values"] = [_cell(row.value) for row in rows]
    else:
        for column in found.columns:
            if column.part == "value":
                columns[column.name] = [_cell(_value(row.value, column.name)) for row in rows]
    if found.difference is not None:
        columns["before"] = [_cell(row.before) for row in rows]
    columns["key bytes"] = [row.key_bytes for row in rows]
    columns["value bytes"] = [row.value_bytes for row in rows]
    return columns


def _what(found: RowsAnswer) -> str:
    if found.difference is not None:
        return "difference"
    if any(row.change for row in found.rows):
        return "changes"
    return "passed" if found.is_past_watermark else "rows"


def _value(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, dict) else None


def _cell(value: Json) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
