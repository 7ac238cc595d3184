"""Overview: what happens at the next start, where the query stands, where a new checkpoint would start, and
what the query is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core.analysis.forecast import Forecast
from core.checkpoint import Checkpoint
from core.checkpoint.execution_mode import execution_of
from core.checkpoint.model import ConfChange, OffsetEntry, StateInventory
from core.checkpoint.sources.forms import parse
from core.messages import say, words
from ui import (
    cached_answers,
    cards,
    checkpoint_stories,
    connectors,
    error_translator,
    evidence_file,
    finding_cards,
    impact_card,
    live_figures,
    operator_list,
    report_panel,
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
    sentence, figures, stands_out = (st.container() for _ in range(3))
    with st.container(key="position-and-costs"):  # a phone shows them the other way round
        start, costs = st.container(), st.container()
    tools, notes = st.container(), st.container()
    with figures:
        places = live_figures.places()
    live_figures.of_logs(opened, ck, places)
    with notes:
        story(opened.name, ck)
    judge = partial(judgement, opened, ck, sentence, stands_out, costs, start, tools)
    if connectors.waits(ck):
        the_query(opened, ck, places.state)
        judge()
    else:
        judge()
        the_query(opened, ck, places.state)


def judgement(
    opened: Opened,
    ck: Checkpoint,
    sentence: Place,
    stands_out: Place,
    costs: Place,
    start: Place,
    tools: Place,
) -> None:
    """What rests on the checkpoint, its source and its sink: the forecast, the findings, the impact of
    deleting, the start position."""
    with sentence, st.spinner(say("screen_start.working")):
        forecast = cached_answers.next_start(opened, ck)
    with sentence:
        to_do, not_checked = verdict(forecast, ck)
        is_failing = not isinstance(forecast, str) and cached_answers.tone_of(forecast) == "blocked"
        if is_failing:  # somebody has an error to paste
            error_translator.folded(ck, opened=opened)
        connectors.what_was_asked(opened, ck)
    with stands_out:
        finding_cards.show(opened, ck, has_card=to_do is not None)
    if to_do is not None and not_checked is not None:
        with to_do:
            finding_cards.what_to_do(opened, ck)
        with not_checked:
            left_out(cached_answers.not_checked(opened, ck))
    with costs:
        impact_card.card(opened, ck, with_link=False, is_short=True)
    with start:
        start_position.block(opened, ck, is_short=True)
    with tools:
        if not is_failing:
            error_translator.folded(ck, opened=opened)
        evidence_file.folded(opened, ck)
        report_panel.folded(opened, ck)
        st.page_link("pages/integrity.py", label=say("screen_overview.to_changes"), query_params={})


def verdict(forecast: Forecast | str, ck: Checkpoint) -> tuple[Place | None, Place | None]:
    """The whole forecast: the sentence, what it rests on, the error as Spark will word it. Returns the places
    for what to do about it and for what was not checked, which are known when the findings are."""
    if isinstance(forecast, str):
        cards.message("plain", forecast)
        return None, None
    tone = cached_answers.tone_of(forecast)
    with cards.box(tone):
        cards.text(f"{cards.MARKS[tone]} {forecast.sentence}", "lead")
        to_do = st.container()
        certainty = cached_answers.CERTAINTY[forecast.certainty]
        because = words.one_line(forecast.because, 400)
        cards.text(say("screen_start.proof", certainty=certainty, because=because), "small")
        if forecast.then:
            cards.text(say("screen_start.after_that", then=forecast.then))
        not_checked = st.container()
        with st.expander(say("screen_start.how", n=len(forecast.steps), spark=forecast.spark)):
            start_steps.rules(forecast)
            start_steps.steps(forecast, "steps")
            st.page_link("pages/integrity.py", label=say("screen_overview.to_integrity"), query_params={})
        ways_on(ck)
    return to_do, not_checked


def left_out(parts: Sequence[str]) -> None:
    """What was not checked, behind its number."""
    if not parts:
        start_steps.not_checked(parts)
        return
    with st.expander(say("screen_overview.not_checked", n=len(parts))):
        for part in parts:
            cards.text(words.capital(part), "small")


def ways_on(ck: Checkpoint) -> None:
    """Links of the verdict: what can be done about it, and what would tell more."""
    with st.container(horizontal=True, gap="small"):
        st.page_link("pages/recovery.py", label=say("screen_overview.to_recovery"), query_params={})
        connectors.offer(ck)


def story(name: str, ck: Checkpoint) -> None:
    """What the owners of a local checkpoint wrote beside it, as plain text."""
    text = checkpoint_stories.story_text(name)
    if text:
        with st.expander(say("screen_overview.notes")):
            cards.text(text)


def the_query(opened: Opened, ck: Checkpoint, live_state: Place) -> None:
    """What the query is: sources, operators, watermark, settings, and what else lies in the directory. The
    listing of the state fills its figure above, too."""
    if ck.has_state:
        with st.spinner("Listing the state ..."):
            inventory = cached_answers.state(ck)
    with st.expander(say("screen_overview.query")):
        identity(ck)
        sources(ck)
        if ck.has_state:
            operators(inventory)
        settings(ck)
    live_figures.of_state(opened, ck, live_state)
    the_rest(ck)


def identity(ck: Checkpoint) -> None:
    """Location, query id, version, kind of progress tracking."""
    query_id = ck.query_id or words.NOT_KNOWN
    cards.raw(say("screen_overview.identity", url=ck.location.url, query_id=query_id))
    by, spark = ck.written_by, cached_answers.spark_words(ck)
    lines: list[str] = [
        say("screen_overview.written_by", spark=spark, certainty=by.certainty, why=by.why)
        if spark
        else say("screen_overview.written_by_unknown", why=by.why)
    ]
    if ck.is_async:
        lines.append(say("screen_overview.is_async", certainty=ck.tracking.certainty))
    if (execution := execution_of(ck)).writes_before_logging:
        mode = words.EXECUTION_MODES[execution.mode]
        lines.append(say("screen_overview.execution", mode=mode, certainty=words.CERTAINTY["inferred"]))
    newest = ck.offset(ck.offset_ids[-1]) if ck.offset_ids else None
    if isinstance(newest, OffsetEntry) and newest.watermark_ms:
        lines.append(say("screen_overview.watermark", batch=newest.batch_id, ms=newest.watermark_ms))
    cards.text(" ".join(lines), "small")


def sources(ck: Checkpoint) -> None:
    """One row per source."""
    cards.text(
        say("screen_overview.sources", n=len(ck.sources)) if ck.sources else say("screens.no_source"),
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
    tables.table(columns, alt=say("screen_overview.sources_table"), most=8)


def operators(inventory: StateInventory | str) -> None:
    """One row per stateful operator."""
    if isinstance(inventory, str):
        cards.message("plain", say("screen_overview.state_not_listed", reason=inventory))
        return
    cards.text(
        say("screen_overview.operators", n=len(inventory.operators), size_bytes=inventory.size_bytes),
        "strong",
    )
    if not inventory.operators:
        return
    operator_list.show(inventory)


def settings(ck: Checkpoint) -> None:
    """The pinned settings; those that changed between batches first."""
    changes = ck.conf_changes()
    changed = {change.key: change for change in changes}
    title: str = say("screen_overview.settings", n=len(ck.conf))
    if changed:
        title = say("screen_overview.settings_changed", n=len(ck.conf), changed=len(changed))
    with st.expander(title):
        names = sorted(ck.conf, key=lambda name: (name not in changed, name))
        columns = {
            "setting": names,
            "value": [ck.conf[name] for name in names],
            "last change": [_change(changed.get(name)) for name in names],
        }
        gone = [change for change in changed.values() if change.key not in ck.conf]
        for change in gone:
            columns["setting"].append(change.key)
            columns["value"].append(say("screen_overview.setting_gone"))
            columns["last change"].append(_change(change))
        tables.sides(columns, alt=say("screen_overview.settings_table"), key="settings", most=12)
        tables.downloads(columns, "settings", key="settings")


def _change(change: ConfChange | None) -> str:
    if change is None:
        return ""
    if change.before is None:
        return say("screen_overview.change_new", batch=change.batch_id)
    return say("screen_overview.change", batch=change.batch_id, before=words.one_line(change.before, 80))


def the_rest(ck: Checkpoint) -> None:
    """Files that are no part of the checkpoint, and files that could not be understood."""
    if ck.problems:
        with st.expander(
            say("screen_overview.problems", n=len(ck.problems)),
            expanded=True,
        ):
            for problem in ck.problems[:MOST_LEFTOVERS]:
                reason = words.one_line(problem.reason, 400)
                is_named = reason.startswith(problem.evidence.path)
                cards.text(reason if is_named else f"{problem.evidence}: {reason}")
    if ck.leftovers:
        with st.expander(say("screen_overview.leftovers", n=len(ck.leftovers))):
            columns: tables.Columns = {
                "file": [item.path for item in ck.leftovers],
                "what": [item.kind for item in ck.leftovers],
                "size": [words.size(item.size_bytes) for item in ck.leftovers],
            }
            tables.table(columns, alt=say("screen_overview.leftovers_table"), most=10)


main()
