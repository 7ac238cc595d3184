"""State: what is kept per operator, how evenly it is spread over the partitions, how it grew, and what can be
rebuilt."""

from __future__ import annotations

import streamlit as st

from core.analysis.balance import Balance, Growth, Measure, balance, growth
from core.checkpoint import Checkpoint
from core.checkpoint.model import OperatorState, StateInventory
from core.messages import words
from ui import cached_answers, cards, charts, links, selection, shell, state_charts, tables

MEASURES = {
    "state": "rows now: files the next batch loads",
    "written": "what the newest version wrote",
    "kept": "all kept files of all versions",
}


def main() -> None:
    _, ck = shell.checkpoint()
    if not ck.has_state:
        cards.message(
            "plain",
            "This query keeps no state: there is no directory state/.",
            "Balance, growth and restorability do not apply.",
        )
        return
    with st.spinner("Listing the state ..."):
        inventory = cached_answers.state(ck)
    if isinstance(inventory, str):
        cards.message("blocked", f"The state cannot be listed: {inventory}")
        return
    if not inventory.operators:
        cards.message(
            "plain",
            "The directory state/ is there and holds no operator.",
            "Nothing was written yet, or it was removed.",
        )
        return
    overview(inventory)
    operator = choose_operator(inventory)
    restorable(ck, operator)
    store = choose_store(operator)
    found = balance(operator, store, measure=choose_measure())
    picture, versions = st.container(), st.container()
    cards.text("One partition", "section")
    chosen = selection.number_field("Partition", "partition", "click a bar, or type", width=230)
    with picture:
        spread(found, chosen)
    with versions:
        grown(growth(operator, store))
    one_partition(operator, store, found, chosen)


def overview(inventory: StateInventory) -> None:
    """One row per operator."""
    files = words.counted(inventory.file_count, "file")
    cards.text(
        f"{words.counted(len(inventory.operators), 'stateful operator')}, {words.size(inventory.size_bytes)} in"
        f" {files}",
        "lead",
    )
    columns = cached_answers.operator_columns(inventory)
    tables.table(columns, alt="The stateful operators", most=6)


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


def restorable(ck: Checkpoint, operator: OperatorState) -> None:
    """Which version every partition can rebuild, and which partitions break the chain."""
    told = operator.restorable
    if told.broken_partitions:
        needed = (
            "the newest version"
            if told.needed_version is None
            else f"version {told.needed_version}, which the next batch loads,"
        )
        common = "There is no version that all can rebuild."
        if told.newest_common_version is not None:
            common = f"The newest version that all can rebuild is {told.newest_common_version}."
        broken = words.counted(len(told.broken_partitions), "partition")
        cards.message(
            "blocked",
            f"{broken} of operator {operator.operator_id} cannot rebuild {needed} from the files.",
            common,
        )
        columns = {
            "operator/partition/store": [place for place, _ in told.broken_partitions],
            "first missing file": [file for _, file in told.broken_partitions],
        }
        tables.table(columns, alt="Partitions that cannot be rebuilt", most=8)
        tables.downloads(columns, "broken-partitions", key="broken")
    elif told.newest_common_version is not None:
        loads = told.needed_version
        after = "" if loads is None else f" The next batch loads version {loads} (batch {loads - 1} + 1)."
        up_to = (
            f"Every partition of operator {operator.operator_id} can be rebuilt up to version"
            f" {told.newest_common_version}"
        )
        cards.text(
            f"{up_to}, as far as the names of the files tell.{after} Not checked: the contents of the files.",
            "small",
        )
    else:
        cards.text(
            "No version can be rebuilt from the names of the files; nothing is committed yet, or the layout"
            " is not known.",
            "small",
        )
    for problem in operator.problems:
        cards.message("plain", f"{problem.evidence}: {words.one_line(problem.reason, 400)}")


def spread(found: Balance, chosen: int | None) -> None:
    """The balance: conclusion, picture, words, table."""
    cards.text(found.title, "lead")
    if not found.partitions:
        return
    charts.show(state_charts.balance(found, chosen), "balance", found.title, selection.balance_clicked)
    lines = []
    if found.empty:
        lines.append(f"Looks empty: {_ids(found.empty)}.")
    if found.missing:
        lines.append(f"Missing, although expected: {_ids(found.missing)}.")
    ratio = words.NOT_KNOWN if found.max_over_median is None else f"{found.max_over_median:.1f}"
    version = "" if found.version is None else f" at version {found.version}"
    total = (
        f"Together {words.size(found.total_bytes)}{version}; median {words.size(round(found.median_bytes))};"
        f" maximum / median {ratio}."
    )
    cards.text(" ".join([total, *lines, *found.notes]), "small")
    tables.behind(
        lambda: balance_columns(found),
        found.title,
        f"balance-operator-{found.operator_id}-{words.file_name(found.store)}",
    )


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
    wrote = words.size(int(found.change_bytes[-1] + found.full_bytes[-1]))
    title = (
        f"Versions {first} to {last} are kept; version {last} wrote {wrote}"
        if first != last
        else f"Version {first} is kept; it wrote {wrote}"
    )
    cards.text(title, "lead")
    charts.show(state_charts.growth(found), "growth", title)
    rest = (
        [f"{words.size(found.unversioned_bytes)} in files without a version (sst, log)."]
        if found.unversioned_bytes
        else []
    )
    cards.text(" ".join([*rest, *found.notes]), "small")
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
            f"Partition {chosen} is asked for; operator {operator.operator_id} has partitions {ids[0]} to"
            f" {ids[-1]} on disk.",
        )
        return
    share = next((item for item in found.partitions if item.partition_id == chosen), None)
    told = (
        f"Partition {chosen}, store {part.store}: {words.size(part.size_bytes)} in"
        f" {words.counted(len(part.files), 'file')}"
    )
    told += f", newest version {part.newest_version}" if part.newest_version is not None else ", no version"
    cards.text(told + (f", {share.share:.1%} of the store" if share is not None else "") + ".")
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
    tables.table(columns, alt=told, most=12)
    tables.downloads(columns, f"partition-{chosen}", key="partition-files")


def _ids(ids: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, ids[:20]))
    return shown if len(ids) <= 20 else f"{shown} and {len(ids) - 20:,} more"


main()
