"""Integrity: the steps of Spark's next start, what is wrong in the files, and what an error means for this
checkpoint."""

from __future__ import annotations

import streamlit as st

from core.analysis.findings import LEVELS, Level
from core.analysis.forecast import SUPPORTED_SPARK, Forecast
from core.checkpoint import Checkpoint
from core.errors import StorageError
from core.messages import say, words
from core.messages.screen_integrity import DATA_LOSS, QUERIES
from core.messages.screen_integrity import LEVELS as LEVEL_TEXTS
from ui import (
    cached_answers,
    cards,
    changes_panel,
    connectors,
    error_translator,
    finding_cards,
    impact_card,
    selection,
    shell,
    start_steps,
)
from ui.open_checkpoints import Opened

LOOK_AGAIN_SECONDS = 5

Place = st.delta_generator.DeltaGenerator


def main() -> None:
    opened, ck = shell.checkpoint()
    translator, first, second = st.container(), st.container(), st.container()
    if connectors.waits(ck):  # a broker may take seconds: what does not need it comes first
        rest(opened, ck)
        judgement(opened, ck, first, second)
    else:
        judgement(opened, ck, first, second)
        rest(opened, ck)
    if cached_answers.verdict(opened) == "blocked":  # then somebody has an error to paste
        with translator:
            error_translator.folded(ck, opened=opened)
    else:
        cards.text(say("screen_errors.title"), "section")
        error_translator.show(ck, opened=opened)


def judgement(opened: Opened, ck: Checkpoint, first: Place, second: Place) -> None:
    """What rests on the checkpoint, its source and its sink."""
    with first:
        start(opened, ck)
        connectors.what_was_asked(opened, ck)
    with second:
        check(opened, ck)


def rest(opened: Opened, ck: Checkpoint) -> None:
    """What needs neither source nor sink."""
    changes_panel.show(opened, ck)
    liveness(ck)


def start(opened: Opened, ck: Checkpoint) -> None:
    """What happens at the next start, step by step, for the chosen Spark and query."""
    cards.text(say("screen_integrity.steps"), "section")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        versions = {version: f"Spark {version}" for version in SUPPORTED_SPARK}
        spark = selection.pick(
            "Spark that starts next",
            "spark",
            versions,
            say("screen_integrity.spark_as_written"),
            width=250,
        )
        query = selection.pick("Query that starts next", "query", QUERIES, QUERIES["same"], width=250)
        loss = None
        if any(source.kind.fails_on_data_loss for source in ck.sources):
            loss = selection.pick("failOnDataLoss", "loss", DATA_LOSS, DATA_LOSS["true"], width=250)
    with st.spinner(say("screen_start.working")):
        answer = cached_answers.start_of(opened, ck, spark, query or "same", loss or "true")
        usual = cached_answers.start_sentence(opened, ck)
    if isinstance(answer, str):
        cards.message("plain", answer)
        return
    if spark is not None or query == "stateless" or loss == "false":
        what_if(answer, usual)
    start_steps.rules(answer)
    start_steps.open_first(answer, "integrity-steps")
    if answer.then:
        cards.text(say("screen_start.after_that", then=answer.then))
    start_steps.not_checked(answer.not_checked)


def what_if(answer: Forecast, usual: str) -> None:
    """The sentence under the chosen conditions, where it differs from the one above that
    speaks of the query as it is."""
    if answer.sentence == usual:
        cards.text(say("screen_integrity.no_change"))
        return
    proof = say(
        "screen_start.proof",
        certainty=cached_answers.CERTAINTY[answer.certainty],
        because=words.one_line(answer.because, 300),
    )
    if_so = say("screen_integrity.if_so", sentence=answer.sentence)
    cards.message(cached_answers.tone_of(answer), if_so, proof)


def check(opened: Opened, ck: Checkpoint) -> None:
    """Findings by severity, at the level that was chosen."""
    cards.text(say("screen_integrity.findings"), "section")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        labels = {str(level): LEVEL_TEXTS[level] for level in LEVELS}
        chosen = selection.pick("Check level", "level", labels, LEVEL_TEXTS["normal"], width=380)
    level: Level = next((item for item in LEVELS if item == chosen), "normal")
    was_read = cached_answers.deepest(ck) is not None
    cards.text(say("screen_integrity.contents_read") if was_read else cost(ck, level), "small")
    how_large(opened, ck, level)
    if finding_cards.show(opened, ck, level):
        impact_card.card(opened, ck, is_short=True)


def how_large(opened: Opened, ck: Checkpoint, level: Level) -> None:
    """The size by kind, which batches are kept and what Spark removes next."""
    try:
        size = cached_answers.judgement(opened, ck, level).size
    except StorageError as error:
        cards.text(say("screen_integrity.size_not_known", reason=error), "small")
        return
    cards.text(f"{size.sentence} {size.retention}", "small")


def cost(ck: Checkpoint, level: Level) -> str:
    """What the level reads, before it runs."""
    if level == "quick":
        return say("screen_integrity.cost_quick")
    logs = say("screen_integrity.cost_normal", n=len(ck.offset_ids))
    if level == "normal" or not ck.has_state:
        return logs
    inventory = cached_answers.state(ck)
    state = (
        say("screen_integrity.cost_not_listed", reason=inventory)
        if isinstance(inventory, str)
        else say(
            "screen_integrity.cost_deep",
            files=inventory.file_count,
            size_bytes=inventory.size_bytes,
            seconds=ck.settings.deep_check_seconds,
        )
    )
    return f"{logs} {state}"


def liveness(ck: Checkpoint) -> None:
    """Whether a query writes right now: a second look a few seconds later, when somebody asks for it."""
    cards.text(say("screen_integrity.writing"), "section")
    st.button(
        say("screen_integrity.look_again", seconds=LOOK_AGAIN_SECONDS), key="look-again", on_click=_look_again
    )
    if not st.session_state.pop("_look_again", False):
        cards.text(say("screen_integrity.look_again_what"), "small")
        return
    with st.spinner(say("screen_integrity.looking_again", seconds=LOOK_AGAIN_SECONDS)):
        answer = cached_answers.second_look(ck, LOOK_AGAIN_SECONDS)
    if isinstance(answer, str):
        cards.message("plain", answer)
        return
    proof = [
        cached_answers.CERTAINTY[answer.certainty],
        *([", ".join(map(str, answer.evidence[:6]))] if answer.evidence else []),
    ]
    cards.message("doubt" if answer.writer == "active" else "plain", answer.sentence, " · ".join(proof))


def _look_again() -> None:
    st.session_state["_look_again"] = True


main()
