"""A Kafka source against its broker: what is lost or at risk, each partition as a bar, all of them on a
map, the topics."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.connectors.model import KafkaPartitionState, KafkaTopicState
from core.judgement import KafkaSourceState
from core.messages import say, say_of, words
from core.messages.screen_connectors import RISKS
from core.messages.screen_connectors import STATES as STATES_IN_WORDS
from ui import cached_answers, cards, charts, connector_charts, links, tables

ROWS = 25
"""Bars shown at once: 1,000 of them cannot be read, and each row costs a line on a phone."""

MOST_SENTENCES = 5

STATES: dict[str, str] = {
    "ok": "in what is kept",
    "behind_log_start": "behind the log start",
    "beyond_end": "beyond the end",
    "deleted": "not on the broker",
    "new": "new on the broker",
    "unknown": words.NOT_KNOWN,
}


def show(state: KafkaSourceState) -> None:
    """Everything about one source; the partitions at the highest risk first."""
    key, rows, topics = state.key, state.partitions, state.topics
    text = headline(rows)
    cards.message(tone_of(rows, topics), text)
    for topic in topics:
        if topic.sentence:
            proof = [cached_answers.CERTAINTY[topic.certainty]]
            if topic.similar:
                proof.append(
                    say("screen_connectors.similar", names=words.one_line(", ".join(topic.similar[:5]), 200))
                )
            is_bad = topic.is_recreated or not topic.exists
            cards.message("blocked" if is_bad else "note", topic.sentence, " · ".join(proof))
    figures(rows)
    sentences(rows)
    if rows:
        pictures(rows, key, text)
        tables.behind(lambda: as_columns(rows), text, f"partitions-source-{words.file_name(key)}")
    if topics:
        cards.text(say("screen_connectors.topics", n=len(topics)), "strong")
        columns = topic_columns(topics)
        tables.table(columns, alt=say("screen_connectors.topics_table"), most=8)
        tables.downloads(columns, f"topics-source-{key}", key=f"topics-{key}")


def headline(rows: Sequence[KafkaPartitionState]) -> str:
    """The conclusion: how many partitions are at which risk, and the lag of all."""
    if not rows:
        return say("screen_connectors.no_partition")
    sentences: list[str] = []
    lost = [row for row in rows if row.lost]
    if lost:
        share, offsets = _of(len(lost), rows), sum(row.lost for row in lost)
        sentences.append(say("screen_connectors.kafka_lost", share=share, n=offsets))
    for state in STATES_IN_WORDS:
        many = sum(1 for row in rows if row.state == state)
        if many:
            sentences.append(say_of("screen_connectors", "STATES", state, share=_of(many, rows)))
    for safety in RISKS:
        many = sum(1 for row in rows if row.safety == safety)
        if many:
            sentences.append(say_of("screen_connectors", "RISKS", safety, share=_of(many, rows)))
    if not sentences:
        share = _of(sum(row.state == "ok" for row in rows), rows)
        sentences.append(say("screen_connectors.kafka_ok", share=share))
    lags = [max(row.lag, 0) for row in rows if row.lag is not None]
    sentences.append(
        say("screen_connectors.kafka_lag", n=sum(lags)) if lags else say("screen_connectors.kafka_no_lag")
    )
    return " ".join(sentences)


def _of(many: int, rows: Sequence[KafkaPartitionState]) -> str:
    if many == len(rows) == 1:
        return say("screen_connectors.all_of", n=many)
    return say("screen_connectors.some_of", n=many, total=len(rows))


def tone_of(rows: Sequence[KafkaPartitionState], topics: Sequence[KafkaTopicState]) -> cards.Tone:
    """The shape for the whole source."""
    is_lost = any(
        row.safety == "lost" or row.state in ("behind_log_start", "beyond_end", "deleted") for row in rows
    )
    if is_lost or any(topic.is_recreated or not topic.exists for topic in topics):
        return "blocked"
    if any(row.safety in ("edge", "soon") for row in rows):
        return "doubt"
    return "done" if any(row.state == "ok" for row in rows) else "plain"


def figures(rows: Sequence[KafkaPartitionState]) -> None:
    """Lag, what is lost, the earliest moment at which something expires, planned."""
    if not rows:
        return
    lags = [max(row.lag, 0) for row in rows if row.lag is not None]
    lost = sum(row.lost for row in rows)
    dated = [row for row in rows if row.safe_until_ms is not None]
    planned = [
        row.planned - row.position for row in rows if row.planned is not None and row.position is not None
    ]
    with st.grid(4, min_column_width=165):
        cards.figure(
            "Behind, at most",
            words.amount(sum(lags), "records") if lags else words.NOT_KNOWN,
            say("screen_connectors.lag_note"),
        )
        cards.figure(
            "Lost",
            words.amount(lost, "offsets") if lost else "none",
            say("screen_connectors.lost_note"),
            "blocked" if lost else "done",
        )
        if dated:
            first = min(dated, key=lambda row: row.safe_until_ms or 0)
            when = f"{words.day(first.safe_until_ms)}, {words.one_line(first.name, 60)}"
            cards.figure("Next expiry, not before", words.clock(first.safe_until_ms), when)
        else:
            kinds = {connector_charts.SAFETY[row.safety][0] for row in rows}
            cards.figure("Next expiry, not before", "no date", words.one_line(", ".join(sorted(kinds)), 120))
        cards.figure(
            "Not committed",
            words.amount(sum(planned), "offsets") if planned else "none",
            say("screen_connectors.planned_note"),
            "doubt" if planned else "plain",
        )


def sentences(rows: Sequence[KafkaPartitionState]) -> None:
    """What core has to say about single partitions, the worst first."""
    said = [row for row in rows if row.sentence]
    for row in said[:MOST_SENTENCES]:
        cards.text(f"{row.sentence} ({cached_answers.CERTAINTY[row.certainty]})")
    if len(said) > MOST_SENTENCES:
        cards.text(
            say("screen_connectors.more_sentences", n=len(said) - MOST_SENTENCES),
            "small",
        )


def pictures(rows: Sequence[KafkaPartitionState], key: str, text: str) -> None:
    """The bars of one page of partitions; with more of them a map of all above it."""
    names = [row.name for row in rows]
    refused = links.refusal("tp", names)
    if refused is not None:
        cards.message("plain", refused)
    chosen = links.chosen("tp", names)
    start = first_row(len(rows), names.index(chosen) if chosen is not None else None)

    def clicked_on_map() -> None:
        _pick(names, charts.clicked_value(f"map-{key}"))

    def clicked_on_bar() -> None:
        at = charts.clicked_value(f"bars-{key}")
        _pick(names, start + int(at) if isinstance(at, int | float) else None)

    if len(rows) > ROWS:
        shown = rows[: connector_charts.MOST_SQUARES]
        what: str = (
            say("screen_connectors.map_all")
            if len(shown) == len(rows)
            else say("screen_connectors.map_some", n=len(shown))
        )
        cards.text(what, "small")
        charts.show(
            connector_charts.partition_map(shown, chosen), f"map-{key}", f"{what} {text}", clicked_on_map
        )
        _turn(len(rows), start, key)
    page = rows[start : start + ROWS]
    at = (
        names.index(chosen) - start
        if chosen is not None and start <= names.index(chosen) < start + ROWS
        else None
    )
    figure = connector_charts.bars(
        [connector_charts.partition_bar(row) for row in page], at, ("oldest kept", "newest")
    )
    charts.show(
        figure,
        f"bars-{key}",
        say(
            "screen_connectors.page_alt",
            first=start + 1,
            last=start + len(page),
            total=len(rows),
            headline=text,
        ),
        clicked_on_bar,
    )
    if chosen is not None:
        one(rows[names.index(chosen)])


def _pick(names: Sequence[str], at: object) -> None:
    if isinstance(at, int | float) and 0 <= int(at) < len(names):
        links.pick("tp", names[int(at)])
        links.pick("rows", None)


def first_row(total: int, chosen: int | None) -> int:
    """The row at which the page of bars begins: the one in the address, else the page of the chosen
    partition, else the first."""
    asked = links.asked("rows")
    if asked is not None and asked.isascii() and asked.isdigit() and 1 <= int(asked) <= total:
        return (int(asked) - 1) // ROWS * ROWS
    return 0 if chosen is None else chosen // ROWS * ROWS


def _turn(total: int, start: int, key: str) -> None:
    refused = links.number_refusal("rows")
    if refused is not None:
        cards.message("plain", refused)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        cards.text(
            say(
                "screen_connectors.page",
                first=start + 1,
                last=min(start + ROWS, total),
                total=total,
            ),
            "strong",
            "content",
        )
        st.button(
            say("screen_connectors.previous"),
            key=f"worse-{key}",
            on_click=links.pick,
            args=("rows", str(start - ROWS + 1)),
            disabled=start == 0,
        )
        st.button(
            say("screen_connectors.next"),
            key=f"better-{key}",
            on_click=links.pick,
            args=("rows", str(start + ROWS + 1)),
            disabled=start + ROWS >= total,
        )


def one(row: KafkaPartitionState) -> None:
    """The chosen partition, in numbers that can be copied."""
    bad = row.safety == "lost" or row.state in ("behind_log_start", "beyond_end", "deleted")
    with cards.box("blocked" if bad else "plain"):
        cards.text(
            say("screen_connectors.partition", name=words.one_line(row.name, 200), state=STATES[row.state]),
            "strong",
        )
        if row.sentence:
            cards.text(row.sentence)
        if row.safety_words:
            cards.text(row.safety_words)
        numbers = [
            ("earliest", row.earliest),
            ("committed", row.position),
            ("planned", row.planned),
            ("latest", row.latest),
        ]
        cards.raw("\n".join(f"{name:<10} {_exact(value)}" for name, value in numbers))
        parts = [cached_answers.CERTAINTY[row.certainty]]
        if row.record_ms is not None:
            parts.append(say("screen_connectors.record_time", time=record_words(row)))
        cards.text(" · ".join(parts), "small")
        st.button(
            say("screen_connectors.clear"),
            key="tp-none",
            on_click=links.pick,
            args=("tp", None),
            type="tertiary",
        )


def _exact(value: int | None) -> str:
    return words.NOT_KNOWN if value is None else str(value)


def as_columns(rows: Sequence[KafkaPartitionState]) -> tables.Columns:
    """One row per partition, the worst first. Offsets, and times in UTC."""
    return {
        "partition": [row.name for row in rows],
        "state": [STATES[row.state] for row in rows],
        "safe": [row.safety_words or connector_charts.SAFETY[row.safety][0] for row in rows],
        "earliest": [row.earliest for row in rows],
        "committed": [row.position for row in rows],
        "planned": [row.planned if row.planned is not None else "no batch pending" for row in rows],
        "latest": [row.latest for row in rows],
        "lag, at most": [row.lag for row in rows],
        "lost offsets": [row.lost for row in rows],
        "safe until (UTC)": [
            words.exact_moment(row.safe_until_ms) if row.safe_until_ms is not None else "no date"
            for row in rows
        ],
        "record at the position": [record_words(row) for row in rows],
        "what": [row.sentence for row in rows],
        "certainty": [cached_answers.CERTAINTY[row.certainty] for row in rows],
    }


def record_words(row: KafkaPartitionState) -> str:
    """The time of the record at the position; Kafka may know it only as between two times."""
    if row.record_ms is None or row.record_to_ms in (None, row.record_ms):
        return words.moment(row.record_ms)
    return say("screen_connectors.between", first=row.record_ms, last=row.record_to_ms)


def topic_columns(topics: Sequence[KafkaTopicState]) -> tables.Columns:
    """One row per topic."""
    return {
        "topic": [topic.name for topic in topics],
        "on the broker": ["yes" if topic.exists else "no" for topic in topics],
        "retention": [topic.retention_words or words.NOT_KNOWN for topic in topics],
        "recreated": [
            "yes" if topic.is_recreated else "no sign of it" if topic.exists else "does not apply"
            for topic in topics
        ],
        "topic id": [topic.topic_id for topic in topics],
    }
