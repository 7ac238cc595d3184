"""Asking Spark about the state, on the page State: a question runs beside the page, with its progress, and
its answer stays while pages change. What is asked is in the address, but for a query of one's own."""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import streamlit as st

from core.checkpoint import Checkpoint
from core.checkpoint.asked import committed_batch
from core.checkpoint.model import OperatorState
from core.checkpoint.state_content.row_target import Choice
from core.documents.rows import shown_of_all, spark_rows_hidden
from core.errors import CheckpointExplorerError
from core.messages import say, say_of
from core.messages.spark import READY
from core.settings import Settings, get_settings
from core.spark import SparkEngine, StateAnswer, StateQuestion
from core.spark.question import Side
from ui import cards, links, selection, tables
from ui.open_checkpoints import Opened

LIMIT = 1_000
_TASK = "_spark_task"


@dataclass(eq=False)
class Task:
    """One question on its way. ``named``: what was asked, in words; ``counted``: columns of the answer that
    hold no content of the state."""

    place: tuple[tuple[str, int], int]
    question: StateQuestion
    named: str
    counted: tuple[str, ...]
    progress: tuple[str, int, int] = ("staging", 0, 0)
    answer: StateAnswer | None = None
    problem: str | None = None
    ended: threading.Event = field(default_factory=threading.Event)
    _cancelled: threading.Event = field(default_factory=threading.Event)

    def start(self, ck: Checkpoint, settings: Settings) -> None:
        """Begins in a thread of its own."""
        threading.Thread(target=self._run, args=(ck, settings), name="ask-spark", daemon=True).start()

    def cancel(self) -> None:
        """Nobody wants the answer any more."""
        self._cancelled.set()

    def _run(self, ck: Checkpoint, settings: Settings) -> None:
        try:
            self.answer = SparkEngine.shared(settings).ask(
                ck, self.question, on_progress=self._on_progress, is_cancelled=self._cancelled.is_set
            )
        except CheckpointExplorerError as error:
            self.problem = str(error).rstrip(".") + "."
        except Exception as error:
            self.problem = say("errors_program.page", error=type(error).__name__, place="core.spark")
            raise
        finally:
            self.ended.set()

    def _on_progress(self, what: str, done: int, known: int) -> None:
        self.progress = (what, done, known)


def panel(
    opened: Opened,
    ck: Checkpoint,
    operator: OperatorState,
    choice: Choice,
    batch_id: int | None,
    partition_id: int | None,
) -> None:
    """The questions, and the one that runs or was answered last."""
    place = (opened.key, operator.operator_id)
    task: Task | None = st.session_state.get(_TASK)
    task = task if task is not None and task.place == place else None
    is_open = task is not None or links.asked("ask") is not None
    with st.expander(say("spark.title"), key="ask-spark", expanded=is_open):
        if not _may_ask():
            cards.text(say("spark.not_in_app"), "small")
            cards.raw(say("spark.on_command_line"), language="bash")
            return
        cards.text(say("spark.about"), "small")
        asked = _question(ck, operator, choice, batch_id, partition_id)
        is_busy = task is not None and not task.ended.is_set()
        st.button(
            say("spark.ask"),
            key="ask-spark-now",
            on_click=_ask,
            args=(place, weakref.ref(ck), asked),  # Streamlit keeps it after the tab is closed
            disabled=is_busy or asked is None,
        )
        if task is None:
            return
        if not task.ended.is_set():
            st.fragment(_running, run_every=0.5)(task)
        else:
            _ended(ck, task)


def _may_ask() -> bool:
    settings = get_settings()
    return settings.spark_in_app == "always" or (settings.spark_in_app == "private" and settings.is_private)


def _question(
    ck: Checkpoint,
    operator: OperatorState,
    choice: Choice,
    batch_id: int | None,
    partition_id: int | None,
) -> tuple[StateQuestion, str, tuple[str, ...]] | None:
    """What the fields say: the question, its words, the columns without content; None while something is
    missing."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        ready = selection.pick(say("spark.ready"), "ask", READY, say_of("spark", "READY", "rows")) or "rows"
        column = _column(choice) if ready == "per_value" else None
    sql, counted = _sql(ready, column)
    if ready == "own":
        if not ck.settings.reveal_state:
            cards.message("plain", say("spark.own_forbidden"))
            return None
        help_text = say("spark.own_help", columns=["partition_id", "key", "value"])
        sql = st.text_area(say("spark.own_query"), key="own_query", help=help_text, height=100) or None
        if sql is None:
            return None
        links.leaves_out(say("screens.link_with_query"))
    if ready == "per_value" and column is None:
        return None
    try:
        last = committed_batch(ck, batch_id)
    except CheckpointExplorerError as error:
        cards.message("plain", str(error))
        return None
    question = StateQuestion(
        batch_id=last,
        operator=operator.operator_id,
        store=None if choice.side is not None else choice.store,
        side=cast("Side | None", choice.side),
        variable=choice.variable,
        timers=choice.is_timers,
        partition=partition_id,
        sql=sql,
        limit=LIMIT,
    )
    named = say_of("spark", "READY", ready)
    if ready == "per_value":
        named = say("spark.per_value_of", column=column)
    return question, sql if ready == "own" and sql else named, counted


def _column(choice: Choice) -> str | None:
    names = {name: name for name in choice.key_columns}
    if not names:
        return None
    first = next(iter(names))
    return selection.pick(say("spark.column"), "column", names, first) or first


def _sql(ready: str, column: str | None) -> tuple[str | None, tuple[str, ...]]:
    if ready == "per_partition":
        text = say("spark.sql_per_partition")
        return text, ("partition_id", "rows")
    if ready == "per_value" and column is not None:
        name = "key.`" + column.replace("`", "``") + "`"
        text = say("spark.sql_per_value", name=name)
        return text, ("rows",)
    return None, ()


def _ask(
    place: tuple[tuple[str, int], int],
    kept: weakref.ref[Checkpoint],
    asked: tuple[StateQuestion, str, tuple[str, ...]],
) -> None:
    ck = kept()
    if ck is None:  # put away while the tab slept; the page reads it again now
        return
    before: Task | None = st.session_state.get(_TASK)
    if before is not None:
        before.cancel()
    task = st.session_state[_TASK] = Task(place, *asked)
    task.start(ck, get_settings())


def _running(task: Task) -> None:
    if task.ended.is_set():
        st.rerun()
    what, done, known = task.progress
    text = say("spark.asked", question=task.named, batch=task.question.batch_id)
    cards.text(text, "small")
    if what == "reading" and known:
        st.progress(min(1.0, done / known), text=say("spark.reading", done=done, known=known))
    else:
        st.progress(0.0, text=_waiting(what))
    st.button(say("spark.cancel"), key="cancel-spark", on_click=task.cancel)


def _waiting(what: str) -> str:
    if what == "staging":
        return say("spark.staging")
    return say("spark.starting") if what == "starting" else say("spark.reading_first")


def _ended(ck: Checkpoint, task: Task) -> None:
    cards.text(say("spark.asked", question=task.named, batch=task.question.batch_id), "small")
    found = task.answer
    if found is None:
        cards.message("plain", task.problem or "")
        return
    rows = shown_of_all(len(found.rows), found.rows_total)
    cards.text(say("spark.took", rows=rows, ms=round(found.seconds * 1000)), "lead")
    equal = sum(how != "unknown" for how in found.compared.values())
    if found.compared:
        cards.text(say("spark.equal", n=equal, all=len(found.compared)), "small")
    if not found.rows:
        return
    is_revealed = False
    if ck.settings.reveal_state:
        is_revealed = st.toggle(
            say("state_rows.reveal"), key="reveal_spark", help=say("state_rows.reveal_help")
        )
    else:
        cards.text(say("state_rows.reveal_forbidden"), "small")
    columns = as_columns(task, found, is_revealed)
    tables.table(columns, alt=say("spark.result", batch=task.question.batch_id), absent="null")
    if is_revealed:
        links.leaves_out(say("screens.link_with_revealed"))
        tables.downloads(columns, f"state-by-spark-batch-{task.question.batch_id}", key="state-spark")


def as_columns(task: Task, found: StateAnswer, is_revealed: bool) -> Mapping[str, list[object]]:
    """One column for each that Spark gave; what is nested is JSON."""
    hidden = spark_rows_hidden(found, task.question.sql is not None)
    return {
        name: [
            _cell((row if is_revealed or name in task.counted else masked)[name])
            for row, masked in zip(found.rows, hidden, strict=True)
        ]
        for name, _ in found.columns
    }


def _cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
