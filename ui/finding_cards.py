"""Findings: what stands out in the checkpoint, most serious first, with its file and what to do."""

from __future__ import annotations

import streamlit as st

from core.analysis.findings import SEVERITIES, Finding, FindingsReport, Level
from core.checkpoint import Checkpoint
from core.messages import words
from ui import cached_answers, cards
from ui.open_checkpoints import Opened

LABELS: dict[str, tuple[cards.Tone, str, str]] = {
    "blocks_restart": ("blocked", "blocks the restart", "block the restart"),
    "data_risk": ("doubt", "risk of loss or duplicates", "risks of loss or duplicates"),
    "attention": ("doubt", "for attention", "for attention"),
    "note": ("note", "note", "notes"),
}
"""Shape and words of each severity, for one and for several."""

TO_RECOVERY = ("blocks_restart", "data_risk")


def show(opened: Opened, ck: Checkpoint, level: Level | None = None) -> bool:
    """All findings, notes folded away when something is more serious. Without a level: of what the first view
    has read.

    Returns whether one of them leads to the recovery options, where the checkpoint may be given up.
    """
    with st.spinner("Checking ..."):
        report = cached_answers.findings(opened, ck, level)
    if level is None:
        cards.text("Findings so far", "section")
    if isinstance(report, str):
        cards.message("plain", report)
        return False
    serious = [item for item in report.findings if item.severity != "note"]
    notes = [item for item in report.findings if item.severity == "note"]
    cards.text(headline(report), "strong")
    for item in serious:
        _one(item)
    if notes and serious:
        with st.expander(words.counted(len(notes), "note")):
            for item in notes:
                _one(item)
    else:
        for item in notes:
            _one(item)
    cards.text(
        f"Looked at: {'; '.join(report.checked)}. Not checked: {'; '.join(report.not_checked)}.", "small"
    )
    return any(item.severity in TO_RECOVERY for item in report.findings)


def headline(report: FindingsReport) -> str:
    """``▲ 1 blocks the restart · ◐ 2 risks of loss or duplicates``, or that nothing was found in what was
    looked at."""
    parts = []
    for severity in SEVERITIES:
        many = sum(1 for item in report.findings if item.severity == severity)
        if many:
            tone, one, several = LABELS[severity]
            parts.append(f"{cards.MARKS[tone]} {many} {one if many == 1 else several}")
    return "   ".join(parts) or f"No problems found in {'; '.join(report.checked)}."


def _one(item: Finding) -> None:
    tone, label, _ = LABELS[item.severity]
    with cards.box(tone):
        cards.text(f"{cards.MARKS[tone]} {item.sentence}", "strong")
        cards.text(item.action)
        files = ", ".join(map(str, item.evidence[:6])) + (
            f" and {len(item.evidence) - 6} more" if len(item.evidence) > 6 else ""
        )
        cards.text(
            f"{label} · {cached_answers.CERTAINTY[item.certainty]} · {item.id}"
            + (f" · {files}" if files else ""),
            "small",
        )
        _way_on(item)


def _way_on(item: Finding) -> None:
    """Links to the batch and the partition it speaks about, and to the options that mend what is serious."""
    operator, partition, store = [*(item.place or "").split("/", 2), "", ""][:3]
    with st.container(horizontal=True, gap="small"):
        if item.batch_id is not None:
            st.page_link(
                "pages/timeline.py",
                label=f"Batch {item.batch_id}",
                query_params={"batch": str(item.batch_id)},
            )
        if operator.isdigit() and partition.isdigit():
            at = {"operator": operator, "partition": partition} | ({"store": store} if store else {})
            st.page_link(
                "pages/state.py", label=f"Partition {partition} of operator {operator}", query_params=at
            )
        if item.severity in TO_RECOVERY:
            st.page_link("pages/recovery.py", label="Recovery: options and their price", query_params={})
