"""Integrity: the steps of Spark's next start, what is wrong in the files, and what an error means for this
checkpoint."""

from __future__ import annotations

import streamlit as st

from core.analysis.errors import Explanation, explain
from core.analysis.findings import LEVELS, Level
from core.analysis.forecast import SUPPORTED_SPARK, Forecast
from core.checkpoint import Checkpoint
from core.errors import StorageError
from core.messages import words
from ui import cached_answers, cards, connectors, finding_cards, impact_card, selection, shell, start_steps
from ui.open_checkpoints import Opened

LEVEL_LABELS: dict[str, str] = {
    "quick": "quick: names only",
    "normal": "normal: logs, schemas, chains of state files",
    "deep": "deep: every state file is decoded",
}
QUERY_LABELS = {
    "same": "the same query",
    "stateless": "without its stateful operators",
}
LOSS_LABELS = {
    "true": "true (Spark's default)",
    "false": "false: go on with what is left",
}
LOOK_AGAIN_SECONDS = 5

Place = st.delta_generator.DeltaGenerator


def main() -> None:
    opened, ck = shell.checkpoint()
    first, second = st.container(), st.container()
    if connectors.waits(ck):  # a broker may take seconds: what does not need it comes first
        rest(ck)
        judgement(opened, ck, first, second)
    else:
        judgement(opened, ck, first, second)
        rest(ck)


def judgement(opened: Opened, ck: Checkpoint, first: Place, second: Place) -> None:
    """What rests on the checkpoint and its ends."""
    with first:
        start(opened, ck)
        connectors.told(opened, ck)
    with second:
        check(opened, ck)


def rest(ck: Checkpoint) -> None:
    """What needs no end of the query."""
    liveness(ck)
    translator(ck)


def start(opened: Opened, ck: Checkpoint) -> None:
    """What happens at the next start, step by step, for the chosen Spark and query."""
    cards.text("The next start, step by step", "section")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        versions = {version: f"Spark {version}" for version in SUPPORTED_SPARK}
        spark = selection.pick(
            "Spark that starts next",
            "spark",
            versions,
            "the one that wrote the files",
            width=250,
        )
        query = selection.pick(
            "Query that starts next", "query", QUERY_LABELS, QUERY_LABELS["same"], width=250
        )
        loss = None
        if any(source.kind.fails_on_data_loss for source in ck.sources):
            loss = selection.pick("failOnDataLoss", "loss", LOSS_LABELS, LOSS_LABELS["true"], width=250)
    with st.spinner("Working out what the next start does ..."):
        answer = cached_answers.start_of(opened, ck, spark, query or "same", loss or "true")
    if isinstance(answer, str):
        cards.message("plain", answer)
        return
    if spark is not None or query == "stateless" or loss == "false":
        what_if(answer)
    cards.text(f"The rules of Spark {answer.spark} are applied: {answer.spark_why}.", "small")
    start_steps.steps(answer, "integrity-steps")
    if answer.then:
        cards.text(f"After that: {answer.then}")
    cards.text(f"Not checked: {'; '.join(answer.not_checked) or 'nothing'}.", "small")


def what_if(answer: Forecast) -> None:
    """The sentence under the chosen conditions, apart from the one above that speaks of the query as it is."""
    proof = f"{cached_answers.CERTAINTY[answer.certainty]} · {words.one_line(answer.because, 300)}"
    cards.message(cached_answers.tone_of(answer), f"If so: {answer.sentence}", proof)


def check(opened: Opened, ck: Checkpoint) -> None:
    """Findings by severity, at the level that was chosen."""
    cards.text("Findings", "section")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        labels = {str(level): LEVEL_LABELS[level] for level in LEVELS}
        chosen = selection.pick("Check level", "level", labels, LEVEL_LABELS["normal"], width=380)
    level: Level = next((item for item in LEVELS if item == chosen), "normal")
    cards.text(cost(ck, level), "small")
    if finding_cards.show(opened, ck, level):
        impact_card.card(opened, ck)


def cost(ck: Checkpoint, level: Level) -> str:
    """What the level reads, before it runs."""
    if level == "quick":
        return "Reads nothing beyond what is open already."
    logs = (
        f"Reads the logs of {words.counted(len(ck.offset_ids), 'batch')} that are not read yet, and lists"
        " state/ where there is one."
    )
    if level == "normal" or not ck.has_state:
        return logs
    inventory = cached_answers.state(ck)
    if isinstance(inventory, str):
        return f"{logs} The state cannot be listed: {inventory}"
    files = (
        f"{words.counted(inventory.file_count, 'state file')}, {words.size(inventory.size_bytes)} together"
    )
    return (
        f"{logs} Then decodes the state files that are needed, of {files}, for at most"
        f" {ck.settings.deep_check_seconds:.0f} s."
    )


def liveness(ck: Checkpoint) -> None:
    """Whether a query writes right now: a second look a few seconds later, when somebody asks for it."""
    cards.text("Does a query write right now?", "section")
    st.button(f"Look again in {LOOK_AGAIN_SECONDS} seconds", key="look-again", on_click=_look_again)
    if not st.session_state.pop("_look_again", False):
        cards.text("Lists the logs twice and compares. Nothing is written.", "small")
        return
    with st.spinner(f"Looking a second time in {LOOK_AGAIN_SECONDS} seconds ..."):
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


def translator(ck: Checkpoint) -> None:
    """Paste an error, read what it means for this checkpoint. The text stays out of the address."""
    cards.text("What does this error mean here?", "section")
    pasted = st.text_area(
        "Error message or stack trace",
        key="pasted-error",
        height=140,
        placeholder="Paste the whole stack trace: the cause is often at its end.",
    )
    if not pasted.strip():
        cards.text(
            "It is compared with Spark's own list of errors and with the files of this checkpoint; it is sent"
            " nowhere.",
            "small",
        )
        return
    try:
        answer = explain(pasted, ck)
    except StorageError as error:
        cards.message("plain", f"The files cannot be compared with the error: {error}")
        return
    explained(answer)


def explained(answer: Explanation) -> None:
    """Meaning, what this checkpoint says, likely reasons, what to do."""
    if answer.name is None:
        cards.message("plain", answer.sentence, answer.means)
        return
    tone: cards.Tone = (
        "blocked" if answer.shown == "yes" else "doubt" if answer.shown == "unknown" else "plain"
    )
    named = f"{answer.name}" + (f" · SQLSTATE {answer.sqlstate}" if answer.sqlstate else "")
    with cards.box(tone):
        cards.text(f"{cards.MARKS[tone]} {answer.sentence}", "lead")
        cards.text(f"{cached_answers.CERTAINTY[answer.certainty]} · {named}", "small")
        cards.text(answer.means)
        for statement in answer.here:
            files = ", ".join(map(str, statement.evidence[:6]))
            cards.text(f"Here: {statement.sentence}", "strong")
            cards.text(
                f"{cached_answers.CERTAINTY[statement.certainty]}" + (f" · {files}" if files else ""), "small"
            )
        if answer.unseen:
            cards.text(f"The files cannot show the cause: {answer.unseen}", "small")
    if answer.reasons:
        cards.text("Likely reasons, most likely first", "strong")
        cards.text("\n".join(f"{number}. {reason}" for number, reason in enumerate(answer.reasons, 1)))
    cards.text("What to do", "strong")
    cards.text(answer.action)
    if set(answer.options) & {"reset", "backup_and_backfill", "full_refresh"}:
        st.page_link("pages/recovery.py", label="Recovery: options and their price", query_params={})
    if answer.others:
        with st.expander(f"{words.counted(len(answer.others), 'other error')} in the text"):
            for other in answer.others[:20]:
                cards.text(f"line {other.line}: {other.name} · {words.one_line(other.message, 300)}")
    cards.text(f"Not checked: {'; '.join(answer.not_checked) or 'nothing'}.", "small")


main()
