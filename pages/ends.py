"""Source & sink: what Kafka, the Delta logs and the sink say, against what the checkpoint contains."""

from __future__ import annotations

import streamlit as st

from core.checkpoint import Checkpoint, Source
from core.connectors.model import ConnectorAnswers, DeltaSourceState
from core.connectors.requested import sources_with_place
from core.documents.recorded import said_then
from core.judgement import KafkaSourceState
from core.messages import Sentence, say, words
from core.settings import PREFIX
from ui import (
    cached_answers,
    cards,
    connector_settings,
    connector_tables,
    connectors,
    kafka_panel,
    links,
    shell,
    sink_history,
)
from ui.connector_settings import Given, Suggestion
from ui.open_checkpoints import Opened

FILE_EXAMPLE = """bootstrap.servers=broker-1:9092,broker-2:9092
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.username=...
sasl.password=..."""


def main() -> None:
    opened, ck = shell.checkpoint()
    recorded(ck)
    found = connector_settings.read(ck)
    if found.connectors.is_empty and not found.problems:
        cards.text(say("screen_connectors.not_connected"), "lead")
        cards.text(
            say("screen_connectors.why_connect"),
            "small",
        )
    offers = (
        ()
        if found.connectors.sink is not None and found.connectors.sources
        else connector_settings.suggestions(opened, ck)
    )
    kafka_first = next((source.key for source in ck.sources if source.kind.asks == "broker"), None)
    places = {}
    for source in ck.sources:
        cards.text(say("screen_connectors.source", key=source.key, kind=source.kind.label), "section")
        if source.key == kafka_first:
            ask_for_broker(found)
        if source.kind.asks == "broker":
            ask_for_topics(source, found)
        elif source in sources_with_place(ck):
            name = links.PLACE + source.key
            ask_for_place(
                found,
                name,
                say("screen_connectors.table_field")
                if source.kind.asks == "table"
                else say("screen_connectors.directory_field"),
                offers,
            )
        places[source.key] = st.container()
    if not ck.sources:
        cards.text(say("screens.no_source"), "small")
    cards.text("Sink", "section")
    ask_for_place(found, links.SINK, say("screen_connectors.sink_field"), offers)
    sink_place = st.container()
    if ck.offset_ids or ck.commit_ids:
        other_pages()
    others(ck, found)

    answer = connectors.answers(opened, ck, with_kafka=False)
    for source in ck.sources:
        with places[source.key]:
            beside_kafka(opened, ck, source, found, answer)
    with sink_place:
        the_sink(opened, ck, found, answer)
    for source in ck.sources:  # last, because a broker may take seconds to answer or not to answer
        if source.kind.asks == "broker":
            with places[source.key]:
                kafka(opened, ck, source, found)


def recorded(ck: Checkpoint) -> None:
    """Of evidence: what source and sink said when it was taken."""
    said = said_then(ck.door)
    if not said:
        return
    with cards.box("plain"):
        cards.text(say("evidence.said_then"), "strong")
        for sentence in said:
            cards.text(sentence)
        cards.text(say("evidence.asked_now"), "small")


def ask_for_broker(found: Given) -> None:
    """Fields that name the Kafka broker of all Kafka sources."""
    names = connector_settings.brokers()
    labels = {name: name for name in names}
    text = found.text(links.KAFKA)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        if names:
            key = connector_settings.WIDGET + links.KAFKA
            st.session_state[key] = text if text in labels else None
            st.selectbox(
                "Kafka broker",
                names,
                index=None,
                key=key,
                placeholder=say("screen_connectors.broker_placeholder"),
                on_change=connector_settings.given_by_widget,
                args=(links.KAFKA,),
                width=230,
            )
        if connector_settings.may_type_a_path():
            key = connector_settings.WIDGET + "path"
            st.session_state[key] = text or "" if text not in labels else ""
            st.text_input(
                say("screen_connectors.file_field"),
                key=key,
                placeholder="/etc/kafka/prod.properties",
                on_change=_typed,
                width=300,
                help=say("screen_connectors.file_help"),
            )
        if text is not None:
            isolation(found)


def _typed() -> None:
    connector_settings.give(links.KAFKA, st.session_state.get(connector_settings.WIDGET + "path"))


def ask_for_topics(source: Source, found: Given) -> None:
    """What the query subscribes to today: the checkpoint tells only what it read."""
    name = links.TOPICS + source.key
    key = connector_settings.WIDGET + name
    st.session_state[key] = found.text(name) or ""
    st.text_input(
        say("screen_connectors.topics_field"),
        key=key,
        placeholder=say("screen_connectors.topics_placeholder"),
        on_change=connector_settings.given_by_widget,
        args=(name,),
        width=560,
    )


def isolation(found: Given) -> None:
    """What the query reads of open transactions; the checkpoint does not tell."""
    key = connector_settings.WIDGET + links.ISOLATION
    st.session_state[key] = (
        found.text(links.ISOLATION) if found.text(links.ISOLATION) in connector_settings.ISOLATIONS else None
    )
    st.selectbox(
        say("screen_connectors.isolation_field"),
        list(connector_settings.ISOLATIONS),
        index=None,
        format_func=lambda value: connector_settings.ISOLATIONS.get(value, value),
        key=key,
        placeholder=connector_settings.ISOLATIONS["read_uncommitted"],
        on_change=connector_settings.given_by_widget,
        args=(links.ISOLATION,),
        width=300,
    )


def ask_for_place(found: Given, name: str, label: str, offers: tuple[Suggestion, ...]) -> None:
    """The field for one location, and what was found beside the checkpoint."""
    key = connector_settings.WIDGET + name
    st.session_state[key] = found.text(name) or ""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            label,
            key=key,
            placeholder=say("screen_connectors.place_placeholder"),
            on_change=connector_settings.given_by_widget,
            args=(name,),
            width=560,
            help=say("screen_connectors.place_help"),
        )
        for offer in offers:
            if offer.name == name and not found.text(name):
                with st.container(gap="xxsmall", width="content"):
                    cards.text(offer.told, "small")
                    st.button(
                        say("screen_connectors.use_it"),
                        key=f"offer-{name}",
                        on_click=connector_settings.give,
                        args=(offer.name, offer.text),
                        type="primary",
                    )


def others(ck: Checkpoint, found: Given) -> None:
    """What the link asks for and cannot be honoured, apart from what has its own place on the page."""
    own = {links.SINK, *(links.PLACE + source.key for source in sources_with_place(ck))}
    if any(source.kind.asks == "broker" for source in ck.sources):
        own.add(links.KAFKA)
    for name, problem in found.problems.items():
        if name not in own:
            cards.message("plain", problem)


def beside_kafka(
    opened: Opened, ck: Checkpoint, source: Source, found: Given, answer: connectors.Asked
) -> None:
    """A source that is no Kafka source: its table, its directory, or why there is nothing to ask."""
    asks, key = source.kind.asks, source.key
    if asks == "broker":
        return
    if asks is None:
        cards.text(say("screen_connectors.cannot_ask", kind=source.kind.label), "small")
        return
    name = links.PLACE + key
    if name in found.problems:
        cards.message("plain", found.problems[name])
        return
    said = answer.connectors
    trouble = None if said is None else said.troubles.get(f"source {key}")
    if trouble is not None:
        cards.message("plain", trouble)
    elif asks == "table" and said is not None and key in said.tables:
        state = cached_answers.judgement(opened, ck, with_kafka=False).source(key)
        if isinstance(state, DeltaSourceState):
            connector_tables.delta_source(state)
        connectors.asked_line(opened, answer.asked_at_ms, "", f"source-{key}")
    elif asks == "directory" and said is not None and key in said.places:
        inputs_looked_for(opened, ck, key, said.places[key].url)
    elif asks == "table":
        cards.text(
            say("screen_connectors.once_delta"),
            "small",
        )
    else:
        cards.text(say("screen_connectors.once_files"), "small")


def inputs_looked_for(opened: Opened, ck: Checkpoint, key: str, place: str) -> None:
    """Whether the forecast could compare the directory that was given with the log, and look for input files
    in it."""
    forecast = cached_answers.next_start(opened, ck)
    parts = () if isinstance(forecast, str) else forecast.not_checked
    said = {p.key: p for p in parts if isinstance(p, Sentence) and p.values.get("key") == key}
    if (files := said.get("forecast.open_inputs_elsewhere")) is not None:
        cards.message("plain", say("screen_connectors.files_elsewhere", files=files), place)
    elif (why := said.get("forecast.open_place")) is not None:
        cards.message("plain", say("screen_connectors.place_not_compared", why=why), place)
    else:
        cards.message("plain", say("screen_connectors.files_checked"), place)


def the_sink(opened: Opened, ck: Checkpoint, found: Given, answer: connectors.Asked) -> None:
    """What the sink holds of this query."""
    if links.SINK in found.problems:
        cards.message("plain", found.problems[links.SINK])
        return
    said = answer.connectors
    if found.connectors.sink is None or said is None:
        cards.text(
            say("screen_connectors.once_sink"),
            "small",
        )
        return
    if "sink" in said.troubles:
        cards.message("plain", said.troubles["sink"])
        connectors.asked_line(opened, answer.asked_at_ms, "", "sink")
        return
    judged = cached_answers.judgement(opened, ck, with_kafka=False)
    state = judged.sink
    if state is not None:
        connector_tables.sink(state, ck.pending_batch)
        if judged.sink_history is not None:
            sink_history.show(ck, judged.sink_history, state.url)
        connectors.asked_line(opened, answer.asked_at_ms, words.one_line(state.url, 200), "sink")


def kafka(opened: Opened, ck: Checkpoint, source: Source, found: Given) -> None:
    """What the broker says about one Kafka source."""
    if links.KAFKA in found.problems:
        cards.message("plain", found.problems[links.KAFKA])
        return
    if not found.has_kafka:
        no_broker()
        return
    with st.spinner(say("screen_connectors.asking")):
        answer = connectors.answers(opened, ck)
    said: ConnectorAnswers | None = answer.connectors
    broker = None if said is None else said.brokers.get(source.key)
    trouble = broker.trouble if broker is not None else None
    if said is not None and broker is None:
        trouble = (
            said.troubles.get("kafka")
            or said.troubles.get(f"source {source.key}")
            or say("screen_connectors.not_asked")
        )
    if trouble is not None:
        cards.message("doubt", trouble, say("screen_connectors.without_broker"))
        connectors.asked_line(
            opened,
            broker.asked_at_ms if broker is not None else answer.asked_at_ms,
            "",
            f"kafka-{source.key}",
        )
        return
    if broker is None:
        return
    about = say(
        "screen_connectors.broker",
        servers=words.one_line(broker.servers, 120),
        isolation=broker.isolation,
        n=broker.requests,
        seconds=broker.seconds,
    )
    connectors.asked_line(opened, broker.asked_at_ms, about, f"kafka-{source.key}")
    state = cached_answers.judgement(opened, ck).source(source.key)
    if isinstance(state, KafkaSourceState):
        kafka_panel.show(state)


def no_broker() -> None:
    """How a broker is connected."""
    cards.text(
        say("screen_connectors.once_kafka"),
        "small",
    )
    with st.expander(say("screen_connectors.how_to")):
        cards.text(say("screen_connectors.how_to_settings"))
        cards.raw(f'export {PREFIX}KAFKA=\'{{"prod": "/etc/kafka/prod.properties"}}\'', language="bash")
        if connector_settings.may_type_a_path():
            cards.text(say("screen_connectors.how_to_path"))
        cards.text(say("screen_connectors.how_to_file"))
        cards.raw(FILE_EXAMPLE, language="properties")
        cards.text(
            say("screen_connectors.how_to_private"),
            "small",
        )


def other_pages() -> None:
    """Where the answers are used."""
    with st.container(horizontal=True, gap="small"):
        st.page_link("pages/overview.py", label=say("screen_connectors.to_overview"), query_params={})
        st.page_link("pages/recovery.py", label=say("screen_start.to_recovery"), query_params={})


main()
