"""The panel "What changes?": a change of the query is chosen, and what it does to this checkpoint is said.

The choice is in the address (``what``, ``becomes``, ``target``); columns, topics and paths that somebody
types are not: no link carries them.
"""

from __future__ import annotations

import shlex
from typing import get_args

import streamlit as st

from core.analysis.changes import WHATS, AskedChange, ChangesReport, Judged, SinkName, What
from core.analysis.changes.asked import CHOICES, columns_as_asked
from core.analysis.changes.model import WORST_FIRST, Verdict
from core.analysis.changes.sentences import headline, was_lines
from core.analysis.forecast import SUPPORTED_SPARK
from core.checkpoint import Checkpoint
from core.messages import say, say_of
from ui import cached_answers, cards, links, rehearsal_result, selection
from ui.open_checkpoints import Opened

TONES: dict[Verdict, cards.Tone] = {
    "silently_wrong": "blocked",
    "fails": "blocked",
    "unknown": "doubt",
    "fine_but": "doubt",
    "ignored": "plain",
    "fine": "done",
}
TYPED: tuple[What, ...] = ("keys", "aggregates", "dedup_columns", "subscription", "partitions", "source_path")
"""Changes whose value can be typed."""
SINKS: tuple[SinkName, ...] = get_args(SinkName)
_BEFORE = "_changes_what"


def show(opened: Opened, ck: Checkpoint) -> None:
    """What the query was, the chosen change with its verdict, and a safe deployment."""
    cards.text(say("screen_changes.title"), "section")
    cards.text(say("screen_changes.about"), "small")
    asked, sink = _chosen(opened, ck)
    spark = links.chosen("spark", SUPPORTED_SPARK)
    with st.spinner(say("screen_changes.working")):
        report = cached_answers.changes(opened, ck, asked, spark, sink)
    if isinstance(report, str):
        cards.message("plain", report)
        return
    if report.today_fails:
        cards.text(report.today, "strong")
    if asked:
        for change in report.changes:
            _verdict(change, report)
    else:
        _overview(report)
    with st.expander(say("screen_changes.was")):
        cards.text("\n".join(was_lines(report.query)))
    with st.expander(say("screen_changes.files")):
        cards.text(say("screen_changes.files_about"), "small")
        files = ["python", "-m", "core", "changes", ck.location.url, "--old", "OLD.py", "--new", "NEW.py"]
        st.code(shlex.join(files), language="bash", wrap_lines=True)
    command = cached_answers.rehearse_command(opened, ck, sink)
    if command:
        with st.expander(say("screen_changes.rehearse")):
            cards.text(say("screen_changes.rehearse_about"), "small")
            st.code(command, language="bash", wrap_lines=True)
            rehearsal_result.show(ck)
    if report.checklist:
        with st.expander(say("changes.checklist")):
            lines = (f"{number}. {item}" for number, item in enumerate(report.checklist, start=1))
            cards.text("\n".join(lines))


def _chosen(opened: Opened, ck: Checkpoint) -> tuple[tuple[AskedChange, ...], SinkName | None]:
    """What the controls say: one change with each of its values, or with the one that is chosen."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        labels = {str(what): str(say_of("changes", "WHATS", what)) for what in WHATS}
        picked = selection.pick(say("screen_changes.what"), "what", labels, say("screen_changes.all"))
        what = next((each for each in WHATS if each == picked), None)
        _forget_value(what)
        value = None
        if what is not None:
            words = SUPPORTED_SPARK if what == "spark" else CHOICES[what]
            if words:
                values = {
                    word: f"Spark {word}" if what == "spark" else str(say_of("changes", "VALUES", word))
                    for word in words
                }
                first = say("screen_changes.every_value")
                value = selection.pick(say("screen_changes.becomes"), "becomes", values, first)
        kinds = {str(sink): str(say_of("screen_changes", "SINKS", sink)) for sink in SINKS}
        target = selection.pick(say("screen_changes.sink"), "target", kinds, say("changes.not_known"), 200)
        sink = next((each for each in SINKS if each == target), None)
    if what is None:
        return (), sink
    typed = _typed(opened, ck, what)
    if typed:
        return (AskedChange(what, typed),), sink
    if value is not None:
        return (AskedChange(what, value),), sink
    words = SUPPORTED_SPARK if what == "spark" else CHOICES[what]
    return tuple(AskedChange(what, word) for word in words or ("changed",)), sink


def _forget_value(what: What | None) -> None:
    """A value belongs to its change: it goes when another one is chosen."""
    before = st.session_state.get(_BEFORE, what)
    if before != what:
        links.pick("becomes", None)
    st.session_state[_BEFORE] = what


def _typed(opened: Opened, ck: Checkpoint, what: What) -> str:
    """What somebody types in place of a choice; the field shows what the checkpoint has."""
    if what not in TYPED:
        return ""
    report = cached_answers.changes(opened, ck, (AskedChange(what, "changed"),), None, None)
    today = "" if isinstance(report, str) else columns_as_asked(report.query, what)
    text: str = st.text_input(
        say("screen_changes.typed"),
        key=f"{links.WIDGET}typed_{what}",
        placeholder=today or None,
        max_chars=500,
        width=600,
    )
    if text.strip():
        links.leaves_out(say("screens.link_with_change"))
    return "".join(char for char in text.strip() if char.isprintable())


def _verdict(change: Judged, report: ChangesReport) -> None:
    tone = TONES[change.verdict]
    with cards.box(tone):
        cards.text(f"{cards.MARKS[tone]} {headline(change)}", "lead")
        cards.text(change.sentence)
        cards.text(say("screen_changes.action", action=change.action), "strong")
        cards.text(say("screen_changes.rollback", rollback=change.rollback), "small")
        certainty = cached_answers.CERTAINTY[change.certainty]
        files = ", ".join(map(str, change.evidence[:4]))
        why = say("changes.because", certainty=certainty, rule=change.rule, spark=report.spark)
        cards.text(f"{why} · {files}" if files else why, "small")
        if change.recipe is not None:
            st.page_link(
                "pages/recovery.py",
                label=say("screen_changes.to_option", recipe=change.recipe),
                query_params={"option": change.recipe},
            )


def _overview(report: ChangesReport) -> None:
    """Which changes are what, worst first, in one line each. A kind of change whose outcome depends on the
    value stands in several lines."""
    verdicts: dict[str, set[Verdict]] = {}
    for change in report.changes:
        verdicts.setdefault(change.what, set()).add(change.verdict)
    if any(len(several) > 1 for several in verdicts.values()):
        cards.text(say("screen_changes.several"), "small")
    for verdict in WORST_FIRST:
        found = [change for change in report.changes if change.verdict == verdict]
        if found:
            tone = TONES[verdict]
            what = dict.fromkeys(str(say_of("changes", "WHATS", change.what)) for change in found)
            name = str(say_of("changes", "VERDICTS", verdict))
            cards.text(f"{cards.MARKS[tone]} {name} · {', '.join(what)}")
