"""Findings: what stands out in the checkpoint, most serious first, with its file and what to do."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from core.analysis.findings import SEVERITIES, Finding, FindingsReport, Level
from core.checkpoint import Checkpoint
from core.messages import Sentence, say, say_of, words
from core.recovery.advice import by_answers
from ui import cached_answers, cards, links, recovery_answers
from ui.open_checkpoints import Opened

TONES: dict[str, cards.Tone] = {
    "blocks_restart": "blocked",
    "data_risk": "doubt",
    "attention": "doubt",
    "note": "note",
}
"""The shape of each severity."""

TO_RECOVERY = ("blocks_restart", "data_risk")


def show(opened: Opened, ck: Checkpoint, level: Level | None = None, has_card: bool = False) -> bool:
    """All findings, notes folded away when something is more serious. Without a level: of what the first view
    has read. ``has_card``: :func:`what_to_do` stands in the card above, and is not said again.

    Returns whether one of them leads to the recovery options, where the checkpoint may be given up.
    """
    above = cached_answers.start_sentence(opened, ck)
    with st.spinner(say("screen_start.checking")):
        report = cached_answers.findings(opened, ck, level)
    is_short = level is None
    if is_short and (isinstance(report, str) or len(report.findings) < 2):
        cards.text(say("screen_start.findings"), "section")
    if isinstance(report, str):
        cards.message("plain", report)
        return False
    serious = [item for item in report.findings if item.severity != "note"]
    notes = [item for item in report.findings if item.severity == "note"]
    if not is_short or len(report.findings) != 1:  # one finding says it itself
        cards.text(headline(report), "section" if is_short and report.findings else "strong")
    if not is_short and serious:
        what_to_do(opened, ck, level)
        st.page_link("pages/recovery.py", label=say("screen_start.to_recovery"), query_params={})
    blocks = blocking(report)
    for item in serious:
        is_advice = item is blocks and item.recipe is None and (has_card or not is_short)
        one(ck, item, above, is_short, is_in_card=is_advice)
    if notes and serious:
        with st.expander(say("screen_start.notes", n=len(notes))):
            for item in notes:
                one(ck, item, above, is_short)
    else:
        for item in notes:
            one(ck, item, above, is_short)
    if level is not None:
        cards.text(_looked_at(report), "small")
    return any(item.severity in TO_RECOVERY for item in report.findings)


def _looked_at(report: FindingsReport) -> str:
    """What was and was not looked at. Without findings the headline says what was."""
    checked, not_checked = "; ".join(report.checked), "; ".join(report.not_checked)
    if report.findings:
        return say("screen_start.looked_at", checked=checked, not_checked=not_checked)
    return say("screen_start.not_checked", parts=not_checked)


def some(opened: Opened, ck: Checkpoint, ids: Collection[str], place: str | None = None) -> set[str]:
    """The findings of these ids, the same as on Overview, for the page whose subject they are. ``place``
    keeps those about one operator. Returns the ids that were shown."""
    report = cached_answers.findings(opened, ck)
    if isinstance(report, str):
        return set()
    above = cached_answers.start_sentence(opened, ck)
    found = [
        item
        for item in report.findings
        if item.id in ids and (place is None or (item.place or "").partition("/")[0] == place)
    ]
    for item in found:
        one(ck, item, above)
    return {item.id for item in found}


def what_to_do(opened: Opened, ck: Checkpoint, level: Level | None = None) -> None:
    """For the card of the next start, and above the findings: the advice of Recovery, with the answers that
    were given there."""
    found = cached_answers.advice(opened, ck, level)
    if found is None:
        return
    cards.said(say("screen_start.what_to_do", action=found.sentence))
    if given := by_answers(recovery_answers.choices()):
        cards.text(given, "small")


def blocking(report: FindingsReport) -> Finding | None:
    """The first finding that blocks the restart."""
    return next((item for item in report.findings if item.severity == "blocks_restart"), None)


def headline(report: FindingsReport) -> str:
    """``▲ 1 blocks the restart · ◐ 2 risks of loss or duplicates``, or that nothing was found in what was
    looked at."""
    parts = []
    for severity in SEVERITIES:
        many = sum(1 for item in report.findings if item.severity == severity)
        if many:
            mark = cards.MARKS[TONES[severity]]
            parts.append(say_of("screen_start", "SEVERITIES", severity, mark=mark, n=many))
    return "   ".join(parts) or say("screen_start.no_problems", checked=report.checked)


def one(
    ck: Checkpoint, item: Finding, above: str = "", is_short: bool = False, is_in_card: bool = False
) -> None:
    """One finding: what is so, what to do about it, how sure that is and where it was seen. ``above``: the
    sentence that stands above everything else; what it says is not said again. ``is_short``: as on Overview.
    ``is_in_card``: what to do about it is the advice for the whole, which stands above."""
    tone = TONES[item.severity]
    said = without(item.sentence, above)
    with cards.box(tone):
        if said or not is_short or item.severity == "blocks_restart":
            cards.said(f"{cards.MARKS[tone]} {said}" if said else _titled(item, tone), "strong")
        if not is_short:
            if not is_in_card:
                cards.said(say("screen_start.to_do_about_it", action=item.action))
            if item.decision is not None:
                cards.said(item.decision, "small")
            _proof(item)
        else:
            _in_short(item, tone, is_said=not said, is_in_card=is_in_card)
        _way_on(ck, item, is_short)


def _in_short(item: Finding, tone: cards.Tone, is_said: bool, is_in_card: bool) -> None:
    """What to do about it and where it was seen, behind a title. ``is_said``: what is so stands in the
    forecast above; ``is_in_card``: so does what to do."""
    title = say("screen_start.where_seen" if is_in_card else "screen_start.to_do_and_proof")
    if is_said and item.severity != "blocks_restart":
        title = _titled(item, tone)
    with st.expander(title):
        if not is_in_card:
            cards.said(say("screen_start.to_do_about_it", action=_short_action(item)))
        _proof(item)


def _titled(item: Finding, tone: cards.Tone) -> Sentence:
    """What the finding is called, for one whose sentence stands above."""
    about = say_of("findings", "TITLES", item.id)
    return say("screen_start.more_about", mark=cards.MARKS[tone], about=about)


def _short_action(item: Finding) -> str:
    """What to do, without the command of a rollback, to which a link leads."""
    if item.rewind_to is None:
        return item.action
    return item.action.removesuffix(say("findings.with_rewind", action="", batch=item.rewind_to))


def _proof(item: Finding) -> None:
    """How serious and how sure the finding is, and where it was seen."""
    label = say_of("screen_start", "SEVERITY_NAMES", item.severity)
    files = words.listed(item.evidence, 6) if item.evidence else ""
    cards.text(
        f"{label} · {cached_answers.CERTAINTY[item.certainty]} · {item.id}"
        + (f" · {files}" if files else ""),
        "small",
    )


def without(sentence: str, above: str) -> str:
    """The sentence of a finding without what the forecast above it says already; "" when that is all."""
    if sentence in above:
        return ""
    return sentence.removeprefix(above).strip() if above else sentence


def _way_on(ck: Checkpoint, item: Finding, is_short: bool) -> None:
    """Links to the batch (when the logs have it), to the partition, and to the options for what is serious
    unless the card above leads to them."""
    operator, partition, store = [*(item.place or "").split("/", 2), "", ""][:3]
    with st.container(horizontal=True, gap="small"):
        if item.batch_id is not None and (
            item.batch_id in ck.offset_files or item.batch_id in ck.commit_files
        ):
            st.page_link(
                "pages/timeline.py",
                label=say("screen_start.to_batch", batch=item.batch_id),
                query_params=links.onward(batch=str(item.batch_id)),
            )
        if operator.isdigit() and partition.isdigit():
            at = {"operator": operator, "partition": partition} | ({"store": store} if store else {})
            st.page_link(
                "pages/state.py",
                label=say("screen_start.to_partition", partition=partition, operator=operator),
                query_params=links.onward(**at),
            )
            if item.id == "STATE_SKEWED":
                label = say("screen_start.to_largest_rows", partition=partition)
                st.page_link(
                    "pages/state.py", label=label, query_params=links.onward(**at, find="largest_values")
                )
        if item.option is not None:
            chosen = links.onward(option=item.option)
            st.page_link("pages/recovery.py", label=say("screen_start.to_recovery"), query_params=chosen)
        elif item.rewind_to is not None:
            rewind_link(item.rewind_to)
        elif item.recipe is not None and not is_short:
            label = say("screen_start.to_recovery_option", option=say_of("recovery", "TITLES", item.recipe))
            st.page_link("pages/recovery.py", label=label, query_params=links.onward(option=item.recipe))


def rewind_link(batch: int) -> None:
    """The way to plan and script of the rollback to a batch."""
    st.page_link(
        "pages/recovery.py",
        label=say("screen_start.to_rewind", batch=batch),
        query_params=links.onward(**{"option": "rewind", f"{links.ANSWER}to_batch": str(batch)}),
    )
