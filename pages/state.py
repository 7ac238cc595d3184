"""State: what is kept per operator, how evenly it is spread over the partitions, how it grew, and what can be
rebuilt."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.analysis.balance import Balance, Growth, Measure, balance, growth
from core.analysis.recorded_contents import OF_CONTENTS
from core.checkpoint import Checkpoint
from core.checkpoint.model import OperatorState, StateInventory
from core.messages import say, words
from core.messages.screen_state import MEASURES
from ui import (
    browser,
    cached_answers,
    cards,
    charts,
    finding_cards,
    links,
    operator_list,
    selection,
    shell,
    state_charts,
    state_rows,
    tables,
)
from ui.open_checkpoints import Opened

FINDINGS = ("STATE_SKEWED", "STATE_GROWS")


def main() -> None:
    opened, ck = shell.checkpoint()
    if not ck.has_state:
        report = cached_answers.findings(opened, ck)
        if not isinstance(report, str) and any(item.id == "STATE_FOLDER_MISSING" for item in report.findings):
            cards.message("blocked", say("screen_state.gone"), say("screen_state.none_more"))
        else:
            cards.message("plain", say("screen_state.none"), say("screen_state.none_more"))
        return
    with st.spinner(say("screen_state.listing")):
        inventory = cached_answers.state(ck)
    if isinstance(inventory, str):
        cards.message("blocked", say("screen_state.not_listed", reason=inventory))
        return
    if not inventory.operators:
        cards.message(
            "plain",
            say("screen_state.no_operator"),
            say("screen_state.no_operator_more"),
        )
        return
    conclusion = st.container()
    overview(inventory)
    operator = choose_operator(inventory)
    finding_cards.some(opened, ck, FINDINGS, str(operator.operator_id))
    with conclusion:
        damaged = contents(opened, ck, operator)
    is_first = damaged or operator.restorable.broken_partitions
    with conclusion if is_first else st.container():
        restorable(ck, operator, is_damaged=damaged)
    store = choose_store(operator)
    found = balance(operator, store, measure=choose_measure())
    with conclusion:
        cards.text(found.title, "lead")
    picture, versions = st.container(), st.container()
    cards.text("One partition", "section")
    heaviest = found.heaviest
    empty: str = say("screen_state.partition_placeholder")
    if heaviest is not None:  # shown as long as none is chosen: the address names none, and Back stays simple
        empty = say("screen_state.partition_largest", partition=heaviest.partition_id)
    chosen = selection.number_field("Partition", "partition", empty, width=230)
    with picture:
        spread(found, chosen)
    with versions:
        grown(growth(operator, store))
    shown = chosen if chosen is not None or heaviest is None else heaviest.partition_id
    one_partition(operator, store, found, shown)
    with st.container(key=browser.ROWS):
        state_rows.panel(opened, ck, operator, chosen)


def overview(inventory: StateInventory) -> None:
    """One row per operator."""
    cards.text(
        say(
            "screen_state.operators",
            n=len(inventory.operators),
            size_bytes=inventory.size_bytes,
            files=inventory.file_count,
        ),
        "small",
    )
    operator_list.show(inventory)


def choose_operator(inventory: StateInventory) -> OperatorState:
    """The operator to look at; a choice where there are several."""
    names = {
        str(op.operator_id): f"{op.operator_id}: {op.name or 'name not known'}" for op in inventory.operators
    }
    first = next(iter(names))
    if len(names) == 1:
        refused = links.refusal("operator", names)
        if refused is not None:
            cards.message("plain", refused)
        return inventory.operators[0]
    chosen = selection.pick("Operator", "operator", names, names[first]) or first
    return next(operator for operator in inventory.operators if str(operator.operator_id) == chosen)


def choose_store(operator: OperatorState) -> str | None:
    """The store to look at; a choice where there are several (a join has four)."""
    stores = list(operator.stores)
    refused = links.refusal("store", stores)
    if refused is not None:
        cards.message("plain", refused)
    if len(stores) < 2:
        return stores[0] if stores else None
    chosen = st.selectbox(
        "Store", stores, index=None, key="store", bind="query-params", placeholder=stores[0], width=320
    )
    return chosen or stores[0]


def choose_measure() -> Measure:
    """Which bytes are compared."""
    chosen = selection.pick("Compare", "measure", MEASURES, MEASURES["state"])
    return "written" if chosen == "written" else "kept" if chosen == "kept" else "state"


def contents(opened: Opened, ck: Checkpoint, operator: OperatorState) -> bool:
    """What the contents of the state files show, once they were checked; whether they show anything."""
    if cached_answers.deepest(ck) is None:
        return False
    return bool(finding_cards.some(opened, ck, OF_CONTENTS, str(operator.operator_id)))


def restorable(ck: Checkpoint, operator: OperatorState, is_damaged: bool) -> None:
    """Which version every partition can rebuild by the names of its files, and which partitions break the
    chain. ``is_damaged``: what the contents show stands above."""
    found, number = operator.restorable, operator.operator_id
    if found.broken_partitions:
        broken(operator)
    elif found.newest_common_version is not None:
        needed = found.needed_version
        sentences: list[str] = [
            say("screen_state.restorable", operator=number, version=found.newest_common_version)
        ]
        if needed is not None:
            sentences.append(say("screen_state.next_loads", version=needed, batch=needed - 1))
        cards.text(" ".join([*sentences, said_of_contents(ck, is_damaged)]), "small")
    else:
        cards.text(say("screen_state.nothing_restorable"), "small")
    for problem in operator.problems:
        reason = words.one_line(problem.reason, 400)
        cards.message("plain", say("screen_state.problem", file=problem.evidence, reason=reason))


def said_of_contents(ck: Checkpoint, is_damaged: bool) -> str:
    """How the names go together with what is in the files."""
    if is_damaged:
        return say("screen_state.contents_damaged")
    is_checked = cached_answers.deepest(ck) is not None
    return say("screen_state.contents_checked" if is_checked else "screen_state.contents_not_checked")


def broken(operator: OperatorState) -> None:
    """The partitions that break the chain, with the first file that is missing."""
    found, number = operator.restorable, operator.operator_id
    many, needed, common = len(found.broken_partitions), found.needed_version, found.newest_common_version
    cards.message(
        "blocked",
        say("screen_state.broken_newest", n=many, operator=number)
        if needed is None
        else say("screen_state.broken_needed", n=many, operator=number, version=needed),
        say("screen_state.no_common") if common is None else say("screen_state.common", version=common),
    )
    columns = {
        "operator/partition/store": [place for place, _ in found.broken_partitions],
        "first missing file": [file for _, file in found.broken_partitions],
    }
    tables.table(columns, alt=say("screen_state.broken_table"), most=8)
    tables.downloads(columns, "broken-partitions", key="broken")


def spread(found: Balance, chosen: int | None) -> None:
    """The balance, whose conclusion heads the page: picture, words, table."""
    if not found.partitions:
        return
    charts.show(state_charts.balance(found, chosen), "balance", found.title, selection.balance_clicked)
    cards.text(balance_text(found), "small")
    tables.behind(
        lambda: balance_columns(found),
        found.title,
        f"balance-operator-{found.operator_id}-{words.file_name(found.store)}",
    )


def balance_text(found: Balance) -> str:
    """Total, median, ratio, and the partitions that look empty or are missing."""
    size, median = found.total_bytes, round(found.median_bytes)
    ratio = words.NOT_KNOWN if found.max_over_median is None else f"{found.max_over_median:.1f}"
    sentences: list[str] = [
        say("screen_state.total", size_bytes=size, median=median, ratio=ratio)
        if found.version is None
        else say("screen_state.total_at", size_bytes=size, median=median, ratio=ratio, version=found.version)
    ]
    if found.empty:
        sentences.append(say("screen_state.empty", ids=found.empty))
    if found.missing:
        sentences.append(say("screen_state.missing", ids=found.missing))
    return " ".join([*sentences, *found.notes])


def balance_columns(found: Balance) -> tables.Columns:
    """One row per partition, the heaviest first."""
    median = found.median_bytes
    return {
        "partition": [share.partition_id for share in found.partitions],
        "bytes": [share.size_bytes for share in found.partitions],
        "share %": [round(share.share * 100, 2) for share in found.partitions],
        "times the median": [
            round(share.size_bytes / median, 2) if median else None for share in found.partitions
        ],
        "files": [share.file_count for share in found.partitions],
        "looks empty": [
            {True: "yes", False: "no", None: words.NOT_KNOWN}[share.looks_empty] for share in found.partitions
        ],
    }


def grown(found: Growth) -> None:
    """What each kept version wrote."""
    if not len(found.versions):
        return
    first, last = int(found.versions[0]), int(found.versions[-1])
    wrote = int(found.change_bytes[-1] + found.full_bytes[-1])
    usual = round(float(np.median(found.change_bytes)))
    title: str
    if first == last:
        title = say("screen_state.version", first=first, size_bytes=wrote)
    elif not found.change_bytes.any():
        title = say("screen_state.versions_full", first=first, last=last, size_bytes=wrote)
    else:
        title = say("screen_state.versions", first=first, last=last, usual_bytes=usual, size_bytes=wrote)
    cards.text(title, "lead")
    charts.show(state_charts.growth(found), "growth", title)
    rest = (
        [say("screen_state.unversioned", size_bytes=found.unversioned_bytes)]
        if found.unversioned_bytes
        else []
    )
    said_above = say("balance.compressed")
    own = [note for note in found.notes if note != said_above]
    cards.text(" ".join([*rest, *own]), "small")
    tables.behind(
        lambda: growth_columns(found),
        title,
        f"growth-operator-{found.operator_id}-{words.file_name(found.store)}",
    )


def growth_columns(found: Growth) -> tables.Columns:
    """One row per kept version."""
    return {
        "version": found.versions.tolist(),
        "batch": (found.versions - 1).tolist(),
        "changes bytes": found.change_bytes.tolist(),
        "full bytes": found.full_bytes.tolist(),
        "partitions": found.partitions.tolist(),
    }


def one_partition(operator: OperatorState, store: str | None, found: Balance, chosen: int | None) -> None:
    """The files of one partition, newest version first."""
    ids = sorted({part.partition_id for part in operator.partitions})
    if chosen is None:
        return
    part = next(
        (p for p in operator.partitions if p.partition_id == chosen and (store is None or p.store == store)),
        None,
    )
    if part is None:
        cards.message(
            "plain",
            say(
                "screen_state.no_partition",
                partition=chosen,
                operator=operator.operator_id,
                first=ids[0],
                last=ids[-1],
            ),
        )
        return
    share = next((item for item in found.partitions if item.partition_id == chosen), None)
    sentences: list[str] = [
        say(
            "screen_state.partition",
            partition=chosen,
            store=part.store,
            size_bytes=part.size_bytes,
            files=len(part.files),
        ),
        say("screen_state.partition_no_version")
        if part.newest_version is None
        else say("screen_state.partition_version", version=part.newest_version),
    ]
    if share is not None:
        sentences.append(say("screen_state.partition_share", share=share.share))
    text = " ".join(sentences)
    cards.text(text)
    files = sorted(
        part.files, key=lambda file: (-(file.version if file.version is not None else -1), file.path)
    )
    columns: tables.Columns = {
        "file": [file.path for file in files],
        "kind": [file.kind for file in files],
        "version": [file.version for file in files],
        "bytes": [file.size_bytes for file in files],
        "written (UTC)": [words.exact_moment(file.modified_ms) for file in files],
    }
    tables.table(columns, alt=text, most=12)
    tables.downloads(columns, f"partition-{chosen}", key="partition-files")


main()
