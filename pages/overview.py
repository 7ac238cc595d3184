"""Overview: what happens at the next start, where the query stands, where to go on from, and what the query
is."""

from __future__ import annotations

import time
from functools import partial

import streamlit as st

from core.analysis.forecast import Forecast
from core.analysis.timeline import Timeline
from core.checkpoint import Checkpoint
from core.checkpoint.model import ConfChange, OffsetEntry, StateInventory
from core.checkpoint.sources.forms import parse
from core.messages import words
from ui import (
    cached_answers,
    cards,
    checkpoint_rows,
    connectors,
    finding_cards,
    impact_card,
    shell,
    start_position,
    start_steps,
    tables,
)
from ui.open_checkpoints import Opened

MOST_LEFTOVERS = 200

Place = st.delta_generator.DeltaGenerator


def main() -> None:
    opened, ck = shell.checkpoint()
    # filled in the order of cost, shown in the order of weight; a broker may take seconds to answer, so all
    # that needs it comes last then
    sentence, figures, links, told, stands_out, costs, start = (st.container() for _ in range(7))
    with links:
        way_on()
    with told:
        story(opened.name, ck)
    judge = partial(judgement, opened, ck, sentence, figures, stands_out, costs, start)
    if connectors.waits(ck):
        the_query(ck)
        judge()
    else:
        judge()
        the_query(ck)


def judgement(
    opened: Opened,
    ck: Checkpoint,
    sentence: Place,
    figures: Place,
    stands_out: Place,
    costs: Place,
    start: Place,
) -> None:
    """What rests on the checkpoint and its ends: the forecast, the findings, the price of deleting, where to
    go on."""
    timeline = cached_answers.timeline(opened, ck)
    with sentence, st.spinner("Working out what the next start does ..."):
        forecast = cached_answers.next_start(opened, ck)
    with figures:
        latest(ck, timeline, forecast)
    with sentence:
        verdict(forecast)
        connectors.told(opened, ck)
    with stands_out:
        finding_cards.show(opened, ck)
    with costs:
        impact_card.card(opened, ck)
    with start:
        start_position.block(opened, ck)


def verdict(forecast: Forecast | str) -> None:
    """The whole forecast: the sentence, what it rests on, the error as Spark will word it, what was not
    checked."""
    if isinstance(forecast, str):
        cards.message("plain", forecast)
        return
    tone = cached_answers.tone_of(forecast)
    with cards.box(tone):
        cards.text("What happens at the next start", "small")
        cards.text(f"{cards.MARKS[tone]} {forecast.sentence}", "lead")
        cards.text(
            f"{cached_answers.CERTAINTY[forecast.certainty]} · {words.one_line(forecast.because, 400)}",
            "small",
        )
        if forecast.then:
            cards.text(f"After that: {forecast.then}")
        cards.text(f"Not checked: {'; '.join(forecast.not_checked) or 'nothing'}.", "small")
        with st.expander(
            f"How we know: the {len(forecast.steps)} steps of a start of Spark {forecast.spark}"
        ):
            cards.text(f"The rules of Spark {forecast.spark} are applied: {forecast.spark_why}.", "small")
            start_steps.steps(forecast, "steps")


def latest(ck: Checkpoint, timeline: Timeline, forecast: Forecast | str) -> None:
    """Four figures: last committed, in doubt, next at restart, newest file."""
    last, pending = ck.last_committed_batch, ck.uncommitted_batch
    with st.grid(4, min_column_width=165):
        cards.figure(
            "Last committed",
            "none" if last is None else f"batch {last}",
            _when(timeline, last, "committed"),
            "done",
        )
        if pending is None:
            cards.figure(
                "In doubt",
                "none",
                "every planned batch is committed" if last is not None else "no batch is planned",
            )
        else:
            cards.figure("In doubt", f"batch {pending}", _when(timeline, pending, "planned"), "doubt")
        if isinstance(forecast, str):
            cards.figure("Next at restart", words.NOT_KNOWN, "see above")
        else:
            batch = "no batch" if forecast.batch_id is None else f"batch {forecast.batch_id}"
            again = {
                "rerun": "again, with the planned offsets",
                "resume": "when there is new data",
                "fail": "and it fails",
            }
            cards.figure(
                "Next at restart",
                batch,
                again.get(forecast.outcome, "from scratch"),
                cached_answers.tone_of(forecast),
            )
        newest = max(
            (
                f.modified_ms
                for f in (*ck.offset_files.values(), *ck.commit_files.values())
                if f.modified_ms is not None
            ),
            default=None,
        )
        if newest is None:
            cards.figure("Newest log file", words.NOT_KNOWN, "the storage gives no file times")
        else:
            since = words.age(max(0, int(time.time() * 1000) - newest))
            cards.figure(
                "Newest log file",
                since,
                f"{words.moment(newest)}" + (", time of the copy" if timeline.is_copy else ""),
            )


def _when(timeline: Timeline, batch_id: int | None, what: str) -> str:
    row = timeline.row(batch_id) if batch_id is not None else None
    if row is None:
        return ""
    committed, planned = int(timeline.committed_ms[row]), int(timeline.planned_ms[row])
    if what == "committed" and committed >= 0:
        return f"committed {words.moment(committed)}"
    return f"planned {words.moment(planned)}" if planned >= 0 else "time not known"


def story(name: str, ck: Checkpoint) -> None:
    """What the owners of a local checkpoint wrote beside it, as plain text."""
    told = checkpoint_rows.story_text(name) if ck.location.is_local else ""
    if told:
        with st.expander("What its owners wrote: story.md"):
            cards.text(told)


def way_on() -> None:
    """Links to the other screens."""
    with st.container(horizontal=True, gap="small"):
        for page, label in (
            ("pages/timeline.py", "Timeline of the batches"),
            ("pages/state.py", "State and its partitions"),
            ("pages/watermark.py", "Watermark and stalls"),
            ("pages/ends.py", "Source & sink: Kafka, Delta"),
            ("pages/integrity.py", "Integrity: steps, findings, errors"),
            ("pages/recovery.py", "Recovery: choose, copy the code"),
        ):
            st.page_link(page, label=label, query_params={})


def the_query(ck: Checkpoint) -> None:
    """What the query is: sources, operators, watermark, settings, and what else lies in the directory."""
    cards.text("What the query is", "section")
    identity(ck)
    sources(ck)
    if ck.has_state:
        with st.spinner("Listing the state ..."):
            operators(cached_answers.state(ck))
    settings(ck)
    the_rest(ck)


def identity(ck: Checkpoint) -> None:
    """Location, query id, version, kind of progress tracking."""
    cards.raw(f"location   {ck.location.url}\nquery id   {ck.query_id or 'not known'}")
    by = ck.written_by
    lines = [
        f"Written by {cached_answers.spark_words(ck)} ({words.CERTAINTY[by.certainty]}): {by.why}."
        if cached_answers.spark_words(ck)
        else f"Written by: {by.why}."
    ]
    if ck.is_async:
        lines.append(
            f"Progress is tracked asynchronously ({words.CERTAINTY[ck.tracking.certainty]}): only some batches are logged."
        )
    newest = ck.offset(ck.offset_ids[-1]) if ck.offset_ids else None
    if isinstance(newest, OffsetEntry) and newest.watermark_ms:
        lines.append(f"Watermark in force in batch {newest.batch_id}: {words.moment(newest.watermark_ms)}.")
    cards.text(" ".join(lines), "small")


def sources(ck: Checkpoint) -> None:
    """One row per source."""
    cards.text(
        words.counted(len(ck.sources), "source")
        if ck.sources
        else "No source is named in the offset log yet.",
        "strong",
    )
    if not ck.sources:
        return
    newest = [ck.offset(batch_id) for batch_id in reversed(ck.offset_ids[-20:])]
    entry = next((item for item in newest if isinstance(item, OffsetEntry) and item.sources), None)
    rows = []
    for source in ck.sources:
        line = entry.source(source.key) if entry is not None else None
        text = line.raw if line is not None else None
        where = "" if text is None else words.one_line(source.kind.describe(parse(text)), 300)
        rows.append(
            (
                source.key,
                source.kind.label,
                source.partitions or "does not apply",
                source.directory or "keeps nothing",
                where,
            )
        )
    columns = dict(
        zip(
            ("source", "kind", "partitions", "directory", f"end of batch {entry.batch_id if entry else '?'}"),
            zip(*rows, strict=True),
            strict=True,
        )
    )
    tables.table(columns, alt="The sources of the query", most=8)


def operators(inventory: StateInventory | str) -> None:
    """One row per stateful operator."""
    if isinstance(inventory, str):
        cards.message("plain", f"The state cannot be listed: {inventory}")
        return
    cards.text(
        f"{words.counted(len(inventory.operators), 'stateful operator')}, {words.size(inventory.size_bytes)}",
        "strong",
    )
    if not inventory.operators:
        return
    columns = cached_answers.operator_columns(inventory)
    tables.table(columns, alt="The stateful operators of the query", most=8)


def settings(ck: Checkpoint) -> None:
    """The pinned settings; those that changed between batches first."""
    changes = ck.conf_changes()
    changed = {change.key: change for change in changes}
    title = (
        f"{words.counted(len(ck.conf), 'pinned setting')}, {len(changed)} changed"
        if changed
        else words.counted(len(ck.conf), "pinned setting")
    )
    with st.expander(f"{title}: the checkpoint wins over the session"):
        names = sorted(ck.conf, key=lambda name: (name not in changed, name))
        columns = {
            "setting": names,
            "value": [ck.conf[name] for name in names],
            "last change": [_change(changed.get(name)) for name in names],
        }
        gone = [change for change in changed.values() if change.key not in ck.conf]
        for change in gone:
            columns["setting"].append(change.key)
            columns["value"].append("not in the newest batch")
            columns["last change"].append(_change(change))
        tables.table(columns, alt="Settings pinned in the offset log", most=12)
        tables.downloads(columns, "settings", key="settings")


def _change(change: ConfChange | None) -> str:
    if change is None:
        return ""
    before = "not in the file" if change.before is None else change.before
    return f"batch {change.batch_id}, before: {words.one_line(before, 80)}"


def the_rest(ck: Checkpoint) -> None:
    """Files that are no part of the checkpoint, and files that could not be understood."""
    if ck.problems:
        with st.expander(
            f"{words.counted(len(ck.problems), 'file or line', 'files or lines')} could not be understood",
            expanded=True,
        ):
            for problem in ck.problems[:MOST_LEFTOVERS]:
                cards.text(f"{problem.evidence}: {words.one_line(problem.reason, 400)}")
    if ck.leftovers:
        with st.expander(
            f"{words.counted(len(ck.leftovers), 'leftover')}: files that are no part of a checkpoint"
        ):
            columns: tables.Columns = {
                "file": [item.path for item in ck.leftovers],
                "what": [item.kind for item in ck.leftovers],
                "size": [words.size(item.size_bytes) for item in ck.leftovers],
            }
            tables.table(columns, alt="Leftover files", most=10)


main()
